//! Counts the values of a field over all matches.
//!
//! The columns that are counted are cached in memory in a plain form: for each document of a segment, the
//! numbers of its values.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tantivy::{Searcher, SegmentReader, columnar::StrColumn, index::SegmentId};

use super::{FacetCount, FacetField, documents::Documents};

/// The most values that are counted out of one field.
const MOST_VALUES: usize = 100;
/// The most bytes of columns that are cached.
const MOST_BYTES: usize = 96 * 1024 * 1024;
/// Columns with more different values are cached without their texts.
const MOST_TEXTS: usize = 4096;

/// The columns of segments that were counted.
#[derive(Default)]
pub(super) struct Columns(Mutex<Cached>);

#[derive(Default)]
struct Cached {
    columns: HashMap<(SegmentId, FacetField), Arc<Column>>,
    bytes: usize,
}

impl Columns {
    fn get(&self, segment: &SegmentReader, field: FacetField) -> tantivy::Result<Option<Arc<Column>>> {
        let key = (segment.segment_id(), field);
        if let Some(column) = self.0.lock().unwrap_or_else(PoisonError::into_inner).columns.get(&key) {
            return Ok(Some(column.clone()));
        }
        let Some(column) = segment.fast_fields().str(field.column())? else { return Ok(None) };
        let column = Arc::new(Column::read(column, segment.max_doc())?);
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.bytes += column.bytes();
        if cached.bytes > MOST_BYTES {
            // Columns of merged segments go with it; those in use come again.
            cached.columns.clear();
            cached.bytes = column.bytes();
        }
        cached.columns.insert(key, column.clone());
        Ok(Some(column))
    }
}

/// The values of a field in a segment.
struct Column {
    column: StrColumn,
    /// By document, where its values end in `numbers`; they begin where those of the document before end.
    ends: Vec<u32>,
    numbers: Vec<u32>,
    /// The texts of the values by number, where they aren't too many.
    texts: Option<Vec<Box<str>>>,
}

impl Column {
    fn read(column: StrColumn, max_doc: u32) -> tantivy::Result<Column> {
        let mut ends = Vec::with_capacity(max_doc as usize);
        let mut numbers = Vec::with_capacity(max_doc as usize);
        for doc in 0..max_doc {
            numbers.extend(column.term_ords(doc).map(|ord| ord as u32));
            ends.push(numbers.len() as u32);
        }
        let mut texts = None;
        if column.num_terms() <= MOST_TEXTS {
            let ords: Vec<u64> = (0..column.num_terms() as u64).collect();
            let mut read: Vec<Box<str>> = Vec::with_capacity(ords.len());
            column
                .dictionary()
                .sorted_ords_to_term_cb(&ords, |value| read.push(String::from_utf8_lossy(value).into()))?;
            texts = Some(read);
        }
        Ok(Column { column, ends, numbers, texts })
    }

    fn bytes(&self) -> usize {
        let texts = self.texts.iter().flatten().map(|text| text.len() + size_of::<Box<str>>());
        (self.ends.len() + self.numbers.len()) * size_of::<u32>() + texts.sum::<usize>()
    }

    fn values(&self, doc: u32) -> &[u32] {
        let doc = doc as usize;
        let start = doc.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |&end| end as usize);
        let end = self.ends.get(doc).map_or(start, |&end| end as usize);
        self.numbers.get(start..end).unwrap_or_default()
    }

    /// Adds the counts over these documents to the totals.
    fn count(&self, documents: &Documents, totals: &mut HashMap<String, u64>) -> tantivy::Result<()> {
        let mut counts: Vec<u32> = vec![0; self.column.num_terms()];
        documents.for_each(|doc| {
            for &number in self.values(doc) {
                if let Some(count) = counts.get_mut(number as usize) {
                    *count += 1;
                }
            }
        });
        let mut add = |value: &str, count: u32| match totals.get_mut(value) {
            Some(total) => *total += u64::from(count),
            None => {
                totals.insert(value.to_owned(), u64::from(count));
            }
        };
        if let Some(texts) = &self.texts {
            texts.iter().zip(counts).filter(|&(_, count)| count > 0).for_each(|(text, count)| add(text, count));
            return Ok(());
        }
        let (ords, counts): (Vec<u64>, Vec<u32>) = (0..).zip(counts).filter(|&(_, count)| count > 0).unzip();
        let mut counts = counts.into_iter();
        self.column.dictionary().sorted_ords_to_term_cb(&ords, |value| {
            add(&String::from_utf8_lossy(value), counts.next().unwrap_or_default());
        })?;
        Ok(())
    }
}

/// The most frequent values of a field, equally frequent ones in alphabetical order. `documents` are the
/// matches, segment by segment.
pub(super) fn count(
    searcher: &Searcher,
    columns: &Columns,
    documents: &[Documents],
    field: FacetField,
) -> tantivy::Result<Vec<FacetCount>> {
    let mut totals = HashMap::new();
    for (segment, documents) in searcher.segment_readers().iter().zip(documents) {
        if let Some(column) = columns.get(segment, field)? {
            column.count(documents, &mut totals)?;
        }
    }
    Ok(most_frequent(totals))
}

fn most_frequent(totals: HashMap<String, u64>) -> Vec<FacetCount> {
    let mut counts: Vec<FacetCount> = totals.into_iter().map(|(value, count)| FacetCount { value, count }).collect();
    let order = |a: &FacetCount, b: &FacetCount| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value));
    if counts.len() > MOST_VALUES {
        counts.select_nth_unstable_by(MOST_VALUES, order);
        counts.truncate(MOST_VALUES);
    }
    counts.sort_unstable_by(order);
    counts
}
