//! Three-way merge of JSON text: the differences between two values are applied to the text, and all other text is
//! unchanged, including white space and number tokens.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use serde_json::{Map, Value};

use crate::{redaction::Node, shape::snake_case};

/// Members that an element of a list is known by, the strongest first.
const IDENTITY: [&str; 7] = ["id", "name", "uri", "url", "src", "identifier", "title"];
/// The most comparisons that matching the elements of two lists may take.
const MOST_COMPARED: usize = 250_000;

/// The text, which is well-formed, with what changed from `before` to `after`.
pub(crate) fn merged(text: &str, before: &Value, after: &Value) -> String {
    let node = Node::parse(text);
    let span = node.span();
    let value = Merge { text }.value(&node, before, after);
    [text.get(..span.start).unwrap_or_default(), &value, text.get(span.end..).unwrap_or_default()].concat()
}

#[derive(Clone, Copy)]
struct Merge<'t> {
    text: &'t str,
}

impl<'t> Merge<'t> {
    fn text_of(self, node: &Node<'_>) -> &'t str {
        self.text.get(node.span()).unwrap_or_default()
    }

    fn value_of(self, node: &Node<'_>) -> Value {
        serde_json::from_str(self.text_of(node)).unwrap_or_default()
    }

    fn value(self, node: &Node<'t>, before: &Value, after: &Value) -> Cow<'t, str> {
        if before == after || self.value_of(node) == *after {
            return self.text_of(node).into();
        }
        match (before, after) {
            (Value::Object(before), Value::Object(after)) if node.is_object() => {
                self.members(node, before, after).into()
            }
            (Value::Array(before), Value::Array(after)) if node.is_array() => self.elements(node, before, after).into(),
            _ => after.to_string().into(),
        }
    }

    fn members(self, node: &Node<'t>, before: &Map<String, Value>, after: &Map<String, Value>) -> String {
        let members: Vec<_> = node.named_members().collect();
        // Of repeated members the last is read, and the others go with a change.
        let last: HashMap<&str, usize> = members.iter().enumerate().map(|(index, (name, ..))| (*name, index)).collect();
        let is_known = |name: &str| before.contains_key(name) || after.contains_key(name);
        // Readers of protocol buffers take both spellings.
        let spelled = |name: &str| match snake_case(name) {
            snake if !last.contains_key(name) && last.contains_key(snake.as_str()) && !is_known(&snake) => snake,
            _ => name.to_owned(),
        };
        let is_changed = |name: &&String| before.get(*name) != after.get(*name);
        let all = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
        let changed: Vec<(String, &String)> = all.filter(is_changed).map(|name| (spelled(name), name)).collect();
        let by_name: HashMap<&str, &String> = changed.iter().map(|(spelled, name)| (spelled.as_str(), *name)).collect();
        let mut parts = Parts::of(self.text, node, members.iter().map(|(_, name, value)| name.start..value.span().end));
        for (index, (name, span, value)) in members.iter().enumerate() {
            let Some(changed) = by_name.get(name) else {
                parts.keep(index);
                continue;
            };
            if let Some(is) = after.get(*changed).filter(|_| last.get(name) == Some(&index)) {
                let named = self.text.get(span.start..value.span().start).unwrap_or_default();
                let nothing = if is.is_object() { Value::Object(Map::new()) } else { Value::Null };
                let value = self.value(value, before.get(*changed).unwrap_or(&nothing), is);
                parts.put(index, &[named, &value].concat());
            }
        }
        let colon = members
            .first()
            .map_or(": ", |(_, name, value)| self.text.get(name.end..value.span().start).unwrap_or(": "));
        for (spelled, name) in changed.iter().filter(|(spelled, _)| !last.contains_key(spelled.as_str())) {
            if let Some(value) = after.get(*name) {
                parts.add(&format!("{}{colon}{value}", Value::from(spelled.as_str())));
            }
        }
        parts.finish()
    }

    fn elements(self, node: &Node<'t>, before: &[Value], after: &[Value]) -> String {
        let elements = node.elements();
        let own: Vec<Value> = elements.iter().map(|element| self.value_of(element)).collect();
        let in_text = pairs(before, &own);
        let mut parts = Parts::of(self.text, node, elements.iter().map(Node::span));
        // Elements that nothing is known of stay in front of the one that they were in front of.
        let unknown: Vec<usize> = (0..own.len()).filter(|index| !in_text.contains(&Some(*index))).collect();
        let mut unknown = unknown.into_iter().peekable();
        for (value, was) in after.iter().zip(pairs(after, before)) {
            let known = was.and_then(|was| {
                let index = in_text.get(was).copied().flatten()?;
                Some((index, elements.get(index)?, before.get(was)?))
            });
            let Some((index, element, was)) = known else {
                parts.add(&value.to_string());
                continue;
            };
            while let Some(index) = unknown.next_if(|other| *other < index) {
                parts.keep(index);
            }
            parts.put(index, &self.value(element, was, value));
        }
        unknown.for_each(|index| parts.keep(index));
        parts.finish()
    }
}

/// The members or elements of a value, with what is between them as it is written.
struct Parts<'t> {
    text: &'t str,
    spans: Vec<Range<usize>>,
    around: Range<usize>,
    out: String,
    is_first: bool,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str, node: &Node<'_>, spans: impl Iterator<Item = Range<usize>>) -> Parts<'t> {
        let around = node.span();
        let out = text.get(around.start..around.start + 1).unwrap_or_default().to_owned();
        Parts { text, spans: spans.collect(), around, out, is_first: true }
    }

    /// Returns the text in front of the first element.
    fn prefix(&self) -> &'t str {
        let start = self.around.start + 1;
        self.spans.first().and_then(|first| self.text.get(start..first.start)).unwrap_or_default()
    }

    /// The text between one and the next.
    fn gap(&self, index: usize) -> Option<&'t str> {
        let (before, after) = (self.spans.get(index.checked_sub(1)?)?, self.spans.get(index)?);
        self.text.get(before.end..after.start)
    }

    fn separate(&mut self, index: Option<usize>) {
        if std::mem::take(&mut self.is_first) {
            return self.out.push_str(self.prefix());
        }
        match index.and_then(|index| self.gap(index)).or_else(|| self.gap(1)) {
            Some(gap) => self.out.push_str(gap),
            None => {
                self.out.push(',');
                self.out.push_str(self.prefix());
            }
        }
    }

    fn keep(&mut self, index: usize) {
        let text = self.spans.get(index).and_then(|span| self.text.get(span.clone())).unwrap_or_default();
        self.separate(Some(index));
        self.out.push_str(text);
    }

    fn put(&mut self, index: usize, text: &str) {
        self.separate(Some(index));
        self.out.push_str(text);
    }

    fn add(&mut self, text: &str) {
        self.separate(None);
        self.out.push_str(text);
    }

    fn finish(mut self) -> String {
        let end = match self.spans.last() {
            Some(last) if !self.is_first => last.end,
            _ => self.around.end - 1,
        };
        self.out.push_str(self.text.get(end..self.around.end).unwrap_or_default());
        self.out
    }
}

/// For each element the index of the one that it is in another list: the same index in lists of one length whose
/// elements have the same identities; otherwise an equal one, or one of the same identity. Each has one at most.
fn pairs(elements: &[Value], others: &[Value]) -> Vec<Option<usize>> {
    let by_index = || (0..elements.len()).map(|index| Some(index).filter(|index| *index < others.len())).collect();
    let is_in_order = elements.iter().zip(others).all(|(one, other)| identity(one) == identity(other));
    if elements.len() == others.len() && is_in_order || elements.len() * others.len() > MOST_COMPARED {
        return by_index();
    }
    let mut pairs = vec![None; elements.len()];
    let mut is_taken = vec![false; others.len()];
    let equal = |one: &Value, other: &Value| one == other;
    let alike = |one: &Value, other: &Value| identity(one).is_some() && identity(one) == identity(other);
    for is_pair in [&equal as &dyn Fn(&Value, &Value) -> bool, &alike] {
        for (element, pair) in elements.iter().zip(&mut pairs).filter(|(_, pair)| pair.is_none()) {
            let found = others.iter().zip(&is_taken).position(|(other, taken)| !taken && is_pair(element, other));
            if let Some(index) = found
                && let Some(taken) = is_taken.get_mut(index)
            {
                (*pair, *taken) = (Some(index), true);
            }
        }
    }
    // One that was given another identity is still the one that was there.
    if elements.len() == others.len() {
        let rest = pairs.iter_mut().zip(&is_taken).enumerate().filter(|(_, (pair, taken))| pair.is_none() && !**taken);
        rest.for_each(|(index, (pair, _))| *pair = Some(index));
    }
    pairs
}

fn identity(element: &Value) -> Option<(&'static str, &str)> {
    IDENTITY.into_iter().find_map(|name| Some((name, element.get(name)?.as_str()?)))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Values that are alike often.
    pub(in crate::edits) fn any_value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![Just(Value::Null), (0..3).prop_map(Value::from), "[ab]".prop_map(Value::from)];
        scalar.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("a|b|aB|a_b|id", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_of_the_former_value_becomes_that_of_the_other(before in any_value(), after in any_value()) {
            for text in [before.to_string(), format!("{before:#}")] {
                let merged = merged(&text, &before, &after);
                prop_assert_eq!(&serde_json::from_str::<Value>(&merged).unwrap(), &after, "{}", merged);
            }
        }

        #[test]
        fn any_texts_are_merged_to_json(text in any_value(), before in any_value(), after in any_value()) {
            let merged = merged(&text.to_string(), &before, &after);
            prop_assert!(serde_json::from_str::<Value>(&merged).is_ok(), "{}", merged);
        }
    }

    #[test]
    fn only_what_changed_is_written_again() {
        let text = r#" {
  "n": 1.50, "name" : "A",
  "list": [ {"id": "a", "x": 1e3}, {"id": "b" , "y": 2.0} ],
  "own": {"keep": 1.0},
  "name": "B"
} "#;
        let before = json!({"name": "B", "list": [{"id": "a", "x": 1000.0}, {"id": "b", "y": 2.0}], "extra": 1});
        assert_eq!(merged(text, &before, &before), text);
        let mut after = before.clone();
        after["list"][1]["y"] = 3.into();
        assert_eq!(merged(text, &before, &after), text.replace("\"y\": 2.0", "\"y\": 3"));
        after = before.clone();
        after["own"] = json!({"more": true});
        assert_eq!(merged(text, &before, &after), text.replace("{\"keep\": 1.0}", "{\"keep\": 1.0,\"more\": true}"));
        after = json!({"name": "C", "list": [{"id": "b", "y": 2.0}], "new": "x"});
        let expected = r#" {
  "n": 1.50,
  "list": [ {"id": "b" , "y": 2.0} ],
  "own": {"keep": 1.0},
  "name": "C", "new": "x"
} "#;
        assert_eq!(merged(text, &before, &after).replace(",\n  \"new\"", ", \"new\""), expected);
    }

    #[test]
    fn elements_are_found_by_what_they_are() {
        let text = r#"[{"id":"a","n":1.0},{"odd":1.0},{"id":"b","n":2.0},{"id":"c","n":3.0}]"#;
        let known = |ids: &[&str]| -> Value { ids.iter().map(|id| json!({"id": id})).collect() };
        let before = known(&["a", "b", "c"]);
        for (after, expected) in [
            (known(&["a", "c"]), r#"[{"id":"a","n":1.0},{"odd":1.0},{"id":"c","n":3.0}]"#),
            (known(&["c", "a", "b"]), r#"[{"odd":1.0},{"id":"c","n":3.0},{"id":"a","n":1.0},{"id":"b","n":2.0}]"#),
            (
                known(&["a", "b", "c", "d"]),
                r#"[{"id":"a","n":1.0},{"odd":1.0},{"id":"b","n":2.0},{"id":"c","n":3.0},{"id":"d"}]"#,
            ),
            (known(&["a", "x", "c"]), r#"[{"id":"a","n":1.0},{"odd":1.0},{"id":"x","n":2.0},{"id":"c","n":3.0}]"#),
            (known(&[]), r#"[{"odd":1.0}]"#),
        ] {
            assert_eq!(merged(text, &before, &after), expected);
        }
        assert_eq!(merged("[ ]", &json!([]), &json!([1, 2])), "[1,2]");
        assert_eq!(merged("{}", &json!({}), &json!({"a": [], "b": 1})), r#"{"a": [],"b": 1}"#);
        assert_eq!(
            merged(r#"["a", "b", "a"]"#, &json!(["a", "b", "a"]), &json!(["b", "a", "c"])),
            r#"["b", "a", "c"]"#
        );
    }

    #[test]
    fn member_keeps_its_spelling() {
        let text = r#"{"documentation_url": "https://a.example"}"#;
        let (before, after) =
            (json!({"documentationUrl": "https://a.example"}), json!({"documentationUrl": "https://b.example"}));
        assert_eq!(merged(text, &before, &after), text.replace("//a", "//b"));
        assert_eq!(merged(text, &before, &json!({})), "{}");
    }
}
