//! Namespaces in the store: memberships are entries of the log, numbers are given once, and after each kind of write the
//! checksum of the content is right.

use std::collections::{BTreeMap, BTreeSet};

use agentdex::{
    Error,
    access::{Access, AccessRequest, Caller, NamespaceNumber, Owner, Principal, Role, Visibility},
    store::{
        Author, CopiedDirectory, Logged, Membership, NamespaceRecord, NamespaceWrite, Original, Purpose, StoredQuery,
        Verdict, inspect, restore,
    },
};

use super::*;

fn owner(name: &str) -> Owner {
    name.parse().expect("it is a name")
}

fn members(names: &[&str]) -> BTreeSet<Owner> {
    names.iter().map(|name| owner(name)).collect()
}

fn namespace(number: Option<u64>, names: Option<&[&str]>) -> NamespaceWrite {
    let record = NamespaceRecord {
        name: "crew".parse().expect("it is a name"),
        owner: Some(owner("alice")),
        created: Timestamp(0),
        proof: None,
        given_up: None,
        members: BTreeMap::new(),
    };
    NamespaceWrite { number: number.map(NamespaceNumber), record, members: names.map(members) }
}

fn written(store: &Store, write: NamespaceWrite) {
    store.write_namespace(Author::default(), write).wait().expect("it is written");
}

fn alice(request: AccessRequest) -> Author {
    let principal = Principal { owner: owner("alice"), role: Role::Register, key: "k".into(), expires: None };
    Author::new(Caller::Principal(std::sync::Arc::new(principal)), request)
}

fn shown_to(number: u64) -> AccessRequest {
    AccessRequest {
        visibility: Some(Visibility::Namespace),
        namespace: Some(Some("crew".parse().expect("it is a name"))),
        number: Some(NamespaceNumber(number)),
        ..AccessRequest::default()
    }
}

fn memberships(store: &Store) -> Vec<Membership> {
    let part = store.changes(Seq::ZERO, usize::MAX).expect("reading succeeds");
    let memberships = part.entries.iter().filter_map(|entry| match entry {
        Logged::Membership(membership) => Some(Membership::clone(membership)),
        Logged::Change(_) | Logged::Declaration(_) => None,
    });
    memberships.collect()
}

#[test]
fn memberships_are_entries_of_the_log() {
    let mut store = TestStore::open();
    store.put("urn:a", "{}");
    written(&store, namespace(None, Some(&["alice", "bob"])));
    store.put("urn:b", "{}");
    written(&store, namespace(Some(1), Some(&["alice", "carol"])));
    // Nothing has changed: no entry.
    written(&store, namespace(Some(1), Some(&["alice", "carol"])));
    written(&store, namespace(Some(1), None));
    written(&store, namespace(None, Some(&["bob"])));
    for _ in 0..2 {
        let found = memberships(&store);
        let told: Vec<_> = found.iter().map(|one| (one.number.0, one.joined.clone(), one.left.clone())).collect();
        let owners = |names: &[&str]| names.iter().map(|name| owner(name)).collect::<Vec<_>>();
        let expected = [
            (1, owners(&["alice", "bob"]), vec![]),
            (1, owners(&["carol"]), owners(&["bob"])),
            (1, vec![], owners(&["alice", "carol"])),
            (2, owners(&["bob"]), vec![]),
        ];
        assert_eq!(told, expected);
        assert_eq!(found.iter().map(|one| number_of(one.seq)).collect::<Vec<_>>(), [2, 4, 5, 6]);
        let part = store.changes(Seq::ZERO, usize::MAX).expect("reading succeeds");
        let ascending = part.entries.iter().try_fold(Seq::ZERO, |last, entry| entry.follows(last).then(|| entry.seq()));
        assert_eq!((ascending, part.entries.len()), (Some(part.last), 6), "none is missing");
        let grants = store.grants_of(&owner("bob"));
        assert_eq!(grants.member_since, [(NamespaceNumber(2), nth(6))].into());
        assert_eq!(grants.formerly, [(NamespaceNumber(1), vec![(nth(2), nth(4))])].into());
        assert!(store.namespace(NamespaceNumber(1)).is_some_and(|record| record.given_up == Some(nth(5))));
        store.reopen();
    }
    let taken = store.write_namespace(Author::default(), namespace(Some(1), Some(&["mallory"]))).wait();
    assert!(taken.is_err(), "what was given up is never the same again");
}

#[test]
fn thing_is_shown_to_a_namespace_by_its_members_alone() {
    let store = TestStore::open();
    written(&store, namespace(None, Some(&["alice"])));
    let put_as = |author: Author| {
        let outcome = store.submit_as(author, vec![write("urn:a", Precondition::Any, put(r#"{"a":1}"#))]).wait();
        outcome.map_err(|error| error.code())
    };
    assert!(put_as(alice(shown_to(1))).is_ok());
    written(&store, namespace(Some(1), Some(&["bob"])));
    // The same again is a renewal.
    assert!(put_as(alice(AccessRequest::default())).is_ok());
    let other = || vec![write("urn:a", Precondition::Any, put(r#"{"a":2}"#))];
    let refused = store.submit_as(alice(AccessRequest::default()), other()).wait();
    assert_eq!(refused.map_err(|error| error.code()), Err("not-member"));
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    assert!(store.submit_as(alice(private), other()).wait().is_ok());
    assert_eq!(put_as(alice(shown_to(1))), Err("not-member"));
    assert_eq!(put_as(alice(shown_to(0))), Err("not-member"), "nobody has claimed it");
    // Admins and programs do as they like.
    assert!(put_as(Author { access: shown_to(1), ..Author::default() }).is_ok());
}

#[test]
fn namespaces_and_memberships_go_once_the_log_begins_later() {
    let mut store = TestStore::with(Options::default().retained_changes(2));
    written(&store, namespace(None, Some(&["alice", "bob"])));
    written(&store, namespace(Some(1), Some(&["alice"])));
    written(&store, namespace(Some(1), None));
    written(&store, namespace(None, Some(&["alice", "bob"])));
    written(&store, namespace(Some(2), Some(&["alice"])));
    let author = Author { access: shown_to(1), to_new: Access::default(), ..Author::default() };
    let outcome = store.submit_as(author, vec![write("urn:a", Precondition::Any, put("{}"))]).wait();
    outcome.expect("a program may");
    for number in 0..4 {
        store.put("urn:b", &format!(r#"{{"b":{number}}}"#));
    }
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    let bob = store.grants_of(&owner("bob"));
    assert!(bob.formerly.is_empty(), "{bob:?}");
    assert!(store.namespace(NamespaceNumber(1)).is_some(), "a Thing is shown to it");
    store.write(write("urn:a", Precondition::Any, Operation::Remove(DeletionReason::Removed))).expect("it is there");
    for number in 4..8 {
        store.put("urn:b", &format!(r#"{{"b":{number}}}"#));
    }
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    for _ in 0..2 {
        assert!(store.namespace(NamespaceNumber(1)).is_none() && store.namespace(NamespaceNumber(2)).is_some());
        assert_eq!(store.check().expect("reading succeeds").faults, []);
        store.reopen();
    }
    // Its number isn't given again, and its name only once it is free.
    written(&store, namespace(Some(2), None));
    written(&store, namespace(None, Some(&["bob"])));
    assert!(store.namespace(NamespaceNumber(3)).is_some());
}

#[test]
fn sum_of_what_is_stored_is_right_after_each_kind_of_write() {
    let mut store = TestStore::with(Options::default().retained_changes(5));
    let check = |store: &Store, after: &str| {
        let checked = store.check().expect("reading succeeds");
        assert_eq!(checked.faults, [], "after {after}");
    };
    check(&store, "it was made");
    written(&store, namespace(None, Some(&["alice", "bob"])));
    check(&store, "a claim");
    let put_by = |store: &Store, author: Author, text: &str| {
        store.submit_as(author, vec![write("urn:a", Precondition::Any, put(text))]).wait().map(drop)
    };
    put_by(&store, alice(shown_to(1)), r#"{"a":1}"#).expect("she may");
    check(&store, "a creation that the namespace sees");
    put_by(&store, alice(AccessRequest::default()), r#"{"a":2}"#).expect("she may");
    check(&store, "an update");
    put_by(&store, alice(AccessRequest::default()), r#"{"a":2}"#).expect("she may");
    check(&store, "a renewal");
    let public = AccessRequest { visibility: Some(Visibility::Public), ..AccessRequest::default() };
    store.submit_as(alice(public), vec![write("urn:a", Precondition::Any, Operation::Access)]).wait().expect("she may");
    check(&store, "another access");
    let original = Original {
        format: "a2a".into(),
        media_type: "application/json".into(),
        bytes: b"{}".into(),
        ..Original::default()
    };
    let converted = |text: &str| match put(text) {
        Operation::Put { text, capabilities, expiry, patch, created, .. } => Operation::Put {
            text,
            capabilities,
            expiry,
            patch,
            original: Some(original.clone()),
            created,
            declares: Declares::itself(),
        },
        other => other,
    };
    store.write(write("urn:o", Precondition::Any, converted("{}"))).expect("it is new");
    check(&store, "an import");
    store.write(write("urn:o", Precondition::Any, Operation::Metadata(Some(b"m".into())))).expect("it is there");
    check(&store, "metadata");
    let ttl = Expiry { ttl: Some(3600), expires: Some(Timestamp::now().plus_seconds(3600)) };
    store.write(write("urn:e", Precondition::Any, put_expiring("{}", ttl))).expect("it is new");
    store
        .write(write("urn:x", Precondition::Any, put_expiring("{}", Expiry { ttl: None, expires: Some(Timestamp(1)) })))
        .expect("it is new");
    store.write(write("urn:x", Precondition::Any, Operation::Purge)).expect("it is due");
    check(&store, "a purge");
    let of_alice = Some(owner("alice"));
    store.local().put_query(None, "q", b"{}".into()).expect("it is written");
    store.local().put_query(of_alice.as_ref(), "q", b"[]".into()).expect("it is written");
    let query = |owner, query: &str| StoredQuery { owner, name: "q".into(), query: query.into() };
    assert_eq!(store.local().queries().expect("they are read"), [query(of_alice, "[]"), query(None, "{}")]);
    store.local().put_key("k", b"{}".into()).expect("it is written");
    check(&store, "a query and a key");
    store.local().remove_query(None, "q").expect("it is written");
    store.local().remove_key("k").expect("it is written");
    check(&store, "their removal");
    let refused = vec![write("urn:n", Precondition::Any, put("{}")), write("urn:a", Precondition::Absent, put("{}"))];
    store.submit(refused).wait().expect_err("it is there");
    store.foretell(Author::default(), vec![write("urn:n", Precondition::Any, put("{}"))]).wait().expect("it would be");
    check(&store, "what was taken back");
    store.write(write("urn:o", Precondition::Any, Operation::Remove(DeletionReason::Removed))).expect("it is there");
    written(&store, namespace(Some(1), None));
    check(&store, "removals");
    store.trim_log(Timestamp::now()).expect("trimming succeeds");
    check(&store, "trimming");
    store.reopen();
    check(&store, "a start");
    store.put("urn:after", "{}");
    check(&store, "the grace");
    let pairs: Vec<_> = store.snapshot().expect("it begins").collect();
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let pairs = pairs.into_iter().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())));
    restore(elsewhere.path(), pairs, Purpose::Registry).expect("it is restored");
    let restored = Store::open(elsewhere.path(), Options::default()).expect("it opens");
    check(&restored, "a restore");
    assert_eq!(restored.origin().map(|origin| origin.epoch), Some(store.epoch()));
}

#[test]
fn same_text_with_another_access_keeps_its_original() {
    let store = TestStore::open();
    let original = Original {
        format: "a2a".into(),
        media_type: "application/json".into(),
        bytes: b"{}".into(),
        ..Original::default()
    };
    let Operation::Put { text, capabilities, expiry, patch, created, .. } = put("{}") else { panic!("it is a put") };
    let import = Operation::Put {
        text,
        capabilities,
        expiry,
        patch,
        original: Some(original.clone()),
        created,
        declares: Declares::itself(),
    };
    store
        .submit_as(alice(AccessRequest::default()), vec![write("urn:a", Precondition::Any, import)])
        .wait()
        .expect("new");
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    let ttl = Expiry { ttl: Some(60), expires: Some(Timestamp::now().plus_seconds(60)) };
    let again = write("urn:a", Precondition::Any, put_expiring("{}", ttl));
    let outcome = store.submit_as(alice(private), vec![again]).wait().expect("she may");
    assert_eq!(outcome, [Outcome::Updated(nth(2))]);
    let record = store.find("urn:a").expect("reading succeeds").expect("it is there");
    assert_eq!(
        (record.access.visibility, record.expiry.ttl, record.format.as_deref()),
        (Visibility::Private, Some(60), Some("a2a"))
    );
    assert_eq!(store.original("urn:a").expect("reading succeeds"), Some(original));
    assert_eq!(store.check().expect("reading succeeds").faults, []);
}

#[test]
fn other_sum_is_a_fault() {
    let mut store = TestStore::open();
    store.put("urn:a", "{}");
    store.put("urn:b", "{}");
    let tree = store.open_raw();
    let record = tree.get("r/urn:a").expect("sled reads").expect("it is there");
    let mut other = record.to_vec();
    // The moment of its creation, which nothing else has.
    other[20] ^= 1;
    tree.insert("r/urn:a", other).expect("sled writes");
    tree.flush().expect("sled writes");
    drop(tree);
    let copy = CopiedDirectory::of(store.directory.path()).expect("it is copied");
    let inspection = inspect(&copy).expect("a copy is read");
    assert_eq!(inspection.verdict, Verdict::Refused);
    let faults: Vec<_> = inspection.checked.faults.iter().map(|fault| fault.place.as_str()).collect();
    assert_eq!(faults, ["the store", "the checksum of the content"]);
    assert!(matches!(Store::open(store.directory.path(), Options::default()), Err(Error::StoreDamaged { .. })));
}
