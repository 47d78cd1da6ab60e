//! Processing of documents on a single thread, one after the other, with a cache of processed contexts.

use std::{collections::HashMap, rc::Rc};

use json_ld::{
    Context, Expand, Process,
    context_processing::Options as ContextOptions,
    expansion::Options,
    rdf_types::vocabulary::{BlankIdIndex, IndexVocabulary, IriIndex},
    syntax::{self, TryFromJson},
};
use serde_json::Value;

use super::{
    Statements, capability_entries,
    contexts::{self, BundledContexts},
    json::to_syntax,
    plain_forms,
    statements::Reader,
};
use crate::{Error, Result, document::parse_json};

/// After this number of documents everything that is remembered is forgotten, the IRIs of all those documents among it.
const DOCUMENTS_TO_REMEMBER: usize = 2000;
/// The most contexts that are remembered...
const MAX_CONTEXTS: usize = 64;
/// ...and the longest in bytes.
const MAX_CONTEXT_BYTES: usize = 16 * 1024;

/// Reads documents.
#[derive(Default)]
pub(super) struct Processor {
    vocabulary: IndexVocabulary,
    loader: BundledContexts,
    contexts: HashMap<String, Rc<Ready>>,
    documents: usize,
}

/// A context that was processed.
struct Ready {
    context: Context<IriIndex, BlankIdIndex>,
    /// The contexts in it that are unknown or invalid.
    ignored: Vec<String>,
}

impl Processor {
    /// Reads the statements of a document.
    ///
    /// # Errors
    /// [`Error::MalformedJson`]; [`Error::LimitExceeded`] if the document is nested too deeply; [`Error::NotRdf`] if it
    /// is not JSON-LD.
    pub fn read(&mut self, text: &str) -> Result<Statements> {
        self.read_as(text, true)
    }

    /// The same, with or without the shorter way for forms that need no context of their own.
    pub(super) fn read_as(&mut self, text: &str, shorter: bool) -> Result<Statements> {
        let (value, _) = parse_json(text)?;
        let Value::Object(mut members) = value else { return Err(not_expressible("not a JSON object")) };
        if self.documents >= DOCUMENTS_TO_REMEMBER {
            *self = Processor::default();
        }
        self.documents += 1;
        let context = members.remove("@context").unwrap_or_default();
        capability_entries::rewrite(&mut members);
        let is_plain = shorter && plain_forms::can_be_plain(&context, text);
        if is_plain {
            plain_forms::rename(&mut members);
        }
        let ready = self.context(context, is_plain);
        let document = to_syntax(Value::Object(members));
        let initial = ready.context.clone();
        let expanding = document.expand_full(&mut self.vocabulary, initial, None, &self.loader, Options::default(), ());
        let expanded = pollster::block_on(expanding).map_err(not_expressible)?;
        let mut ignored_contexts = ready.ignored.clone();
        ignored_contexts.extend(self.loader.take_unknown());
        Ok(Statements { quads: Reader::new(&self.vocabulary).read(&expanded), ignored_contexts })
    }

    /// The context of a document, ready for its expansion; where it `is_plain`, with the names for plain forms.
    fn context(&mut self, context: Value, is_plain: bool) -> Rc<Ready> {
        let key = format!("{is_plain} {context}");
        if let Some(ready) = self.contexts.get(&key) {
            return ready.clone();
        }
        let ready = Rc::new(self.process(context, is_plain));
        if key.len() <= MAX_CONTEXT_BYTES {
            if self.contexts.len() >= MAX_CONTEXTS {
                self.contexts.clear();
            }
            self.contexts.insert(key, ready.clone());
        }
        ready
    }

    /// Processes entry by entry, so that one which is invalid takes no other with it.
    fn process(&mut self, context: Value, is_plain: bool) -> Ready {
        let mut entries = match context {
            Value::Array(entries) => entries,
            one => vec![one],
        };
        if is_plain {
            entries.push(plain_forms::context());
        }
        let mut ready = Ready { context: Context::default(), ignored: Vec::new() };
        for entry in entries {
            let shown = shown(&entry);
            if entry.as_str().is_some_and(|url| !contexts::is_known(url)) {
                ready.ignored.push(shown);
                continue;
            }
            let processed = syntax::Context::try_from_json(to_syntax(entry)).ok().and_then(|local| {
                let options = ContextOptions::default();
                let processing =
                    local.process_full(&mut self.vocabulary, &ready.context, &self.loader, None, options, ());
                pollster::block_on(processing).ok().map(json_ld::context_processing::Processed::into_processed)
            });
            match processed {
                Some(processed) => ready.context = processed,
                None => ready.ignored.push(shown),
            }
            ready.ignored.extend(self.loader.take_unknown());
        }
        ready
    }
}

/// A context in a message: its URL, or the beginning of its text.
fn shown(context: &Value) -> String {
    const MOST: usize = 200;
    let text = context.as_str().map_or_else(|| context.to_string(), str::to_owned);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn not_expressible(reason: impl ToString) -> Error {
    Error::NotRdf { reason: format!("the description is not valid JSON-LD: {}", reason.to_string()) }
}
