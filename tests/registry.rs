//! The registry as an embedder sees it, without HTTP or MQTT.

use std::{path::Path, sync::Arc};

use agentdex::{
    ChangeKind, Error, Precondition, Registry,
    access::{AccessRequest, Caller, Principal, Role, Visibility},
    registry::{Effect, Options, Write},
    search::Search,
};
use tempfile::TempDir;

use crate::support::{eventually, next_millisecond, nth};

fn agent(id: &str, title: &str) -> String {
    format!(
        r#"{{"@context": ["https://www.w3.org/2022/wot/td/v1.1", {{"lmos": "https://eclipse.dev/lmos/protocol/v1"}}],
            "@type": "lmos:Agent", "id": "{id}", "title": "{title}",
            "securityDefinitions": {{"nosec_sc": {{"scheme": "nosec"}}}}, "security": "nosec_sc"}}"#
    )
}

fn open(directory: &Path) -> Registry {
    Registry::builder(directory).open().expect("the registry opens")
}

fn open_with(directory: &Path, options: Options) -> Registry {
    Registry::builder(directory).options(options).open().expect("the registry opens")
}

fn found(registry: &Registry, words: &str) -> Vec<String> {
    let answer = registry.search(Search::words(words).consistent()).expect("search answers");
    answer.hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn register_refuses_an_id_that_is_taken() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "First")).unwrap();
    let refused = registry.register(agent("urn:a", "Second")).unwrap_err();
    assert!(matches!(&refused, Error::AlreadyExists { id } if id == "urn:a"), "{refused}");
    assert!(registry.find("urn:a").unwrap().unwrap().text().contains("First"));
}

#[test]
fn putting_the_same_again_makes_no_change() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    let first = registry.put(agent("urn:a", "Weather")).unwrap();
    let again = registry.put(agent("urn:a", "Weather").replace("\n", " ")).unwrap();
    assert_eq!((first.effect, again.effect), (Effect::Created, Effect::Unchanged));
    assert_eq!((first.seq, again.seq, registry.last_seq()), (nth(1), nth(1), nth(1)));
}

#[test]
fn a_list_that_was_begun_while_everything_was_public_shows_nothing_private() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:b", "Weather")).unwrap();
    let caller = |owner: &str| {
        let owner = owner.parse().unwrap();
        let principal = Principal { owner, role: Role::Register, key: String::new(), expires: None };
        registry.as_caller(Caller::Principal(Arc::new(principal)))
    };
    let (ours, theirs) = (caller("us"), caller("them"));
    let begun = [&registry, &ours, &theirs].map(Registry::list);
    let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
    ours.write_blocking(Write::put(agent("urn:a", "Secret")).with_access(private)).unwrap();
    // It is read when it is asked for.
    let read = begun.map(|list| list.map(|thing| thing.unwrap().id().to_owned()).collect::<Vec<_>>());
    assert_eq!(read, [vec!["urn:a", "urn:b"], vec!["urn:a", "urn:b"], vec!["urn:b"]]);
}

#[test]
fn replace_wants_a_thing_that_is_there() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    assert!(matches!(registry.replace(agent("urn:a", "Weather")), Err(Error::NotFound { .. })));
    registry.register(agent("urn:a", "Weather")).unwrap();
    assert_eq!(registry.replace(agent("urn:a", "Climate")).unwrap().effect, Effect::Updated);
}

#[test]
fn a_patch_keeps_what_it_does_not_name() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    let with_number = agent("urn:a", "Weather").replacen('{', r#"{"x:weight": 1.10000000000000000000001, "#, 1);
    registry.register(&with_number).unwrap();
    registry.patch("urn:a", r#"{"title": "Climate", "description": "Forecasts"}"#).unwrap();
    let thing = registry.find("urn:a").unwrap().unwrap();
    assert!(thing.text().contains("1.10000000000000000000001"), "{}", thing.text());
    assert!(thing.text().contains("Climate") && thing.text().contains("Forecasts"), "{}", thing.text());

    let changes = registry.changes(nth(1), 10).unwrap();
    let patch = changes.changes[0].patch.as_ref().unwrap().get();
    assert_eq!(changes.changes[0].kind, ChangeKind::Updated);
    assert!(!patch.contains("weight") && patch.contains("Climate"), "{patch}");
}

#[test]
fn a_patch_that_leaves_an_invalid_description_is_refused_whole() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    let refused = registry.patch("urn:a", r#"{"title": null}"#).unwrap_err();
    assert!(matches!(&refused, Error::Invalid(report) if !report.violations.is_empty()), "{refused}");
    let moved = registry.patch("urn:a", r#"{"id": "urn:b"}"#).unwrap_err();
    assert!(matches!(moved, Error::IdMismatch { .. }), "{moved}");
    assert_eq!(registry.last_seq(), nth(1));
}

#[test]
fn patches_by_many_at_once_all_arrive() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    let patched: usize = std::thread::scope(|scope| {
        let patch = |n: u32| {
            let registry = registry.clone();
            scope.spawn(move || {
                loop {
                    match registry.patch("urn:a", format!(r#"{{"x:{n}": true}}"#)) {
                        Ok(written) => return usize::from(written.effect == Effect::Updated),
                        Err(Error::Contended { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        };
        (0..8).map(patch).collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let text = registry.find("urn:a").unwrap().unwrap().text().to_owned();
    assert_eq!(patched, 8);
    assert!((0..8).all(|n| text.contains(&format!("x:{n}"))), "{text}");
}

#[test]
fn a_write_under_a_condition_that_fails_changes_nothing() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    registry.patch("urn:a", r#"{"title": "Climate"}"#).unwrap();
    for write in [
        Write::put(agent("urn:a", "Stale")),
        Write::patch("urn:a", r#"{"title": "Stale"}"#),
        Write::patch("urn:a", "{}"),
        Write::remove("urn:a"),
    ] {
        let stale = pollster::block_on(registry.write(write.when(Precondition::Seq(nth(1))))).unwrap_err();
        assert!(matches!(stale, Error::PreconditionFailed { found, .. } if found == Some(nth(2))), "{stale}");
    }
    assert_eq!(registry.last_seq(), nth(2));
}

#[test]
fn a_dry_run_foretells_and_writes_nothing() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    let dry = |write: Write| pollster::block_on(registry.write(write.dry_run(true)));
    assert_eq!(dry(Write::put(agent("urn:a", "Weather"))).unwrap().effect, Effect::Created);
    assert!(registry.is_empty());
    registry.register(agent("urn:a", "Weather")).unwrap();
    assert_eq!(dry(Write::put(agent("urn:a", "Weather"))).unwrap().effect, Effect::Unchanged);
    assert_eq!(dry(Write::patch("urn:a", r#"{"title": "B"}"#)).unwrap().effect, Effect::Updated);
    assert_eq!(dry(Write::remove("urn:a")).unwrap().effect, Effect::Removed);
    assert!(matches!(dry(Write::register(agent("urn:a", "B"))), Err(Error::AlreadyExists { .. })));
    assert!(matches!(dry(Write::remove("urn:b")), Err(Error::NotFound { .. })));
    assert!(matches!(dry(Write::patch("urn:b", "{}")), Err(Error::NotFound { .. })));
    assert_eq!((registry.last_seq(), registry.audit(0, 10).unwrap().entries.len()), (nth(1), 0));
}

#[test]
fn an_id_that_is_no_uri_is_found_as_it_was_given() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    let written = registry.put(agent("my agent", "Weather")).unwrap();
    assert_eq!(written.id, "urn:agentdex:my%20agent");
    assert!(!written.warnings.is_empty());
    assert!(registry.find("my agent").unwrap().is_some());
    assert_eq!(registry.remove("my agent").unwrap().id, written.id);
}

#[test]
fn renewals_are_no_changes() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather").replacen('{', r#"{"registration": {"ttl": 60}, "#, 1)).unwrap();
    let before = registry.find("urn:a").unwrap().unwrap();
    next_millisecond();
    assert_eq!(registry.patch("urn:a", "{}").unwrap().effect, Effect::Unchanged);
    let after = registry.find("urn:a").unwrap().unwrap();
    assert!(after.expiry().expires > before.expiry().expires, "{:?}", after.expiry());
    assert_eq!((after.seq(), after.expiry().ttl, registry.last_seq()), (nth(1), Some(60), nth(1)));

    registry.patch("urn:a", r#"{"registration": {"ttl": 600}}"#).unwrap();
    let longer = registry.find("urn:a").unwrap().unwrap();
    assert_eq!((longer.expiry().ttl, longer.seq()), (Some(600), nth(1)));
}

#[test]
fn a_patch_takes_the_time_to_live_away() {
    for patch in [r#"{"registration": null}"#, r#"{"registration": {"ttl": null}}"#] {
        let directory = TempDir::new().unwrap();
        let registry = open(directory.path());
        registry.register(agent("urn:a", "Weather").replacen('{', r#"{"registration": {"ttl": 60}, "#, 1)).unwrap();
        registry.patch("urn:a", patch).unwrap();
        let expiry = registry.find("urn:a").unwrap().unwrap().expiry();
        assert_eq!((expiry.ttl, expiry.expires), (None, None), "{patch}");
    }
}

#[test]
fn validate_says_what_registering_would() {
    let directory = TempDir::new().unwrap();
    let json = agent("no uri", "Weather");
    let lenient = open(directory.path()).validate(json.as_bytes()).unwrap();
    assert_eq!((lenient.is_valid(), lenient.warnings[0].rule.as_ref()), (true, "id-not-uri"));
    let directory = TempDir::new().unwrap();
    let strict = Registry::builder(directory.path()).strict().open().unwrap().validate(json.as_bytes()).unwrap();
    assert_eq!((strict.is_valid(), strict.violations[0].rule.as_ref()), (false, "id-not-uri"));
}

#[test]
fn a_ttl_is_held_within_the_bounds_with_a_warning() {
    let directory = TempDir::new().unwrap();
    let options = Options::default().default_ttl(300).min_ttl(100).max_ttl(1000);
    let registry = open_with(directory.path(), options);
    let ttl = |id: &str, registration: &str| {
        let td = agent(id, "Weather").replacen('{', &format!(r#"{{"registration": {registration}, "#), 1);
        let warned = registry.put(&td).unwrap().warnings.iter().any(|warning| warning.rule == "ttl-out-of-range");
        (registry.find(id).unwrap().unwrap().expiry().ttl, warned)
    };
    assert_eq!(ttl("urn:a", "{}"), (Some(300), false));
    assert_eq!(ttl("urn:b", r#"{"ttl": 1}"#), (Some(100), true));
    assert_eq!(ttl("urn:c", r#"{"ttl": 100000}"#), (Some(1000), true));
    assert_eq!(ttl("urn:d", r#"{"expires": "2999-01-01T00:00:00Z"}"#), (None, true));
}

#[test]
fn an_expired_thing_is_gone_everywhere_and_its_deletion_is_logged() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:stays", "Weather in Bonn")).unwrap();
    registry.register(agent("urn:goes", "Weather in Rome")).unwrap();
    assert_eq!(found(&registry, "weather").len(), 2);
    let expires = agentdex::Timestamp::now().plus_seconds(1);
    registry.patch("urn:goes", format!(r#"{{"registration": {{"expires": "{expires}"}}}}"#)).unwrap();
    eventually("the expiry", || agentdex::Timestamp::now() > expires);

    assert!(registry.find("urn:goes").unwrap().is_none());
    assert_eq!(registry.list().map(|thing| thing.unwrap().id().to_owned()).collect::<Vec<_>>(), ["urn:stays"]);
    let answer = registry.search(Search::words("weather")).unwrap();
    assert_eq!((answer.total, answer.hits[0].id.as_str()), (1, "urn:stays"));
    assert_eq!(registry.len(), 1);
    eventually("the purge", || registry.last_seq() == nth(3));
    let deletion = registry.changes(nth(2), 1).unwrap().changes.remove(0);
    assert_eq!((deletion.kind, deletion.id.as_str()), (ChangeKind::Deleted, "urn:goes"));
}

#[test]
fn a_deleted_search_index_is_rebuilt_at_the_next_start() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    for n in 0..50 {
        registry.register(agent(&format!("urn:agent:{n}"), "Weather")).unwrap();
    }
    registry.remove("urn:agent:7").unwrap();
    registry.close();
    drop(registry);
    std::fs::remove_dir_all(directory.path().join("search")).unwrap();

    let registry = open(directory.path());
    eventually("the rebuild", || registry.status().not_ready().is_none());
    let answer = registry.search(Search::words("weather").consistent()).unwrap();
    assert_eq!((answer.total, answer.seq), (49, nth(51)));
}

#[test]
fn an_index_of_another_store_is_not_believed() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (directory, id) in [(&one, "urn:one"), (&other, "urn:other")] {
        let registry = open(directory.path());
        registry.register(agent(id, "Weather")).unwrap();
        assert_eq!(found(&registry, "weather"), [id]);
        registry.close();
    }
    let search = one.path().join("search");
    std::fs::remove_dir_all(&search).unwrap();
    std::fs::rename(other.path().join("search"), &search).unwrap();

    let registry = open(one.path());
    eventually("the rebuild", || registry.status().not_ready().is_none());
    assert_eq!(found(&registry, "weather"), ["urn:one"]);
}

#[test]
fn a_closed_registry_takes_no_writes() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    registry.close();
    assert!(matches!(registry.register(agent("urn:b", "Weather")), Err(Error::ShuttingDown)));
    drop(registry);
    assert_eq!(open(directory.path()).len(), 1);
}

#[test]
fn a_very_long_name_is_shown_short() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    let name = "weather ".repeat(50_000);
    let capabilities = format!(r#"{{"lmos:capabilities": [{{"name": "{name}"}}], "#);
    registry.register(agent("urn:a", "Agent").replacen('{', &capabilities, 1)).unwrap();
    let answer = registry.search(Search::words("weather").consistent()).unwrap();
    let hit = &answer.hits[0].capabilities[0];
    assert!(hit.name.len() < 2048 && hit.snippet.len() < 4096, "{} {}", hit.name.len(), hit.snippet.len());
}

#[test]
fn removing_a_version_without_a_name_removes_nothing() {
    let directory = TempDir::new().unwrap();
    let registry = open(directory.path());
    registry.register(agent("urn:a", "Weather")).unwrap();
    let removal = pollster::block_on(registry.write(Write::remove("urn:a").version("")));
    assert!(matches!(removal, Err(Error::NoSuchVersion { .. })), "{removal:?}");
    assert_eq!(registry.len(), 1);
}
