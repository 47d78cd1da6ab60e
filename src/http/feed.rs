//! The end of the change log as encoded events, kept for all event streams together.
//!
//! Streams that are up to date ask for the same few changes at the same time: each is read and
//! encoded once, by whoever comes first. Streams that are further back read the log themselves.

use std::{
    collections::VecDeque,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use actix_web::web::Bytes;

use crate::{Change, Cursor, Registry, Result, Seq};

/// How many events are kept, and of how many bytes.
const KEPT: usize = 1024;
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// How many changes are read at once.
pub(super) const AT_ONCE: usize = 64;

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
    kept: Mutex<Kept>,
}

impl Feed {
    pub(super) fn new(registry: Registry) -> Feed {
        Feed { registry, kept: Mutex::default() }
    }

    /// The next few events after a position, if they are kept.
    pub(super) fn kept_after(&self, position: Seq) -> Option<Vec<Arc<Event>>> {
        self.lock().after(position)
    }

    /// The next few events after a position.
    pub(super) fn after(&self, position: Seq) -> Result<After> {
        let mut kept = self.lock();
        if let Some(events) = kept.after(position) {
            return Ok(After::Events(events));
        }
        if position < kept.end() {
            drop(kept);
            return self.read(position);
        }
        // Read under the lock: whoever comes meanwhile wants the same.
        let after = self.read(position)?;
        if let After::Events(events) = &after {
            kept.take_in(position, events);
        }
        Ok(after)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, position: Seq) -> Result<After> {
        let read = self.registry.changes(position, AT_ONCE)?;
        if read.truncated {
            return Ok(After::Gap);
        }
        Ok(After::Events(read.changes.into_iter().map(Event::new).collect()))
    }
}

/// Events without gaps, the newest that anybody has asked for.
#[derive(Default)]
struct Kept {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
}

impl Kept {
    /// The position of the last event.
    fn end(&self) -> Seq {
        self.events.back().map_or(Seq::ZERO, |event| event.change.seq)
    }

    /// What is kept after a position; none unless the first of it is there.
    fn after(&self, position: Seq) -> Option<Vec<Arc<Event>>> {
        let first = self.events.front()?.change.seq;
        if position.next() < first || position >= self.end() {
            return None;
        }
        let passed = usize::try_from(position.next().0 - first.0).ok()?;
        Some(self.events.iter().skip(passed).take(AT_ONCE).cloned().collect())
    }

    /// Keeps what comes after `position`, which is the end or lies beyond it.
    fn take_in(&mut self, position: Seq, events: &[Arc<Event>]) {
        if position != self.end() {
            *self = Kept::default();
        }
        for event in events {
            self.bytes += event.change.weight();
            self.events.push_back(event.clone());
        }
        while self.events.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.change.weight();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChangeKind, Epoch, Timestamp};

    fn events(seqs: std::ops::RangeInclusive<u64>, td: Option<&str>) -> Vec<Arc<Event>> {
        let change = |seq| Change {
            epoch: Epoch(7),
            seq: Seq(seq),
            kind: ChangeKind::Created,
            id: format!("urn:x:{seq}"),
            at: Timestamp(0),
            actor: None,
            td: td.and_then(|td| serde_json::value::RawValue::from_string(td.to_owned()).ok()),
            patch: None,
            capabilities_before: Vec::new(),
            capabilities_after: Vec::new(),
        };
        seqs.map(|seq| Event::new(Arc::new(change(seq)))).collect()
    }

    fn seqs(kept: &Kept, position: u64) -> Option<Vec<u64>> {
        Some(kept.after(Seq(position))?.iter().map(|event| event.change.seq.0).collect())
    }

    #[test]
    fn only_what_is_wholly_kept_is_served_from_it() {
        let mut kept = Kept::default();
        kept.take_in(Seq(4), &events(5..=9, None));
        assert_eq!(seqs(&kept, 3), None);
        assert_eq!(seqs(&kept, 4), Some(vec![5, 6, 7, 8, 9]));
        assert_eq!(seqs(&kept, 8), Some(vec![9]));
        assert_eq!(seqs(&kept, 9), None);
    }

    #[test]
    fn newer_events_follow_or_replace_older_ones() {
        let mut kept = Kept::default();
        kept.take_in(Seq(4), &events(5..=6, None));
        kept.take_in(Seq(6), &events(7..=7, None));
        assert_eq!(seqs(&kept, 4), Some(vec![5, 6, 7]));
        kept.take_in(Seq(20), &events(21..=22, None));
        assert_eq!((seqs(&kept, 4), seqs(&kept, 20)), (None, Some(vec![21, 22])));
    }

    #[test]
    fn large_events_are_not_kept_by_the_thousand() {
        let mut kept = Kept::default();
        let td = format!("{{\"title\": \"{}\"}}", "x".repeat(1024 * 1024));
        kept.take_in(Seq(0), &events(1..=20, Some(&td)));
        assert_eq!(kept.events.len(), 7);
        assert_eq!(seqs(&kept, 19), Some(vec![20]));
    }

    #[test]
    fn data_of_several_lines_is_several_fields() {
        let event = encode(Cursor { epoch: Epoch(7), seq: Seq(1) }, "thing_created", "{\n \"id\": 1\n}");
        assert_eq!(event, "id: 0000000000000007-1\nevent: thing_created\ndata: {\ndata:  \"id\": 1\ndata: }\n\n");
    }
}
