//! `agentdex register`: creates agents or replaces them, and keeps them alive if asked to.

use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::{
    document,
    output::red_on_stderr,
    remote::{self, Remote},
    stop,
};
use crate::{
    client::{self, RegistryClient, Written},
    td,
};

/// As many files as get a progress bar.
const MANY: usize = 20;
/// How long to wait before a renewal that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// JSON, YAML (.yaml, .yml) or JSON5 files, folders of them, or - for JSON or JSON5 on standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Let the agents expire this many seconds after their last renewal
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u64>,
    /// Stay, and renew the agents at half their time to live until interrupted
    #[arg(long)]
    keep_alive: bool,
    /// Print one JSON object a file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

/// An agent that is registered, and the document it was registered with.
struct Registered {
    id: String,
    document: String,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let client = arguments.remote.client()?;
    let files = document::files(&arguments.files).context("listing the files")?;
    if files.is_empty() {
        bail!("there is no .json, .jsonld, .td, .json5, .yaml or .yml file there");
    }
    remote::block_on(async {
        let (registered, failed) = register_all(&client, arguments, &files).await?;
        if arguments.keep_alive && !registered.is_empty() {
            keep_alive(&client, arguments, &registered).await?;
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// Registers one file after the other: of files with the same id the last one stays.
async fn register_all(
    client: &RegistryClient,
    arguments: &Arguments,
    files: &[PathBuf],
) -> anyhow::Result<(Vec<Registered>, usize)> {
    let bar = progress_bar(files.len());
    let mut registered = Vec::new();
    let (mut created, mut failed) = (0, 0);
    for file in files {
        let outcome = register_file(client, arguments, file).await;
        let name = file.display();
        let line = match &outcome {
            Ok((_, written)) => describe(arguments.json, &name.to_string(), written),
            Err(error) if arguments.json => {
                serde_json::json!({"file": name.to_string(), "error": format!("{error:#}")}).to_string()
            }
            Err(error) => format!("{} {name}: {error:#}", red_on_stderr("error:")),
        };
        let to_stderr = outcome.is_err() && !arguments.json;
        bar.suspend(|| if to_stderr { writeln!(io::stderr(), "{line}") } else { writeln!(io::stdout(), "{line}") })?;
        bar.inc(1);
        match outcome {
            Ok((agent, written)) => {
                created += usize::from(written.created);
                registered.push(agent);
            }
            Err(error) => {
                failed += 1;
                if error.downcast_ref::<Unreachable>().is_some() {
                    break;
                }
            }
        }
    }
    bar.finish_and_clear();
    if !arguments.json && files.len() > 1 {
        let (replaced, left) = (registered.len() - created, files.len() - registered.len() - failed);
        let left = if left > 0 { format!(", {left} not tried") } else { String::new() };
        writeln!(io::stdout(), "{created} created, {replaced} replaced or renewed, {failed} failed{left}")?;
    }
    Ok((registered, failed))
}

/// No other file would fare better.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unreachable(String);

async fn register_file(
    client: &RegistryClient,
    arguments: &Arguments,
    file: &std::path::Path,
) -> anyhow::Result<(Registered, Written)> {
    let read = document::read(file)?.document;
    let id = read.value().get("id").and_then(Value::as_str).map(str::to_owned);
    let document = match arguments.ttl {
        Some(ttl) => td::merge_patch::apply(read.text(), &format!("{{\"registration\":{{\"ttl\":{ttl}}}}}"))?,
        None => read.text().to_owned(),
    };
    let written = register(client, id.as_deref(), &document).await.map_err(|error| match error {
        client::Error::Unreachable { .. } => Unreachable(format!("{:#}", remote::explain(error))).into(),
        error => remote::explain(error),
    })?;
    // With the id that it has by now, an anonymous agent that expired can be registered anew.
    let document = td::merge_patch::apply(&document, &serde_json::json!({"id": written.id}).to_string())?;
    Ok((Registered { id: written.id.clone(), document }, written))
}

async fn register(client: &RegistryClient, id: Option<&str>, document: &str) -> client::Result<Written> {
    match id {
        Some(id) => client.put(id, document).await,
        None => client.create(document).await,
    }
}

fn describe(as_json: bool, file: &str, written: &Written) -> String {
    let Written { id, created, warnings } = written;
    if as_json {
        return serde_json::json!({"file": file, "id": id, "created": created, "warnings": warnings}).to_string();
    }
    let verb = if *created { "created" } else { "replaced" };
    match warnings {
        0 => format!("{verb} {id}"),
        1 => format!("{verb} {id} (1 warning: `agentdex validate {file}` shows it)"),
        count => format!("{verb} {id} ({count} warnings: `agentdex validate {file}` shows them)"),
    }
}

fn progress_bar(files: usize) -> ProgressBar {
    if files < MANY || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta} left");
    ProgressBar::new(files as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Renews all agents at half the shortest time to live, until Ctrl-C or SIGTERM.
async fn keep_alive(client: &RegistryClient, arguments: &Arguments, agents: &[Registered]) -> anyhow::Result<()> {
    let mut shortest = u64::MAX;
    for agent in agents {
        shortest = shortest.min(granted_ttl(client, &agent.id).await?.unwrap_or(u64::MAX));
    }
    if shortest == u64::MAX {
        bail!("none of the agents expires, so there is nothing to keep alive: give a time to live with --ttl SECONDS");
    }
    let pause = Duration::from_millis(shortest.saturating_mul(500).max(100));
    if !arguments.json {
        let count = agents.len();
        writeln!(io::stdout(), "renewing {count} every {} s until interrupted", pause.as_secs_f32())?;
    }
    let mut interrupted = std::pin::pin!(stop::signal()?);
    let mut wait = pause;
    loop {
        tokio::select! {
            () = &mut interrupted => return Ok(()),
            () = tokio::time::sleep(wait) => {}
        }
        wait = if renew_all(client, agents).await? { pause } else { RETRY.min(pause) };
    }
}

/// The time to live that the registry granted.
async fn granted_ttl(client: &RegistryClient, id: &str) -> anyhow::Result<Option<u64>> {
    let Some(thing) = client.find_by_id(id).await.map_err(remote::explain)? else { return Ok(None) };
    let thing: Value = serde_json::from_str(&thing)?;
    Ok(thing.pointer("/registration/ttl").and_then(Value::as_u64))
}

/// Renews; an agent that expired meanwhile is registered anew. False if some must be tried again soon.
async fn renew_all(client: &RegistryClient, agents: &[Registered]) -> io::Result<bool> {
    let mut complete = true;
    for Registered { id, document } in agents {
        let renewed = match client.patch(id, "{}").await {
            Err(error) if error.is_not_found() => client.put(id, document.as_str()).await,
            renewed => renewed,
        };
        if let Err(error) = renewed {
            complete = false;
            writeln!(io::stderr(), "{} {id} could not be renewed: {error}", red_on_stderr("error:"))?;
        }
    }
    Ok(complete)
}
