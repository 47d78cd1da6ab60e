//! The readers' side: opens an index, searches it, lists ids.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use tantivy::{DocAddress, IndexReader, ReloadPolicy, Score, Searcher, TantivyDocument, schema::Value};

use super::{
    Filters, Hit, IndexWriter, MAX_DEPTH, MAX_LIMIT, MAX_QUERY_BYTES, Request, Response,
    collect::{self, Matches, Page},
    directory, facets,
    kept::Kept,
    query::{self, Compiled, Spelling},
    schema::{self, Fields},
    snippet::{self, Highlights},
    suggest,
    summary::Summary,
    text,
};
use crate::{Error, Result, change::Position, error::BoxError};

/// Readers search while one writer (the registry's follower loop) adds, deletes and commits.
/// Cloning is cheap.
#[derive(Clone)]
pub struct Index {
    reader: IndexReader,
    fields: Fields,
    cursor: Arc<RwLock<Option<Position>>>,
    kept: Arc<Kept>,
}

/// Says what the index was doing when it failed.
pub(super) fn index_error<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Error {
    move |source| Error::Index { doing, source: source.into() }
}

impl Index {
    /// Opens the index in a directory; none if there is none, or one that this version can't read:
    /// it is to be built anew by [`Index::create`].
    ///
    /// # Errors
    /// [`crate::Error::Index`] where the directory can't be read, or another process has the index.
    pub fn open(directory: &Path) -> Result<Option<(Index, IndexWriter, Position)>> {
        let Some(current) = directory::current(directory).map_err(index_error("opening"))? else {
            return Ok(None);
        };
        // Files that were damaged may not only be refused by tantivy, but also make it panic.
        let opened = catch_unwind(AssertUnwindSafe(|| Self::open_current(directory, &current)));
        match opened {
            Ok(Ok(Some(opened))) => {
                directory::remove_leftovers(directory, &current);
                Ok(Some(opened))
            }
            Ok(Err(error @ tantivy::TantivyError::LockFailure(..))) => Err(index_error("opening")(error)),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the search index can't be read and is built anew");
                Ok(None)
            }
            Ok(Ok(None)) | Err(_) => Ok(None),
        }
    }

    fn open_current(home: &Path, current: &Path) -> tantivy::Result<Option<(Index, IndexWriter, Position)>> {
        let mut index = tantivy::Index::open_in_dir(current)?;
        let (schema, fields) = schema::build();
        let payload = index.load_metas()?.payload;
        let cursor = payload.and_then(|payload| payload.parse().ok());
        let Some(cursor) = cursor.filter(|_| index.schema() == schema) else { return Ok(None) };
        index.set_tokenizers(text::analyzers());
        let (index, writer) = Self::with_writer(&index, fields, home, current, Some(cursor))?;
        Ok(Some((index, writer, cursor)))
    }

    /// Starts an empty index in a new directory beside the old one. The first
    /// [`IndexWriter::commit`] puts it in the old one's place.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn create(directory: &Path) -> Result<(Index, IndexWriter)> {
        let new = directory::create(directory).map_err(index_error("creating a directory"))?;
        let (schema, fields) = schema::build();
        let index = tantivy::Index::builder()
            .schema(schema)
            .settings(schema::settings())
            .tokenizers(text::analyzers())
            .create_in_dir(&new)
            .map_err(index_error("creating"))?;
        Self::with_writer(&index, fields, directory, &new, None).map_err(index_error("creating"))
    }

    fn with_writer(
        index: &tantivy::Index,
        fields: Fields,
        home: &Path,
        directory: &Path,
        cursor: Option<Position>,
    ) -> tantivy::Result<(Index, IndexWriter)> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let index_side =
            Index { reader: reader.clone(), fields, cursor: Arc::new(RwLock::new(cursor)), kept: Arc::default() };
        let writer = IndexWriter::new(index, reader, fields, home, directory, index_side.cursor.clone())?;
        Ok((index_side, writer))
    }

    /// The last change whose effect can be searched.
    pub fn cursor(&self) -> Option<Position> {
        *self.cursor.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Searches; `expired` are ids that the index still has and that must not be found.
    ///
    /// # Errors
    /// [`crate::Error::LimitExceeded`] for a query over [`MAX_QUERY_BYTES`] or a page beyond
    /// [`MAX_DEPTH`], [`crate::Error::Index`].
    pub fn search(&self, request: &Request, expired: &[String]) -> Result<Response> {
        let limit = request.limit.min(MAX_LIMIT);
        check_query(request.query.as_deref())?;
        if request.offset.saturating_add(limit) > MAX_DEPTH {
            return Err(Error::LimitExceeded { what: "offset + limit", maximum: MAX_DEPTH as u64 });
        }
        let page = Page { offset: request.offset, limit };
        let search = Search { index: self, searcher: self.reader.searcher(), request, page, expired };
        search.run()
    }

    /// The ids of all Things that pass the filters (and match the query), ascending.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn ids(&self, query: Option<&str>, filters: &Filters, expired: &[String]) -> Result<Vec<String>> {
        check_query(query)?;
        let searcher = self.reader.searcher();
        let clauses = query::parse(query.unwrap_or_default());
        let compiled = query::compile(&searcher, &self.fields, &clauses, filters, expired, Spelling::Exact)?;
        collect::ids(&searcher, &self.kept, compiled.query.as_ref()).map_err(index_error("listing ids"))
    }
}

fn check_query(query: Option<&str>) -> Result<()> {
    if query.is_some_and(|query| query.len() > MAX_QUERY_BYTES) {
        return Err(Error::LimitExceeded { what: "length of the query in bytes", maximum: MAX_QUERY_BYTES as u64 });
    }
    Ok(())
}

/// One search on one state of the index.
struct Search<'a> {
    index: &'a Index,
    searcher: Searcher,
    request: &'a Request,
    page: Page,
    expired: &'a [String],
}

impl Search<'_> {
    fn run(&self) -> Result<Response> {
        let clauses = query::parse(self.request.query.as_deref().unwrap_or_default());
        let exact = self.compile(&clauses, Spelling::Exact)?;
        let matches = self.collect(&exact)?;
        if matches.total > 0 || !exact.is_scored {
            return self.respond(exact, matches, false);
        }
        let fuzzy = self.compile(&clauses, Spelling::Fuzzy)?;
        let matches = self.collect(&fuzzy)?;
        let is_fuzzy = matches.total > 0;
        self.respond(fuzzy, matches, is_fuzzy)
    }

    fn compile(&self, clauses: &[query::Clause], spelling: Spelling) -> Result<Compiled> {
        query::compile(&self.searcher, &self.index.fields, clauses, &self.request.filters, self.expired, spelling)
    }

    fn collect(&self, compiled: &Compiled) -> Result<Matches> {
        collect::collect(&self.searcher, &self.index.kept, compiled, self.page).map_err(index_error("searching"))
    }

    fn respond(&self, compiled: Compiled, matches: Matches, fuzzy: bool) -> Result<Response> {
        let stored = matches.top.iter().map(|&(_, address)| self.stored(address)).collect::<Result<Vec<_>>>()?;
        let mut summaries = Vec::with_capacity(stored.len());
        for stored in &stored {
            summaries.push(serde_json::from_slice::<Summary<'_>>(stored).map_err(index_error("reading a summary"))?);
        }
        let scores = matches.top.iter().map(|&(score, _)| score);
        let mut analyzer = compiled.highlights.analyzer();
        let hits = scores
            .zip(&summaries)
            .map(|(score, summary)| hit(&mut analyzer, score, summary, &compiled.highlights))
            .collect();
        let suggestions =
            if fuzzy { suggest::suggestions(summaries.iter(), &compiled.corrections) } else { Vec::new() };
        let counts = if self.request.facets.is_empty() {
            Vec::new()
        } else {
            facets::count(&self.searcher, compiled.query.as_ref(), &self.request.facets)
                .map_err(index_error("counting facets"))?
        };
        let facets = self.request.facets.iter().copied().zip(counts).collect();
        Ok(Response { total: matches.total, hits, facets, suggestions, fuzzy })
    }

    fn stored(&self, address: DocAddress) -> Result<Vec<u8>> {
        let document: TantivyDocument = self.searcher.doc(address).map_err(index_error("reading a hit"))?;
        let summary =
            document.get_first(self.index.fields.summary).and_then(|value| value.as_bytes().map(<[u8]>::to_vec));
        summary.ok_or_else(|| index_error("reading a hit")("the entry has no summary"))
    }
}

fn hit(
    analyzer: &mut tantivy::tokenizer::TextAnalyzer,
    score: Score,
    summary: &Summary<'_>,
    highlights: &Highlights,
) -> Hit {
    Hit {
        id: summary.id.to_string(),
        title: summary.title.as_deref().map(str::to_owned),
        description: summary.description.as_deref().map(str::to_owned),
        score,
        capabilities: snippet::capability_hits(analyzer, &summary.capabilities, highlights),
    }
}
