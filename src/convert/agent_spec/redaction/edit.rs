//! `Edit`: what is hidden where in a document; made on its value, and carried out on its value or on
//! its text, where all that isn't edited stays byte for byte.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::scan::Cursor;

/// What becomes of a value.
#[derive(Debug, PartialEq)]
pub(super) enum Edit<'d> {
    /// Something else takes its place.
    Replace(Value),
    /// The member goes.
    Remove,
    /// Some members of the object are edited; sorted by their names.
    Members(Vec<(&'d str, Edit<'d>)>),
    /// Some elements of the array are edited; sorted by their positions.
    Elements(Vec<(usize, Edit<'d>)>),
}

impl<'d> Edit<'d> {
    /// The edits of the members of an object, if there are any.
    pub(super) fn of_members(
        members: &'d Map<String, Value>,
        mut edit: impl FnMut(&'d str, &'d Value) -> Option<Edit<'d>>,
    ) -> Option<Edit<'d>> {
        let mut edits: Vec<_> =
            members.iter().filter_map(|(name, value)| Some((name.as_str(), edit(name, value)?))).collect();
        // Another crate may ask serde_json for the order of the document.
        edits.sort_unstable_by_key(|(name, _)| *name);
        (!edits.is_empty()).then_some(Edit::Members(edits))
    }

    /// The edits of the elements of an array, if there are any.
    pub(super) fn of_elements(
        elements: &'d [Value],
        mut edit: impl FnMut(usize, &'d Value) -> Option<Edit<'d>>,
    ) -> Option<Edit<'d>> {
        let edits: Vec<_> =
            elements.iter().enumerate().filter_map(|(index, value)| Some((index, edit(index, value)?))).collect();
        (!edits.is_empty()).then_some(Edit::Elements(edits))
    }

    /// The edited value; none where it goes.
    pub(super) fn apply(&self, value: &Value) -> Option<Value> {
        let edited = match (self, value) {
            (Edit::Remove, _) => return None,
            (Edit::Replace(replacement), _) => replacement.clone(),
            (_, Value::Object(members)) => Value::Object(self.apply_to_members(members)),
            (Edit::Elements(edits), Value::Array(elements)) => {
                let edited = elements.iter().enumerate().filter_map(|(index, value)| {
                    match find(edits, |known| known.cmp(&index)) {
                        Some(edit) => edit.apply(value),
                        None => Some(value.clone()),
                    }
                });
                Value::Array(edited.collect())
            }
            _ => value.clone(),
        };
        Some(edited)
    }

    /// The members of the edited object.
    pub(super) fn apply_to_members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let Edit::Members(edits) = self else { return members.clone() };
        let edited = members.iter().filter_map(|(name, value)| {
            let value = match find(edits, |known| (*known).cmp(name)) {
                Some(edit) => edit.apply(value)?,
                None => value.clone(),
            };
            Some((name.clone(), value))
        });
        edited.collect()
    }

    /// The text of the edited value, given its JSON text without repeated members.
    pub(super) fn rewrite(&self, json: &str) -> String {
        let mut rewriter =
            Rewriter { json, cursor: Cursor::new(json), out: String::with_capacity(json.len()), done: 0 };
        rewriter.value(self);
        rewriter.keep_until(json.len());
        rewriter.out
    }
}

fn find<'e, 'd, K>(edits: &'e [(K, Edit<'d>)], compare: impl Fn(&K) -> Ordering) -> Option<&'e Edit<'d>> {
    let position = edits.binary_search_by(|(known, _)| compare(known)).ok()?;
    edits.get(position).map(|(_, edit)| edit)
}

/// One pass over the text. What isn't edited is copied in stretches as long as possible.
struct Rewriter<'j> {
    json: &'j str,
    cursor: Cursor<'j>,
    out: String,
    /// Up to where the text is copied or left out.
    done: usize,
}

impl Rewriter<'_> {
    fn keep_until(&mut self, position: usize) {
        self.out.push_str(self.json.get(self.done..position).unwrap_or_default());
        self.done = position;
    }

    /// Edits the value at the cursor and goes past it.
    fn value(&mut self, edit: &Edit<'_>) {
        match edit {
            Edit::Remove => {}
            Edit::Replace(replacement) => {
                self.keep_until(self.cursor.position);
                self.out.push_str(&replacement.to_string());
                self.cursor.value();
                self.done = self.cursor.position;
            }
            Edit::Members(edits) => self.parts(|cursor| {
                let name = cursor.name();
                find(edits, |known| (*known).cmp(&name))
            }),
            Edit::Elements(edits) => {
                let mut index = 0;
                self.parts(|_| {
                    index += 1;
                    find(edits, |known| (known + 1).cmp(&index))
                });
            }
        }
    }

    /// Edits the parts of the object or array at the cursor; `edit` goes to a part's value.
    fn parts<'e, 'd: 'e>(&mut self, mut edit: impl FnMut(&mut Cursor<'_>) -> Option<&'e Edit<'d>>) {
        self.cursor.skip_byte();
        let mut kept_end = self.cursor.position;
        let (mut is_first, mut is_dropping) = (true, false);
        while !self.cursor.ends() {
            let start = self.cursor.position;
            let edit = edit(&mut self.cursor);
            if matches!(edit, Some(Edit::Remove)) {
                if !std::mem::replace(&mut is_dropping, true) {
                    self.keep_until(kept_end);
                }
                self.cursor.value();
                self.done = self.cursor.position;
                continue;
            }
            if std::mem::take(&mut is_dropping) {
                if !is_first {
                    self.out.push(',');
                }
                self.done = self.json.get(..start).unwrap_or_default().trim_ascii_end().len();
            }
            match edit {
                Some(edit) => self.value(edit),
                None => drop(self.cursor.value()),
            }
            is_first = false;
            kept_end = self.cursor.position;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = r#" { "b" : [1.50, {"x": "y"}, [ ] ] , "a\u0062": null,
  "c": {} } "#;

    fn rewritten(edit: &Edit<'_>) -> String {
        let out = edit.rewrite(TEXT);
        let value: Value = serde_json::from_str(TEXT).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), edit.apply(&value).unwrap());
        out
    }

    #[test]
    fn only_what_is_edited_changes() {
        let inner = Edit::Elements(vec![(1, Edit::Replace(json!({"$component_ref": "r"})))]);
        let text = rewritten(&Edit::Members(vec![("ab", Edit::Replace(json!("é"))), ("b", inner)]));
        assert_eq!(text, TEXT.replace(r#"{"x": "y"}"#, r#"{"$component_ref":"r"}"#).replace("null", "\"é\""));
    }

    #[test]
    fn removed_members_take_their_comma_along() {
        let gone = |names: &[&'static str]| {
            rewritten(&Edit::Members(names.iter().map(|name| (*name, Edit::Remove)).collect()))
        };
        assert_eq!(gone(&["b"]), " { \"a\\u0062\": null,\n  \"c\": {} } ");
        assert_eq!(gone(&["c"]), r#" { "b" : [1.50, {"x": "y"}, [ ] ] , "a\u0062": null } "#);
        assert_eq!(gone(&["ab", "b", "c"]), " { } ");
    }
}
