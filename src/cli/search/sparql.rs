//! `agentdex search --sparql`: results as a table, statements as Turtle.

use std::{io::Write, process::ExitCode};

use anyhow::Context;
use serde_json::Value;

use crate::cli::output;
use crate::cli::terminal::stdout;
use agentdex_client::RegistryClient;

const RESULTS: &str = "application/sparql-results+json";

pub(super) async fn run(
    client: &RegistryClient,
    query: &str,
    consistent: bool,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let statements = if as_json { "application/ld+json" } else { "text/turtle" };
    let accept = format!("{RESULTS}, {statements}");
    let text = client.query_sparql(query, &accept, consistent).await?;
    let mut out = stdout();
    let results = (!as_json).then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
    match results {
        Some(results) => print(&mut out, &results)?,
        None => writeln!(out, "{}", text.trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, results: &Value) -> anyhow::Result<()> {
    if let Some(answer) = results.get("boolean") {
        writeln!(out, "{answer}")?;
        return Ok(());
    }
    let variables = results.pointer("/head/vars").and_then(Value::as_array);
    let variables = variables.context("unexpected SPARQL results: /head/vars is not a list")?;
    let names: Vec<&str> = variables.iter().filter_map(Value::as_str).collect();
    let rows = results.pointer("/results/bindings").and_then(Value::as_array);
    let rows = rows.context("unexpected SPARQL results: /results/bindings is not a list")?;
    let mut table = output::table(&names);
    for row in rows {
        table.add_row(names.iter().map(|name| row.get(name).map_or_else(String::new, term)));
    }
    writeln!(out, "{}", output::lines(&table))?;
    let noun = if rows.len() == 1 { "result" } else { "results" };
    writeln!(out, "{} {noun}", rows.len())?;
    Ok(())
}

/// A term of a result: blank nodes as they are written in queries.
fn term(term: &Value) -> String {
    let text = |member: &str| term.get(member).and_then(Value::as_str).unwrap_or_default();
    let prefix = if text("type") == "bnode" { "_:" } else { "" };
    format!("{prefix}{}", output::visible(text("value")))
}
