//! `POST /import/mcp-server` and `GET /things/{id}/mcp-server`.

use agentdex::convert::Format;
use serde_json::json;

use crate::support::{Page, TestRegistry};

fn server() -> serde_json::Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "com.example/tides", "description": "High and low water", "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": "https://tides.example/mcp"}],
        "packages": [{"registryType": "npm", "identifier": "tides", "version": "1.0.0", "transport": {"type": "stdio"}}],
    })
}

#[test]
fn server_becomes_a_thing_and_comes_back() {
    let registry = TestRegistry::start();
    let text = format!("{:#}\n", server());
    let call = registry.call("POST", "/import/mcp-server");
    let answer = call.body("application/json", text.clone()).send().expect(201);
    let id = "urn:agentdex:mcp:com.example/tides";
    assert_eq!(answer.json()["created"], json!([id]));
    let path = "/things/urn:agentdex:mcp:com.example%2Ftides/mcp-server";
    let read = registry.get(path).expect(200);
    assert_eq!((read.text(), read.header("content-type").as_str()), (text.as_str(), "application/json"));
    assert_eq!(read.header("cache-control"), "max-age=60");
    let found = registry.get("/search?consistent=true&capability=tides&protocol=mcp&format=mcp-server").expect(200);
    assert_eq!(found.json()["hits"][0]["id"], id);
}

#[test]
fn servers_that_are_run_where_they_are_installed_speak_the_protocol_as_well() {
    let registry = TestRegistry::start();
    let mut local = server();
    local["name"] = "com.example/local".into();
    local.as_object_mut().unwrap().remove("remotes");
    for document in [server(), local] {
        let call = registry.call("POST", "/import/mcp-server");
        call.body("application/json", document.to_string()).send().expect(201);
    }
    let found = registry.get("/search?consistent=true&protocol=mcp&facets=protocol,format").expect(200).json();
    assert_eq!(found["total"], 2);
    let counts = found["facets"]["protocol"].as_array().unwrap();
    assert!(counts.contains(&json!({"value": "mcp", "count": 2})), "{counts:?}");
    let saved = registry.call("PUT", "/queries/mcp").body("application/json", r#"{"protocol": ["mcp"]}"#.to_owned());
    assert!(matches!(saved.send().status, 200 | 201));
}

#[test]
fn servers_that_have_the_name_of_their_software_in_common_are_not_one() {
    let registry = TestRegistry::start();
    let import = |configured: serde_json::Value| {
        let call = registry.call("POST", "/import/mcp-server");
        call.body("application/json", json!({"mcpServers": {"data base": configured}}).to_string()).send()
    };
    import(json!({"command": "npx", "args": ["-y", "@acme/postgres-mcp@1.0.0"]})).expect(201);
    import(json!({"command": "npx", "args": ["-y", "@acme/postgres-mcp@1.1.0", "--read-only"]})).expect(200);
    import(json!({"url": "https://billing.example/mcp"})).problem(409, "unrelated");
    import(json!({"command": "npx", "args": ["-y", "@other/mysql-mcp"]})).problem(409, "unrelated");
    registry.delete("/things/urn:agentdex:mcp:data%2520base").expect(204);
    import(json!({"url": "https://billing.example/mcp"})).expect(201);
    import(json!({"url": "https://billing.example/v2/mcp"})).expect(200);
    import(json!({"url": "https://shipping.example/mcp"})).problem(409, "unrelated");
    // Whoever has a domain gives names to its servers.
    let mut moved = server();
    for url in ["https://a.example/mcp", "https://b.example/mcp"] {
        (moved["remotes"][0]["url"], moved["description"]) = (url.into(), url.into());
        moved["packages"] = json!([]);
        let call = registry.call("POST", "/import/mcp-server").body("application/json", moved.to_string());
        assert!(matches!(call.send().status, 200 | 201), "{url}");
    }
}

#[test]
fn a_server_card_is_for_those_who_ask() {
    let registry = TestRegistry::start();
    let call = registry.call("POST", "/import/mcp-server");
    call.body("application/mcp-server-card+json", server().to_string()).send().expect(201);
    let path = "/things/urn:agentdex:mcp:com.example%2Ftides/mcp-server";
    let by_type = registry.call("GET", path).header("accept", "application/mcp-server-card+json").send().expect(200);
    let by_version = registry.get(&format!("{path}?version=server-card")).expect(200);
    // The page and other clients name no type of a protocol.
    let in_json =
        registry.call("GET", &format!("{path}?version=server-card")).header("accept", "application/json").send();
    assert_eq!(in_json.expect(200).header("content-type"), "application/json");
    let asked = registry.call("GET", &format!("{path}?version=server.json"));
    asked.header("accept", "application/mcp-server-card+json").send().problem(406, "not-acceptable");
    for card in [by_type, by_version] {
        assert_eq!(card.header("content-type"), "application/mcp-server-card+json");
        assert!(card.json()["$schema"].as_str().unwrap().contains("server-card"));
        assert_eq!((card.json().get("packages"), &card.json()["remotes"]), (None, &server()["remotes"]));
    }
    registry.get(&format!("{path}?version=2")).problem(400, "invalid-parameter");
}

#[test]
fn server_is_fetched_and_tracked() {
    let page = Page::start(&server());
    let registry = TestRegistry::tracking();
    let body = json!({"url": page.site.url("")}).to_string();
    registry.call("POST", "/import/mcp-server").body("application/json", body).send().expect(201);
    let tracked = registry.get("/imports/urn:agentdex:mcp:com.example%2Ftides").expect(200).json();
    assert_eq!((&tracked["format"], &tracked["source"]), (&json!("mcp-server"), &json!(page.site.url("/server-card"))));
}

#[test]
fn every_format_is_in_the_openapi_document() {
    let registry = TestRegistry::start();
    let paths = registry.get("/openapi.json").expect(200).json()["paths"].clone();
    for (format, import) in Format::imports() {
        let operation = &paths[format!("/import/{format}")]["post"];
        let known: Vec<_> = operation["parameters"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
        assert!(import.parameters.iter().all(|parameter| known.contains(&json!(parameter.name))), "{operation}");
    }
    for (_, export) in Format::exports() {
        assert!(paths[format!("/things/{{id}}/{}", export.path)]["get"].is_object(), "{}", export.path);
    }
}

#[test]
fn withdrawn_servers_are_a_facet_and_rank_lower() {
    let registry = TestRegistry::start();
    for (name, status) in [("a-old", "deprecated"), ("b-gone", "deleted"), ("c-new", "active")] {
        let mut answer =
            json!({"server": server(), "_meta": {"io.modelcontextprotocol.registry/official": {"status": status}}});
        answer["server"]["name"] = format!("com.example/{name}").into();
        answer["server"]["title"] = "Tide tables".into();
        registry.call("POST", "/import/mcp-server").body("application/json", answer.to_string()).send().expect(201);
    }
    let found = registry.get("/search?consistent=true&q=tide+tables&facets=status").expect(200).json();
    assert_eq!(found["hits"][0]["id"], "urn:agentdex:mcp:com.example/c-new", "{found}");
    let counts = found["facets"]["status"].as_array().unwrap().iter().map(|count| count["value"].as_str().unwrap());
    assert_eq!(counts.collect::<std::collections::BTreeSet<_>>(), ["current", "deleted", "deprecated"].into());
    // Nor does a shorter text, of names that count less, let the words of a description count more.
    for mode in ["lexical", "hybrid"] {
        let found =
            registry.get(&format!("/search?consistent=true&q=high+and+low+water&mode={mode}")).expect(200).json();
        assert_eq!(found["hits"][0]["id"], "urn:agentdex:mcp:com.example/c-new", "{found}");
    }
    for status in ["deprecated", "deleted"] {
        let filtered = registry.get(&format!("/search?consistent=true&status={status}")).expect(200).json();
        assert_eq!(filtered["total"], 1, "{status}: {filtered}");
        registry.get(&format!("/things?not_status={status}")).expect(200);
    }
    let current = registry.get("/search?consistent=true&status=current").expect(200).json();
    assert_eq!(
        (&current["total"], &current["hits"][0]["id"]),
        (&json!(1), &json!("urn:agentdex:mcp:com.example/c-new"))
    );
}
