//! `/v0.1`: the API of MCP registries, as their clients use it.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use agentdex::{
    Registry, Timestamp,
    access::{Caller, Principal, Role},
    convert::{Format, ImportOptions, Input},
    registry::{ClaimedNamespace, Import, Write},
};
use serde_json::{Value, json};

use crate::support::{Answer, TestRegistry, agent, next_millisecond};

pub(super) const JSON: &str = "application/json";
pub(super) const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";
pub(super) const OWN: &str = "agentdex/registry";
const PUBLISHER: &str = "io.modelcontextprotocol.registry/publisher-provided";

fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Fails for what isn't as the API defines it: `list`, `response`, `problem`.
pub(super) fn check(kind: &str, answer: &Value) {
    static API: LazyLock<Value> = LazyLock::new(|| fixture("registry_api.json"));
    let schema = json!({"$ref": format!("#/$defs/{kind}"), "$defs": API["$defs"]});
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(answer).map(|error| format!("{} at {}", error, error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{answer:#}");
}

pub(super) fn server(name: &str, version: &str) -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": format!("com.example/{name}"), "description": format!("Knows about {name}"), "version": version,
        "remotes": [{"type": "streamable-http", "url": format!("https://{name}.example/mcp")}],
    })
}

pub(super) fn import(registry: &TestRegistry, document: &Value) {
    let answer = registry.call("POST", "/import/mcp-server").body(JSON, document.to_string()).send();
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    registry.registry().refresh().unwrap();
}

pub(super) fn list(registry: &TestRegistry, parameters: &str) -> Value {
    let page = registry.get(&format!("/v0.1/servers?{parameters}")).expect(200).json();
    check("list", &page);
    assert_eq!(page["metadata"]["count"], page["servers"].as_array().unwrap().len());
    page
}

/// Name and version of each entry.
pub(super) fn names(page: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let servers = page["servers"].as_array().unwrap().iter();
    servers.map(|entry| (text(&entry["server"]["name"]), text(&entry["server"]["version"]))).collect()
}

/// All pages, with something done after each.
fn pages(registry: &TestRegistry, parameters: &str, mut after: impl FnMut(usize)) -> Vec<(String, String)> {
    let (mut all, mut cursor, mut number) = (Vec::new(), String::new(), 0);
    loop {
        let page = list(registry, &format!("{parameters}{cursor}"));
        all.extend(names(&page));
        // Sent as it is: VS Code doesn't escape it.
        let Some(next) = page["metadata"]["nextCursor"].as_str() else { return all };
        cursor = format!("&cursor={next}");
        after(number);
        number += 1;
        assert!(number < 1000, "the pages don't end");
    }
}

pub(super) fn failed(answer: &Answer, status: u16, code: &str) -> Value {
    let problem = answer.problem(status, code);
    check("problem", &problem);
    assert_eq!(problem["error"], problem["detail"]);
    problem
}

#[test]
fn entries_satisfy_the_schema_whatever_they_were_imported_from() {
    let registry = TestRegistry::start();
    for name in ["card.json", "packages_2025_07_09.json", "remote.json"] {
        import(&registry, &fixture(name));
    }
    let mut odd = server("odd", "1.0.0");
    odd["description"] = "d".repeat(300).into();
    odd["icons"] = json!([{"src": "http://odd.example/icon.gif", "mimeType": "image/gif"}]);
    odd["repository"] = json!({"url": "https://git.example/odd"});
    odd["websiteUrl"] = "odd".into();
    odd["packages"] = json!([{"registry_name": "npm", "name": "odd", "version": "latest"}, {"registryType": "npm"}]);
    odd["tools"] = json!([{"name": "t"}]);
    let mut ranged = server("ranged", "^1");
    ranged["remotes"] = json!([{"type": "websocket", "url": "ws://ranged.example"}]);
    for document in [
        odd,
        ranged,
        json!({"name": "com.example/old", "description": "", "version_detail": {"version": "1.0.0"},
            "remotes": [{"transport_type": "streamable", "url": "https://old.example/mcp"}]}),
        json!({"mcpServers": {"data base": {"command": "npx", "args": ["-y", "db-mcp"], "env": {"KEY": "${KEY}"}}}}),
    ] {
        import(&registry, &document);
    }
    let mut td: Value = serde_json::from_str(&agent("urn:example:clock", &"Clock ".repeat(40))).unwrap();
    td["actions"] = json!({"time": {"forms": [{"href": "https://clock.example/mcp", "subprotocol": "mcp"}]}});
    registry.put("/things/urn:example:clock", td.to_string()).expect(201);
    registry.put("/things/urn:example:other", agent("urn:example:other", "No MCP")).expect(201);
    registry.registry().refresh().unwrap();
    let page = list(&registry, "limit=100");
    let found = names(&page);
    assert_eq!(found.len(), 8, "{found:?}");
    for (name, version) in &found {
        let path = format!("/v0.1/servers/{}/versions/{version}", name.replace('/', "%2F"));
        let read = registry.get(&path).expect(200).json();
        check("response", &read);
        assert!(page["servers"].as_array().unwrap().contains(&read));
    }
    assert!(found.contains(&("agentdex/urn__example__clock".to_owned(), "0.0.0".to_owned())), "{found:?}");
    assert!(found.contains(&("agentdex/urn__agentdex__mcp__data_2520base".to_owned(), "0.0.0".to_owned())));
}

#[test]
fn originals_and_urls_stay_and_names_follow_from_ids() {
    let registry = TestRegistry::start();
    let mut document = server("tides", "1.0.0");
    document["_meta"] = json!({PUBLISHER: {"tool": "ci"}});
    document["remotes"][0]["url"] = "https://TIDES.example:443/mcp?a=%2F".into();
    import(&registry, &document);
    let read = registry.get("/v0.1/servers/com.example%2Ftides/versions/latest").expect(200).json();
    assert_eq!(read["server"], document);
    // Nobody takes a name by an import under another id.
    let call = registry.call("POST", "/import/mcp-server?id=urn:example:false");
    call.body(JSON, server("other", "1.0.0").to_string()).send().expect(201);
    registry.registry().refresh().unwrap();
    failed(&registry.get("/v0.1/servers/com.example%2Fother/versions"), 404, "not-found");
    let read = registry.get("/v0.1/servers/agentdex%2Furn__example__false/versions/1.0.0").expect(200).json();
    assert_eq!(read["server"]["title"], "com.example/other");
    assert_eq!(read["_meta"][OWN]["id"], "urn:example:false");
    // An edit is shown.
    registry.patch("/things/urn:agentdex:mcp:com.example%2Ftides", r#"{"title": "High water"}"#).expect(204);
    let read = registry.get("/v0.1/servers/com.example%2Ftides/versions/latest").expect(200).json();
    assert_eq!((&read["server"]["title"], &read["server"]["remotes"]), (&json!("High water"), &document["remotes"]));
}

#[test]
fn every_server_is_on_one_page_while_others_come_and_go() {
    let registry = TestRegistry::start();
    let mut expected = BTreeSet::new();
    for number in 0..20 {
        for version in ["1.0.0", "1.1.0"] {
            import(&registry, &server(&format!("s{number:02}"), version));
            expected.insert((format!("com.example/s{number:02}"), version.to_owned()));
        }
    }
    for (parameters, removed) in [("limit=1", "t00"), ("limit=7", "t01"), ("limit=3&version=latest", "t02")] {
        import(&registry, &server(removed, "1.0.0"));
        let found = pages(&registry, parameters, |number| {
            if number % 5 == 1 {
                import(&registry, &server(&format!("a{number:02}-{removed}"), "1.0.0"));
                import(&registry, &server(&format!("z{number:02}-{removed}"), "1.0.0"));
            }
            if number == 2 {
                registry.delete(&format!("/things/urn:agentdex:mcp:com.example%2F{removed}")).expect(204);
                registry.registry().refresh().unwrap();
            }
        });
        let distinct: BTreeSet<_> = found.iter().cloned().collect();
        assert_eq!(distinct.len(), found.len(), "{parameters}: {found:?}");
        let wanted = expected.iter().filter(|(_, version)| !parameters.contains("latest") || version == "1.1.0");
        let missing: Vec<_> = wanted.filter(|one| !distinct.contains(*one)).collect();
        assert!(missing.is_empty(), "{parameters}: {missing:?}");
    }
    // A version that comes while the others of its server are read repeats none of them.
    let page = list(&registry, "limit=1");
    import(&registry, &server(names(&page)[0].0.split_once('/').unwrap().1, "9.0.0"));
    let next = page["metadata"]["nextCursor"].as_str().unwrap();
    assert_ne!(names(&list(&registry, &format!("limit=1&cursor={next}"))), names(&page));
    // Pages of a search, too.
    let found = pages(&registry, "search=knows&limit=7&version=latest", |_| ());
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
    assert_eq!(found.len(), pages(&registry, "version=latest&limit=100", |_| ()).len());
    let other = TestRegistry::start();
    for cursor in [next, "x", "%00", "a%2Bb"] {
        failed(&other.get(&format!("/v0.1/servers?cursor={cursor}")), 400, "invalid-parameter");
    }
    failed(&registry.get(&format!("/v0.1/servers?search=a&cursor={next}")), 400, "invalid-parameter");
    for limit in ["0", "101", "x", "-1", ""] {
        failed(&registry.get(&format!("/v0.1/servers?limit={limit}")), 400, "invalid-parameter");
    }
    registry.get("/v0.1/servers?limit=1&of_a_later_revision=1&cursor=").expect(200);
}

/// A thousand servers: each is on one page, in the same order every time, while others are added.
#[test]
fn many_servers_are_paged_through_in_a_stable_order() {
    let registry = TestRegistry::start();
    let add = |start: char, count: usize| {
        let line = |number: usize| {
            let mut thing: Value =
                serde_json::from_str(&agent(&format!("urn:example:{start}{number:04}"), "A")).unwrap();
            thing["actions"] = json!({"a": {"forms": [{"href": "https://a.example/mcp", "subprotocol": "mcp"}]}});
            thing.to_string() + "\n"
        };
        let lines: String = (0..count).map(line).collect();
        registry.call("POST", "/things/batch").body("application/x-ndjson", lines).send().expect(200);
        // The index takes longer on a busy machine.
        while registry.registry().refresh().is_err() {}
    };
    add('m', 1000);
    let before = pages(&registry, "limit=100&version=latest", |_| ());
    assert!((before.len(), before.is_sorted()) == (1000, true));
    let read = pages(&registry, "limit=100&version=latest", |number| match number % 3 {
        0 => add('a', 10 * number + 1),
        1 => add('z', 10 * number + 1),
        _ => {}
    });
    assert!(read.is_sorted_by(|one, next| one < next), "each once");
    let is_old = |(name, _): &&(String, String)| name.contains("__m");
    assert!(read.iter().filter(is_old).eq(before.iter()));
    assert!(read.len() > 1000, "those that were added behind the position");
}

#[test]
fn versions_are_read_by_name() {
    let registry = TestRegistry::start();
    for version in ["1.0.0", "2.0.0-beta.1", "1.10.0", "1.9.0+build.5", "nightly"] {
        import(&registry, &server("tides", version));
        next_millisecond();
    }
    let base = "/v0.1/servers/com.example%2Ftides";
    let all = registry.get(&format!("{base}/versions")).expect(200).json();
    check("list", &all);
    let versions: Vec<String> = names(&all).into_iter().map(|(_, version)| version).collect();
    assert_eq!(versions, ["nightly", "1.9.0+build.5", "1.10.0", "2.0.0-beta.1", "1.0.0"], "by publication");
    let latest: Vec<&Value> =
        all["servers"].as_array().unwrap().iter().filter(|it| it["_meta"][OWN]["isLatest"] == true).collect();
    assert_eq!(latest.len(), 1);
    let read = registry.get(&format!("{base}/versions/latest")).expect(200).json();
    assert_eq!(*latest[0], read);
    assert_eq!(read["server"]["version"], "2.0.0-beta.1");
    for path in [
        "/v0.1/servers/com.example/tides/versions/latest",
        "/v0.1/servers/com.example%2Ftides/latest",
        "/v0.1/servers/com.example%2ftides/versions/2.0.0-beta.1",
        "/v0/servers/com.example%2Ftides/versions/latest",
        "/v0/servers/com.example/tides/latest?of_a_later_revision=1",
    ] {
        assert_eq!(registry.get(path).expect(200).json(), read, "{path}");
        assert_eq!(registry.head(path).expect(200).header("etag"), registry.get(path).header("etag"));
    }
    for version in ["1.9.0%2Bbuild.5", "1.9.0+build.5"] {
        let read = registry.get(&format!("{base}/versions/{version}")).expect(200).json();
        assert_eq!(read["server"]["version"], "1.9.0+build.5");
    }
    for path in [
        format!("{base}/versions/1.9.0"),
        format!("{base}/versions/%5E1"),
        format!("{base}/versions/1"),
        "/v0.1/servers/com.example%2Fnone/versions".to_owned(),
        "/v0.1/servers/com.example%2Fnone/versions/latest".to_owned(),
        "/v0.1/servers/tides/versions".to_owned(),
        "/v0.1/servers/agentdex%2Ftides/versions".to_owned(),
        "/v0.1/servers/a%20b%2Fc/versions/latest".to_owned(),
    ] {
        failed(&registry.get(&path), 404, "not-found");
        let gzip = registry.call("GET", &path).header("accept-encoding", "gzip").send();
        failed(&gzip, 404, "not-found");
    }
    for path in [base.to_owned(), "/v0.1/nothing".to_owned(), "/v0/servers/".to_owned()] {
        failed(&registry.get(&path), 404, "unknown-path");
    }
    let refused = registry.call("DELETE", &format!("{base}/versions/1.0.0")).send();
    failed(&refused, 405, "method-not-allowed");
    failed(&registry.call("PUT", "/v0.1/servers").send(), 405, "method-not-allowed");
    // What is read again is compared.
    let etag = registry.get(&format!("{base}/versions")).header("etag");
    let again = |path: &str| registry.call("GET", path).header("if-none-match", &etag).send();
    again(&format!("{base}/versions")).expect(304);
    import(&registry, &server("tides", "3.0.0"));
    again(&format!("{base}/versions")).expect(200);
    assert_eq!(names(&list(&registry, "version=1.10.0")), [("com.example/tides".to_owned(), "1.10.0".to_owned())]);
    assert_eq!(names(&list(&registry, "version=latest")), [("com.example/tides".to_owned(), "3.0.0".to_owned())]);
}

#[test]
fn names_and_descriptions_are_searched() {
    let registry = TestRegistry::start();
    let tools = json!([{"name": "ask", "inputSchema": {"type": "object"}}]);
    for (name, title, description) in [
        ("tides", "High water", "When the sea is high and when it is low"),
        ("weather", "Forecasts", "Regen und Überschwemmung, 100% sure"),
        ("invoice_reader", "Bills", "Reads bills"),
    ] {
        let mut document = server(name, "1.0.0");
        (document["title"], document["description"]) = (title.into(), description.into());
        document["tools"] = tools.clone();
        import(&registry, &document);
    }
    let first = |words: &str| {
        let page = list(&registry, &format!("version=latest&search={words}"));
        names(&page).into_iter().next().map(|(name, _)| name).unwrap_or_default()
    };
    for (words, name) in [
        ("tides", "tides"),
        ("TIDES", "tides"),
        ("com.example%2Ftides", "tides"),
        ("tid", "tides"),
        ("high+sea", "tides"),
        ("%C3%9Cberschwemmung", "weather"),
        ("100%25", "weather"),
        ("invoice_reader", "invoice_reader"),
        ("-tides", "tides"),
        ("%22tides", "tides"),
        ("name:tides", "tides"),
        ("bills", "invoice_reader"),
    ] {
        assert_eq!(first(words), format!("com.example/{name}"), "{words}");
    }
    for words in ["%25", "_", "zzzz"] {
        assert_eq!(names(&list(&registry, &format!("search={words}"))), [], "{words}");
    }
    assert_eq!(list(&registry, "search=")["metadata"]["count"], 3);
    assert_eq!(list(&registry, "search=+%22+")["metadata"]["count"], 0);
}

#[test]
fn changes_since_a_moment_are_listed_with_those_deleted() {
    let registry = TestRegistry::start();
    import(&registry, &server("old", "1.0.0"));
    import(&registry, &server("gone", "1.0.0"));
    let moment = list(&registry, "")["servers"][0]["_meta"][OWN]["updatedAt"].as_str().unwrap().to_owned();
    next_millisecond();
    let since = Timestamp::now().to_string();
    next_millisecond();
    import(&registry, &server("new", "1.0.0"));
    // A version that isn't served is a change as well.
    import(&registry, &server("old", "0.9.0"));
    let update = json!({"status": "deleted", "statusMessage": "Replaced"}).to_string();
    registry.call("PATCH", "/v0.1/servers/com.example%2Fgone/status").body(JSON, update).send().expect(200);
    registry.registry().refresh().unwrap();
    let found = names(&list(&registry, &format!("updated_since={since}")));
    let of = |name: &str, version: &str| (format!("com.example/{name}"), version.to_owned());
    assert_eq!(found, [of("gone", "1.0.0"), of("new", "1.0.0"), of("old", "0.9.0")]);
    assert_eq!(names(&list(&registry, "")), [of("new", "1.0.0"), of("old", "1.0.0"), of("old", "0.9.0")]);
    assert_eq!(names(&list(&registry, "include_deleted=true")).len(), 4);
    // Strictly newer, and an offset is one.
    let newest = list(&registry, "include_deleted=true")["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["_meta"][OWN]["updatedAt"].as_str().unwrap().to_owned())
        .max()
        .unwrap();
    assert_eq!(names(&list(&registry, &format!("updated_since={newest}"))), []);
    assert!(names(&list(&registry, &format!("updated_since={}%2B00:00", moment.trim_end_matches('Z')))).len() >= 3);
    for parameters in ["updated_since=yesterday", "include_deleted=1", "version=", "updated_since="] {
        failed(&registry.get(&format!("/v0.1/servers?{parameters}")), 400, "invalid-parameter");
    }
    // Generated clients send the default.
    for flag in ["true", "false"] {
        let found = list(&registry, &format!("updated_since={since}&include_deleted={flag}"));
        assert_eq!(names(&found), [of("gone", "1.0.0"), of("new", "1.0.0"), of("old", "0.9.0")]);
    }
}

#[test]
fn mirrored_servers_keep_what_their_registry_says() {
    let registry = TestRegistry::start();
    let official = |status: &str| {
        json!({"status": status, "statusMessage": "As there", "statusChangedAt": "2026-01-02T03:04:05Z",
        "publishedAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T03:04:05Z", "isLatest": true})
    };
    for (name, version, status) in
        [("tides", "1.0.0", "deprecated"), ("tides", "2.0.0", "active"), ("gone", "1.0.0", "deleted")]
    {
        import(&registry, &json!({"server": server(name, version), "_meta": {OFFICIAL: official(status)}}));
    }
    let page = list(&registry, "");
    assert_eq!(page["metadata"]["count"], 2);
    for (entry, status) in page["servers"].as_array().unwrap().iter().zip(["active", "deprecated"]) {
        let mut expected = official(status);
        expected["isLatest"] = json!(status == "active");
        assert_eq!(entry["_meta"][OFFICIAL], expected);
        assert_eq!(entry["_meta"][OWN]["status"], status);
    }
    // The status here is another one than there.
    let update = json!({"status": "active"}).to_string();
    let path = "/v0.1/servers/com.example%2Ftides/versions/1.0.0/status";
    let updated = registry.call("PATCH", path).body(JSON, update).send().expect(200).json();
    assert_eq!(
        (&updated["_meta"][OWN]["status"], &updated["_meta"][OFFICIAL]["status"]),
        (&json!("active"), &json!("deprecated"))
    );
    // One entry that somebody made up doesn't make the page unreadable.
    let mut forged = official("active");
    forged["updatedAt"] = 5.into();
    forged["statusChangedAt"] = json!([]);
    forged["statusMessage"] = json!({"a": 1});
    forged["isLatest"] = "yes".into();
    import(&registry, &json!({"server": server("forged", "1.0.0"), "_meta": {OFFICIAL: forged}}));
    let mut long = official("active");
    long["statusMessage"] = "x".repeat(10_000).into();
    import(&registry, &json!({"server": server("long", "1.0.0"), "_meta": {OFFICIAL: long}}));
    let page = list(&registry, "");
    let blocks: Vec<&Value> =
        page["servers"].as_array().unwrap().iter().map(|entry| &entry["_meta"][OFFICIAL]).collect();
    let left = json!({"status": "active", "publishedAt": "2026-01-02T03:04:05Z", "isLatest": true});
    assert!(blocks.contains(&&left), "{blocks:?}");
    import(&registry, &server("solitary", "1.0.0"));
    assert_eq!(list(&registry, "search=solitary")["servers"][0]["_meta"].get(OFFICIAL), None);
}

#[test]
fn pages_of_any_origin_read_and_do_not_write() {
    let registry = TestRegistry::start();
    import(&registry, &server("tides", "1.0.0"));
    let paths = [
        "/v0.1/servers",
        "/v0.1/servers/com.example%2Ftides/versions",
        "/v0/servers/com.example%2Ftides/versions/latest",
        "/v0.1/servers/com.example%2Fnone/versions/latest",
    ];
    let origin = "vscode-file://vscode-app";
    for path in paths {
        let preflight =
            registry.call("OPTIONS", path).header("origin", origin).header("access-control-request-method", "GET");
        let preflight = preflight.header("access-control-request-headers", "authorization,content-type").send();
        assert!(preflight.status < 300, "{path}: {}", preflight.status);
        assert_eq!(preflight.header("access-control-allow-origin"), "*", "{path}");
        let listed = |name: &str| {
            preflight.header(name).split(',').map(|one| one.trim().to_lowercase()).collect::<BTreeSet<_>>()
        };
        assert_eq!(listed("access-control-allow-methods"), ["get", "head"].map(str::to_owned).into(), "{path}");
        assert_eq!(
            listed("access-control-allow-headers"),
            ["authorization", "content-type"].map(str::to_owned).into(),
            "{path}"
        );
        let read = registry.call("GET", path).header("origin", origin).header("sec-fetch-site", "cross-site").send();
        assert_eq!(read.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(read.header("access-control-allow-credentials"), "");
    }
    for (method, path) in [("POST", "/v0.1/publish"), ("PATCH", "/v0.1/servers/com.example%2Ftides/status")] {
        let preflight = registry
            .call("OPTIONS", path)
            .header("origin", origin)
            .header("access-control-request-method", method)
            .send();
        assert_eq!(preflight.header("access-control-allow-origin"), "", "{path}");
        let written = registry.call(method, path).header("origin", origin).body(JSON, "{}").send();
        failed(&written, 403, "foreign-origin");
    }
    let closed = TestRegistry::start_with(
        Default::default(),
        agentdex_server::http::Options {
            access: agentdex::access::Rules { authentication: true, ..Default::default() },
            ..Default::default()
        },
    );
    let refused = closed.call("GET", "/v0.1/servers").header("origin", origin).send();
    failed(&refused, 401, "unauthenticated");
    assert_eq!(refused.header("access-control-allow-origin"), "*");
}

/// What the gallery of VS Code makes of an entry; it drops those that it can't read, and the whole page if that is the first.
fn read_by_vs_code(entry: &Value) -> String {
    let server = &entry["server"];
    assert!(entry["_meta"].is_object(), "{entry}");
    for member in ["name", "description", "version"] {
        assert!(server[member].as_str().is_some_and(|text| !text.is_empty()), "{entry}");
    }
    assert!(server["$schema"].as_str().is_some_and(|schema| schema.contains("2025-12-11")));
    server["name"].as_str().unwrap().to_owned()
}

#[test]
fn requests_of_vs_code_and_of_copilot_are_answered() {
    let registry = TestRegistry::guarded();
    let key = registry.key("us", Role::Register);
    for number in 0..60 {
        let visibility = if number == 7 { "private" } else { "public" };
        let call = registry.call("POST", &format!("/import/mcp-server?visibility={visibility}"));
        let call = call.header("authorization", &format!("Bearer {key}"));
        call.body(JSON, server(&format!("s{number:02}"), "1.0.0").to_string()).send().expect(201);
    }
    registry.registry().refresh().unwrap();
    let ask = |path: &str| registry.call("GET", path).header("origin", "vscode-file://vscode-app").send();
    // 1. The probe.
    let probe = ask("/v0.1/servers?limit=1").expect(200);
    assert_eq!(probe.header("access-control-allow-origin"), "*");
    // 2. The gallery.
    let (mut shown, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = ask(&format!("/v0.1/servers?limit=50&version=latest{cursor}")).expect(200).json();
        shown.extend(page["servers"].as_array().unwrap().iter().map(read_by_vs_code));
        let Some(next) = page["metadata"]["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(shown.len(), 59, "all but the private one");
    let found = ask("/v0.1/servers?limit=50&version=latest&search=s12").expect(200).json();
    assert_eq!(read_by_vs_code(&found["servers"][0]), "com.example/s12");
    // 3. An installed server; Copilot's command line asks in the same way.
    for path in ["/v0.1/servers/com.example%2Fs12/versions/latest", "/v0/servers/com.example%2Fs12/versions/latest"] {
        let entry = ask(path).expect(200).json();
        assert_eq!(read_by_vs_code(&entry), "com.example/s12");
        assert_eq!(entry["server"]["remotes"][0]["url"], "https://s12.example/mcp");
    }
    let hidden = ask("/v0.1/servers/com.example%2Fs07/versions/latest");
    let unknown = ask("/v0.1/servers/com.example%2Fs99/versions/latest");
    assert_eq!((hidden.status, hidden.text().replace("s07", "s99")), (404, unknown.text().to_owned()));
}

pub(super) struct Publishers {
    pub(super) registry: TestRegistry,
    /// Member of the namespace of example.com, another owner in it, somebody else, and an admin.
    pub(super) keys: [String; 4],
}

fn claimed(name: &str, owner: &str) -> ClaimedNamespace {
    let members = ["mates".parse().unwrap()].into();
    let (name, owner) = (name.parse().unwrap(), owner.parse().unwrap());
    ClaimedNamespace { name, owner, members, created: Timestamp::now(), proof: None }
}

impl Publishers {
    pub(super) fn new() -> Publishers {
        let registry = TestRegistry::guarded();
        let keys =
            [("us", Role::Register), ("mates", Role::Register), ("others", Role::Register), ("root", Role::Admin)];
        let keys = keys.map(|(owner, role)| registry.key(owner, role));
        registry.registry().namespaces().put(claimed("example.com", "us")).unwrap();
        Publishers { registry, keys }
    }

    pub(super) fn send(&self, who: usize, method: &str, path: &str, body: &Value) -> Answer {
        let call = self.registry.call(method, path).header("authorization", &format!("Bearer {}", self.keys[who]));
        let answer = call.body(JSON, body.to_string()).send();
        self.registry.registry().refresh().unwrap();
        answer
    }

    pub(super) fn publish(&self, who: usize, document: &Value) -> Answer {
        self.send(who, "POST", "/v0.1/publish", document)
    }
}

#[test]
fn servers_are_published_in_namespaces_that_the_caller_holds() {
    let publishers = Publishers::new();
    let registry = &publishers.registry;
    let published = publishers.publish(0, &server("tides", "1.0.0")).expect(200).json();
    check("response", &published);
    assert_eq!(published["server"], server("tides", "1.0.0"));
    assert_eq!(registry.get("/v0.1/servers/com.example%2Ftides/versions/latest").expect(200).json(), published);
    let access = registry.call("GET", "/things/urn:agentdex:mcp:com.example%2Ftides/access");
    let access = access.header("authorization", &format!("Bearer {}", publishers.keys[0])).send().expect(200).json();
    assert_eq!(access["owner"], "us");
    // Another version comes beside it, and the same one doesn't.
    publishers.publish(0, &server("tides", "1.1.0")).expect(200);
    let mut again = server("tides", "1.0.0");
    again["description"] = "Something else".into();
    for document in [again, server("tides", "1.1.0")] {
        let problem = failed(&publishers.publish(0, &document), 400, "duplicate-version");
        assert!(problem["error"].as_str().unwrap().contains("cannot publish duplicate version"));
    }
    let versions = registry.get("/v0.1/servers/com.example%2Ftides/versions").expect(200).json();
    assert_eq!(
        (versions["metadata"]["count"].as_u64(), &versions["servers"][1]["server"]["description"]),
        (Some(2), &json!("Knows about tides"))
    );
    // A member publishes servers of its own; those of the other aren't its to change.
    publishers.publish(1, &server("waves", "1.0.0")).expect(200);
    failed(&publishers.publish(1, &server("tides", "2.0.0")), 403, "not-owner");
    for name in
        ["com.example/weather", "com.example.sub/weather", "org.example/weather", "com.example-b/weather", "example/x"]
    {
        let mut document = server("weather", "1.0.0");
        document["name"] = name.into();
        failed(&publishers.publish(2, &document), 403, "access-refused");
        if name != "com.example/weather" {
            failed(&publishers.publish(0, &document), 403, "access-refused");
        }
    }
    let mut foreign = server("weather", "1.0.0");
    foreign["name"] = "org.example/weather".into();
    publishers.publish(3, &foreign).expect(200);
    let anonymous = registry.call("POST", "/v0.1/publish").body(JSON, server("x", "1.0.0").to_string()).send();
    failed(&anonymous, 401, "unauthenticated");
    publishers.send(0, "POST", "/v0/publish", &server("alias", "1.0.0")).expect(200);
}

#[test]
fn names_in_a_namespace_are_for_its_members() {
    let publishers = Publishers::new();
    let registry = &publishers.registry;
    let put = |who: usize, name: &str| {
        let id = format!("urn:agentdex:mcp:{}", name.replace('/', "%2F"));
        let mut thing: Value = serde_json::from_str(&agent(&id.replace("%2F", "/"), "Squatter")).unwrap();
        thing["actions"] = json!({"a": {"forms": [{"href": "https://a.example/mcp", "subprotocol": "mcp"}]}});
        publishers.send(who, "PUT", &format!("/things/{id}"), &thing)
    };
    for who in [1, 2, 3] {
        let mut document = server(&format!("tides-{who}"), "1.0.0");
        let imported = publishers.send(who, "POST", "/import/mcp-server", &document);
        document["name"] = format!("COM.example/waves-{who}").into();
        let (other, made) =
            (publishers.send(who, "POST", "/import/mcp-server", &document), put(who, &format!("com.example/a-{who}")));
        for answer in [imported, other, made] {
            match who {
                2 => {
                    let problem = answer.problem(403, "access-refused");
                    assert!(problem["detail"].as_str().unwrap().contains("\"example.com\""), "{problem}");
                }
                _ => assert!(matches!(answer.status, 200 | 201), "{who}: {}", answer.text()),
            }
        }
    }
    // Hidden names are refused as unknown ones are; under another id, the document is anybody's.
    publishers.send(0, "POST", "/import/mcp-server?visibility=private", &server("hidden", "1.0.0")).expect(201);
    let refusals = ["hidden", "unknown"]
        .map(|name| publishers.send(2, "POST", "/import/mcp-server", &server(name, "1.0.0")).text().replace(name, ""));
    assert_eq!(refusals[0], refusals[1]);
    publishers.send(2, "POST", "/import/mcp-server?id=urn:example:mirror", &server("x", "1.0.0")).expect(201);
    // What was there before stays its owner's, and unclaimed namespaces are everybody's.
    let mut document = server("x", "1.0.0");
    document["name"] = "org.example/x".into();
    publishers.send(2, "POST", "/import/mcp-server", &document).expect(201);
    registry.registry().namespaces().put(claimed("example.org", "us")).unwrap();
    document["version"] = "1.1.0".into();
    let again = publishers.send(2, "POST", "/import/mcp-server", &document);
    assert!(matches!(again.status, 200 | 201), "{}", again.text());
    failed(&publishers.publish(2, &document), 403, "access-refused");
}

#[test]
fn removed_name_in_a_namespace_is_not_taken_by_others() {
    let publishers = Publishers::new();
    let registry = publishers.registry.registry();
    let caller = |owner: &str| {
        let (owner, role) = (owner.parse().unwrap(), Role::Register);
        registry.as_caller(Caller::Principal(Arc::new(Principal { owner, role, key: String::new(), expires: None })))
    };
    let (us, others) = (caller("us"), caller("others"));
    let id = "urn:agentdex:mcp:com.example/tides";
    let import = |registry: &Registry| {
        let document = server("tides", "1.0.0").to_string();
        let format = Format::McpServer.import().unwrap();
        let conversion = format.to_things(&Input::json(document.as_bytes()), &ImportOptions::default()).unwrap();
        registry.import_blocking(Import::new(conversion)).map(drop)
    };
    let put = |registry: &Registry| registry.write_blocking(Write::put(agent(id, "Taken"))).map(drop);
    let is_over = AtomicBool::new(false);
    let come_and_go = || {
        let remove = || us.write_blocking(Write::remove(id)).map(drop);
        let outcome = (0..400).try_for_each(|_| import(&us).and_then(|()| remove()));
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap();
    };
    let try_again = |write: &dyn Fn(&Registry) -> agentdex::Result<()>| {
        while !is_over.load(Ordering::Relaxed) {
            let error = write(&others).expect_err("it is refused");
            let code = error.code();
            assert!(["access-refused", "not-owner", "contended"].contains(&code), "{code}: {error}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(come_and_go);
        scope.spawn(|| try_again(&import));
        scope.spawn(|| try_again(&put));
    });
}

#[test]
fn publications_are_as_strict_as_the_schema() {
    let publishers = Publishers::new();
    let with = |member: &str, value: Value| {
        let mut document = server("tides", "1.0.0");
        document[member] = value;
        document
    };
    for (document, pointer) in [
        (with("name", json!("tides")), "/name"),
        (with("name", json!("agentdex/urn__example__a")), "/name"),
        (with("name", json!("com.example/a/b")), "/name"),
        (with("description", json!("")), "/description"),
        (with("description", json!("d".repeat(101))), "/description"),
        (with("version", json!("latest")), "/version"),
        (with("version", json!("~1.0")), "/version"),
        (with("version", json!(1)), "/version"),
        (with("version", json!("1".repeat(256))), "/version"),
        (with("websiteUrl", json!("tides")), "/websiteUrl"),
        (with("remotes", json!([{"type": "ws", "url": "ws://a.example"}])), "/remotes/0/type"),
        (with("remotes", json!([{"type": "sse"}])), "/remotes/0/url"),
        (with("packages", json!([{"registryType": "npm", "transport": {"type": "stdio"}}])), "/packages/0/identifier"),
        (
            with("_meta", json!({PUBLISHER: {"a": "x".repeat(5000)}})),
            "/_meta/io.modelcontextprotocol.registry~1publisher-provided",
        ),
        (json!({"server": server("tides", "1.0.0"), "_meta": {}}), "/name"),
    ] {
        let problem = failed(&publishers.publish(0, &document), 400, "invalid-document");
        let errors = problem["validationErrors"].as_array().unwrap();
        assert!(errors.iter().any(|error| error["pointer"] == pointer), "{pointer}: {problem:#}");
    }
    for text in ["", "[]", "{", "{}", "null"] {
        let call = publishers.registry.call("POST", "/v0.1/publish");
        let answer = call.header("authorization", &format!("Bearer {}", publishers.keys[0])).body(JSON, text).send();
        assert_eq!(answer.status, 400, "{text}");
        check("problem", &answer.json());
    }
    // What only registries say isn't for publishers to say.
    let meta = json!({PUBLISHER: {"tool": "ci"}, OFFICIAL: {"status": "deleted", "publishedAt": "2020-01-01T00:00:00Z"},
        OWN: {"status": "deleted", "publishedAt": "2020-01-01T00:00:00Z"}});
    let published = publishers.publish(0, &with("_meta", meta)).expect(200).json();
    assert_eq!(published["server"]["_meta"], json!({PUBLISHER: {"tool": "ci"}}));
    assert_eq!(published["_meta"].get(OFFICIAL), None);
    assert_eq!(published["_meta"][OWN]["status"], "active");
    assert!(!published["_meta"][OWN]["publishedAt"].as_str().unwrap().starts_with("2020"));
}
