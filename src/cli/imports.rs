//! `agentdex imports`: lists the tracked sources.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;

use super::{
    output::{self, INDENT, Style, fit, visible},
    remote::{self, Remote},
};
use crate::{Timestamp, client::TrackedSource};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only those whose source is stale, or current
    #[arg(long, value_name = "stale|current")]
    status: Option<String>,
    /// Print them as a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let client = arguments.remote.client()?;
    let parameters: Vec<(&str, &str)> = arguments.status.iter().map(|status| ("status", status.as_str())).collect();
    let imports = remote::block_on(async { client.imports(&parameters).await.map_err(remote::explain) })?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", output::indented(&serde_json::to_string(&imports)?))?;
    } else {
        print(&mut out, &imports, arguments.status.is_some())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, imports: &[TrackedSource], is_filtered: bool) -> io::Result<()> {
    if imports.is_empty() {
        let answer = if is_filtered {
            "No source matches."
        } else {
            "No source is tracked. `agentdex register --url-of-agent URL` registers an agent and tracks its source."
        };
        return writeln!(out, "{answer}");
    }
    let (style, now) = (Style::stdout(), Timestamp::now());
    for import in imports {
        // Ids and URLs are to be copied: they are never cut or wrapped by us.
        writeln!(out, "{}", style.bold(&import.id))?;
        writeln!(out, "{INDENT}{}", style.dim(&import.source))?;
        let status = match import.status.as_str() {
            "stale" => style.red("stale"),
            other => visible(other).into_owned(),
        };
        let (last, next) = (distance(now, import.last_fetch), distance(now, import.next_try));
        writeln!(out, "{INDENT}{status}, polled {last}, next {next}")?;
        if let Some(error) = &import.last_error {
            let failures = format!("{} failed in a row: ", import.failures);
            writeln!(out, "{INDENT}{failures}{}", fit(error, INDENT.len() + failures.len()))?;
        }
    }
    writeln!(out, "{} {}", imports.len(), if imports.len() == 1 { "import" } else { "imports" })
}

/// How far a moment is away, in the largest unit of which it is at least two.
fn distance(now: Timestamp, moment: Timestamp) -> String {
    let seconds = (moment.0 - now.0) / 1000;
    let amount = match seconds.unsigned_abs() {
        amount @ 0..120 => format!("{amount} s"),
        amount @ 120..7200 => format!("{} min", amount / 60),
        amount @ 7200..172_800 => format!("{} h", amount / 3600),
        amount => format!("{} d", amount / 86_400),
    };
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("in {amount}"),
        _ => format!("{amount} ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_by_their_distance() {
        let at = |seconds: i64| distance(Timestamp(1_795_000_000_000), Timestamp(1_795_000_000_000 + seconds * 1000));
        let texts = [0, -1, 119, 120, -7199, 7200, 172_799, -172_800].map(at);
        assert_eq!(texts, ["now", "1 s ago", "in 119 s", "in 2 min", "119 min ago", "in 2 h", "in 47 h", "2 d ago"]);
    }
}
