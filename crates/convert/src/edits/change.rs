//! Differences between two values, each with its location.

use serde_json::{Map, Value, json};

use crate::td::internal::push_token;

/// The most steps that matching the elements of two lists may take.
const MOST_COMPARED: usize = 250_000;

/// A value that was set or taken away.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// The names and indexes that lead to it.
    pub(crate) path: Vec<String>,
    pub(crate) what: What,
}

/// The kind of a change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    Set(Value),
    Remove,
    /// A member was renamed: it was at this path.
    MoveFrom(Vec<String>),
}

impl Change {
    /// The JSON Pointer to it.
    pub(crate) fn pointer(&self) -> String {
        pointer(&self.path)
    }

    /// Makes the change. False where there is no such place.
    pub(crate) fn apply(&self, target: &mut Value) -> bool {
        let value = match &self.what {
            What::Set(value) => value.clone(),
            What::Remove => return take(target, &self.path).is_some(),
            What::MoveFrom(from) => match take(target, from) {
                Some(value) => value,
                None => return false,
            },
        };
        let Some((last, parents)) = self.path.split_last() else {
            *target = value;
            return true;
        };
        match target.pointer_mut(&pointer(parents)) {
            Some(Value::Object(members)) => {
                members.insert(last.clone(), value);
                true
            }
            Some(Value::Array(elements)) => match last.parse().ok().and_then(|index: usize| elements.get_mut(index)) {
                Some(place) => {
                    *place = value;
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// The change as an operation of JSON Patch (RFC 6902).
    pub(crate) fn to_operation(&self) -> Value {
        let path = self.pointer();
        match &self.what {
            // Within a list, `add` would put it beside what is there.
            What::Set(value) if self.is_in_list() => json!({"op": "replace", "path": path, "value": value}),
            What::Set(value) => json!({"op": "add", "path": path, "value": value}),
            What::Remove => json!({"op": "remove", "path": path}),
            What::MoveFrom(from) => json!({"op": "move", "from": pointer(from), "path": path}),
        }
    }

    fn is_in_list(&self) -> bool {
        self.path.last().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// An operation of JSON Patch that is a change; of others none.
    pub(crate) fn of_operation(operation: &Value) -> Option<Change> {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let path = tokens(text("path")?)?;
        let what = match text("op")? {
            "add" | "replace" => What::Set(operation.get("value")?.clone()),
            "remove" => What::Remove,
            "move" => What::MoveFrom(tokens(text("from")?)?),
            _ => return None,
        };
        Some(Change { path, what })
    }
}

/// The names and indexes of a JSON Pointer.
fn tokens(pointer: &str) -> Option<Vec<String>> {
    let rest = pointer.strip_prefix('/')?;
    Some(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

/// The JSON Pointer of a path.
pub(crate) fn pointer(path: &[String]) -> String {
    let mut pointer = String::new();
    path.iter().for_each(|token| push_token(&mut pointer, token));
    pointer
}

fn take(target: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    target.pointer_mut(&pointer(parents))?.as_object_mut()?.remove(last)
}

/// The changes that make `after` of `before`. Lists of one length are compared element by element, others are set as
/// a whole.
pub(crate) fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Finder { moves: false, path: Vec::new(), changes: Vec::new() };
    found.compare(before, after);
    found.changes
}

/// The same, with members that were renamed.
pub(crate) fn changes_with_moves(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Finder { moves: true, path: Vec::new(), changes: Vec::new() };
    found.compare(before, after);
    found.changes
}

struct Finder {
    moves: bool,
    path: Vec<String>,
    changes: Vec<Change>,
}

impl Finder {
    fn compare(&mut self, before: &Value, after: &Value) {
        match (before, after) {
            _ if before == after => {}
            (Value::Object(before), Value::Object(after)) => self.compare_members(before, after),
            (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
                for (index, (before, after)) in before.iter().zip(after).enumerate() {
                    self.within(&index.to_string(), |found| found.compare(before, after));
                }
            }
            _ => self.push(What::Set(after.clone())),
        }
    }

    fn compare_members(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        let mut gone: Vec<_> = before.iter().filter(|(name, _)| !after.contains_key(*name)).collect();
        let new: Vec<_> = after.iter().filter(|(name, _)| !before.contains_key(*name)).collect();
        let mut moved = None;
        if let (true, [(from, was)], [(name, is)]) = (self.moves, &gone[..], &new[..])
            && was.is_object()
            && is.is_object()
        {
            let from = self.path.iter().chain([*from]).cloned().collect();
            self.within(name, |found| {
                found.push(What::MoveFrom(from));
                found.compare(was, is);
            });
            moved = Some(*name);
            gone.clear();
        }
        for (name, _) in gone {
            self.within(name, |found| found.push(What::Remove));
        }
        for (name, value) in after {
            match before.get(name) {
                Some(was) => self.within(name, |found| found.compare(was, value)),
                None if moved == Some(name) => {}
                None => self.within(name, |found| found.push(What::Set(value.clone()))),
            }
        }
    }

    fn within(&mut self, token: &str, compare: impl FnOnce(&mut Finder)) {
        self.path.push(token.to_owned());
        compare(self);
        self.path.pop();
    }

    fn push(&mut self, what: What) {
        self.changes.push(Change { path: self.path.clone(), what });
    }
}

/// The number of values without members of their own in which two values differ. Elements of lists of unlike lengths
/// count where the other has none that is equal.
pub(crate) fn distance(one: &Value, other: &Value) -> usize {
    match (one, other) {
        _ if one == other => 0,
        (Value::Object(one), Value::Object(other)) => {
            let common = one.iter().map(|(name, value)| match other.get(name) {
                Some(same) => distance(value, same),
                None => leaves(value),
            });
            let rest = other.iter().filter(|(name, _)| !one.contains_key(*name)).map(|(_, value)| leaves(value));
            common.chain(rest).sum()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).map(|(one, other)| distance(one, other)).sum()
        }
        (Value::Array(one), Value::Array(other)) if one.len() * other.len() <= MOST_COMPARED => {
            let missing = |from: &[Value], in_: &[Value]| -> usize {
                from.iter().filter(|element| !in_.contains(element)).map(leaves).sum()
            };
            (missing(one, other) + missing(other, one)).max(1)
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => {
            leaves(one).max(leaves(other))
        }
        _ => 1,
    }
}

/// The number of values within a value that have no members of their own; 1 for an empty one.
fn leaves(value: &Value) -> usize {
    let within = match value {
        Value::Array(elements) => elements.iter().map(leaves).sum(),
        Value::Object(members) => members.values().map(leaves).sum(),
        _ => 1,
    };
    within.max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::merge::tests::any_value, *};

    proptest! {
        #[test]
        fn operations_lead_from_any_value_to_any_other(before in any_value(), after in any_value()) {
            for found in [changes(&before, &after), changes_with_moves(&before, &after)] {
                let mut value = before.clone();
                for change in &found {
                    let read = Change::of_operation(&change.to_operation());
                    prop_assert!(change.path.is_empty() || read.as_ref() == Some(change), "{:?}", change);
                    prop_assert!(change.apply(&mut value));
                }
                prop_assert_eq!(&value, &after, "{:?}", found);
            }
            prop_assert_eq!(distance(&before, &after) == 0, before == after);
            prop_assert_eq!(distance(&before, &after), distance(&after, &before));
        }
    }

    #[test]
    fn changes_lead_from_one_value_to_the_other() {
        let before = json!({"a": 1, "b/c": [1, {"d": 2}], "e": [1], "gone": {"x": 1, "y": 2}, "f": null});
        let after = json!({"a": 1, "b/c": [1, {"d": 3}], "e": [], "new": {"x": 1, "y": 3}, "f": null, "g": null});
        let pointers: Vec<_> = changes(&before, &after).iter().map(Change::pointer).collect();
        assert_eq!(pointers, ["/gone", "/b~1c/1/d", "/e", "/g", "/new"]);
        for found in [changes(&before, &after), changes_with_moves(&before, &after)] {
            let operations: Vec<Value> = found.iter().map(Change::to_operation).collect();
            let mut value = before.clone();
            for operation in &operations {
                assert!(Change::of_operation(operation).unwrap().apply(&mut value), "{operation}");
            }
            assert_eq!(value, after, "{operations:?}");
        }
    }

    #[test]
    fn renamed_member_is_moved() {
        let before = json!({"actions": {"old": {"title": "T", "forms": [1, 2, 3]}}});
        let after = json!({"actions": {"new": {"title": "U", "forms": [1, 2, 3]}}});
        let operations: Vec<_> = changes_with_moves(&before, &after).iter().map(Change::to_operation).collect();
        assert_eq!(
            json!(operations),
            json!([
                {"op": "move", "from": "/actions/old", "path": "/actions/new"},
                {"op": "add", "path": "/actions/new/title", "value": "U"},
            ])
        );
    }

    #[test]
    fn operation_without_a_place_changes_nothing() {
        let mut value = json!({"a": [1]});
        for operation in [
            json!({"op": "remove", "path": "/b"}),
            json!({"op": "add", "path": "/a/1", "value": 2}),
            json!({"op": "replace", "path": "/b/c", "value": 2}),
            json!({"op": "move", "from": "/x", "path": "/y"}),
        ] {
            assert!(!Change::of_operation(&operation).unwrap().apply(&mut value), "{operation}");
        }
        for other in [json!({"op": "test", "path": "/a", "value": 1}), json!({"op": "remove", "path": ""}), json!(1)] {
            assert_eq!(Change::of_operation(&other), None, "{other}");
        }
        assert_eq!(value, json!({"a": [1]}));
    }

    #[test]
    fn distance_counts_what_differs() {
        let value = json!({"a": [{"x": 1, "y": 2}, {"x": 3}], "b": "c"});
        for (other, expected) in [
            (value.clone(), 0),
            (json!({"a": [{"x": 1, "y": 3}, {"x": 3}], "b": "c"}), 1),
            (json!({"a": [{"x": 3}], "b": "c"}), 2),
            (json!({"a": [{"x": 1, "y": 2}, {"x": 3}]}), 1),
            (json!("b"), 4),
        ] {
            assert_eq!(distance(&value, &other), expected, "{other}");
            assert_eq!(distance(&other, &value), expected, "{other}");
        }
    }
}
