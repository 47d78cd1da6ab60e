//! `agentdex list`: lists the agents.

use std::{io::Write, process::ExitCode};

use clap::Args;
use futures_util::StreamExt;

use super::{
    output::{INDENT, Style, fit},
    search::{Filters, TimeBounds, print_similar},
    terminal::stdout,
};
use crate::settings::number;
use agentdex_client::{RegistryClient, Summary};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    times: TimeBounds,
    /// Maximum number of agents [default: all]
    #[arg(long, value_name = "COUNT", value_parser = number::<usize>(1..=u64::MAX))]
    limit: Option<usize>,
    /// Number of agents to skip
    #[arg(long, value_name = "COUNT", value_parser = number::<usize>(0..=u64::MAX))]
    offset: Option<usize>,
    /// Print each description as a line of JSON; `agentdex register -` reads these lines
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let [limit, offset] = [arguments.limit, arguments.offset].map(|count| count.map(|count| count.to_string()));
    // `format` of a list is its shape; what a description was converted from has another name there.
    let renamed = |(name, value)| {
        let name = match name {
            "format" => "source_format",
            "all_format" => "all_source_format",
            "not_format" => "not_source_format",
            name => name,
        };
        (name, value)
    };
    let filters: Vec<_> =
        arguments.filters.parameters().into_iter().chain(arguments.times.parameters()).map(renamed).collect();
    let is_filtered = !filters.is_empty();
    let mut parameters = filters.clone();
    parameters.extend(limit.as_deref().map(|limit| ("limit", limit)));
    parameters.extend(offset.as_deref().map(|offset| ("offset", offset)));
    let mut out = stdout();
    if !arguments.json {
        let summaries = client.summaries(&parameters).await?;
        let total = match limit.is_some() || offset.is_some() {
            true => Some(client.count(&parameters).await?),
            false => None,
        };
        print(&mut out, &summaries, total, is_filtered)?;
        if summaries.is_empty() && is_filtered {
            print_similar(&mut out, client, &arguments.filters, "").await?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    parameters.push(("format", "ndjson"));
    let mut pieces = client.list(&parameters).await?;
    while let Some(piece) = pieces.next().await {
        out.write_all(&piece?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `total`: how many there are on all pages, if these aren't all.
fn print(out: &mut impl Write, summaries: &[Summary], total: Option<u64>, is_filtered: bool) -> anyhow::Result<()> {
    if summaries.is_empty() && total.is_none_or(|total| total == 0) {
        let answer =
            if is_filtered { "No agent matches." } else { "No agents. `agentdex register FILE` registers one." };
        writeln!(out, "{answer}")?;
        return Ok(());
    }
    let style = Style::stdout();
    for summary in summaries {
        let names =
            summary.capabilities.iter().filter_map(|capability| capability.name.as_ref().or(capability.id.as_ref()));
        let can_do = names.map(String::as_str).collect::<Vec<_>>().join(", ");
        writeln!(out, "{}", style.bold(summary.title.as_deref().unwrap_or("(no title)")))?;
        writeln!(out, "{INDENT}{}", style.dim(&summary.id))?;
        if !can_do.is_empty() {
            writeln!(out, "{INDENT}{}", fit(&can_do, INDENT.len()))?;
        }
    }
    let shown = summaries.len() as u64;
    let of_all = total.filter(|total| *total > shown).map(|total| format!(" of {total}")).unwrap_or_default();
    writeln!(out, "{shown}{of_all} {}", if total.unwrap_or(shown).max(shown) == 1 { "agent" } else { "agents" })?;
    Ok(())
}
