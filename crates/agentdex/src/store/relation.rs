//! Relations between two descriptions of one id: what they have in common, and what both change.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    applier::{Applier, Description, Found},
    layout,
    serving::{Next, UNSTORED},
    value,
    write::Remark,
};
use crate::{Error, Result, td::merge_patch};

impl Applier<'_> {
    /// Fails where a description has nothing in common with the one that is served.
    pub(super) fn check_related(&mut self, id: &str, live: &Found<'_>, description: &Description) -> Result<()> {
        if self.is_related(live, description)? {
            return Ok(());
        }
        let title = title_of(&self.served_text(&live.record)?).unwrap_or_default();
        Err(Error::Unrelated { id: id.to_owned(), title })
    }

    /// True if a description has something in common with the one that is served: a capability, the title, the description or
    /// the address of a form.
    pub(super) fn is_related(&mut self, live: &Found<'_>, description: &Description) -> Result<bool> {
        let known = live.record.capability_keys()?;
        let has = |key: &String| known.iter().any(|other| other.eq_ignore_ascii_case(key));
        if description.capabilities.iter().any(has) {
            return Ok(true);
        }
        let held = self.served_text(&live.record)?;
        let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
        let (one, other) = (parse(value::text(&held)?), parse(&description.text));
        let same_text = |member: &str| match (one.get(member), other.get(member)) {
            (Some(Value::String(one)), Some(Value::String(other))) => one.eq_ignore_ascii_case(other),
            _ => false,
        };
        let addresses = addresses(&one);
        let is_known = |address: &String| addresses.contains(address);
        Ok(same_text("title") || same_text("description") || self::addresses(&other).iter().any(is_known))
    }

    /// Remarks members that both an edit and a new document change, if the edit is served over that document and the author may
    /// read the text under it.
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
