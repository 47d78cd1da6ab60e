//! Tests with stores of format 4, created from current stores.

use agentdex_api::access::AccessRequest;

use super::*;
use crate::{
    access::{Caller, Principal, Role},
    change::Precondition,
    store::{
        Author, Declares, Expiry, Operation, Original, OwnDeclaration, Store, Write,
        directory::open_tree,
        options::Options,
        sum::Sum,
        value::{DECLARATIONS_OF_FORMAT_4, put_bytes},
    },
};

const AGENTS: usize = 40;

fn id(number: usize) -> String {
    format!("urn:{number:03}")
}

fn alice(visibility: Option<Visibility>) -> Author {
    let owner = "alice".parse().unwrap();
    let principal = Principal { owner, role: Role::Register, key: String::new(), expires: None };
    let access = AccessRequest { visibility, ..AccessRequest::default() };
    Author::new(Caller::Principal(principal.into()), access)
}

fn put(id: &str, title: &str, version: &str, original: bool) -> Write {
    let text = format!(
        r#"{{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"{id}","title":"{title}","securityDefinitions":{{"n":{{"scheme":"nosec"}}}},"security":"n","version":{{"instance":"{version}"}}}}"#
    );
    let original = original.then(|| Original {
        format: "a2a".into(),
        media_type: "text/plain".into(),
        bytes: title.into(),
        ..Original::default()
    });
    let own = OwnDeclaration { version: Some(version.to_owned()), ..OwnDeclaration::default() };
    let (capabilities, expiry, declares) = (Vec::new(), Expiry::default(), Declares::Itself(own));
    let operation = Operation::Put { text, capabilities, expiry, patch: None, original, created: None, declares };
    Write { id: id.to_owned(), precondition: Precondition::Any, operation, actor: None }
}

/// Fills a store with agents that have a private and a public version; the first version was public for some.
fn fill(directory: &Path) {
    let store = Store::open(directory, Options::default()).unwrap();
    for number in 0..AGENTS {
        let id = id(number);
        let write = |author: Author, write: Write| drop(store.submit_as(author, vec![write]).wait().unwrap());
        let (private, public) = (Some(Visibility::Private), Some(Visibility::Public));
        write(alice(private), put(&id, "first", "1.0.0", number.is_multiple_of(2)));
        if number.is_multiple_of(3) {
            let access =
                Write { id: id.clone(), precondition: Precondition::Any, operation: Operation::Access, actor: None };
            write(alice(public), access);
        }
        write(alice(public), put(&id, "second", "2.0.0", false));
    }
    store.close();
}

/// Encodes a record as format 4 had it.
fn encode_format_4(record: &StoredRecord<'_>) -> IVec {
    let declarations = Declarations::decode(record.declarations).unwrap();
    let mut blocks = Vec::new();
    for declaration in declarations.0 {
        let plain = Declaration { access: None, unknown: Vec::new(), ..declaration };
        let encoded = Declarations(vec![plain]).encode();
        // Without the length of its members, which are none.
        blocks.extend_from_slice(&encoded[..encoded.len() - 4]);
    }
    let mut bytes = StoredRecord { declarations: &[], edits: None, ..*record }.encode().to_vec();
    bytes.push(DECLARATIONS_OF_FORMAT_4);
    put_bytes(&mut bytes, &blocks);
    bytes.into()
}

/// Makes a store one of format 4; its witness knows the sum of then.
fn downgrade(directory: &Path) {
    let db = open_tree(directory, &Options::default()).unwrap();
    let mut state = State::decode(&db.get(layout::STATE_KEY).unwrap().unwrap()).unwrap();
    for pair in db.scan_prefix(layout::RECORDS) {
        let (key, value) = pair.unwrap();
        let before = encode_format_4(&StoredRecord::decode(&value).unwrap());
        assert!(StoredRecord::decode(&before).is_err() && StoredRecord::decode_format_4(&before).is_ok());
        state.sum.replace(&key, Some(&value), Some(&before));
        db.insert(key, before).unwrap();
    }
    assert_eq!(Sum::read(&db).unwrap(), state.sum);
    state.commit += 1;
    db.insert(layout::STATE_KEY, state.encode()).unwrap();
    db.insert(layout::FORMAT_KEY, &FROM.to_be_bytes()).unwrap();
    db.flush().unwrap();
    let (epoch, registry) = super::super::inspect::identity(&db).unwrap();
    let slot = super::super::witness::Slot::of(epoch, registry, &state);
    let seen = super::super::witness::Seen::Missing;
    super::super::witness::Witness::open(directory, &seen, slot).unwrap();
}

/// Asserts that versions have the access recorded in the log.
fn assert_upgraded(directory: &Path) {
    let store = Store::open(directory, Options::default()).unwrap();
    for number in 0..AGENTS {
        let declared = store.declared(&id(number)).unwrap().unwrap();
        let own: Vec<Visibility> = declared
            .declarations
            .iter()
            .map(|(declaration, ..)| declaration.access(&declared.access).access.visibility)
            .collect();
        let first = if number.is_multiple_of(3) { Visibility::Public } else { Visibility::Private };
        assert_eq!(own, [Visibility::Public, first], "{number}");
    }
    assert_eq!(store.check().unwrap().faults, []);
    store.close();
}

#[test]
fn versions_get_the_narrowest_access_that_the_log_shows() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    assert_upgraded(directory.path());
    downgrade(directory.path());
    assert_upgraded(directory.path());
    assert_upgraded(directory.path());
}

#[test]
fn upgrade_that_was_interrupted_anywhere_goes_on() {
    for done in [0, 1, 17, AGENTS - 1, AGENTS] {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path());
        downgrade(directory.path());
        {
            let db = open_tree(directory.path(), &Options::default()).unwrap();
            let tree = Tree::new(db.clone(), Held::new(directory.path()));
            let state = State::decode(&db.get(layout::STATE_KEY).unwrap().unwrap()).unwrap();
            let begun = UpgradeState { commit: state.commit, sum: state.sum, is_done: false };
            let mut upgrade = Upgrade { tree: &tree, db: &db, state, batch: Batch::default(), bytes: 0 };
            upgrade.batch.insert(layout::FORMAT_KEY, &FORMAT_VERSION.to_be_bytes());
            upgrade.batch.insert(layout::UPGRADE_KEY, begun.encode());
            upgrade.write().unwrap();
            let pairs: Vec<(IVec, IVec)> =
                db.scan_prefix(layout::RECORDS).take(done).map(|pair| pair.unwrap()).collect();
            for (key, value) in pairs {
                let record = StoredRecord::decode_format_4(&value).unwrap();
                let upgraded = upgrade.record(&layout::name_of(&key, layout::RECORDS).unwrap(), &record).unwrap();
                upgrade.state.sum.replace(&key, Some(&value), Some(&upgraded));
                upgrade.batch.insert(key, upgraded);
                upgrade.write().unwrap();
            }
            db.flush().unwrap();
        }
        assert_upgraded(directory.path());
    }
}

#[test]
fn store_that_is_older_than_its_witness_is_not_upgraded() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    downgrade(directory.path());
    {
        let db = open_tree(directory.path(), &Options::default()).unwrap();
        let mut state = State::decode(&db.get(layout::STATE_KEY).unwrap().unwrap()).unwrap();
        state.commit -= 1;
        db.insert(layout::STATE_KEY, state.encode()).unwrap();
        db.flush().unwrap();
    }
    let refused = Store::open(directory.path(), Options::default()).map(drop);
    assert!(matches!(refused, Err(Error::StoreBehind { commits: 1, .. })), "{refused:?}");
    let db = open_tree(directory.path(), &Options::default()).unwrap();
    assert_eq!(db.get(layout::FORMAT_KEY).unwrap().unwrap(), FROM.to_be_bytes());
}

/// Fills a store with two documents that declare a part, the first of which is unreadable.
fn fill_with_part_of_damaged_document(directory: &Path) {
    let store = Store::open(directory, Options::default()).unwrap();
    for document in ["urn:one", "urn:two"] {
        let mut part = put("urn:part", document, "1.0.0", true);
        if let Operation::Put { declares, .. } = &mut part.operation {
            *declares = Declares::Document { id: document.to_owned(), version: None };
        }
        let writes = vec![put(document, document, "1.0.0", true), part];
        store.submit_as(alice(Some(Visibility::Public)), writes).wait().unwrap();
    }
    store.close();
    drop(store);
    downgrade(directory);
    let db = open_tree(directory, &Options::default()).unwrap();
    let mut state = State::decode(&db.get(layout::STATE_KEY).unwrap().unwrap()).unwrap();
    let (key, damaged) = (layout::record_key("urn:one"), IVec::from(vec![0xff_u8; 40]));
    let before = db.insert(&key, &damaged).unwrap();
    state.sum.replace(&key, before.as_deref(), Some(&damaged));
    db.insert(layout::STATE_KEY, state.encode()).unwrap();
    db.flush().unwrap();
}

#[test]
fn part_of_a_document_that_cannot_be_read_is_upgraded_and_shown_to_nobody_more() {
    let directory = tempfile::tempdir().unwrap();
    fill_with_part_of_damaged_document(directory.path());
    let db = open_tree(directory.path(), &Options::default()).unwrap();
    upgrade(directory.path(), &db).unwrap();
    assert!(state(&db).unwrap().unwrap().is_done);
    let value = db.get(layout::record_key("urn:part")).unwrap().unwrap();
    let part = StoredRecord::decode(&value).expect("it is upgraded");
    let of_agent = part.access().unwrap();
    let shown = part.declared().unwrap().0.into_iter().map(|declaration| {
        let visibility = declaration.access(&of_agent).access.visibility;
        (declaration.document().unwrap().to_owned(), visibility)
    });
    let expected = [("urn:two", Visibility::Public), ("urn:one", Visibility::Private)];
    assert_eq!(shown.collect::<Vec<_>>(), expected.map(|(document, shown)| (document.to_owned(), shown)));
    let stored = State::decode(&db.get(layout::STATE_KEY).unwrap().unwrap()).unwrap();
    assert_eq!(Sum::read(&db).unwrap(), stored.sum);
}
