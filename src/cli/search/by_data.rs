//! `agentdex search --have --want`: finds capabilities, and chains of them, by the data that goes in and comes out.

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use crate::cli::output::{self, INDENT, Style};
use agentdex::{
    registry::{CompatibleQuery, ComposeQuery},
    search::compatible::MAX_STEPS,
};
use agentdex_client::RegistryClient;

/// What is searched for by its data.
#[derive(Debug, Args)]
pub(super) struct ByData {
    /// Search by the data that goes in: the data schema of what you have, as JSON or a file with it
    #[arg(long, value_name = "SCHEMA", conflicts_with_all = ["Filters", "facets", "jsonpath"])]
    have: Option<String>,
    /// Search by the data that comes out: the data schema of what you want, as JSON or a file with it
    #[arg(long, value_name = "SCHEMA", conflicts_with_all = ["Filters", "facets", "jsonpath"])]
    want: Option<String>,
    /// Include agents for which one thing is missing, with --have or --want
    #[arg(long)]
    near_misses: bool,
    /// Find chains of capabilities that lead from --have to --want
    #[arg(long, requires = "have", requires = "want", conflicts_with = "near_misses")]
    compose: bool,
    /// The most steps of a chain, from 1 to 4
    #[arg(long, default_value_t = 3, value_name = "COUNT", requires = "compose")]
    max_steps: usize,
}

impl ByData {
    /// Whether data is given.
    pub(super) fn is_asked(&self) -> bool {
        self.have.is_some() || self.want.is_some()
    }

    /// Searches, and prints what was found.
    pub(super) async fn run(
        &self,
        client: &RegistryClient,
        words: &str,
        limit: usize,
        offset: usize,
        as_json: bool,
    ) -> anyhow::Result<ExitCode> {
        let schema = |name: &str, given: &Option<String>| given.as_deref().map(|given| read(name, given)).transpose();
        let (have, want) = (schema("--have", &self.have)?, schema("--want", &self.want)?);
        let query = Some(words.to_owned()).filter(|query| !query.trim().is_empty());
        let answer = match (self.compose, &have, &want) {
            (true, Some(have), Some(want)) => {
                let max_steps = self.max_steps;
                let query = ComposeQuery { have: have.clone(), want: want.clone(), query, max_steps, limit };
                client.compose(&query).await?
            }
            _ => {
                let near_misses = self.near_misses;
                let query = CompatibleQuery { have, want, query, near_misses, limit, offset };
                client.search_compatible(&query).await?
            }
        };
        let mut out = io::stdout().lock();
        if as_json {
            writeln!(out, "{answer}")?;
        } else if self.compose {
            print_chains(&mut out, &answer, self.max_steps)?;
        } else {
            print_hits(&mut out, &answer, offset, self.near_misses)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads a schema: JSON itself, or a file with it.
fn read(name: &str, given: &str) -> anyhow::Result<Value> {
    let is_json = given.trim_start().starts_with('{');
    let text = match is_json {
        true => given.to_owned(),
        false => fs::read_to_string(given)
            .with_context(|| format!("{name} {given}: neither JSON nor a file that can be read"))?,
    };
    serde_json::from_str(&text).with_context(|| format!("{name}: not the JSON of a data schema"))
}

fn print_hits(out: &mut impl Write, answer: &Value, offset: usize, near_misses: bool) -> anyhow::Result<()> {
    let hits = list(answer, "hits");
    if hits.is_empty() {
        let hint = if near_misses { "" } else { " `--near-misses` shows those of which one thing is missing." };
        writeln!(out, "No agent fits.{hint}")?;
        return Ok(());
    }
    let style = Style::stdout();
    for hit in hits {
        let fit = hit.get("fit").and_then(Value::as_f64).unwrap_or_default();
        let (capability, title) = (style.bold(text(hit, "capability")), output::visible(text(hit, "title")));
        writeln!(out, "{fit:>6.2}  {capability} of {title}")?;
        writeln!(out, "{INDENT}{}", style.dim(text(hit, "id")))?;
        writeln!(out, "{INDENT}{}", output::fit(text(hit, "why"), INDENT.len()))?;
    }
    let last = offset + hits.len();
    writeln!(out, "{} to {last} of {}", offset + 1, answer.get("total").unwrap_or(&Value::Null))?;
    Ok(())
}

fn print_chains(out: &mut impl Write, answer: &Value, max_steps: usize) -> anyhow::Result<()> {
    let style = Style::stdout();
    let chains = list(answer, "chains");
    if chains.is_empty() {
        let hint = if max_steps < MAX_STEPS { " `--max-steps 4` looks for longer ones." } else { "" };
        writeln!(out, "No chain of agents leads there.{hint}")?;
    }
    for (number, chain) in chains.iter().enumerate() {
        let fit = chain.get("fit").and_then(Value::as_f64).unwrap_or_default();
        writeln!(out, "{}. fit {fit:.2}, gives {}", number + 1, links(chain, "output"))?;
        for (step, part) in list(chain, "steps").iter().enumerate() {
            let (capability, title) = (style.bold(text(part, "capability")), output::visible(text(part, "title")));
            writeln!(out, "   {}) {capability} of {title}: takes {}", step + 1, links(part, "input"))?;
            writeln!(out, "      {}", style.dim(text(part, "id")))?;
        }
    }
    if answer.get("complete") == Some(&Value::Bool(false)) {
        writeln!(out, "There may be better chains: not all could be compared in time.")?;
    }
    Ok(())
}

/// What goes where, in words.
fn links(owner: &Value, name: &str) -> String {
    let name_of = |name: &str| if name.is_empty() { "the data".to_owned() } else { output::visible(name).to_string() };
    let link = |link: &Value| {
        let (from, to) = (name_of(text(link, "from")), name_of(text(link, "to")));
        let origin =
            link.get("step").and_then(Value::as_u64).map_or_else(String::new, |step| format!(" of step {step}"));
        if from == to { format!("{from}{origin}") } else { format!("{from}{origin} as {to}") }
    };
    let listed: Vec<String> = list(owner, name).iter().map(link).collect();
    if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") }
}

fn list<'v>(owner: &'v Value, name: &str) -> &'v [Value] {
    owner.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(owner: &'v Value, name: &str) -> &'v str {
    owner.get(name).and_then(Value::as_str).unwrap_or_default()
}
