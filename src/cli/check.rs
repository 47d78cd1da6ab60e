//! `agentdex check`: whether what a data directory has fits together.

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::Args;
use serde_json::{Value, json};

use super::{
    damaged_store,
    data_directory::check_has_registry,
    output::{counted, print_json},
    progress,
    terminal::stdout,
};
use crate::settings::DEFAULT_DATA;
use agentdex::registry::{Checked, Fault, InspectionStep, Verdict, inspect_with};

/// The exit status for a store of which something is damaged.
const DAMAGED: u8 = 3;
/// The exit status for a store that is older than it was.
const BEHIND: u8 = 4;

#[derive(Debug, Args)]
#[command(
    after_help = "The check works on a copy in the folder for temporary files (TMPDIR), and doesn't change the data \
    directory.\n\n\
    Exit status: 0 no damage, 1 the directory couldn't be checked, 3 damaged, 4 older than its last recorded state."
)]
pub(super) struct Arguments {
    /// Data directory of a stopped registry
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let data = &arguments.data;
    // Where the store alone is gone, that is what there is to say.
    if !data.join("witness").exists() {
        check_has_registry(data)?;
    }
    let bar = progress::of_steps(InspectionStep::ALL.len() as u64);
    let inspected = inspect_with(data, |step| {
        bar.set_message(step.to_string());
        bar.inc(1);
    });
    bar.finish_and_clear();
    let inspection = inspected?;
    let (checked, verdict) = (&inspection.checked, inspection.verdict);
    if arguments.json {
        print_json(&to_json(checked, verdict))?;
        return Ok(status_of(verdict));
    }
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
            let missing = match commits {
                0 => String::new(),
                1 => " (1 commit missing)".to_owned(),
                commits => format!(" ({commits} commits missing)"),
            };
            format!(
                "the store is older than its last recorded state: it ends at change {found}, expected \
                 {expected}{missing}"
            )
        }
        Verdict::Damaged | Verdict::Refused => match checked.faults.len() {
            1 => "1 fault".to_owned(),
            count => format!("{count} faults"),
        },
    };
    let records = counted(checked.records, "description", "descriptions");
    writeln!(out, "{records}, {}: {found}", counted(checked.changes, "change", "changes"))?;
    if verdict == Verdict::InOrder {
        return Ok(ExitCode::SUCCESS);
    }
    if checked.faults.iter().any(|fault| fault.place == "the search index") {
        writeln!(out, "to rebuild the search index, remove its directory, {}", data.join("search").display())?;
    }
    write!(out, "\n{}", damaged_store::ways_out(data, matches!(verdict, Verdict::Behind { .. })))?;
    Ok(status_of(verdict))
}

fn status_of(verdict: Verdict) -> ExitCode {
    match verdict {
        Verdict::InOrder => ExitCode::SUCCESS,
        Verdict::Behind { .. } => ExitCode::from(BEHIND),
        Verdict::Damaged | Verdict::Refused => ExitCode::from(DAMAGED),
    }
}

fn to_json(checked: &Checked, verdict: Verdict) -> Value {
    let listed = |faults: &[Fault]| -> Value {
        faults.iter().map(|fault| json!({"place": fault.place, "message": fault.message})).collect()
    };
    let name = match verdict {
        Verdict::InOrder => "in-order",
        Verdict::Behind { .. } => "behind",
        Verdict::Damaged | Verdict::Refused => "damaged",
    };
    let mut json = json!({
        "verdict": name, "agents": checked.records, "changes": checked.changes, "faults": listed(&checked.faults),
        "notes": listed(&checked.notes),
    });
    if let Verdict::Behind { commits, found, expected } = verdict {
        json["behind"] = json!({"commits": commits, "found": found, "expected": expected});
    }
    json
}
