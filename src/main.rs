//! The `agentdex` binary.

use std::process::ExitCode;

/// Descriptions are made of many small values. The allocator of glibc spends a quarter of the time of an import on
/// them, and keeps an arena for each thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    agentdex::cli::run()
}
