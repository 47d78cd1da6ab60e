//! Records that documents declare, against a model of sets: eight threads import, edit, remove, hide, expire and renew them at
//! random.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    thread,
};

use agentdex::{
    Error,
    access::{AccessRequest, Caller, Owner, Principal, Role, Visibility},
    store::{Author, Declarer, Original, OwnDeclaration},
};

use super::{damage::Random, *};

const DOCUMENTS: [&str; 3] = ["urn:d0", "urn:d1", "urn:d2"];
const PARTS: [&str; 4] = ["urn:p0", "urn:p1", "urn:p2", "urn:p3"];
const OWNERS: [&str; 2] = ["alice", "bob"];

/// A document or a part.
#[derive(Debug, Clone, Copy)]
enum Record {
    Document(usize),
    Part(usize),
}

/// An expiry, in days from the start of the test: no run takes a day. In order, with the last as the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Expires {
    Ago(i64),
    Ahead(i64),
    Never,
}

#[derive(Debug, Clone)]
enum Step {
    Import {
        document: usize,
        members: BTreeSet<usize>,
        number: u64,
        expires: Expires,
    },
    /// By hand: an edit of what is there.
    Edit {
        part: usize,
        number: u64,
    },
    /// By hand: something else altogether.
    Replace {
        part: usize,
        number: u64,
    },
    /// Something else altogether, from another registry, with the documents that it is a part of.
    Join {
        part: usize,
        documents: BTreeSet<usize>,
        number: u64,
    },
    Remove {
        part: usize,
    },
    RemoveDocument {
        document: usize,
    },
    Show {
        document: usize,
        visibility: Visibility,
    },
    /// Also into the past: as if the time had come.
    Renew {
        record: Record,
        expires: Expires,
    },
    /// What the clock does with what has expired.
    Purge {
        record: Record,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    owner: usize,
    visibility: Visibility,
    documents: BTreeSet<usize>,
    /// The number of the last edit.
    edit: Option<u64>,
    expires: Expires,
}

#[derive(Debug, Clone)]
struct Document {
    owner: usize,
    visibility: Visibility,
    members: BTreeSet<usize>,
    expires: Expires,
}

/// What was registered, with what has expired and isn't purged yet.
#[derive(Debug, Default)]
struct Model {
    documents: BTreeMap<usize, Document>,
    parts: BTreeMap<usize, Part>,
}

fn width(visibility: Visibility) -> u8 {
    match visibility {
        Visibility::Private => 0,
        Visibility::Namespace => 1,
        Visibility::Public => 2,
    }
}

impl Expires {
    fn is_due(self) -> bool {
        matches!(self, Expires::Ago(_))
    }

    fn expiry(self, start: Timestamp) -> Expiry {
        const DAY_MS: i64 = 24 * 3600 * 1000;
        let expires = match self {
            Expires::Ago(days) | Expires::Ahead(days) => Some(Timestamp(start.0 + days * DAY_MS)),
            Expires::Never => None,
        };
        Expiry { ttl: None, expires }
    }
}

impl Model {
    /// True if the step is refused.
    fn refuses(&mut self, caller: usize, step: &Step) -> bool {
        match step {
            Step::Import { document, members, expires, .. } => {
                return self.import(caller, *document, members, *expires);
            }
            Step::Edit { part, number } => match self.live_part(*part) {
                Some(part) if part.owner != caller => return true,
                Some(part) => {
                    part.edit = Some(*number);
                    if part.documents.is_empty() {
                        part.expires = Expires::Never;
                    }
                }
                None => self.register(caller, *part, Some(*number), Visibility::Public),
            },
            Step::Replace { part, .. } => return self.replace(caller, *part),
            Step::Join { part, documents, .. } => {
                if self.replace(caller, *part) {
                    return true;
                }
                for id in documents {
                    if let Some(document) = self.live_document(*id).filter(|document| document.owner == caller) {
                        document.members.insert(*part);
                        self.parts.get_mut(part).unwrap().documents.insert(*id);
                        self.reconcile(*part);
                    }
                }
            }
            Step::Remove { part } => {
                if self.live_part(*part).is_none_or(|part| part.owner != caller) {
                    return true;
                }
                self.remove_part(*part);
            }
            Step::RemoveDocument { document } => {
                if self.live_document(*document).is_none_or(|document| document.owner != caller) {
                    return true;
                }
                self.remove_document(*document);
            }
            Step::Show { document, visibility } => {
                let Some(found) = self.live_document(*document).filter(|document| document.owner == caller) else {
                    return true;
                };
                if found.visibility != *visibility {
                    found.visibility = *visibility;
                    let members = found.members.clone();
                    members.into_iter().for_each(|part| self.reconcile(part));
                }
            }
            Step::Renew { record: Record::Document(document), expires } => {
                match self.live_document(*document).filter(|document| document.owner == caller) {
                    Some(document) => document.expires = *expires,
                    None => return true,
                }
                self.follow(*document);
            }
            Step::Renew { record: Record::Part(part), expires } => {
                match self.live_part(*part).filter(|part| part.owner == caller) {
                    Some(part) if part.documents.is_empty() => part.expires = *expires,
                    Some(_) => {}
                    None => return true,
                }
            }
            Step::Purge { record: Record::Document(document) } => {
                if self.documents.get(document).is_some_and(|document| document.expires.is_due()) {
                    self.remove_document(*document);
                }
            }
            Step::Purge { record: Record::Part(part) } => {
                if self.parts.get(part).is_some_and(|part| part.expires.is_due()) {
                    self.remove_part(*part);
                }
            }
        }
        false
    }

    fn import(&mut self, caller: usize, id: usize, members: &BTreeSet<usize>, expires: Expires) -> bool {
        match self.live_document(id) {
            Some(document) if document.owner != caller => return true,
            Some(document) => document.expires = expires,
            None => {
                self.remove_document(id);
                let visibility = Visibility::Public;
                self.documents.insert(id, Document { owner: caller, visibility, members: BTreeSet::new(), expires });
            }
        }
        self.follow(id);
        for part in members {
            if self.live_part(*part).is_none() {
                self.remove_part(*part);
            }
            let document = &self.documents[&id];
            if document.expires.is_due() {
                continue;
            }
            let Document { visibility, expires, .. } = *document;
            let fresh = Part { owner: caller, visibility, documents: [id].into(), edit: None, expires };
            let declared = self.parts.entry(*part).or_insert(fresh);
            if !declared.documents.is_empty() && declared.owner == caller {
                declared.documents.insert(id);
                self.documents.get_mut(&id).unwrap().members.insert(*part);
                self.reconcile(*part);
            }
        }
        if !expires.is_due() {
            let left: Vec<usize> = self.documents[&id].members.difference(members).copied().collect();
            left.into_iter().for_each(|part| self.release(id, part));
        }
        false
    }

    fn replace(&mut self, caller: usize, part: usize) -> bool {
        let live = self.live_part(part);
        if live.as_ref().is_some_and(|live| live.owner != caller) {
            return true;
        }
        let visibility = live.map_or(Visibility::Public, |live| live.visibility);
        self.register(caller, part, None, visibility);
        false
    }

    fn live_document(&mut self, document: usize) -> Option<&mut Document> {
        self.documents.get_mut(&document).filter(|document| !document.expires.is_due())
    }

    fn live_part(&mut self, part: usize) -> Option<&mut Part> {
        self.parts.get_mut(&part).filter(|part| !part.expires.is_due())
    }

    /// Makes a part a record of its own.
    fn register(&mut self, owner: usize, part: usize, edit: Option<u64>, visibility: Visibility) {
        self.remove_part(part);
        let own = Part { owner, visibility, documents: BTreeSet::new(), edit, expires: Expires::Never };
        self.parts.insert(part, own);
    }

    fn remove_part(&mut self, part: usize) {
        self.parts.remove(&part);
        for document in self.documents.values_mut() {
            document.members.remove(&part);
        }
    }

    fn remove_document(&mut self, document: usize) {
        let members = self.documents.remove(&document).map(|document| document.members).unwrap_or_default();
        members.into_iter().for_each(|part| self.release(document, part));
    }

    fn release(&mut self, document: usize, part: usize) {
        if let Some(released) = self.parts.get_mut(&part) {
            released.documents.remove(&document);
            if let Some(document) = self.documents.get_mut(&document) {
                document.members.remove(&part);
            }
            self.reconcile(part);
        }
    }

    /// Makes a part what those of its documents say that haven't expired; it goes with the last of them.
    fn reconcile(&mut self, id: usize) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        let documents = &self.documents;
        let is_live = |id: &usize| documents.get(id).is_some_and(|document| !document.expires.is_due());
        part.documents.retain(is_live);
        let seen = part.documents.iter().map(|document| documents[document].visibility);
        let Some(widest) = seen.max_by_key(|seen| width(*seen)) else { return self.remove_part(id) };
        part.visibility = widest;
        part.expires = part.documents.iter().map(|document| documents[document].expires).max().unwrap();
        let left = self.documents.iter_mut().filter(|(document, _)| !part.documents.contains(document));
        for (_, document) in left {
            document.members.remove(&id);
        }
    }

    /// Gives the parts of a document the last expiry of all their documents.
    fn follow(&mut self, document: usize) {
        for part in &self.documents[&document].members {
            let part = self.parts.get_mut(part).unwrap();
            part.expires = part.documents.iter().map(|document| self.documents[document].expires).max().unwrap();
        }
    }

    /// The ids of what has expired.
    fn expired(&self) -> BTreeSet<&'static str> {
        let documents = self.documents.iter().filter(|(_, document)| document.expires.is_due());
        let parts = self.parts.iter().filter(|(_, part)| part.expires.is_due());
        documents.map(|(document, _)| DOCUMENTS[*document]).chain(parts.map(|(part, _)| PARTS[*part])).collect()
    }
}

fn text(id: &str, title: &str, more: &str) -> String {
    format!(
        r#"{{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"{id}","title":"{title}","securityDefinitions":{{"n":{{"scheme":"nosec"}}}},"security":"n"{more}}}"#
    )
}

fn put_as(id: &str, text: String, declares: Declares) -> Write {
    put_until(id, text, declares, Expiry::default())
}

fn put_until(id: &str, text: String, declares: Declares, expiry: Expiry) -> Write {
    let original = matches!(declares, Declares::Itself(_) | Declares::Document { .. });
    let original = original.then(|| Original {
        format: "agent-spec".into(),
        media_type: "application/json".into(),
        bytes: text.clone().into_bytes(),
        ..Original::default()
    });
    let capabilities = Vec::new();
    let operation = Operation::Put { text, capabilities, expiry, patch: None, original, created: None, declares };
    write(id, Precondition::Any, operation)
}

fn by_hand(replaces: bool) -> Declares {
    Declares::ByHand { replaces, only_related: false }
}

fn writes(step: &Step, start: Timestamp) -> (AccessRequest, Vec<Write>) {
    let mut access = AccessRequest::default();
    let writes = match step {
        Step::Import { document, members, number, expires } => {
            let id = DOCUMENTS[*document];
            let description = format!(r#","description":"{number}""#);
            let declares = Declares::Itself(OwnDeclaration::default());
            let own = put_until(id, text(id, id, &description), declares, expires.expiry(start));
            let part = |part: &usize| {
                let declares = Declares::Document { id: id.to_owned(), version: None };
                put_as(PARTS[*part], text(PARTS[*part], PARTS[*part], &description), declares)
            };
            let ids = members.iter().map(|part| PARTS[*part].to_owned()).collect();
            let parts = write(id, Precondition::Any, Operation::Parts { version: None, ids });
            std::iter::once(own).chain(members.iter().map(part)).chain([parts]).collect()
        }
        Step::Edit { part, number } => {
            let id = PARTS[*part];
            // Not where an edit is written over the text of a document.
            let edited = text(id, id, "").replacen('{', &format!(r#"{{"support":"urn:edit:{number}","#), 1);
            vec![put_as(id, edited, by_hand(false))]
        }
        Step::Replace { part, number } => vec![put_as(PARTS[*part], another(PARTS[*part], *number), by_hand(true))],
        Step::Join { part, documents, number } => {
            let id = PARTS[*part];
            let documents = documents.iter().map(|document| DOCUMENTS[*document].to_owned()).collect();
            vec![
                put_as(id, another(id, *number), by_hand(true)),
                put_as(id, another(id, *number), Declares::itself()),
                write(id, Precondition::Any, Operation::JoinDocuments(documents)),
            ]
        }
        Step::Remove { part } => vec![write(PARTS[*part], Precondition::Any, remove())],
        Step::RemoveDocument { document } => vec![write(DOCUMENTS[*document], Precondition::Any, remove())],
        Step::Show { document, visibility } => {
            access.visibility = Some(*visibility);
            vec![write(DOCUMENTS[*document], Precondition::Any, Operation::Access)]
        }
        Step::Renew { record, expires } => {
            vec![write(record.id(), Precondition::Any, Operation::Renew { expiry: expires.expiry(start) })]
        }
        Step::Purge { record } => vec![write(record.id(), Precondition::Any, Operation::Purge)],
    };
    (access, writes)
}

impl Record {
    fn id(self) -> &'static str {
        match self {
            Record::Document(document) => DOCUMENTS[document],
            Record::Part(part) => PARTS[part],
        }
    }
}

/// A text that has nothing in common with another one.
fn another(id: &str, number: u64) -> String {
    text(id, &format!("Another {number}"), "")
}

fn remove() -> Operation {
    Operation::Remove(DeletionReason::Removed)
}

fn expires(random: &mut Random) -> Expires {
    match random.below(6) {
        0 => Expires::Ago(-2),
        1 => Expires::Ago(-1),
        2 => Expires::Ahead(1),
        3 => Expires::Ahead(2),
        _ => Expires::Never,
    }
}

fn step(random: &mut Random) -> Step {
    let (document, part, number) = (random.below(3) as usize, random.below(4) as usize, random.below(1 << 40));
    let record = match random.below(3) {
        0 => Record::Part(part),
        _ => Record::Document(document),
    };
    match random.below(16) {
        0..=4 => {
            let members = (0..4).filter(|_| random.below(2) == 0).collect();
            // Most last.
            let expires = if random.below(2) == 0 { Expires::Never } else { expires(random) };
            Step::Import { document, members, number, expires }
        }
        5 => Step::Edit { part, number },
        6 => Step::Replace { part, number },
        7 => Step::Remove { part },
        8 => Step::RemoveDocument { document },
        9 | 10 => {
            let visibility = if random.below(2) == 0 { Visibility::Private } else { Visibility::Public };
            Step::Show { document, visibility }
        }
        11 | 12 => Step::Renew { record, expires: expires(random) },
        13 => Step::Purge { record },
        _ => Step::Join { part, documents: (0..3).filter(|_| random.below(3) > 0).collect(), number },
    }
}

fn author(owner: usize, access: AccessRequest) -> Author {
    let owner: Owner = OWNERS[owner].parse().unwrap();
    let principal = Principal { owner, role: Role::Register, key: "k".into(), expires: None };
    Author::new(Caller::Principal(principal.into()), access)
}

/// What readers get: what has expired is no longer among it.
fn assert_is(store: &Store, model: &Model, start: Timestamp, seed: u64) {
    for (part, id) in PARTS.iter().enumerate() {
        let record = store.find(id).unwrap();
        let mut expected = model.parts.get(&part).filter(|part| !part.expires.is_due()).cloned();
        let found = record.as_ref().map(|record| Part {
            owner: OWNERS.iter().position(|owner| record.access.owner.as_ref().unwrap().as_str() == *owner).unwrap(),
            visibility: record.access.visibility,
            documents: record
                .part_of
                .iter()
                .map(|id| DOCUMENTS.iter().position(|document| document == id).unwrap())
                .collect(),
            edit: record.text.split_once("urn:edit:").map(|(_, rest)| rest.split('"').next().unwrap().parse().unwrap()),
            expires: expires_of(record.expiry, start),
        });
        if let (Some(expected), Some(found)) = (&mut expected, &found)
            && found.edit.is_none()
            && expected.edit.is_some()
            && found.visibility == Visibility::Public
        {
            // It was edited while fewer saw it.
            assert!(record.as_ref().unwrap().is_edited, "seed {seed}: {id}");
            expected.edit = None;
        }
        assert_eq!(found, expected, "seed {seed}: {id}");
    }
    for (document, id) in DOCUMENTS.iter().enumerate() {
        let found = store.find(id).unwrap();
        let found = found.map(|record| (record.access.visibility, expires_of(record.expiry, start)));
        let expected = model.documents.get(&document).filter(|document| !document.expires.is_due());
        assert_eq!(found, expected.map(|document| (document.visibility, document.expires)), "seed {seed}: {id}");
    }
    let expired = store.all_expired(Timestamp::now()).unwrap();
    let expired: BTreeSet<&str> = expired.iter().map(String::as_str).collect();
    assert_eq!(expired, model.expired(), "seed {seed}");
    let faults = store.check().unwrap().faults;
    assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
}

fn expires_of(expiry: Expiry, start: Timestamp) -> Expires {
    let all = [Expires::Ago(-2), Expires::Ago(-1), Expires::Ahead(1), Expires::Ahead(2), Expires::Never];
    all.into_iter().find(|expires| expires.expiry(start) == expiry).unwrap()
}

#[test]
fn records_are_what_a_model_of_sets_says() {
    let start = Timestamp::now();
    let mut purged = 0;
    for seed in 1..=super::damage::number("AGENTDEX_DECLARATIONS", 40) {
        let mut store = TestStore::open();
        let model = Mutex::new(Model::default());
        thread::scope(|scope| {
            for number in 0..8 {
                let (store, model) = (&store, &model);
                scope.spawn(move || {
                    let mut random = Random(seed * 100 + number);
                    random.below(1);
                    for _ in 0..12 {
                        let (owner, step) = (random.below(2) as usize, step(&mut random));
                        let (access, writes) = writes(&step, start);
                        // The order of submission is that of the log.
                        let mut model = model.lock().unwrap();
                        let is_refused = model.refuses(owner, &step);
                        let ticket = store.submit_as(author(owner, access), writes);
                        drop(model);
                        let outcome = ticket.wait();
                        assert_eq!(outcome.is_err(), is_refused, "seed {seed}: {step:?} by {owner}: {outcome:?}");
                        // What is written later may hide it.
                        let faults = if number == 0 { store.check().unwrap().faults } else { Vec::new() };
                        assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
                    }
                });
            }
        });
        let mut model = model.into_inner().unwrap();
        assert_is(&store, &model, start, seed);
        store.reopen();
        assert_is(&store, &model, start, seed);
        // As the clock purges; what goes with what comes before it isn't due any more.
        for id in store.expired(Timestamp::now(), 100).unwrap() {
            let record = match DOCUMENTS.iter().position(|document| *document == id) {
                Some(document) => Record::Document(document),
                None => Record::Part(PARTS.iter().position(|part| *part == id).unwrap()),
            };
            model.refuses(0, &Step::Purge { record });
            store.write(write(&id, Precondition::Any, Operation::Purge)).unwrap();
            assert_is(&store, &model, start, seed);
            purged += 1;
        }
        assert_eq!(store.records_unpurged(None).count() as u64, store.len(), "seed {seed}");
    }
    assert!(purged > 0);
}

#[test]
fn versions_lie_side_by_side_and_the_highest_is_served() {
    let mut store = TestStore::open();
    let put = |version: &str| {
        let more = format!(r#","version":{{"instance":"{version}"}}"#);
        let own = OwnDeclaration { version: Some(version.to_owned()), ..OwnDeclaration::default() };
        put_as("urn:v", text("urn:v", "V", &more), Declares::Itself(own))
    };
    let outcomes = ["1.0.0", "2.0.0", "1.5.0", "2.0.0", "beta"].map(|version| store.write(put(version)).unwrap());
    assert!(matches!(outcomes[0], Outcome::Created(_)) && matches!(outcomes[1], Outcome::Updated(_)), "{outcomes:?}");
    let is_stored = |outcome: &Outcome| matches!(outcome, Outcome::VersionsUpdated(_));
    assert!(is_stored(&outcomes[2]) && is_stored(&outcomes[4]), "{outcomes:?}");
    assert!(matches!(outcomes[3], Outcome::Renewed(_)), "the same again: {outcomes:?}");
    let serves = |store: &TestStore, version: &str| {
        let record = store.find("urn:v").unwrap().unwrap();
        assert!(record.text.contains(&format!(r#""instance":"{version}""#)), "{version}: {}", record.text);
        assert_eq!(store.check().unwrap().faults, []);
    };
    serves(&store, "2.0.0");
    let declared = store.declared("urn:v").unwrap().unwrap().declarations;
    let mut versions: Vec<_> = declared.iter().map(|(declaration, ..)| declaration.version.clone().unwrap()).collect();
    versions.sort();
    assert_eq!(versions, ["1.0.0", "1.5.0", "2.0.0", "beta"]);
    assert!(declared.iter().all(|(declaration, ..)| declaration.by == Declarer::Itself));
    // An edit is one of what is served, and stays.
    store
        .write(put_as(
            "urn:v",
            text("urn:v", "V", r#","version":{"instance":"2.0.0"},"support":"urn:s""#),
            by_hand(false),
        ))
        .unwrap();
    store.write(put("3.0.0")).unwrap();
    store.reopen();
    serves(&store, "3.0.0");
    assert!(store.find("urn:v").unwrap().unwrap().text.contains("urn:s"));
    let remove = |version: &str| Operation::RemoveVersion { version: version.to_owned(), expected: None };
    store.write(write("urn:v", Precondition::Any, remove("3.0.0"))).unwrap();
    serves(&store, "2.0.0");
    assert!(matches!(
        store.write(write("urn:v", Precondition::Any, remove("3.0.0"))),
        Err(Error::NoSuchVersion { .. })
    ));
    for version in ["2.0.0", "1.5.0", "beta", "1.0.0"] {
        store.write(write("urn:v", Precondition::Any, remove(version))).unwrap();
    }
    assert!(store.find("urn:v").unwrap().is_none());
    assert_eq!(store.check().unwrap().faults, []);
    for number in 0..25 {
        store.write(put(&format!("1.{number}.0"))).unwrap();
    }
    assert_eq!(store.declared("urn:v").unwrap().unwrap().declarations.len(), 20);
    serves(&store, "1.24.0");
}
