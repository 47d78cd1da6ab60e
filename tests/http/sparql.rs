//! `/search/sparql`.

use agentdex::registry;
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry, agent, eventually};

const TITLES: &str = "SELECT ?s ?t { ?s <https://www.w3.org/2019/wot/td#title> ?t } ORDER BY ?s";
const FORM: &str = "application/x-www-form-urlencoded";
const QUERY: &str = "application/sparql-query";

fn start() -> TestRegistry {
    let options = registry::Options::default().sparql(true);
    TestRegistry::start_with(options, http::Options::default())
}

fn registry() -> TestRegistry {
    let registry = start();
    for (id, title) in [("a", "Weather"), ("b", "Billing")] {
        registry.registry().put(agent(&format!("urn:example:{id}"), title)).unwrap();
    }
    registry
}

fn encoded(query: &str) -> String {
    percent_encoding::utf8_percent_encode(query, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn get(registry: &TestRegistry, query: &str, accept: &str) -> Answer {
    let path = format!("/search/sparql?consistent=true&query={}", encoded(query));
    registry.call("GET", &path).header("accept", accept).send()
}

fn ask(registry: &TestRegistry, query: &str) -> Answer {
    get(registry, query, "*/*")
}

/// The values of a variable.
fn values(answer: &Answer, variable: &str) -> Vec<String> {
    let results = answer.json();
    let rows = results["results"]["bindings"].as_array().unwrap().clone();
    rows.iter().map(|row| row[variable]["value"].as_str().unwrap_or_default().to_owned()).collect()
}

fn titles(registry: &TestRegistry) -> Vec<String> {
    values(&ask(registry, TITLES).expect(200), "t")
}

#[test]
fn results_are_written_as_they_are_asked_for() {
    let registry = registry();
    let construct = "CONSTRUCT { ?s <urn:t> ?t } WHERE { ?s <https://www.w3.org/2019/wot/td#title> ?t }";
    for (query, accept, media_type, part) in [
        (TITLES, "*/*", "application/sparql-results+json", "\"Weather\""),
        (TITLES, "application/json", "application/sparql-results+json", "\"Weather\""),
        (TITLES, "application/json, text/csv;q=0.1", "application/sparql-results+json", "\"Weather\""),
        (TITLES, "application/sparql-results+xml", "application/sparql-results+xml", "<literal>Weather</literal>"),
        (TITLES, "text/csv", "text/csv", "urn:example:a,Weather"),
        (TITLES, "text/tab-separated-values", "text/tab-separated-values", "<urn:example:a>\t\"Weather\""),
        ("ASK { ?s ?p 'Weather' }", "*/*", "application/sparql-results+json", "true"),
        ("ASK { ?s ?p 'Nothing' }", "*/*", "application/sparql-results+json", "false"),
        (construct, "*/*", "application/ld+json", "\"urn:t\""),
        (construct, "application/n-triples", "application/n-triples", "<urn:example:a> <urn:t> \"Weather\" ."),
        (construct, "text/turtle;q=0.9", "text/turtle", "<urn:t> \"Weather\""),
        (construct, "application/n-quads", "application/n-quads", "<urn:t> \"Weather\" ."),
        ("DESCRIBE <urn:example:b>", "text/turtle", "text/turtle", "td:title \"Billing\""),
    ] {
        let answer = get(&registry, query, accept).expect(200);
        assert_eq!(answer.header("content-type"), media_type, "{query} {accept}");
        assert!(answer.text().contains(part), "{query} {accept}: {}", answer.text());
    }
}

#[test]
fn queries_come_in_the_url_in_forms_and_as_they_are() {
    let registry = registry();
    let consistent = "/search/sparql?consistent=true";
    let form = format!("query={}&consistent=true", encoded(TITLES));
    for answer in [
        ask(&registry, TITLES),
        registry.call("POST", consistent).body(QUERY, TITLES).send(),
        registry.call("POST", "/search/sparql").body(FORM, form.as_str()).send(),
        registry.call("POST", consistent).body("application/sparql-query; charset=utf-8", TITLES).send(),
    ] {
        assert_eq!(values(&answer.expect(200), "t"), ["Weather", "Billing"]);
    }
    registry.call("POST", consistent).body("text/plain", TITLES).send().expect(415);
    registry.get("/search/sparql").problem(400, "invalid-parameter");
    registry.get("/search/sparql?query=ASK%7B%7D&default-graph-uri=urn:a").expect(400);
    assert!(registry.head(&format!("/search/sparql?query={}", encoded(TITLES))).expect(200).body.is_empty());
    let misspelled = format!("query={}&consistent=yes", encoded(TITLES));
    let path = "/search/sparql?consistent=true";
    registry.call("POST", path).body(FORM, misspelled).send().problem(400, "invalid-parameter");
    registry.call("DELETE", "/search/sparql").send().expect(405);
}

#[test]
fn each_thing_is_a_graph_and_the_default_graph_has_them_all() {
    let registry = registry();
    let graphs = ask(&registry, "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } } ORDER BY ?g").expect(200);
    assert_eq!(values(&graphs, "g"), ["urn:example:a", "urn:example:b"]);
    let one = "SELECT ?t { GRAPH <urn:example:b> { ?s <https://www.w3.org/2019/wot/td#title> ?t } }";
    assert_eq!(values(&ask(&registry, one).expect(200), "t"), ["Billing"]);
    // A statement that two Things make is there once, and in the graph of each.
    for id in ["urn:example:c", "urn:example:d"] {
        let mut thing: Value = serde_json::from_str(&agent(id, "Shared")).unwrap();
        thing["ex:about"] = json!({"@id": "ex:topic", "ex:name": "Topic"});
        registry.registry().put(thing.to_string()).unwrap();
    }
    let union = "SELECT ?n { <ex:topic> <ex:name> ?n }";
    assert_eq!(values(&ask(&registry, union).expect(200), "n"), ["Topic"]);
    let each = "SELECT ?g { GRAPH ?g { <ex:topic> <ex:name> ?n } } ORDER BY ?g";
    assert_eq!(values(&ask(&registry, each).expect(200), "g"), ["urn:example:c", "urn:example:d"]);
}

#[test]
fn only_what_lives_is_found() {
    let registry = registry();
    assert_eq!(titles(&registry), ["Weather", "Billing"]);
    registry.put("/things/urn:example:a", agent("urn:example:a", "Climate")).expect(204);
    assert_eq!(titles(&registry), ["Climate", "Billing"]);
    registry.delete("/things/urn:example:b").expect(204);
    assert_eq!(titles(&registry), ["Climate"]);
    let mut thing: Value = serde_json::from_str(&agent("urn:example:c", "Short")).unwrap();
    thing["registration"] = json!({"ttl": 1});
    registry.registry().put(thing.to_string()).unwrap();
    eventually("the Thing has expired", || titles(&registry) == ["Climate"]);
}

#[test]
fn what_is_not_offered_is_named() {
    let registry = registry();
    for (query, part) in [
        ("SELECT * FROM <urn:a> { ?s ?p ?o }", "FROM"),
        ("SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { SERVICE <http://example.org/> { ?s ?p ?o } } }", "SERVICE"),
        ("INSERT DATA { <urn:a> <urn:b> <urn:c> }", "INSERT at 1:1"),
        ("PREFIX a: <urn:a> DELETE WHERE { ?s ?p ?o }", "DELETE"),
        ("SELECT ?s { ?s ?p }", "1:"),
        ("SELECT ?s\n{ ?s ?p ?o", "`{` at 2:1"),
        ("SELECT (<urn:f>(?s) AS ?x) { ?s ?p ?o }", "urn:f"),
    ] {
        let problem = ask(&registry, query).problem(400, "invalid-query");
        assert!(problem["detail"].as_str().unwrap().contains(part), "{query}: {problem}");
    }
    let plain = TestRegistry::start();
    plain.get("/search/sparql?query=ASK%7B%7D").problem(501, "query-language-not-offered");
    let xpath = plain.get("/search/xpath?query=1").problem(501, "query-language-not-offered");
    assert!(xpath["detail"].as_str().unwrap().contains("/search/jsonpath"), "{xpath}");
}

#[test]
fn the_directory_describes_the_search_where_it_is_on() {
    let actions = |registry: &TestRegistry| registry.get("/.well-known/wot").expect(200).json()["actions"].clone();
    assert!(actions(&start())["searchSPARQL"].is_object());
    assert!(actions(&TestRegistry::start())["searchSPARQL"].is_null());
}

#[test]
fn queries_that_cost_too_much_end_and_the_next_is_answered() {
    let registry = start();
    for number in 0..60 {
        let id = format!("urn:example:{number}");
        registry.registry().put(agent(&id, "Some agent")).unwrap();
    }
    let all = "?s ?p ?o";
    let values = |name: &str| format!("VALUES ?{name} {{ {} }}", "1 ".repeat(90));
    let products: Vec<String> = ["a", "b", "c"].map(values).to_vec();
    for query in [
        // Products of statements, read and stored.
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }".to_owned(),
        "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d".to_owned(),
        format!("SELECT (COUNT(*) AS ?n) {{ {{SELECT ?s {{{all}}} ORDER BY ?s}} {{SELECT ?x {{?x ?y ?z}} ORDER BY ?x}} {{SELECT ?k {{?k ?l ?m}} ORDER BY ?k}} }}"),
        // Products that read nothing.
        format!("SELECT (COUNT(*) AS ?n) {{ {} }}", products.join(" ")),
        // Texts that grow.
        "SELECT (REPLACE(REPLACE(REPLACE(?o, '', 'xxxxxxxxxxxxxxxx'), '', 'xxxxxxxxxxxxxxxx'), '', 'x') AS ?t) { ?s ?p ?o }".to_owned(),
        // Paths.
        "SELECT (COUNT(*) AS ?n) { ?a (!<urn:x>|^!<urn:x>)* ?b . ?c (!<urn:x>|^!<urn:x>)* ?d . ?e (!<urn:x>|^!<urn:x>)* ?f }".to_owned(),
    ] {
        let answer = ask(&registry, &query);
        assert_eq!(answer.status, 503, "{query}: {}", answer.text());
        answer.problem(503, "query-too-costly");
        assert_eq!(ask(&registry, "ASK { }").expect(200).json()["boolean"], true);
    }
}

#[test]
fn hostile_texts_are_refused() {
    let registry = start();
    let nested =
        |open: &str, close: &str, count: usize| format!("ASK {{ {}{} }}", open.repeat(count), close.repeat(count));
    for query in [
        nested("{", "}", 2000),
        format!("ASK {{ FILTER({}1{}) }}", "(".repeat(2000), ")".repeat(2000)),
        format!("ASK {{ ?s ?p {}{} }}", "[ <urn:a> ".repeat(500), "]".repeat(500)),
        format!("ASK {{ ?s {}<urn:a>{} ?o }}", "(".repeat(500), ")".repeat(500)),
        format!("ASK {{ ?s {}<urn:a> ?o }}", "^".repeat(3000)),
        format!("ASK {{ FILTER({}1) }}", "- ".repeat(3000)),
        format!("ASK {{ {} }}", "{} UNION ".repeat(500)),
        format!("SELECT (1{} AS ?x) {{}}", "+1".repeat(3000)),
    ] {
        let answer = registry.call("POST", "/search/sparql").body(QUERY, query.as_str()).send();
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
    // As deep as is allowed.
    for query in [
        format!("ASK {{ FILTER({}1{}) }}", "(".repeat(22), ")".repeat(22)),
        nested("{", "}", 23),
        format!("SELECT (1{} AS ?x) {{}}", "+1".repeat(900)),
        format!("ASK {{ {} {{}} }}", "{} UNION ".repeat(300)),
        format!("ASK {{ FILTER(true{}) }}", "||true".repeat(400)),
    ] {
        registry.call("POST", "/search/sparql").body(QUERY, query.as_str()).send().expect(200);
    }
}

#[test]
fn a_description_that_can_not_be_read_keeps_no_other_from_being_found() {
    let registry = registry();
    let wrong = agent("urn:example:wrong", "Wrong").replace(r#""lmos:Agent""#, r#"["lmos:Agent", "urn:x#%ea"]"#);
    registry.registry().put(&wrong).unwrap();
    registry.registry().put(agent("urn:example:c", "Catering")).unwrap();
    assert_eq!(values(&ask(&registry, TITLES).expect(200), "t").len(), 3);
    let turtle = registry.call("GET", "/things/urn:example:wrong").header("accept", "text/turtle").send();
    turtle.problem(409, "not-expressible");
}
