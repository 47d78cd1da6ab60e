//! Histories of concurrent writes, and a check of the promises of a cluster.
//!
//! The log has all writes in a single order, so the check takes O(n log n). A write is recognized in the log by its title,
//! and a removal by the change before it.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    time::Duration,
};

/// Writes of all clients, and the logs afterwards.
#[derive(Clone)]
pub struct History {
    pub operations: Vec<Operation>,
    /// The whole change log of each node.
    pub logs: Vec<Vec<Entry>>,
}

/// A write, as its client saw it.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Times since the beginning of the history.
    pub start: Duration,
    pub end: Duration,
    pub node: usize,
    pub id: String,
    pub action: Action,
    pub outcome: Outcome,
}

#[derive(Debug, Clone)]
pub enum Action {
    /// The title must be unique in the history.
    Put {
        title: String,
        expected: Option<u64>,
    },
    Delete {
        expected: u64,
    },
}

impl Action {
    /// Returns the position that the last change of the agent must have.
    pub fn expected(&self) -> Option<u64> {
        match self {
            Action::Put { expected, .. } => *expected,
            Action::Delete { expected } => Some(*expected),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The position of the write, which is unknown for a removal, and the end of the log after the write.
    Acknowledged { seq: Option<u64>, end: u64 },
    /// The position of the last change of the agent, or `None` if the agent didn't exist.
    Refused { found: Option<u64> },
    /// The write can't be in the log.
    NotWritten,
    /// The write may be in the log, now or later.
    Unknown,
}

/// A change in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: u64,
    pub previous: u64,
    pub id: String,
    /// `None` for a removal.
    pub title: Option<String>,
    /// The change in full.
    pub json: String,
}

/// A broken promise. Operations are named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// The log of a node differs from the log of the first node, from the entry with this index on.
    NodesDiffer { node: usize, entry: usize },
    /// `previous` isn't the position of the previous entry.
    Gap { seq: u64 },
    /// The log contains a write again.
    Repeated { seq: u64 },
    /// No client has a write that would explain this entry.
    Unexplained { seq: u64 },
    /// An acknowledged write isn't in the log.
    Lost { operation: usize },
    /// An acknowledged write has another position or id in the log.
    Misplaced { operation: usize, seq: u64 },
    /// Another client got an acknowledgment for the same removal.
    AcknowledgedTwice { operation: usize },
    /// The log contains a write that was refused, or reported as not written.
    Written { operation: usize, seq: u64 },
    /// The agent was at another position before the write than the write expects.
    BrokenChain { operation: usize, before: Option<u64> },
    /// The write began when the log already ended at `end` for another client.
    OutOfOrder { operation: usize, seq: u64, end: u64 },
    /// The refusal shows a state older than an earlier acknowledgment.
    StaleRefusal { operation: usize, acknowledged: u64 },
    /// The refusal contradicts itself, or shows a change that isn't in the log.
    WrongRefusal { operation: usize },
}

impl Violation {
    /// Returns the index of the operation, if the violation is about an operation.
    pub fn operation(&self) -> Option<usize> {
        match self {
            Violation::NodesDiffer { .. }
            | Violation::Gap { .. }
            | Violation::Repeated { .. }
            | Violation::Unexplained { .. } => None,
            Violation::Lost { operation }
            | Violation::Misplaced { operation, .. }
            | Violation::AcknowledgedTwice { operation }
            | Violation::Written { operation, .. }
            | Violation::BrokenChain { operation, .. }
            | Violation::OutOfOrder { operation, .. }
            | Violation::StaleRefusal { operation, .. }
            | Violation::WrongRefusal { operation } => Some(*operation),
        }
    }
}

/// Numbers of operations by outcome.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub attempts: usize,
    pub acknowledged: usize,
    pub refused: usize,
    pub not_written: usize,
    pub unknown: usize,
    /// Operations with an unknown outcome that are in the log.
    pub unknown_in_log: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { attempts, acknowledged, refused, not_written, unknown, unknown_in_log } = self;
        write!(f, "{attempts} attempts: {acknowledged} acknowledged, {refused} refused, {not_written} not written, ")?;
        write!(f, "{unknown} unknown ({unknown_in_log} of them in the log)")
    }
}

/// Checks a history. Returns the numbers of operations, and all violations.
pub fn check(history: &History) -> (Counts, Vec<Violation>) {
    let mut violations = differences(&history.logs);
    let log = Log::read(&history.logs[0], &mut violations);
    let found: Vec<Option<usize>> = history.operations.iter().map(|operation| log.find(operation)).collect();
    violations.extend(log.check_outcomes(&history.operations, &found));
    violations.extend(log.check_entries(&history.operations, &found));
    violations.extend(log.check_times(&history.operations, &found));
    (count(&history.operations, &found), violations)
}

fn differences(logs: &[Vec<Entry>]) -> Vec<Violation> {
    let (first, others) = logs.split_first().unwrap();
    let others = others.iter().enumerate().filter(|(_, log)| *log != first);
    let difference = |(index, log): (usize, &Vec<Entry>)| {
        let equal = log.iter().zip(first).take_while(|(own, other)| own == other).count();
        Violation::NodesDiffer { node: index + 1, entry: equal }
    };
    others.map(difference).collect()
}

fn count(operations: &[Operation], found: &[Option<usize>]) -> Counts {
    let mut counts = Counts { attempts: operations.len(), ..Counts::default() };
    let (mut explained, mut unknown): (HashSet<usize>, HashSet<usize>) = Default::default();
    for (operation, entry) in operations.iter().zip(found) {
        match operation.outcome {
            Outcome::Acknowledged { .. } => {
                counts.acknowledged += 1;
                explained.extend(*entry);
            }
            Outcome::Refused { .. } => counts.refused += 1,
            Outcome::NotWritten => counts.not_written += 1,
            Outcome::Unknown => {
                counts.unknown += 1;
                unknown.extend(*entry);
            }
        }
    }
    // The acknowledged removal of another client is not counted again.
    counts.unknown_in_log = unknown.difference(&explained).count();
    counts
}

/// The log of a node, with indexes of its entries.
struct Log<'a> {
    entries: &'a [Entry],
    /// Position of the agent before each entry, or `None` if the agent didn't exist.
    before: Vec<Option<u64>>,
    puts: HashMap<&'a str, usize>,
    /// Removals by the id of the agent and its position before.
    removals: HashMap<(&'a str, u64), usize>,
    /// Position of the last removal of each agent.
    last_removals: HashMap<&'a str, u64>,
}

impl<'a> Log<'a> {
    fn read(entries: &'a [Entry], violations: &mut Vec<Violation>) -> Log<'a> {
        let (puts, removals, last_removals) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut log = Log { entries, before: Vec::new(), puts, removals, last_removals };
        let mut positions: HashMap<&str, u64> = HashMap::new();
        let mut previous = 0_u64;
        for (index, entry) in entries.iter().enumerate() {
            let (seq, id) = (entry.seq, entry.id.as_str());
            if entry.previous != previous || seq <= previous {
                violations.push(Violation::Gap { seq });
            }
            previous = seq;
            let before = positions.remove(id);
            log.before.push(before);
            if let Some(title) = &entry.title {
                positions.insert(id, seq);
                if *log.puts.entry(title).or_insert(index) != index {
                    violations.push(Violation::Repeated { seq });
                }
            } else {
                log.last_removals.insert(id, seq);
                if let Some(before) = before {
                    log.removals.insert((id, before), index);
                }
            }
        }
        log
    }

    /// Returns the index of the entry of an operation. Several removals may have the same entry.
    fn find(&self, operation: &Operation) -> Option<usize> {
        match &operation.action {
            Action::Put { title, .. } => self.puts.get(title.as_str()).copied(),
            Action::Delete { expected } => self.removals.get(&(operation.id.as_str(), *expected)).copied(),
        }
    }

    /// Compares each outcome with the log.
    fn check_outcomes(&self, operations: &[Operation], found: &[Option<usize>]) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (operation, Operation { id, action, outcome, .. }) in operations.iter().enumerate() {
            let is_put = matches!(action, Action::Put { .. });
            let Some(index) = found[operation] else {
                if matches!(outcome, Outcome::Acknowledged { .. }) {
                    violations.push(Violation::Lost { operation });
                }
                continue;
            };
            let (entry, before) = (&self.entries[index], self.before[index]);
            let seq = entry.seq;
            match *outcome {
                Outcome::Acknowledged { seq: acknowledged, end } => {
                    let is_elsewhere = acknowledged.is_some_and(|acknowledged| acknowledged != seq);
                    if is_elsewhere || end < seq || entry.id != *id {
                        violations.push(Violation::Misplaced { operation, seq });
                    }
                }
                Outcome::Refused { .. } | Outcome::NotWritten if is_put => {
                    violations.push(Violation::Written { operation, seq });
                }
                _ => {}
            }
            if action.expected().is_some_and(|expected| before != Some(expected)) {
                violations.push(Violation::BrokenChain { operation, before });
            }
        }
        violations
    }

    /// Finds entries that no operation explains, and removals that more than a single client has made.
    fn check_entries(&self, operations: &[Operation], found: &[Option<usize>]) -> Vec<Violation> {
        let mut violations = Vec::new();
        let (mut explained, mut acknowledged) = (HashSet::new(), HashSet::new());
        for (operation, each) in operations.iter().enumerate() {
            let Some(entry) = found[operation] else { continue };
            match each.outcome {
                Outcome::Acknowledged { .. } if !acknowledged.insert(entry) => {
                    violations.push(Violation::AcknowledgedTwice { operation });
                }
                // A refused removal says nothing about the removal by another client.
                Outcome::Refused { .. } | Outcome::NotWritten if matches!(each.action, Action::Delete { .. }) => {
                    continue;
                }
                _ => {}
            }
            explained.insert(entry);
        }
        let unexplained = (0..self.entries.len()).filter(|entry| !explained.contains(entry));
        violations.extend(unexplained.map(|entry| Violation::Unexplained { seq: self.entries[entry].seq }));
        violations
    }

    /// Compares each operation with the acknowledgments before its start.
    fn check_times(&self, operations: &[Operation], found: &[Option<usize>]) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut answers: Vec<(&Operation, u64, u64)> = Vec::new();
        for (operation, entry) in operations.iter().zip(found) {
            if let (Outcome::Acknowledged { end, .. }, Some(entry)) = (operation.outcome, entry) {
                answers.push((operation, self.entries[*entry].seq, end));
            }
        }
        answers.sort_by_key(|(operation, ..)| operation.end);
        let mut answers = answers.into_iter().peekable();
        let mut by_start: Vec<usize> = (0..operations.len()).collect();
        by_start.sort_by_key(|operation| operations[*operation].start);
        let (mut last_end, mut positions) = (0_u64, HashMap::<&str, u64>::new());
        for operation in by_start {
            let each = &operations[operation];
            while let Some((earlier, seq, end)) = answers.next_if(|(earlier, ..)| earlier.end < each.start) {
                last_end = last_end.max(end);
                let position = positions.entry(&earlier.id).or_default();
                *position = seq.max(*position);
            }
            let is_put = matches!(each.action, Action::Put { .. });
            match (each.outcome, found[operation]) {
                (Outcome::Refused { found }, _) => {
                    let acknowledged = positions.get(each.id.as_str()).copied().unwrap_or_default();
                    violations.extend(self.check_refusal(operation, each, found, acknowledged));
                }
                // The entry of a removal without an answer may belong to another client.
                (Outcome::Acknowledged { .. } | Outcome::Unknown, Some(entry))
                    if is_put || each.outcome != Outcome::Unknown =>
                {
                    let seq = self.entries[entry].seq;
                    if seq <= last_end {
                        violations.push(Violation::OutOfOrder { operation, seq, end: last_end });
                    }
                }
                _ => {}
            }
        }
        violations
    }

    /// Checks the state that a refusal shows. A change of the agent at the position `acknowledged` was acknowledged
    /// before the operation began.
    fn check_refusal(
        &self,
        operation: usize,
        each: &Operation,
        found: Option<u64>,
        acknowledged: u64,
    ) -> Option<Violation> {
        let expected = each.action.expected();
        if expected.is_none() || found == expected {
            return Some(Violation::WrongRefusal { operation });
        }
        let is_stale = match found {
            Some(seq) => {
                let entry = self.entries.binary_search_by_key(&seq, |entry| entry.seq);
                let entry = entry.ok().map(|index| &self.entries[index]);
                if !entry.is_some_and(|entry| entry.id == each.id && entry.title.is_some()) {
                    return Some(Violation::WrongRefusal { operation });
                }
                seq < acknowledged
            }
            None => self.last_removals.get(each.id.as_str()).copied().unwrap_or_default() < acknowledged,
        };
        is_stale.then_some(Violation::StaleRefusal { operation, acknowledged })
    }
}
