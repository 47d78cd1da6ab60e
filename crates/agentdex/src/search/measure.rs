//! Benchmark support: a search without reading its hits, and the underlying tantivy search.

use std::sync::LazyLock;

use tantivy::collector::{Count, TopDocs};

use super::{
    Entry, Index, Search,
    collect::{self, Page},
    entry,
    failure::index_error,
    hidden::Hidden,
    node::Node,
    query::{self, Compiled, Spelling},
    schema,
    snapshot::Snapshot,
};
use crate::Result;

/// Parses the stored text of a Thing as for indexing.
#[doc(hidden)]
pub fn parse(text: &str) -> serde_json::Result<()> {
    serde_json::from_str::<Node<'_>>(text).map(drop)
}

/// Creates the document of an entry, and returns its approximate size in bytes.
#[doc(hidden)]
pub fn document_bytes(entry: Entry<'_>) -> Result<usize> {
    static FIELDS: LazyLock<schema::Fields> = LazyLock::new(|| schema::build().1);
    Ok(entry::document(&FIELDS, &entry)?.1)
}

/// A compiled request on a fixed state of the index.
#[doc(hidden)]
pub struct Measured {
    snapshot: Snapshot,
    request: Search,
    compiled: Compiled,
}

impl Measured {
    /// Compiles a request.
    pub fn new(index: &Index, request: Search) -> Result<Measured> {
        let snapshot = index.snapshot();
        let compiled = compile(&snapshot, &request)?;
        Ok(Measured { snapshot, request, compiled })
    }

    /// Compiles the query text, and finds the ranked documents and the exact total.
    pub fn ours_from_text(&self) -> Result<(u64, usize)> {
        self.collect(&compile(&self.snapshot, &self.request)?)
    }

    /// Evaluates the compiled query, and finds the ranked documents and the exact total.
    pub fn ours(&self) -> Result<(u64, usize)> {
        self.collect(&self.compiled)
    }

    fn collect(&self, compiled: &Compiled) -> Result<(u64, usize)> {
        let page = Page { offset: self.request.offset, limit: self.request.limit, wants_all: false, sorting: None };
        let matches =
            collect::collect(self.snapshot.searcher(), self.snapshot.cached(), &Hidden::default(), compiled, page)
                .map_err(index_error("searching"))?;
        Ok((matches.total, matches.top.len()))
    }

    /// Searches for the best documents of the compiled query with tantivy alone.
    pub fn bare(&self) -> Result<usize> {
        let top = self
            .snapshot
            .searcher()
            .search(self.compiled.query.as_ref(), &self.top())
            .map_err(index_error("searching"))?;
        Ok(top.len())
    }

    /// Searches for the best documents and their number with tantivy alone.
    pub fn bare_with_count(&self) -> Result<(u64, usize)> {
        let collectors = (self.top(), Count);
        let (top, count) = self
            .snapshot
            .searcher()
            .search(self.compiled.query.as_ref(), &collectors)
            .map_err(index_error("searching"))?;
        Ok((count as u64, top.len()))
    }

    fn top(&self) -> impl tantivy::collector::Collector<Fruit = Vec<(f32, tantivy::DocAddress)>> + use<> {
        TopDocs::with_limit(self.request.limit).and_offset(self.request.offset).order_by_score()
    }
}

fn compile(snapshot: &Snapshot, request: &Search) -> Result<Compiled> {
    let clauses = query::parse(request.query.as_deref().unwrap_or_default());
    query::compile(
        snapshot.searcher(),
        snapshot.fields(),
        &clauses,
        &request.filters,
        Spelling::Exact(&Hidden::default()),
    )
}
