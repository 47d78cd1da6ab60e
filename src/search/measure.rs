//! For benchmarks: a search up to where its hits would be read, and the bare tantivy search behind it.

use tantivy::{
    Searcher,
    collector::{Count, TopDocs},
};

use super::{
    Index, Request,
    collect::{self, Page},
    index::index_error,
    query::{self, Compiled, Spelling},
};
use crate::Result;

/// One request on one state of the index, compiled.
#[doc(hidden)]
pub struct Measured<'i> {
    index: &'i Index,
    searcher: Searcher,
    request: Request,
    compiled: Compiled,
}

impl<'i> Measured<'i> {
    /// Compiles a request.
    pub fn new(index: &'i Index, request: Request) -> Result<Measured<'i>> {
        let searcher = index.searcher();
        let compiled = compile(index, &searcher, &request)?;
        Ok(Measured { index, searcher, request, compiled })
    }

    /// Ours, from the text of the query to the ranked documents and the exact total.
    pub fn ours_from_text(&self) -> Result<(u64, usize)> {
        self.collect(&compile(self.index, &self.searcher, &self.request)?)
    }

    /// Ours, from the compiled query to the ranked documents and the exact total.
    pub fn ours(&self) -> Result<(u64, usize)> {
        self.collect(&self.compiled)
    }

    fn collect(&self, compiled: &Compiled) -> Result<(u64, usize)> {
        let page = Page { offset: self.request.offset, limit: self.request.limit };
        let matches =
            collect::collect(&self.searcher, self.index.kept(), compiled, page).map_err(index_error("searching"))?;
        Ok((matches.total, matches.top.len()))
    }

    /// The bare search for the best documents of the compiled query.
    pub fn bare(&self) -> Result<usize> {
        let top = self.searcher.search(self.compiled.query.as_ref(), &self.top()).map_err(index_error("searching"))?;
        Ok(top.len())
    }

    /// The bare search for the best documents and their number.
    pub fn bare_with_count(&self) -> Result<(u64, usize)> {
        let collectors = (self.top(), Count);
        let (top, count) =
            self.searcher.search(self.compiled.query.as_ref(), &collectors).map_err(index_error("searching"))?;
        Ok((count as u64, top.len()))
    }

    fn top(&self) -> impl tantivy::collector::Collector<Fruit = Vec<(f32, tantivy::DocAddress)>> + use<> {
        TopDocs::with_limit(self.request.limit).and_offset(self.request.offset).order_by_score()
    }
}

fn compile(index: &Index, searcher: &Searcher, request: &Request) -> Result<Compiled> {
    let clauses = query::parse(request.query.as_deref().unwrap_or_default());
    query::compile(searcher, index.fields(), &clauses, &request.filters, &[], Spelling::Exact)
}
