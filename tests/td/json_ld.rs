//! Descriptions as RDF.

use std::{collections::HashSet, fs, path::PathBuf, sync::LazyLock};

use agentdex::{
    search::rdf::Syntax,
    td::{
        Error,
        json_ld::{Expander, Statements},
    },
};
use serde_json::{Value, json};

use crate::support::{run_agent_spec, skipped};

static EXPANDER: LazyLock<Expander> = LazyLock::new(Expander::new);

const PREFIXES: [(&str, &str); 7] = [
    ("https://www.w3.org/2019/wot/td#", "td:"),
    ("https://www.w3.org/2019/wot/json-schema#", "js:"),
    ("https://www.w3.org/2019/wot/security#", "sec:"),
    ("https://www.w3.org/2019/wot/hypermedia#", "hctl:"),
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
    ("http://www.w3.org/2001/XMLSchema#", "xsd:"),
    ("https://eclipse.dev/lmos/protocol/v1#", "lmos1:"),
];

fn read(document: &Value) -> Statements {
    EXPANDER.read(&document.to_string()).unwrap()
}

/// N-Quads with short names, sorted; blank nodes all called `_`.
fn lines(statements: &Statements) -> Vec<String> {
    let text = String::from_utf8(Syntax::NQuads.write(statements).unwrap()).unwrap();
    let short = |line: &str| {
        let line = PREFIXES.iter().fold(line.to_owned(), |line, (long, short)| line.replace(long, short));
        let words = line.trim_end_matches(" .").split(' ');
        words.map(|word| if word.starts_with("_:") { "_" } else { word }).collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = text.lines().map(short).collect();
    lines.sort();
    lines
}

fn thing(members: Value) -> Value {
    let mut thing = json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x"});
    thing.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    thing
}

#[test]
fn every_capability_is_a_node_and_its_data_no_affordance() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let thing = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {
            "lmos": "https://eclipse.dev/lmos/protocol/v1#", "agentspec": "urn:agentdex:agent-spec:",
        }],
        "id": "urn:x:r", "lmos:capabilities": [
            {"id": "tide-table", "lmos:name": "Tide table"},
            {"id": "urn:cap:a", "lmos:name": "A"},
            {"lmos:name": "Second", "lmos:input": schema, "agentspec:output": schema},
            {"@id": "x/y", "lmos:name": "Third"},
        ],
    });
    let lines = lines(&read(&thing));
    let of = |predicate: &str| lines.iter().filter(|line| line.contains(predicate)).count();
    assert_eq!((of("lmos1:capabilities>"), of("lmos1:name>")), (4, 4), "{lines:#?}");
    assert_eq!((of("lmos1:id>"), of("<urn:cap:a>")), (2, 2), "{lines:#?}");
    assert_eq!((of("hasPropertyAffordance"), of("city")), (0, 2), "{lines:#?}");
}

/// The classes of the W3C's security ontology.
const SECURITY_CLASSES: [&str; 9] = [
    "NoSecurityScheme",
    "AutoSecurityScheme",
    "ComboSecurityScheme",
    "BasicSecurityScheme",
    "DigestSecurityScheme",
    "APIKeySecurityScheme",
    "BearerSecurityScheme",
    "PSKSecurityScheme",
    "OAuth2SecurityScheme",
];

#[test]
fn security_schemes_are_classes_of_the_ontology() {
    for context in ["https://www.w3.org/2022/wot/td/v1.1", "https://www.w3.org/2019/wot/td/v1"] {
        for scheme in ["nosec", "auto", "combo", "basic", "digest", "apikey", "bearer", "psk", "oauth2"] {
            let mut thing = thing(json!({"securityDefinitions": {"s": {"scheme": scheme}}, "security": "s"}));
            thing["@context"] = context.into();
            let class = "https://www.w3.org/2019/wot/security#";
            let text = String::from_utf8(Syntax::NQuads.write(&read(&thing)).unwrap()).unwrap();
            let found =
                text.split(['<', '>']).filter_map(|iri| iri.strip_prefix(class)).find(|name| name.ends_with("Scheme"));
            let is_old = context.ends_with("v1") && ["auto", "combo"].contains(&scheme);
            assert!(
                is_old || found.is_some_and(|name| SECURITY_CLASSES.contains(&name)),
                "{context} {scheme}: {found:?}"
            );
        }
    }
}

#[test]
fn affordances_have_their_names_and_schemas_their_own_terms() {
    let statements = read(&thing(json!({
        "title": "Lamp",
        "@type": "Thing",
        "properties": {"on": {
            "type": "object",
            "title": "Power",
            "properties": {"properties": {"type": "boolean", "minimum": 1.5}},
            "forms": [{"href": "/on", "op": ["readproperty"], "type": "text/plain", "x": 1}],
        }},
    })));
    let expected = [
        r#"<urn:x> <rdf:type> <td:Thing>"#,
        r#"<urn:x> <td:hasPropertyAffordance> _"#,
        r#"<urn:x> <td:title> "Lamp""#,
        r#"_ <hctl:hasOperationType> <td:readProperty>"#,
        r#"_ <hctl:hasTarget> "/on"^^<xsd:anyURI>"#,
        r#"_ <hctl:hintsAtMediaType> "text/plain""#,
        r#"_ <hctl:x> "1"^^<xsd:integer>"#,
        r#"_ <js:minimum> "1.5E0"^^<xsd:double>"#,
        r#"_ <js:properties> _"#,
        r#"_ <js:propertyName> "properties""#,
        r#"_ <rdf:type> <js:BooleanSchema>"#,
        r#"_ <rdf:type> <js:ObjectSchema>"#,
        r#"_ <td:hasForm> _"#,
        r#"_ <td:name> "on""#,
        r#"_ <td:title> "Power""#,
    ];
    assert_eq!(lines(&statements), expected);
    assert!(statements.ignored_contexts.is_empty());
}

#[test]
fn security_schemes_are_instances_of_their_class() {
    let statements = read(&thing(json!({
        "securityDefinitions": {"key": {"scheme": "apikey", "in": "header", "name": "X-Key"}},
        "security": "key",
    })));
    let expected = [
        r#"<urn:x> <td:definesSecurityScheme> _"#,
        r#"<urn:x> <td:hasSecurityConfiguration> "key""#,
        r#"_ <rdf:type> <sec:APIKeySecurityScheme>"#,
        r#"_ <sec:in> "header""#,
        r#"_ <sec:name> "X-Key""#,
        r#"_ <td:hasInstanceConfiguration> "key""#,
    ];
    assert_eq!(lines(&statements), expected);
}

#[test]
fn languages_lists_and_json_values_are_kept() {
    let context = json!([
        "https://www.w3.org/2022/wot/td/v1.1",
        {"@language": "de", "ex": "http://e.org/", "ex:list": {"@container": "@list"}}
    ]);
    let statements = read(&json!({
        "@context": context, "id": "urn:x", "title": "Lampe", "titles": {"en": "Lamp"}, "ex:list": ["a", 2],
        "actions": {"a": {"input": {"const": {"b": 1.0, "a": [true]}}}},
    }));
    let lines = lines(&statements);
    for expected in [
        r#"<urn:x> <td:title> "Lampe"@de"#,
        r#"_ <td:name> "a""#,
        r#"<urn:x> <td:titleInLanguage> "Lamp"@en"#,
        r#"_ <rdf:first> "a"@de"#,
        r#"_ <rdf:first> "2"^^<xsd:integer>"#,
        r#"_ <rdf:rest> <rdf:nil>"#,
        r#"_ <js:const> "{\"a\":[true],\"b\":1}"^^<rdf:JSON>"#,
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:#?}");
    }
}

#[test]
fn the_same_description_is_always_the_same_text() {
    let document = thing(json!({"title": "Lamp", "version": {"instance": "1"}, "lmos:a": {"x:b": [1, 2, {"x:c": 3}]}}));
    for syntax in [Syntax::NQuads, Syntax::Turtle] {
        let first = syntax.write(&read(&document)).unwrap();
        assert!((0..20).all(|_| syntax.write(&read(&document)).unwrap() == first), "{syntax:?}");
    }
}

#[test]
fn unknown_contexts_are_reported_and_nothing_is_fetched() {
    let contexts = json!(["https://www.w3.org/2022/wot/td/v1.1", "https://nowhere.invalid/context", 5, {"x": "@y:"}]);
    let statements = read(&json!({"@context": contexts, "id": "urn:x", "title": "Lamp", "odd:Term": "kept"}));
    assert_eq!(statements.ignored_contexts.first().unwrap(), "https://nowhere.invalid/context");
    assert!(statements.ignored_contexts.contains(&"5".to_owned()), "{:?}", statements.ignored_contexts);
    assert_eq!(lines(&statements), [r#"<urn:x> <odd:Term> "kept""#, r#"<urn:x> <td:title> "Lamp""#]);
}

#[test]
fn lmos_terms_have_iris_where_the_context_is_named() {
    let contexts = json!(["https://www.w3.org/2022/wot/td/v1.1", "https://eclipse.dev/lmos/protocol/v1"]);
    let statements = read(&json!({"@context": contexts, "id": "urn:x", "@type": "Agent"}));
    assert_eq!(lines(&statements), ["<urn:x> <rdf:type> <lmos1:Agent>"]);
    // A namespace that doesn't end in a delimiter is no prefix (JSON-LD 1.1, section 4.1.5).
    let contexts = json!(["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}]);
    let statements = read(&json!({"@context": contexts, "id": "urn:x", "@type": "lmos:Agent"}));
    assert_eq!(lines(&statements), ["<urn:x> <rdf:type> <lmos:Agent>"]);
}

#[test]
fn nesting_as_deep_as_a_document_may_be_is_read_and_deeper_is_refused() {
    let nested = |levels: usize| {
        let inner = format!("{}1{}", r#"{"x:a":"#.repeat(levels), "}".repeat(levels));
        EXPANDER.read(&inner)
    };
    assert_eq!(nested(64).unwrap().quads.len(), 64);
    assert!(matches!(nested(65), Err(Error::LimitExceeded { .. })));
    assert!(matches!(nested(5000), Err(Error::LimitExceeded { .. } | Error::MalformedJson { .. })));
}

#[test]
fn what_is_not_json_ld_is_refused_and_the_next_document_is_read() {
    for wrong in [r#"{"@id": 5}"#, r#"{"@type": {"a": 1}}"#, "[]", "{"] {
        assert!(EXPANDER.read(wrong).is_err(), "{wrong}");
    }
    // Percent-encoded bytes that aren't UTF-8.
    let refused = EXPANDER.read(&thing(json!({"@type": "urn:x#%ea", "title": "Lamp"})).to_string());
    assert!(matches!(refused, Err(Error::NotRdf { .. })), "{refused:?}");
    assert_eq!(read(&thing(json!({"title": "Lamp"}))).quads.len(), 1);
}

/// Descriptions whose statements differ from those of the other processor: the unit `%` would end an IRI that is not
/// one, which only the other processor writes...
const UNITS: &[&str] = &[
    "3c288a31976a",
    "48bd3c8d3c9d",
    "704f701f8a24",
    "8c8601532e91",
    "926e13a1cf4c",
    "9e90d8e92fd7",
    "c03670255dc2",
    "fc078815d7a7",
    "feba85f9dc95",
];
/// ...and a type without any context is relative to an address that only the other processor assumes.
const WITHOUT_CONTEXT: &str = "4af7384bf4a6";

#[test]
fn statements_are_those_of_another_processor() {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let folder =
        shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared")).join("corpus/td");
    let Ok(files) = fs::read_dir(&folder) else {
        skipped("corpus/td", &folder.display().to_string());
        return;
    };
    let mut input = String::new();
    for file in files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "json"))
    {
        let text = fs::read_to_string(&file).unwrap();
        let quads =
            EXPANDER.read(&text).ok().map(|read| String::from_utf8(Syntax::NQuads.write(&read).unwrap()).unwrap());
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        input.push_str(&json!({"name": name, "text": text, "quads": quads}).to_string());
        input.push('\n');
    }
    let contexts = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/contexts");
    let Some(answer) = run_agent_spec(include_str!("jsonld_quads.py"), contexts, &input) else { return };
    let rows: Vec<Value> = answer.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_equal = |row: &&Value| row["ours"] == json!([]) && row["theirs"] == json!([]);
    let different: Vec<&Value> = rows.iter().filter(|row| !is_equal(row)).collect();
    println!("{} of {} descriptions have the same statements", rows.len() - different.len(), rows.len());
    let names: HashSet<&str> = different.iter().filter_map(|row| row["name"].as_str()).collect();
    let known: HashSet<&str> = UNITS.iter().copied().chain([WITHOUT_CONTEXT]).collect();
    assert!(names == known, "{}", serde_json::to_string_pretty(&different).unwrap());
}
