//! `GET /search`.

use serde_json::{Value, json};

use crate::support::{TestRegistry, agent, next_millisecond, nth};

#[test]
fn hits_come_with_capabilities_and_links() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a%2Fb", agent("urn:example:a/b", "Weather agent")).expect(201);
    let answer = registry.get("/search?q=weather+forecast&facets=vendor,capability&consistent=true").expect(200);
    assert_eq!(answer.header("agentdex-seq"), nth(1).to_string());
    let page = answer.json();
    assert_eq!(page["total"], 1);
    assert_eq!(page["seq"], json!(nth(1)));
    assert_eq!(page["suggestions"], json!([]));
    assert!(page["facets"]["vendor"].is_array(), "{page}");
    let hit = &page["hits"][0];
    assert_eq!((&hit["id"], &hit["title"]), (&json!("urn:example:a/b"), &json!("Weather agent")));
    assert!(hit["score"].as_f64().unwrap() > 0.0);
    assert!(hit["capabilities"][0]["snippet"].as_str().unwrap().contains("<b>"), "{hit}");
    let link = &hit["links"][0];
    assert_eq!(link["type"], "application/td+json");
    assert_eq!(registry.get(link["href"].as_str().unwrap()).expect(200).json()["id"], "urn:example:a/b");
}

#[test]
fn pages_link_to_the_next() {
    let registry = TestRegistry::start();
    for number in 0..3 {
        let id = format!("urn:example:{number}");
        registry.put(&format!("/things/{id}"), agent(&id, "Weather agent")).expect(201);
    }
    let page = registry.get("/search?q=weather&limit=2&consistent=true").expect(200);
    assert_eq!(page.header("link"), "</search?offset=2&limit=2&q=weather&consistent=true>; rel=\"next\"");
    assert_eq!(registry.get("/search?q=weather&limit=2&offset=2").json()["hits"].as_array().unwrap().len(), 1);
    for offset in [3, 4, 9_998] {
        let beyond = registry.get(&format!("/search?q=weather&limit=2&offset={offset}")).expect(200);
        assert_eq!((&beyond.json()["total"], &beyond.json()["hits"]), (&json!(3), &json!([])), "{offset}");
        assert_eq!(beyond.header("link"), "</search?offset=2&limit=2&q=weather>; rel=\"last\"", "{offset}");
    }
    let nothing = registry.get("/search?q=title:zebra&offset=20").expect(200);
    assert!(!nothing.headers.contains_key("link"), "{}", nothing.header("link"));
    let problem = registry.get("/search?offset=9999&limit=10").problem(400, "limit-exceeded");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("10000") && detail.contains("narrow") && detail.contains("/things"), "{detail}");
}

#[test]
fn hits_are_sorted_as_lists_are() {
    let registry = TestRegistry::start();
    for (id, title) in [("a", "Zebra rain"), ("b", "ant rain"), ("c", "Mole rain"), ("d", "Ant rain")] {
        registry.registry().put(agent(&format!("urn:example:{id}"), title)).unwrap();
        next_millisecond();
    }
    registry.registry().patch("urn:example:b", r#"{"description": "Rains"}"#).unwrap();
    let found = |path: &str| {
        let page = registry.get(path).expect(200).json();
        ids(&page).iter().map(|id| id.trim_start_matches("urn:example:")).collect::<String>()
    };
    for (order, expected) in [
        ("sort_by=id", "abcd"),
        ("sort_by=id&sort_order=desc", "dcba"),
        ("sort_by=title", "bdca"),
        ("sort_by=title&sort_order=desc", "acbd"),
        ("sort_by=created&sort_order=desc", "dcba"),
        ("sort_by=modified&sort_order=asc", "acdb"),
        ("sort_by=modified&sort_order=desc&limit=2&offset=1", "dc"),
    ] {
        let limited = if order.contains("limit") { order.to_owned() } else { format!("{order}&limit=10") };
        assert_eq!(found(&format!("/things?{limited}")), expected, "{order}");
        for query in ["", "&q=rain", "&q=rain&mode=lexical", "&q=rain&mode=semantic"] {
            assert_eq!(found(&format!("/search?consistent=true&{limited}{query}")), expected, "{order}{query}");
        }
    }
    let by_relevance = found("/search?q=ant+rain");
    assert_eq!(found("/search?q=ant+rain&sort_by=relevance&sort_order=desc"), by_relevance);
    let sorted = registry.get("/search?q=ant+rain&sort_by=title").json();
    assert!(sorted["hits"][0]["cosine"].is_number() && sorted["hits"][0]["score"].as_f64() > Some(0.0), "{sorted}");
    for path in [
        "/search?sort_by=score",
        "/search?sort_order=up",
        "/search?sort_order=asc",
        "/search?sort_by=relevance&sort_order=asc",
    ] {
        let problem = registry.get(path).problem(400, "invalid-parameter");
        assert!(problem["detail"].as_str().unwrap().contains("modified") != path.ends_with("=up"), "{problem}");
    }
}

#[test]
fn facets_are_searched() {
    let registry = fleet();
    let page = registry.get("/search?limit=0&facets=capability,tag&facet_query=OF-&consistent=true").expect(200).json();
    assert_eq!(counts(&page, "capability"), [("of-Acme".into(), 2), ("of-Beta".into(), 1), ("of-Gamma".into(), 1)]);
    assert_eq!((&page["facet_totals"], &page["facets"]["tag"]), (&json!({"capability": 3, "tag": 0}), &json!([])));
    let page = registry.get("/search?facets=tag").expect(200).json();
    assert_eq!(page["facet_totals"], json!({"tag": 3}));
    registry.get("/search?facet_query=of").problem(400, "invalid-parameter");
    registry.get(&format!("/search?facets=tag&facet_query={}", "x".repeat(257))).problem(400, "limit-exceeded");
}

#[test]
fn words_of_the_query_are_marked_as_plain_text() {
    let registry = TestRegistry::start();
    let weather = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "@type": "lmos:Agent", "id": "urn:a",
        "title": "<b>Storm</b> & forecasting", "security": "none", "securityDefinitions": {"none": {"scheme": "nosec"}},
        "description": format!("{}It forecasts a storm <i>soon</i>.{}", "Sun. ".repeat(100), " Rain.".repeat(100)),
    });
    let german = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"@language": "de"}], "@type": "lmos:Agent", "id": "urn:b",
        "title": "Wetterfrosch", "security": "none", "securityDefinitions": {"none": {"scheme": "nosec"}},
        "description": "Kennt die B\u{e4}ume am Weg.",
    });
    for agent in [weather, german] {
        registry.put(&format!("/things/{}", agent["id"].as_str().unwrap()), agent.to_string()).expect(201);
    }
    let hit =
        |path: &str| registry.get(&format!("/search?consistent=true&{path}")).expect(200).json()["hits"][0].clone();
    let found = hit("q=storms+forecast&highlight=true");
    let title = json!([
        {"text": "<b>"}, {"text": "Storm", "match": true}, {"text": "</b> & "}, {"text": "forecasting", "match": true},
    ]);
    assert_eq!(found["highlight"]["title"], title);
    let description = found["highlight"]["description"].as_array().unwrap();
    let marked = |segments: &[Value]| -> Vec<String> {
        let marked = segments.iter().filter(|segment| segment["match"] == true);
        marked.map(|segment| segment["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(marked(description), ["forecasts", "storm"]);
    let text: String = description.iter().map(|segment| segment["text"].as_str().unwrap()).collect();
    assert!(text.starts_with('…') && text.ends_with('…') && text.contains("storm <i>soon"), "{text}");
    assert!(text.chars().count() < 210, "{text}");
    let found = hit("q=Baum&highlight=true&mode=lexical");
    assert_eq!(marked(found["highlight"]["description"].as_array().unwrap()), ["B\u{e4}ume"]);
    assert!(found["highlight"].get("title").is_none(), "{found}");
    assert!(hit("q=storm").get("highlight").is_none());
    assert!(hit("highlight=true").get("highlight").is_none());
}

#[test]
fn hits_have_the_members_that_are_asked_for() {
    let registry = fleet();
    let hit = |path: &str| {
        registry.get(&format!("/search?consistent=true&q=billing&{path}")).expect(200).json()["hits"][0].clone()
    };
    let names = |hit: &Value| hit.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&hit("fields=title,score&fields=version")), ["id", "score", "title", "version"]);
    assert_eq!(names(&hit("fields=id")), ["id"]);
    assert_eq!(names(&hit("fields=highlight,explanation")), ["explanation", "highlight", "id"]);
    let whole = hit("");
    assert_eq!((&whole["vendors"], &whole["callable"]), (&json!(["Acme"]), &json!(false)));
    assert!(whole["version"].is_string() && whole["modified"].as_str().unwrap().ends_with('Z'), "{whole}");
    let page = registry.get("/search?fields=title").expect(200).json();
    assert!(page["total"].is_number() && page["facets"].is_object() && page["mode"] == "hybrid", "{page}");
    let problem = registry.get("/search?fields=title,colour").problem(400, "invalid-parameter");
    assert!(
        problem["detail"].as_str().unwrap().contains("\"colour\" of a hit; members are bm25, callable"),
        "{problem}"
    );
}

#[test]
fn the_mode_says_what_counts() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "Weather agent")).expect(201);
    let answer = |mode: &str| {
        registry.get(&format!("/search?q=meteorological+prediction{mode}&consistent=true")).expect(200).json()
    };
    for mode in ["", "&mode=hybrid", "&mode=semantic"] {
        let page = answer(mode);
        let hit = &page["hits"][0];
        assert_eq!((&hit["id"], &page["total"], &hit["bm25"]), (&json!("urn:example:a"), &json!(1), &json!(0.0)));
        assert!(hit["cosine"].as_f64().is_some_and(|cosine| cosine > 0.2), "{mode}: {hit}");
    }
    assert_eq!(answer("&mode=lexical")["total"], 0);
    let problem = registry.get("/search?q=weather&mode=fuzzy").problem(400, "invalid-parameter");
    assert!(problem["detail"].as_str().unwrap().contains("lexical, semantic, hybrid"), "{problem}");
}

#[test]
fn stray_operators_are_text() {
    let registry = TestRegistry::start();
    for query in ["%22", "%2B", "-", "*", "title%3A", "%22a%22%22", "AND", "(((", "%5B", "~%5E"] {
        registry.get(&format!("/search?q={query}")).expect(200);
    }
}

#[test]
fn what_search_cannot_do_is_said() {
    let registry = TestRegistry::start();
    registry.get("/search?facets=colour").problem(400, "invalid-parameter");
    registry.get("/search?limit=-1").problem(400, "invalid-parameter");
    for path in ["/search?status=broken", "/things?status=broken", "/things?status=stale&signature=none"] {
        let problem = registry.get(path).problem(400, "invalid-parameter");
        assert!(problem["detail"].as_str().unwrap().contains("must be one of"), "{problem}");
    }
    registry.get("/search?offset=9999&limit=10").problem(400, "limit-exceeded");
    registry.get(&format!("/search?q={}", "x".repeat(4097))).problem(400, "limit-exceeded");
    registry.get("/search/xpath?query=//title").problem(501, "query-language-not-offered");
    registry.get("/search/sparql?query=ASK%7B%7D").problem(501, "query-language-not-offered");
    registry.get("/search/cobol").problem(404, "unknown-path");
}

#[test]
fn capabilities_are_asked_for_in_a_range_of_versions() {
    let registry = TestRegistry::start();
    for (id, version, tenant) in [("urn:a", "1.2.0", "de"), ("urn:b", "1.10.0", "at"), ("urn:c", "2.0.0", "de")] {
        let agent = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent", "id": id, "title": "Billing",
            "lmos:capabilities": [{"name": "billing", "version": version}],
            "lmos:supportedTenants": [tenant], "lmos:supportedChannels": ["web"],
        });
        registry.put(&format!("/things/{id}"), agent.to_string()).expect(201);
    }
    let found = |path: &str| {
        let page = registry.get(path).expect(200).json();
        let hits = if page.is_array() { page } else { page["hits"].clone() };
        hits.as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("/search?capability=billing@^1.2&consistent=true"), ["urn:b", "urn:a"]);
    assert_eq!(found("/search?capability=billing%40%3E%3D1.5%20%7C%7C%201.2.x"), ["urn:c", "urn:b", "urn:a"]);
    assert_eq!(found("/search?capability=billing@1&tenant=de&channel=web"), ["urn:a"]);
    assert_eq!(found("/things?capability=billing@1&channel=web&tenant=at"), ["urn:b"]);
    assert_eq!(found("/search?channel=phone"), [""; 0]);
    for path in ["/search?capability=billing@%3E%3D1.2.0,%3C2", "/things?capability=billing@1.2.3.4"] {
        let problem = registry.get(path).problem(400, "invalid-query");
        assert!(problem["detail"].as_str().unwrap().contains(">=1 <3"), "{problem}");
    }
}

/// Agents of three vendors, with tags and versions.
fn fleet() -> TestRegistry {
    let registry = TestRegistry::start();
    for (id, vendor, tags, version) in [
        ("urn:a", "Acme", &["fast", "cheap"][..], "1.2.0"),
        ("urn:b", "Acme", &["fast"], "1.10.0"),
        ("urn:c", "Beta", &["cheap"], "2.0.0"),
        ("urn:d", "Gamma", &["fast", "cheap", "beta"], "nightly"),
    ] {
        let agent = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent", "id": id, "title": "Billing", "tags": tags, "version": {"instance": version},
            "lmos:vendor": vendor, "lmos:capabilities": [{"name": "billing"}, {"name": format!("of-{vendor}")}],
        });
        registry.put(&format!("/things/{id}"), agent.to_string()).expect(201);
    }
    registry
}

fn ids(page: &Value) -> Vec<&str> {
    let hits = page.as_array().unwrap_or_else(|| page["hits"].as_array().unwrap());
    hits.iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

fn counts(page: &Value, facet: &str) -> Vec<(String, u64)> {
    let count = |count: &Value| (count["value"].as_str().unwrap().to_owned(), count["count"].as_u64().unwrap());
    page["facets"][facet].as_array().unwrap().iter().map(count).collect()
}

#[test]
fn facets_are_counted_without_hits() {
    let registry = fleet();
    let answer = registry.get("/search?limit=0&facets=vendor&consistent=true").expect(200);
    assert!(!answer.headers.contains_key("link"), "no page follows an empty one");
    let page = answer.json();
    assert_eq!((&page["total"], &page["hits"]), (&json!(4), &json!([])));
    assert_eq!(counts(&page, "vendor"), [("Acme".into(), 2), ("Beta".into(), 1), ("Gamma".into(), 1)]);
    for mode in ["lexical", "semantic", "hybrid"] {
        let page = registry.get(&format!("/search?q=billing&limit=0&facets=tag&mode={mode}")).expect(200).json();
        assert_eq!((&page["total"], &page["hits"]), (&json!(4), &json!([])), "{mode}");
        assert_eq!(counts(&page, "tag")[0], ("cheap".into(), 3), "{mode}");
    }
}

#[test]
fn a_facet_ignores_its_own_filter() {
    let registry = fleet();
    for query in ["", "&q=billing", "&q=billing&mode=lexical"] {
        let path = format!("/search?vendor=acme&tag=cheap&facets=vendor,tag&consistent=true{query}");
        let page = registry.get(&path).expect(200).json();
        assert_eq!(ids(&page), ["urn:a"], "{query}");
        let vendors = [("Acme".into(), 1), ("Beta".into(), 1), ("Gamma".into(), 1)];
        assert_eq!(counts(&page, "vendor"), vendors, "of those that are cheap{query}");
        assert_eq!(counts(&page, "tag"), [("fast".into(), 2), ("cheap".into(), 1)], "of those of Acme{query}");
    }
    // What must be there, and what must not, has no alternatives.
    let page = registry.get("/search?all_tag=cheap&not_vendor=Gamma&facets=vendor,tag").expect(200).json();
    assert_eq!(counts(&page, "vendor"), [("Acme".into(), 1), ("Beta".into(), 1)]);
    assert_eq!(counts(&page, "tag"), [("cheap".into(), 2), ("fast".into(), 1)]);
}

#[test]
fn filters_ask_for_any_all_or_none_of_their_values() {
    let registry = fleet();
    let found = |parameters: &str| {
        let page = registry.get(&format!("/search?consistent=true{parameters}")).expect(200).json();
        let list = registry.get(&format!("/things?consistent=true{parameters}")).expect(200).json();
        assert_eq!(ids(&page), ids(&list), "{parameters}");
        ids(&page).join(" ")
    };
    assert_eq!(found("&tag=fast&tag=cheap"), "urn:a urn:b urn:c urn:d");
    assert_eq!(found("&all_tag=fast&all_tag=cheap"), "urn:a urn:d");
    assert_eq!(found("&all_tag=fast&all_tag=cheap&not_tag=BETA"), "urn:a");
    assert_eq!(found("&not_vendor=Acme&not_vendor=Beta"), "urn:d");
    assert_eq!(found("&all_capability=billing&all_capability=of-beta"), "urn:c");
    assert_eq!(found("&not_capability=billing@^1"), "urn:c urn:d");
    assert_eq!(found("&tag=fast&not_tag=cheap"), "urn:b");
    assert_eq!(found("&not_type=lmos:Agent"), "");
    assert_eq!(ids(&registry.get("/search?not_format=td").expect(200).json()), [""; 0]);
    assert_eq!(ids(&registry.get("/things?not_source_format=td").expect(200).json()), [""; 0]);
    let problem = registry.get("/search?not_status=broken").problem(400, "invalid-parameter");
    assert!(problem["detail"].as_str().unwrap().contains("must be one of current, stale"), "{problem}");
    registry.get("/search?not_facets=vendor").problem(400, "invalid-parameter");
}

#[test]
fn fields_that_have_an_order_are_asked_for_in_ranges() {
    let registry = fleet();
    let found = |parameters: &str| {
        let page = registry.get(&format!("/search?consistent=true{parameters}")).expect(200).json();
        ids(&page).join(" ")
    };
    assert_eq!(found("&version=^1.2"), "urn:a urn:b");
    assert_eq!(found("&version=%3E=1.3%20%3C3"), "urn:b urn:c");
    assert_eq!(found("&version=1.2.0&version=nightly"), "urn:a urn:d");
    assert_eq!(found("&not_version=1.x"), "urn:c urn:d");
    let problem = registry.get("/search?version=%3E=1,%20%3C3").problem(400, "invalid-query");
    assert!(problem["detail"].as_str().unwrap().contains(">=1 <3"), "{problem}");

    let moment = |id: &str, which: &str| {
        let thing = registry.get(&format!("/things/{id}")).expect(200).json();
        thing["registration"][which].as_str().unwrap().to_owned()
    };
    let last = moment("urn:d", "created");
    while agentdex::Timestamp::now().to_string() <= last {
        std::thread::yield_now();
    }
    registry.patch("/things/urn:a", r#"{"description": "changed"}"#).expect(204);
    let (created, modified) = (moment("urn:c", "created"), moment("urn:a", "modified"));
    assert_eq!(found(&format!("&modified_from={modified}")), "urn:a");
    assert_eq!(found(&format!("&modified_before={modified}")), "urn:b urn:c urn:d");
    assert!(found(&format!("&created_from={created}&q=billing")).contains("urn:c"));
    assert!(!found(&format!("&created_before={created}")).contains("urn:c"));
    assert_eq!(found("&created_from=2020-01-01&created_before=2020-12-31"), "");
    assert_eq!(ids(&registry.get(&format!("/things?modified_from={modified}")).expect(200).json()), ["urn:a"]);
    for value in ["yesterday", "2020-13-01", ""] {
        registry.get(&format!("/search?modified_from={value}")).problem(400, "invalid-parameter");
    }
    // Time goes on: what was changed before a moment is no event of a change.
    let save =
        |path: &str, query: &Value| registry.call("PUT", path).body("application/json", query.to_string()).send();
    for path in ["/queries/old", "/queries/new"] {
        let query = json!({"q": "billing", "modified_before": "2020-01-01T00:00:00Z"});
        save(path, &query).problem(400, "invalid-query");
    }
    let query = json!({"all_tag": ["fast", "cheap"], "not_tag": ["beta"], "version": [">=1"]});
    save("/queries/fast", &query).expect(201);
    let saved = registry.get("/queries/fast").expect(200).json();
    assert_eq!(saved["query"], query);
}

#[test]
fn scores_compare_between_requests() {
    let registry = TestRegistry::start();
    for (id, title) in [("urn:example:a", "Weather agent"), ("urn:example:b", "Invoice clerk")] {
        registry.put(&format!("/things/{id}"), agent(id, title)).expect(201);
    }
    let found = |query: &str| registry.get(&format!("/search?{query}&consistent=true")).expect(200).json();
    for mode in ["lexical", "hybrid", "semantic"] {
        let (full, half) = (found(&format!("q=weather&mode={mode}")), found(&format!("q=weather+zzyzx&mode={mode}")));
        let score = |page: &Value| page["hits"][0]["normalized_score"].as_f64().unwrap();
        assert!(score(&full) > 0.0 && score(&full) <= 1.0, "{mode}: {full}");
        assert!(score(&half) > 0.0 && score(&half) <= score(&full), "{mode}: {half}");
        if mode == "lexical" {
            assert!(score(&half) < 0.7 * score(&full), "half of what was asked for is nowhere: {half}");
        }
        let hits = found(&format!("q=weather+agent+forecast&mode={mode}"));
        let hits: Vec<[f64; 2]> = hits["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| ["score", "normalized_score"].map(|name| hit[name].as_f64().unwrap()))
            .collect();
        for pair in hits.windows(2) {
            assert!((pair[0][0] >= pair[1][0]) == (pair[0][1] >= pair[1][1]), "{mode}: {hits:?}");
        }
    }
    assert!(found("q=")["hits"][0].get("normalized_score").is_none(), "nothing is asked for");
}

#[test]
fn the_score_of_a_hit_is_explained() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "Weather agent")).expect(201);
    let hit = |query: &str| {
        let page = registry.get(&format!("/search?{query}&consistent=true")).expect(200).json();
        page["hits"][0].clone()
    };
    let number = |value: &Value| value.as_f64().unwrap();
    for query in [
        "q=the+weather+agent&explain=true",
        "q=wether+agent&mode=lexical&explain=true",
        "q=%2Bweather+%22weather+agent%22+fore*&explain=true",
        "q=what+will+the+weather+be%3F+ask+the+agent+for+it.&explain=true",
        "q=weather&mode=semantic&explain=true",
    ] {
        let hit = hit(query);
        let explanation = &hit["explanation"];
        let words: f64 = explanation["words"].as_array().unwrap().iter().map(|word| number(&word["score"])).sum();
        assert!((words - number(&hit["bm25"])).abs() < 0.02, "{query}: {hit}");
        let share = explanation["meaning"]["words_share"].as_f64().unwrap_or(1.0);
        assert!((0.5..=1.0).contains(&share), "{query}: {hit}");
        let rest = ["meaning", "title"].map(|part| explanation[part]["score"].as_f64().unwrap_or_default());
        assert!((share * words + rest[0] + rest[1] - number(&hit["score"])).abs() < 0.02, "{query}: {hit}");
        let share = number(&hit["score"]) / number(&explanation["best"]);
        assert!((share.min(1.0) - number(&hit["normalized_score"])).abs() < 0.001, "{query}: {hit}");
    }
    let hit_of = hit("q=please+weather&explain=true");
    let words = hit_of["explanation"]["words"].as_array().unwrap();
    assert_eq!(words.len(), 1, "`please` is nowhere: {words:?}");
    assert_eq!((&words[0]["word"], &words[0]["boost"]), (&json!("weather"), &json!(1.0)));
    assert!(hit("q=weather").get("explanation").is_none());
    registry.get("/search?explain=yes").problem(400, "invalid-parameter");
}

#[test]
fn every_title_is_found_while_it_is_typed() {
    let registry = TestRegistry::start();
    let mut titles = Vec::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/agents")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let thing: Value = serde_json::from_str(&text).unwrap();
        let [id, title] = ["id", "title"].map(|member| thing[member].as_str().unwrap().to_owned());
        registry.put(&format!("/things/{}", id.replace('/', "%2F")), text).expect(201);
        titles.push((id, title));
    }
    registry.get("/search?consistent=true").expect(200);
    let mut typed = 0;
    for (id, title) in titles {
        for mode in ["hybrid", "lexical"] {
            for end in 3..=title.len() {
                let query = title.get(..end).unwrap().to_lowercase();
                let escaped = query.replace(' ', "%20");
                let page = registry.get(&format!("/search?q={escaped}&mode={mode}&typing=true")).expect(200).json();
                assert!(ids(&page).contains(&id.as_str()), "{query:?} in the mode {mode}: {page}");
                typed += 1;
            }
        }
    }
    assert!(typed > 150, "{typed}");
    let first = |query: &str| {
        let query = query.replace(' ', "%20");
        let page = registry.get(&format!("/search?q={query}&mode=semantic&typing=true")).expect(200).json();
        page["hits"][0]["title"].as_str().unwrap_or_default().to_owned()
    };
    // By meaning too, a word that isn't finished counts as what it may become.
    for (query, title) in [
        ("wea", "Weather agent"),
        ("weath", "Weather agent"),
        ("tell me the weath", "Weather agent"),
        ("translatio", "Polyglot translator"),
        ("book a hote", "Travel planner"),
        ("hom", "Home energy agent"),
        ("inv", "Invoice clerk"),
        ("weather qqq", "Weather agent"),
    ] {
        assert_eq!(first(query), title, "{query}");
    }
    assert_eq!(registry.get("/search?q=weath&mode=semantic").expect(200).json()["total"], 0);
    registry.get("/search?q=w&typing=1").problem(400, "invalid-parameter");
    let found = |path: &str| registry.get(path).expect(200).json()["total"].as_u64().unwrap();
    // A space or another sign ends a word.
    assert_eq!(found("/search?q=weath&mode=lexical"), 0);
    assert_eq!(found("/search?q=weath%20&mode=lexical&typing=true"), 0);
    assert_eq!(found("/search?q=title:weath&mode=lexical&typing=true"), 1);
    assert_eq!(found("/search?q=capability:translate-t&typing=true"), 1);
    assert_eq!(found("/search?q=-weath&typing=true"), found("/search?q=-weath"));
}
