//! Descriptions as RDF: the crate `json-ld` expands JSON-LD 1.1 to statements.
//!
//! - **Contexts** come from the table of [`contexts`], never from the network. An unknown context is reported, and
//!   treated as empty.
//! - **Cost.** Each thread processes a context once, and then uses it for all documents with that context. Contexts of
//!   forms are skipped if they change nothing (`plain_forms`). The crate recurses once for each level of nesting and
//!   needs much stack. It therefore runs on separate threads with stacks for [`MAX_NESTING`](super::MAX_NESTING)
//!   levels (see [`Expander`]).
//! - **Compaction isn't needed**: JSON-LD is served as the document was registered.

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

/// RDF statements of a description.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statements {
    /// Statements without duplicates, in the order of the document.
    pub quads: Vec<Quad>,
    /// URLs of unknown contexts, and the beginnings of invalid contexts. Terms defined only by these contexts are
    /// ignored.
    pub ignored_contexts: Vec<String>,
}

/// An RDF statement in a graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Quad {
    /// Subject: an IRI or a blank node.
    pub subject: Term,
    /// IRI of the property.
    pub predicate: Arc<str>,
    /// Object: a resource or a literal.
    pub object: Term,
    /// Named graph, or `None` for the default graph.
    pub graph: Option<Term>,
}

/// An RDF term: a node or a literal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Term {
    /// An absolute IRI.
    Iri(Arc<str>),
    /// A blank node, numbered within the document.
    Blank(u32),
    /// A literal value.
    Literal {
        /// Lexical form.
        value: String,
        /// IRI of the datatype.
        datatype: Arc<str>,
        /// Language tag of a language-tagged string.
        language: Option<String>,
    },
}
