//! Parts of a score, and the best possible score of a request.
//!
//! A BM25 score is a sum over words. The share of a word is at most IDF × (k₁ + 1) for any Thing, so the sum of these
//! maxima is the best possible score of a request's words. The frequencies are those used for scoring, except that a
//! word found only in hidden Things counts as unknown: otherwise scores would reveal hidden Things.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tantivy::{DocAddress, Score, Searcher, Term};

use super::{
    Explanation, MeaningScore, TitleScore, WordScore, collect,
    hidden::Hidden,
    query::{Compiled, Part},
    rank::{Ranked, TITLE_SCORE},
    suggest,
};

/// k₁ + 1 of tantivy's BM25: the weight of a word with infinite frequency.
const SATURATION: Score = 2.2;

/// Returns the number of Things that contain a term, or 0 if none of them is visible.
pub(super) fn frequency(searcher: &Searcher, hidden: &Hidden, term: &Term) -> tantivy::Result<u64> {
    let (mut frequency, mut is_visible) = (0, false);
    for segment in searcher.segment_readers() {
        let Some(info) = segment.inverted_index(term.field())?.get_term_info(term)? else { continue };
        frequency += u64::from(info.doc_freq);
        is_visible = is_visible || suggest::is_visible(segment, hidden, term.field(), term.serialized_value_bytes())?;
    }
    Ok(if is_visible { frequency } else { 0 })
}

/// Returns the best possible score for the words of a request.
pub(super) fn best_score(searcher: &Searcher, hidden: &Hidden, compiled: &Compiled) -> tantivy::Result<Score> {
    let documents: u64 = searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum();
    let best_of_term = |term: &Term| {
        let frequency = frequency(searcher, hidden, term)?.min(documents) as Score;
        let idf = (1.0 + (documents as Score - frequency + 0.5) / (frequency + 0.5)).ln();
        Ok(SATURATION * idf)
    };
    // Of the terms that a word stands for, such as those of a prefix, the best one counts.
    let sum_of = |parts: &[Part]| -> tantivy::Result<Score> {
        let mut by_word: HashMap<&str, Score> = HashMap::new();
        for part in parts {
            let best = part.best(best_of_term)?;
            let known = by_word.entry(part.word()).or_default();
            *known = known.max(best);
        }
        Ok(by_word.values().sum())
    };
    let musts = compiled.musts.iter().map(|parts| sum_of(parts)).sum::<tantivy::Result<Score>>()?;
    Ok(musts + sum_of(&compiled.any)?)
}

/// The parts of the scores of hits, in their order.
pub(super) fn explain(
    searcher: &Searcher,
    compiled: &Compiled,
    hits: &[Ranked],
    best: Score,
) -> tantivy::Result<Vec<Explanation>> {
    let addresses: BTreeSet<DocAddress> = hits.iter().map(|hit| hit.address).collect();
    let scored = |parts: &[Part]| -> tantivy::Result<Vec<HashMap<DocAddress, Score>>> {
        parts.iter().map(|part| collect::scores(searcher, part.to_query().as_ref(), &addresses)).collect()
    };
    let musts: Vec<&[Part]> = compiled.musts.iter().map(Vec::as_slice).collect();
    let musts = musts.into_iter().map(|parts| Ok((parts, scored(parts)?))).collect::<tantivy::Result<Vec<_>>>()?;
    let any = scored(&compiled.any)?;
    let of_hit = |hit: &Ranked| {
        let mut words = Words::default();
        // By meaning alone, words don't count.
        if hit.bm25 > 0.0 {
            words.add_any(compiled, &any, hit.address);
            for (part, scores) in musts.iter().flat_map(|(parts, scores)| parts.iter().zip(scores)) {
                words.add(part, scores.get(&hit.address).copied().unwrap_or_default());
            }
        }
        let meaning = hit.cosine.map(|cosine| {
            let boost = hit.meaning_boost;
            MeaningScore { cosine, boost, score: boost * cosine.max(0.0), words_share: hit.words_share }
        });
        let share = hit.title;
        let title = TitleScore { share, boost: TITLE_SCORE, score: TITLE_SCORE * share * share };
        Explanation { words: words.sorted(), meaning, title: (share > 0.0).then_some(title), best }
    };
    Ok(hits.iter().map(of_hit).collect())
}

/// The weights and scores of words.
#[derive(Default)]
struct Words<'a>(BTreeMap<&'a str, (Score, Score)>);

impl<'a> Words<'a> {
    fn add(&mut self, part: &'a Part, score: Score) {
        if score > 0.0 {
            let (boost, sum) = self.0.entry(part.word()).or_default();
            *boost = boost.max(part.boost());
            *sum += score;
        }
    }

    /// Adds those of which any may be there. Of a request of several sentences, half of the score is that of the best
    /// sentence.
    fn add_any(&mut self, compiled: &'a Compiled, scores: &[HashMap<DocAddress, Score>], address: DocAddress) {
        let parts = &compiled.any;
        let score = |at: usize| scores.get(at).and_then(|of_part| of_part.get(&address)).copied().unwrap_or_default();
        let ends = compiled.sentences.iter().skip(1).copied().chain([parts.len()]);
        let sentences = compiled.sentences.iter().zip(ends).map(|(&start, end)| distinct(parts, start, end));
        let sentences: Vec<Vec<usize>> = sentences.filter(|sentence| !sentence.is_empty()).collect();
        let weight = if sentences.len() < 2 { 1.0 } else { 0.5 };
        let mut add = |at: usize| {
            if let Some(part) = parts.get(at) {
                self.add(part, weight * score(at));
            }
        };
        distinct(parts, 0, parts.len()).into_iter().for_each(&mut add);
        if sentences.len() >= 2 {
            let sum = |sentence: &&Vec<usize>| sentence.iter().map(|&at| score(at)).sum::<Score>();
            let best = sentences.iter().max_by(|one, other| sum(one).total_cmp(&sum(other)));
            best.into_iter().flatten().for_each(|&at| add(at));
        }
    }

    fn sorted(self) -> Vec<WordScore> {
        let word = |(word, (boost, score)): (&str, (Score, Score))| WordScore { word: word.to_owned(), boost, score };
        let mut words: Vec<WordScore> = self.0.into_iter().map(word).collect();
        words.sort_by(|one, other| other.score.total_cmp(&one.score));
        words
    }
}

/// Returns the indexes of distinct parts in a range. Among parts for the same word, the one with the largest weight
/// counts.
fn distinct(parts: &[Part], start: usize, end: usize) -> Vec<usize> {
    let mut distinct: Vec<usize> = Vec::new();
    for at in start..end {
        let Some(part) = parts.get(at) else { continue };
        let same = distinct.iter_mut().find(|known| parts.get(**known).is_some_and(|known| known.is_same_word(part)));
        match same {
            Some(known) if parts.get(*known).is_some_and(|known| known.boost() < part.boost()) => *known = at,
            Some(_) => {}
            None => distinct.push(at),
        }
    }
    distinct
}
