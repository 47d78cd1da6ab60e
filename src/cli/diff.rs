//! `agentdex diff`: what differs between two descriptions.

use std::{borrow::Cow, io::Write, path::Path, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json, value::RawValue};
use similar::{ChangeTag, TextDiff};

use super::{
    agent_name::{id_of, no_agent},
    document::{FileDocument, is_standard_input},
    output::{Style, print_json, visible},
    terminal::stdout,
};
use agentdex::td::merge_patch;
use agentdex_client::RegistryClient;

/// Time after which a comparison becomes coarser.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Number of equal lines around a difference.
const CONTEXT_LINES: usize = 3;

#[derive(Debug, Args)]
#[command(
    after_help = "The order of members is ignored, and so is the member `registration`, which the registry adds."
)]
pub(super) struct Arguments {
    /// Id or title of an agent, AGENT@VERSION, or a file (- for standard input)
    #[arg(value_name = "A")]
    before: String,
    /// Agent, version, or file to compare with A, named in the same way
    #[arg(value_name = "B")]
    after: String,
    /// Print the result of the comparison as JSON, with the merge patch from A to B
    #[arg(long)]
    json: bool,
}

/// `registry` makes the client if an agent is named.
pub(super) async fn run(
    arguments: &Arguments,
    registry: impl Fn() -> anyhow::Result<RegistryClient>,
) -> anyhow::Result<ExitCode> {
    let before = description(&arguments.before, &registry).await?;
    let after = description(&arguments.after, &registry).await?;
    if arguments.json {
        let patch = merge_patch::diff(&before, &after).map(RawValue::from_string).transpose()?;
        print_json(&json!({"equal": patch.is_none(), "patch": patch}))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&lines_of(&before)?, &lines_of(&after)?, &arguments.before, &arguments.after)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a file, or the description of an agent without what the registry adds.
async fn description(name: &str, registry: impl Fn() -> anyhow::Result<RegistryClient>) -> anyhow::Result<String> {
    let path = Path::new(name);
    if is_standard_input(path) || path.is_file() {
        let document = FileDocument::read(path).with_context(|| name.to_owned())?;
        return document.json().map(Cow::into_owned).with_context(|| name.to_owned());
    }
    let client = registry()?;
    let versioned = name.rsplit_once('@').filter(|(agent, version)| !agent.is_empty() && !version.is_empty());
    let found = match versioned {
        // An id may have an @ of its own.
        Some((agent, version)) => match client.find(name).await? {
            Some(found) => found,
            None => client.find_version(&id_of(&client, agent).await?, version).await?,
        },
        None => {
            let id = id_of(&client, name).await?;
            match client.find(&id).await? {
                Some(found) => found,
                None => return Err(no_agent(&client, &id).await),
            }
        }
    };
    Ok(merge_patch::apply(&found, r#"{"registration": null}"#)?)
}

/// A description with one member a line, in the order of the names.
fn lines_of(json: &str) -> anyhow::Result<String> {
    let value: Value = serde_json::from_str(json).context("reading a description")?;
    Ok(format!("{}\n", serde_json::to_string_pretty(&sorted(value))?))
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        value => value,
    }
}

fn print(before: &str, after: &str, name_before: &str, name_after: &str) -> anyhow::Result<()> {
    let (style, mut out) = (Style::stdout(), stdout());
    if before == after {
        writeln!(out, "no difference")?;
        return Ok(());
    }
    let diff = TextDiff::configure().timeout(TIME_LIMIT).diff_lines(before, after);
    writeln!(out, "{}", style.bold(&format!("--- {name_before}")))?;
    writeln!(out, "{}", style.bold(&format!("+++ {name_after}")))?;
    for (number, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if number > 0 {
            writeln!(out, "{}", style.dim("⋮"))?;
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let line = change.value().trim_end_matches('\n');
            let line = match change.tag() {
                ChangeTag::Delete => style.red(&format!("- {line}")),
                ChangeTag::Insert => style.green(&format!("+ {line}")),
                ChangeTag::Equal => visible(&format!("  {line}")).into_owned(),
            };
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
