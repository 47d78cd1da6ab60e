//! `--input` and `--variable`: what is sent to an affordance.

use std::io::{self, Read};

use anyhow::anyhow;
use clap::Args;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{misuse::misuse, output::visible};
use agentdex::convert::rounded_integers;
use agentdex_consumer::{Affordance, Agent, Error, Settings};

#[derive(Debug, Args)]
pub(super) struct UriVariables {
    /// Value of a variable in the URL; can be repeated
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    variables: Vec<String>,
}

impl UriVariables {
    /// Settings with these values: a text where one is allowed, else JSON.
    pub(super) fn settings(&self, agent: &Agent, affordance: &Affordance) -> anyhow::Result<Settings> {
        let description = agent.description();
        let owners = [description.find(affordance), description.find(&Affordance::Thing)];
        let declared: Vec<(String, &Value)> = owners
            .iter()
            .flatten()
            .filter_map(|owner| owner.get("uriVariables")?.as_object())
            .flatten()
            .map(|(name, schema)| (percent_decode_str(name).decode_utf8_lossy().into_owned(), schema))
            .collect();
        let input = owners[0].and_then(|owner| owner.get("input")?.get("properties"));
        let mut settings = Settings::new();
        for variable in &self.variables {
            let (name, text) =
                variable.split_once('=').ok_or_else(|| misuse(format!("--variable {variable:?} is not NAME=VALUE")))?;
            let Some((_, schema)) = declared.iter().find(|(known, _)| known == name) else {
                let names: Vec<_> = declared.iter().map(|(name, _)| visible(name)).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let affordance = affordance.name();
                return Err(misuse(format!(
                    "--variable: {affordance} has no URI variable {name:?}; its variables: {names}"
                )));
            };
            // An input that is in the URL and can't be one of its variables is described there as text.
            let schema = input.and_then(|input| input.get(name)).unwrap_or(schema);
            let value = if takes_text(schema) { None } else { serde_json::from_str(text).ok() };
            if value.is_some() {
                check_integers(&format!("--variable {name}"), text)?;
            }
            settings = settings.variable(name, value.unwrap_or_else(|| Value::from(text)));
        }
        Ok(settings)
    }
}

/// True if a schema allows texts.
pub(super) fn takes_text(schema: &Value) -> bool {
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)?.as_array());
    match (schema.get("type"), alternatives) {
        (Some(Value::Array(kinds)), _) => kinds.iter().any(|kind| kind == "string"),
        (Some(kind), _) => kind == "string",
        (None, Some(alternatives)) => alternatives.iter().any(takes_text),
        (None, None) => true,
    }
}

/// An error about the input names the flag that gives it.
pub(super) fn with_flag(error: Error) -> anyhow::Error {
    match error {
        Error::InvalidInput { .. } => anyhow!("{error}; pass a valid input as JSON with --input"),
        error => error.into(),
    }
}

/// Reads the value of `--input`; `-` is standard input.
pub(super) fn input(text: &str) -> anyhow::Result<Value> {
    let mut read = String::new();
    let text = match text {
        "-" => {
            io::stdin().read_to_string(&mut read)?;
            &read
        }
        text => text,
    };
    let value = serde_json::from_str(text).map_err(|error| {
        misuse(format!("--input is not valid JSON: {error}; put strings in quotes, such as '\"Bonn\"'"))
    })?;
    check_integers("--input", text)?;
    Ok(value)
}

/// Refuses JSON with integers that would be sent with other digits.
pub(super) fn check_integers(name: &str, json: &str) -> anyhow::Result<()> {
    match rounded_integers(json).first().map(String::as_str) {
        None => Ok(()),
        Some("") => Err(misuse(format!("{name}: the integer has more than 64 bits, and would be rounded"))),
        Some(pointer) => {
            Err(misuse(format!("{name}: the integer at {pointer} has more than 64 bits, and would be rounded")))
        }
    }
}
