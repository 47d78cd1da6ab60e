//! `get_agent`, `validate_agent`, `register_agent` and `remove_agent`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{
        foreign_text::{encoded_id, escape_all, excerpt},
        size_limit::{DEFAULT_BYTES, fit, size_of},
    },
    ROOM, RegistryTools, failure, note, page_token, parse,
    search::{flags_of, kinds_of},
};
use crate::{
    Error,
    convert::Format,
    registry::{Write, Written},
    td::Violation,
};

/// Maximum number of violations of an invalid document that a message lists.
const MOST_VIOLATIONS: usize = 8;

/// Maximum number of characters of a violation in a message.
const LONGEST_VIOLATION: usize = 200;

/// Codes of errors of callers who may not do something to an agent.
const DENIED: [&str; 3] = ["access-refused", "not-owner", "not-member"];

#[derive(Deserialize)]
struct Wanted {
    id: String,
    format: Option<String>,
    page_token: Option<String>,
    max_bytes: Option<usize>,
}

#[derive(Deserialize)]
struct Validated {
    document: Value,
    max_bytes: Option<usize>,
}

#[derive(Deserialize)]
struct Registered {
    document: Value,
    #[serde(default)]
    replace: bool,
}

#[derive(Deserialize)]
struct Removed {
    id: String,
}

impl RegistryTools {
    pub(super) async fn get_agent(&self, arguments: Value) -> Result<Value, String> {
        let Wanted { id, format, page_token, max_bytes } = parse(arguments)?;
        let format = format.and_then(|name| Format::ALL.iter().copied().find(|format| format.name() == name));
        let format = format.filter(|format| *format != Format::ThingDescription);
        let registry = self.registry.clone();
        let explain = self.explain;
        let found = self
            .read(move || {
                let id = RegistryTools::stored_id(&registry, &id)?;
                let thing = registry.find(&id)?.ok_or(Error::NotFound { id: id.clone() })?;
                let read = |text: &[u8]| {
                    serde_json::from_slice::<Value>(text)
                        .map_err(|error| Error::Io { doing: "reading a description".to_owned(), source: error.into() })
                };
                let export = |format| read(&registry.export(&id, format, None)?.into_json()?.bytes);
                let document = match format.map(export) {
                    // The reason has names of the description in it.
                    Some(Err(error)) => return Ok(json!({"failure": explain(error)})),
                    Some(Ok(document)) => document,
                    None => read(thing.text().as_bytes())?,
                };
                let (flags, kinds) = (flags_of(thing.flags()), kinds_of(thing.flags()));
                let id = encoded_id(thing.id());
                Ok(json!({"found": {"id": id, "document": escape_all(document), "flags": flags}, "kinds": kinds}))
            })
            .await?;
        if let Some(reason) = found["failure"].as_str() {
            return Err(failure("the agent can't be described in this format", reason));
        }
        self.pages_of(found, page_token.as_deref(), max_bytes.unwrap_or(DEFAULT_BYTES) - ROOM)
    }

    /// The document as far as it fits: whole, shortened, or a page of its text.
    fn pages_of(&self, mut read: Value, page_token: Option<&str>, maximum: usize) -> Result<Value, String> {
        let mut found = read["found"].take();
        let registry = self.registry.registry_id();
        if page_token.is_none() && size_of(&found) <= maximum {
            return Ok(found);
        }
        let text = found["document"].to_string();
        let start = page_token::decode(registry, text.as_bytes(), page_token)?;
        let token = |position| page_token::encode(registry, text.as_bytes(), position);
        if page_token.is_none() {
            fit(&mut found, "hits", maximum);
            if size_of(&found) > maximum {
                found["document"] = json!({});
            }
            found["left_out"] =
                "the document was shortened; to read the full text page by page, call again with page_token".into();
            found["next_page_token"] = token(0).into();
            return Ok(found);
        }
        let mut page = json!({"id": found["id"], "flags": read["kinds"], "text": ""});
        let (mut end, mut room) = (start, maximum.saturating_sub(size_of(&page)));
        for character in text.get(start..).unwrap_or_default().chars() {
            // With its escape in JSON.
            let size = if matches!(character, '"' | '\\') { 2 } else { character.len_utf8() };
            if size > room {
                break;
            }
            (end, room) = (end + character.len_utf8(), room - size);
        }
        page["text"] = text.get(start..end).unwrap_or_default().into();
        if end < text.len() {
            page["next_page_token"] = token(end).into();
        }
        Ok(page)
    }

    pub(super) async fn validate_agent(&self, arguments: Value) -> Result<Value, String> {
        let Validated { document, max_bytes } = parse(arguments)?;
        let (registry, text) = (self.registry.clone(), text_of(document));
        let report = self.read(move || {
            let report = registry.validate(text)?;
            Ok(json!({"valid": report.is_valid(), "violations": report.violations, "warnings": report.warnings}))
        });
        let mut report = escape_all(report.await?);
        let left_out = fit(&mut report, "violations", max_bytes.unwrap_or(DEFAULT_BYTES) - ROOM);
        note(&mut report, left_out, "correct the listed violations, then validate again");
        Ok(report)
    }

    pub(super) async fn register_agent(&self, arguments: Value) -> Result<Value, String> {
        let Registered { document, replace } = parse(arguments)?;
        let text = text_of(document);
        let write = if replace { Write::put(text) } else { Write::register(text) };
        let registry = self.registry.clone();
        let written = self.write("register_agent", registry, write).await;
        written.map_err(|error| match error {
            Error::AlreadyExists { .. } | Error::PreconditionFailed { .. } => {
                "an agent with this id already exists; if it is yours, set replace to true to replace it; otherwise, choose \
                 another id"
                    .to_owned()
            }
            Error::Invalid(report) => format!("the document is invalid: {}", listed(&report.violations)),
            other => (self.explain)(other),
        })
    }

    pub(super) async fn remove_agent(&self, arguments: Value) -> Result<Value, String> {
        let Removed { id } = parse(arguments)?;
        let registry = self.registry.clone();
        let stored = self.read({
            let (registry, id) = (registry.clone(), id.clone());
            move || Ok(RegistryTools::stored_id(&registry, &id).map_or(json!(id), Value::from))
        });
        let id = stored.await?.as_str().unwrap_or_default().to_owned();
        self.write("remove_agent", registry, Write::remove(id)).await.map_err(self.explain)
    }

    /// Validates and writes, where that may block.
    async fn write(&self, tool: &str, registry: crate::Registry, write: Write) -> crate::Result<Value> {
        let work = move || {
            let Written { id, effect, mut warnings, .. } = registry.write_blocking(write)?;
            warnings.truncate(MOST_VIOLATIONS);
            let warnings = escape_all(json!(warnings));
            let mut written = json!({"id": encoded_id(&id), "effect": effect, "warnings": warnings});
            let left_out = fit(&mut written, "warnings", DEFAULT_BYTES - ROOM);
            note(&mut written, left_out, "validate_agent lists them");
            Ok(written)
        };
        let written = (self.blocking)(Box::new(work)).await;
        if matches!(&written, Err(error) if DENIED.contains(&error.code())) {
            self.note_denied(tool);
        }
        written
    }
}

/// The JSON text of a document. One that was sent as text is stored unchanged.
fn text_of(document: Value) -> String {
    match document {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn listed(violations: &[Violation]) -> String {
    let shown = violations.iter().take(MOST_VIOLATIONS).map(|Violation { pointer, message, .. }| {
        let place = if pointer.is_empty() { "the document" } else { pointer };
        excerpt(&format!("{place}: {message}"), LONGEST_VIOLATION)
    });
    let rest = violations.len().saturating_sub(MOST_VIOLATIONS);
    let rest = (rest > 0).then(|| format!("and {rest} more; validate_agent lists them"));
    shown.chain(rest).collect::<Vec<_>>().join("; ")
}
