//! Redaction: removal of secrets from a document of any format, before it is converted or stored.
//!
//! | rule | hidden value |
//! |---|---|
//! | `secret-field` | the value of a field that the format's specification defines as a secret |
//! | `secret-value` | a credential anywhere in a text, recognized by its form: keys of providers, tokens, private keys |
//! | `user-info` | `user:password@` in a URL |
//! | `secret-parameter` | the value of `name=value` in a text, if both look like a secret |
//! | `secret-name` | a value that looks like a secret and has the name of one |
//! | `hidden-prompt` | the instructions of an agent, unless they are published |
//!
//! In JSON Schemas of inputs and outputs, and in other parts that a format marks as descriptions, only `secret-value`
//! and `user-info` apply. Every hidden value causes a warning. All other text is unchanged, byte for byte.

mod names;
mod node;
mod numbers;
mod presence;
mod providers;
mod rule;
mod text;
mod words;

#[cfg(test)]
mod table;

use std::ops::Range;

pub(crate) use self::{
    names::{Secrecy, secrecy_of},
    node::Node,
    numbers::WrittenNumbers,
    presence::may_have_secrets,
    rule::Rule,
    text::{REDACTED, without_credentials},
    words::is_template,
};
use self::{
    names::{is_named_secret, is_secret_word},
    node::Kind,
    text::{credentials, replaced},
};
use super::keywords::TYPES;
use crate::td::{
    Violation,
    internal::{push_string, push_token},
};

/// The most warnings about one document.
const MOST_WARNINGS: usize = 1000;
/// The most bytes of them: a pointer repeats names, which may be as long as a document.
const MOST_POINTER_BYTES: usize = 256 * 1024;

/// The mark that a format gives to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nothing.
    None,
    /// It is a secret.
    Secret,
    /// It is where users put credentials, and may be one.
    Credential,
    /// It is a prompt, which isn't shown.
    Prompt,
    /// It refers to something that is hidden.
    RefersToHidden,
    /// It is a definition of what is hidden where it is used, so that the whole member goes.
    Removed(Rule),
    /// Names in it have a known meaning and mark no secrets: a schema, a description, a list of scopes.
    Described,
}

/// A format, as far as redaction is concerned.
pub(crate) trait Marks {
    /// Returns the mark of a member's value by the format's specification.
    fn mark(&self, member: &Place<'_, '_>) -> Mark;

    /// Returns the replacement for a whole value, as JSON.
    fn stand_in(&self, place: &Place<'_, '_>, rule: Rule) -> String {
        let _ = (place, rule);
        stand_in()
    }

    /// Returns what a document keeps of a hidden value at another place: a range of its text, and the replacement.
    fn kept(&self, hidden: &Place<'_, '_>) -> Option<(Range<usize>, String)> {
        let _ = hidden;
        None
    }

    /// True if an object is a JSON Schema, whose names and example values are no secrets.
    fn is_schema(&self, place: &Place<'_, '_>) -> bool {
        is_schema(place.value)
    }

    /// True if a value that is marked gives nothing away, such as a reference.
    fn is_harmless(&self, value: &Node<'_>) -> bool {
        let _ = value;
        false
    }
}

/// Returns the replacement for a value that no format marks, as JSON.
pub(crate) fn stand_in() -> String {
    format!("\"{REDACTED}\"")
}

/// True if a text is what stands for something that was hidden.
pub(crate) fn is_stand_in(text: &str) -> bool {
    text == REDACTED || text == text::REDACTED_IN_URL
}

/// True if a value under that name is a secret, by the name and its looks.
pub(crate) fn is_secret_value(name: &str, value: &Node<'_>) -> bool {
    value.text().is_some_and(|text| secrecy_of(name).is_some_and(|secrecy| is_secret_word(text, secrecy)))
}

/// True unless a header or a variable with this name and value is a constant: a name that says nothing of secrets, and a value
/// that doesn't look like one.
pub(crate) fn may_be_credential(name: &str, value: &Node<'_>) -> bool {
    let is_constant = |text: &str| !is_secret_word(text, Secrecy::Weak) && credentials(text).is_empty();
    secrecy_of(name).is_some() || name.eq_ignore_ascii_case("cookie") || !value.text().is_some_and(is_constant)
}

/// The position of a value: a chain from the document down to it.
pub(crate) struct Place<'p, 't> {
    pub(crate) outer: Option<&'p Place<'p, 't>>,
    /// The name of the member, or none of an element.
    pub(crate) name: Option<&'p str>,
    pub(crate) index: usize,
    pub(crate) value: &'p Node<'t>,
}

impl<'p, 't> Place<'p, 't> {
    /// The object or array around the value.
    pub(crate) fn around(&self) -> Option<&'p Node<'t>> {
        self.outer.map(|outer| outer.value)
    }

    /// The names on the way to the value, from the nearest; those of elements are empty.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let chain = std::iter::successors(Some(self), |place| place.outer);
        chain.filter(|place| place.outer.is_some()).map(|place| place.name.unwrap_or_default())
    }

    fn pointer(&self) -> String {
        let Some(outer) = self.outer else { return String::new() };
        let mut pointer = outer.pointer();
        match self.name {
            Some(name) => push_token(&mut pointer, &without_credentials(name)),
            None => push_token(&mut pointer, &self.index.to_string()),
        }
        pointer
    }
}

/// Something that was hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) pointer: String,
    pub(crate) rule: Rule,
}

/// A document without its secrets.
#[derive(Debug, Default)]
pub(crate) struct Redacted {
    edits: Vec<(Range<usize>, String, Rule)>,
    /// Hidden values and texts, in the order of the document, up to the limit of warnings.
    pub(crate) hidden: Vec<Hidden>,
}

impl Redacted {
    /// Finds the secrets of a document, which is well-formed JSON.
    pub(crate) fn of(document: &Node<'_>, marks: &impl Marks) -> Redacted {
        let mut redactor = Redactor { marks, redacted: Redacted::default(), pointer_bytes: 0 };
        redactor.value(&Place { outer: None, name: None, index: 0, value: document }, None);
        redactor.redacted.edits.sort_by_key(|(range, ..)| range.start);
        redactor.redacted
    }

    /// True if nothing was hidden.
    pub(crate) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// True if nothing was hidden, prompts aside.
    pub(crate) fn has_no_secrets(&self) -> bool {
        self.edits.iter().all(|(_, _, rule)| *rule == Rule::Prompt)
    }

    /// The text of the document without what was hidden; none if that is nothing.
    pub(crate) fn text(&self, json: &str) -> Option<String> {
        (!self.edits.is_empty()).then(|| self.rewrite(json, |_| true))
    }

    /// The text of the document without secrets, but with prompts.
    pub(crate) fn text_with_prompts(&self, json: &str) -> String {
        self.rewrite(json, |rule| rule != Rule::Prompt)
    }

    fn rewrite(&self, json: &str, is_made: impl Fn(Rule) -> bool) -> String {
        let mut out = String::with_capacity(json.len());
        let mut end = 0;
        for (range, stand_in, _) in self.edits.iter().filter(|(_, _, rule)| is_made(*rule)) {
            if range.start >= end {
                out.push_str(&json[end..range.start]);
                out.push_str(stand_in);
                end = range.end;
            }
        }
        out.push_str(&json[end..]);
        out
    }

    /// A warning about each.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = Violation> {
        self.hidden.iter().map(|hidden| Violation::new(&*hidden.pointer, hidden.rule.name(), hidden.rule.message()))
    }
}

struct Redactor<'m, M> {
    marks: &'m M,
    redacted: Redacted,
    pointer_bytes: usize,
}

/// Secrecy that the name above a value suggests for it.
type Named = Option<Secrecy>;

impl<M: Marks> Redactor<'_, M> {
    fn value(&mut self, place: &Place<'_, '_>, named: Named) {
        match &place.value.kind {
            Kind::Text(text) => match named {
                Some(secrecy) if is_secret_word(text, secrecy) || is_named_secret(text) => self.hide(place, Rule::Name),
                _ => self.text(text, place.value.span.clone(), place),
            },
            Kind::Array(elements) => {
                let mut flag = None;
                for (index, element) in elements.iter().enumerate() {
                    let within = Place { outer: Some(place), name: None, index, value: element };
                    self.value(&within, named.or(flag));
                    // A value behind the name of an argument: `--api-key`, `…`.
                    let argument = element.text().filter(|text| text.starts_with('-') && !text.contains('='));
                    flag = argument.and_then(|name| secrecy_of(name.trim_start_matches('-')));
                }
            }
            Kind::Object(_) if self.marks.is_schema(place) => self.described(place),
            Kind::Object(members) => {
                let list = members;
                let called = || {
                    let name = ["name", "key", "htv:fieldName"].into_iter().find_map(|name| place.value.get(name));
                    name?.text().and_then(secrecy_of)
                };
                let mut removed = Vec::new();
                for (index, member) in list.iter().enumerate() {
                    let within = Place { outer: Some(place), name: Some(&member.name), index, value: &member.value };
                    self.text(&member.name, member.name_span.clone(), &within);
                    let mark = self.marks.mark(&within);
                    let is_prompt = |text: &str| !text.is_empty();
                    match mark {
                        Mark::Secret if !self.is_harmless(&member.value) => self.hide(&within, Rule::Field),
                        Mark::Credential if !self.is_harmless(&member.value) => self.hide(&within, Rule::Setting),
                        Mark::Prompt if member.value.text().map_or(!self.is_harmless(&member.value), is_prompt) => {
                            self.hide(&within, Rule::Prompt);
                        }
                        Mark::RefersToHidden => self.hide(&within, Rule::Field),
                        Mark::Removed(rule) => {
                            self.remember(&within, rule);
                            removed.push((index, rule));
                        }
                        Mark::Described => self.described(&within),
                        _ => {
                            let named = match member.name.as_ref() {
                                "value" | "default" | "htv:fieldValue" => named.or_else(called),
                                name if may_be_secret(&member.value) => secrecy_of(name),
                                _ => None,
                            };
                            self.value(&within, named);
                        }
                    }
                }
                self.remove(list, &removed);
            }
            Kind::Number(_) | Kind::Other(_) => {}
        }
    }

    /// Takes members out, each with the comma before it, or behind it if there is none before.
    fn remove(&mut self, members: &[node::Member<'_>], removed: &[(usize, Rule)]) {
        let is_removed = |index: &usize| removed.iter().any(|(known, _)| known == index);
        let first_kept = (0..members.len()).find(|index| !is_removed(index));
        for (index, rule) in removed {
            let Some(member) = members.get(*index) else { continue };
            let range = match index.checked_sub(1).and_then(|before| members.get(before)) {
                Some(before) if first_kept.is_some_and(|kept| kept < *index) => {
                    before.value.span.end..member.value.span.end
                }
                _ => {
                    member.name_span.start
                        ..members.get(index + 1).map_or(member.value.span.end, |next| next.name_span.start)
                }
            };
            self.redacted.edits.push((range, String::new(), *rule));
        }
    }

    /// A value in which names mean nothing.
    fn described(&mut self, place: &Place<'_, '_>) {
        match &place.value.kind {
            Kind::Text(text) => self.by_value(text, place.value.span.clone(), place),
            Kind::Array(elements) => {
                for (index, value) in elements.iter().enumerate() {
                    self.described(&Place { outer: Some(place), name: None, index, value });
                }
            }
            Kind::Object(members) => {
                for (index, member) in members.iter().enumerate() {
                    let within = Place { outer: Some(place), name: Some(&member.name), index, value: &member.value };
                    self.by_value(&member.name, member.name_span.clone(), &within);
                    match self.marks.mark(&within) {
                        Mark::RefersToHidden => self.hide(&within, Rule::Field),
                        _ => self.described(&within),
                    }
                }
            }
            Kind::Number(_) | Kind::Other(_) => {}
        }
    }

    /// True if there is no secret in the place of one.
    fn is_harmless(&self, value: &Node<'_>) -> bool {
        match &value.kind {
            Kind::Other(_) => true,
            Kind::Number(_) => false,
            Kind::Text(text) => is_template(text) || is_stand_in(text),
            _ if self.marks.is_harmless(value) => true,
            Kind::Array(elements) => elements.iter().all(|element| self.is_harmless(element)),
            Kind::Object(members) => members.iter().all(|member| self.is_harmless(&member.value)),
        }
    }

    fn text(&mut self, text: &str, span: Range<usize>, place: &Place<'_, '_>) {
        let found = credentials(text);
        self.replace(text, &found, span, place);
    }

    fn by_value(&mut self, text: &str, span: Range<usize>, place: &Place<'_, '_>) {
        let mut found = credentials(text);
        found.retain(|found| found.rule != Rule::Parameter);
        self.replace(text, &found, span, place);
    }

    fn replace(&mut self, text: &str, found: &[text::Found], span: Range<usize>, place: &Place<'_, '_>) {
        let Some(first) = found.first() else { return };
        let mut json = String::new();
        push_string(&mut json, &replaced(text, found));
        self.redacted.edits.push((span, json, first.rule));
        found.iter().for_each(|found| self.remember(place, found.rule));
    }

    fn hide(&mut self, place: &Place<'_, '_>, rule: Rule) {
        let stand_in = self.marks.stand_in(place, rule);
        self.redacted.edits.push((place.value.span.clone(), stand_in, rule));
        self.redacted.edits.extend(self.marks.kept(place).map(|(range, json)| (range, json, rule)));
        self.remember(place, rule);
    }

    fn remember(&mut self, place: &Place<'_, '_>, rule: Rule) {
        let hidden = &mut self.redacted.hidden;
        if hidden.len() >= MOST_WARNINGS || self.pointer_bytes >= MOST_POINTER_BYTES {
            return;
        }
        let pointer = place.pointer();
        if hidden.last().is_none_or(|last| last.pointer != pointer || last.rule != rule) {
            self.pointer_bytes += pointer.len();
            hidden.push(Hidden { pointer, rule });
        }
    }
}

/// True if an object looks like a JSON Schema: it only describes values.
pub(crate) fn is_schema(value: &Node<'_>) -> bool {
    let is_type = |value: &Node<'_>| value.text().is_some_and(|name| TYPES.contains(&name));
    let of_type = |value: &Node<'_>| is_type(value) || value.elements().first().is_some_and(is_type);
    value.get("type").is_some_and(of_type)
}

/// True if a name may make a secret of the value: most are too short, or prose.
fn may_be_secret(value: &Node<'_>) -> bool {
    match &value.kind {
        Kind::Text(text) => may_be_secret_text(text),
        Kind::Array(_) | Kind::Object(_) => true,
        Kind::Number(_) | Kind::Other(_) => false,
    }
}

fn may_be_secret_text(text: &str) -> bool {
    text.len() >= 8 && text.bytes().filter(|byte| *byte == b' ').take(2).count() < 2
}
