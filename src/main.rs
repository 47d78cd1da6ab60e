//! The `agentdex` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    share_arenas();
    agentdex::cli::run()
}

/// glibc gives each thread that allocates at the same time an arena of its own, up to eight a core, and
/// hardly ever gives their memory back: with the threads of store, search and server that doubles what a
/// registry of 100,000 agents takes. Two arenas are enough for what they allocate at a time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn share_arenas() {
    #[expect(unsafe_code, reason = "mallopt only sets a number, before any other thread is there")]
    // SAFETY: no pointers are passed, and no other thread allocates yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn share_arenas() {}
