//! Where pages end: who asks for the next page is served from there, and not by passing everything
//! over that came before.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// How many ends are remembered: those of as many readers who page at the same time.
const REMEMBERED: usize = 256;

/// The ends of pages that were served lately.
#[derive(Default)]
pub(super) struct Marks(Mutex<VecDeque<Mark>>);

struct Mark {
    /// The entity tag of the collection: a mark holds for the collection as it was.
    tag: String,
    offset: usize,
    last_id: String,
}

impl Marks {
    /// Notes that, in the collection as it is by this tag, the Thing before `offset` is `last_id`.
    pub(super) fn remember(&self, tag: &str, offset: usize, last_id: &str) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.retain(|mark| mark.tag == tag && mark.offset != offset);
        if marks.len() == REMEMBERED {
            marks.pop_front();
        }
        marks.push_back(Mark { tag: tag.to_owned(), offset, last_id: last_id.to_owned() });
    }

    /// The Thing before `offset`, if the collection is still what it was.
    pub(super) fn before(&self, tag: &str, offset: usize) -> Option<String> {
        let marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = marks.iter().find(|mark| mark.tag == tag && mark.offset == offset)?;
        Some(mark.last_id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_hold_for_the_collection_as_it_was() {
        let marks = Marks::default();
        marks.remember("7", 10, "urn:x:a");
        assert_eq!(marks.before("7", 10).as_deref(), Some("urn:x:a"));
        assert_eq!((marks.before("7", 9), marks.before("8", 10)), (None, None));
        marks.remember("8", 20, "urn:x:b");
        assert_eq!(marks.before("7", 10), None);
    }

    #[test]
    fn oldest_marks_are_forgotten() {
        let marks = Marks::default();
        (0..=REMEMBERED).for_each(|offset| marks.remember("7", offset, "urn:x:a"));
        assert_eq!((marks.before("7", 0), marks.before("7", 1).is_some()), (None, true));
    }
}
