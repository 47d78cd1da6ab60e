//! Collection of the best documents of a query, by score and then by id, and of the total.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use tantivy::{
    DocAddress, DocId, DocSet, Score, Searcher, TERMINATED,
    columnar::StrColumn,
    query::{EnableScoring, Query},
};

use super::{
    cached::Cached,
    documents::Documents,
    hidden::Hidden,
    query::Compiled,
    rank::{Candidate, Ranked, Ranking, quantized},
    sorting::Sorting,
    union::Union,
    versions::Versions,
};

/// The best documents, and how many match.
pub(super) struct Matches {
    pub total: u64,
    pub top: Vec<Ranked>,
    /// All matching documents by segment, if requested.
    pub documents: Option<Vec<Documents>>,
}

/// Range of matches to return.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub offset: usize,
    pub limit: usize,
    /// True if all matches must be visited, for example to count facets or to sort.
    pub wants_all: bool,
    /// Order of the page, or `None` for relevance. For any other order, all matches are visited.
    pub sorting: Option<Sorting>,
}

impl Page {
    /// Returns the number of best documents to find, up to the end of the page. Zero for an empty page, and for a page
    /// that is not ordered by relevance.
    pub fn depth(self) -> usize {
        if self.limit == 0 || self.sorting.is_some() { 0 } else { self.offset + self.limit }
    }
}

/// All matches, if requested.
struct All(Option<Vec<Documents>>);

impl All {
    fn new(searcher: &Searcher, is_wanted: bool) -> All {
        let none_yet = || searcher.segment_readers().iter().map(|segment| Documents::none_of(segment.max_doc()));
        All(is_wanted.then(|| none_yet().collect()))
    }

    fn add(&mut self, segment: u32, doc: DocId) {
        if let Some(documents) = self.0.as_mut().and_then(|all| all.get_mut(segment as usize)) {
            documents.add(doc);
        }
    }

    fn len(&self) -> Option<u64> {
        self.0.as_ref().map(|all| all.iter().map(Documents::len).sum())
    }
}

/// A page of the best documents, and the exact number of all.
pub(super) fn collect(
    searcher: &Searcher,
    cached: &Cached,
    hidden: &Hidden,
    compiled: &Compiled,
    page: Page,
) -> tantivy::Result<Matches> {
    let depth = page.depth();
    if let Some(versions) = compiled.versions.as_ref().filter(|_| page.sorting.is_none()) {
        return by_version(searcher, cached, hidden, compiled, versions, page);
    }
    let mut all = All::new(searcher, page.wants_all);
    let (total, candidates) = match &compiled.union {
        Some(terms) => {
            let union = Union::new(searcher, terms)?;
            let mut none = All(None);
            let best = match depth {
                0 => Vec::new(),
                depth => best(searcher, hidden, compiled, union.scoring(), depth, &mut none)?.1,
            };
            if page.wants_all {
                all = All(Some(union.documents(cached, hidden)?));
            }
            (all.len().map_or_else(|| union.count(cached, hidden), Ok)?, best)
        }
        None if compiled.is_scored && depth > 0 => {
            best(searcher, hidden, compiled, EnableScoring::enabled_from_searcher(searcher), depth, &mut all)?
        }
        None => first(searcher, hidden, compiled.query.as_ref(), depth, &mut all)?,
    };
    if let (Some(sorting), Some(documents)) = (page.sorting, &all.0) {
        let addresses = sorting.page(searcher, cached, documents, page.offset, page.limit)?;
        let scores = match compiled.is_scored {
            true => scores(searcher, compiled.query.as_ref(), &addresses.iter().copied().collect())?,
            false => HashMap::new(),
        };
        let scored = |address| Ranked::by_words(scores.get(&address).copied().unwrap_or_default(), address);
        return Ok(Matches { total, top: addresses.into_iter().map(scored).collect(), documents: all.0 });
    }
    let ordered = order(searcher, cached, candidates, depth)?;
    let top = ordered.into_iter().skip(page.offset).take(page.limit);
    let top = top.map(ranked).collect();
    Ok(Matches { total, top, documents: all.0 })
}

/// Collects documents ordered by version. Every match is scored, since the order of versions precedes that of scores.
fn by_version(
    searcher: &Searcher,
    cached: &Cached,
    hidden: &Hidden,
    compiled: &Compiled,
    versions: &Versions,
    page: Page,
) -> tantivy::Result<Matches> {
    let scoring = match compiled.is_scored {
        true => EnableScoring::enabled_from_searcher(searcher),
        false => EnableScoring::disabled_from_searcher(searcher),
    };
    let weight = compiled.query.weight(scoring)?;
    // What matches by its name alone comes after all versions.
    let mut all = All::new(searcher, page.wants_all);
    let mut by_place: BTreeMap<Reverse<Option<usize>>, Vec<Candidate>> = BTreeMap::new();
    for (ord, segment) in (0..).zip(searcher.segment_readers()) {
        let visible = hidden.visible(segment);
        let places = versions.places(segment)?;
        let mut scorer = weight.scorer(segment, 1.0)?;
        while scorer.doc() != TERMINATED {
            let doc = scorer.doc();
            if visible.has(doc) {
                let score = if compiled.is_scored { quantized(scorer.score()) } else { 0.0 };
                let place = Reverse(places.get(&doc).copied());
                all.add(ord, doc);
                by_place.entry(place).or_default().push(Candidate { score, segment: ord, doc });
            }
            scorer.advance();
        }
    }
    let total = by_place.values().map(Vec::len).sum::<usize>() as u64;
    let mut ordered = Vec::new();
    for candidates in by_place.into_values() {
        let left = page.depth().saturating_sub(ordered.len());
        if left == 0 {
            break;
        }
        ordered.extend(order(searcher, cached, candidates, left)?);
    }
    let top = ordered.into_iter().skip(page.offset).take(page.limit);
    let top = top.map(ranked).collect();
    Ok(Matches { total, top, documents: all.0 })
}

/// Candidates among which are the best `wanted` documents, and for all but unions of terms the number
/// of matches.
fn best(
    searcher: &Searcher,
    hidden: &Hidden,
    compiled: &Compiled,
    scoring: EnableScoring<'_>,
    wanted: usize,
    all: &mut All,
) -> tantivy::Result<(u64, Vec<Candidate>)> {
    let weight = compiled.query.weight(scoring)?;
    let mut segments: Vec<u32> = (0..searcher.segment_readers().len() as u32).collect();
    segments.sort_by_key(|&ord| Reverse(searcher.segment_reader(ord).num_docs()));
    let (mut candidates, mut total, mut floor) = (Vec::new(), 0, Score::MIN);
    for ord in segments {
        let segment = hidden.visible(searcher.segment_reader(ord));
        let ranking = Ranking { weight: weight.as_ref(), segment, ord, wanted };
        if compiled.union.is_some() {
            candidates.extend(ranking.candidates(floor)?);
        } else {
            let (found, count) = ranking.candidates_and_count(floor, |doc| all.add(ord, doc))?;
            candidates.extend(found);
            total += count;
        }
        candidates.sort_unstable_by(Candidate::order);
        if let Some(worst) = candidates.get(wanted - 1) {
            // A document of another segment may have the same score and a lower id.
            floor = worst.score.next_down();
        }
    }
    Ok((total, candidates))
}

/// Without scores the first documents are the best, and the rest is only counted.
fn first(
    searcher: &Searcher,
    hidden: &Hidden,
    query: &dyn Query,
    wanted: usize,
    all: &mut All,
) -> tantivy::Result<(u64, Vec<Candidate>)> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut total = 0;
    let mut candidates = Vec::new();
    for (ord, segment) in (0..).zip(searcher.segment_readers()) {
        let visible = hidden.visible(segment);
        let mut scorer = weight.scorer(segment, 1.0)?;
        let mut taken = 0;
        while (taken < wanted || all.0.is_some() || !visible.is_whole()) && scorer.doc() != TERMINATED {
            let doc = scorer.doc();
            if visible.has(doc) {
                if taken < wanted {
                    candidates.push(Candidate { score: 0.0, segment: ord, doc });
                }
                taken += 1;
                all.add(ord, doc);
            }
            scorer.advance();
        }
        let rest = match segment.alive_bitset() {
            _ if scorer.doc() == TERMINATED => 0,
            Some(alive) => scorer.count(alive),
            None => scorer.count_including_deleted(),
        };
        total += taken as u64 + u64::from(rest);
    }
    Ok((total, candidates))
}

/// Returns the scores of documents for a query. Documents that don't match have no score.
pub(super) fn scores(
    searcher: &Searcher,
    query: &dyn Query,
    addresses: &BTreeSet<DocAddress>,
) -> tantivy::Result<HashMap<DocAddress, Score>> {
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    let mut scores = HashMap::new();
    let addresses: Vec<DocAddress> = addresses.iter().copied().collect();
    for of_segment in addresses.chunk_by(|one, next| one.segment_ord == next.segment_ord) {
        let Some(first) = of_segment.first() else { continue };
        let mut scorer = weight.scorer(searcher.segment_reader(first.segment_ord), 1.0)?;
        for address in of_segment {
            let at = if scorer.doc() < address.doc_id { scorer.seek(address.doc_id) } else { scorer.doc() };
            if at == address.doc_id {
                scores.insert(*address, quantized(scorer.score()));
            }
        }
    }
    Ok(scores)
}

fn ranked(candidate: Candidate) -> Ranked {
    Ranked::by_words(candidate.score, DocAddress::new(candidate.segment, candidate.doc))
}

/// Returns the first `wanted` candidates by score. Ties between segments are broken by id.
pub(super) fn order(
    searcher: &Searcher,
    cached: &Cached,
    mut candidates: Vec<Candidate>,
    wanted: usize,
) -> tantivy::Result<Vec<Candidate>> {
    candidates.sort_unstable_by(Candidate::order);
    let mut ordered = Vec::with_capacity(wanted.min(candidates.len()));
    for tied in candidates.chunk_by(|one, other| one.score == other.score) {
        if ordered.len() >= wanted {
            break;
        }
        let is_in_order = tied.first().map(|first| first.segment) == tied.last().map(|last| last.segment);
        if is_in_order {
            ordered.extend_from_slice(tied);
        } else {
            ordered.extend(first_by_id(searcher, cached, tied, wanted - ordered.len())?);
        }
    }
    ordered.truncate(wanted);
    Ok(ordered)
}

/// The first candidates by id out of sorted ones of several segments. Within a segment they are in
/// order, so that few ids have to be read.
fn first_by_id(
    searcher: &Searcher,
    cached: &Cached,
    tied: &[Candidate],
    wanted: usize,
) -> tantivy::Result<Vec<Candidate>> {
    let mut heads: BTreeMap<(String, u32), Head<'_>> = BTreeMap::new();
    for rest in tied.chunk_by(|one, other| one.segment == other.segment) {
        let Some(first) = rest.first() else { continue };
        let column = cached.ids(searcher.segment_reader(first.segment))?;
        let head = Head { column, rest };
        heads.insert((head.id()?, first.segment), head);
    }
    let mut merged = Vec::with_capacity(wanted.min(tied.len()));
    while merged.len() < wanted
        && let Some(((_, segment), mut head)) = heads.pop_first()
        && let [first, rest @ ..] = head.rest
    {
        merged.push(*first);
        head.rest = rest;
        if !rest.is_empty() && merged.len() < wanted {
            heads.insert((head.id()?, segment), head);
        }
    }
    Ok(merged)
}

/// Candidates of a segment that aren't merged yet.
struct Head<'a> {
    column: Option<StrColumn>,
    rest: &'a [Candidate],
}

impl Head<'_> {
    /// The id of the first candidate.
    fn id(&self) -> tantivy::Result<String> {
        let mut id = String::new();
        if let (Some(column), Some(first)) = (&self.column, self.rest.first())
            && let Some(ord) = column.term_ords(first.doc).next()
        {
            column.ord_to_str(ord, &mut id)?;
        }
        Ok(id)
    }
}

/// The ids of documents of a segment, both ascending.
fn ids_of(
    searcher: &Searcher,
    cached: &Cached,
    ord: u32,
    docs: impl Iterator<Item = DocId>,
) -> tantivy::Result<Vec<String>> {
    let mut ids = Vec::new();
    if let Some(column) = cached.ids(searcher.segment_reader(ord))? {
        let ords: Vec<u64> = docs.filter_map(|doc| column.term_ords(doc).next()).collect();
        ids.reserve(ords.len());
        column.dictionary().sorted_ords_to_term_cb(&ords, |id| ids.push(String::from_utf8_lossy(id).into_owned()))?;
    }
    Ok(ids)
}

/// Counts the documents that match, and returns the first `limit` of their ids after `after`, ascending. No more ids
/// than that are held for each segment.
pub(super) fn ids(
    searcher: &Searcher,
    cached: &Cached,
    hidden: &Hidden,
    query: &dyn Query,
    after: Option<&str>,
    limit: usize,
) -> tantivy::Result<(u64, Vec<String>)> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let (mut total, mut ids) = (0, Vec::new());
    for (ord, segment) in (0..).zip(searcher.segment_readers()) {
        let Some(column) = cached.ids(segment)? else { continue };
        let start = after.map_or(Ok(0), |after| first_ord_after(&column, after))?;
        let visible = hidden.visible(segment);
        let mut docs = Vec::new();
        weight.for_each_no_score(segment, &mut |found| {
            for &doc in found.iter().filter(|&&doc| visible.has(doc)) {
                total += 1;
                // Documents are in the order of their ids, so the first ones have the first ids.
                if docs.len() < limit && (start == 0 || column.term_ords(doc).next() >= Some(start)) {
                    docs.push(doc);
                }
            }
        })?;
        ids.extend(ids_of(searcher, cached, ord, docs.into_iter())?);
    }
    if searcher.segment_readers().len() > 1 {
        ids.sort();
    }
    ids.truncate(limit);
    Ok((total, ids))
}

/// Returns the ordinal of the first id greater than `after`.
fn first_ord_after(column: &StrColumn, after: &str) -> tantivy::Result<u64> {
    let (mut low, mut high) = (0, column.dictionary().num_terms() as u64);
    let mut id = String::new();
    while low < high {
        let middle = low + (high - low) / 2;
        id.clear();
        column.ord_to_str(middle, &mut id)?;
        if id.as_str() <= after {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
