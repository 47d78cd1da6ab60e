//! The life of an index: what a reader sees when, and what is left after a crash or a change of version.

use std::fs;

use agentdex::{
    Error,
    convert::Format,
    search::{Entry, FacetField, Filters, Index, Search},
};
use serde_json::json;

use super::{TestIndex, extended, ids, request, thing};

#[test]
fn nothing_is_found_before_a_commit() {
    let mut index = TestIndex::new();
    assert!(index.index.position().is_none());
    index.put(&thing("urn:a", "Weather", ""));
    assert_eq!(index.query("weather").total, 0);
    let cursor = index.commit();
    assert_eq!(index.query("weather").total, 1);
    assert_eq!(index.index.position(), Some(cursor));
}

#[test]
fn a_put_takes_the_place_of_the_old_and_a_delete_takes_it_out() {
    let mut index = TestIndex::with(&[thing("urn:a", "Weather", ""), thing("urn:b", "Weather", "")]);
    index.put(&thing("urn:a", "Tides", ""));
    index.put(&thing("urn:a", "Currents", ""));
    index.commit();
    assert_eq!(index.found("weather"), ["urn:b"]);
    assert_eq!(index.found("tides"), Vec::<String>::new());
    assert_eq!(index.found("currents"), ["urn:a"]);
    index.writer.delete("urn:a").expect("a delete");
    index.writer.delete("urn:unknown").expect("a delete of nothing");
    index.commit();
    assert_eq!(index.query("").total, 1);
}

#[test]
fn an_index_is_opened_where_it_was_left() {
    let TestIndex { home, writer, index, .. } = {
        let mut index = TestIndex::with(&[thing("urn:a", "Weather", "")]);
        index.put(&thing("urn:lost", "Weather", "Put, but never committed."));
        index
    };
    let cursor = index.position();
    drop((writer, index));
    let (index, mut writer, found) = Index::open(home.path()).expect("opened").expect("an index");
    assert_eq!(Some(found), cursor);
    assert_eq!(ids(&index.search(&request("weather"), &[]).expect("an answer")), ["urn:a"]);
    let thing = thing("urn:b", "Weather", "");
    writer
        .put(Entry {
            id: "urn:b",
            text: &thing.to_string(),
            format: None,
            terms: Format::search_terms(),
            access: None,
            moments: None,
        })
        .expect("put");
    writer.commit(found).expect("a commit");
    assert_eq!(index.search(&request("weather"), &[]).expect("an answer").total, 2);
}

#[test]
fn a_rebuild_takes_the_place_of_the_old_index_with_its_first_commit() {
    let TestIndex { home, writer, index, .. } = TestIndex::with(&[thing("urn:old", "Weather", "")]);
    drop((writer, index));
    let (_, abandoned) = Index::create(home.path()).expect("a new index");
    drop(abandoned);
    let (old, writer, cursor) = Index::open(home.path()).expect("opened").expect("the old index");
    assert_eq!(old.search(&request("weather"), &[]).expect("an answer").total, 1);
    drop(writer);
    let (_, mut writer) = Index::create(home.path()).expect("a new index");
    let thing = thing("urn:new", "Weather", "");
    writer
        .put(Entry {
            id: "urn:new",
            text: &thing.to_string(),
            format: None,
            terms: Format::search_terms(),
            access: None,
            moments: None,
        })
        .expect("put");
    writer.commit(cursor).expect("a commit");
    drop(writer);
    let (index, ..) = Index::open(home.path()).expect("opened").expect("the new index");
    assert_eq!(ids(&index.search(&request("weather"), &[]).expect("an answer")), ["urn:new"]);
    let directories = fs::read_dir(home.path())
        .expect("a directory")
        .filter(|entry| entry.as_ref().expect("an entry").path().is_dir());
    assert_eq!(directories.count(), 1, "leftovers are removed");
}

#[test]
fn what_cannot_be_read_is_built_anew() {
    let nowhere = tempfile::tempdir().expect("a temporary directory");
    assert!(Index::open(nowhere.path()).expect("no error").is_none());
    assert!(Index::open(&nowhere.path().join("missing")).expect("no error").is_none());

    let TestIndex { home, writer, index, .. } = TestIndex::with(&[thing("urn:a", "Weather", "")]);
    drop((writer, index));
    let current = fs::read_to_string(home.path().join("CURRENT")).expect("CURRENT");
    let directory = home.path().join(current.split_whitespace().nth(1).expect("a name"));
    for text in ["", "garbage", "999999 index-1", "\u{0}\u{ff}"] {
        fs::write(home.path().join("CURRENT"), text).expect("written");
        assert!(Index::open(home.path()).expect("no error").is_none(), "{text:?}");
    }
    fs::write(home.path().join("CURRENT"), current).expect("written");
    let files = fs::read_dir(&directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension != "lock")) {
        let whole = fs::read(&file).expect("read");
        if whole.is_empty() {
            continue;
        }
        fs::write(&file, &whole[..whole.len() / 2]).expect("written");
        assert!(Index::open(home.path()).expect("no error").is_none(), "{} was cut in half", file.display());
        fs::write(&file, whole).expect("written");
    }
    assert!(Index::open(home.path()).expect("no error").is_some());
}

#[test]
fn expired_things_are_neither_found_nor_counted() {
    let things: Vec<_> =
        ["urn:a", "urn:b", "urn:c"].map(|id| extended(thing(id, "Weather", ""), json!({"tags": ["t"]}))).into();
    let index = TestIndex::with(&things);
    let expired = ["urn:a".to_owned(), "urn:gone".to_owned()];
    for query in ["weather", "", "tag:t", "-tides"] {
        let request = Search { facets: vec![agentdex::search::FacetField::Tag], ..request(query) };
        let response = index.index.search(&request, &expired).expect("an answer");
        assert_eq!((response.total, ids(&response)), (2, vec!["urn:b".to_owned(), "urn:c".to_owned()]), "{query}");
        assert_eq!(response.facets[&agentdex::search::FacetField::Tag][0].count, 2);
    }
    assert_eq!(index.index.ids(None, &Filters::default(), &expired).expect("ids"), ["urn:b", "urn:c"]);
}

#[test]
fn ids_are_listed_in_order() {
    let mut index = TestIndex::new();
    for round in 0..3 {
        for n in 0..20 {
            index.put(&thing(&format!("urn:{:02}", (n * 7 + round) % 50), "Weather", ""));
        }
        index.commit();
    }
    let all = index.index.ids(None, &Filters::default(), &[]).expect("ids");
    assert!(all.is_sorted() && all.len() as u64 == index.query("").total);
    let ids = index.index.ids(Some("id:urn:07 id:urn:00"), &Filters::default(), &[]).expect("ids");
    assert_eq!(ids, ["urn:00", "urn:07"]);
}

#[test]
fn pages_are_bounded() {
    let index = TestIndex::with(&[thing("urn:a", "Weather", "")]);
    let page = |offset, limit| index.index.search(&Search { offset, limit, ..request("weather") }, &[]);
    assert_eq!(page(0, 0).expect("an answer").total, 1);
    assert_eq!(page(0, usize::MAX).expect("a limit over 1,000 is served as 1,000").hits.len(), 1);
    assert_eq!(page(9_000, 1_000).expect("the last page").hits.len(), 0);
    let error = page(9_001, 5_000).expect_err("too deep");
    assert!(matches!(error, Error::LimitExceeded { maximum: 10_000, .. }), "{error}");
    assert!(page(usize::MAX, 1).is_err());
}

#[test]
fn an_agent_is_found_by_its_own_tools_and_its_model() {
    let data = |name: &str, description: &str| json!({"properties": {name: {"description": description}}});
    let index = TestIndex::with(&[
        extended(
            thing("urn:a", "Agent", ""),
            json!({
                "lmos:capabilities": [{
                    "lmos:id": "rainRadar", "lmos:name": "rainRadar", "lmos:description": "Sees storms.",
                    "agentspec:input": data("region", "a postal code"), "agentspec:output": data("picture", ""),
                }],
                "agentspec:model": {"agentspec:modelName": "gpt-4o", "agentspec:provider": "openai"},
                "agentspec:prompts": [{"agentspec:field": "system_prompt", "agentspec:text": "Be courteous."}],
                "agentspec:metadata": {"@type": "@json", "@value": {"tags": ["meteorology"]}},
            }),
        ),
        extended(
            thing("urn:b", "Agent", ""),
            json!({"lmos:capabilities": [{"id": "invoke", "agentspec:input": data("destination", ""), "agentspec:output": data("itinerary", "")}]}),
        ),
    ]);
    for query in ["radar", "storms", "region", "postal", "picture", "gpt-4o", "openai", "courteous", "meteorology"] {
        assert_eq!(index.found(query), ["urn:a"], "{query}");
    }
    for query in ["destination", "itinerary"] {
        assert_eq!(index.found(query), ["urn:b"], "{query}");
    }
}

/// Whatever kind of query it is, and whichever way its total is taken.
#[test]
fn what_is_hidden_is_neither_found_nor_counted() {
    let mut index = TestIndex::new();
    for n in 0..200 {
        let text = if n % 2 == 0 { "alpha beta" } else { "alpha" };
        index.put(&extended(
            thing(&format!("urn:{n:03}"), "Numbers", text),
            json!({"lmos:metadata": {"lmos:vendor": "Acme"}}),
        ));
        if n == 120 {
            index.commit();
        }
    }
    index.commit();
    let hidden: Vec<String> = (0..200).filter(|n| n % 4 == 0).map(|n| format!("urn:{n:03}")).collect();
    for (query, total) in [
        ("", 150),
        ("alpha", 150),
        ("beta", 50),
        ("alpha beta", 150),
        ("\"alpha beta\"", 50),
        ("+alpha -beta", 100),
        ("vendor:acme", 150),
    ] {
        for facets in [Vec::new(), vec![FacetField::Vendor]] {
            let request = Search { facets: facets.clone(), limit: 1000, ..request(query) };
            let response = index.index.search(&request, &hidden).expect("an answer");
            assert_eq!((response.total, response.hits.len() as u64), (total, total), "{query}");
            assert!(response.hits.iter().all(|hit| !hidden.contains(&hit.id)), "{query}");
            if !facets.is_empty() {
                assert_eq!(response.facets[&FacetField::Vendor][0].count, total, "{query}");
            }
        }
        let ids = index.index.ids(Some(query), &Filters::default(), &hidden).expect("ids");
        assert_eq!(ids.len() as u64, total, "{query}");
    }
}

#[test]
fn a_description_is_searched_up_to_256_kib_and_its_names_first() {
    let filler = |bytes: usize| "lorem ".repeat(bytes / 6);
    let long = format!("{} inside {} outside", filler(250_000), filler(20_000));
    let long =
        extended(thing("urn:long", "Harbour", &long), json!({"actions": {"payBill": {"description": "beyond"}}}));
    let encoded = "q".repeat(900_000);
    let index = TestIndex::with(&[long, thing("urn:word", "Encoded", &format!("before {encoded} after"))]);
    let found = |query: &str| index.index.ids(Some(query), &Filters::default(), &[]).expect("ids");
    for (query, expected) in [
        ("harbour", &["urn:long"][..]),
        ("inside", &["urn:long"]),
        ("outside", &[]),
        ("beyond", &[]),
        ("payBill", &["urn:long"]),
        ("capability:payBill", &["urn:long"]),
        ("before", &["urn:word"]),
        ("after", &[]),
        (&encoded[..4_000], &[]),
    ] {
        assert_eq!(found(query), expected, "{}", &query[..query.len().min(20)]);
    }
}
