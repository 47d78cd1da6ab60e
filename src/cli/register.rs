//! `agentdex register`: creates agents or replaces them, and keeps them alive if asked to.
//!
//! Thing Descriptions are put as they are, documents in other formats are imported by the registry.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::{
    agent_spec::{self, Mapping},
    document::{self, FileDocument},
    output::{causes, red_on_stderr},
    remote::{self, Remote},
    stop,
};
use crate::{
    client::{self, Imported, RegistryClient, Written},
    convert::{Format, Source},
    td,
};

/// As many files as get a progress bar.
const MANY: usize = 20;
/// How long to wait before a renewal that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// JSON, YAML (.yaml, .yml) or JSON5 files, folders of them, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The format of all files: td or agent-spec; each tells its own unless given
    #[arg(long)]
    format: Option<Format>,
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
    #[command(flatten)]
    mapping: Mapping,
}

/// What is registered, and what it was registered with.
enum Registered {
    Thing { id: String, document: String },
    Import { ids: Vec<String>, document: Source },
}

impl Registered {
    fn ids(&self) -> &[String] {
        match self {
            Registered::Thing { id, .. } => std::slice::from_ref(id),
            Registered::Import { ids, .. } => ids,
        }
    }
}

/// What the registry said to one file.
enum Answer {
    Written(Written),
    Imported(Imported),
}

impl Answer {
    fn is_new(&self) -> bool {
        match self {
            Answer::Written(written) => written.created,
            Answer::Imported(imported) => !imported.created.is_empty(),
        }
    }
}

/// The registry, and what all files are registered with.
struct Registration<'a> {
    client: RegistryClient,
    arguments: &'a Arguments,
    components: Vec<Source>,
    /// The time to live as a parameter has it.
    ttl: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let components = agent_spec::read_components(&arguments.mapping.reading.components)?;
    let registration = Registration {
        client: arguments.remote.client()?,
        arguments,
        components: components.into_iter().map(|component| component.into_source(Format::AgentSpec)).collect(),
        ttl: arguments.ttl.map(|ttl| ttl.to_string()),
    };
    let files = document::files(&arguments.files)?;
    remote::block_on(async {
        let (registered, failed) = registration.register_all(&files).await?;
        if arguments.keep_alive && !registered.is_empty() {
            registration.keep_alive(&registered).await?;
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// No other file would fare better.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unreachable(String);

fn refusal(error: client::Error) -> anyhow::Error {
    match error {
        client::Error::Unreachable { .. } => Unreachable(remote::explain(error).to_string()).into(),
        error => remote::explain(error),
    }
}

impl Registration<'_> {
    /// Registers one file after the other: of files with the same id the last one stays.
    async fn register_all(&self, files: &[PathBuf]) -> anyhow::Result<(Vec<Registered>, usize)> {
        let as_json = self.arguments.json;
        let bar = progress_bar(files.len());
        let mut registered = Vec::new();
        let (mut created, mut failed) = (0, 0);
        for file in files {
            let outcome = self.register_file(file).await;
            let name = file.display().to_string();
            let line = match &outcome {
                Ok((_, answer)) => describe(as_json, &name, answer),
                Err(error) if as_json => serde_json::json!({"file": name, "error": causes(error)}).to_string(),
                Err(error) => format!("{} {name}: {}", red_on_stderr("error:"), causes(error)),
            };
            let to_stderr = outcome.is_err() && !as_json;
            bar.suspend(
                || if to_stderr { writeln!(io::stderr(), "{line}") } else { writeln!(io::stdout(), "{line}") },
            )?;
            bar.inc(1);
            match outcome {
                Ok((agent, answer)) => {
                    created += usize::from(answer.is_new());
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
        if !as_json && files.len() > 1 {
            let (replaced, left) = (registered.len() - created, files.len() - registered.len() - failed);
            let left = if left > 0 { format!(", {left} not tried") } else { String::new() };
            writeln!(io::stdout(), "{created} created, {replaced} replaced or renewed, {failed} failed{left}")?;
        }
        Ok((registered, failed))
    }

    async fn register_file(&self, path: &Path) -> anyhow::Result<(Registered, Answer)> {
        let document = FileDocument::read(path)?;
        match document.format(self.arguments.format)? {
            Format::ThingDescription => self.register_thing(&document.thing_description()?).await,
            format @ Format::AgentSpec => {
                let document = document.into_source(format);
                let imported = self.import(&document).await.map_err(refusal)?;
                Ok((Registered::Import { ids: imported.ids.clone(), document }, Answer::Imported(imported)))
            }
            other => bail!("{other} documents can't be registered yet"),
        }
    }

    async fn register_thing(&self, read: &td::Document) -> anyhow::Result<(Registered, Answer)> {
        let id = read.value().get("id").and_then(Value::as_str).map(str::to_owned);
        let document = match self.arguments.ttl {
            Some(ttl) => td::merge_patch::apply(read.text(), &format!("{{\"registration\":{{\"ttl\":{ttl}}}}}"))?,
            None => read.text().to_owned(),
        };
        let written = match id {
            Some(id) => self.client.put(&id, document.as_str()).await,
            None => self.client.create(document.as_str()).await,
        }
        .map_err(refusal)?;
        // With the id that it has by now, an anonymous agent that expired can be registered anew.
        let document = td::merge_patch::apply(&document, &serde_json::json!({"id": written.id}).to_string())?;
        Ok((Registered::Thing { id: written.id.clone(), document }, Answer::Written(written)))
    }

    async fn import(&self, document: &Source) -> client::Result<Imported> {
        let mut parameters = self.arguments.mapping.parameters();
        parameters.extend(self.ttl.as_deref().map(|ttl| ("ttl", ttl)));
        self.client.import(document, &self.components, &parameters).await
    }
}

fn describe(as_json: bool, file: &str, answer: &Answer) -> String {
    match answer {
        Answer::Written(written) => describe_written(as_json, file, written),
        Answer::Imported(imported) => describe_imported(as_json, file, imported),
    }
}

fn describe_written(as_json: bool, file: &str, written: &Written) -> String {
    let Written { id, created, warnings } = written;
    if as_json {
        return serde_json::json!({"file": file, "id": id, "created": created, "warnings": warnings}).to_string();
    }
    let verb = if *created { "created" } else { "replaced" };
    format!("{verb} {id}{}", hint("validate", file, *warnings))
}

fn describe_imported(as_json: bool, file: &str, imported: &Imported) -> String {
    let Imported { ids, created, updated, warnings } = imported;
    if as_json {
        let line =
            serde_json::json!({"file": file, "ids": ids, "created": created, "updated": updated, "warnings": warnings});
        return line.to_string();
    }
    let verb = |id: &String| match (created.contains(id), updated.contains(id)) {
        (true, _) => "created",
        (_, true) => "replaced",
        _ => "unchanged",
    };
    let lines: Vec<String> = ids.iter().map(|id| format!("{} {id}", verb(id))).collect();
    format!("{}{}", lines.join("\n"), hint("td", file, warnings.len()))
}

/// Which command tells the warnings.
fn hint(command: &str, file: &str, warnings: usize) -> String {
    match warnings {
        0 => String::new(),
        1 => format!(" (1 warning: `agentdex {command} {file}` shows it)"),
        count => format!(" ({count} warnings: `agentdex {command} {file}` shows them)"),
    }
}

fn progress_bar(files: usize) -> ProgressBar {
    if files < MANY || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta} left");
    ProgressBar::new(files as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The time to live that the registry granted.
async fn granted_ttl(client: &RegistryClient, id: &str) -> anyhow::Result<Option<u64>> {
    let Some(thing) = client.find_by_id(id).await.map_err(remote::explain)? else { return Ok(None) };
    let thing: Value = serde_json::from_str(&thing)?;
    Ok(thing.pointer("/registration/ttl").and_then(Value::as_u64))
}

impl Registration<'_> {
    /// Renews all agents at half the shortest time to live, until Ctrl-C or SIGTERM.
    async fn keep_alive(&self, agents: &[Registered]) -> anyhow::Result<()> {
        let mut shortest = u64::MAX;
        for id in agents.iter().flat_map(Registered::ids) {
            shortest = shortest.min(granted_ttl(&self.client, id).await?.unwrap_or(u64::MAX));
        }
        if shortest == u64::MAX {
            bail!(
                "none of the agents expires, so there is nothing to keep alive: give a time to live with --ttl SECONDS"
            );
        }
        let pause = Duration::from_millis(shortest.saturating_mul(500).max(100));
        if !self.arguments.json {
            let count = agents.iter().flat_map(Registered::ids).count();
            writeln!(io::stdout(), "renewing {count} every {} s until interrupted", pause.as_secs_f32())?;
        }
        let mut interrupted = std::pin::pin!(stop::signal()?);
        let mut wait = pause;
        loop {
            tokio::select! {
                () = &mut interrupted => return Ok(()),
                () = tokio::time::sleep(wait) => {}
            }
            wait = if self.renew_all(agents).await? { pause } else { RETRY.min(pause) };
        }
    }

    /// Renews; an agent that expired meanwhile is registered anew. False if some must be tried again soon.
    async fn renew_all(&self, agents: &[Registered]) -> io::Result<bool> {
        let mut complete = true;
        for agent in agents {
            for id in agent.ids() {
                let renewed = match self.client.patch(id, "{}").await {
                    Err(error) if error.is_not_found() => self.register_anew(agent).await,
                    renewed => renewed.map(drop),
                };
                if let Err(error) = renewed {
                    complete = false;
                    writeln!(io::stderr(), "{} {id} could not be renewed: {error}", red_on_stderr("error:"))?;
                }
            }
        }
        Ok(complete)
    }

    async fn register_anew(&self, agent: &Registered) -> client::Result<()> {
        match agent {
            Registered::Thing { id, document } => self.client.put(id, document.as_str()).await.map(drop),
            Registered::Import { document, .. } => self.import(document).await.map(drop),
        }
    }
}
