//! Which documents of an index somebody sees.
//!
//! A Thing that isn't public has the term `!` and one for each who sees it, so that what somebody doesn't see is a few
//! operations on sets of documents, made once for each segment.

use tantivy::{Searcher, SegmentReader, Term, schema::Field};

use super::{cached::Cached, documents::Documents, hidden::Hidden};
use crate::access::{Access, Grants, Namespace, Owner, Visibility};

/// What every Thing has that isn't public.
const RESTRICTED: &str = "!";

/// The terms of a Thing with this access.
pub(super) fn terms_of(access: &Access) -> Vec<String> {
    if access.is_public() {
        return Vec::new();
    }
    let owner = access.owner.as_ref().map(of_owner);
    let in_namespace = access.namespace.as_ref().filter(|_| access.visibility == Visibility::Namespace);
    [RESTRICTED.to_owned()].into_iter().chain(owner).chain(in_namespace.map(of_namespace)).collect()
}

fn of_owner(owner: &Owner) -> String {
    format!("o:{owner}")
}

fn of_namespace(namespace: &Namespace) -> String {
    format!("n:{namespace}")
}

/// What of an index is hidden from somebody, beside what is hidden from everybody.
pub(super) fn hide(
    searcher: &Searcher,
    sight: Field,
    cached: &Cached,
    hidden: &Hidden,
    grants: &Grants,
) -> tantivy::Result<Hidden> {
    let term = |text: &str| Term::from_field_text(sight, text);
    let restricted = term(RESTRICTED);
    let seen: Vec<Term> = grants
        .owner
        .iter()
        .map(of_owner)
        .chain(grants.namespaces.iter().map(of_namespace))
        .map(|text| term(&text))
        .collect();
    let unseen_in = |segment: &SegmentReader| -> tantivy::Result<Option<Documents>> {
        if segment.inverted_index(sight)?.get_term_info(&restricted)?.is_none() {
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
