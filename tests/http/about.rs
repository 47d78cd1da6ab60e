//! What the registry says of itself: its own description, the OpenAPI document, health, metrics.

use std::{collections::BTreeSet, io::Read};

use agentdex::td;
use agentdex_server::http;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::support::{TestRegistry, agent, assert_checked_in, eventually, nth, openapi};

#[test]
fn own_description_is_a_valid_directory_whose_links_resolve() {
    let registry = TestRegistry::start();
    let answer = registry.get("/.well-known/wot").expect(200);
    assert_eq!(answer.header("content-type"), "application/td+json");
    let report = td::validate(&td::Document::parse(&answer.body).unwrap(), td::Layers::All);
    assert!(report.is_valid(), "{report:?}");

    let description = answer.json();
    assert_eq!(description["@type"], "ThingDirectory");
    let base = description["base"].as_str().unwrap();
    assert_eq!(base, registry.url("/"));
    let href = description["properties"]["things"]["forms"][0]["href"].as_str().unwrap();
    let things = format!("/{}", href.split('{').next().unwrap());
    assert_eq!(registry.get(&things).expect(200).json(), json!([]));
    for (name, event) in description["events"].as_object().unwrap() {
        for form in event["forms"].as_array().unwrap() {
            let href = form["href"].as_str().unwrap().split('{').next().unwrap();
            let head = registry.head(&format!("/{href}")).expect(200);
            assert_eq!(head.header("content-type"), "text/event-stream", "{name}");
        }
    }
    let again = registry.call("GET", "/.well-known/wot").header("if-none-match", &answer.header("etag")).send();
    again.expect(304);
}

#[test]
fn own_description_names_the_public_url() {
    let options =
        http::Options { public_url: Some("https://agents.example.org/registry/".into()), ..Default::default() };
    let registry = TestRegistry::start_with(Default::default(), options);
    assert_eq!(registry.get("/.well-known/wot").json()["base"], "https://agents.example.org/registry/");
    let created = registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    let location = created.header("location");
    assert_eq!(location, "/registry/things/urn:example:a");
    registry.get(&format!("/things/{location}")).expect(200);
}

#[test]
fn home_links_lead_somewhere() {
    let registry = TestRegistry::start();
    let home = registry.get("/").expect(200).json();
    assert_eq!(home["name"], "agentdex");
    for (name, path) in home["links"].as_object().unwrap() {
        let path = path.as_str().unwrap().replace("{words}", "weather").replace("{format}", "a2a");
        let status = registry.head(&path).status;
        assert!(
            status == 200 || (["convert", "validate", "import"].contains(&name.as_str()) && status == 405),
            "{name}: {status}"
        );
    }
}

#[cfg(debug_assertions)]
#[test]
fn checked_in_openapi_document_is_the_one_of_the_handlers() {
    assert_checked_in("openapi/agentdex.json", &format!("{}\n", http::openapi().to_pretty_json().unwrap()));
}

#[test]
fn documented_operations_are_served_with_the_documented_parameters() {
    let registry = TestRegistry::start();
    let document = registry.get("/openapi.json").expect(200).json();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("{id}", "urn:example:a")
            .replace("{kind}", "thing_created")
            .replace("{name}", "a")
            .replace("{language}", "xpath");
        let operations = operations.as_object().unwrap();
        let allowed = registry.call("BREW", &path).send().expect(405).header("allow").to_lowercase();
        for (method, operation) in operations {
            assert!(allowed.split(", ").any(|allowed| allowed == method), "{method} {path}: {allowed}");
            let documented: Vec<&Value> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|parameter| parameter["in"] == "query")
                .map(|parameter| &parameter["name"])
                .collect();
            // All that is answered there is JSON-RPC: `aos::http` shows it. Clients of MCP registries may be newer.
            let is_lenient = path == "/aos" || path.starts_with("/v0.1/");
            if operation["responses"].get("501").is_some() || is_lenient {
                continue;
            }
            let refused = registry.call(&method.to_uppercase(), &format!("{path}?nonsense=1")).send();
            let problem = refused.problem(400, "invalid-parameter");
            let mut known: Vec<&Value> = problem["known"].as_array().unwrap().iter().collect();
            let mut documented = documented;
            known.sort_by_key(|name| name.to_string());
            documented.sort_by_key(|name| name.to_string());
            assert_eq!(known, documented, "{method} {path}");
        }
    }
}

#[test]
fn names_between_commas_may_be_missing_where_the_document_says_so() {
    let registry = TestRegistry::start();
    let document = registry.get("/openapi.json").expect(200).json();
    let parameters = document["paths"]["/search"]["get"]["parameters"].as_array().expect("parameters");
    for (name, known) in [("fields", "title"), ("facets", "tag")] {
        let parameter = parameters.iter().find(|parameter| parameter["name"] == name).expect("the parameter");
        let pattern = parameter["schema"]["items"]["pattern"].as_str().expect("a pattern");
        let pattern = regex::Regex::new(pattern).expect("a regular expression");
        for value in ["", ",", &format!("{known},"), &format!(",{known},,{known}")] {
            assert!(pattern.is_match(value), "{name}={value}");
            registry.get(&format!("/search?{name}={value}")).expect(200);
        }
        for value in ["colour", " ", &format!("{known};{known}"), &format!("{known}{known}")] {
            assert!(!pattern.is_match(value), "{name}={value}");
            let value = value.replace(' ', "%20").replace(';', "%3B");
            registry.get(&format!("/search?{name}={value}")).problem(400, "invalid-parameter");
        }
    }
}

#[test]
fn parameters_of_an_operation_have_names_of_their_own() {
    let document = openapi();
    let operations = document["paths"].as_object().unwrap().iter();
    let operations = operations.flat_map(|(path, item)| item.as_object().unwrap().iter().map(move |it| (path, it)));
    let mut count = 0;
    for (path, (method, operation)) in operations {
        let mut names = BTreeSet::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            // Clients that are made of the document have one list of arguments for path, query and headers.
            count += 1;
            let name = parameter["name"].as_str().unwrap();
            assert!(names.insert(name), "{method} {path} has two parameters {name}");
        }
    }
    assert!(count > 200, "{count}");
}

#[test]
fn documented_operations_have_names_of_their_own_that_links_lead_to() {
    let document = openapi();
    let operations = || {
        let paths = document["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, item)| item.as_object().unwrap().iter().map(move |(method, own)| (path, method, own)))
    };
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations() {
        let name = operation["operationId"].as_str().unwrap();
        assert!(names.insert(name), "{method} {path} is called {name}, as another one is");
    }
    let mut links = 0;
    for (path, method, operation) in operations() {
        let responses = operation["responses"].as_object().unwrap().values();
        for link in responses.filter_map(|response| response["links"].as_object()).flat_map(|links| links.values()) {
            links += 1;
            assert!(names.contains(link["operationId"].as_str().unwrap()), "{method} {path}: {link}");
        }
    }
    assert!(links > 20, "{links}");
}

#[test]
fn documentation_is_served_from_the_program() {
    let registry = TestRegistry::start();
    let page = registry.get("/docs").expect(200);
    assert!(page.header("content-type").starts_with("text/html"));
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let links =
        page.text().split(['"']).filter(|part| [".css", ".js", ".svg"].iter().any(|ending| part.ends_with(ending)));
    let files: BTreeSet<_> = links.map(|link| link.trim_start_matches("./")).collect();
    assert_eq!(files.len(), 5, "{files:?}");
    assert!(page.text().contains("<a href=\"../\">") && !page.text().contains("Swagger UI"), "{}", page.text());
    for file in files {
        let path = format!("/docs/{file}");
        let plain = registry.get(&path).expect(200);
        let media_type = plain.header("content-type");
        let kind = path.rsplit('.').next().unwrap().replace("js", "javascript").replace("svg", "svg+xml");
        assert!(media_type.split([';', '/']).nth(1) == Some(kind.as_str()), "{path}: {media_type}");
        assert_eq!(plain.header("content-encoding"), "");
        let coded = registry.call("GET", &path).header("accept-encoding", "gzip, deflate, br, zstd").send().expect(200);
        if file.starts_with("swagger-ui") {
            assert_eq!(coded.header("content-encoding"), "gzip", "{path}");
            assert!(plain.header("vary").contains("accept-encoding"), "{path}");
            let mut decoded = Vec::new();
            GzDecoder::new(coded.body.as_slice()).read_to_end(&mut decoded).unwrap();
            assert!(decoded == plain.body, "{path}");
        }
    }
    assert!(registry.get("/docs/swagger-initializer.js").expect(200).text().contains("../openapi.json"));
    registry.get("/docs/none.js").problem(404, "unknown-path");
}

#[test]
fn browsers_are_told_not_to_guess_run_or_frame_responses() {
    let registry = TestRegistry::start();
    for path in [
        "/",
        "/things",
        "/docs/",
        "/docs/swagger-ui.css",
        "/docs/guide/",
        "/openapi.json",
        "/metrics",
        "/nowhere",
        "/events/x",
    ] {
        let response = registry.head(path);
        assert_eq!(response.header("x-content-type-options"), "nosniff", "{path}");
        let policy = response.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
    }
}

#[test]
fn requests_are_measured_to_the_end_of_the_response() {
    let registry = TestRegistry::start();
    let counted = || registry.get("/metrics").text().contains("agentdex_http_requests_total{path=\"/events\"");
    let events = registry.events("/events", None);
    assert!(!counted());
    drop(events);
    registry.registry().put(agent("urn:example:a", "A")).unwrap();
    eventually("the stream that ended is counted", counted);
}

#[test]
fn health_and_metrics_report_the_state() {
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:a", agent("urn:example:a", "A")).expect(201);
    registry.get("/things/urn:example:none").expect(404);
    registry.get("/nowhere").expect(404);
    assert_eq!(registry.get("/health/live").expect(200).json()["status"], "live");
    // The followers start while the first requests are answered.
    eventually("readiness", || registry.get("/health/ready").status == 200);
    assert_eq!(registry.get("/health/ready").expect(200).json()["things"], 1);
    let _events = registry.events("/events", None);
    // A request is counted once it is over, which its client may see before.
    let expected = [
        "agentdex_things 1",
        &format!("agentdex_log_seq {}", nth(1)),
        "agentdex_event_streams 1",
        "agentdex_http_requests_total{path=\"/things/{id}\",method=\"PUT\",status=\"2xx\"} 1",
        "agentdex_http_requests_total{path=\"/things/{id}\",method=\"GET\",status=\"4xx\"} 1",
        "agentdex_http_requests_total{path=\"other\",method=\"GET\",status=\"4xx\"} 1",
        "agentdex_http_request_duration_seconds_count{path=\"/things/{id}\"} 2",
    ];
    eventually("the metrics have each line", || {
        let metrics = registry.get("/metrics").expect(200);
        expected.iter().all(|line| metrics.text().lines().any(|other| other == *line))
    });
    let metrics = registry.get("/metrics").expect(200);
    #[cfg(target_os = "linux")]
    for kind in ["anonymous", "file"] {
        let name = format!("agentdex_memory_bytes{{kind=\"{kind}\"}} ");
        let bytes = metrics.text().lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        assert!(bytes.is_some_and(|bytes| bytes > 1_000_000), "{name}: {bytes:?}");
    }
}

#[test]
fn a_registry_that_stops_is_not_ready_and_says_nothing_of_its_inside() {
    let registry = TestRegistry::start();
    registry.registry().close();
    let refused = registry.put("/things/urn:example:a", agent("urn:example:a", "A"));
    refused.problem(503, "shutting-down");
    assert_eq!(refused.header("retry-after"), "1");
}
