//! The committer against a model of a few lines: any sequence of transactions, in groups as they come.

use std::collections::BTreeMap;

use agentdex::{
    Error,
    store::{Author, Original},
};
use proptest::{collection::vec, prelude::*};

use super::*;

const IDS: [&str; 4] = ["urn:a", "urn:ab", "urn:b", "urn:c"];

/// What a write does, without what only the store needs.
#[derive(Debug, Clone, Copy)]
enum Step {
    Put { value: u8, expiry: When, original: bool },
    Renew(When),
    Note(Option<u8>),
    Remove,
    Purge,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    Never,
    Past,
    Future,
}

/// A precondition that is to hold or fail by what the model knows.
#[derive(Debug, Clone, Copy)]
enum Condition {
    Any,
    Absent,
    Present,
    CurrentSeq,
    Seq(u64),
}

type Asked = (usize, Condition, Step);

#[derive(Debug, Clone)]
struct Thing {
    value: u8,
    seq: u64,
    expiry: When,
    original: Option<u8>,
    note: Option<u8>,
}

#[derive(Debug, Clone, Default)]
struct Model {
    things: BTreeMap<usize, Thing>,
    log: Vec<String>,
}

impl Model {
    fn apply(&mut self, transaction: &[(usize, Precondition, Step)]) -> Option<Vec<Outcome>> {
        let before = self.clone();
        // A purge that isn't due ends its transaction.
        let mut is_due = true;
        let mut write = |asked| match is_due {
            true => self.write(asked).inspect(|outcome| is_due = *outcome != Outcome::NotDue),
            false => Some(Outcome::NotDue),
        };
        let outcomes: Option<Vec<Outcome>> = transaction.iter().map(&mut write).collect();
        if outcomes.is_none() {
            *self = before;
        }
        outcomes
    }

    /// What comes of a dry run: the same outcomes, with the seq that each record has.
    fn foretell(&self, transaction: &[(usize, Precondition, Step)]) -> Option<Vec<Outcome>> {
        let outcomes = self.clone().apply(transaction)?;
        let live = |id| self.things.get(&id).filter(|thing| thing.expiry != When::Past);
        let foretold = outcomes.into_iter().zip(transaction).map(|(outcome, &(id, ..))| {
            let seq = live(id).map_or(Seq::ZERO, |thing| Seq(thing.seq));
            match outcome {
                Outcome::Created(_) => Outcome::Created(seq),
                Outcome::Updated(_) => Outcome::Updated(seq),
                Outcome::Renewed(_) => Outcome::Renewed(seq),
                Outcome::OriginalUpdated(_) => Outcome::OriginalUpdated(seq),
                Outcome::VersionsUpdated(_) => Outcome::VersionsUpdated(seq),
                Outcome::Removed(_) => Outcome::Removed(seq),
                Outcome::NotDue => Outcome::NotDue,
            }
        });
        Some(foretold.collect())
    }

    fn write(&mut self, &(id, precondition, step): &(usize, Precondition, Step)) -> Option<Outcome> {
        let found = self.things.get(&id).cloned();
        let live = found.clone().filter(|thing| thing.expiry != When::Past);
        if let Step::Purge = step {
            return Some(match (found, live) {
                (Some(_), None) => Outcome::Removed(self.delete(id)),
                _ => Outcome::NotDue,
            });
        }
        let holds = match precondition {
            Precondition::Any => live.is_some() || matches!(step, Step::Put { .. }),
            Precondition::Absent => live.is_none() && matches!(step, Step::Put { .. }),
            Precondition::Present => live.is_some(),
            Precondition::Seq(seq) => live.as_ref().is_some_and(|thing| thing.seq == seq.0),
        };
        if !holds {
            return None;
        }
        Some(match (step, live) {
            (Step::Put { value, expiry, original }, Some(mut thing)) => {
                let reformatted = original && thing.original.is_none();
                let changed = thing.value != value || reformatted;
                thing.note = thing.note.filter(|_| !changed);
                if thing.value != value {
                    thing.seq = self.append("thing_updated", id, &text_of(value));
                    thing.original = None;
                } else if reformatted {
                    thing.seq = self.append("thing_updated", id, "{}");
                }
                thing.original = if original { Some(value) } else { thing.original };
                (thing.value, thing.expiry) = (value, expiry);
                let seq = Seq(thing.seq);
                self.things.insert(id, thing);
                if changed { Outcome::Updated(seq) } else { Outcome::Renewed(seq) }
            }
            (Step::Put { value, expiry, original }, None) => {
                if found.is_some() {
                    self.delete(id);
                }
                let seq = self.append("thing_created", id, &text_of(value));
                self.things.insert(id, Thing { value, seq, expiry, original: original.then_some(value), note: None });
                Outcome::Created(Seq(seq))
            }
            (Step::Renew(expiry), Some(mut thing)) => {
                thing.expiry = expiry;
                let seq = Seq(thing.seq);
                self.things.insert(id, thing);
                Outcome::Renewed(seq)
            }
            (Step::Note(note), Some(mut thing)) => {
                thing.note = note.filter(|_| thing.original.is_some());
                let seq = Seq(thing.seq);
                self.things.insert(id, thing);
                Outcome::Renewed(seq)
            }
            (Step::Remove, Some(_)) => Outcome::Removed(self.delete(id)),
            (Step::Renew(_) | Step::Note(_) | Step::Remove | Step::Purge, _) => return None,
        })
    }

    fn delete(&mut self, id: usize) -> Seq {
        self.things.remove(&id);
        Seq(self.append("thing_deleted", id, ""))
    }

    fn append(&mut self, kind: &str, id: usize, text: &str) -> u64 {
        let number = self.log.len() as u64 + 1;
        self.log.push(format!("{number} {kind} {} {text}", IDS[id]).trim_end().to_owned());
        nth(number).0
    }

    /// The precondition that a condition comes to; in a transaction as it was before it.
    fn precondition(&self, id: usize, condition: Condition) -> Precondition {
        match condition {
            Condition::Any => Precondition::Any,
            Condition::Absent => Precondition::Absent,
            Condition::Present => Precondition::Present,
            Condition::CurrentSeq => Precondition::Seq(Seq(self.things.get(&id).map_or(1, |thing| thing.seq))),
            Condition::Seq(seq) => Precondition::Seq(Seq(seq)),
        }
    }

    fn agrees_with(&self, store: &TestStore) -> Result<(), TestCaseError> {
        prop_assert_eq!(store.log(), self.log.clone());
        let live: Vec<(usize, &Thing)> = self
            .things
            .iter()
            .filter(|(_, thing)| thing.expiry != When::Past)
            .map(|(&id, thing)| (id, thing))
            .collect();
        prop_assert_eq!(store.ids(), live.iter().map(|(id, _)| IDS[*id].to_owned()).collect::<Vec<_>>());
        prop_assert_eq!(store.len(), live.len() as u64);
        let expired = store.expired(Timestamp::now(), 100).expect("reading succeeds").len();
        prop_assert_eq!(expired, self.things.len() - live.len());
        for (id, thing) in live {
            let record = store.find(IDS[id]).expect("reading succeeds").expect("it is there");
            prop_assert_eq!((record.text, record.seq.0), (text_of(thing.value), thing.seq));
            prop_assert_eq!(record.expiry.expires.is_some(), thing.expiry == When::Future);
            let original = store.original(IDS[id]).expect("reading succeeds");
            prop_assert_eq!(original.map(|original| original.bytes), thing.original.map(|value| vec![value]));
            let note = store.metadata(IDS[id]).expect("reading succeeds");
            prop_assert_eq!(note, thing.note.map(|note| vec![note]));
        }
        let noted: Vec<String> =
            store.all_metadata().expect("reading succeeds").into_iter().map(|(id, _)| id).collect();
        let expected = self.things.iter().filter(|(_, thing)| thing.note.is_some()).map(|(&id, _)| IDS[id].to_owned());
        prop_assert_eq!(noted, expected.collect::<Vec<_>>());
        for (index, id) in IDS.iter().enumerate() {
            let history: Vec<String> =
                store.history(id, Seq::ZERO, 1000).expect("reading succeeds").iter().map(sketch).collect();
            let expected = self.log.iter().filter(|line| line.split(' ').nth(2) == Some(IDS[index]));
            prop_assert_eq!(history, expected.cloned().collect::<Vec<_>>());
        }
        Ok(())
    }
}

/// One member, always another value: the merge patch between two is the later one.
fn text_of(value: u8) -> String {
    format!(r#"{{"value":{value}}}"#)
}

fn operation(step: Step) -> Operation {
    let expiry = |when| match when {
        When::Never => Expiry::default(),
        When::Past => past(None),
        When::Future => future(None),
    };
    match step {
        Step::Put { value, expiry: when, original } => Operation::Put {
            text: text_of(value),
            capabilities: vec![format!("capability-{value}")],
            expiry: expiry(when),
            patch: None,
            original: original.then(|| Original {
                format: "test".into(),
                media_type: "text/plain".into(),
                bytes: vec![value],
                ..Original::default()
            }),
            created: None,
            declares: Declares::itself(),
        },
        Step::Renew(when) => Operation::Renew { expiry: expiry(when) },
        Step::Note(note) => Operation::Metadata(note.map(|note| vec![note])),
        Step::Remove => Operation::Remove(DeletionReason::Removed),
        Step::Purge => Operation::Purge,
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let when = || prop_oneof![3 => Just(When::Never), 1 => Just(When::Past), 1 => Just(When::Future)];
    let step = prop_oneof![
        6 => (0..3_u8, when(), any::<bool>()).prop_map(|(value, expiry, original)| Step::Put { value, expiry, original }),
        1 => when().prop_map(Step::Renew),
        2 => prop::option::of(0..3_u8).prop_map(Step::Note),
        2 => Just(Step::Remove),
        1 => Just(Step::Purge),
    ];
    let condition = prop_oneof![
        6 => Just(Condition::Any),
        1 => Just(Condition::Absent),
        1 => Just(Condition::Present),
        2 => Just(Condition::CurrentSeq),
        1 => (1..9_u64).prop_map(Condition::Seq),
    ];
    (0..IDS.len(), condition, step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn store_does_what_the_model_does(
        transactions in vec((prop::bool::weighted(0.3), vec(asked(), 1..5)), 1..40),
        group_size in 1..20_usize,
    ) {
        let mut store = TestStore::with(Options::default().group_size(group_size));
        let mut model = Model::default();
        let (mut tickets, mut expected) = (Vec::new(), Vec::new());
        for (dry_run, transaction) in transactions {
            let asked: Vec<(usize, Precondition, Step)> = transaction
                .into_iter()
                .map(|(id, condition, step)| (id, model.precondition(id, condition), step))
                .collect();
            let writes = asked.iter().map(|&(id, precondition, step)| write(IDS[id], precondition, operation(step)));
            if dry_run {
                tickets.push(store.foretell(Author::default(), writes.collect()));
                expected.push(model.foretell(&asked));
            } else {
                tickets.push(store.submit(writes.collect()));
                expected.push(model.apply(&asked));
            }
        }
        for (ticket, expected) in tickets.into_iter().zip(expected) {
            match (ticket.wait(), expected) {
                (Ok(outcomes), Some(expected)) => prop_assert_eq!(outcomes.outcomes, expected),
                (Err(Error::PreconditionFailed { .. }), None) => {}
                (outcomes, expected) => prop_assert!(false, "{outcomes:?} where {expected:?} was expected"),
            }
        }
        model.agrees_with(&store)?;
        store.reopen();
        model.agrees_with(&store)?;
    }
}
