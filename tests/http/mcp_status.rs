//! `PATCH …/status`: the status of MCP servers, and what it survives.

use serde_json::{Value, json};

use super::mcp_registry::{JSON, OFFICIAL, OWN, Publishers, check, failed, import, list, names, server};
use crate::support::{Page, TestRegistry, agent, next_millisecond};

/// A server whose texts are those of others.
fn titled(name: &str, version: &str) -> Value {
    let mut document = server(name, version);
    (document["title"], document["description"]) = ("Tide tables".into(), "High water".into());
    document
}

#[test]
fn status_is_shown_by_lists_searches_and_facets() {
    let publishers = Publishers::new();
    let registry = &publishers.registry;
    for version in ["1.0.0", "1.1.0"] {
        publishers.publish(0, &titled("tides", version)).expect(200);
    }
    publishers.publish(1, &titled("waves", "1.0.0")).expect(200);
    assert_eq!(names(&list(registry, "search=high+water&version=latest"))[0].0, "com.example/tides");
    let base = "/v0.1/servers/com.example%2Ftides";
    let of_version = |version: &str| format!("{base}/versions/{version}/status");
    let before = registry.get(&format!("{base}/versions/1.1.0")).expect(200).json();
    next_millisecond();
    let deprecated = json!({"status": "deprecated", "statusMessage": "Use com.example/waves"});
    for who in [1, 2] {
        let code = if who == 1 { "not-owner" } else { "access-refused" };
        failed(&publishers.send(who, "PATCH", &of_version("1.1.0"), &deprecated), 403, code);
    }
    let updated = publishers.send(0, "PATCH", &of_version("latest"), &deprecated).expect(200).json();
    check("response", &updated);
    let (was, is) = (&before["_meta"][OWN], &updated["_meta"][OWN]);
    assert_eq!((&is["status"], &is["statusMessage"]), (&json!("deprecated"), &deprecated["statusMessage"]));
    assert_eq!((&updated["server"], &is["publishedAt"]), (&before["server"], &was["publishedAt"]));
    assert!(
        is["statusChangedAt"].as_str() > was["statusChangedAt"].as_str()
            && is["updatedAt"].as_str() > was["updatedAt"].as_str()
    );
    // Searches rank it lower and count it; its document is as it was.
    assert_eq!(names(&list(registry, "search=high+water&version=latest"))[0].0, "com.example/waves");
    let facets = registry.get("/search?facets=status&limit=0&consistent=true").expect(200).json();
    assert!(
        facets["facets"]["status"].as_array().unwrap().contains(&json!({"value": "deprecated", "count": 1})),
        "{facets}"
    );
    let id = "urn:agentdex:mcp:com.example%2Ftides";
    assert_eq!(registry.get(&format!("/things/{id}/mcp-server")).expect(200).json(), titled("tides", "1.1.0"));
    for (update, code) in [
        (json!({"status": "deprecated", "statusMessage": "Use com.example/waves"}), "no-changes"),
        (json!({"status": "active", "statusMessage": "x"}), "invalid-query"),
        (json!({"status": "deprecated", "statusMessage": "x".repeat(501)}), "invalid-query"),
        (json!({"status": "yanked"}), "invalid-query"),
        (json!({}), "invalid-query"),
        (json!([]), "invalid-query"),
    ] {
        failed(&publishers.send(0, "PATCH", &of_version("1.1.0"), &update), 400, code);
    }
    // A version that isn't served has a status of its own, and a new version is active.
    publishers.send(0, "PATCH", &of_version("1.0.0"), &json!({"status": "deleted"})).expect(200);
    failed(&registry.get(&format!("{base}/versions/1.0.0")), 404, "not-found");
    registry.get(&format!("{base}/versions/1.0.0?include_deleted=true")).expect(200);
    publishers.publish(0, &titled("tides", "2.0.0")).expect(200);
    let all = registry.get(&format!("{base}/versions?include_deleted=true")).expect(200).json();
    let statuses: Vec<_> =
        all["servers"].as_array().unwrap().iter().map(|entry| entry["_meta"][OWN]["status"].clone()).collect();
    assert_eq!(statuses, ["active", "deprecated", "deleted"]);
    // All versions at once, and back.
    let all = publishers.send(0, "PATCH", &format!("{base}/status"), &json!({"status": "deleted"})).expect(200).json();
    assert_eq!((all["updatedCount"].as_u64(), all["servers"].as_array().unwrap().len()), (Some(2), 2));
    failed(&registry.get(&format!("{base}/versions")), 404, "not-found");
    failed(&registry.get(&format!("{base}/versions/latest")), 404, "not-found");
    assert_eq!(names(&list(registry, "")).len(), 1);
    let all = publishers.send(3, "PATCH", &format!("{base}/status"), &json!({"status": "active"})).expect(200).json();
    assert_eq!(all["updatedCount"], 3);
    assert_eq!(names(&list(registry, "")).len(), 4);
    assert_eq!(all["servers"][0]["_meta"][OWN].get("statusMessage"), None);
    for path in ["/v0.1/servers/com.example%2Fnone/status", "/v0.1/servers/com.example%2Ftides/versions/7/status"] {
        failed(&publishers.send(0, "PATCH", path, &json!({"status": "deleted"})), 404, "not-found");
    }
    // The owner keeps a server to itself: others are told as of one that isn't there.
    publishers
        .send(1, "PUT", "/things/urn:agentdex:mcp:com.example%2Fwaves/access", &json!({"visibility": "private"}))
        .expect(204);
    let path = "/v0.1/servers/com.example%2Fwaves/status";
    failed(&publishers.send(0, "PATCH", path, &json!({"status": "deleted"})), 404, "not-found");
    failed(&publishers.send(2, "PATCH", path, &json!({"status": "deleted"})), 403, "access-refused");
}

#[test]
fn status_is_set_of_agents_without_a_document_and_of_tracked_ones() {
    let page = Page::start(&server("tides", "1.0.0"));
    let registry = TestRegistry::tracking();
    let body = json!({"url": page.site.url("")}).to_string();
    registry.call("POST", "/import/mcp-server").body(JSON, body).send().expect(201);
    let mut td: Value = serde_json::from_str(&agent("urn:example:clock", "Clock")).unwrap();
    td["actions"] = json!({"time": {"forms": [{"href": "https://clock.example/mcp", "subprotocol": "mcp"}]}});
    registry.put("/things/urn:example:clock", td.to_string()).expect(201);
    for name in ["com.example%2Ftides", "agentdex%2Furn__example__clock"] {
        for update in [json!({"status": "deprecated", "statusMessage": "Old"}), json!({"status": "active"})] {
            let path = format!("/v0.1/servers/{name}/versions/latest");
            let call = registry.call("PATCH", &format!("{path}/status"));
            let updated = call.body(JSON, update.to_string()).send().expect(200).json();
            check("response", &updated);
            let stated = &updated["_meta"][OWN];
            assert_eq!(
                (&stated["status"], stated.get("statusMessage")),
                (&update["status"], update.get("statusMessage"))
            );
            assert_eq!(registry.get(&path).expect(200).json(), updated);
        }
    }
    let tracked = registry.get("/imports/urn:agentdex:mcp:com.example%2Ftides").expect(200).json();
    assert_eq!(tracked["format"], "mcp-server");
}

/// Status, message, and time of publication of a version.
fn stated(registry: &TestRegistry, version: &str) -> (Value, Value, Value) {
    let path = format!("/v0.1/servers/com.example%2Ftides/versions/{version}?include_deleted=true");
    let own = &registry.get(&path).expect(200).json()["_meta"][OWN];
    (own["status"].clone(), own["statusMessage"].clone(), own["publishedAt"].clone())
}

fn set_status(registry: &TestRegistry, version: &str, update: &Value) -> Value {
    let path = format!("/v0.1/servers/com.example%2Ftides/versions/{version}/status");
    registry.call("PATCH", &path).body(JSON, update.to_string()).send().expect(200).json()
}

/// Effects of an import without an effect.
fn is_unchanged(answer: &Value) -> bool {
    ["created", "updated", "versionsUpdated", "originalUpdated"].iter().all(|effect| answer[effect] == json!([]))
}

#[test]
fn status_survives_imports_of_the_document() {
    let registry = TestRegistry::start();
    let import = |document: &Value, parameters: &str| {
        next_millisecond();
        let call = registry.call("POST", &format!("/import/mcp-server{parameters}"));
        let answer = call.body(JSON, document.to_string()).send();
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
        answer.json()
    };
    for version in ["1.0.0", "1.1.0"] {
        import(&server("tides", version), "");
        set_status(&registry, version, &json!({"status": "deprecated", "statusMessage": version}));
    }
    let before = ["1.0.0", "1.1.0"].map(|version| stated(&registry, version));
    assert_eq!((&before[0].0, &before[1].1), (&json!("deprecated"), &json!("1.1.0")));
    let check = |what: &str| {
        assert_eq!(["1.0.0", "1.1.0"].map(|version| stated(&registry, version)), before, "{what}");
    };
    for version in ["1.0.0", "1.1.0"] {
        let again = import(&server("tides", version), "");
        assert!(is_unchanged(&again), "{version}: {again}");
        check("the same document");
        let mut other = server("tides", version);
        other["description"] = "Knows more about tides".into();
        import(&other, "");
        check("another document");
        let call = registry.get(&format!("/v0.1/servers/com.example%2Ftides/versions/{version}"));
        assert_eq!(call.expect(200).json()["server"]["description"], other["description"]);
    }
    // The status here comes before that of another registry.
    let official = json!({"status": "deleted", "publishedAt": "2026-01-02T03:04:05Z"});
    import(&json!({"server": server("tides", "1.1.0"), "_meta": {OFFICIAL: official}}), "");
    check("the response of a registry");
    let path = "/v0.1/servers/com.example%2Ftides/versions/1.1.0";
    assert_eq!(registry.get(path).expect(200).json()["_meta"][OFFICIAL]["status"], "deleted");
    // Another version is active, and so is one that replaces everything.
    import(&server("tides", "1.2.0"), "");
    assert_eq!(stated(&registry, "1.2.0").0, "active");
    check("another version");
    import(&server("tides", "1.1.0"), "?replace=true");
    assert_eq!(stated(&registry, "1.1.0").0, "active");
}

#[test]
fn status_survives_changes_of_a_tracked_document() {
    let page = Page::start(&server("tides", "1.0.0"));
    let registry = TestRegistry::tracking();
    let body = json!({"url": page.site.url("")}).to_string();
    registry.call("POST", "/import/mcp-server").body(JSON, body.clone()).send().expect(201);
    set_status(&registry, "1.0.0", &json!({"status": "deprecated", "statusMessage": "Old"}));
    let before = stated(&registry, "1.0.0");
    let refresh = || registry.call("POST", "/things/urn:agentdex:mcp:com.example%2Ftides/refresh").send().expect(200);
    let mut document = server("tides", "1.0.0");
    document["description"] = "Knows more about tides".into();
    page.serve(&document);
    drop(refresh());
    let now = registry.get("/v0.1/servers/com.example%2Ftides/versions/latest").expect(200).json();
    assert_eq!((&now["server"]["description"], stated(&registry, "1.0.0")), (&document["description"], before.clone()));
    registry.call("POST", "/import/mcp-server").body(JSON, body).send().expect(200);
    assert_eq!(stated(&registry, "1.0.0"), before);
    page.serve(&server("tides", "2.0.0"));
    drop(refresh());
    assert_eq!(stated(&registry, "latest").0, "active");
}

#[test]
fn mirrored_server_is_active_again_once_its_registry_says_so() {
    let registry = TestRegistry::start();
    for status in ["active", "deprecated", "active", "deleted", "active"] {
        let official = json!({"status": status, "publishedAt": "2026-01-02T03:04:05Z"});
        import(&registry, &json!({"server": server("tides", "1.0.0"), "_meta": {OFFICIAL: official}}));
        assert_eq!(stated(&registry, "1.0.0").0, status);
    }
}

#[test]
fn time_to_live_survives_a_status() {
    let registry = TestRegistry::start();
    let body = server("tides", "1.0.0").to_string();
    registry.call("POST", "/import/mcp-server?ttl=5000").body(JSON, body).send().expect(201);
    let registration = || {
        let thing = registry.get("/things/urn:agentdex:mcp:com.example%2Ftides").expect(200).json();
        (thing["registration"]["ttl"].clone(), thing["registration"]["expires"].clone())
    };
    let before = registration();
    assert_eq!(before.0, 5000);
    for status in ["deprecated", "active"] {
        next_millisecond();
        set_status(&registry, "latest", &json!({"status": status}));
        assert_eq!(registration(), before, "{status}");
    }
}

#[test]
fn status_of_the_latest_version_is_set_while_others_are_published() {
    let registry = TestRegistry::start();
    import(&registry, &server("tides", "1.0.0"));
    let publish = |number: usize| {
        let document = server("tides", &format!("1.{number}.0")).to_string();
        registry.call("POST", "/v0.1/publish").body(JSON, document).send().expect(200);
    };
    std::thread::scope(|scope| {
        let publishing = scope.spawn(|| (1..16).for_each(publish));
        for number in 0.. {
            let update = json!({"status": "deprecated", "statusMessage": number.to_string()});
            let updated = set_status(&registry, "latest", &update);
            assert_eq!(updated["_meta"][OWN]["statusMessage"], update["statusMessage"]);
            if publishing.is_finished() {
                break;
            }
        }
    });
}

#[test]
fn import_and_status_at_the_same_time_lose_no_status() {
    let registry = TestRegistry::start();
    import(&registry, &server("tides", "1.0.0"));
    let import = |number: usize| {
        let mut document = server("tides", "1.0.0");
        document["description"] = format!("Knows {number} things about tides").into();
        registry.call("POST", "/import/mcp-server").body(JSON, document.to_string()).send().expect(200);
    };
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| (0..30).for_each(import));
        for number in 0.. {
            let update = json!({"status": "deprecated", "statusMessage": number.to_string()});
            set_status(&registry, "latest", &update);
            assert_eq!(stated(&registry, "1.0.0").1, update["statusMessage"]);
            if importing.is_finished() {
                break;
            }
        }
    });
}
