//! Orders of hits other than relevance: by id, title, or moment, over everything that matches.
//!
//! A page is found in two steps, so that no list grows with the registry: of each segment the first documents up to the
//! end of the page, by the numbers of a column; then these are merged. Texts are read only for as many documents as the
//! page is deep. Equal keys are in ascending order of id, whatever the direction, so that pages never overlap.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BinaryHeap},
};

use tantivy::{
    DocAddress, DocId, Searcher, SegmentReader,
    columnar::{Column, StrColumn},
};

use super::{
    SortBy, SortOrder,
    cached::Cached,
    documents::Documents,
    schema::{CREATED, MODIFIED, TITLE_KEY},
};

/// An order that isn't that of relevance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sorting {
    pub key: Key,
    pub descending: bool,
}

/// The key of an order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Id,
    Title,
    Created,
    Modified,
}

impl Sorting {
    /// Returns the requested order, or `None` for relevance.
    pub fn of(sort_by: SortBy, sort_order: SortOrder) -> Option<Sorting> {
        let key = match sort_by {
            SortBy::Relevance => return None,
            SortBy::Id => Key::Id,
            SortBy::Title => Key::Title,
            SortBy::Created => Key::Created,
            SortBy::Modified => Key::Modified,
        };
        Some(Sorting { key, descending: sort_order == SortOrder::Desc })
    }

    /// Returns a page of these documents, which are listed segment by segment.
    pub fn page(
        self,
        searcher: &Searcher,
        cached: &Cached,
        documents: &[Documents],
        offset: usize,
        limit: usize,
    ) -> tantivy::Result<Vec<DocAddress>> {
        let depth = if limit == 0 { 0 } else { offset.saturating_add(limit) };
        let mut heads = BTreeMap::new();
        for ((ord, segment), documents) in (0..).zip(searcher.segment_readers()).zip(documents) {
            let column = SortColumn::open(self.key, segment, cached)?;
            let mut rest = self.first(&column, documents, depth);
            // The first is at the end, where it is taken from.
            rest.reverse();
            let of_segment = OfSegment { ord, column, ids: cached.ids(segment)?, rest };
            of_segment.queue(self, &mut heads)?;
        }
        let mut page = Vec::with_capacity(limit.min(depth));
        let mut passed = 0;
        while let Some((_, mut of_segment)) = heads.pop_first() {
            // The documents of the last segment follow each other, so that no texts are compared.
            let run = if heads.is_empty() { usize::MAX } else { 1 };
            for _ in 0..run.min(depth - passed) {
                let Some(Ranked { doc, .. }) = of_segment.rest.pop() else { break };
                if passed >= offset {
                    page.push(DocAddress::new(of_segment.ord, doc));
                }
                passed += 1;
            }
            if passed == depth {
                break;
            }
            of_segment.queue(self, &mut heads)?;
        }
        Ok(page)
    }

    /// The first documents of a segment, in order.
    fn first(self, column: &SortColumn, documents: &Documents, depth: usize) -> Vec<Ranked> {
        let mut first = BinaryHeap::new();
        documents.for_each(|doc| {
            let ranked = Ranked { number: self.directed(column.number(doc)), doc };
            if first.len() < depth {
                first.push(ranked);
            } else if first.peek().is_some_and(|last| ranked < *last) {
                first.pop();
                first.push(ranked);
            }
        });
        first.into_sorted_vec()
    }

    fn directed<T: Ord>(self, value: T) -> Directed<T> {
        if self.descending { Directed::Descending(Reverse(value)) } else { Directed::Ascending(value) }
    }
}

/// A value in the direction of the order; all that are compared have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Directed<T> {
    Ascending(T),
    Descending(Reverse<T>),
}

/// A document and the number that its segment is sorted by. Documents are in the order of their ids, which decides
/// between equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ranked {
    number: Directed<Option<i64>>,
    doc: DocId,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        self.number.cmp(&other.number).then(self.doc.cmp(&other.doc))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The key of a document, as it is compared between segments.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Compared {
    Text(String),
    Moment(Option<i64>),
}

/// The column of a segment that documents are sorted by.
enum SortColumn {
    Texts(Option<StrColumn>),
    Moments(Option<Column<i64>>),
}

impl SortColumn {
    fn open(key: Key, segment: &SegmentReader, cached: &Cached) -> tantivy::Result<SortColumn> {
        let columns = segment.fast_fields();
        Ok(match key {
            Key::Id => SortColumn::Texts(cached.ids(segment)?),
            Key::Title => SortColumn::Texts(columns.str(TITLE_KEY)?),
            Key::Created => SortColumn::Moments(columns.column_opt(CREATED)?),
            Key::Modified => SortColumn::Moments(columns.column_opt(MODIFIED)?),
        })
    }

    /// A number by which documents of the segment are in the order of their keys.
    fn number(&self, doc: DocId) -> Option<i64> {
        match self {
            SortColumn::Texts(column) => column.as_ref()?.term_ords(doc).next().map(|ord| ord as i64),
            SortColumn::Moments(column) => column.as_ref()?.first(doc),
        }
    }

    fn compared(&self, doc: DocId) -> tantivy::Result<Compared> {
        Ok(match self {
            SortColumn::Texts(column) => Compared::Text(text(column.as_ref(), doc)?),
            SortColumn::Moments(_) => Compared::Moment(self.number(doc)),
        })
    }
}

fn text(column: Option<&StrColumn>, doc: DocId) -> tantivy::Result<String> {
    let mut text = String::new();
    if let Some(column) = column
        && let Some(ord) = column.term_ords(doc).next()
    {
        column.ord_to_str(ord, &mut text)?;
    }
    Ok(text)
}

/// The first documents of a segment that aren't merged yet.
struct OfSegment {
    ord: u32,
    column: SortColumn,
    ids: Option<StrColumn>,
    rest: Vec<Ranked>,
}

impl OfSegment {
    /// Queues the segment by its first document, unless it has none left.
    fn queue(
        self,
        sorting: Sorting,
        heads: &mut BTreeMap<(Directed<Compared>, String, u32), OfSegment>,
    ) -> tantivy::Result<()> {
        if let Some(Ranked { doc, .. }) = self.rest.last() {
            let id = text(self.ids.as_ref(), *doc)?;
            heads.insert((sorting.directed(self.column.compared(*doc)?), id, self.ord), self);
        }
        Ok(())
    }
}
