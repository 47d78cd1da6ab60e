//! `agentdex audit`: who changed what in a registry, and what was denied.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;

use super::output::visible;
use agentdex::{access::Owner, registry::AuditEntry};
use agentdex_client::RegistryClient;

/// How many entries are asked for at once.
const AT_ONCE: usize = 1000;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only entries after the one with this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    since: u64,
    /// Print one JSON object a line, for export
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let (mut since, mut out) = (arguments.since, io::stdout().lock());
    loop {
        let audited = client.audit(since, AT_ONCE).await?;
        for entry in &audited.entries {
            match arguments.json {
                true => writeln!(out, "{}", serde_json::to_string(entry)?)?,
                false => writeln!(out, "{}", line(entry))?,
            }
        }
        match audited.entries.last() {
            Some(last) if last.number < audited.last => since = last.number,
            _ => return Ok(ExitCode::SUCCESS),
        }
    }
}

fn line(entry: &AuditEntry) -> String {
    let at = entry.at.map(|at| at.to_string()).unwrap_or_default();
    let owner = entry.owner.as_ref().map_or("nobody", Owner::as_str);
    let from = entry.address.as_ref().map(|address| format!(" from {address}")).unwrap_or_default();
    let unlisted = entry.unlisted.map(|count| format!(" ({count} more)")).unwrap_or_default();
    format!("{at} {}{from}: {} {}{unlisted}", visible(owner), visible(&entry.action), visible(&entry.target))
}
