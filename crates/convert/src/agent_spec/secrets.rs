//! Removal of secrets from the documents of a configuration, before it is converted and stored.

use serde_json::Value;

use super::{
    findings::{Findings, Spot},
    marks::SpecMarks,
    source::Source,
};
use crate::{
    Result,
    redaction::{Hidden, Node, Redacted},
    td,
};

/// The hidden values of each document of a configuration, the main one first.
pub(super) struct Secrets(Vec<Redacted>);

impl Secrets {
    /// Finds what is to be hidden; values may be defined in one document and referred to in another.
    pub(super) fn of(main: &Source, beside: &[Source], publish_prompts: bool) -> Secrets {
        let documents: Vec<Node<'_>> = all(main, beside).map(|source| Node::parse(&source.json)).collect();
        let marks = SpecMarks::of(&documents, publish_prompts);
        Secrets(documents.iter().map(|document| Redacted::of(document, &marks)).collect())
    }

    /// True if nothing is hidden, prompts aside.
    pub(super) fn has_none(&self) -> bool {
        self.0.iter().all(Redacted::has_no_secrets)
    }

    /// Warns of everything that is hidden.
    pub(super) fn report(&self, findings: &mut Findings) {
        for (document, redacted) in self.0.iter().enumerate() {
            for Hidden { pointer, rule } in &redacted.hidden {
                findings.warning(|| Spot { pointer: pointer.clone(), document }, rule.name(), || rule.message());
            }
        }
    }

    /// Returns the hidden values of the main document.
    pub(super) fn hidden(&self) -> &[Hidden] {
        self.0.first().map_or(&[], |redacted| &redacted.hidden)
    }

    /// The documents without secrets, but with prompts: what they ask for is an input. None if there are no
    /// secrets.
    pub(super) fn documents_without(&self, main: &Source, beside: &[Source]) -> Result<Option<(Source, Vec<Source>)>> {
        if self.has_none() {
            return Ok(None);
        }
        let mut sources = Vec::with_capacity(self.0.len());
        for (source, redacted) in all(main, beside).zip(&self.0) {
            sources.push(source.with_json(redacted.text_with_prompts(&source.json))?);
        }
        let beside = sources.split_off(1);
        Ok(sources.pop().map(|main| (main, beside)))
    }

    /// The text of the main document as it may be stored; none if that is the text that was sent.
    pub(super) fn stored_text(&self, main: &Source) -> Option<String> {
        self.0.first()?.text(&main.json)
    }

    /// The documents as they may be stored.
    pub(super) fn stored_values(&self, main: &Source, beside: &[Source]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.0.len());
        for (source, redacted) in all(main, beside).zip(&self.0) {
            values.push(match redacted.text(&source.json) {
                Some(text) => td::internal::parse_json(&text)?.0,
                None => source.value.clone(),
            });
        }
        Ok(values)
    }
}

fn all<'s>(main: &'s Source, beside: &'s [Source]) -> impl Iterator<Item = &'s Source> {
    std::iter::once(main).chain(beside)
}
