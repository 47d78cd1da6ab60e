//! The `agentdex` binary.

fn main() {}
