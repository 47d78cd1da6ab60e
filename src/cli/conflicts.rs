//! Conflicts between several files of one call: the same id of an agent, or the same address by `--base`. Of equal files one
//! is enough.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
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

/// The files of a call.
#[derive(Default)]
pub(super) struct Checked {
    /// Files to process, without those that equal an earlier one. A warning was printed for each of these.
    pub files: Vec<PathBuf>,
    /// Files that describe the same Thing differently, with an error each. The last of them would silently win.
    pub refused: Vec<(PathBuf, anyhow::Error)>,
}

/// Compares the files of a call with each other. What is wrong with a file by itself is reported when it is its turn.
/// `are_named_by_file`: a document without an id gets one that no other file has.
///
/// # Errors
/// If `--base` would give two agents the same address.
pub(super) fn check(
    files: Vec<PathBuf>,
    format: Option<Format>,
    mapping: &Mapping,
    components: &[FileDocument],
    are_named_by_file: bool,
) -> anyhow::Result<Checked> {
    if files.len() < 2 {
        return Ok(Checked { files, ..Checked::default() });
    }
    // By the number of the file; without an error for a duplicate.
    let mut left_out: BTreeMap<usize, Option<String>> = BTreeMap::new();
    let mut described: HashMap<String, (usize, u64)> = HashMap::new();
    let mut called: Option<&Path> = None;
    // Standard input can be read once only.
    let named = files.iter().enumerate().filter(|(_, path)| !document::is_standard_input(path));
    for (index, path) in named {
        let Some((things, has_id)) = things(path, format, mapping, components) else { continue };
        let unnamed = usize::from(are_named_by_file && !has_id);
        let ids: Vec<Cow<'_, str>> = things.iter().skip(unnamed).filter_map(id_of).collect();
        let content = content_of(&things);
        let known = ids.iter().find_map(|id| Some((id, *described.get(id.as_ref())?)));
        if let Some((id, (first, before))) = known {
            let other = files[first].display();
            if before == content {
                let message = format!("skipped: same description as {other}");
                warn(&path.to_string_lossy(), &[Violation::new("", "duplicate", message)]);
                left_out.insert(index, None);
            } else {
                let conflict =
                    |other| Some(format!("{id} is described differently in {other}; give each Thing its own id"));
                left_out.insert(index, conflict(other));
                left_out.entry(first).or_insert_with(|| conflict(path.display()));
            }
            continue;
        }
        for id in ids {
            if described.insert(id.clone().into_owned(), (index, content)).is_some() {
                left_out.insert(index, Some(format!("{id} is described twice; give each Thing its own id")));
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
    let mut checked = Checked::default();
    for (index, path) in files.into_iter().enumerate() {
        match left_out.remove(&index) {
            None => checked.files.push(path),
            Some(None) => {}
            Some(Some(error)) => checked.refused.push((path, anyhow::Error::msg(error))),
        }
    }
    Ok(checked)
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
