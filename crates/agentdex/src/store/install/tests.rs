//! Two stores that install each other's commits stay equal on disk and in memory.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::Ordering},
};

use agentdex_api::{AuditChain, AuditEntry};
use tempfile::TempDir;

use super::*;
use crate::{
    access::{Access, AccessRequest, Caller, Namespace, Owner, Principal, Role, Visibility},
    change::{DeletionReason, Position, Precondition, Seq, Timestamp},
    store::{
        Author, CopiedDirectory, Declares, Edited, Expiry, NamespaceRecord, NamespaceWrite, Operation, Original,
        OwnDeclaration, Store, Ticket, Write, comparison::difference, log::Start, options::Options, view::View,
    },
};

const OWNERS: [&str; 3] = ["alice", "bob", "carol"];
const NAMESPACES: [&str; 2] = ["crew", "fleet"];
const IDS: u64 = 12;

/// Number of transactions between two comparisons of everything.
const COMPARED_EVERY: u64 = 250;

/// Number of steps of each history, most of which are one to three transactions.
const TRANSACTIONS: u64 = 3000;

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

/// A store, with a record of its published commits.
struct Observed {
    store: Store,
    published: Arc<Mutex<Vec<Pairs>>>,
}

impl Observed {
    fn open(directory: &Path) -> Observed {
        // The log is trimmed often.
        let options = Options::default().retained_changes(300).retained_at_any_age(100);
        let (store, published) = (Store::open(directory, options).unwrap(), Arc::<Mutex<Vec<Pairs>>>::default());
        let kept = published.clone();
        store.view.observe(Box::new(move |pairs, _| kept.lock().unwrap().push(pairs.clone())));
        Observed { store, published }
    }

    fn published(&self) -> Vec<Pairs> {
        std::mem::take(&mut *self.published.lock().unwrap())
    }

    fn install(&self, commits: impl Into<Folded>) -> std::result::Result<(), InstallError> {
        let installed = self.store.handle.committer.install(commits.into());
        self.published();
        installed
    }

    fn value(&self, key: &[u8]) -> Option<IVec> {
        self.store.view.tree.db().unwrap().get(key).unwrap()
    }
}

/// Directories of stores with the same identity and no records.
fn directories(root: &TempDir) -> (PathBuf, CopiedDirectory) {
    let (one, other) = (root.path().join("one"), root.path().join("other"));
    Store::open(&one, Options::default()).unwrap().close();
    let copy = CopiedDirectory::of_store(&one, other).unwrap();
    (one, copy)
}

fn id(number: u64) -> String {
    format!("urn:agent:{number}")
}

fn owner(name: &str) -> Owner {
    name.parse().unwrap()
}

fn namespace(name: &str) -> Namespace {
    name.parse().unwrap()
}

fn text(id: &str, title: u64) -> String {
    format!(
        r#"{{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"{id}","title":"T{title}","securityDefinitions":{{"n":{{"scheme":"nosec"}}}},"security":"n"}}"#
    )
}

fn write(id: &str, operation: Operation) -> Write {
    Write { id: id.to_owned(), precondition: Precondition::Any, operation, actor: None }
}

/// Random transactions of all kinds.
pub(in crate::store) struct Transactions {
    random: Random,
    step: u64,
    /// True if the authors of some of them restrict access.
    restrict: bool,
}

impl Transactions {
    pub fn new(seed: u64) -> Transactions {
        Transactions { random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), step: 0, restrict: true }
    }

    fn author(&mut self, store: &Store) -> Author {
        if !self.restrict {
            return Author::default();
        }
        let caller = match self.random.below(5) {
            0 => Caller::Trusted,
            number => {
                let role = if number == 4 { Role::Admin } else { Role::Register };
                let owner = owner(OWNERS[number as usize % 3]);
                Caller::Principal(Principal { owner, role, key: "k".into(), expires: None }.into())
            }
        };
        let visibilities =
            [None, None, Some(Visibility::Public), Some(Visibility::Private), Some(Visibility::Namespace)];
        let mut access = AccessRequest { visibility: self.random.of(&visibilities), ..AccessRequest::default() };
        let claimed = store.namespaces();
        if access.visibility == Some(Visibility::Namespace) && claimed.is_empty() {
            access.visibility = None;
        } else if access.visibility == Some(Visibility::Namespace) {
            let (number, record) = self.random.of(&claimed);
            (access.namespace, access.number) = (Some(Some(record.name.clone())), Some(number));
        }
        access.owner = self.random.one_in(8).then(|| owner(OWNERS[self.step as usize % 3]));
        access.all_versions = self.random.one_in(4);
        Author::new(caller, access)
    }

    fn expiry(&mut self) -> Expiry {
        let now = Timestamp::now();
        let expires = match self.random.below(4) {
            0 => Timestamp(now.0 - 1000),
            1 => now.plus_seconds(600),
            _ => return Expiry::default(),
        };
        Expiry { ttl: Some(60), expires: Some(expires) }
    }

    fn put(&mut self, id: &str, declares: Declares, has_original: bool) -> Write {
        let step = self.step;
        let original = has_original.then(|| Original {
            format: self.random.of(&["a2a", "mcp"]).into(),
            media_type: "application/json".into(),
            bytes: format!(r#"{{"v":{step}}}"#).into_bytes(),
            ..Original::default()
        });
        let (text, capabilities, expiry) = (text(id, step), vec![format!("c{}", step % 5)], self.expiry());
        write(id, Operation::Put { text, capabilities, expiry, patch: None, original, created: None, declares })
    }

    fn version(&mut self, id: &str) -> Write {
        let edited = self.random.one_in(4).then(|| Edited { text: text(id, 7), capabilities: Vec::new() });
        let version = Some(format!("1.{}.0", self.random.below(12)));
        let own = OwnDeclaration { version, is_sole: self.random.one_in(6), edited, ..OwnDeclaration::default() };
        self.put(id, Declares::Itself(own), true)
    }

    fn document(&mut self) -> Vec<Write> {
        let (document, version) = (id(self.random.below(3)), Some(format!("2.{}.0", self.random.below(3))));
        let parts: Vec<String> = (3..IDS).filter(|_| self.random.one_in(3)).map(id).collect();
        let own = OwnDeclaration { version: version.clone(), ..OwnDeclaration::default() };
        let mut writes = vec![self.put(&document, Declares::Itself(own), true)];
        for part in &parts {
            let declares = Declares::Document { id: document.clone(), version: version.clone() };
            let has_original = self.random.one_in(2);
            writes.push(self.put(part, declares, has_original));
        }
        writes.push(write(&document, Operation::Parts { version, ids: parts }));
        writes
    }

    fn writes(&mut self) -> Vec<Write> {
        let id = id(self.random.below(IDS));
        match self.random.below(16) {
            0..=2 => vec![self.put(&id, Declares::itself(), false)],
            3 | 4 => vec![self.version(&id)],
            5 => {
                let declares = Declares::ByHand { replaces: self.random.one_in(3), only_related: false };
                vec![self.put(&id, declares, false)]
            }
            6 | 7 => self.document(),
            8 => vec![write(&id, Operation::Remove(DeletionReason::Removed))],
            9 | 10 => vec![write(&id, Operation::Access)],
            11 => vec![write(&id, Operation::Renew { expiry: self.expiry() })],
            12 => vec![write(&id, Operation::Purge)],
            13 => {
                let version = format!("1.{}.0", self.random.below(12));
                vec![write(&id, Operation::RemoveVersion { version, expected: None })]
            }
            14 => vec![write(&id, Operation::Metadata(Some(vec![self.step as u8])))],
            _ => {
                let other = self::id(self.random.below(3));
                let operation = match self.random.one_in(2) {
                    true => Operation::JoinDocuments(vec![other]),
                    false => Operation::TakeParts((3..IDS).map(self::id).collect()),
                };
                vec![write(&id, operation)]
            }
        }
    }

    /// Changes members of a namespace, claims it, or gives it up.
    fn membership(&mut self, store: &Store) -> Ticket {
        let (name, owner) = (namespace(self.random.of(&NAMESPACES)), owner(OWNERS[0]));
        let number = store.find_namespace(&name).map(|(number, _)| number);
        let members = OWNERS.iter().filter(|_| self.random.one_in(2)).map(|name| name.parse().unwrap());
        let members: BTreeSet<Owner> = members.collect();
        let members = (number.is_none() || !self.random.one_in(4)).then_some(members);
        let (created, proof, given_up) = (Timestamp::now(), None, None);
        let record =
            NamespaceRecord { name, owner: Some(owner), created, proof, given_up, members: Default::default() };
        store.write_namespace(Author::default(), NamespaceWrite { number, record, members })
    }

    /// Carries out the next transaction on a store. Returns the number of writes that succeeded and failed.
    pub fn next(&mut self, store: &Store) -> (usize, usize) {
        self.step += 1;
        let key = format!("key{}", self.random.below(5));
        let query_owner = self.random.one_in(2).then(|| owner(self.random.of(&OWNERS)));
        let (mut tickets, mut outcomes) = (Vec::new(), Vec::new());
        match self.step % 40 {
            5 | 25 => tickets.push(self.membership(store)),
            9 => outcomes.push(store.local().put_key(&key, vec![self.step as u8])),
            13 => outcomes.push(store.local().remove_key(&key)),
            17 => outcomes.push(store.local().put_query(query_owner.as_ref(), "q", vec![self.step as u8])),
            19 => outcomes.push(store.local().remove_query(query_owner.as_ref(), "q")),
            23 => {
                let (action, target) = ("denied".into(), "/x".into());
                let chain = Some(self.random.of(&AuditChain::ALL));
                tickets.push(store.note(AuditEntry { action, target, chain, ..AuditEntry::default() }));
            }
            29 => outcomes.push(store.trim_log(Timestamp::now())),
            31 => {
                let position = Position { epoch: store.epoch(), seq: Seq(self.step) };
                store.local().set_position("follower", position).unwrap();
            }
            37 => {
                // The clock was ahead.
                store.handle.committer.advance_clock(Timestamp::now().plus_seconds(3600));
                let late = store.submit(vec![self.put("urn:late", Declares::itself(), false)]).wait();
                outcomes.extend([late.map(drop), store.accept_clock().map(drop)]);
            }
            _ => {
                // Several transactions in a commit.
                let (count, is_dry_run) = (1 + self.random.below(3), self.random.one_in(16));
                for _ in 0..count {
                    let (author, writes) = (self.author(store), self.writes());
                    tickets.push(match is_dry_run {
                        true => store.foretell(author, writes),
                        false => store.submit_as(author, writes),
                    });
                }
            }
        }
        outcomes.extend(tickets.into_iter().map(|ticket| ticket.wait().map(drop)));
        let succeeded = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        (succeeded, outcomes.len() - succeeded)
    }
}

/// Compares the pairs of a commit in two stores.
fn compare_pairs(one: &Observed, other: &Observed, commits: &[Pairs]) {
    for (key, _) in commits.iter().flatten() {
        assert_eq!(one.value(key), other.value(key), "{}", key.escape_ascii());
    }
    let ends = [one, other].map(|Observed { store, .. }| {
        (store.view.log.last(), store.len(), store.restricted_count(), format!("{:?}", store.view.audit.last()))
    });
    assert_eq!(ends[0], ends[1]);
}

fn compare(one: &Observed, other: &Observed) {
    let (one, other, now) = (&one.store, &other.store, Timestamp::now());
    assert_eq!(difference(&one.view, &other.view, now).unwrap(), None);
    for id in (0..IDS).map(id) {
        assert_eq!(one.lives_unseen(&id).unwrap(), other.lives_unseen(&id).unwrap(), "{id}");
    }
    assert_eq!(one.local().keys().unwrap(), other.local().keys().unwrap());
    assert_eq!(one.local().queries().unwrap(), other.local().queries().unwrap());
}

#[test]
fn stores_that_install_what_the_other_one_decided_are_equal() {
    for seed in 1..=5 {
        let root = tempfile::tempdir().unwrap();
        let (one, other) = directories(&root);
        let stores = [&one, other.path()].map(Observed::open);
        let mut all = Transactions::new(seed);
        let (mut done, mut refused, mut installed) = (0, 0, 0);
        for step in 1..=TRANSACTIONS {
            let turn = all.random.below(2) as usize;
            let (decides, installs) = (&stores[turn], &stores[1 - turn]);
            let (succeeded, failed) = all.next(&decides.store);
            (done, refused) = (done + succeeded, refused + failed);
            let commits = decides.published();
            for commit in &commits {
                installs.install(commit.clone()).unwrap();
            }
            installed += commits.len();
            compare_pairs(decides, installs, &commits);
            assert!(installs.store.log_time() <= Timestamp::now(), "the clock that was ahead is accepted");
            if step % COMPARED_EVERY == 0 {
                compare(decides, installs);
            }
        }
        compare(&stores[0], &stores[1]);
        println!("seed {seed}: {done} transactions, {refused} refused, {installed} commits installed");
        for store in stores {
            assert!(store.store.check().unwrap().faults.is_empty());
            store.store.close();
        }
        for directory in [&one, other.path()] {
            let store = Store::open(directory, Options::default()).unwrap();
            assert!(store.check().unwrap().faults.is_empty(), "after it was opened again");
            store.close();
        }
    }
}

#[test]
fn folded_commits_install_the_same() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = directories(&root);
    let [one, other] = [&one, other.path()].map(Observed::open);
    let mut all = Transactions::new(11);
    let mut most_folded = 0;
    for round in 0..8 {
        all.restrict = round % 2 == 0;
        for _ in 0..100 {
            all.next(&one.store);
        }
        let folded = Folded::fold(one.published());
        most_folded = most_folded.max(folded.iter().map(|folded| folded.commits).max().unwrap());
        for commits in folded {
            other.install(commits).unwrap();
        }
        compare(&one, &other);
    }
    assert!(most_folded > 4, "at most {most_folded} commits were folded");
    assert!(other.store.check().unwrap().faults.is_empty());
}

/// Returns the family of a key, if commits count it.
fn counted_family(key: &[u8]) -> Option<&'static [u8]> {
    Sum::COUNTED.into_iter().find(|prefix| key.starts_with(prefix) && *prefix != layout::ORIGIN_KEY)
}

/// A value with one byte changed.
fn changed(value: &[u8], random: &mut Random) -> IVec {
    let mut bytes = value.to_vec();
    let at = random.below(bytes.len() as u64) as usize;
    bytes[at] ^= 1 << random.below(8);
    bytes.into()
}

#[test]
fn a_byte_that_differs_in_a_counted_family_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = directories(&root);
    let [one, other] = [&one, other.path()].map(Observed::open);
    let mut all = Transactions::new(5);
    let (mut in_commit, mut on_disk) = (BTreeSet::new(), BTreeSet::new());
    let is_refused = |pairs: &Pairs| {
        let commit = State::decode(value_of(pairs, layout::STATE_KEY).unwrap()).unwrap().commit;
        let refused = other.install(pairs.clone());
        assert!(matches!(refused, Err(InstallError::Diverged { commit: of }) if of == commit), "{refused:?}");
    };
    // All families, but for the origin, which commits don't write.
    while in_commit.len() < Sum::COUNTED.len() - 1 || on_disk.len() < Sum::COUNTED.len() - 1 {
        assert!(all.step < 3000, "{in_commit:?}, {on_disk:?}");
        all.next(&one.store);
        for pairs in one.published() {
            for (place, (key, value)) in pairs.iter().enumerate() {
                let Some(family) = counted_family(key) else { continue };
                if let Some(value) = value.as_ref().filter(|_| in_commit.insert(family)) {
                    let mut other_pairs = pairs.clone();
                    other_pairs[place].1 = Some(changed(value, &mut all.random));
                    is_refused(&other_pairs);
                }
                if let Some(held) = other.value(key).filter(|_| on_disk.insert(family)) {
                    let db = other.store.view.tree.db().unwrap();
                    db.insert(key, changed(&held, &mut all.random)).unwrap();
                    is_refused(&pairs);
                    db.insert(key, held).unwrap();
                }
            }
            other.install(pairs).unwrap();
        }
    }
    compare(&one, &other);
}

#[test]
fn commits_that_a_store_can_not_have_decided_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = directories(&root);
    let [one, other] = [&one, other.path()].map(Observed::open);
    let mut all = Transactions::new(3);
    while one.published.lock().unwrap().len() < 2 {
        all.next(&one.store);
    }
    let commits = one.published();
    for key in [layout::EPOCH_KEY, layout::REGISTRY_KEY, layout::FORMAT_KEY, layout::ORIGIN_KEY, b"n/p/search", b"z"] {
        let pairs = [&commits[0][..], &[(key.into(), Some(IVec::default()))]].concat();
        let refused = other.install(pairs);
        assert!(matches!(refused, Err(InstallError::NotReplicated { .. })), "{refused:?}");
    }
    let large = [&commits[0][..], &[(b"t/1".into(), Some(vec![0; MAX_COMMIT_BYTES].into()))]].concat();
    assert!(matches!(other.install(large), Err(InstallError::TooLarge { .. })));
    assert!(matches!(other.install(commits[1].clone()), Err(InstallError::OutOfOrder { .. })));
    other.install(commits[0].clone()).unwrap();
    assert!(matches!(other.install(commits[0].clone()), Err(InstallError::OutOfOrder { .. })));
}

#[test]
fn differences_between_stores_are_found() {
    let private = || Access { owner: Some(owner("alice")), visibility: Visibility::Private, ..Access::default() };
    let changes: [&dyn Fn(&View); 8] = [
        &|view| view.records.store(view.records.load(Ordering::Acquire) + 1, Ordering::Release),
        &|view| view.restricted.publish_narrower(&[("urn:x".to_owned(), private())]),
        &|view| {
            let id = view.past.since(Seq::ZERO).remove(0);
            view.past.forget(&[(id.clone(), view.past.last(&id).unwrap())]);
        },
        &|view| view.namespaces.publish(vec![(view.namespaces.list()[0].0, None)]),
        &|view| {
            let mut end = view.audit.last();
            end.append(AuditEntry::default());
            view.audit.publish(end);
        },
        &|view| view.log.begin_at(Start { trimmed_to: view.log.last(), oldest: view.log.last().next() }),
        &|view| view.expiries.publish(vec![(layout::due_key(Timestamp(1), "urn:x"), true)], || {}),
        &|view| {
            let db = view.tree.db().unwrap();
            let (text, _) = db.scan_prefix(layout::TEXTS).next_back().unwrap().unwrap();
            db.insert(text, "{}").unwrap();
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        let (one, other) = directories(&root);
        let [one, other] = [&one, other.path()].map(Observed::open);
        let mut all = Transactions::new(8);
        let has_all = |store: &Store| !store.namespaces().is_empty() && !store.view.past.since(Seq::ZERO).is_empty();
        while all.step < 60 || !has_all(&one.store) {
            all.next(&one.store);
        }
        one.published().into_iter().for_each(|commit| other.install(commit).unwrap());
        compare(&one, &other);
        change(&other.store.view);
        let difference = difference(&one.store.view, &other.store.view, Timestamp::now()).unwrap();
        assert!(difference.is_some(), "change {number} is not found");
        // A shadow would find it too.
        other.store.view.close("a test has changed it".into());
    }
}

#[test]
fn a_store_is_consistent_after_each_transaction() {
    for seed in 1..=4 {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(&root.path().join("store"), Options::default()).unwrap();
        let mut all = Transactions::new(seed);
        for step in 1..=250 {
            all.next(&store);
            let faults = store.check().unwrap().faults;
            assert!(faults.is_empty(), "seed {seed}, step {step}: {faults:?}");
        }
        store.close();
    }
}
