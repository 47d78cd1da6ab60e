//! `agentdex register`: creates agents or replaces them, and keeps them alive if asked to.
//!
//! Thing Descriptions are put as they are, documents in other formats are imported by the registry, and
//! what agents serve themselves the registry fetches.

mod answer;
mod keep_alive;
mod lines;
mod stable_id;
mod tally;

use std::{
    fmt,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use indicatif::ProgressBar;
use serde_json::Value;

use self::{answer::Answer, lines::Content, tally::Tally};
use super::{
    conflicts,
    document::{self, FileDocument},
    error_message::{causes, to_json},
    mapping::{Mapping, help_of_format},
    misuse::misuse,
    output::{Results, complain, red_on_stderr, visible, warn},
    progress,
};
use agentdex::{convert::Format, td};
use agentdex_client::{self as client, Imported, RegistryClient};

fn seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| "expected a whole number of seconds above 0, such as 3600".to_owned())
}

/// Number of documents above which a terminal shows a progress bar and the totals, instead of a line for each document.
const MANY: u64 = 20;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// JSON, YAML (.yaml, .yml), JSON5, or NDJSON (.ndjson, .jsonl) files, folders of them, or - for standard input
    #[arg(required_unless_present = "urls_of_agents", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// URL of an agent, an MCP server, or a description; can be repeated. The registry fetches the description, and
    /// polls it for changes unless it is a Thing Description. Without --format, the registry also tries the well-known
    /// locations of A2A, MCP, LMOS, and WoT
    #[arg(long = "url-of-agent", value_name = "URL")]
    urls_of_agents: Vec<String>,
    #[arg(long, help = help_of_format("Format of all documents"))]
    format: Option<Format>,
    /// Remove the agents unless they are renewed within this time. With --url-of-agent, the minimum is 60 seconds, and
    /// the registry renews the agents itself, even while their source is unavailable
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    ttl: Option<u64>,
    /// Keep running, and renew the agents whenever half of their time to live has passed
    #[arg(long)]
    keep_alive: bool,
    /// Generate new ids for documents without an id. By default, the id of such a document is derived from the host
    /// name and the path of the file, so that registering the file again updates the same agent. On standard input,
    /// documents without an id always get new ids
    #[arg(long)]
    new_id: bool,
    /// Replace an agent even if the new description has no title, description, capability, or address in common with
    /// it, or lacks some of its actions, forms, or security definitions. If the new description is a Thing Description,
    /// the agent's imported original, other versions, edits, and tracking are removed, too
    #[arg(long)]
    replace: bool,
    /// Print a line of JSON for each file or URL
    #[arg(long)]
    json: bool,
    /// Print only errors and warnings
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print a line for each agent. By default, a terminal shows only totals if there are more than 20 documents
    #[arg(long, short, conflicts_with_all = ["json", "quiet"])]
    verbose: bool,
    #[command(flatten)]
    mapping: Mapping,
}

/// The location of a description.
enum Place {
    File(PathBuf),
    /// A line of a file.
    Line(PathBuf, usize),
    /// At a URL, for the registry to fetch.
    Agent(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => path.display().fmt(f),
            Place::Line(path, number) => write!(f, "{}:{number}", path.display()),
            Place::Agent(url) => f.write_str(url),
        }
    }
}

/// Registered agents, with the document or URL that they were registered with.
enum Registered {
    Thing { id: String, document: String },
    Import { ids: Vec<String>, import: Import },
    Tracked { ids: Vec<String>, url: String },
}

/// A document in another format, as the registry gets it.
struct Import {
    format: Format,
    document: client::Document,
    /// The id of its Thing, where it has none of its own.
    id: Option<String>,
}

impl Registered {
    fn ids(&self) -> &[String] {
        match self {
            Registered::Thing { id, .. } => std::slice::from_ref(id),
            Registered::Import { ids, .. } | Registered::Tracked { ids, .. } => ids,
        }
    }
}

/// The registry, and what everything is registered with.
struct Registration<'a> {
    client: &'a RegistryClient,
    arguments: &'a Arguments,
    /// The components that documents refer to, as they were read and as they are sent.
    beside: &'a [FileDocument],
    components: Vec<client::Document>,
    /// The time to live as a parameter has it.
    ttl: Option<String>,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let components = arguments.mapping.read_components()?;
    let (places, refused) = places(arguments, &components)?;
    let registration = Registration {
        client,
        arguments,
        beside: &components,
        components: components.iter().map(FileDocument::to_component).collect(),
        ttl: arguments.ttl.map(|ttl| ttl.to_string()),
    };
    let mut done = registration.register_all(&places, refused).await;
    if arguments.keep_alive && !done.registered.is_empty() {
        registration.keep_alive(&done.registered, &mut done.results).await?;
    }
    Ok(done.results.finish(if done.tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })?)
}

/// A description that can't be registered, and the reason.
type Refused = (Place, anyhow::Error);

fn places(arguments: &Arguments, components: &[FileDocument]) -> anyhow::Result<(Vec<Place>, Vec<Refused>)> {
    let files = match arguments.files.as_slice() {
        [] => Vec::new(),
        files => document::files(not_urls(files)?)?,
    };
    arguments.mapping.check_number(files.len() + arguments.urls_of_agents.len())?;
    let are_named_by_file = true;
    let checked = conflicts::check(files, arguments.format, &arguments.mapping, components, are_named_by_file)?;
    let agents = arguments.urls_of_agents.iter().cloned().map(Place::Agent);
    let refused = checked.refused.into_iter().map(|(path, error)| (Place::File(path), error));
    Ok((checked.files.into_iter().map(Place::File).chain(agents).collect(), refused.collect()))
}

/// Refuses URLs among the files, which would be reported as missing files.
fn not_urls(files: &[PathBuf]) -> anyhow::Result<&[PathBuf]> {
    let is_url = |file: &&str| ["http://", "https://"].iter().any(|scheme| file.starts_with(scheme));
    match files.iter().filter_map(|file| file.to_str()).find(is_url) {
        Some(url) => {
            Err(misuse(format!("{url} is a URL, not a file; use --url-of-agent {url} to have the registry fetch it")))
        }
        None => Ok(files),
    }
}

/// The result of registering all descriptions.
#[derive(Default)]
struct Done {
    results: Results,
    tally: Tally,
    /// Agents to renew; empty without `--keep-alive`.
    registered: Vec<Registered>,
    /// True if the registry could not be reached.
    is_unreachable: bool,
    /// True if only failures are printed, and the rest is counted.
    is_counted: bool,
}

/// True if the registry can't be reached, so that no other description could be registered.
fn is_unreachable(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(client::Error::Unreachable { .. }))
}

impl Registration<'_> {
    /// Registers one description after the other, until the registry can't be reached.
    async fn register_all(&self, places: &[Place], refused: Vec<Refused>) -> Done {
        let total = total(places);
        let is_many = total.is_none_or(|total| total > MANY);
        let bar = if is_many { progress::of_count(total, "documents") } else { ProgressBar::hidden() };
        let is_terminal = io::stdout().is_terminal();
        let is_counted = is_many && is_terminal && !self.arguments.verbose && !self.arguments.json;
        let mut done = Done { is_counted, ..Done::default() };
        let total_places = places.len() + refused.len();
        for (place, error) in refused {
            self.take(&mut done, &place, Err(error));
        }
        let mut tried = 0;
        for place in places {
            match place {
                Place::File(path) => match lines::read(path) {
                    Content::One(document) => {
                        let outcome = self.register_document(path, document, true).await;
                        bar.suspend(|| self.take(&mut done, place, outcome));
                        bar.inc(1);
                    }
                    Content::Lines(lines) => {
                        for (number, document) in lines {
                            let outcome = self.register_document(path, document, false).await;
                            let place = Place::Line(path.clone(), number);
                            bar.suspend(|| self.take(&mut done, &place, outcome));
                            bar.inc(1);
                            if done.is_unreachable {
                                break;
                            }
                        }
                    }
                },
                Place::Line(..) => {}
                Place::Agent(url) => {
                    let outcome = self.register_agent(url).await;
                    bar.suspend(|| self.take(&mut done, place, outcome));
                    bar.inc(1);
                }
            }
            tried += 1;
            if done.is_unreachable {
                break;
            }
        }
        bar.finish_and_clear();
        if !self.arguments.json && !self.arguments.quiet && (total_places > 1 || done.tally.documents > 1) {
            done.tally.print(places.len() - tried, &mut done.results);
        }
        done
    }

    /// Prints the result for one description, and counts it.
    fn take(&self, done: &mut Done, place: &Place, outcome: anyhow::Result<(Registered, Answer)>) {
        match &outcome {
            Ok((_, answer)) if done.is_counted => done.tally.warnings += answer.warnings().len(),
            outcome => print(self.arguments, place, outcome, &mut done.results),
        }
        done.tally.add(&place.to_string(), outcome.as_ref().map(|(_, answer)| answer));
        match outcome {
            Ok((agent, _)) if self.arguments.keep_alive => done.registered.push(agent),
            Ok(_) => {}
            Err(error) => done.is_unreachable = is_unreachable(&error),
        }
    }

    async fn register_document(
        &self,
        path: &Path,
        document: Result<FileDocument, document::ReadError>,
        is_alone: bool,
    ) -> anyhow::Result<(Registered, Answer)> {
        let document = document?;
        let format = document.format(self.arguments.format)?;
        let options = self.arguments.mapping.options(format)?;
        let of_file = || if is_alone { stable_id::of_file(path) } else { None };
        let Some(import) = format.import() else {
            let id = if self.arguments.new_id { None } else { of_file() };
            return self.register_thing(&document.thing_description()?, id).await;
        };
        let has_id = import.has_id(&document.input(&document::component_inputs(self.beside)), &options);
        let id = match has_id {
            true => None,
            false if self.arguments.new_id => Some(stable_id::another()),
            false => of_file(),
        };
        let import = Import { format, document: document.into_source(format)?, id };
        let imported = self.import(&import).await?;
        Ok((Registered::Import { ids: imported.ids.clone(), import }, Answer::Imported(imported)))
    }

    /// Registers a description; without an id it gets `id`, or one of the registry's.
    async fn register_thing(&self, read: &td::Document, id: Option<String>) -> anyhow::Result<(Registered, Answer)> {
        let own_id = read.id().and_then(Value::as_str).map(str::to_owned);
        // The id that follows from a file is that of its agent, whatever is in it.
        let if_exists = if own_id.is_none() || self.arguments.replace { "replace" } else { "related" };
        let mut document = match self.arguments.ttl {
            Some(ttl) => td::merge_patch::apply(read.text(), &format!("{{\"registration\":{{\"ttl\":{ttl}}}}}"))?,
            None => read.text().to_owned(),
        };
        if let (None, Some(id)) = (&own_id, &id) {
            document = td::merge_patch::apply(&document, &serde_json::json!({"id": id}).to_string())?;
        }
        let id = own_id.or(id);
        let written = match id {
            Some(id) => {
                let mut parameters = vec![("if_exists", if_exists)];
                parameters.extend(self.arguments.replace.then_some(("replace", "true")));
                self.client.put_with(&id, document.as_str(), &parameters).await
            }
            None => self.client.register(document.as_str()).await,
        }?;
        // With the id that it has by now, an anonymous agent that expired can be registered again.
        let document = td::merge_patch::apply(&document, &serde_json::json!({"id": written.id}).to_string())?;
        Ok((Registered::Thing { id: written.id.clone(), document }, Answer::Written(written)))
    }

    async fn register_agent(&self, url: &str) -> anyhow::Result<(Registered, Answer)> {
        if let Some(format) = self.arguments.format.filter(|format| format.tracking().is_none()) {
            let tracked = Format::ALL.iter().copied().filter(|format| format.tracking().is_some());
            return Err(misuse(format!(
                "the registry can't fetch documents of the format {format}; register them as files. With \
                 --url-of-agent, --format can be {}; without --format, the format is detected",
                Format::names(tracked)
            )));
        }
        let imported = self.import_url(url).await?;
        Ok((Registered::Tracked { ids: imported.ids.clone(), url: url.to_owned() }, Answer::Imported(imported)))
    }

    async fn import(&self, Import { format, document, id }: &Import) -> client::Result<Imported> {
        let takes_components = format.import().is_some_and(|import| import.takes_components);
        let components = if takes_components { self.components.as_slice() } else { &[] };
        let mut parameters = self.with_ttl(self.arguments.mapping.parameters(*format, false));
        parameters.extend(id.as_deref().map(|id| ("id", id)));
        parameters.extend((id.is_some() || self.arguments.replace).then_some(("if_exists", "replace")));
        parameters.extend(self.replacing());
        self.client.import(format.name(), document, components, &parameters).await
    }

    async fn import_url(&self, url: &str) -> client::Result<Imported> {
        let mapping = &self.arguments.mapping;
        let own = match self.arguments.format {
            Some(format) => mapping.parameters(format, true),
            None => mapping.id().map(|id| ("id", id)).into_iter().collect(),
        };
        let mut parameters = self.with_ttl(own);
        parameters.extend(self.arguments.replace.then_some(("if_exists", "replace")));
        parameters.extend(self.replacing());
        match self.arguments.format {
            Some(format) => self.client.import_url(format.name(), url, &parameters).await,
            None => self.client.import_detected(url, &parameters).await,
        }
    }

    /// The parameter that lets an import drop what is there.
    fn replacing(&self) -> Option<(&'static str, &'static str)> {
        self.arguments.replace.then_some(("replace", "true"))
    }

    fn with_ttl<'s>(&'s self, mut parameters: Vec<(&'static str, &'s str)>) -> Vec<(&'static str, &'s str)> {
        parameters.extend(self.ttl.as_deref().map(|ttl| ("ttl", ttl)));
        parameters
    }
}

/// Prints the result for one description: successes to standard output, errors and warnings to standard error.
fn print(arguments: &Arguments, place: &Place, outcome: &anyhow::Result<(Registered, Answer)>, results: &mut Results) {
    let name = place.to_string();
    if arguments.json {
        let mut line = match outcome {
            Ok((_, answer)) => answer.to_json(),
            Err(error) => to_json(error),
        };
        let kind = match place {
            Place::File(_) | Place::Line(..) => "file",
            Place::Agent(_) => "url",
        };
        line[kind] = name.into();
        return results.print(&line.to_string());
    }
    match outcome {
        Ok((_, answer)) => {
            if !arguments.quiet {
                results.print(&answer.to_text());
            }
            warn(&name, answer.warnings());
        }
        Err(error) => {
            let (name, causes) = (visible(&name), causes(error));
            // What can't be fetched is named by the registry.
            let said = if causes.starts_with(&*name) { causes } else { format!("{name}: {causes}") };
            complain(&format!("{} {said}", red_on_stderr("error:")));
        }
    }
}

/// Returns the number of documents in all places, or `None` if standard input has them.
fn total(places: &[Place]) -> Option<u64> {
    let documents = |place: &Place| match place {
        Place::File(path) if document::is_standard_input(path) => None,
        Place::File(path) if lines::has_lines(path) => Some(lines::count(path)),
        _ => Some(1),
    };
    places.iter().map(documents).sum()
}
