//! The end of the change log as encoded events, kept for all event streams together.
//!
//! Streams that are up to date ask for the same few changes at the same time: each is read and
//! encoded once, by whoever comes first. Streams that are further back read the log themselves.

use std::{
    collections::VecDeque,
    fmt::Write,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use actix_web::web::Bytes;

use crate::{Change, Cursor, Registry, Result, Seq};

/// How many events are kept.
const KEPT: usize = 1024;
/// How many changes are read at once.
const AT_ONCE: usize = 64;

/// A change with its encoded forms.
pub(super) struct Event {
    pub(super) change: Arc<Change>,
    plain: OnceLock<Bytes>,
    diff: OnceLock<Bytes>,
}

impl Event {
    fn new(change: Arc<Change>) -> Arc<Event> {
        Arc::new(Event { change, plain: OnceLock::new(), diff: OnceLock::new() })
    }

    /// The event as it goes over the wire.
    pub(super) fn encoded(&self, diff: bool) -> &Bytes {
        let form = if diff { &self.diff } else { &self.plain };
        form.get_or_init(|| {
            let change = &self.change;
            encode(change.cursor(), change.kind.as_str(), &change.event_data(diff)).into()
        })
    }
}

/// An event of an event stream (HTML, section 9.2). Data of several lines is several fields.
pub(super) fn encode(id: Cursor, kind: &str, data: &str) -> String {
    let mut event = String::with_capacity(data.len() + 96);
    let _ = writeln!(event, "id: {id}\nevent: {kind}");
    for line in data.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        let _ = writeln!(event, "data: {line}");
    }
    event.push('\n');
    event
}

/// What comes after a position.
pub(super) enum After {
    /// These, in order; none if the position is the end.
    Events(Vec<Arc<Event>>),
    /// Some of them are gone, or the position lies beyond the end.
    Gap,
}

/// The events that are kept.
pub(super) struct Feed {
    registry: Registry,
    kept: Mutex<VecDeque<Arc<Event>>>,
}

impl Feed {
    pub(super) fn new(registry: Registry) -> Feed {
        Feed { registry, kept: Mutex::new(VecDeque::with_capacity(KEPT)) }
    }

    /// The next few events after a position.
    pub(super) fn after(&self, position: Seq) -> Result<After> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(events) = kept_after(&kept, position) {
            return Ok(After::Events(events));
        }
        let extends = kept.back().is_none_or(|last| last.change.seq == position);
        if !extends {
            drop(kept);
            return self.read(position);
        }
        let after = self.read(position)?;
        if let After::Events(events) = &after {
            kept.extend(events.iter().cloned());
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
        Ok(after)
    }

    fn read(&self, position: Seq) -> Result<After> {
        let read = self.registry.changes(position, AT_ONCE)?;
        if read.truncated {
            return Ok(After::Gap);
        }
        Ok(After::Events(read.changes.into_iter().map(Event::new).collect()))
    }
}

/// What is kept after a position; none unless all of it is, and there is some.
fn kept_after(kept: &VecDeque<Arc<Event>>, position: Seq) -> Option<Vec<Arc<Event>>> {
    let (first, last) = (kept.front()?.change.seq, kept.back()?.change.seq);
    if position.next() < first || position >= last {
        return None;
    }
    let passed = usize::try_from(position.next().0 - first.0).ok()?;
    Some(kept.iter().skip(passed).take(AT_ONCE).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChangeKind, Epoch, Timestamp};

    fn kept(seqs: std::ops::RangeInclusive<u64>) -> VecDeque<Arc<Event>> {
        let change = |seq| Change {
            epoch: Epoch(7),
            seq: Seq(seq),
            kind: ChangeKind::Deleted,
            id: format!("urn:x:{seq}"),
            at: Timestamp(0),
            actor: None,
            td: None,
            patch: None,
            capabilities_before: Vec::new(),
            capabilities_after: Vec::new(),
        };
        seqs.map(|seq| Event::new(Arc::new(change(seq)))).collect()
    }

    #[test]
    fn only_what_is_wholly_kept_is_served_from_it() {
        let kept = kept(5..=9);
        let seqs = |position| {
            kept_after(&kept, Seq(position))
                .map(|events| events.iter().map(|event| event.change.seq.0).collect::<Vec<_>>())
        };
        assert_eq!(seqs(3), None);
        assert_eq!(seqs(4), Some(vec![5, 6, 7, 8, 9]));
        assert_eq!(seqs(8), Some(vec![9]));
        assert_eq!(seqs(9), None);
    }

    #[test]
    fn data_of_several_lines_is_several_fields() {
        let event = encode(Cursor { epoch: Epoch(7), seq: Seq(1) }, "thing_created", "{\n \"id\": 1\n}");
        assert_eq!(event, "id: 0000000000000007-1\nevent: thing_created\ndata: {\ndata:  \"id\": 1\ndata: }\n\n");
    }
}
