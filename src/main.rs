//! The `agentdex` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentdex::cli::run()
}
