//! Records that documents declare, against a model of sets: eight threads import, edit, remove and hide them at random.

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

#[derive(Debug, Clone)]
enum Step {
    Import {
        document: usize,
        members: BTreeSet<usize>,
        number: u64,
    },
    /// By hand: an edit of what is there.
    Edit {
        part: usize,
        number: u64,
    },
    /// By hand: something else altogether.
    Replace {
        part: usize,
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
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    owner: usize,
    visibility: Visibility,
    documents: BTreeSet<usize>,
    /// The number of the last edit.
    edit: Option<u64>,
}

#[derive(Debug, Default)]
struct Model {
    /// Owner, visibility and members.
    documents: BTreeMap<usize, (usize, Visibility, BTreeSet<usize>)>,
    parts: BTreeMap<usize, Part>,
}

fn width(visibility: Visibility) -> u8 {
    match visibility {
        Visibility::Private => 0,
        Visibility::Namespace => 1,
        Visibility::Public => 2,
    }
}

impl Model {
    /// True if the step is refused.
    fn refuses(&mut self, caller: usize, step: &Step) -> bool {
        let is_others = |owner: Option<usize>| owner.is_some_and(|owner| owner != caller);
        match step {
            Step::Import { document, members, .. } => {
                if is_others(self.documents.get(document).map(|(owner, ..)| *owner)) {
                    return true;
                }
                let visibility =
                    self.documents.get(document).map_or(Visibility::Public, |(_, visibility, _)| *visibility);
                let before = self.documents.remove(document).map(|(.., members)| members).unwrap_or_default();
                let mut declared = BTreeSet::new();
                for part in members {
                    let fresh = Part { owner: caller, visibility, documents: BTreeSet::new(), edit: None };
                    let part_of = self.parts.entry(*part).or_insert(Part { documents: [*document].into(), ..fresh });
                    if !part_of.documents.is_empty() && part_of.owner == caller {
                        part_of.documents.insert(*document);
                        declared.insert(*part);
                    }
                }
                self.documents.insert(*document, (caller, visibility, declared));
                self.release(*document, before.difference(members).copied().collect());
                self.settle();
            }
            Step::Edit { part, number } => match self.parts.get_mut(part) {
                Some(part) if part.owner != caller => return true,
                Some(part) => part.edit = Some(*number),
                None => {
                    let visibility = Visibility::Public;
                    let own = Part { owner: caller, visibility, documents: BTreeSet::new(), edit: Some(*number) };
                    self.parts.insert(*part, own);
                }
            },
            Step::Replace { part } => {
                if is_others(self.parts.get(part).map(|part| part.owner)) {
                    return true;
                }
                let visibility = self.parts.get(part).map_or(Visibility::Public, |part| part.visibility);
                for (_, _, members) in self.documents.values_mut() {
                    members.remove(part);
                }
                let own = Part { owner: caller, visibility, documents: BTreeSet::new(), edit: None };
                self.parts.insert(*part, own);
            }
            Step::Remove { part } => {
                if self.parts.get(part).is_none_or(|part| part.owner != caller) {
                    return true;
                }
                self.parts.remove(part);
                for (_, _, members) in self.documents.values_mut() {
                    members.remove(part);
                }
            }
            Step::RemoveDocument { document } => {
                if self.documents.get(document).is_none_or(|(owner, ..)| *owner != caller) {
                    return true;
                }
                let members = self.documents.remove(document).map(|(.., members)| members).unwrap_or_default();
                self.release(*document, members);
            }
            Step::Show { document, visibility } => {
                let Some(found) = self.documents.get_mut(document).filter(|(owner, ..)| *owner == caller) else {
                    return true;
                };
                found.1 = *visibility;
                self.settle();
            }
        }
        false
    }

    fn release(&mut self, document: usize, parts: BTreeSet<usize>) {
        for id in parts {
            let Some(part) = self.parts.get_mut(&id) else { continue };
            if part.documents.remove(&document) && part.documents.is_empty() {
                self.parts.remove(&id);
            }
        }
        self.settle();
    }

    /// A part is seen by as many as the document of it that most see.
    fn settle(&mut self) {
        for part in self.parts.values_mut().filter(|part| !part.documents.is_empty()) {
            let seen = part.documents.iter().filter_map(|document| self.documents.get(document));
            if let Some(widest) = seen.map(|(_, visibility, _)| *visibility).max_by_key(|widest| width(*widest)) {
                part.visibility = widest;
            }
        }
    }
}

fn text(id: &str, title: &str, more: &str) -> String {
    format!(
        r#"{{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"{id}","title":"{title}","securityDefinitions":{{"n":{{"scheme":"nosec"}}}},"security":"n"{more}}}"#
    )
}

fn put_as(id: &str, text: String, declares: Declares) -> Write {
    let original = matches!(declares, Declares::Itself(_) | Declares::Document { .. });
    let original = original.then(|| Original {
        format: "agent-spec".into(),
        media_type: "application/json".into(),
        bytes: text.clone().into_bytes(),
    });
    let (capabilities, expiry) = (Vec::new(), Expiry::default());
    let operation = Operation::Put { text, capabilities, expiry, patch: None, original, created: None, declares };
    write(id, Precondition::Any, operation)
}

fn by_hand(replaces: bool) -> Declares {
    Declares::ByHand { replaces, only_related: false }
}

fn writes(step: &Step) -> (AccessRequest, Vec<Write>) {
    let mut access = AccessRequest::default();
    let writes = match step {
        Step::Import { document, members, number } => {
            let id = DOCUMENTS[*document];
            let description = format!(r#","description":"{number}""#);
            let own = put_as(id, text(id, id, &description), Declares::Itself(OwnDeclaration::default()));
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
            vec![put_as(id, text(id, id, &format!(r#","support":"urn:edit:{number}""#)), by_hand(false))]
        }
        Step::Replace { part } => vec![put_as(PARTS[*part], text(PARTS[*part], "Another", ""), by_hand(true))],
        Step::Remove { part } => vec![write(PARTS[*part], Precondition::Any, remove())],
        Step::RemoveDocument { document } => vec![write(DOCUMENTS[*document], Precondition::Any, remove())],
        Step::Show { document, visibility } => {
            access.visibility = Some(*visibility);
            vec![write(DOCUMENTS[*document], Precondition::Any, Operation::Access)]
        }
    };
    (access, writes)
}

fn remove() -> Operation {
    Operation::Remove(DeletionReason::Removed)
}

fn step(random: &mut Random) -> Step {
    let (document, part, number) = (random.below(3) as usize, random.below(4) as usize, random.below(1000));
    match random.below(10) {
        0..=3 => {
            let members = (0..4).filter(|_| random.below(2) == 0).collect();
            Step::Import { document, members, number }
        }
        4 => Step::Edit { part, number },
        5 => Step::Replace { part },
        6 => Step::Remove { part },
        7 => Step::RemoveDocument { document },
        _ => {
            let visibility = if random.below(2) == 0 { Visibility::Private } else { Visibility::Public };
            Step::Show { document, visibility }
        }
    }
}

fn author(owner: usize, access: AccessRequest) -> Author {
    let owner: Owner = OWNERS[owner].parse().unwrap();
    let principal = Principal { owner, role: Role::Register, key: "k".into(), expires: None };
    Author::new(Caller::Principal(principal.into()), access)
}

fn assert_is(store: &Store, model: &Model, seed: u64) {
    for (part, id) in PARTS.iter().enumerate() {
        let record = store.find(id).unwrap();
        let found = record.as_ref().map(|record| Part {
            owner: OWNERS.iter().position(|owner| record.access.owner.as_ref().unwrap().as_str() == *owner).unwrap(),
            visibility: record.access.visibility,
            documents: record
                .part_of
                .iter()
                .map(|id| DOCUMENTS.iter().position(|document| document == id).unwrap())
                .collect(),
            edit: record.text.split_once("urn:edit:").map(|(_, rest)| rest.split('"').next().unwrap().parse().unwrap()),
        });
        let mut expected = model.parts.get(&part).cloned();
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
        let found = store.find(id).unwrap().map(|record| record.access.visibility);
        assert_eq!(found, model.documents.get(&document).map(|(_, visibility, _)| *visibility), "seed {seed}: {id}");
    }
    let faults = store.check().unwrap().faults;
    assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
}

#[test]
fn records_are_what_a_model_of_sets_says() {
    for seed in 1..=super::damage::number("AGENTDEX_DECLARATIONS", 25) {
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
                        let (access, writes) = writes(&step);
                        // The order of submission is that of the log.
                        let mut model = model.lock().unwrap();
                        let is_refused = model.refuses(owner, &step);
                        let ticket = store.submit_as(author(owner, access), writes);
                        drop(model);
                        let outcome = ticket.wait();
                        assert_eq!(outcome.is_err(), is_refused, "seed {seed}: {step:?} by {owner}: {outcome:?}");
                    }
                });
            }
        });
        let model = model.into_inner().unwrap();
        assert_is(&store, &model, seed);
        store.reopen();
        assert_is(&store, &model, seed);
    }
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
    assert!(outcomes[2..].iter().all(|outcome| matches!(outcome, Outcome::Renewed(_))), "{outcomes:?}");
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
            by_hand(true),
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
