//! The check finds violations. These tests don't need etcd.

use std::time::Duration;

use super::{Action, Counts, Entry, History, Operation, Outcome, Violation, check};

fn entry(seq: u64, previous: u64, id: &str, title: Option<&str>) -> Entry {
    Entry { seq, previous, id: id.into(), title: title.map(str::to_owned), json: String::new() }
}

fn operation(times: (u64, u64), id: &str, action: Action, outcome: Outcome) -> Operation {
    let (start, end) = (Duration::from_secs(times.0), Duration::from_secs(times.1));
    Operation { start, end, node: 0, id: id.into(), action, outcome }
}

fn put(title: &str, expected: Option<u64>) -> Action {
    Action::Put { title: title.into(), expected }
}

fn acknowledged(seq: u64) -> Outcome {
    Outcome::Acknowledged { seq: Some(seq), end: seq }
}

const REMOVED: Outcome = Outcome::Acknowledged { seq: None, end: 5 };

/// Returns a history of two agents without violations.
fn history() -> History {
    let log = vec![
        entry(1, 0, "a", Some("one")),
        entry(2, 1, "b", Some("two")),
        entry(3, 2, "a", Some("three")),
        entry(5, 3, "a", None),
        entry(7, 5, "a", Some("six")),
    ];
    let operations = vec![
        operation((0, 1), "a", put("one", None), acknowledged(1)),
        operation((1, 4), "b", put("two", None), acknowledged(2)),
        operation((2, 3), "a", put("three", Some(1)), acknowledged(3)),
        operation((4, 5), "a", put("four", Some(1)), Outcome::Refused { found: Some(3) }),
        operation((6, 7), "a", Action::Delete { expected: 3 }, REMOVED),
        operation((8, 9), "a", put("five", Some(3)), Outcome::Refused { found: None }),
        operation((8, 10), "a", put("six", None), Outcome::Unknown),
        operation((8, 11), "b", put("seven", Some(2)), Outcome::Unknown),
        operation((8, 12), "b", put("eight", Some(2)), Outcome::NotWritten),
        operation((6, 13), "a", Action::Delete { expected: 3 }, Outcome::Unknown),
    ];
    History { operations, logs: vec![log; 3] }
}

/// Asserts that a history has a violation after a change.
#[track_caller]
fn assert_violation(change: impl FnOnce(&mut History), expected: &Violation) {
    let mut history = history();
    change(&mut history);
    let (_, violations) = check(&history);
    assert!(violations.contains(expected), "{expected:?} isn't in {violations:?}");
}

fn change_logs(history: &mut History, change: impl Fn(&mut Vec<Entry>)) {
    history.logs.iter_mut().for_each(change);
}

#[test]
fn history_without_violations_passes() {
    let (counts, violations) = check(&history());
    assert_eq!(violations, []);
    let of_outcomes =
        Counts { attempts: 10, acknowledged: 4, refused: 2, not_written: 1, unknown: 3, unknown_in_log: 1 };
    assert_eq!(counts, of_outcomes);
}

#[test]
fn differing_nodes_are_found() {
    assert_violation(|history| drop(history.logs[1].pop()), &Violation::NodesDiffer { node: 1, entry: 4 });
    assert_violation(|history| history.logs[2][1].json = "{}".into(), &Violation::NodesDiffer { node: 2, entry: 1 });
    assert_violation(|history| history.logs[2].clear(), &Violation::NodesDiffer { node: 2, entry: 0 });
}

#[test]
fn missing_and_repeated_writes_are_found() {
    let remove = |history: &mut History| change_logs(history, |log| drop(log.remove(1)));
    assert_violation(remove, &Violation::Lost { operation: 1 });
    assert_violation(remove, &Violation::Gap { seq: 3 });
    let repeat = |history: &mut History| change_logs(history, |log| log.push(entry(9, 7, "b", Some("two"))));
    assert_violation(repeat, &Violation::Repeated { seq: 9 });
    let remove_again = |history: &mut History| change_logs(history, |log| drop(log.remove(3)));
    assert_violation(remove_again, &Violation::Lost { operation: 4 });
}

#[test]
fn writes_of_nobody_are_found() {
    let add = |entry: Entry| move |history: &mut History| change_logs(history, |log| log.push(entry.clone()));
    assert_violation(add(entry(9, 7, "b", Some("nine"))), &Violation::Unexplained { seq: 9 });
    assert_violation(add(entry(9, 7, "b", None)), &Violation::Unexplained { seq: 9 });
    let refuse = |history: &mut History| {
        history.operations[4].outcome = Outcome::Refused { found: None };
        history.operations.pop();
    };
    assert_violation(refuse, &Violation::Unexplained { seq: 5 });
}

#[test]
fn refused_writes_in_the_log_are_found() {
    let add = |entry: Entry| move |history: &mut History| change_logs(history, |log| log.push(entry.clone()));
    assert_violation(add(entry(9, 7, "a", Some("four"))), &Violation::Written { operation: 3, seq: 9 });
    assert_violation(add(entry(9, 7, "b", Some("eight"))), &Violation::Written { operation: 8, seq: 9 });
}

#[test]
fn writes_at_other_positions_are_found() {
    let swap = |history: &mut History| {
        history.operations[1].outcome = acknowledged(3);
        history.operations[2].outcome = acknowledged(2);
    };
    assert_violation(swap, &Violation::Misplaced { operation: 1, seq: 2 });
    assert_violation(swap, &Violation::Misplaced { operation: 2, seq: 3 });
    let rename = |history: &mut History| history.operations[1].id = "c".into();
    assert_violation(rename, &Violation::Misplaced { operation: 1, seq: 2 });
    let acknowledge = |history: &mut History| history.operations[9].outcome = REMOVED;
    assert_violation(acknowledge, &Violation::AcknowledgedTwice { operation: 9 });
}

#[test]
fn writes_despite_their_precondition_are_found() {
    let expect = |history: &mut History| history.operations[2].action = put("three", Some(2));
    assert_violation(expect, &Violation::BrokenChain { operation: 2, before: Some(1) });
    // Without an answer, it holds as well.
    let expect = |history: &mut History| history.operations[6].action = put("six", Some(3));
    assert_violation(expect, &Violation::BrokenChain { operation: 6, before: None });
}

#[test]
fn writes_before_earlier_answers_are_found() {
    let begin_late = |index: usize| {
        move |history: &mut History| {
            let operation = &mut history.operations[index];
            (operation.start, operation.end) = (Duration::from_secs(20), Duration::from_secs(21));
        }
    };
    assert_violation(begin_late(1), &Violation::OutOfOrder { operation: 1, seq: 2, end: 5 });
    let without_answer = |history: &mut History| {
        history.operations[1].outcome = Outcome::Unknown;
        begin_late(1)(history);
    };
    assert_violation(without_answer, &Violation::OutOfOrder { operation: 1, seq: 2, end: 5 });
}

#[test]
fn stale_refusals_are_found() {
    let refuse = |index: usize, expected: Option<u64>, found: Option<u64>| {
        move |history: &mut History| {
            history.operations[index].action = put("refused", expected);
            history.operations[index].outcome = Outcome::Refused { found };
        }
    };
    assert_violation(refuse(3, Some(2), Some(1)), &Violation::StaleRefusal { operation: 3, acknowledged: 3 });
    assert_violation(refuse(8, Some(2), None), &Violation::StaleRefusal { operation: 8, acknowledged: 2 });
    assert_violation(refuse(3, Some(3), Some(3)), &Violation::WrongRefusal { operation: 3 });
    assert_violation(refuse(3, Some(1), Some(2)), &Violation::WrongRefusal { operation: 3 });
    assert_violation(refuse(3, None, Some(3)), &Violation::WrongRefusal { operation: 3 });
}
