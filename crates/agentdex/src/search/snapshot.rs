//! An immutable state of an index, used by a search from beginning to end.

use std::{borrow::Cow, cell::Cell, collections::BTreeMap, sync::Arc};

use tantivy::{DocAddress, Score, Searcher, TantivyDocument, TantivyError, schema::Value};

use super::{
    Answer, Condition, Confidence, FacetField, Filters, Hit, MAX_DEPTH, MAX_FACET_QUERY_BYTES, MAX_LIMIT,
    MAX_QUERY_BYTES, Meaning, Mode, Search,
    cached::Cached,
    collect::{self, Matches, Page},
    explanation,
    facets::{self, Choice, Counted},
    failure::index_error,
    hidden::{Hidden, HiddenIds},
    hybrid::{self, Cosines, Fused, Hybrid},
    query::{self, Compiled, Spelling},
    rank::Ranked,
    restricted::{RestrictedDocuments, RestrictedThings},
    schema::Fields,
    semantic,
    snippet::Marker,
    sorting::Sorting,
    suggest,
    summary::Summary,
    text, unseen,
};
use crate::{
    Error, Result,
    access::Grants,
    change::{Position, Seq},
};

/// Number of the best hits of each sentence of a request that come before the rest.
const HITS_OF_A_TASK: usize = 10;

/// Maximum number of completions that contribute to the meaning of a word being typed.
const MOST_ENDS: usize = 8;

/// An immutable state of an index. Cloning is cheap. Its files stay readable as long as the snapshot exists.
#[derive(Clone)]
pub struct Snapshot {
    searcher: Searcher,
    fields: Fields,
    cached: Arc<Cached>,
    position: Option<Position>,
}

impl Snapshot {
    pub(super) fn new(searcher: Searcher, fields: Fields, cached: Arc<Cached>, position: Option<Position>) -> Snapshot {
        Snapshot { searcher, fields, cached, position }
    }

    /// The state of the same index after a commit.
    pub(super) fn succeeded_by(&self, searcher: Searcher, position: Position) -> Snapshot {
        Snapshot { searcher, position: Some(position), ..self.clone() }
    }

    /// Returns the last change in the snapshot, or `None` before the first commit.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    pub(super) fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(super) fn cached(&self) -> &Cached {
        &self.cached
    }

    /// Adds `ids` to the `hidden` ids, and returns all hidden documents of this snapshot. The snapshot must not be
    /// older than the snapshots used with `hidden` before.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn hide<'i>(&self, hidden: &mut HiddenIds, ids: impl IntoIterator<Item = &'i str>) -> Result<Hidden> {
        hidden.hide(&self.searcher, self.fields.id, ids)
    }

    /// Looks up the documents of restricted Things. `changed` lists ids whose access may have changed since the
    /// previous lookup; if `None`, any access may have changed.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn look_up(
        &self,
        restricted: &mut RestrictedDocuments,
        things: &dyn RestrictedThings,
        changed: Option<&[String]>,
    ) -> Result<()> {
        restricted.update(&self.searcher, self.fields.id, things, changed)
    }

    /// Returns the documents hidden from a caller with these grants, in addition to documents `hidden` from everyone.
    /// Uses both the visibility terms of the index and the documents known to be `restricted`.
    ///
    /// # Errors
    /// [`crate::Error::Index`]
    pub fn hide_from(&self, grants: &Grants, hidden: &Hidden, restricted: &RestrictedDocuments) -> Result<Hidden> {
        let mut hidden = unseen::hide(&self.searcher, self.fields.sight, &self.cached, hidden, grants)
            .map_err(index_error("looking up the descriptions that a caller can see"))?;
        restricted.hide(&self.searcher, grants, &mut hidden);
        Ok(hidden)
    }

    /// Searches the snapshot. `hidden` contains documents that must not be found. `meaning` contains the vectors, if
    /// there are any.
    ///
    /// # Errors
    /// [`crate::Error::LimitExceeded`] for a query over [`MAX_QUERY_BYTES`], a facet query over
    /// [`MAX_FACET_QUERY_BYTES`], or a page beyond [`MAX_DEPTH`],
    /// [`crate::Error::InvalidQuery`] for an invalid version range or for [`Mode::Semantic`] without vectors,
    /// [`crate::Error::Index`].
    pub fn search(&self, search: &Search, hidden: &Hidden, meaning: Option<&Meaning>) -> Result<Answer> {
        let limit = search.limit.min(MAX_LIMIT);
        check_query(search.query.as_deref())?;
        if search.offset.saturating_add(limit) > MAX_DEPTH {
            return Err(Error::LimitExceeded { what: "offset + limit", maximum: MAX_DEPTH as u64 });
        }
        if search.facet_query.as_ref().is_some_and(|text| text.len() > MAX_FACET_QUERY_BYTES) {
            let what = "length of the facet query in bytes";
            return Err(Error::LimitExceeded { what, maximum: MAX_FACET_QUERY_BYTES as u64 });
        }
        let sorting = Sorting::of(search.sort_by, search.sort_order);
        let wants_all = !search.facets.is_empty() || sorting.is_some();
        let page = Page { offset: search.offset, limit, wants_all, sorting };
        let mut answer = Searching::new(self, search, page, hidden, meaning).run()?;
        answer.seq = self.position.map(|position| position.seq).unwrap_or_default();
        Ok(answer)
    }

    /// Returns the ids of all Things that pass the filters and match the query, if given, ascending.
    ///
    /// # Errors
    /// Same as [`Snapshot::search`].
    pub fn ids(&self, query: Option<&str>, filters: &Filters, hidden: &Hidden) -> Result<Vec<String>> {
        Ok(self.ids_after(query, filters, hidden, None, usize::MAX)?.1)
    }

    /// Counts the Things that pass the filters and match the query, if there is one. Returns the total and the first
    /// `limit` ids greater than `after`, ascending.
    ///
    /// # Errors
    /// Same as [`Snapshot::search`].
    pub fn ids_after(
        &self,
        query: Option<&str>,
        filters: &Filters,
        hidden: &Hidden,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(u64, Vec<String>)> {
        check_query(query)?;
        self.ids_of(&query::parse(query.unwrap_or_default()), filters, hidden, after, limit)
    }

    /// Returns the current minimum cosine of matches by meaning alone, or `None` if the search uses words only.
    ///
    /// # Errors
    /// Same as [`Snapshot::search`].
    pub fn least_cosine(&self, search: &Search, hidden: &Hidden, meaning: &Meaning) -> Result<Option<f32>> {
        check_query(search.query.as_deref())?;
        let page = Page { offset: 0, limit: 0, wants_all: false, sorting: None };
        Searching::new(self, search, page, hidden, Some(meaning)).least_cosine(meaning)
    }

    /// Returns the ids of matches of a parsed query.
    pub(super) fn ids_of(
        &self,
        clauses: &[query::Clause],
        filters: &Filters,
        hidden: &Hidden,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(u64, Vec<String>)> {
        let compiled = query::compile(&self.searcher, &self.fields, clauses, filters, Spelling::Exact(hidden))?;
        let found = collect::ids(&self.searcher, &self.cached, hidden, compiled.query.as_ref(), after, limit);
        found.map_err(index_error("listing ids"))
    }
}

pub(super) fn check_query(query: Option<&str>) -> Result<()> {
    if query.is_some_and(|query| query.len() > MAX_QUERY_BYTES) {
        return Err(Error::LimitExceeded { what: "length of the query in bytes", maximum: MAX_QUERY_BYTES as u64 });
    }
    Ok(())
}

/// A search on a state of the index.
struct Searching<'a> {
    snapshot: &'a Snapshot,
    search: &'a Search,
    page: Page,
    hidden: &'a Hidden,
    meaning: Option<&'a Meaning>,
    /// True if words known to the model are corrected, too, although they aren't misspelled.
    corrects_known: bool,
    /// True if there were such words, and they weren't corrected.
    has_known: Cell<bool>,
}

impl<'a> Searching<'a> {
    fn new(
        snapshot: &'a Snapshot,
        search: &'a Search,
        page: Page,
        hidden: &'a Hidden,
        meaning: Option<&'a Meaning>,
    ) -> Searching<'a> {
        Searching { snapshot, search, page, hidden, meaning, corrects_known: false, has_known: Cell::new(false) }
    }

    /// Runs the search. Words known to the model are only corrected if nothing is found otherwise.
    fn run(mut self) -> Result<Answer> {
        let answer = self.run_once()?;
        if answer.total > 0 || !self.has_known.get() {
            return Ok(answer);
        }
        self.corrects_known = true;
        self.run_once()
    }

    fn clauses(&self) -> Vec<query::Clause> {
        let query = self.search.query.as_deref().unwrap_or_default();
        if self.search.typing { query::parse_typed(query) } else { query::parse(query) }
    }

    /// Returns the prose of a query. A word that is still being typed has a meaning if the model knows it. If only
    /// meaning is used, an unknown word takes the meaning of its completions in descriptions; if there are none, it
    /// is dropped unless it is the only word.
    fn wording(&self, clauses: &[query::Clause], meaning: &Meaning) -> query::Wording {
        query::Wording::of(clauses, |word| {
            let written = text::normalized(word);
            let mut stems = Vec::new();
            text::prose().token_stream(word).process(&mut |token| stems.push(token.text.clone()));
            let is_known = stems.iter().any(|stem| meaning.model().has_word(stem, &written));
            if self.search.mode != Mode::Semantic {
                return is_known.then(|| word.to_owned());
            }
            let Snapshot { searcher, fields, .. } = self.snapshot;
            // Without the words that it may become it is read as it stands.
            let mut ends = query::completed(searcher, self.hidden, fields.text, &written).unwrap_or_default();
            if ends.iter().any(|end| stems.contains(end)) {
                ends.clear();
            }
            ends.retain(|end| meaning.model().has_word(end, end));
            ends.truncate(MOST_ENDS);
            match is_known || ends.is_empty() && clauses.len() == 1 {
                true => ends.insert(0, word.to_owned()),
                false if ends.is_empty() => return None,
                false => {}
            }
            Some(ends.join(" "))
        })
    }

    fn run_once(&self) -> Result<Answer> {
        let clauses = self.clauses();
        if self.search.mode == Mode::Semantic && self.meaning.is_none() {
            let message = "this registry has no vectors to search by meaning; use the mode `hybrid` or `lexical`";
            return Err(Error::InvalidQuery { message: message.to_owned() });
        }
        if let Some(meaning) = self.meaning.filter(|_| self.search.mode != Mode::Lexical)
            && let Some(answer) = self.run_by_meaning(&clauses, meaning)?
        {
            return Ok(answer);
        }
        let compiled = self.compile(&clauses)?;
        let matches = self.collect(&compiled, self.page)?;
        let best_score = match matches.top.is_empty() {
            true => 0.0,
            false => explanation::best_score(&self.snapshot.searcher, self.hidden, &compiled)
                .map_err(index_error("looking up words"))?,
        };
        self.respond(compiled, matches, best_score)
    }

    /// Searches by meaning, or by words and meaning. Returns `None` if no word of the query has a meaning, or in
    /// semantic mode only if the query has no words.
    fn run_by_meaning(&self, clauses: &[query::Clause], meaning: &Meaning) -> Result<Option<Answer>> {
        let wording = self.wording(clauses, meaning);
        let Some(question) = meaning.question(&wording.whole, &wording.sentences) else {
            let has_no_meaning = self.search.mode == Mode::Semantic && !wording.whole.is_empty();
            return Ok(has_no_meaning.then(|| Answer { mode: Mode::Semantic, ..Answer::default() }));
        };
        let is_restricted = !wording.restriction.is_empty() || !self.search.filters.is_empty();
        let restriction = is_restricted.then(|| self.compile(&wording.restriction)).transpose()?;
        let failed = |error: TantivyError| index_error("searching by meaning")(error);
        let Snapshot { searcher, fields, cached, .. } = self.snapshot;
        let cosines = Cosines::of(searcher, cached, meaning, &question, restriction.as_ref()).map_err(failed)?;
        let by_both = |sentence: Option<usize>, page: Page| {
            let (hidden, cosines) = (self.hidden, &cosines);
            let threshold = self.search.threshold;
            Hybrid { searcher, fields, cached, hidden, meaning, cosines, sentence, threshold, page }
        };
        let hybrid = by_both(None, self.page);
        let mut compiled = self.compile(clauses)?;
        let Fused { matches, best, best_cosine, best_score } = if self.search.mode == Mode::Semantic {
            // Words don't count, however they are spelled.
            compiled.corrections.clear();
            hybrid.by_meaning(&compiled).map_err(failed)?
        } else {
            let matches = self.collect(&compiled, hybrid.page_of_words())?;
            let adds = wording.has_free_words || (wording.has_phrases && matches.total == 0);
            let best_of_task = |(at, clauses): (usize, &Vec<query::Clause>)| {
                let page = Page { offset: 0, limit: HITS_OF_A_TASK, wants_all: false, sorting: None };
                let (hybrid, compiled) = (by_both(Some(at), page), self.compile(clauses)?);
                let matches = self.collect(&compiled, hybrid.page_of_words())?;
                Ok(hybrid.fuse(&compiled, matches, adds, &[]).map_err(failed)?.matches.top)
            };
            let tasks = wording.tasks.iter().enumerate().map(best_of_task).collect::<Result<Vec<_>>>()?;
            hybrid.fuse(&compiled, matches, adds, &tasks).map_err(failed)?
        };
        let is_unsure = best_cosine < meaning.model().low_confidence() && self.has_few_words(&compiled, best)?;
        let is_unsure = is_unsure && self.page.limit > 0;
        let mut answer = self.respond(compiled, matches, best_score)?;
        answer.confidence = (is_unsure && answer.total > 0).then_some(Confidence::Low);
        Ok(Some(answer))
    }

    fn least_cosine(&self, meaning: &Meaning) -> Result<Option<f32>> {
        let clauses = self.clauses();
        let wording = self.wording(&clauses, meaning);
        let question = meaning.question(&wording.whole, &wording.sentences);
        let Some(question) = question.filter(|_| wording.has_free_words || self.search.mode == Mode::Semantic) else {
            return Ok(None);
        };
        let failed = |error: TantivyError| index_error("searching by meaning")(error);
        let Snapshot { searcher, fields, cached, .. } = self.snapshot;
        let restriction = self.compile(&wording.restriction)?;
        let cosines = Cosines::of(searcher, cached, meaning, &question, Some(&restriction)).map_err(failed)?;
        let (hidden, cosines, page) = (self.hidden, &cosines, self.page);
        let hybrid =
            Hybrid { searcher, fields, cached, hidden, meaning, cosines, sentence: None, threshold: None, page };
        hybrid.least_cosine(&self.compile(&clauses)?).map_err(failed)
    }

    /// True if the best hit has less than half of the words that say something.
    fn has_few_words(&self, compiled: &Compiled, best: Option<DocAddress>) -> Result<bool> {
        let Some(best) = best else { return Ok(true) };
        let Snapshot { searcher, fields, .. } = self.snapshot;
        let found = hybrid::words_of(searcher, fields, &compiled.telling, best);
        Ok(found.map_err(index_error("searching by meaning"))? * 2 < compiled.telling.len().max(1))
    }

    fn compile(&self, clauses: &[query::Clause]) -> Result<Compiled> {
        let counts = |meaning: &&Meaning| self.search.mode == Mode::Hybrid && meaning.model().is_fast();
        let spelling = match self.meaning.filter(counts).filter(|_| !self.corrects_known) {
            // An encoder knows every word, the misspelled ones too.
            Some(meaning) => Spelling::CorrectedUnlessKnown(self.hidden, meaning),
            None => Spelling::Corrected(self.hidden),
        };
        let Snapshot { searcher, fields, .. } = self.snapshot;
        let compiled = query::compile(searcher, fields, clauses, &self.search.filters, spelling)?;
        self.has_known.set(self.has_known.get() || compiled.has_known);
        Ok(compiled)
    }

    fn collect(&self, compiled: &Compiled, page: Page) -> Result<Matches> {
        collect::collect(&self.snapshot.searcher, &self.snapshot.cached, self.hidden, compiled, page)
            .map_err(index_error("searching"))
    }

    /// The counts of a field without the filter of its own.
    fn alternatives(&self, field: FacetField) -> Result<Counted> {
        let mut search = Search { facets: vec![field], explain: false, limit: 0, offset: 0, ..self.search.clone() };
        search.filters.values_mut(Condition::AnyOf, field.filter()).clear();
        let page = Page { offset: 0, limit: 0, wants_all: true, sorting: None };
        let mut answer = Searching::new(self.snapshot, &search, page, self.hidden, self.meaning).run()?;
        let total = answer.facet_totals.remove(&field).unwrap_or_default();
        Ok(Counted { counts: answer.facets.remove(&field).unwrap_or_default(), total })
    }

    fn respond(&self, compiled: Compiled, matches: Matches, best_score: Score) -> Result<Answer> {
        let stored = matches.top.iter().map(|ranked| self.stored(ranked.address)).collect::<Result<Vec<_>>>()?;
        let mut summaries = Vec::with_capacity(stored.len());
        for stored in &stored {
            summaries.push(serde_json::from_slice::<Summary<'_>>(stored).map_err(index_error("reading a summary"))?);
        }
        let mut marker = Marker::new(&compiled.highlights);
        let ranked = matches.top.iter().zip(&summaries);
        let hits = ranked.map(|(ranked, summary)| Hit {
            normalized_score: (best_score > 0.0).then(|| (ranked.score / best_score).min(1.0)),
            highlight: if self.search.highlight { marker.highlight(summary) } else { None },
            ..hit(&mut marker, ranked, summary)
        });
        let mut hits: Vec<Hit> = hits.collect();
        if self.search.explain {
            let explained = explanation::explain(&self.snapshot.searcher, &compiled, &matches.top, best_score);
            let explained = explained.map_err(index_error("explaining scores"))?;
            hits.iter_mut().zip(explained).for_each(|(hit, explanation)| hit.explanation = Some(explanation));
        }
        let query = self.search.query.as_deref().unwrap_or_default();
        let corrections = match matches.total {
            0 => Vec::new(),
            _ => suggest::as_written(summaries.iter(), &compiled.corrections),
        };
        let documents = matches.documents.as_deref().unwrap_or_default();
        let choice = Choice { text: self.search.facet_query.as_deref(), highlights: &compiled.highlights };
        let (mut facets, mut facet_totals) = (BTreeMap::new(), BTreeMap::new());
        for &field in &self.search.facets {
            let Counted { counts, total } = match self.search.filters.values(field).is_empty() {
                true => facets::count(&self.snapshot.searcher, &self.snapshot.cached.facets, documents, field, &choice)
                    .map_err(index_error("counting facets"))?,
                false => self.alternatives(field)?,
            };
            facets.insert(field, counts);
            facet_totals.insert(field, total);
        }
        let lacks_meaning = self.meaning.is_none() && self.search.mode == Mode::Hybrid;
        let mut hints = query::hints(query);
        if lacks_meaning && matches.total == 0 && !query.trim().is_empty() {
            hints.push(semantic::WITHOUT_MEANING.to_owned());
        }
        Ok(Answer {
            total: matches.total,
            hits,
            facets,
            facet_totals,
            suggestions: suggest::corrected(query, &corrections),
            hints,
            mode: if lacks_meaning { Mode::Lexical } else { self.search.mode },
            fuzzy: !corrections.is_empty(),
            corrections,
            notice: None,
            left_out: None,
            confidence: None,
            seq: Seq::ZERO,
        })
    }

    fn stored(&self, address: DocAddress) -> Result<Vec<u8>> {
        let document: TantivyDocument = self.snapshot.searcher.doc(address).map_err(index_error("reading a hit"))?;
        let summary =
            document.get_first(self.snapshot.fields.summary).and_then(|value| value.as_bytes().map(<[u8]>::to_vec));
        summary.ok_or_else(|| index_error("reading a hit")("the entry has no summary"))
    }
}

fn hit(marker: &mut Marker<'_>, ranked: &Ranked, summary: &Summary<'_>) -> Hit {
    let capabilities = marker.capability_hits(summary);
    let owned = |texts: &[Cow<'_, str>]| texts.iter().map(|text| text.to_string()).collect();
    let (created, modified) = summary.timestamps();
    Hit {
        id: summary.id.to_string(),
        title: summary.title.as_deref().map(str::to_owned),
        description: summary.description.as_deref().map(str::to_owned),
        version: summary.version.as_deref().map(str::to_owned),
        vendors: owned(&summary.vendors),
        protocols: owned(&summary.protocols),
        callable: summary.is_callable,
        created,
        modified,
        score: ranked.score,
        bm25: ranked.bm25,
        cosine: ranked.cosine,
        more_capabilities: summary.capabilities.len() - capabilities.len(),
        capabilities,
        ..Hit::default()
    }
}
