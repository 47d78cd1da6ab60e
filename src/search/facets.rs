//! Counts the values of a field over all matches.

use std::collections::HashMap;

use tantivy::{
    Searcher, SegmentReader,
    columnar::StrColumn,
    query::{EnableScoring, Query},
};

use super::{FacetCount, FacetField, schema};

/// The most values that are counted out of one field.
const MOST_VALUES: usize = 100;

/// The most frequent values of each field, equally frequent ones in alphabetical order.
pub(super) fn count(
    searcher: &Searcher,
    query: &dyn Query,
    fields: &[FacetField],
) -> tantivy::Result<Vec<Vec<FacetCount>>> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut totals: Vec<HashMap<String, u64>> = vec![HashMap::new(); fields.len()];
    for segment in searcher.segment_readers() {
        let mut counters =
            fields.iter().map(|&field| Counter::new(segment, field)).collect::<tantivy::Result<Vec<_>>>()?;
        weight.for_each_no_score(segment, &mut |docs| {
            for &doc in docs.iter().filter(|&&doc| !segment.is_deleted(doc)) {
                for counter in &mut counters {
                    counter.add(doc);
                }
            }
        })?;
        for (counter, totals) in counters.into_iter().zip(&mut totals) {
            counter.finish(totals)?;
        }
    }
    Ok(totals.into_iter().map(most_frequent).collect())
}

/// Counts ordinals in one segment.
struct Counter {
    column: Option<StrColumn>,
    counts: Vec<u32>,
}

impl Counter {
    fn new(segment: &SegmentReader, field: FacetField) -> tantivy::Result<Counter> {
        let column = segment.fast_fields().str(schema::values_column(field))?;
        let values = column.as_ref().map_or(0, |column| column.num_terms());
        Ok(Counter { column, counts: vec![0; values] })
    }

    fn add(&mut self, doc: u32) {
        let Some(column) = &self.column else { return };
        for ord in column.term_ords(doc) {
            if let Some(count) = self.counts.get_mut(ord as usize) {
                *count += 1;
            }
        }
    }

    fn finish(self, totals: &mut HashMap<String, u64>) -> tantivy::Result<()> {
        let Some(column) = self.column else { return Ok(()) };
        let (ords, counts): (Vec<u64>, Vec<u32>) = (0..).zip(self.counts).filter(|&(_, count)| count > 0).unzip();
        let mut counts = counts.into_iter();
        column.dictionary().sorted_ords_to_term_cb(&ords, |value| {
            let count = u64::from(counts.next().unwrap_or_default());
            let value = String::from_utf8_lossy(value);
            match totals.get_mut(value.as_ref()) {
                Some(total) => *total += count,
                None => {
                    totals.insert(value.into_owned(), count);
                }
            }
        })?;
        Ok(())
    }
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
