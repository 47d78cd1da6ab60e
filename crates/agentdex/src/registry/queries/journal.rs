//! Journal of the events found by comparing queries with the log, in the order in which they are found. Events of a
//! single query are in log order. A reader of many queries follows the journal at a single position, so a delayed
//! query doesn't delay other queries.

use std::{collections::VecDeque, sync::Arc};

use agentdex_api::MatchKind;

use super::number::QueryNo;
use crate::change::Seq;

/// Maximum size of the findings that are remembered, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Size of a finding without its queries.
const FINDING_BYTES: usize = size_of::<Arc<Finding>>() + size_of::<Finding>();

/// Position in the journal: the number of preceding findings since the registry was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalPosition(u64);

impl JournalPosition {
    /// Position before the first finding.
    pub const START: JournalPosition = JournalPosition(0);

    fn next(self) -> JournalPosition {
        JournalPosition(self.0 + 1)
    }
}

/// Result of comparing a log entry with queries.
#[derive(Debug)]
pub struct Finding {
    /// Position of the entry.
    pub seq: Seq,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    /// The events of a change, by query.
    Events(Box<[(QueryNo, MatchKind)]>),
    /// A change of membership. All queries except `but` (ascending) have been compared with it. Readers whom it concerns
    /// work out their events themselves.
    Membership { but: Box<[QueryNo]> },
    /// A change of membership, now also compared with these delayed queries (ascending).
    LateMembership(Box<[QueryNo]>),
    /// Queries of which events up to the entry may be missing.
    Lost(Box<[QueryNo]>),
}

impl Finding {
    /// True if the finding reports missing events.
    pub fn is_loss(&self) -> bool {
        matches!(self.content, Content::Lost(_))
    }

    fn bytes(&self) -> usize {
        FINDING_BYTES
            + match &self.content {
                Content::Events(events) => size_of_val(&**events),
                Content::Membership { but: queries } | Content::LateMembership(queries) | Content::Lost(queries) => {
                    size_of_val(&**queries)
                }
            }
    }
}

/// Result of reading the journal after a position.
pub enum Found {
    /// The next finding, and the position after it.
    Finding(Arc<Finding>, JournalPosition),
    /// There is no later finding yet.
    Nothing,
    /// Findings after the requested position were dropped. The reader continues at this position, the end of the
    /// journal.
    Forgotten(JournalPosition),
}

/// The latest findings.
#[derive(Default)]
pub(super) struct Journal {
    findings: VecDeque<Arc<Finding>>,
    /// The position before the first of them.
    start: JournalPosition,
    bytes: usize,
}

impl Journal {
    /// Returns the position after the last finding.
    pub fn end(&self) -> JournalPosition {
        JournalPosition(self.start.0 + self.findings.len() as u64)
    }

    /// Reads the next finding after a position.
    pub fn after(&self, position: JournalPosition) -> Found {
        let Some(index) = position.0.checked_sub(self.start.0) else { return Found::Forgotten(self.end()) };
        let finding = usize::try_from(index).ok().and_then(|index| self.findings.get(index));
        finding.map_or(Found::Nothing, |finding| Found::Finding(finding.clone(), position.next()))
    }

    /// Adds a finding. The oldest findings are dropped if the journal becomes too large.
    pub fn add(&mut self, seq: Seq, content: Content) {
        let finding = Arc::new(Finding { seq, content });
        self.bytes += finding.bytes();
        self.findings.push_back(finding);
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.findings.pop_front() else { break };
            self.bytes -= oldest.bytes();
            self.start = self.start.next();
        }
    }

    /// Drops all findings. Readers at any position are notified of the loss.
    pub fn forget_all(&mut self) {
        *self = Journal { start: self.end().next(), ..Journal::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(count: u32) -> Content {
        Content::Events((0..count).map(|query| (query, MatchKind::Created)).collect())
    }

    #[test]
    fn findings_are_read_in_the_order_in_which_they_were_made() {
        let mut journal = Journal::default();
        [5, 3, 5].into_iter().for_each(|seq| journal.add(Seq(seq), events(1)));
        let (mut position, mut seqs) = (JournalPosition::START, Vec::new());
        while let Found::Finding(finding, next) = journal.after(position) {
            seqs.push(finding.seq);
            position = next;
        }
        assert_eq!(seqs, [Seq(5), Seq(3), Seq(5)]);
        assert_eq!(position, journal.end());
        journal.forget_all();
        assert!(matches!(journal.after(position), Found::Forgotten(end) if end == journal.end()));
        assert!(matches!(journal.after(journal.end()), Found::Nothing));
    }

    #[test]
    fn the_oldest_findings_are_forgotten_first() {
        let mut journal = Journal::default();
        let large = MAX_BYTES / size_of::<(QueryNo, MatchKind)>() / 2;
        (1..=2).for_each(|seq| journal.add(Seq(seq), events(large as u32)));
        let Found::Forgotten(end) = journal.after(JournalPosition::START) else { panic!("it is remembered") };
        assert_eq!(end, journal.end());
        let Found::Finding(finding, _) = journal.after(JournalPosition::START.next()) else {
            panic!("it is forgotten")
        };
        assert_eq!(finding.seq, Seq(2));
    }
}
