//! `agentdex td`: makes Thing Descriptions of documents in other formats, without a registry.
//!
//! One description is printed as it is, several as a JSON array. What is odd about a document goes to
//! standard error.

use std::{
    collections::HashSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{json, value::RawValue};
use uuid::Uuid;

use super::{
    conflicts,
    document::{self, FileDocument},
    error_message::{causes, to_json},
    mapping::{Mapping, help_of_format},
    output::{complain, indented, red_on_stderr, visible, warn},
    terminal::stdout,
};
use agentdex::{
    Error,
    convert::{Conversion, ConvertedThing, Format},
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// JSON, YAML (.yaml, .yml), or JSON5 files, folders of them, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(long, help = help_of_format("Format of all files"))]
    format: Option<Format>,
    /// Write each Thing Description to a separate file in this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Create Thing Models for agents without an address, if the format allows it
    #[arg(long)]
    thing_model: bool,
    #[command(flatten)]
    mapping: Mapping,
    /// Print each Thing Description on one line; with --out, print a line of JSON for each file
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let components = arguments.mapping.read_components()?;
    let mut target = match &arguments.out {
        Some(folder) => Target::Folder { folder, written: HashSet::new(), as_json: arguments.json },
        None => Target::StandardOutput(Vec::new()),
    };
    let files = document::files(&arguments.files)?;
    arguments.mapping.check_number(files.len())?;
    let are_named_by_file = false;
    let checked = conflicts::check(files, arguments.format, &arguments.mapping, &components, are_named_by_file)?;
    let converted = checked.files.into_iter().map(|path| (convert(arguments, &components, &path), path));
    let refused = checked.refused.into_iter().map(|(path, error)| (Err(error), path));
    let mut failed = false;
    for (conversion, path) in refused.chain(converted) {
        let made = conversion.and_then(|Conversion { things, warnings, .. }| {
            warn(&path.to_string_lossy(), &warnings);
            target.take(&path, things)
        });
        if let Err(error) = made {
            failed = true;
            if arguments.json {
                let mut line = to_json(&error);
                line["file"] = path.to_string_lossy().into();
                complain(&line.to_string());
            } else {
                complain(&format!("{} {}: {}", red_on_stderr("error:"), path.display(), causes(&error)));
            }
        }
    }
    target.finish(arguments.json)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn convert(arguments: &Arguments, components: &[FileDocument], path: &Path) -> anyhow::Result<Conversion> {
    let document = FileDocument::read(path)?;
    let format = document.format(arguments.format)?;
    let Some(import) = format.import() else { bail!("the document is already {}", format.descriptor().noun) };
    let options = arguments.mapping.options(format)?.thing_model(arguments.thing_model);
    let components = document::component_inputs(components);
    import.to_things(&document.input(&components), &options).map_err(|error| all_violations(error.into()))
}

/// An error with everything that is wrong, one place a line.
fn all_violations(error: Error) -> anyhow::Error {
    let Error::InvalidSource { format, report } = &error else { return error.into() };
    let lines = report
        .violations
        .iter()
        .map(|violation| format!("\n  {} [{}]", visible(&violation.to_string()), violation.rule));
    anyhow::anyhow!("the {format} document is invalid{}", lines.collect::<String>())
}

/// The longest name of a file in bytes.
const LONGEST_NAME: usize = 255;
/// Maximum length in bytes of each part that is cut, the document's name and the end of the id, in a name that would be
/// too long.
const LONGEST_PART: usize = 80;

/// Destination of the descriptions.
enum Target<'a> {
    StandardOutput(Vec<String>),
    Folder { folder: &'a Path, written: HashSet<PathBuf>, as_json: bool },
}

impl Target<'_> {
    fn take(&mut self, source: &Path, things: Vec<ConvertedThing>) -> anyhow::Result<()> {
        match self {
            Target::StandardOutput(descriptions) => {
                descriptions.extend(things.into_iter().map(|thing| thing.description.text().to_owned()));
            }
            Target::Folder { folder, written, as_json } => {
                fs::create_dir_all(*folder).with_context(|| format!("creating {}", folder.display()))?;
                for (index, thing) in things.iter().enumerate() {
                    let path = folder.join(file_name(source, thing, index == 0));
                    if !written.insert(path.clone()) {
                        bail!(
                            "{}: two Things map to this file; use another --out for one of the inputs",
                            path.display()
                        );
                    }
                    let text = format!("{}\n", indented(thing.description.text()));
                    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
                    match *as_json {
                        true => writeln!(stdout(), "{}", json!({"file": path.to_string_lossy(), "id": thing.id}))?,
                        false => writeln!(stdout(), "{}", path.display())?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Prints what was gathered.
    fn finish(self, on_one_line: bool) -> io::Result<()> {
        let Target::StandardOutput(descriptions) = self else { return Ok(()) };
        let text = match descriptions.as_slice() {
            [] => return Ok(()),
            [description] => description.clone(),
            several => format!("[{}]", several.join(",")),
        };
        match serde_json::from_str::<Box<RawValue>>(&text) {
            Ok(json) if on_one_line => writeln!(stdout(), "{}", serde_json::to_string(&json)?),
            _ => writeln!(stdout(), "{}", indented(&text)),
        }
    }
}

/// The file of a Thing: named like the document, that of a part by the end of its id as well.
fn file_name(source: &Path, thing: &ConvertedThing, is_root: bool) -> String {
    let stem = source.file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "-").unwrap_or("thing");
    let kind = if thing.description.text().contains("\"tm:ThingModel\"") { "tm" } else { "td" };
    if is_root {
        return format!("{stem}.{kind}.json");
    }
    let end = thing.id.rsplit(':').next().unwrap_or_default();
    let end: String = end.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    let name = format!("{stem}.{end}.{kind}.json");
    if name.len() <= LONGEST_NAME {
        return name;
    }
    // File systems take no more; what is cut off is what may tell ids apart.
    let cut = |text: &str| text[..text.floor_char_boundary(LONGEST_PART)].to_owned();
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, thing.id.as_bytes()).simple();
    format!("{}.{}-{hash}.{kind}.json", cut(stem), cut(&end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentdex::{convert::Source, td::Document};

    #[test]
    fn names_of_files_stay_short_and_different() {
        let name = |id: &str| {
            let source =
                Source { format: Format::AgentSpec, media_type: "application/json".to_owned(), bytes: Vec::new() };
            let thing = ConvertedThing { id: id.to_owned(), description: Document::parse(b"{}").unwrap(), source };
            file_name(Path::new("swarm.yaml"), &thing, false)
        };
        assert_eq!(name("urn:agentspec:local:a%20b"), "swarm.a_20b.td.json");
        let long = |last: &str| name(&format!("urn:agentspec:local:{}{last}", "%C3%A4".repeat(160)));
        assert!(long("a").len() <= LONGEST_NAME && long("a") != long("b"), "{}", long("a"));
    }
}
