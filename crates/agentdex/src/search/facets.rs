//! Counting the values of a field over all matches.
//!
//! Columns for counting are cached in memory in a simple form: for each document of a segment, the numbers of its
//! values. A value has the same number in all segments, so texts are compared once per search rather than once per
//! segment.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tantivy::{Searcher, SegmentReader, columnar::StrColumn, index::SegmentId};

use super::{
    FacetCount, FacetField, documents::Documents, entry::counted_as, facet_column, snippet::Highlights, text::fold_case,
};

/// Maximum number of counted values per field.
const MOST_VALUES: usize = 100;
/// The most frequent values, which are compared with the words of a query; the others never come first for their words.
const MOST_COMPARED: usize = 10_000;
/// The most bytes of columns that are cached.
const MOST_BYTES: usize = 96 * 1024 * 1024;
/// Columns with more different values are cached without their texts.
const MOST_TEXTS: usize = 4096;
/// The number of no value.
const NONE: u32 = u32::MAX;

/// Cached columns of segments.
#[derive(Default)]
pub(super) struct Columns(Mutex<Cached>);

#[derive(Default)]
struct Cached {
    columns: HashMap<(SegmentId, FacetField), Arc<Column>>,
    values: HashMap<FacetField, Arc<Values>>,
    bytes: usize,
}

impl Columns {
    fn get(&self, segment: &SegmentReader, field: FacetField) -> tantivy::Result<Option<Arc<Column>>> {
        let key = (segment.segment_id(), field);
        if let Some(column) = self.0.lock().unwrap_or_else(PoisonError::into_inner).columns.get(&key) {
            return Ok(Some(column.clone()));
        }
        let Some(column) = segment.fast_fields().str(facet_column(field))? else { return Ok(None) };
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner).values.entry(field).or_default().clone();
        let column = Arc::new(Column::read(field, column, segment.max_doc(), values)?);
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.bytes += column.bytes();
        if cached.bytes > MOST_BYTES {
            // Columns of merged segments go with it, and values that are no more; those in use come again.
            cached.columns.clear();
            cached.values.clear();
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
    numbers: Numbers,
    /// Shared number of each value in [`Column::values`], by its number in the segment, or `None` if there are too
    /// many values.
    shared: Option<Vec<u32>>,
    values: Arc<Values>,
    /// Upper bound of the bytes that this column adds to `values`.
    value_bytes: usize,
}

/// By document, the numbers of its values in the segment.
enum Numbers {
    /// At most one value per document; [`NONE`] for a document without a value.
    One(Vec<u32>),
    /// For each document, the end of its values in `numbers`. They begin at the end of the previous document's
    /// values.
    Several { ends: Vec<u32>, numbers: Vec<u32> },
}

/// The values of a field in all segments.
#[derive(Default)]
struct Values(Mutex<Numbered>);

#[derive(Default)]
struct Numbered {
    numbers: HashMap<Box<str>, u32>,
    values: Vec<FacetValue>,
}

impl Numbered {
    fn number(&mut self, value: FacetValue) -> u32 {
        if let Some(&number) = self.numbers.get(&value.written) {
            return number;
        }
        let number = self.values.len() as u32;
        self.numbers.insert(value.written.clone(), number);
        self.values.push(value);
        number
    }
}

impl Values {
    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value as it is written and as it is compared.
struct FacetValue {
    written: Box<str>,
    /// Form for comparison, or `None` if it equals the value.
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
    fn read(field: FacetField, column: StrColumn, max_doc: u32, values: Arc<Values>) -> tantivy::Result<Column> {
        let (mut shared, mut value_bytes) = (None, 0);
        if column.num_terms() <= MOST_TEXTS {
            let ords: Vec<u64> = (0..column.num_terms() as u64).collect();
            let mut read: Vec<FacetValue> = Vec::with_capacity(ords.len());
            column.dictionary().sorted_ords_to_term_cb(&ords, |value| read.push(FacetValue::of(field, value)))?;
            value_bytes = read.iter().map(|value| 2 * (value.written.len() + size_of::<FacetValue>())).sum();
            let mut numbered = values.lock();
            shared = Some(read.into_iter().map(|value| numbered.number(value)).collect());
        }
        let numbers = Numbers::read(&column, max_doc);
        Ok(Column { column, field, numbers, shared, values, value_bytes })
    }

    fn bytes(&self) -> usize {
        let numbers = match &self.numbers {
            Numbers::One(numbers) => numbers.len(),
            Numbers::Several { ends, numbers } => ends.len() + numbers.len(),
        };
        (numbers + self.shared.as_ref().map_or(0, Vec::len)) * size_of::<u32>() + self.value_bytes
    }

    /// Counts the occurrences of each value in these documents, by its number in the segment.
    fn counts(&self, documents: &Documents) -> Vec<u32> {
        let mut counts: Vec<u32> = vec![0; self.column.num_terms()];
        let mut count = |number: u32| {
            if let Some(count) = counts.get_mut(number as usize) {
                *count += 1;
            }
        };
        match &self.numbers {
            Numbers::One(numbers) => {
                documents.for_each(|doc| count(numbers.get(doc as usize).copied().unwrap_or(NONE)));
            }
            Numbers::Several { ends, numbers } => documents.for_each(|doc| {
                let doc = doc as usize;
                let start = doc.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |&end| end as usize);
                let end = ends.get(doc).map_or(start, |&end| end as usize);
                numbers.get(start..end).unwrap_or_default().iter().for_each(|&number| count(number));
            }),
        }
        counts
    }

    /// Adds counts to the totals if values have no shared numbers.
    fn add_texts(&self, counts: Vec<u32>, totals: &mut Totals) -> tantivy::Result<()> {
        let (ords, counts): (Vec<u64>, Vec<u32>) = (0..).zip(counts).filter(|&(_, count)| count > 0).unzip();
        let mut counts = counts.into_iter();
        self.column.dictionary().sorted_ords_to_term_cb(&ords, |value| {
            totals.add(&FacetValue::of(self.field, value), counts.next().unwrap_or_default().into());
        })?;
        Ok(())
    }
}

impl Numbers {
    fn read(column: &StrColumn, max_doc: u32) -> Numbers {
        let mut ends = Vec::with_capacity(max_doc as usize);
        let mut numbers = Vec::with_capacity(max_doc as usize);
        let mut is_one = true;
        for doc in 0..max_doc {
            let before = numbers.len();
            numbers.extend(column.term_ords(doc).map(|ord| ord as u32));
            is_one &= numbers.len() <= before + 1;
            ends.push(numbers.len() as u32);
        }
        if !is_one {
            return Numbers::Several { ends, numbers };
        }
        let mut before = 0;
        let one = |end: u32| {
            let has_one = end > before;
            before = end;
            if has_one { numbers.get(end as usize - 1).copied().unwrap_or(NONE) } else { NONE }
        };
        Numbers::One(ends.into_iter().map(one).collect())
    }
}

/// Counts over segments, by the numbers that values have in all of them.
#[derive(Default)]
struct Sums(Vec<u64>);

impl Sums {
    fn add(&mut self, shared: &[u32], counts: &[u32]) {
        for (&number, &count) in shared.iter().zip(counts) {
            let number = number as usize;
            if number >= self.0.len() {
                self.0.resize(number + 1, 0);
            }
            if let Some(sum) = self.0.get_mut(number) {
                *sum += u64::from(count);
            }
        }
    }
}

/// Number of occurrences of each value, and its most frequent spelling.
#[derive(Default)]
struct Totals(HashMap<Box<str>, Total>);

#[derive(Default)]
struct Total {
    count: u64,
    /// Number of occurrences of each spelling. Most values have a single spelling.
    written: Vec<(Box<str>, u64)>,
}

impl Totals {
    fn add(&mut self, value: &FacetValue, count: u64) {
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

    /// The values to show, and the number of all: the better they fit the choice the earlier, then the most frequent;
    /// equally frequent ones are in alphabetical order.
    fn chosen(mut self, choice: &Choice<'_>) -> Counted {
        if let Some(text) = choice.text.map(fold_case) {
            self.0.retain(|compared, _| fold_case(compared).contains(text.as_ref()));
        }
        let total = self.0.len() as u64;
        let most_written = |total: Total| {
            let order = |(one, count): &(Box<str>, u64), (other, other_count): &(Box<str>, u64)| {
                count.cmp(other_count).then_with(|| other.cmp(one))
            };
            let (value, _) = total.written.into_iter().max_by(order)?;
            Some(FacetCount { value: value.into(), count: total.count })
        };
        let mut counts: Vec<FacetCount> = self.0.into_values().filter_map(most_written).collect();
        let order = |a: &FacetCount, b: &FacetCount| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value));
        if counts.len() > MOST_COMPARED {
            counts.select_nth_unstable_by(MOST_COMPARED, order);
            counts.truncate(MOST_COMPARED);
        }
        let mut fit = choice.fit();
        let mut counts: Vec<(u8, FacetCount)> = counts.into_iter().map(|count| (fit(&count.value), count)).collect();
        let order = |a: &(u8, FacetCount), b: &(u8, FacetCount)| b.0.cmp(&a.0).then_with(|| order(&a.1, &b.1));
        if counts.len() > MOST_VALUES {
            counts.select_nth_unstable_by(MOST_VALUES, order);
            counts.truncate(MOST_VALUES);
        }
        counts.sort_unstable_by(order);
        Counted { counts: counts.into_iter().map(|(_, count)| count).collect(), total }
    }
}

/// Selection of the values to show.
pub(super) struct Choice<'a> {
    /// Text that counted values must contain, if any.
    pub text: Option<&'a str>,
    /// Words of the query.
    pub highlights: &'a Highlights,
}

impl Choice<'_> {
    /// How well a value fits: those that begin with the text are before those that contain it, and those with a word of the
    /// query before others.
    fn fit(&self) -> impl FnMut(&str) -> u8 {
        let text = self.text.map(fold_case);
        let mut analyzer = (!self.highlights.is_empty()).then(|| self.highlights.analyzer());
        move |value| {
            let begins = text.as_ref().is_some_and(|text| fold_case(value).starts_with(text.as_ref()));
            let mut has_word = false;
            if let Some(analyzer) = &mut analyzer {
                analyzer
                    .token_stream(value)
                    .process(&mut |token| has_word = has_word || self.highlights.contains(&token.text));
            }
            2 * u8::from(begins) + u8::from(has_word)
        }
    }
}

/// The values of a field to show, and the number of all.
pub(super) struct Counted {
    pub counts: Vec<FacetCount>,
    pub total: u64,
}

/// Counts the values of a field. Those that are compared alike are counted together, as what is written
/// most often. `documents` are the matches, segment by segment.
pub(super) fn count(
    searcher: &Searcher,
    columns: &Columns,
    documents: &[Documents],
    field: FacetField,
    choice: &Choice<'_>,
) -> tantivy::Result<Counted> {
    let mut totals = Totals::default();
    let mut numbered: Option<(Arc<Values>, Sums)> = None;
    for (segment, documents) in searcher.segment_readers().iter().zip(documents) {
        let Some(column) = columns.get(segment, field)? else { continue };
        let counts = column.counts(documents);
        let (values, sums) = numbered.get_or_insert_with(|| (column.values.clone(), Sums::default()));
        match &column.shared {
            Some(shared) if Arc::ptr_eq(values, &column.values) => sums.add(shared, &counts),
            // The cache was cleared since the first of them was read: numbers are others now.
            _ => column.add_texts(counts, &mut totals)?,
        }
    }
    if let Some((values, sums)) = numbered {
        let counted = values.lock();
        let counted = counted.values.iter().zip(sums.0).filter(|(_, sum)| *sum > 0);
        counted.for_each(|(value, sum)| totals.add(value, sum));
    }
    Ok(totals.chosen(choice))
}
