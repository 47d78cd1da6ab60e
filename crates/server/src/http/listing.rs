//! Lists of Things as bodies that are read as they are sent: a million TDs are never in memory at once.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, MessageBody},
    web::Bytes,
};
use agentdex_api::{CapabilitySummary, Summary};
use futures_util::{Stream, stream};
use serde_json::{Value, json};

use super::blocking::blocking;
use crate::{Result, registry::Thing, td};

/// Size in bytes at which a chunk is full and is sent.
const CHUNK: usize = 64 * 1024;

/// The format of a list as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Form {
    /// A JSON array.
    #[default]
    Array,
    /// A `ThingCollection` of WoT Discovery.
    Collection,
    /// A JSON object a line, as a batch takes them.
    Lines,
}

/// The level of detail of each Thing in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum View {
    /// The whole enriched TD.
    #[default]
    Full,
    /// Id, title, description and capabilities.
    Summary,
}

impl Form {
    /// Returns the text before the Things and the text after them.
    pub(super) fn frame(self, total: usize, this: &str, next: Option<&str>) -> (String, &'static str) {
        match self {
            Form::Array => return ("[".to_owned(), "]"),
            Form::Lines => return (String::new(), ""),
            Form::Collection => {}
        }
        let mut head = format!(
            r#"{{"@context":"https://www.w3.org/2022/wot/discovery","@type":"ThingCollection","total":{total},"@id":{}"#,
            Value::from(this)
        );
        if let Some(next) = next {
            head.push_str(&format!(r#","next":{}"#, Value::from(next)));
        }
        head.push_str(r#","members":["#);
        (head, "]}")
    }
}

/// A list that is being sent.
pub(super) struct Listing<I> {
    things: I,
    form: Form,
    view: View,
    head: String,
    tail: &'static str,
    is_first: bool,
}

impl<I: Iterator<Item = Result<Thing>> + Send + 'static> Listing<I> {
    pub(super) fn new(things: I, form: Form, view: View, (head, tail): (String, &'static str)) -> Listing<I> {
        Listing { things, form, view, head, tail, is_first: true }
    }

    /// The chunks of the body. Each is read on a thread that may block, once it is asked for: a slow
    /// client holds no thread.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes>> {
        stream::try_unfold(Some(self), |listing| async {
            let Some(listing) = listing else { return Ok(None) };
            blocking(move || listing.read_chunk()).await.map(Some)
        })
    }

    fn read_chunk(mut self) -> Result<(Bytes, Option<Listing<I>>)> {
        let mut chunk = std::mem::take(&mut self.head);
        while chunk.len() < CHUNK {
            let Some(thing) = self.things.next() else {
                chunk.push_str(self.tail);
                return Ok((chunk.into(), None));
            };
            let is_first = std::mem::take(&mut self.is_first);
            let shown = match self.view {
                View::Full => thing?.enriched(),
                View::Summary => json!(summary(&thing?)).to_string(),
            };
            match self.form {
                // A line break in JSON is never part of a string.
                Form::Lines => chunk.extend(shown.split(['\n', '\r']).chain(["\n"])),
                Form::Array | Form::Collection => chunk.extend([if is_first { "" } else { "," }, &shown]),
            }
        }
        Ok((chunk.into(), Some(self)))
    }
}

/// The members of a Thing that a person needs to choose.
fn summary(thing: &Thing) -> Summary {
    let document: Value = serde_json::from_str(thing.text()).unwrap_or_default();
    let translation = || document.get("titles")?.as_object()?.values().next();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Summary {
        capabilities: td::capabilities(&document).into_iter().map(CapabilitySummary::from).collect(),
        description: document.get("description").and_then(text),
        id: thing.id().to_owned(),
        title: document.get("title").or_else(translation).and_then(text),
    }
}

/// The body of the answer to a HEAD request whose GET would be answered with a stream.
pub(super) struct Empty;

impl MessageBody for Empty {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<std::result::Result<Bytes, Infallible>>> {
        Poll::Ready(None)
    }
}
