//! Ranking by words and meaning combined.
//!
//! - The best [`WINDOW`] matches by words and the nearest matches by meaning are ranked by w × BM25 + 40 × k² ×
//!   cosine + 10 × t² (60 × with an encoder, or another configured factor). All other matches by words follow, ranked
//!   by BM25. Thus all pages of a request use the same order.
//! - w is 1 − k² × (0.5 − cosine) if the cosine is below 0.5, otherwise 1 (always 1 with an encoder): words in a
//!   Thing about another topic matched by chance. If a configured factor lowers the weight of meaning, less is
//!   subtracted from the words.
//! - k is the share of the request known to the model: the IDF of known words relative to the IDF of all telling
//!   words. A name unknown to the table is found by its letters, not by the surrounding words.
//! - t is the requested share of a title.
//! - Matches by meaning alone must satisfy all restrictions: filters, fields with exact values, `+must`, and `-not`.
//!   Quoted words and words in a field (`title:`) must match literally; meaning is then only used for the other
//!   words, except for a quoted request without any match.
//! - A Thing much less similar than the nearest Thing is not a match: see [`NEAR`].
//! - For a request with several sentences, the best hit is followed by the best hits of each sentence as if it were
//!   searched separately. They are ordered by their share of the sentence's best score.
//! - Totals and facets include matches by meaning alone.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use tantivy::{
    DocAddress, DocId, DocSet, Score, Searcher, SegmentReader, Term, postings::Postings, query::EnableScoring,
    schema::IndexRecordOption,
};

use super::{
    cached::Cached,
    collect::{self, Matches, Page},
    documents::Documents,
    explanation,
    hidden::Hidden,
    query::{Compiled, Telling},
    rank::{Candidate, Ranked, TITLE_SCORE, quantized},
    schema::Fields,
    semantic::{Likeness, MOST_NEAREST, Meaning, Question, Segment},
    sorting::Sorting,
};

/// Number of the best hits by words that are ranked by meaning as well.
const WINDOW: usize = 200;
/// Maximum number of matches if only meaning counts.
const MOST_BY_MEANING: usize = 1000;
/// Minimum cosine of a candidate, relative to the best cosine.
const NEAR: f32 = 0.5;

/// Search by words and meaning in a state of an index.
pub(super) struct Hybrid<'a> {
    pub searcher: &'a Searcher,
    pub fields: &'a Fields,
    pub cached: &'a Cached,
    pub hidden: &'a Hidden,
    pub meaning: &'a Meaning,
    pub cosines: &'a Cosines,
    /// Index of the sentence to search for, or `None` for the whole request.
    pub sentence: Option<usize>,
    /// Minimum cosine, if requested.
    pub threshold: Option<f32>,
    pub page: Page,
}

/// The cosines of all Things with a request, which all searches for it and its sentences read.
pub(super) struct Cosines {
    likeness: Likeness,
    /// Segment by segment, the slots of documents.
    places: Vec<Arc<Segment>>,
    /// Documents that may match by meaning alone, by segment; `None` allows all documents.
    allowed: Option<Vec<Documents>>,
}

impl Cosines {
    /// Compares vectors with a request. Matches by meaning alone must satisfy the restriction, if there is one.
    pub fn of(
        searcher: &Searcher,
        cached: &Cached,
        meaning: &Meaning,
        question: &Question,
        restriction: Option<&Compiled>,
    ) -> tantivy::Result<Cosines> {
        let (likeness, places) = {
            let vectors = meaning.read();
            let ids = |segment: &SegmentReader| cached.ids(segment);
            let places = searcher.segment_readers().iter().map(|segment| cached.places.of(segment, ids, &vectors));
            (question.likeness(&vectors), places.collect::<tantivy::Result<Vec<_>>>()?)
        };
        let allowed = restriction.map(|restriction| documents(searcher, restriction)).transpose()?;
        Ok(Cosines { likeness, places, allowed })
    }
}

/// A page of hits.
pub(super) struct Fused {
    pub matches: Matches,
    /// The best hit of all pages.
    pub best: Option<DocAddress>,
    /// Cosine of the nearest Thing, scaled by the known share of the request.
    pub best_cosine: f32,
    /// Best possible score of the request.
    pub best_score: Score,
}

/// Documents by how alike they are to the request.
struct Near {
    /// By segment and document, those near enough; the nearest first.
    nearest: Vec<(f32, DocAddress)>,
    /// Of the documents asked for.
    known: HashMap<DocAddress, f32>,
    best: f32,
}

impl Hybrid<'_> {
    /// Returns the required range of matches by words.
    pub fn page_of_words(&self) -> Page {
        Page { offset: 0, limit: self.page.depth().max(WINDOW), wants_all: self.page.wants_all, sorting: None }
    }

    /// Returns a page of the matches by words in `matches`, combined with matches by meaning. If `adds` is false,
    /// matches by meaning alone are left out. With several `tasks`, the best hits of each task follow the best hit.
    pub fn fuse(
        &self,
        compiled: &Compiled,
        matches: Matches,
        adds: bool,
        tasks: &[Vec<Ranked>],
    ) -> tantivy::Result<Fused> {
        let known = self.known_share(&compiled.telling)?;
        let adds = adds && (known > 0.0 || self.threshold.is_some());
        let window = matches.top.len().min(WINDOW);
        let (window, rest) = matches.top.split_at_checked(window).unwrap_or_default();
        let of_tasks = tasks.iter().flatten().map(|ranked| ranked.address);
        let asked = window.iter().map(|ranked| ranked.address).chain(of_tasks.clone());
        let most = if self.threshold.is_some() { MOST_BY_MEANING } else { MOST_NEAREST };
        let near = self.near(asked, if adds { most } else { 0 });
        let mut found: HashMap<DocAddress, Ranked> = HashMap::new();
        let mut total = matches.total;
        let mut documents = matches.documents;
        for ranked in window {
            found.insert(ranked.address, *ranked);
        }
        let new = near.nearest.iter().map(|(_, address)| *address).chain(of_tasks.clone());
        let new: BTreeSet<DocAddress> = new.filter(|address| !found.contains_key(address)).collect();
        let scores = match matches.total > 0 && compiled.is_scored {
            true => collect::scores(self.searcher, compiled.query.as_ref(), &new)?,
            false => HashMap::new(),
        };
        for address in new {
            let score = scores.get(&address).copied();
            if score.is_none() {
                total += 1;
                if let Some(all) = documents.as_mut().and_then(|all| all.get_mut(address.segment_ord as usize)) {
                    all.add(address.doc_id);
                }
            }
            found.insert(address, Ranked::by_words(score.unwrap_or_default(), address));
        }
        let titles = self.title_shares(&compiled.telling, &found)?;
        for (address, ranked) in &mut found {
            let title = titles.get(address).copied().unwrap_or_default();
            self.add_score(ranked, near.known.get(address).copied(), known, title);
        }
        let mut ordered = self.order(compiled, &found)?;
        ordered.extend(rest.iter().filter(|ranked| !found.contains_key(&ranked.address)));
        if compiled.versions.is_none() {
            ordered = with_best_of(tasks, ordered);
        }
        let best = ordered.first().map(|ranked| ranked.address);
        let top = match (self.page.sorting, &documents) {
            (Some(sorting), Some(documents)) => self.sorted(sorting, compiled, documents, &found)?,
            _ => ordered.into_iter().skip(self.page.offset).take(self.page.limit).collect(),
        };
        let best_score = match self.page.limit {
            0 => 0.0,
            _ => {
                explanation::best_score(self.searcher, self.hidden, compiled)? + self.meaning_boost(known) + TITLE_SCORE
            }
        };
        Ok(Fused { matches: Matches { total, top, documents }, best, best_cosine: near.best * known, best_score })
    }

    /// The page in another order than that of relevance. What is neither among the best by words nor near by meaning has the
    /// score of its words.
    fn sorted(
        &self,
        sorting: Sorting,
        compiled: &Compiled,
        documents: &[Documents],
        found: &HashMap<DocAddress, Ranked>,
    ) -> tantivy::Result<Vec<Ranked>> {
        let addresses = sorting.page(self.searcher, self.cached, documents, self.page.offset, self.page.limit)?;
        let others = addresses.iter().copied().filter(|address| !found.contains_key(address)).collect();
        let scores = match compiled.is_scored {
            true => collect::scores(self.searcher, compiled.query.as_ref(), &others)?,
            false => HashMap::new(),
        };
        let by_words = |address| Ranked::by_words(scores.get(&address).copied().unwrap_or_default(), address);
        Ok(addresses
            .into_iter()
            .map(|address| found.get(&address).copied().unwrap_or_else(|| by_words(address)))
            .collect())
    }

    /// Returns a page of matches by meaning alone.
    pub fn by_meaning(&self, compiled: &Compiled) -> tantivy::Result<Fused> {
        let near = self.near(std::iter::empty(), MOST_BY_MEANING);
        let mut found = HashMap::new();
        let none = self.searcher.segment_readers().iter().map(|segment| Documents::none_of(segment.max_doc()));
        let mut documents: Vec<Documents> = none.collect();
        for (cosine, address) in &near.nearest {
            let mut ranked = Ranked::by_words(0.0, *address);
            self.add_score(&mut ranked, Some(*cosine), 1.0, 0.0);
            found.insert(*address, ranked);
            if let Some(all) = documents.get_mut(address.segment_ord as usize) {
                all.add(address.doc_id);
            }
        }
        let ordered = self.order(compiled, &found)?;
        let best = ordered.first().map(|ranked| ranked.address);
        let top = match self.page.sorting {
            Some(sorting) => self.sorted(sorting, compiled, &documents, &found)?,
            None => ordered.into_iter().skip(self.page.offset).take(self.page.limit).collect(),
        };
        let known = self.known_share(&compiled.telling)?;
        let matches = Matches { total: found.len() as u64, top, documents: Some(documents) };
        Ok(Fused { matches, best, best_cosine: near.best * known, best_score: self.meaning_boost(1.0) })
    }

    /// Returns the cosines of the documents in `asked`, and the nearest `most` of all that may be found.
    fn near(&self, asked: impl Iterator<Item = DocAddress>, most: usize) -> Near {
        let Cosines { likeness, places, allowed } = self.cosines;
        let by_slot = match self.sentence {
            Some(sentence) => likeness.sentences.get(sentence).map(Vec::as_slice).unwrap_or_default(),
            None => &likeness.whole,
        };
        let of_slot = |slot: u32| by_slot.get(slot as usize).copied();
        let known = asked.filter_map(|address| {
            let slot = places.get(address.segment_ord as usize)?.slot(address.doc_id)?;
            Some((address, of_slot(slot)?))
        });
        let mut known: HashMap<DocAddress, f32> = known.collect();
        let mut best = known.values().copied().fold(0.0, f32::max);
        let mut nearest = Vec::new();
        for (ord, (segment, places)) in (0..).zip(self.searcher.segment_readers().iter().zip(places)) {
            let visible = self.hidden.visible(segment);
            let allowed = allowed.as_ref().and_then(|all| all.get(ord as usize));
            let threshold = self.threshold.unwrap_or(self.meaning.model().threshold());
            for (doc, slot) in places.documents() {
                let Some(cosine) = of_slot(slot).filter(|cosine| *cosine >= threshold) else { continue };
                if visible.has(doc) && allowed.is_none_or(|allowed| allowed.contains(doc)) {
                    best = best.max(cosine);
                    nearest.push((cosine, DocAddress::new(ord, doc)));
                }
            }
        }
        if self.threshold.is_none() {
            nearest.retain(|(cosine, _)| *cosine >= NEAR * best);
        }
        let order =
            |one: &(f32, DocAddress), other: &(f32, DocAddress)| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1));
        if nearest.len() > most {
            if most > 0 {
                nearest.select_nth_unstable_by(most - 1, order);
            }
            nearest.truncate(most);
        }
        nearest.sort_unstable_by(order);
        known.extend(nearest.iter().map(|(cosine, address)| (*address, *cosine)));
        Near { nearest, known, best }
    }

    /// Adds the scores of meaning and title. A document less similar than an unrelated one is not penalized.
    fn add_score(&self, ranked: &mut Ranked, cosine: Option<f32>, known: f32, title: f32) {
        ranked.cosine = cosine;
        ranked.meaning_boost = self.meaning_boost(known);
        ranked.words_share = cosine.map_or(1.0, |cosine| self.words_share(cosine, known));
        ranked.title = title;
        let likeness = cosine.unwrap_or_default().max(0.0);
        ranked.score = ranked.words_share * ranked.bm25 + ranked.meaning_boost * likeness + TITLE_SCORE * title * title;
    }

    /// Returns the score that a cosine of 1 adds to a hit.
    fn meaning_boost(&self, known: f32) -> Score {
        self.meaning.scale() * known * known
    }

    /// Returns the share of a document's BM25 score that counts, depending on its similarity.
    fn words_share(&self, cosine: f32, known: f32) -> f32 {
        let model = self.meaning.model();
        let weight = (self.meaning.scale() / model.scale()).min(1.0) * known * known;
        1.0 - weight * (1.0 - (model.least_share_of_words() + cosine.max(0.0)).min(1.0))
    }

    /// Returns the minimum cosine of matches by meaning, or `None` if the search uses words only. While nothing
    /// matches by meaning, this is the cosine from which a search is confident.
    pub fn least_cosine(&self, compiled: &Compiled) -> tantivy::Result<Option<f32>> {
        if self.known_share(&compiled.telling)? == 0.0 {
            return Ok(None);
        }
        let model = self.meaning.model();
        let best = self.near(std::iter::empty(), 1).best;
        Ok(Some(if best < model.threshold() { model.low_confidence() } else { (NEAR * best).max(model.threshold()) }))
    }

    /// Returns the share of a request known to the model, by IDF. Returns 1 if no word of the request is telling.
    fn known_share(&self, telling: &[Telling]) -> tantivy::Result<f32> {
        let documents = self.searcher.num_docs();
        let (mut known, mut all) = (0.0, 0.0);
        let model = self.meaning.model();
        let knows = |word: &Telling| model.knows(&word.stem, &word.written, word.is_foreign);
        let is_finished = |word: &Telling| !word.is_begun || model.has_word(&word.stem, &word.written);
        // The parts of a name stand for it, and a word that is being typed isn't one yet.
        for word in telling.iter().filter(|word| !word.is_whole && is_finished(word)) {
            let mut frequency = 0;
            for term in word.terms(self.fields.text) {
                frequency = explanation::frequency(self.searcher, self.hidden, &term)?.max(frequency);
            }
            let frequency = frequency.min(documents) as f32;
            let idf = (1.0 + (documents as f32 - frequency + 0.5) / (frequency + 0.5)).ln();
            all += idf;
            if knows(word) {
                known += idf;
            }
        }
        Ok(if all > 0.0 { known / all } else { 1.0 })
    }

    /// Returns the share of each title's words that were requested, for documents with such words.
    fn title_shares(
        &self,
        telling: &[Telling],
        found: &HashMap<DocAddress, Ranked>,
    ) -> tantivy::Result<HashMap<DocAddress, f32>> {
        let mut by_segment: BTreeMap<u32, BTreeSet<DocId>> = BTreeMap::new();
        for address in found.keys() {
            by_segment.entry(address.segment_ord).or_default().insert(address.doc_id);
        }
        let terms: BTreeSet<Term> = telling.iter().flat_map(|word| word.terms(self.fields.title)).collect();
        let mut counts: HashMap<DocAddress, u32> = HashMap::new();
        let mut lengths = HashMap::new();
        for (ord, docs) in by_segment {
            let segment = self.searcher.segment_reader(ord);
            let index = segment.inverted_index(self.fields.title)?;
            let norms = segment.get_fieldnorms_reader(self.fields.title)?;
            for term in &terms {
                let Some(mut postings) = index.read_postings(term, IndexRecordOption::WithFreqs)? else { continue };
                for &doc in &docs {
                    let at = if postings.doc() < doc { postings.seek(doc) } else { postings.doc() };
                    if at == doc {
                        let address = DocAddress::new(ord, doc);
                        *counts.entry(address).or_default() += postings.term_freq();
                        lengths.insert(address, norms.fieldnorm(doc));
                    }
                }
            }
        }
        let share = |(address, count): (DocAddress, u32)| {
            let length = lengths.get(&address).copied().unwrap_or(1).max(1);
            (address, (count as f32 / length as f32).min(1.0))
        };
        Ok(counts.into_iter().map(share).collect())
    }

    /// Orders hits, best first. If versions of a capability are requested, higher versions precede.
    fn order(&self, compiled: &Compiled, found: &HashMap<DocAddress, Ranked>) -> tantivy::Result<Vec<Ranked>> {
        let candidates = found.values().map(|ranked| Candidate {
            score: quantized(ranked.score),
            segment: ranked.address.segment_ord,
            doc: ranked.address.doc_id,
        });
        let ordered = collect::order(self.searcher, self.cached, candidates.collect(), found.len())?;
        let ordered = ordered.into_iter().map(|candidate| DocAddress::new(candidate.segment, candidate.doc));
        let mut ordered: Vec<Ranked> = ordered.filter_map(|address| found.get(&address).copied()).collect();
        if let Some(versions) = &compiled.versions {
            let places = self.searcher.segment_readers().iter().map(|segment| versions.places(segment));
            let places = places.collect::<tantivy::Result<Vec<_>>>()?;
            let place = |address: DocAddress| places.get(address.segment_ord as usize)?.get(&address.doc_id).copied();
            ordered.sort_by_key(|ranked| std::cmp::Reverse(place(ranked.address)));
        }
        Ok(ordered)
    }
}

/// Returns the documents that match a query, by segment.
fn documents(searcher: &Searcher, compiled: &Compiled) -> tantivy::Result<Vec<Documents>> {
    let weight = compiled.query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let of_segment = |segment: &SegmentReader| {
        let mut documents = Documents::none_of(segment.max_doc());
        weight.for_each_no_score(segment, &mut |found| found.iter().for_each(|&doc| documents.add(doc)))?;
        Ok(documents)
    };
    searcher.segment_readers().iter().map(of_segment).collect()
}

/// Orders the hits of several tasks: the best hit, the best hit of each task, their other hits by their share of the
/// task's best score, and the rest. A task with a clear answer contributes few hits before the rest, a task without
/// one more.
fn with_best_of(tasks: &[Vec<Ranked>], ordered: Vec<Ranked>) -> Vec<Ranked> {
    let mut shares: HashMap<DocAddress, f32> = HashMap::new();
    for task in tasks {
        let best = task.first().map_or(0.0, |best| best.score).max(f32::MIN_POSITIVE);
        for (at, ranked) in task.iter().enumerate() {
            let share = shares.entry(ranked.address).or_default();
            *share = share.max(if at == 0 { f32::INFINITY } else { ranked.score / best });
        }
    }
    let mut ordered = ordered;
    let rest = ordered.get_mut(1..).unwrap_or_default();
    let share = |ranked: &Ranked| shares.get(&ranked.address).copied().unwrap_or(-1.0);
    rest.sort_by(|one, other| share(other).total_cmp(&share(one)));
    ordered
}

/// Counts the words of a document that match in any of their forms.
pub(super) fn words_of(
    searcher: &Searcher,
    fields: &Fields,
    words: &[Telling],
    address: DocAddress,
) -> tantivy::Result<usize> {
    let segment = searcher.segment_reader(address.segment_ord);
    let has = |term: &Term| {
        let postings = segment.inverted_index(term.field())?.read_postings(term, IndexRecordOption::Basic)?;
        let Some(mut postings) = postings else { return Ok(false) };
        let at = if postings.doc() < address.doc_id { postings.seek(address.doc_id) } else { postings.doc() };
        tantivy::Result::Ok(at == address.doc_id)
    };
    let mut found = 0;
    for word in words {
        // Titles have stop words as well.
        for term in word.terms(fields.text).chain(word.terms(fields.title)) {
            if has(&term)? {
                found += 1;
                break;
            }
        }
    }
    Ok(found)
}
