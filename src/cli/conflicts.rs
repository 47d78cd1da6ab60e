//! Conflicts between several files of one call: the same id of an agent, or the same address by `--base`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use anyhow::bail;
use serde_json::{Map, Value};

use super::{
    document::{self, FileDocument},
    mapping::Mapping,
};
use agentdex::{convert::Format, td};

/// Refuses files that describe one agent twice, of which the last would silently stay, and agents that would have one
/// address. What is wrong with a file by itself is reported when it is its turn. `are_named_by_file`: a document without
/// an id gets one that no other file has.
pub(super) fn check(
    files: &[PathBuf],
    format: Option<Format>,
    mapping: &Mapping,
    components: &[FileDocument],
    are_named_by_file: bool,
) -> anyhow::Result<()> {
    if files.len() < 2 {
        return Ok(());
    }
    let mut described: HashMap<String, &Path> = HashMap::new();
    let mut called: Option<&Path> = None;
    // Standard input can be read once only.
    for path in files.iter().filter(|path| !document::is_standard_input(path)) {
        let Some((things, has_id)) = things(path, format, mapping, components) else { continue };
        let unnamed = usize::from(are_named_by_file && !has_id);
        for thing in things.iter().skip(unnamed) {
            let Some(id) = thing.get("id").and_then(Value::as_str).and_then(|id| td::normalize_id(id).ok()) else {
                continue;
            };
            if let Some(first) = described.insert(id.clone().into_owned(), path) {
                bail!("{} and {} both describe {id}; another Thing needs another id", first.display(), path.display());
            }
        }
        if mapping.base().is_some_and(|base| things.iter().any(|thing| is_called_at(thing, base)))
            && let Some(first) = called.replace(path)
        {
            bail!(
                "--base is the address of the agents of {} and {}; put {{id}} or {{name}} into it, which stand for those of \
                 each agent: https://host/agents/{{id}}",
                first.display(),
                path.display()
            );
        }
    }
    Ok(())
}

/// The Things that a file describes, that of its document first, and whether the id of that one is in it.
fn things(
    path: &Path,
    format: Option<Format>,
    mapping: &Mapping,
    components: &[FileDocument],
) -> Option<(Vec<Value>, bool)> {
    let document = FileDocument::read(path).ok()?;
    let format = document.format(format).ok()?;
    let Some(import) = format.import() else {
        return Some((vec![document.thing_description().ok()?.value().clone()], true));
    };
    let (components, options) = (document::component_inputs(components), mapping.options(format).ok()?);
    let input = document.input(&components);
    let conversion = import.to_things(&input, &options).ok()?;
    let things = conversion.things.into_iter().map(|thing| thing.description.value().clone()).collect();
    Some((things, import.has_id(&input, &options)))
}

fn is_called_at(thing: &Value, address: &str) -> bool {
    let actions = thing.get("actions").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let mut forms = actions.filter_map(|action| action.get("forms")?.as_array()).flatten();
    forms.any(|form| form.get("href").is_some_and(|href| href == address))
}
