//! Descriptions as RDF: JSON-LD 1.1 is expanded and its statements are read off, by the `json-ld` crate.
//!
//! - **Contexts** come from the table of [`contexts`], never from the network. A context that isn't there is
//!   reported, and the terms that only it defines are read as if it were empty.
//! - **Cost.** A context is processed once a thread and is the initial context of every document that has it. The
//!   contexts that forms bring are left out where they change nothing (`plain_forms`). The crate calls itself once a
//!   level of nesting, with a lot of stack: it runs on threads that are large enough for
//!   [`MAX_NESTING`](super::MAX_NESTING) levels, away from those that answer requests (see [`Expander`]).
//! - **What it isn't used for**: compaction. The document as it was registered is what is returned as JSON-LD.

mod capability_entries;
mod contexts;
mod expander;
mod json;
mod plain_forms;
mod processor;
mod statements;

use std::sync::Arc;

pub(super) use self::contexts::is_known as is_known_context;
pub use self::expander::{Expander, Pending};

/// The statements of a description, as RDF.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statements {
    /// The statements, each once, in the order of the document.
    pub quads: Vec<Quad>,
    /// Contexts that are not known here or not valid, so that the terms that only they define have no meaning.
    pub ignored_contexts: Vec<String>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Quad {
    /// The resource that the statement is about: an IRI or a blank node.
    pub subject: Term,
    /// The IRI of the property.
    pub predicate: Arc<str>,
    /// The value.
    pub object: Term,
    /// The graph that the document puts it in; none for its default graph.
    pub graph: Option<Term>,
}

/// A node or a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Term {
    /// An absolute IRI.
    Iri(Arc<str>),
    /// A blank node, by its number in the document.
    Blank(u32),
    /// A value.
    Literal {
        /// Its lexical form.
        value: String,
        /// The IRI of its type.
        datatype: Arc<str>,
        /// Its language, where that is its type.
        language: Option<String>,
    },
}
