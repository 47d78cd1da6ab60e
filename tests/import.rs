//! Importing conversions: all Things of a document or none, their originals, what counts as a change.

use agentdex::{
    ChangeKind, Error, Registry, Seq,
    convert::{Conversion, ConvertedThing, Format, Source},
    registry::{Effect, IfExists, Import, Imported, Options, Write},
    search::{Filters, Search},
    store::Original,
    td::Document,
};
use tempfile::TempDir;

use crate::support::{agent, nth};

struct Imports {
    registry: Registry,
    _directory: TempDir,
}

impl Imports {
    fn start() -> Imports {
        Imports::with(Options::default())
    }

    fn with(options: Options) -> Imports {
        let directory = TempDir::new().unwrap();
        Imports {
            registry: Registry::builder(directory.path()).options(options).open().unwrap(),
            _directory: directory,
        }
    }

    fn import(&self, import: Import) -> agentdex::Result<Imported> {
        pollster::block_on(self.registry.import(import))
    }

    /// Imports Things and tells what became of them.
    fn effects(&self, things: Vec<ConvertedThing>) -> Vec<Effect> {
        self.import(import(things)).unwrap().things.iter().map(|thing| thing.effect).collect()
    }

    fn original(&self, id: &str) -> Option<Original> {
        self.registry.original(id).unwrap()
    }

    fn write(&self, write: Write) -> Effect {
        pollster::block_on(self.registry.write(write)).unwrap().effect
    }

    /// The ids that the search filter `format` finds.
    fn of_format(&self, format: &str) -> Vec<String> {
        let filters = Filters { format: vec![format.into()], ..Filters::default() };
        self.registry.ids_matching(None, &filters, true).unwrap().ids
    }
}

fn import(things: Vec<ConvertedThing>) -> Import {
    Import::new(Conversion { things, ..Conversion::default() })
}

fn converted(id: &str, title: &str, source: &str) -> ConvertedThing {
    let source =
        Source { format: Format::AgentSpec, media_type: "application/json".into(), bytes: source.as_bytes().to_vec() };
    ConvertedThing { id: id.into(), description: Document::parse(agent(id, title).as_bytes()).unwrap(), source }
}

#[test]
fn things_of_a_document_come_with_their_originals() {
    let imports = Imports::start();
    let things = vec![converted("urn:a", "Weather", "one"), converted("urn:b", "Alarm", "two")];
    let imported = imports.import(import(things)).unwrap();
    assert_eq!(imported.ids_with(Effect::Created).collect::<Vec<_>>(), ["urn:a", "urn:b"]);
    assert_eq!(imports.original("urn:b").unwrap().bytes, b"two");
    assert_eq!(imports.original("urn:a").unwrap().media_type, "application/json");
    assert_eq!(imports.registry.find("urn:a").unwrap().unwrap().format(), Some("agent-spec"));
    assert_eq!(imports.of_format("agent-spec"), ["urn:a", "urn:b"]);
}

#[test]
fn one_bad_thing_keeps_all_of_them_out() {
    let imports = Imports::start();
    let bad = ConvertedThing { description: Document::parse(b"{}").unwrap(), ..converted("urn:b", "", "two") };
    let refused = imports.import(import(vec![converted("urn:a", "Weather", "one"), bad])).unwrap_err();
    assert!(matches!(refused, Error::Invalid(_) | Error::MissingId), "{refused}");
    assert_eq!((imports.registry.len(), imports.registry.last_seq()), (0, Seq(0)));
    assert_eq!(imports.original("urn:a"), None);
}

#[test]
fn same_document_again_makes_no_change() {
    let imports = Imports::start();
    let things = || vec![converted("urn:a", "Weather", "one"), converted("urn:b", "Alarm", "two")];
    imports.effects(things());
    let before = imports.registry.find("urn:a").unwrap().unwrap();
    assert_eq!(imports.effects(things()), [Effect::Unchanged, Effect::Unchanged]);
    let after = imports.registry.find("urn:a").unwrap().unwrap();
    assert_eq!(imports.registry.last_seq(), nth(2));
    assert_eq!((before.seq(), before.modified()), (after.seq(), after.modified()));
}

#[test]
fn only_what_is_different_changes() {
    let imports = Imports::start();
    imports.effects(vec![converted("urn:a", "Weather", "one"), converted("urn:b", "Alarm", "two")]);
    let second = vec![
        converted("urn:a", "Weather", "one"),
        converted("urn:b", "Bells", "2"),
        converted("urn:c", "Climate", "three"),
    ];
    assert_eq!(imports.effects(second), [Effect::Unchanged, Effect::Updated, Effect::Created]);
    assert_eq!(imports.original("urn:b").unwrap().bytes, b"2");
}

#[test]
fn another_original_of_the_same_description_replaces_it_without_a_change() {
    let directory = TempDir::new().unwrap();
    let open = || Registry::builder(directory.path()).open().unwrap();
    let registry = open();
    let import = |source: &str| pollster::block_on(registry.import(import(vec![converted("urn:a", "A", source)])));
    import("name: A").unwrap();
    assert_eq!(import("name: A").unwrap().things[0].effect, Effect::Unchanged);
    let again = || self::import(vec![converted("urn:a", "A", "name: A # again")]).dry_run(true);
    assert_eq!(pollster::block_on(registry.import(again())).unwrap().things[0].effect, Effect::OriginalUpdated);
    assert_eq!(import("name: A # again").unwrap().things[0].effect, Effect::OriginalUpdated);
    assert_eq!(pollster::block_on(registry.import(again())).unwrap().things[0].effect, Effect::Unchanged);
    assert_eq!(registry.last_seq(), nth(1));
    registry.close();
    drop(registry);
    assert_eq!(open().original("urn:a").unwrap().unwrap().bytes, b"name: A # again");
}

#[test]
fn refuse_refuses_all_where_one_is_there() {
    let imports = Imports::start();
    imports.effects(vec![converted("urn:b", "Alarm", "two")]);
    let things = || vec![converted("urn:a", "Weather", "one"), converted("urn:b", "Bells", "2")];
    for dry_run in [true, false] {
        let refused = imports.import(import(things()).if_exists(IfExists::Refuse).dry_run(dry_run)).unwrap_err();
        assert!(matches!(&refused, Error::AlreadyExists { id } if id == "urn:b"), "{refused}");
    }
    assert_eq!(imports.registry.last_seq(), nth(1));
    assert!(imports.registry.find("urn:a").unwrap().is_none());
}

#[test]
fn two_parts_with_one_id_are_refused() {
    let imports = Imports::start();
    let refused = imports.import(import(vec![converted("urn:a", "A", "one"), converted("urn:a", "B", "two")]));
    let Err(Error::InvalidSource { report, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(report.violations[0].rule, "thing-id-repeated");
    assert!(imports.registry.is_empty());
}

#[test]
fn dry_run_reports_effects_and_writes_nothing() {
    let imports = Imports::start();
    imports.effects(vec![converted("urn:a", "Weather", "one"), converted("urn:b", "Alarm", "two")]);
    let things = vec![
        converted("urn:a", "Weather", "1"),
        converted("urn:b", "Bells", "2"),
        converted("urn:c", "Climate", "three"),
    ];
    let foreseen = imports.import(import(things).dry_run(true)).unwrap();
    let effects: Vec<_> = foreseen.things.iter().map(|thing| thing.effect).collect();
    assert_eq!(effects, [Effect::OriginalUpdated, Effect::Updated, Effect::Created]);
    assert_eq!((imports.registry.len(), imports.registry.last_seq()), (2, nth(2)));
    assert_eq!(imports.original("urn:a").unwrap().bytes, b"one");
}

#[test]
fn import_over_a_description_by_hand_is_found_by_its_format() {
    let imports = Imports::start();
    imports.registry.put(agent("urn:a", "Weather")).unwrap();
    assert_eq!(imports.of_format("agent-spec"), [""; 0]);
    let foreseen = imports.import(import(vec![converted("urn:a", "Weather", "one")]).dry_run(true)).unwrap();
    assert_eq!(foreseen.things[0].effect, Effect::Updated);
    assert_eq!(imports.effects(vec![converted("urn:a", "Weather", "one")]), [Effect::Updated]);
    assert_eq!(imports.of_format("agent-spec"), ["urn:a"]);
    let changes = imports.registry.changes(Seq::ZERO, 10).unwrap().changes;
    assert_eq!(changes[1].kind, ChangeKind::Updated);
    assert_eq!(changes[1].patch.as_ref().unwrap().get(), "{}");
}

#[test]
fn description_changed_by_hand_keeps_its_original() {
    for change in [
        Write::put(agent("urn:a", "Climate")),
        Write::patch("urn:a", r#"{"title": "Climate"}"#),
        Write::patch("urn:a", r#"{"title": "Climate", "registration": {"ttl": 100}}"#),
    ] {
        let imports = Imports::start();
        imports.effects(vec![converted("urn:a", "Weather", "one")]);
        assert_eq!(imports.write(change), Effect::Updated);
        assert_eq!(imports.original("urn:a").unwrap().bytes, b"one");
        assert_eq!(imports.registry.find("urn:a").unwrap().unwrap().format(), Some("agent-spec"));
        assert_eq!(imports.of_format("agent-spec"), ["urn:a"]);
        // It stays when the same comes again.
        assert_eq!(imports.effects(vec![converted("urn:a", "Weather", "one")]), [Effect::Unchanged]);
        assert!(imports.registry.find("urn:a").unwrap().unwrap().text().contains("Climate"));
    }
}

#[test]
fn renewals_keep_the_original() {
    let imports = Imports::start();
    imports.effects(vec![converted("urn:a", "Weather", "one")]);
    for renewal in [
        Write::patch("urn:a", "{}"),
        Write::patch("urn:a", r#"{"registration": {"ttl": 100}}"#),
        Write::put(agent("urn:a", "Weather")),
    ] {
        assert_eq!(imports.write(renewal), Effect::Unchanged);
        assert_eq!(imports.original("urn:a").unwrap().bytes, b"one");
        assert_eq!(imports.of_format("agent-spec"), ["urn:a"]);
    }
    assert_eq!(imports.registry.last_seq(), nth(1));
}

#[test]
fn removed_thing_takes_its_original_along() {
    let imports = Imports::start();
    imports.effects(vec![converted("urn:a", "Weather", "one")]);
    imports.registry.remove("urn:a").unwrap();
    imports.registry.put(agent("urn:a", "Weather")).unwrap();
    assert_eq!(imports.original("urn:a"), None);
}

#[test]
fn expiry_is_that_of_a_put() {
    let imports = Imports::with(Options::default().default_ttl(100).max_ttl(500));
    let ttl = || imports.registry.find("urn:a").unwrap().unwrap().expiry().ttl;
    let things = || vec![converted("urn:a", "Weather", "one")];
    imports.effects(things());
    assert_eq!(ttl(), Some(100));
    let imported = imports.import(import(things()).ttl(Some(900))).unwrap();
    assert_eq!((ttl(), imported.things[0].effect), (Some(500), Effect::Unchanged));
    assert_eq!(imported.things[0].warnings[0].rule, "ttl-out-of-range");
}

#[test]
fn imported_things_are_found_by_their_words() {
    let imports = Imports::start();
    imports.effects(vec![converted("urn:a", "Thermometer", "unsearchable")]);
    let found = |words| imports.registry.search(Search::words(words).consistent()).unwrap().hits.len();
    assert_eq!((found("thermometer"), found("unsearchable")), (1, 0));
}
