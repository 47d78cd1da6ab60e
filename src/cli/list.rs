//! `agentdex list`: lists the agents.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use futures_util::StreamExt;

use super::{
    output::{self, shorten},
    remote::{self, Remote},
    search::Filters,
};
use crate::client::Summary;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    filters: Filters,
    /// How many agents; without it all of them
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// How many agents to pass over first
    #[arg(long, value_name = "COUNT")]
    offset: Option<usize>,
    /// Print the whole descriptions as a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let client = arguments.remote.client()?;
    let [limit, offset] = [arguments.limit, arguments.offset].map(|count| count.map(|count| count.to_string()));
    let mut parameters = arguments.filters.parameters();
    parameters.extend(limit.as_deref().map(|limit| ("limit", limit)));
    parameters.extend(offset.as_deref().map(|offset| ("offset", offset)));
    remote::block_on(async {
        let mut out = io::stdout().lock();
        if !arguments.json {
            let summaries = client.summaries(&parameters).await.map_err(remote::explain)?;
            return print(&mut out, &summaries);
        }
        let mut pieces = client.list(&parameters).await.map_err(remote::explain)?;
        while let Some(piece) = pieces.next().await {
            out.write_all(&piece.map_err(remote::explain)?)?;
        }
        Ok(writeln!(out)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, summaries: &[Summary]) -> anyhow::Result<()> {
    if summaries.is_empty() {
        writeln!(out, "No agents. `agentdex register FILE` registers one.")?;
        return Ok(());
    }
    let mut table = output::table(&["Id", "Title", "Can do"]);
    for summary in summaries {
        let names =
            summary.capabilities.iter().filter_map(|capability| capability.name.as_ref().or(capability.id.as_ref()));
        let can_do = names.map(String::as_str).collect::<Vec<_>>().join(", ");
        table.add_row([&summary.id, summary.title.as_deref().unwrap_or_default(), &shorten(&can_do, 120)]);
    }
    writeln!(out, "{table}")?;
    writeln!(out, "{} {}", summaries.len(), if summaries.len() == 1 { "agent" } else { "agents" })?;
    Ok(())
}
