//! A URL that is tracked and registered again: its Thing is updated, whatever its card is called by now.

use agentdex::{
    access::{AccessRequest, Caller, Principal, Role, Visibility},
    registry::IfExists,
};

use super::*;

fn caller(owner: &str, role: Role) -> Caller {
    let owner = owner.parse().unwrap();
    Caller::Principal(Arc::new(Principal { owner, role, key: String::new(), expires: None }))
}

/// Ids and URLs of all tracked sources.
fn sources(registry: &Registry) -> Vec<(String, String)> {
    registry.tracked_sources().unwrap().into_iter().map(|source| (source.id, source.source)).collect()
}

fn track(registry: &Registry, request: TrackRequest) -> Imported {
    block_on(registry.track(request)).unwrap()
}

#[test]
fn thing_of_a_tracked_url_is_updated_and_keeps_its_id() {
    let source = Page::start(&card("one", "first"));
    let mut fixture = Fixture::start();
    fixture.track(&source);
    let since = fixture.import("urn:card:one").tracked_since;
    source.serve(&card("two", "first"));
    let request = || TrackRequest::new(source.url(), Format::A2a);
    let refused = block_on(fixture.registry.track(request().if_exists(IfExists::Refuse))).unwrap_err();
    assert!(matches!(&refused, Error::AlreadyExists { id } if id == "urn:card:one"), "{refused}");
    let dry = track(&fixture.registry, request().dry_run(true));
    assert_eq!((dry.things[0].id.as_str(), dry.things[0].effect), ("urn:card:one", Effect::Updated));
    assert_eq!(fixture.thing("urn:card:one")["title"], "one");

    let updated = fixture.track(&source);
    assert_eq!((updated.things[0].id.as_str(), updated.things[0].effect), ("urn:card:one", Effect::Updated));
    assert!(updated.things[0].warnings.is_empty(), "{updated:?}");
    assert_eq!(fixture.thing("urn:card:one")["title"], "two");
    let import = fixture.import("urn:card:one");
    assert_eq!((import.tracked_since, import.revisions.len()), (since, 2));

    // Also after a start, and in another spelling of the URL.
    fixture.registry.close();
    drop(fixture.registry);
    fixture.registry = open(&fixture.directory, tracking());
    source.serve(&card("three", "first"));
    let spelled = source.url().replace("http://127.0.0.1", "HTTP://127.1");
    track(&fixture.registry, TrackRequest::new(spelled.clone(), Format::A2a));
    assert_eq!(sources(&fixture.registry), [("urn:card:one".to_owned(), spelled)]);
    assert_eq!(fixture.registry.len(), 1);
}

#[test]
fn other_id_takes_the_url_over_and_says_so() {
    let source = Page::start(&card("one", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    let request = || TrackRequest::new(source.url(), Format::A2a).id(Some("urn:mine".into()));
    for dry_run in [true, false] {
        let imported = track(&fixture.registry, request().dry_run(dry_run));
        let [warning] = imported.things[0].warnings.as_slice() else { panic!("{imported:?}") };
        assert_eq!((imported.things[0].effect, warning.rule.as_ref()), (Effect::Created, "tracking-moved"));
        assert!(warning.message.contains("urn:card:one"), "{warning:?}");
        assert_eq!(fixture.is_tracked("urn:card:one"), dry_run);
    }
    assert_eq!(sources(&fixture.registry), [("urn:mine".to_owned(), source.url())]);
    assert_eq!(fixture.thing("urn:card:one")["title"], "one");
    // What is not tracked any more is not polled any more.
    let moment = fixture.import("urn:mine").next_try;
    assert_eq!(block_on(fixture.registry.refresh_due(moment.max(Timestamp::now().plus_seconds(9000)))).unwrap(), 1);
}

#[test]
fn url_of_a_thing_that_was_removed_or_is_no_longer_tracked_is_new() {
    let source = Page::start(&card("one", "first"));
    let fixture = Fixture::start();
    fixture.track(&source);
    source.serve(&card("two", "first"));
    block_on(fixture.registry.untrack("urn:card:one")).unwrap();
    assert_eq!(fixture.track(&source).things[0].id, "urn:card:two");
    fixture.registry.remove("urn:card:two").unwrap();
    source.serve(&card("three", "first"));
    assert_eq!(fixture.track(&source).things[0].id, "urn:card:three");
    assert_eq!(sources(&fixture.registry), [("urn:card:three".to_owned(), source.url())]);
}

#[test]
fn somebody_elses_tracked_url_is_neither_touched_nor_revealed() {
    let source = Page::start(&card("one", "first"));
    let fixture = Fixture::start();
    let [alice, bob] = ["alice", "bob"].map(|owner| fixture.registry.as_caller(caller(owner, Role::Register)));
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    let request = || TrackRequest::new(source.url(), Format::A2a);
    track(&alice, request().with_access(private));
    let before = fixture.import("urn:card:one");
    source.serve(&card("two", "first"));
    for dry_run in [true, false] {
        let imported = track(&bob, request().if_exists(IfExists::Refuse).dry_run(dry_run));
        assert_eq!((imported.things[0].id.as_str(), imported.things[0].effect), ("urn:card:two", Effect::Created));
        assert!(imported.things[0].warnings.is_empty() && imported.warnings.is_empty(), "{imported:?}");
    }
    assert_eq!(sources(&bob), [("urn:card:two".to_owned(), source.url())]);
    assert_eq!((fixture.import("urn:card:one"), &fixture.thing("urn:card:one")["title"]), (before, &json!("one")));

    // Each has one, and neither takes the other's by another id.
    track(&bob, request().id(Some("urn:bobs".into())));
    assert_eq!(sources(&bob), [("urn:bobs".to_owned(), source.url())]);
    assert!(fixture.is_tracked("urn:card:one"));
    assert_eq!(track(&alice, request()).things[0].id, "urn:card:one");

    // A public one is seen, but still somebody else's; an admin may change it.
    let carol = fixture.registry.as_caller(caller("carol", Role::Register));
    source.serve(&card("three", "first"));
    assert_eq!(track(&carol, request()).things[0].id, "urn:card:three");
    assert_eq!(fixture.thing("urn:bobs")["title"], "two");
    // An admin may change each of them, makes no other, and gets no tracking ended by an id of its own.
    let admin = fixture.registry.as_caller(caller("ops", Role::Admin));
    let (before, things) = (sources(&admin), fixture.registry.len());
    assert_ne!(track(&admin, request()).things[0].effect, Effect::Created);
    assert_eq!((sources(&admin), fixture.registry.len()), (before.clone(), things));
    track(&admin, request().id(Some("urn:ops".into())));
    assert_eq!(sources(&admin).len(), before.len() + 1);
}
