//! `agentdex imports`: lists the tracked sources.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;

use super::{
    moments,
    output::{INDENT, Style, fit, print_json, visible},
    terminal::stdout,
};
use agentdex_client::{RegistryClient, SourceStatus, TrackedSource};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// List only sources with this status: stale (failing repeatedly) or current
    #[arg(long, value_name = "stale|current")]
    status: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let parameters: Vec<(&str, &str)> = arguments.status.iter().map(|status| ("status", status.as_str())).collect();
    let imports = client.imports(&parameters).await?;
    if arguments.json {
        print_json(&imports)?;
    } else {
        print(&mut stdout(), &imports, arguments.status.is_some())?;
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
    let style = Style::stdout();
    for import in imports {
        let status = match import.status {
            SourceStatus::Stale => style.yellow("stale"),
            status => status.name().to_owned(),
        };
        writeln!(out, "{}", style.bold(&import.id))?;
        writeln!(out, "{INDENT}{}", visible(&import.source))?;
        let [last, next] = [import.last_fetch, import.next_try].map(moments::shown);
        writeln!(out, "{INDENT}{status}, last fetch {last}, next {next}")?;
        if let Some(error) = &import.last_error {
            let failures =
                if import.failures == 1 { "1 failure".into() } else { format!("{} failures", import.failures) };
            let after = INDENT.len() + failures.len() + 2;
            writeln!(out, "{INDENT}{}: {}", style.red(&failures), fit(error, after))?;
        }
    }
    writeln!(out, "{} {}", imports.len(), if imports.len() == 1 { "source" } else { "sources" })
}
