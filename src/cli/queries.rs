//! `agentdex queries`: saved queries, which have events of their own.

use std::{io::Write, process::ExitCode};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{
    excluded_words::word,
    misuse::misuse,
    output::{INDENT, Style, counted, fit, print_json, quoted, visible},
    search::Filters,
    terminal::stdout,
    watch,
};
use agentdex::access::{AccessRequest, Namespace, Owner, Visibility};
use agentdex_client::{
    EventFilter, RegistryClient,
    api::{NamedQuery, QueryName, QueryParameters},
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the saved queries that you can see.
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Save a query.
    Create(Box<Create>),
    /// Print agents when they start or stop matching a saved query, or change while they match.
    Watch {
        #[command(flatten)]
        name: Name,
        /// Start after the event with this id instead of now
        #[arg(long, value_name = "EVENT-ID")]
        since: Option<String>,
        /// Print each event as a line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a saved query.
    #[command(visible_alias = "remove")]
    Delete {
        #[command(flatten)]
        name: Name,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct Name {
    /// Name of the query
    name: String,
    /// Owner of the query [default: you]
    #[arg(long, value_name = "NAME")]
    owner: Option<Owner>,
}

impl Name {
    fn query_name(&self) -> QueryName {
        let name = QueryName::new(&self.name);
        match &self.owner {
            Some(owner) => name.of(owner.clone()),
            None => name,
        }
    }
}

#[derive(Debug, Args)]
struct Create {
    /// Name of the query
    name: String,
    /// Words of the query, in the syntax of `agentdex search`
    #[arg(value_name = "WORD", value_parser = word)]
    words: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// Match by meaning only
    #[arg(long, conflicts_with = "lexical")]
    semantic: bool,
    /// Match by words only
    #[arg(long)]
    lexical: bool,
    /// Minimum cosine similarity for a match by meaning, from 0 to 1 [default: computed from the current results]
    #[arg(long, value_name = "COSINE", value_parser = threshold)]
    threshold: Option<f32>,
    /// Who can see the query besides its owner and admins [default: private if the server requires API keys, otherwise
    /// public]
    #[arg(long, value_name = "public|namespace|private")]
    visibility: Option<Visibility>,
    /// Namespace to share the query with if --visibility is namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<Namespace>,
    /// Replace a query of the same name
    #[arg(long)]
    force: bool,
    /// Print the saved query as JSON
    #[arg(long)]
    json: bool,
}

fn threshold(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("{text:?} is not a number from 0 to 1; for example 0.35"))
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List { json } => {
            let queries = client.saved_queries().await?;
            match json {
                true => print_json(&queries)?,
                false => print_all(&queries)?,
            }
        }
        Action::Create(create) => return save(create, client).await,
        Action::Watch { name, since, json } => {
            let name = name.query_name();
            // The stream of a query that isn't there would only be refused.
            client.saved_query(name.clone()).await?;
            let filter = EventFilter { saved_query: Some(name), diff: true, ..EventFilter::default() };
            return watch::follow(client, filter, since.clone(), *json).await;
        }
        Action::Delete { name, json } => {
            client.remove_query(name.query_name()).await?;
            match json {
                true => print_json(&json!({"name": name.name, "effect": "removed"}))?,
                false => writeln!(stdout(), "removed {}", visible(&name.name))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn save(create: &Create, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let Create { name, visibility, namespace, force, json, .. } = create;
    let query = QueryParameters::try_from(members(create)).map_err(misuse)?;
    let namespace = namespace.clone().map(Some);
    let access = AccessRequest { visibility: *visibility, namespace, ..AccessRequest::default() };
    let saved = match force {
        true => client.save_query_with(name.as_str(), &query, &access).await,
        false => client.save_new_query(name.as_str(), &query, &access).await,
    };
    let saved = match saved {
        Err(error) if error.is_conflict() => {
            anyhow::bail!("you already have a query {name:?}; use --force to replace it")
        }
        saved => saved?,
    };
    match json {
        true => print_json(&saved)?,
        false => {
            writeln!(
                stdout(),
                "saved {}; `agentdex queries watch {0}` prints which agents start or stop matching",
                visible(&saved.name)
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The members of a query: its words, filters as lists, and how it matches.
fn members(create: &Create) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, value) in create.filters.parameters() {
        if let Value::Array(values) = members.entry(name).or_insert_with(|| json!([])) {
            values.push(value.into());
        }
    }
    let words = create.words.join(" ");
    if !words.trim().is_empty() {
        members.insert("q".into(), words.into());
    }
    if create.semantic || create.lexical {
        members.insert("mode".into(), if create.semantic { "semantic" } else { "lexical" }.into());
    }
    members.extend(create.threshold.map(|threshold| ("threshold".to_owned(), json!(threshold))));
    members
}

/// Writes a query as the arguments that [`Create`] takes.
fn as_arguments(query: &QueryParameters) -> anyhow::Result<String> {
    let Value::Object(mut members) = serde_json::to_value(query)? else { return Ok(String::new()) };
    let words = members.remove("q");
    let mut arguments: Vec<String> = words.as_ref().and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    arguments.extend(members.remove("mode").as_ref().and_then(Value::as_str).map(|mode| format!("--{mode}")));
    for (name, value) in members {
        let values = if let Value::Array(values) = value { values } else { vec![value] };
        let texts = values.into_iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        arguments.extend(texts.map(|text| format!("--{} {}", name.replace('_', "-"), quoted(&text))));
    }
    Ok(arguments.join(" "))
}

fn print_all(queries: &[NamedQuery]) -> anyhow::Result<()> {
    let (style, mut out) = (Style::stdout(), stdout());
    if queries.is_empty() {
        writeln!(out, "No saved queries. `agentdex queries create NAME WORD` saves one.")?;
        return Ok(());
    }
    for query in queries {
        let owner = query.owner.as_ref().map(|owner| format!(" of {}", visible(owner.as_str()))).unwrap_or_default();
        let behind = query.behind.map(|behind| format!(", {} behind", counted(behind, "change", "changes")));
        let behind = behind.unwrap_or_default();
        writeln!(out, "{}{owner}, {}{behind}", style.bold(&query.name), query.visibility)?;
        writeln!(out, "{INDENT}{}", fit(&visible(&as_arguments(&query.query)?), INDENT.len()))?;
    }
    writeln!(out, "{} {}", queries.len(), if queries.len() == 1 { "query" } else { "queries" })?;
    Ok(())
}
