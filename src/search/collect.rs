//! Collects the best documents of a query: by score, then by id.
//!
//! Segments are sorted by id, so that within one the order of documents is the order of ids and a
//! later document with the score of the worst kept one never counts: block-max pruning stays exact.
//! Across segments ids are compared, but only where scores are equal.

use std::{cmp::Ordering, collections::BinaryHeap};

use tantivy::{
    DocAddress, DocId, DocSet, Score, Searcher, SegmentReader, TERMINATED,
    columnar::StrColumn,
    query::{EnableScoring, Query, Weight},
};

use super::schema;

/// The best documents, and how many match.
pub(super) struct Matches {
    pub total: u64,
    pub top: Vec<(Score, DocAddress)>,
}

/// The `limit` best documents after the first `offset`, and the exact number of all.
pub(super) fn collect(
    searcher: &Searcher,
    query: &dyn Query,
    is_scored: bool,
    offset: usize,
    limit: usize,
) -> tantivy::Result<Matches> {
    if !is_scored {
        return collect_unscored(searcher, query, offset, limit);
    }
    let top = if limit == 0 {
        Vec::new()
    } else {
        let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
        let mut lists = Vec::with_capacity(searcher.segment_readers().len());
        for segment in searcher.segment_readers() {
            lists.push(best_of_segment(weight.as_ref(), segment, offset + limit)?);
        }
        merge(searcher, lists, offset, limit)?
    };
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut total = 0;
    for segment in searcher.segment_readers() {
        total += u64::from(weight.count(segment)?);
    }
    Ok(Matches { total, top })
}

/// Without scores the first documents are the best, and the rest is only counted.
fn collect_unscored(searcher: &Searcher, query: &dyn Query, offset: usize, limit: usize) -> tantivy::Result<Matches> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let wanted = if limit == 0 { 0 } else { offset + limit };
    let mut total = 0;
    let mut lists = Vec::with_capacity(searcher.segment_readers().len());
    for segment in searcher.segment_readers() {
        let mut list = Vec::new();
        let mut scorer = weight.scorer(segment, 1.0)?;
        while list.len() < wanted && scorer.doc() != TERMINATED {
            if !segment.is_deleted(scorer.doc()) {
                list.push((0.0, scorer.doc()));
            }
            scorer.advance();
        }
        let rest = match segment.alive_bitset() {
            _ if scorer.doc() == TERMINATED => 0,
            Some(alive) => scorer.count(alive),
            None => scorer.count_including_deleted(),
        };
        total += list.len() as u64 + u64::from(rest);
        lists.push(list);
    }
    Ok(Matches { total, top: merge(searcher, lists, offset, limit)? })
}

/// A kept document; the greatest is the worst.
#[derive(PartialEq)]
struct Kept {
    score: Score,
    doc: DocId,
}

impl Eq for Kept {}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.doc.cmp(&other.doc))
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best documents of a segment, the best first.
fn best_of_segment(
    weight: &dyn Weight,
    segment: &SegmentReader,
    wanted: usize,
) -> tantivy::Result<Vec<(Score, DocId)>> {
    let mut heap: BinaryHeap<Kept> = BinaryHeap::with_capacity(wanted.min(segment.max_doc() as usize) + 1);
    let mut threshold = Score::MIN;
    weight.for_each_pruning(Score::MIN, segment, &mut |doc, score| {
        if !segment.is_deleted(doc) {
            heap.push(Kept { score, doc });
            if heap.len() > wanted {
                heap.pop();
            }
            if heap.len() == wanted {
                threshold = heap.peek().map_or(Score::MIN, |worst| worst.score);
            }
        }
        threshold
    })?;
    Ok(heap.into_sorted_vec().into_iter().map(|kept| (kept.score, kept.doc)).collect())
}

/// Merges the sorted lists of the segments.
fn merge(
    searcher: &Searcher,
    lists: Vec<Vec<(Score, DocId)>>,
    offset: usize,
    limit: usize,
) -> tantivy::Result<Vec<(Score, DocAddress)>> {
    let mut heads: Vec<Head> = Vec::new();
    for (ord, list) in lists.into_iter().enumerate() {
        if !list.is_empty() {
            heads.push(Head { ord: ord as u32, list, next: 0, column: None, id: None });
        }
    }
    let mut merged = Vec::with_capacity(limit.min(heads.iter().map(|head| head.list.len()).sum()));
    let mut passed = 0;
    while merged.len() < limit && !heads.is_empty() {
        let best = best_head(searcher, &mut heads)?;
        let Some(head) = heads.get_mut(best) else { break };
        let Some((score, doc)) = head.take() else { break };
        if passed < offset {
            passed += 1;
        } else {
            merged.push((score, DocAddress::new(head.ord, doc)));
        }
        if head.next == head.list.len() {
            heads.swap_remove(best);
        }
    }
    Ok(merged)
}

/// A list during a merge, with the id of its first remaining document once it was asked for.
struct Head {
    ord: u32,
    list: Vec<(Score, DocId)>,
    next: usize,
    column: Option<StrColumn>,
    id: Option<String>,
}

impl Head {
    fn score(&self) -> Score {
        self.list.get(self.next).map_or(Score::MIN, |&(score, _)| score)
    }

    fn take(&mut self) -> Option<(Score, DocId)> {
        let taken = self.list.get(self.next).copied();
        self.next += 1;
        self.id = None;
        taken
    }

    fn load_id(&mut self, searcher: &Searcher) -> tantivy::Result<()> {
        if self.id.is_some() {
            return Ok(());
        }
        if self.column.is_none() {
            self.column = searcher.segment_reader(self.ord).fast_fields().str(schema::ID)?;
        }
        let mut id = String::new();
        if let (Some(column), Some(&(_, doc))) = (&self.column, self.list.get(self.next))
            && let Some(ord) = column.term_ords(doc).next()
        {
            column.ord_to_str(ord, &mut id)?;
        }
        self.id = Some(id);
        Ok(())
    }
}

fn best_head(searcher: &Searcher, heads: &mut [Head]) -> tantivy::Result<usize> {
    let best_score = heads.iter().map(Head::score).fold(Score::MIN, Score::max);
    let tied = heads.iter().filter(|head| head.score() == best_score).count();
    let mut best: Option<usize> = None;
    for at in 0..heads.len() {
        let (before, rest) = heads.split_at_mut(at);
        let Some(head) = rest.first_mut().filter(|head| head.score() == best_score) else { continue };
        if tied > 1 {
            head.load_id(searcher)?;
        }
        if best.and_then(|best| before.get(best)).is_none_or(|best| head.id < best.id) {
            best = Some(at);
        }
    }
    Ok(best.unwrap_or_default())
}

/// The ids of all matching documents, ascending.
pub(super) fn ids(searcher: &Searcher, query: &dyn Query) -> tantivy::Result<Vec<String>> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut ids = Vec::new();
    for segment in searcher.segment_readers() {
        let Some(column) = segment.fast_fields().str(schema::ID)? else { continue };
        let mut ords = Vec::new();
        weight.for_each_no_score(segment, &mut |docs| {
            ords.extend(
                docs.iter().filter(|&&doc| !segment.is_deleted(doc)).filter_map(|&doc| column.term_ords(doc).next()),
            );
        })?;
        ids.reserve(ords.len());
        column.dictionary().sorted_ords_to_term_cb(&ords, |id| {
            ids.push(String::from_utf8_lossy(id).into_owned());
        })?;
    }
    if searcher.segment_readers().len() > 1 {
        ids.sort_unstable();
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_kept_is_the_worst() {
        let mut kept = [Kept { score: 1.0, doc: 1 }, Kept { score: 2.0, doc: 7 }, Kept { score: 2.0, doc: 3 }];
        kept.sort();
        assert_eq!(kept.map(|kept| kept.doc), [3, 7, 1]);
    }
}
