//! The program `agentdex`: a registry with its listeners, and commands for registries that run elsewhere.

#![warn(clippy::unwrap_used, clippy::expect_used)]

mod cli;
mod settings;

use std::process::ExitCode;

/// Descriptions are made of many small values. The allocator of glibc spends a quarter of the time of an import on
/// them, and keeps an arena for each thread. Without its feature `no_thp` it would ask for pages of 2 MB.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Some systems use pages of 2 MB unasked. The heap of an idle server is spread over them: 62 MB instead of 19.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    cli::run()
}
