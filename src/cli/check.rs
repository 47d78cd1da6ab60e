//! `agentdex check`: whether what a data directory has fits together.

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::Args;

use super::{damaged_store, data_directory::check_has_registry, terminal::stdout};
use crate::settings::DEFAULT_DATA;
use agentdex::registry::{Verdict, inspect};

/// The exit status for a store of which something is damaged.
const DAMAGED: u8 = 3;
/// The exit status for a store that is older than it was.
const BEHIND: u8 = 4;

#[derive(Debug, Args)]
#[command(
    after_help = "The check reads a copy in the folder for temporary files (TMPDIR). The directory isn't changed.\n\n\
    Exit status: 0 in order, 1 the check failed, 3 damaged, 4 older than it was."
)]
pub(super) struct Arguments {
    /// Data directory of a stopped registry
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let data = &arguments.data;
    // Where the store alone is gone, that is what there is to say.
    if !data.join("witness").exists() {
        check_has_registry(data)?;
    }
    let inspection = inspect(data)?;
    let (checked, verdict) = (&inspection.checked, inspection.verdict);
    let mut out = stdout();
    for fault in &checked.faults {
        writeln!(out, "{fault}")?;
    }
    for note in &checked.notes {
        writeln!(out, "note: {note}")?;
    }
    let found = match verdict {
        Verdict::InOrder => "all in order".to_owned(),
        Verdict::Behind { commits, found, expected } => {
            format!(
                "older than it was, by {commits} commits: it had come to the change {expected}, and ends with {found}"
            )
        }
        Verdict::Damaged | Verdict::Refused => match checked.faults.len() {
            1 => "1 fault".to_owned(),
            count => format!("{count} faults"),
        },
    };
    writeln!(out, "{} descriptions, {} changes: {found}", checked.records, checked.changes)?;
    if verdict == Verdict::InOrder {
        return Ok(ExitCode::SUCCESS);
    }
    if checked.faults.iter().any(|fault| fault.place == "the search index") {
        writeln!(
            out,
            "the search index is made again if its directory, {}, is removed",
            data.join("search").display()
        )?;
    }
    write!(out, "\n{}", damaged_store::ways_out(data, matches!(verdict, Verdict::Behind { .. })))?;
    Ok(ExitCode::from(if matches!(verdict, Verdict::Behind { .. }) { BEHIND } else { DAMAGED }))
}
