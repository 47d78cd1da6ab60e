//! Conflicts between several files of one call: the same id of an agent, or the same address by `--base`. Of equal files one
//! is enough.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use anyhow::bail;
use serde_json::{Map, Value};

use super::{
    document::{self, FileDocument},
    mapping::Mapping,
    output::warn,
};
use agentdex::{
    convert::Format,
    td::{self, Violation},
};

/// Refuses files that describe one agent in two ways, of which the last would silently stay, and agents that would have one
/// address. What is wrong with a file by itself is reported when it is its turn. `are_named_by_file`: a document without
/// an id gets one that no other file has.
///
/// Returns the files without those that describe the same as one before them, each of which a warning names.
pub(super) fn check(
    files: Vec<PathBuf>,
    format: Option<Format>,
    mapping: &Mapping,
    components: &[FileDocument],
    are_named_by_file: bool,
) -> anyhow::Result<Vec<PathBuf>> {
    if files.len() < 2 {
        return Ok(files);
    }
    let mut duplicates = HashSet::new();
    let mut described: HashMap<String, (&Path, u64)> = HashMap::new();
    let mut called: Option<&Path> = None;
    // Standard input can be read once only.
    let named = files.iter().enumerate().filter(|(_, path)| !document::is_standard_input(path));
    for (index, path) in named {
        let Some((things, has_id)) = things(path, format, mapping, components) else { continue };
        let unnamed = usize::from(are_named_by_file && !has_id);
        let ids: Vec<Cow<'_, str>> = things.iter().skip(unnamed).filter_map(id_of).collect();
        let content = content_of(&things);
        let known = ids.iter().find_map(|id| Some((id, described.get(id.as_ref())?)));
        match known {
            Some((_, (first, before))) if *before == content => {
                let message = format!("skipped: same description as {}", first.display());
                warn(&path.to_string_lossy(), &[Violation::new("", "duplicate", message)]);
                duplicates.insert(index);
                continue;
            }
            Some((id, (first, _))) => {
                bail!("{} and {} both describe {id}; give each Thing its own id", first.display(), path.display());
            }
            None => {}
        }
        for id in ids {
            if described.insert(id.clone().into_owned(), (path, content)).is_some() {
                bail!("{} describes {id} twice; give each Thing its own id", path.display());
            }
        }
        if mapping.base().is_some_and(|base| things.iter().any(|thing| is_called_at(thing, base)))
            && let Some(first) = called.replace(path)
        {
            bail!(
                "--base would give the agents of {} and {} the same address; include {{id}} or {{name}}: \
                 https://host/agents/{{id}}",
                first.display(),
                path.display()
            );
        }
    }
    let files = files.into_iter().enumerate().filter(|(index, _)| !duplicates.contains(index));
    Ok(files.map(|(_, path)| path).collect())
}

fn id_of(thing: &Value) -> Option<Cow<'_, str>> {
    td::normalize_id(thing.get("id").or_else(|| thing.get("@id"))?.as_str()?).ok()
}

/// A digest of the Things of a file.
fn content_of(things: &[Value]) -> u64 {
    let mut hasher = DefaultHasher::new();
    things.iter().for_each(|thing| thing.to_string().hash(&mut hasher));
    hasher.finish()
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
