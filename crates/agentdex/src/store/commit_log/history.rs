//! Check of the history of several stores with a shared log: all answers must be true, and in the order of the log.

use std::collections::{BTreeMap, HashMap};

use crate::change::{Precondition, Seq};

/// A write, with its answer. Times are nanoseconds of the same clock.
#[derive(Debug, Clone)]
pub struct Call {
    /// Number of the call, recorded in the log as the actor.
    pub call: u64,
    pub id: String,
    pub expects: Precondition,
    pub started: u64,
    pub answered: u64,
    pub answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Written at a position.
    Done(Seq),
    /// Refused, since the last change of the Thing had this position, or since the Thing didn't exist.
    Refused(Option<Seq>),
    /// Not written.
    NotWritten,
    /// Unknown to the caller.
    Unknown,
}

/// A read of a Thing at a store.
#[derive(Debug, Clone)]
pub struct Read {
    pub reader: usize,
    pub id: String,
    pub found: Option<Seq>,
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: Seq,
    pub previous: Seq,
    pub id: String,
    /// Number of the call that wrote the entry, or `None` if it was written by another writer.
    pub call: Option<u64>,
    pub is_removal: bool,
}

/// History of several stores. Calls may be in any order. The reads of each reader are in the order in which they were
/// made.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub calls: Vec<Call>,
    pub reads: Vec<Read>,
    /// Log of each store.
    pub logs: Vec<Vec<Entry>>,
}

/// Fault of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// The log of a store differs from the log of the first store.
    LogsDiffer(usize),
    /// The log has a gap before an entry, or goes back at the entry.
    Chain(Seq),
    /// The log contains a call twice.
    Twice(u64),
    /// The log lacks a call at the reported position.
    Lost(u64),
    /// The log contains a refused or unknown call.
    Applied(u64),
    /// A call succeeded although its precondition didn't hold.
    Unmet(u64),
    /// A call was refused although its precondition held, or with a state that never existed.
    Refused(u64),
    /// A call has a lower position than a call answered before it began.
    Order(u64),
    /// A refusal shows an older state than the answer to an earlier call.
    Stale(u64),
    /// A reader saw a state, and then an older state.
    WentBack(usize),
}

/// Entries of the log, by Thing.
struct Things<'h>(HashMap<&'h str, BTreeMap<Seq, &'h Entry>>);

impl History {
    /// Checks the history, in O(n log n).
    pub fn check(&self) -> Result<(), Wrong> {
        let Some(log) = self.logs.first() else { return Ok(()) };
        if let Some(other) = self.logs.iter().position(|other| other != log) {
            return Err(Wrong::LogsDiffer(other));
        }
        check_chain(log)?;
        let things = Things::of(log);
        self.check_answers(log, &things)?;
        self.check_order(&things)?;
        self.check_reads(&things)
    }

    fn check_answers(&self, log: &[Entry], things: &Things<'_>) -> Result<(), Wrong> {
        let mut entries: HashMap<u64, &Entry> = HashMap::new();
        for (call, entry) in log.iter().filter_map(|entry| Some((entry.call?, entry))) {
            if entries.insert(call, entry).is_some() {
                return Err(Wrong::Twice(call));
            }
        }
        for Call { call, id, expects, answer, .. } in &self.calls {
            match (answer, entries.remove(call)) {
                (Answer::Done(seq), Some(entry)) if entry.seq == *seq && entry.id == *id => {}
                (Answer::Done(_), _) => return Err(Wrong::Lost(*call)),
                (Answer::Unknown, Some(entry)) if entry.id == *id => {}
                (_, Some(_)) => return Err(Wrong::Applied(*call)),
                (Answer::Refused(found), None) => {
                    if expects.holds(*found) || !things.was(id, *found) {
                        return Err(Wrong::Refused(*call));
                    }
                }
                (Answer::NotWritten | Answer::Unknown, None) => {}
            }
            if let Answer::Done(seq) = answer
                && !expects.holds(things.before(id, *seq))
            {
                return Err(Wrong::Unmet(*call));
            }
        }
        entries.keys().next().map_or(Ok(()), |call| Err(Wrong::Applied(*call)))
    }

    fn check_order(&self, things: &Things<'_>) -> Result<(), Wrong> {
        let mut started: Vec<&Call> = self.calls.iter().collect();
        started.sort_by_key(|call| call.started);
        let done = self.calls.iter().filter_map(|call| match call.answer {
            Answer::Done(seq) => Some((call.answered, seq, &*call.id)),
            _ => None,
        });
        let mut answered: Vec<_> = done.collect();
        answered.sort_unstable();
        let mut answered = answered.into_iter().peekable();
        let (mut last, mut last_of) = (Seq::ZERO, HashMap::<&str, Seq>::new());
        for call in started {
            while let Some((_, seq, id)) = answered.next_if(|(at, ..)| *at < call.started) {
                last = last.max(seq);
                let of_thing = last_of.entry(id).or_default();
                *of_thing = seq.max(*of_thing);
            }
            let known = last_of.get(&*call.id).copied().unwrap_or_default();
            match call.answer {
                Answer::Done(seq) if seq <= last => return Err(Wrong::Order(call.call)),
                Answer::Refused(found) if things.at_or_after(&call.id, found, known).is_none() => {
                    return Err(Wrong::Stale(call.call));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_reads(&self, things: &Things<'_>) -> Result<(), Wrong> {
        let mut seen = HashMap::<(usize, &str), Seq>::new();
        for Read { reader, id, found } in &self.reads {
            let seen = seen.entry((*reader, id)).or_default();
            *seen = things.at_or_after(id, *found, *seen).ok_or(Wrong::WentBack(*reader))?;
        }
        Ok(())
    }
}

fn check_chain(log: &[Entry]) -> Result<(), Wrong> {
    let mut last = Seq::ZERO;
    for entry in log {
        if entry.previous != last || entry.seq <= last {
            return Err(Wrong::Chain(entry.seq));
        }
        last = entry.seq;
    }
    Ok(())
}

impl<'h> Things<'h> {
    fn of(log: &'h [Entry]) -> Things<'h> {
        let mut things = HashMap::<&str, BTreeMap<Seq, &Entry>>::new();
        for entry in log {
            things.entry(&entry.id).or_default().insert(entry.seq, entry);
        }
        Things(things)
    }

    /// Returns the last change of a Thing before a position, or `None` if it didn't exist.
    fn before(&self, id: &str, seq: Seq) -> Option<Seq> {
        let (_, entry) = self.0.get(id)?.range(..seq).next_back()?;
        (!entry.is_removal).then_some(entry.seq)
    }

    /// True if the Thing was in this state at some time.
    fn was(&self, id: &str, found: Option<Seq>) -> bool {
        self.at_or_after(id, found, Seq::ZERO).is_some()
    }

    /// Returns the first entry of a Thing at `from` or later with a resulting state.
    fn at_or_after(&self, id: &str, found: Option<Seq>, from: Seq) -> Option<Seq> {
        let Some(entries) = self.0.get(id) else { return found.is_none().then_some(Seq::ZERO) };
        match found {
            Some(seq) => entries.get(&seq).filter(|entry| seq >= from && !entry.is_removal).map(|entry| entry.seq),
            None if from == Seq::ZERO => Some(Seq::ZERO),
            None => entries.range(from..).find(|(_, entry)| entry.is_removal).map(|(seq, _)| *seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(call: u64, at: [u64; 2], expects: Precondition, answer: Answer) -> Call {
        Call { call, id: "a".into(), expects, started: at[0], answered: at[1], answer }
    }

    fn entry(seq: u64, call: u64, is_removal: bool) -> Entry {
        Entry { seq: Seq(seq), previous: Seq(seq - 1), id: "a".into(), call: Some(call), is_removal }
    }

    /// Created, replaced, refused, removed, and created again by somebody who doesn't know it.
    fn right() -> History {
        use Answer::{Done, NotWritten, Refused, Unknown};
        use Precondition::{Absent, Present};
        let calls = vec![
            call(1, [0, 10], Absent, Done(Seq(1))),
            call(2, [20, 30], Precondition::Seq(Seq(1)), Done(Seq(2))),
            call(3, [40, 50], Absent, Refused(Some(Seq(2)))),
            call(4, [40, 55], Present, Done(Seq(3))),
            call(5, [60, 70], Present, Refused(None)),
            call(6, [61, 71], Absent, Unknown),
            call(7, [80, 90], Absent, Unknown),
            call(8, [80, 90], Absent, NotWritten),
        ];
        let log = vec![entry(1, 1, false), entry(2, 2, false), entry(3, 4, true), entry(4, 6, false)];
        let read = |reader, found: Option<u64>| Read { reader, id: "a".into(), found: found.map(Seq) };
        let reads = vec![read(0, None), read(0, Some(1)), read(0, None), read(1, Some(2)), read(0, Some(4))];
        History { calls, reads, logs: vec![log.clone(), log] }
    }

    /// The fault of a history after a change of it.
    fn wrong(change: impl FnOnce(&mut History)) -> Wrong {
        let mut history = right();
        change(&mut history);
        history.check().unwrap_err()
    }

    fn of_all(history: &mut History, change: impl Fn(&mut Vec<Entry>)) {
        history.logs.iter_mut().for_each(change);
    }

    fn renumber(log: &mut [Entry]) {
        (1..).zip(log).for_each(|(seq, entry)| (entry.seq, entry.previous) = (Seq(seq), Seq(seq - 1)));
    }

    #[test]
    fn a_right_history_passes() {
        assert_eq!(right().check(), Ok(()));
    }

    #[test]
    fn wrong_histories_do_not() {
        use Answer::{Done, Refused};
        assert_eq!(wrong(|it| drop(it.logs[1].pop())), Wrong::LogsDiffer(1));
        let lost = |it: &mut History| {
            of_all(it, |log| {
                log.remove(1);
                renumber(log);
            });
        };
        assert_eq!(wrong(lost), Wrong::Lost(2));
        assert_eq!(wrong(|it| of_all(it, |log| drop(log.remove(1)))), Wrong::Chain(Seq(3)));
        let swapped = |it: &mut History| {
            of_all(it, |log| {
                log.swap(0, 1);
                renumber(log);
            });
        };
        assert_eq!(wrong(swapped), Wrong::Lost(1));
        let repeated = |it: &mut History| {
            of_all(it, |log| {
                log.insert(1, log[0].clone());
                renumber(log);
            });
        };
        assert_eq!(wrong(repeated), Wrong::Twice(1));
        let of_nobody = |it: &mut History| of_all(it, |log| log.push(entry(5, 99, true)));
        assert_eq!(wrong(of_nobody), Wrong::Applied(99));
        assert_eq!(wrong(|it| it.calls[3].answer = Refused(None)), Wrong::Applied(4));
        assert_eq!(wrong(|it| it.calls[1].expects = Precondition::Absent), Wrong::Unmet(2));
        assert_eq!(wrong(|it| it.calls[2].answer = Refused(None)), Wrong::Refused(3), "that was expected");
        assert_eq!(wrong(|it| it.calls[2].answer = Refused(Some(Seq(9)))), Wrong::Refused(3), "it never was so");
        assert_eq!(wrong(|it| it.calls[2].answer = Refused(Some(Seq(1)))), Wrong::Stale(3));
        let late = |it: &mut History| {
            it.calls[0].started = 31;
            it.calls[0].answered = 35;
        };
        assert_eq!(wrong(late), Wrong::Order(1));
        assert_eq!(
            wrong(|it| it.reads.push(Read { reader: 0, id: "a".into(), found: Some(Seq(2)) })),
            Wrong::WentBack(0)
        );
        assert_eq!(wrong(|it| it.reads.push(Read { reader: 0, id: "a".into(), found: None })), Wrong::WentBack(0));
        assert_eq!(wrong(|it| it.calls[0].answer = Done(Seq(2))), Wrong::Lost(1));
    }
}
