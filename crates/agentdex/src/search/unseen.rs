//! Documents of an index hidden from a caller: operations on per-segment document sets.

use tantivy::{Searcher, SegmentReader, Term, schema::Field};

use super::{cached::Cached, documents::Documents, hidden::Hidden, sight};
use crate::access::Grants;

/// Hides the documents that a caller with these grants doesn't see, in addition to those hidden from everybody.
pub(super) fn hide(
    searcher: &Searcher,
    field: Field,
    cached: &Cached,
    hidden: &Hidden,
    grants: &Grants,
) -> tantivy::Result<Hidden> {
    let term = |text: &str| Term::from_field_text(field, text);
    let restricted = term(sight::RESTRICTED);
    let seen: Vec<Term> = sight::terms_seen(grants).map(|text| term(&text)).collect();
    let unseen_in = |segment: &SegmentReader| -> tantivy::Result<Option<Documents>> {
        if segment.inverted_index(field)?.get_term_info(&restricted)?.is_none() {
            return Ok(None);
        }
        let mut unseen = cached.documents_with(segment, &restricted)?;
        for term in &seen {
            unseen.remove_all(&cached.documents_with(segment, term)?);
        }
        Ok(Some(unseen))
    };
    let mut all = hidden.clone();
    for segment in searcher.segment_readers() {
        if let Some(unseen) = unseen_in(segment)? {
            all.add(segment.segment_id(), unseen);
        }
    }
    Ok(all)
}
