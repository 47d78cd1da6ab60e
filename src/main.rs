//! The program `agentdex`: a registry with its listeners, and commands for registries that run elsewhere.

#![warn(clippy::unwrap_used, clippy::expect_used)]

mod cli;
mod settings;

use std::process::ExitCode;

/// Descriptions are made of many small values. The allocator of glibc spends a quarter of the time of an import on
/// them, and keeps an arena for each thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
