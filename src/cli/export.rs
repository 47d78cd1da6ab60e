//! `agentdex export`: prints an agent in another format.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;

use super::{
    agent_name::{id_of, no_agent},
    misuse::misuse,
    output::{self, complain, visible, warn},
    terminal::{is_changed, stdout},
};
use agentdex::{
    convert::{Format, Supply, Syntax},
    td::Violation,
};
use agentdex_client::{ExportedDocument, RegistryClient};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    #[arg(long, help = format!("Format to print: {}", formats()))]
    format: Option<Format>,
    #[arg(long, help = help_of_version())]
    version: Option<String>,
    /// Print the imported original, without later edits
    #[arg(long)]
    without_edits: bool,
    /// Write to this file; if its name ends in .json, write JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON, even if the agent was imported from YAML
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let Some(format) = arguments.format else {
        return Err(misuse(format!("--format is missing; it can be {}", formats())));
    };
    let Some(export) = format.export() else {
        return Err(misuse(format!(
            "--format {format} is not an export format; `agentdex get {}` prints the Thing Description",
            arguments.id
        )));
    };
    let version = match arguments.version.as_deref().map(|asked| export.version(asked)).transpose() {
        Err(message) => return Err(misuse(format!("--version, for the format {format}: {message}"))),
        Ok(version) => version,
    };
    let id = id_of(client, &arguments.id).await?;
    let edits = arguments.without_edits.then_some(("edits", "false"));
    let parameters: Vec<(&str, &str)> = version.map(|version| ("version", version)).into_iter().chain(edits).collect();
    let names_json = arguments.out.as_ref().is_some_and(|path| path.extension().is_some_and(|name| name == "json"));
    let media_type = (arguments.json || names_json).then(|| Syntax::Json.media_type());
    let Some(exported) = client.export_with_warnings(&id, export.path, &parameters, media_type).await? else {
        return Err(no_agent(client, &id).await);
    };
    let ExportedDocument { media_type, document, warnings } = exported;
    let supply = export.supply(document.as_bytes(), &media_type)?;
    // They are listed with an example.
    let is_listed = |warning: &Violation| warning.rule == "value-left-out" && !supply.names.is_empty();
    let warnings: Vec<Violation> = warnings.into_iter().filter(|warning| !is_listed(warning)).collect();
    warn(&id, &warnings);
    print_supply(&supply);
    if let Some(path) = &arguments.out {
        fs::write(path, document).with_context(|| format!("writing {}", path.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout();
    match () {
        () if out.is_terminal() && media_type.ends_with("json") => write!(out, "{}", output::indented(&document))?,
        () if out.is_terminal() && is_changed(&document) => {
            complain("note: terminal control characters are shown as \\u…; --out FILE writes the document unchanged");
            out.write_all(document.as_bytes())?;
        }
        () => out.write_all(document.as_bytes())?,
    }
    if out.is_terminal() && !document.ends_with('\n') {
        writeln!(out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Says on standard error which values aren't in the document, and how to supply them.
fn print_supply(supply: &Supply) {
    if supply.names.is_empty() {
        return;
    }
    let count =
        if let [_] = supply.names.as_slice() { "1 value".into() } else { format!("{} values", supply.names.len()) };
    complain(&format!("note: the document lacks {count}. Provide:"));
    supply.names.iter().for_each(|name| complain(&format!("  {}", visible(name))));
    complain(&format!("for example: {}", visible(&supply.example)));
}

fn formats() -> String {
    Format::names(Format::exports().map(|(format, _)| format))
}

fn help_of_version() -> String {
    let of_format = |(format, export): (Format, &'static agentdex::convert::Export)| {
        (!export.versions.is_empty()).then(|| format!("{} for {format}", export.versions.join(" or ")))
    };
    let known: Vec<String> = Format::exports().filter_map(of_format).collect();
    let defaults: Vec<&str> = Format::exports().filter_map(|(_, export)| export.versions.first().copied()).collect();
    format!(
        "Version of the format ({}) [default: the version of the imported original, or else {}]",
        known.join(", "),
        defaults.join(" or ")
    )
}
