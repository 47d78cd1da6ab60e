//! The chains of the audit trail: what is retained, and how damage is found.

use std::sync::Arc;

use agentdex::{
    access::{AccessRequest, Caller, Principal, Role},
    store::{AuditChain, AuditEntry, Author},
};

use super::*;

fn team() -> Author {
    let owner = "team".parse().unwrap();
    let principal = Principal { owner, role: Role::Register, key: "k1".into(), expires: None };
    Author::new(Caller::Principal(Arc::new(principal)), AccessRequest::default())
}

/// A store whose log and chains have at most so many entries once they are trimmed.
fn retaining(count: u64) -> TestStore {
    let mut options = Options::default();
    options.retained_changes = count;
    TestStore::with(options)
}

impl TestStore {
    /// Changes of descriptions by one key.
    fn change_as_team(&self, count: usize) {
        let from = self.durable().borrow().0;
        for number in 0..count {
            let text = format!("{{\"n\": {from}, \"m\": {number}}}");
            let write = write(&format!("urn:{}", number % 7), Precondition::Any, put(&text));
            self.submit_as(team(), vec![write]).wait().unwrap();
        }
    }

    fn note_as(&self, action: &str, chain: AuditChain) {
        let entry = AuditEntry { action: action.into(), target: "x".into(), chain: Some(chain), ..Default::default() };
        self.note(entry).wait().unwrap();
    }

    fn trail(&self) -> Vec<AuditEntry> {
        self.audited(0, usize::MAX).unwrap().entries
    }

    fn faults(&self) -> Vec<String> {
        self.check().unwrap().faults.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn many_own_changes_leave_entries_of_keys_and_denials_in_place() {
    let mut store = retaining(50);
    store.note_as("POST", AuditChain::Administration);
    store.note_as("denied", AuditChain::Denials);
    store.change_as_team(400);
    for _ in 0..2 {
        store.trim_log(Timestamp::now()).unwrap();
        let trail = store.trail();
        let actions: Vec<&str> = trail.iter().take(3).map(|entry| entry.action.as_str()).collect();
        assert_eq!((trail.len(), actions), (52, vec!["POST", "denied", "thing_updated"]));
        assert_eq!(store.faults(), [""; 0]);
        // Pages have the entries of all chains in order, each once.
        let mut paged = Vec::new();
        while let Some(page) =
            store.audited(paged.last().copied().unwrap_or(0), 7).ok().filter(|page| !page.entries.is_empty())
        {
            paged.extend(page.entries.iter().map(|entry| entry.number));
        }
        assert_eq!(paged, trail.iter().map(|entry| entry.number).collect::<Vec<_>>());
        assert_eq!(trail.last().unwrap().role, Some(Role::Register));
        store.reopen();
    }
}

/// The days of the arrivals that are left of a chain, once it is trimmed on another day.
fn left(arrivals: &[i64], today: i64, options: &Options) -> Vec<i64> {
    let day = |number: i64| Timestamp(number * 24 * 3600 * 1000);
    let mut store = TestStore::with(options.clone());
    let raw = store.open_raw();
    let mut at = Timestamp(0);
    for (number, arrival) in (1_u64..).zip(arrivals.iter().copied()) {
        at = at.max(day(arrival));
        let (arrived, target) = (Some(day(arrival)).filter(|arrived| *arrived != at), arrival.to_string());
        let (action, ordinal, chain) = ("denied".into(), Some(number), Some(AuditChain::Denials));
        let at = Some(at);
        let entry =
            AuditEntry { number, at, arrival: arrived, action, target, ordinal, chain, ..AuditEntry::default() };
        let key = [b"b/denials/", &number.to_be_bytes()[..]].concat();
        raw.insert(key, serde_json::to_vec(&entry).unwrap()).unwrap();
    }
    raw.flush().unwrap();
    drop(raw);
    store.reopen();
    store.trim_log(day(today)).unwrap();
    store.trail().iter().map(|entry| entry.target.parse().unwrap()).collect()
}

#[test]
fn an_entry_is_as_old_as_the_latest_arrival_up_to_it_that_is_not_in_the_future() {
    let options = Options::default().retained_for(Duration::from_secs(30 * 24 * 3600)).retained_at_any_age(0);
    let left = |arrivals: &[i64]| left(arrivals, 100, &options);
    assert_eq!(left(&[1, 50, 69, 71, 99]), [71, 99]);
    // The clock was ahead for a while, and is right again: the time of the log stays where it was meanwhile.
    assert_eq!(left(&[60, 500, 501, 71]), [71]);
    assert_eq!(left(&[60, 75, 500, 501, 99]), [75, 500, 501, 99]);
    assert_eq!(left(&[500, 501, 60, 99]), [99]);
    assert_eq!(left(&[500, 501, 90]), [500, 501, 90]);
    assert_eq!(left(&[500, 501]), [500, 501]);
    // The clock was behind for a while.
    assert_eq!(left(&[95, 3, 4, 96]), [95, 3, 4, 96]);
    // In more than one step.
    let many = [vec![60; 1100], vec![500; 1100], vec![80; 5]].concat();
    assert_eq!(left(&many), [80; 5]);
}

#[test]
fn the_latest_entries_of_a_chain_stay_whatever_their_age() {
    let arrivals: Vec<i64> = (0..20).collect();
    let options = Options::default().retained_at_any_age(4);
    assert_eq!(left(&arrivals, 1000, &options), [16, 17, 18, 19]);
    assert_eq!(left(&arrivals, 1000, &Options::default()), arrivals);
    assert_eq!(left(&arrivals, 1000, &Options::default().retained_changes(3)), [17, 18, 19]);
}

#[test]
fn numbers_and_chains_go_on_after_everything_was_dropped() {
    let mut store = TestStore::with(Options::default().retained_at_any_age(0));
    store.change_as_team(5);
    store.note_as("denied", AuditChain::Denials);
    store.trim_log(Timestamp::MAX).unwrap();
    assert_eq!(store.trail(), []);
    store.reopen();
    assert_eq!(store.faults(), [""; 0]);
    store.change_as_team(1);
    let trail = store.trail();
    assert_eq!((trail[0].number, trail[0].ordinal), (7, Some(6)));
    assert_eq!(store.faults(), [""; 0]);
}

#[test]
fn an_entry_that_was_changed_or_removed_breaks_its_chain() {
    let key = |chain: &str, number: u64| [chain.as_bytes(), &number.to_be_bytes()].concat();
    let before =
        |number, chain: &str| format!("the audit entry {number}: the chain of {chain} is broken before this entry");
    // Numbers 1 to 3 are changes, 4 and 5 denials, 6 and 7 changes again; 1 and 2 are dropped.
    let cases = [
        (key("a/", 3), None, before(6, "changes")),
        (key("a/", 6), None, before(7, "changes")),
        (key("a/", 6), Some("\"team\""), before(7, "changes")),
        (key("b/denials/", 4), Some("\"x\""), before(5, "denials")),
        (
            key("b/denials/", 5),
            None,
            "the end of the audit trail: the trail ends with entry 7, but its chains account for 6 entries".to_owned(),
        ),
        (key("b/denials/", 4), None, before(5, "denials")),
        (b"m/audit".to_vec(), None, before(3, "changes")),
    ];
    for (key, changed, expected) in cases {
        let mut store = retaining(3);
        store.change_as_team(3);
        store.note_as("denied", AuditChain::Denials);
        store.note_as("denied", AuditChain::Denials);
        store.change_as_team(2);
        store.trim_log(Timestamp::now()).unwrap();
        assert_eq!(store.faults(), [""; 0]);
        let raw = store.open_raw();
        let held = raw.remove(&key).unwrap().expect("it is there");
        if let Some(part) = changed {
            let text = String::from_utf8(held.to_vec()).unwrap();
            assert!(text.contains(part), "{text}");
            raw.insert(&key, text.replace(part, "\"y\"").as_bytes()).unwrap();
        }
        raw.flush().unwrap();
        drop(raw);
        store.reopen();
        let faults = store.faults();
        assert!(faults.iter().any(|fault| fault.starts_with(&expected)), "{expected}: {faults:?}");
    }
}

#[test]
fn an_entry_that_can_not_be_read_costs_no_other() {
    let mut store = TestStore::open();
    store.change_as_team(5);
    let raw = store.open_raw();
    raw.insert([b"a/", &3_u64.to_be_bytes()[..]].concat(), "{").unwrap();
    raw.flush().unwrap();
    drop(raw);
    store.reopen();
    assert_eq!(store.damaged(), 0);
    for (since, limit, expected) in [(0, 10, &[1, 2, 4, 5][..]), (1, 2, &[2, 4]), (2, 1, &[4])] {
        let read = store.audited(since, limit).unwrap();
        let numbers: Vec<u64> = read.entries.iter().map(|entry| entry.number).collect();
        assert_eq!((numbers.as_slice(), read.last), (expected, 5));
    }
    assert_eq!(store.damaged(), 1);
    assert_ne!(store.faults(), [""; 0]);
}

#[test]
fn entries_of_older_versions_are_followed_by_the_chain() {
    let mut store = TestStore::open();
    let raw = store.open_raw();
    for number in 1..=3_u64 {
        let entry = format!(r#"{{"number":{number},"at":"2099-01-01T00:00:00Z","action":"denied","target":"x"}}"#);
        raw.insert([b"a/", &number.to_be_bytes()[..]].concat(), entry.as_bytes()).unwrap();
    }
    raw.flush().unwrap();
    drop(raw);
    store.reopen();
    assert_eq!(store.faults(), [""; 0]);
    store.change_as_team(2);
    store.note_as("POST", AuditChain::Administration);
    let places: Vec<_> = store.trail().iter().map(|entry| (entry.number, entry.ordinal)).collect();
    assert_eq!(places, [(1, None), (2, None), (3, None), (4, Some(4)), (5, Some(5)), (6, Some(1))]);
    assert_eq!(store.faults(), [""; 0]);

    let raw = store.open_raw();
    raw.remove([b"a/", &3_u64.to_be_bytes()[..]].concat()).unwrap();
    raw.flush().unwrap();
    drop(raw);
    store.reopen();
    let faults = store.faults();
    assert!(faults[0].starts_with("the audit entry 4: the chain of changes is broken before this entry"), "{faults:?}");
}
