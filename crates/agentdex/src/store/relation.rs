//! Relations between two descriptions with the same id: common content, and conflicting changes.

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{
    applier::{Applier, Description, Found},
    layout,
    serving::{Next, UNSTORED},
    value,
    write::Remark,
};
use crate::{Error, Result, td::merge_patch};

/// Characters that are percent-encoded in ids.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Applier<'_> {
    /// Fails if a description has nothing in common with the served one.
    pub(super) fn check_related(&mut self, id: &str, live: &Found<'_>, description: &Description) -> Result<()> {
        if self.is_related(id, live, description)? {
            return Ok(());
        }
        let title = title_of(&self.served_text(&live.record)?).unwrap_or_default();
        Err(Error::Unrelated { id: id.to_owned(), title })
    }

    /// True if a description has something in common with the served one: a capability, the title, the description,
    /// or the address of a form. For MCP servers named after their software, addresses are compared by origin, and
    /// packages count, too.
    pub(super) fn is_related(&mut self, id: &str, live: &Found<'_>, description: &Description) -> Result<bool> {
        let known = live.record.capability_keys()?;
        let name = generic_name(id);
        // What the id is made of is the same whatever is described.
        let says_something =
            |text: &str| name.is_none_or(|name| name != utf8_percent_encode(text, RESERVED).to_string());
        let has = |key: &String| says_something(key) && known.iter().any(|other| other.eq_ignore_ascii_case(key));
        if description.capabilities.iter().any(has) {
            return Ok(true);
        }
        let held = self.served_text(&live.record)?;
        let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
        let (one, other) = (parse(value::text(&held)?), parse(&description.text));
        let same_text = |member: &str| match (one.get(member), other.get(member)) {
            (Some(Value::String(one)), Some(Value::String(other))) => {
                says_something(one) && one.eq_ignore_ascii_case(other)
            }
            _ => false,
        };
        let places = |thing: &Map<String, Value>| match name {
            Some(_) => addresses(thing).iter().map(|address| origin(address)).chain(packages(thing)).collect(),
            None => addresses(thing),
        };
        let is_known = !places(&one).is_disjoint(&places(&other));
        Ok(same_text("title") || same_text("description") || is_known)
    }

    /// Adds remarks about members changed by both an edit and a new document, if the edit is served on top of that
    /// document and the author may read the text below it.
    pub(super) fn remark_on_conflicts(&mut self, id: &str, live: &Found<'_>, next: &Next) -> Result<()> {
        let (Some(edits), Some(brought)) = (&next.edits, &next.brought) else { return Ok(()) };
        let is_served = next.declarations.0.first().is_some_and(|served| served.base == UNSTORED);
        if !is_served || next.text == brought.text {
            return Ok(());
        }
        let before = live.record.declared()?;
        let served = before.0.first().filter(|_| before.take_edits());
        // Below a version that was put by hand.
        let converted = before.0.iter().filter(|one| one.original.is_some());
        let Some(edited) = served.or_else(|| converted.max_by(|one, other| one.compare(other))) else { return Ok(()) };
        if !self.may_publish(&edited.access(&live.access))? {
            return Ok(());
        }
        let base = self.overlay.get(&layout::text_key(edited.base))?.ok_or_else(layout::corrupt)?;
        let Some(change) = merge_patch::diff(value::text(&base)?, &brought.text) else { return Ok(()) };
        let parse = |patch: &str| serde_json::from_str::<Value>(patch).unwrap_or_default();
        let mut pointers = Vec::new();
        add_common(&parse(&edits.patch), &parse(&change), "", &mut pointers);
        if !pointers.is_empty() {
            self.remarks.push(Remark::EditsKept { id: id.to_owned(), pointers });
        }
        Ok(())
    }
}

fn title_of(text: &[u8]) -> Option<String> {
    serde_json::from_slice::<Map<String, Value>>(text).ok()?.get("title")?.as_str().map(str::to_owned)
}

/// The name in the id of an MCP server, unless it begins with a namespace: only the owner of the domain can give such a name.
fn generic_name(id: &str) -> Option<&str> {
    id.strip_prefix("urn:agentdex:mcp:").filter(|name| !name.contains('/'))
}

/// Scheme, host, and port of an address, which may have variables.
fn origin(address: &str) -> String {
    let path = address.find("://").map_or(0, |scheme| scheme + 3);
    let end = address.get(path..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(address.len(), |end| path + end);
    address.get(..end).unwrap_or(address).to_ascii_lowercase()
}

/// The packages of an MCP server: the name of each, or else the command.
fn packages(thing: &Map<String, Value>) -> impl Iterator<Item = String> {
    let packages = thing.get("mcp:packages").and_then(Value::as_array).into_iter().flatten();
    packages.filter_map(|package| Some(package.get("mcp:identifier").or(package.get("mcp:command"))?.to_string()))
}

/// The addresses of the forms of a description.
fn addresses(thing: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |owner: &Value| {
        let forms = owner.get("forms").and_then(Value::as_array).into_iter().flatten();
        found.extend(forms.filter_map(|form| form.get("href")?.as_str().map(str::to_owned)));
    };
    for kind in ["actions", "properties", "events"] {
        thing.get(kind).and_then(Value::as_object).into_iter().flatten().for_each(|(_, affordance)| add(affordance));
    }
    let forms = thing.get("forms").and_then(Value::as_array).into_iter().flatten();
    found.extend(forms.filter_map(|form| form.get("href")?.as_str().map(str::to_owned)));
    found
}

/// Adds the pointers that two merge patches both change.
fn add_common(one: &Value, other: &Value, pointer: &str, found: &mut Vec<String>) {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        found.push(pointer.to_owned());
        return;
    };
    for (name, value) in one {
        if let Some(other) = other.get(name) {
            let name = name.replace('~', "~0").replace('/', "~1");
            add_common(value, other, &format!("{pointer}/{name}"), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_that_both_change_are_found() {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let mut found = Vec::new();
        let one = parse(r#"{"title": "a", "actions": {"x/y": {"title": "b"}, "z": null}, "support": "s"}"#);
        let other = parse(r#"{"actions": {"x/y": {"title": "c", "safe": true}, "z": {"a": 1}}, "title": null}"#);
        add_common(&one, &other, "", &mut found);
        found.sort();
        assert_eq!(found, ["/actions/x~1y/title", "/actions/z", "/title"]);
    }
}
