//! `agentdex history`: what changed about an agent, and `agentdex changes`: what changed about all of them.

use std::{io::Write, process::ExitCode, time::Duration};

use clap::Args;

use super::{
    agent_name::id_of,
    moments,
    output::{INDENT, Style, complain, fit, visible},
    terminal::stdout,
};
use crate::settings::number;
use agentdex::{Change, ChangeKind, Cursor, DeletionReason, Position, Seq};
use agentdex_client::RegistryClient;

/// Number of changes in each request.
const PAGE: usize = 100;

/// `agentdex history`
#[derive(Debug, Args)]
pub(super) struct OfAgent {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Print each change as a line of JSON
    #[arg(long)]
    json: bool,
}

/// `agentdex changes`
#[derive(Debug, Args)]
pub(super) struct OfAll {
    /// Start after this position (EPOCH-NUMBER) instead of at the oldest change in the log
    #[arg(long, value_name = "POSITION", value_parser = since)]
    since: Option<Since>,
    /// Maximum number of changes [default: all]
    #[arg(long, value_name = "COUNT", value_parser = number::<usize>(0..=u64::MAX))]
    limit: Option<usize>,
    /// Print each change as a line of JSON
    #[arg(long)]
    json: bool,
}

/// A place in a log, or a position in one that isn't said.
#[derive(Debug, Clone)]
enum Since {
    Cursor(Cursor),
    Seq(Seq),
}

fn since(text: &str) -> Result<Since, String> {
    match text.parse() {
        Ok(seq) => Ok(Since::Seq(Seq(seq))),
        Err(_) => text.parse::<Cursor>().map(Since::Cursor).map_err(|error| error.to_string()),
    }
}

pub(super) async fn of_agent(arguments: &OfAgent, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    let id = id_of(client, &arguments.id).await?;
    let (mut since, mut shown) = (None, 0);
    loop {
        let history = match client.history(&id, since, PAGE).await {
            // Of an agent that is gone, there is nothing after its last change.
            Err(error) if shown > 0 && error.is_not_found() => break,
            history => history?,
        };
        since = history.position();
        if since.is_none() {
            break;
        }
        shown += history.changes.len();
        history.changes.iter().try_for_each(|change| print(&mut out, change, false, arguments.json))?;
    }
    if shown == 0 && !arguments.json {
        writeln!(out, "The log contains no changes to {}. Old changes may have been dropped.", visible(&id))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn of_all(arguments: &OfAll, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    let mut left = arguments.limit.unwrap_or(usize::MAX);
    let mut since = match &arguments.since {
        Some(Since::Cursor(cursor)) => Some(cursor.clone()),
        None | Some(Since::Seq(Seq::ZERO)) => None,
        &Some(Since::Seq(seq)) => {
            let position = Position { epoch: client.changes(None, 1, Duration::ZERO).await?.epoch, seq };
            complain(&format!("note: --since {seq} doesn't say which log it refers to; use --since {position}"));
            Some(position.into())
        }
    };
    let is_from_start = since.is_none();
    while left > 0 {
        let page = client.changes(since.clone(), left.min(PAGE), Duration::ZERO).await?;
        if since.is_some_and(|since| since.position.epoch != page.epoch) {
            complain(&format!(
                "note: the position belongs to a different log (the epoch of this log is {}); read all changes again",
                page.epoch
            ));
        } else if page.truncated {
            complain(&format!(
                "note: the log starts at change {}; earlier changes are no longer available",
                page.oldest
            ));
        }
        since = Some(page.cursor());
        if page.changes.is_empty() {
            break;
        }
        left = left.saturating_sub(page.changes.len());
        page.changes.iter().try_for_each(|change| print(&mut out, change, true, arguments.json))?;
    }
    if let Some(position) = since.filter(|_| left == 0 || !is_from_start) {
        complain(&format!("note: continue with --since {position}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, change: &Change, with_id: bool, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        writeln!(out, "{}", serde_json::to_string(change)?)?;
        return Ok(());
    }
    let style = Style::stdout();
    let kind = match change.kind {
        ChangeKind::Created => style.green("created"),
        ChangeKind::Updated => style.yellow("updated"),
        ChangeKind::Deleted => style.red("removed"),
    };
    let id = if with_id { format!(" {}", style.bold(&change.id)) } else { String::new() };
    let reason = change.reason.filter(|reason| *reason != DeletionReason::Removed);
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    writeln!(out, "{:>6}  {kind}{reason}{id} {}", change.seq, style.dim(&moments::shown(change.at)))?;
    if let Some(patch) = &change.patch {
        writeln!(out, "{INDENT}{}", fit(patch.get(), INDENT.len()))?;
    }
    Ok(())
}
