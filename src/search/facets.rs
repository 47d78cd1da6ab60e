//! Counts the values of a field over all matches.
//!
//! The columns that are counted are cached in memory in a plain form: for each document of a segment, the
//! numbers of its values.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tantivy::{Searcher, SegmentReader, columnar::StrColumn, index::SegmentId};

use super::{FacetCount, FacetField, documents::Documents, entry::counted_as};

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
        let column = Arc::new(Column::read(field, column, segment.max_doc())?);
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
    field: FacetField,
    /// By document, where its values end in `numbers`; they begin where those of the document before end.
    ends: Vec<u32>,
    numbers: Vec<u32>,
    /// The values by number, where they aren't too many.
    values: Option<Vec<FacetValue>>,
}

/// A value as it is written and as it is compared.
#[derive(Clone)]
struct FacetValue {
    written: Box<str>,
    /// None where it is the same.
    compared: Option<Box<str>>,
}

impl FacetValue {
    fn of(field: FacetField, bytes: &[u8]) -> FacetValue {
        let written: Box<str> = String::from_utf8_lossy(bytes).into();
        let compared = match counted_as(field, &written) {
            Cow::Borrowed(_) => None,
            Cow::Owned(compared) => Some(compared.into()),
        };
        FacetValue { written, compared }
    }

    fn compared(&self) -> &str {
        self.compared.as_deref().unwrap_or(&self.written)
    }
}

impl Column {
    fn read(field: FacetField, column: StrColumn, max_doc: u32) -> tantivy::Result<Column> {
        let mut ends = Vec::with_capacity(max_doc as usize);
        let mut numbers = Vec::with_capacity(max_doc as usize);
        for doc in 0..max_doc {
            numbers.extend(column.term_ords(doc).map(|ord| ord as u32));
            ends.push(numbers.len() as u32);
        }
        let mut values = None;
        if column.num_terms() <= MOST_TEXTS {
            let ords: Vec<u64> = (0..column.num_terms() as u64).collect();
            let mut read: Vec<FacetValue> = Vec::with_capacity(ords.len());
            column.dictionary().sorted_ords_to_term_cb(&ords, |value| read.push(FacetValue::of(field, value)))?;
            values = Some(read);
        }
        Ok(Column { column, field, ends, numbers, values })
    }

    fn bytes(&self) -> usize {
        let texts = self.values.iter().flatten().map(|value| 2 * value.written.len() + size_of::<FacetValue>());
        (self.ends.len() + self.numbers.len()) * size_of::<u32>() + texts.sum::<usize>()
    }

    fn values(&self, doc: u32) -> &[u32] {
        let doc = doc as usize;
        let start = doc.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |&end| end as usize);
        let end = self.ends.get(doc).map_or(start, |&end| end as usize);
        self.numbers.get(start..end).unwrap_or_default()
    }

    /// Adds the counts over these documents to the totals.
    fn count(&self, documents: &Documents, totals: &mut Totals) -> tantivy::Result<()> {
        let mut counts: Vec<u32> = vec![0; self.column.num_terms()];
        documents.for_each(|doc| {
            for &number in self.values(doc) {
                if let Some(count) = counts.get_mut(number as usize) {
                    *count += 1;
                }
            }
        });
        if let Some(values) = &self.values {
            values.iter().zip(counts).filter(|&(_, count)| count > 0).for_each(|(value, count)| {
                totals.add(value, count);
            });
            return Ok(());
        }
        let (ords, counts): (Vec<u64>, Vec<u32>) = (0..).zip(counts).filter(|&(_, count)| count > 0).unzip();
        let mut counts = counts.into_iter();
        self.column.dictionary().sorted_ords_to_term_cb(&ords, |value| {
            totals.add(&FacetValue::of(self.field, value), counts.next().unwrap_or_default());
        })?;
        Ok(())
    }
}

/// How often each value occurs, and how it is written most often.
#[derive(Default)]
struct Totals(HashMap<Box<str>, Total>);

#[derive(Default)]
struct Total {
    count: u64,
    /// How often it is written in each way; most values are written in one.
    written: Vec<(Box<str>, u64)>,
}

impl Totals {
    fn add(&mut self, value: &FacetValue, count: u32) {
        let count = u64::from(count);
        let total = match self.0.get_mut(value.compared()) {
            Some(total) => total,
            None => self.0.entry(value.compared().into()).or_default(),
        };
        total.count += count;
        match total.written.iter_mut().find(|(written, _)| *written == value.written) {
            Some((_, counted)) => *counted += count,
            None => total.written.push((value.written.clone(), count)),
        }
    }

    /// The most frequent values, equally frequent ones in alphabetical order.
    fn most_frequent(self) -> Vec<FacetCount> {
        let most_written = |total: Total| {
            let order = |(one, count): &(Box<str>, u64), (other, other_count): &(Box<str>, u64)| {
                count.cmp(other_count).then_with(|| other.cmp(one))
            };
            let (value, _) = total.written.into_iter().max_by(order)?;
            Some(FacetCount { value: value.into(), count: total.count })
        };
        let mut counts: Vec<FacetCount> = self.0.into_values().filter_map(most_written).collect();
        let order = |a: &FacetCount, b: &FacetCount| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value));
        if counts.len() > MOST_VALUES {
            counts.select_nth_unstable_by(MOST_VALUES, order);
            counts.truncate(MOST_VALUES);
        }
        counts.sort_unstable_by(order);
        counts
    }
}

/// The most frequent values of a field. Those that are compared alike are counted together, as what is written
/// most often. `documents` are the matches, segment by segment.
pub(super) fn count(
    searcher: &Searcher,
    columns: &Columns,
    documents: &[Documents],
    field: FacetField,
) -> tantivy::Result<Vec<FacetCount>> {
    let mut totals = Totals::default();
    for (segment, documents) in searcher.segment_readers().iter().zip(documents) {
        if let Some(column) = columns.get(segment, field)? {
            column.count(documents, &mut totals)?;
        }
    }
    Ok(totals.most_frequent())
}
