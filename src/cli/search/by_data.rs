//! `agentdex search --have --want`: finds capabilities, and chains of them, by the data that goes in and comes out.

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::anyhow;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::misuse::misuse;
use crate::cli::output::{self, INDENT, Style};
use crate::cli::terminal::stdout;
use crate::settings::number;
use agentdex::search::compatible::MAX_STEPS;
use agentdex_client::{
    RegistryClient,
    api::{ChainLink, CompatibleQuery, CompatibleResult, ComposeQuery, ComposeResult},
};

/// Options of a search by data.
#[derive(Debug, Args)]
pub(super) struct ByData {
    /// Find capabilities that accept this input: names such as 'place, days: integer', a JSON Schema, or a schema file
    #[arg(long, value_name = "SCHEMA", conflicts_with_all = ["Filters", "TimeBounds", "facets", "jsonpath"])]
    have: Option<String>,
    /// Find capabilities that return this output: names such as 'summary', a JSON Schema, or a schema file
    #[arg(long, value_name = "SCHEMA", conflicts_with_all = ["Filters", "TimeBounds", "facets", "jsonpath"])]
    want: Option<String>,
    /// With --have or --want: also list capabilities for which a single input or output is missing
    #[arg(long)]
    near_misses: bool,
    /// Find chains of capabilities from --have to --want
    #[arg(long, requires = "have", requires = "want", conflicts_with = "near_misses")]
    compose: bool,
    /// Maximum number of steps in a chain, from 1 to 4
    #[arg(long, default_value_t = 3, value_name = "COUNT", requires = "compose", value_parser = number::<usize>(1..=MAX_STEPS as u64))]
    max_steps: usize,
}

impl ByData {
    /// True if `--have` or `--want` is given.
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
        let (have, want) = (schema(HAVE, &self.have)?, schema("--want", &self.want)?);
        let query = Some(words.to_owned()).filter(|query| !query.trim().is_empty());
        let mut out = stdout();
        match (self.compose, &have, &want) {
            (true, Some(have), Some(want)) => {
                let max_steps = self.max_steps;
                let query = ComposeQuery { have: have.clone(), want: want.clone(), query, max_steps, limit };
                let answer = client.compose(&query).await?;
                match as_json {
                    true => writeln!(out, "{}", serde_json::to_string(&answer)?)?,
                    false => print_chains(&mut out, &answer, max_steps)?,
                }
            }
            _ => {
                let near_misses = self.near_misses;
                let query = CompatibleQuery { have, want, query, near_misses, limit, offset };
                let answer = client.search_compatible(&query).await?;
                match as_json {
                    true => writeln!(out, "{}", serde_json::to_string(&answer)?)?,
                    false => print_hits(&mut out, &answer, offset, near_misses)?,
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The types of values in names such as `days: integer`.
const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];
/// The option whose values are all there.
const HAVE: &str = "--have";

/// Reads a schema: JSON itself, a file with it, or names of values.
fn read(option: &str, given: &str) -> anyhow::Result<Value> {
    if given.trim_start().starts_with('{') {
        return parse(option, given);
    }
    match fs::read_to_string(given) {
        Ok(text) => parse(option, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_path(given) => of_names(option, given),
        Err(error) => Err(anyhow!(error).context(format!("{option} {given}"))),
    }
}

fn parse(option: &str, json: &str) -> anyhow::Result<Value> {
    serde_json::from_str(json).map_err(|error| misuse(format!("{option}: not a data schema in JSON: {error}")))
}

/// True if a text was meant to be the name of a file.
fn is_path(text: &str) -> bool {
    text.contains(['/', '\\']) || [".json", ".yaml", ".yml"].iter().any(|ending| text.ends_with(ending))
}

/// Reads `place, days: integer` as a schema. A name without a type is a text.
fn of_names(option: &str, names: &str) -> anyhow::Result<Value> {
    let mut properties = Map::new();
    for part in names.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, kind) = part.split_once(':').map_or((part, "string"), |(name, kind)| (name.trim(), kind.trim()));
        let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "{}[]\"".contains(c));
        if !is_name || !TYPES.contains(&kind) {
            return Err(misuse(format!(
                "{option}: {part:?} is not NAME or NAME: TYPE ({}); for example 'place, days: integer'",
                TYPES.join(", ")
            )));
        }
        properties.insert(name.to_owned(), json!({"type": kind}));
    }
    if properties.is_empty() {
        return Err(misuse(format!("{option}: no names given; for example 'place, days: integer'")));
    }
    let mut schema = json!({"type": "object"});
    if option == HAVE {
        schema["required"] = properties.keys().map(String::as_str).collect();
    }
    schema["properties"] = properties.into();
    Ok(schema)
}

fn print_hits(out: &mut impl Write, answer: &CompatibleResult, offset: usize, near_misses: bool) -> anyhow::Result<()> {
    if answer.hits.is_empty() && answer.total > 0 {
        writeln!(out, "No further matches.")?;
        return Ok(());
    }
    if answer.hits.is_empty() {
        let hint =
            if near_misses { "" } else { " `--near-misses` shows agents for which one input or output is missing." };
        writeln!(out, "No agent fits.{hint}")?;
        return Ok(());
    }
    let style = Style::stdout();
    for hit in &answer.hits {
        writeln!(out, "{:>6.2}  {}", hit.fit, named(style, &hit.capability, hit.title.as_deref()))?;
        writeln!(out, "{INDENT}{}", style.dim(&hit.id))?;
        writeln!(out, "{INDENT}{}", output::fit(&hit.why, INDENT.len()))?;
    }
    let last = offset + answer.hits.len();
    writeln!(out, "{} to {last} of {}", offset + 1, answer.total)?;
    Ok(())
}

fn print_chains(out: &mut impl Write, answer: &ComposeResult, max_steps: usize) -> anyhow::Result<()> {
    let style = Style::stdout();
    if answer.chains.is_empty() {
        let hint = if max_steps < MAX_STEPS { " `--max-steps 4` searches for longer chains." } else { "" };
        writeln!(out, "No chain of agents produces this data.{hint}")?;
    }
    for (number, chain) in answer.chains.iter().enumerate() {
        writeln!(out, "{}. fit {:.2}, gives {}", number + 1, chain.fit, shown(&chain.output))?;
        for (number, step) in chain.steps.iter().enumerate() {
            let name = named(style, &step.capability, step.title.as_deref());
            writeln!(out, "   {}) {name}: takes {}", number + 1, shown(&step.input))?;
            writeln!(out, "      {}", style.dim(&step.id))?;
        }
        let links = chain.steps.iter().flat_map(|step| &step.input).chain(&chain.output);
        for doubt in links.flat_map(|link| &link.doubts) {
            writeln!(out, "   but {}", output::visible(doubt))?;
        }
    }
    if !answer.complete {
        writeln!(out, "There may be better chains; not all could be compared in time.")?;
    }
    Ok(())
}

/// A capability and the title of its Thing.
fn named(style: Style, capability: &str, title: Option<&str>) -> String {
    format!("{} of {}", style.bold(capability), output::visible(title.unwrap_or_default()))
}

/// Describes links in words, each by the origin and the new name of its value: `city of step 1 as place`.
fn shown(links: &[ChainLink]) -> String {
    let name_of = |name: &str| if name.is_empty() { "the data".to_owned() } else { output::visible(name).to_string() };
    let link = |link: &ChainLink| {
        let (from, to) = (name_of(&link.from), name_of(&link.to));
        let origin = link.step.map_or_else(String::new, |step| format!(" of step {step}"));
        if from == to { format!("{from}{origin}") } else { format!("{from}{origin} as {to}") }
    };
    let listed: Vec<String> = links.iter().map(link).collect();
    if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_a_schema() {
        let expected = json!({"type": "object", "required": ["days", "place"], "properties": {
            "place": {"type": "string"}, "days": {"type": "integer"}}});
        assert_eq!(read(HAVE, "place, days: integer").unwrap(), expected);
        assert_eq!(read("--want", "summary").unwrap()["required"], Value::Null);
        assert_eq!(read("--want", r#" {"type": "object"}"#).unwrap(), json!({"type": "object"}));
        for wrong in ["", ",", "days: int", ": integer", "[1]", "{", "missing.json", "./missing"] {
            assert!(read(HAVE, wrong).is_err(), "{wrong}");
        }
    }
}
