//! Texts with variables in place of what a configuration must not contain, or what only its user knows.

use crate::td::internal::is_invisible;

/// A variable that an entry refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Name of the environment variable.
    pub name: String,
    /// Description by the server's author.
    pub description: Option<String>,
    /// True for a credential.
    pub is_secret: bool,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Variable(Variable),
}

/// A text with variables. Texts are never empty, and no two of them are neighbors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

impl Template {
    pub(super) fn literal(text: &str) -> Template {
        let mut template = Template::default();
        template.push_text(text);
        template
    }

    pub(super) fn variable(variable: Variable) -> Template {
        Template { parts: vec![Part::Variable(variable)] }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    pub(super) fn push_variable(&mut self, variable: Variable) {
        self.parts.push(Part::Variable(variable));
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(variable) => Some(variable),
            Part::Text(_) => None,
        })
    }

    /// The text, if there are no variables in it.
    pub(super) fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with something in place of each variable.
    pub(super) fn render(&self, reference: impl Fn(&Variable) -> String) -> String {
        let piece = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(variable) => reference(variable),
        };
        self.parts.iter().map(piece).collect()
    }
}

/// True for a text without control characters, line separators, and invisible characters: people see all of it.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c))
}

/// The name of an environment variable with this prefix, made from any text. The prefix keeps a server from choosing a variable
/// that has another purpose, such as `AWS_SECRET_ACCESS_KEY`.
pub(super) fn environment_name(server: &str, text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name = text.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = if name.is_empty() { "value" } else { name };
    format!("MCP_{server}_{name}").chars().map(plain).take(100).collect()
}
