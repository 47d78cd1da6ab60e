//! Advice for a data directory that isn't opened because its store is damaged, or older than it was.

use std::{path::Path, process::ExitCode};

use agentdex::Error;

/// The exit status: a restart doesn't help.
const STATUS: u8 = 3;

/// Returns the exit status and the advice for such an error, or `None` for other errors.
pub(super) fn of(error: &anyhow::Error) -> Option<(ExitCode, String)> {
    let error = error.chain().find_map(|cause| cause.downcast_ref::<Error>())?;
    let (path, is_behind) = match error {
        Error::StoreBehind { path, .. } => (path, true),
        Error::StoreDamaged { path, .. } => (path, false),
        // The message says what to do.
        Error::ClusterDirectory { .. } | Error::ClusterRefused { .. } => {
            return Some((ExitCode::from(STATUS), String::new()));
        }
        _ => return None,
    };
    let text = format!(
        "\nThe registry in {} was not opened, and nothing was changed.\n\n{}",
        path.display(),
        ways_out(path, is_behind)
    );
    Some((ExitCode::from(STATUS), text))
}

/// The commands that help with such a directory.
pub(super) fn ways_out(data: &Path, is_behind: bool) -> String {
    let data = data.display();
    let mut text = format!(
        "What to do:\n  \
         Check for damaged and missing data (changes nothing):\n    \
         agentdex check --data {data}\n  \
         Restore the last backup into a new directory:\n    \
         agentdex restore FILE --data {data}-restored\n  \
         Recover the readable data into a new directory, and list the losses:\n    \
         agentdex salvage --data {data} --to {data}-salvaged\n"
    );
    if is_behind {
        text += &format!(
            "  If you restored older files on purpose, such as a disk snapshot or a copy of a running registry, accept \
             them.\n  This revokes all keys, and makes subscribers read everything again:\n    \
             agentdex salvage --data {data} --accept-rollback\n"
        );
    }
    text
}
