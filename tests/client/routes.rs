//! Every route of the REST API has a method of the client.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use agentdex_client::{
    Error, EventFilter, RegistryClient,
    api::{
        Effect, QueryName, Turn,
        access::{AccessRequest, Visibility},
    },
};
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::{
    consumer::run,
    support::{TestRegistry, agent},
};

/// Each route with the method of the client that calls it.
const METHODS: &[(&str, &str)] = &[
    ("get /things/{id}/access", "access"),
    ("put /things/{id}/access", "set_access"),
    ("get /namespaces", "namespaces"),
    ("put /namespaces/{name}", "claim_namespace"),
    ("delete /namespaces/{name}", "give_up_namespace"),
    ("get /", "about"),
    ("get /audit", "audit"),
    ("get /", "about"),
    ("get /.well-known/wot", "description"),
    ("get /.well-known/oauth-protected-resource", "protected_resource"),
    ("post /aos", "report_step"),
    ("get /aos/decisions", "decisions"),
    ("get /aos/events", "subscribe_to_decisions"),
    ("get /aos/sessions", "sessions"),
    ("get /aos/sessions/{id}", "session"),
    ("get /backup", "backup"),
    ("get /records", "records"),
    ("post /records", "write_records"),
    ("get /changes", "changes"),
    ("get /cluster", "cluster"),
    ("post /convert", "convert"),
    ("get /events", "subscribe"),
    ("get /events/{kind}", "subscribe"),
    ("get /health/live", "liveness"),
    ("get /health/ready", "status"),
    ("post /import", "import_detected"),
    ("post /import/a2a", "import"),
    ("post /import/agent-spec", "import"),
    ("post /import/aos", "import"),
    ("post /import/lmos-capabilities", "import"),
    ("post /import/mcp-server", "import_url"),
    ("get /imports", "imports"),
    ("delete /imports/{id}", "untrack"),
    ("get /imports/{id}", "find_tracked_source"),
    ("post /mcp", "mcp"),
    ("get /.well-known/agent-card.json", "agent_card"),
    ("get /mcp/server-card", "server_card"),
    ("get /connect", "configurations"),
    ("get /things/{id}/connect", "configurations_for"),
    ("get /llms.txt", "llms_txt"),
    ("post /a2a", "a2a"),
    ("post /a2a/message:send", "send_message"),
    ("get /a2a/tasks", "tasks"),
    ("get /a2a/tasks/{id}", "task"),
    ("get /metrics", "metrics"),
    ("get /openapi.json", "openapi"),
    ("get /queries", "saved_queries"),
    ("delete /queries/{name}", "remove_query"),
    ("get /queries/{name}", "saved_query"),
    ("put /queries/{name}", "save_query"),
    ("get /queries/{name}/events", "subscribe"),
    ("post /clock/accept", "accept_clock"),
    ("post /cluster/verification", "verify_cluster"),
    ("get /search", "search"),
    ("post /search/compatible", "search_compatible"),
    ("post /search/compose", "compose"),
    ("get /search/jsonpath", "search_by_path"),
    ("get /search/sparql", "query_sparql"),
    ("post /search/sparql", "query_sparql"),
    ("get /things", "list"),
    ("post /things", "register"),
    ("post /things/batch", "write_batch"),
    ("delete /things/{id}", "remove"),
    ("get /things/{id}", "find"),
    ("patch /things/{id}", "patch"),
    ("put /things/{id}", "put"),
    ("get /things/{id}/actions/{name}/sacp", "sacp_instructions"),
    ("post /things/{id}/actions/{name}/sacp", "check_sacp"),
    ("get /things/{id}/agent-card", "export"),
    ("get /things/{id}/agent-spec", "export"),
    ("get /things/{id}/aos", "export"),
    ("get /things/{id}/compatible", "neighbors"),
    ("post /things/{id}/conversation", "ask_agent"),
    ("get /things/{id}/properties/{name}/value", "read_property"),
    ("put /things/{id}/properties/{name}/value", "write_property"),
    ("get /things/{id}/events/{name}/notifications", "subscribe_to_agent"),
    ("get /things/{id}/history", "history"),
    ("get /things/{id}/versions", "versions"),
    ("get /things/{id}/lmos-capabilities", "export"),
    ("get /things/{id}/mcp-server", "export"),
    ("post /things/{id}/refresh", "refresh"),
    ("post /validate", "validate"),
];
/// Query languages that the registry doesn't have, and the API of MCP registries, which has clients of its own.
const WITHOUT: &[&str] = &[
    "get /search/{language}",
    "post /search/{language}",
    "get /v0.1/servers",
    "get /v0.1/servers/{serverName}/versions",
    "get /v0.1/servers/{serverName}/versions/{version}",
    "post /v0.1/publish",
    "patch /v0.1/servers/{serverName}/versions/{version}/status",
    "patch /v0.1/servers/{serverName}/status",
];

#[test]
fn every_route_has_a_method() {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/agentdex.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let verbs = ["get", "put", "post", "patch", "delete"];
    let routes = document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        let own = item.as_object().unwrap().keys().filter(|verb| verbs.contains(&verb.as_str()));
        own.map(move |verb| format!("{verb} {path}"))
    });
    let own = |route: &String| !route.contains("/keys");
    let mut known: BTreeMap<&str, &str> = METHODS.iter().copied().collect();
    for route in routes.filter(own).filter(|route| !WITHOUT.contains(&route.as_str())) {
        assert!(known.remove(route.as_str()).is_some(), "{route} has no method of the client");
    }
    assert!(known.is_empty(), "these are no routes: {known:?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/client/src");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let source: String = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    for (route, method) in METHODS {
        assert!(
            source.contains(&format!("pub async fn {method}(")) || source.contains(&format!("pub fn {method}(")),
            "{route}: {method}"
        );
    }
}

#[test]
fn methods_return_what_the_registry_answers() {
    let registry = TestRegistry::start();
    let client = RegistryClient::new(&registry.url("")).unwrap();
    let description = agent("urn:example:a", "Weather");
    run(async {
        assert_eq!(client.liveness().await.unwrap().status, "live");
        assert!(client.description().await.unwrap()["securityDefinitions"].is_object());
        assert!(client.openapi().await.unwrap()["paths"]["/things"].is_object());
        assert_eq!(client.configurations().await.unwrap().clients[0].client, "claude-code");
        assert!(client.configurations_for("urn:x:none").await.is_err());
        assert_eq!(client.agent_card().await.unwrap()["supportedInterfaces"][0]["url"], registry.url("/a2a"));
        assert_eq!(client.server_card().await.unwrap()["remotes"][0]["url"], registry.url("/mcp"));
        assert!(client.llms_txt().await.unwrap().starts_with("# agentdex\n"));
        let message = json!({"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "weather"}]});
        let task = client.send_message(&json!({"message": message})).await.unwrap()["task"].clone();
        assert_eq!(client.task(task["id"].as_str().unwrap()).await.unwrap(), task);
        assert_eq!(client.tasks(&[("includeArtifacts", "true")]).await.unwrap()["tasks"][0], task);
        let missing = client.task("none").await.unwrap_err();
        assert!(matches!(&missing, Error::Refused(problem) if problem.code == "task-not-found"), "{missing:?}");
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task["id"]}});
        assert_eq!(client.a2a(&request).await.unwrap()["result"], task);
        assert!(client.metrics().await.unwrap().contains("# HELP agentdex_"));
        assert!(client.validate(description.clone()).await.unwrap().valid);
        let converted = client.convert(description.clone(), "application/json").await.unwrap();
        assert_eq!(converted.format, "td");
        assert!(converted.things[0].get().contains("urn:example:a"), "{converted:?}");

        let mut lines =
            client.write_batch(format!("{}\nnot a line\n", description.replace('\n', " ")), true).await.unwrap();
        assert_eq!((lines[0].status, lines[0].effect), (200, Some(agentdex::registry::Effect::Created)));
        lines = client.write_batch(format!("{}\nnot a line\n", description.replace('\n', " ")), false).await.unwrap();
        assert_eq!((lines[0].status, lines[0].id.as_deref()), (201, Some("urn:example:a")));
        let versions = client.versions("urn:example:a").await.unwrap();
        assert!(versions.len() == 1 && versions[0].is_served, "{versions:?}");
        assert!(client.find_version("urn:example:a", "latest").await.unwrap().contains("urn:example:a"));
        for version in ["1.0.0", "2.0.0"] {
            let description = agent("urn:example:v", "Versions");
            client.put_with("urn:example:v", description, &[("version", version)]).await.unwrap();
        }
        for (version, effect) in [("1.0.0", Effect::VersionsUpdated), ("2.0.0", Effect::Removed)] {
            let written = client.remove_version("urn:example:v", version).await.unwrap();
            assert_eq!((written.id.as_str(), written.effect), ("urn:example:v", effect), "{version}");
        }
        let none = client.find_version("urn:example:a", "9.9.9").await;
        assert!(matches!(&none, Err(Error::Refused(problem)) if problem.code == "no-such-version"), "{none:?}");
        assert_eq!(
            (lines[1].line, lines[1].status, lines[1].problem.as_ref().map(|problem| problem.status)),
            (2, 400, Some(400))
        );
        assert_eq!(client.neighbors("urn:example:a", &[("limit", "1")]).await.unwrap().id, "urn:example:a");
        let about = client.about().await.unwrap();
        assert_eq!((about.name.as_str(), about.things), ("agentdex", Some(1)));
        assert!(about.access.role.is_some() && about.formats.iter().any(|format| format.name == "a2a"));
        let not_offered = client
            .ask_agent("urn:example:a", &Turn { message: Some("Hello".into()), ..Turn::default() })
            .await
            .unwrap_err();
        assert!(not_offered.to_string().contains("--conversations"), "{not_offered}");
        let none = serde_json::Map::new();
        for outcome in [
            client.read_property("urn:example:a", "level", &none).await.map(drop),
            client.write_property("urn:example:a", "level", 1, &none).await,
            client.subscribe_to_agent("urn:example:a", "alarm", Some(&json!({}))).connect().await,
        ] {
            let refused = outcome.unwrap_err().to_string();
            assert!(refused.contains("--conversations"), "{refused}");
        }

        let mut answering: Value = serde_json::from_str(&description).unwrap();
        answering["id"] = "urn:example:s".into();
        answering["actions"] = json!({"ask": {
            "forms": [{"href": "https://a.example/"}],
            "output": {"@type": "sacp:Response", "type": "object", "properties": {"data": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
        }});
        client.put("urn:example:s", answering.to_string()).await.unwrap();
        assert!(client.sacp_instructions("urn:example:s", "ask").await.unwrap().contains("city"));
        let answer = r#"{"thought": "", "status": "success", "data": {}, "message": ""}"#;
        assert!(!client.check_sacp("urn:example:s", "ask", answer).await.unwrap().valid);

        let query = serde_json::from_value(json!({"q": "weather"})).unwrap();
        client.save_query("w", &query).await.unwrap();
        assert_eq!(client.saved_query("w").await.unwrap().name, "w");
        let other = serde_json::from_value(json!({"q": "tides"})).unwrap();
        let refused = client.save_new_query("w", &other, &AccessRequest::default()).await;
        assert!(matches!(&refused, Err(Error::Refused(problem)) if problem.status == 412), "{refused:?}");
        assert_eq!(client.saved_query("w").await.unwrap().query.q, query.q);
        let new = client.save_new_query("new", &other, &AccessRequest::default()).await.unwrap();
        assert_eq!((new.name.as_str(), &new.query.q), ("new", &other.q));
        client.remove_query("new").await.unwrap();
        let private = AccessRequest { visibility: Some(Visibility::Private), ..AccessRequest::default() };
        let of_team = QueryName::new("w").of("team".parse().unwrap());
        let saved = client.save_query_with(of_team.clone(), &query, &private).await.unwrap();
        assert_eq!((saved.owner.unwrap().as_str(), saved.visibility), ("team", Visibility::Private));
        assert_eq!(client.saved_queries().await.unwrap().len(), 2);
        client.remove_query(of_team.clone()).await.unwrap();
        assert!(client.saved_query(of_team).await.unwrap_err().is_not_found());
        assert_eq!(client.saved_query(QueryName::new("w").without_owner()).await.unwrap().owner, None);
        let filter = EventFilter { saved_query: Some("w".into()), ..EventFilter::default() };
        let mut events = client.subscribe(filter, None);
        events.connect().await.unwrap();
        client.put("urn:example:b", agent("urn:example:b", "Weather too")).await.unwrap();
        assert!(events.next().await.unwrap().data.contains("urn:example:b"));

        let travel: Value = serde_json::from_slice(include_bytes!("../fixtures/aos/travel.json")).unwrap();
        let step = json!({"jsonrpc": "2.0", "id": "1", "method": "steps/message", "params": {
            "context": {
                "agent": travel, "session": {"id": "s-1"}, "turnId": "t", "stepId": "1", "timestamp": "2026-01-01T00:00:00Z",
            },
            "message": {"id": "m", "role": "agent", "content": [{"kind": "text", "text": "hello"}]},
        }});
        let decisions = client.subscribe_to_decisions(&[]);
        let mut decisions = std::pin::pin!(decisions);
        let first = async { tokio::time::timeout(Duration::from_secs(30), decisions.next()).await.unwrap() };
        // Reported until the subscription is there.
        let report = async {
            loop {
                let decision = client.report_step(&step).await.unwrap();
                assert!(decision["result"]["decision"].is_string(), "{decision}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        let event = tokio::select! { event = first => event, () = report => None };
        assert!(event.unwrap().unwrap().data.contains("s-1"));
        let decided = client.decisions(&[("limit", "5")]).await.unwrap();
        assert_eq!((decided[0].seq, decided[0].method.as_str()), (1, "steps/message"));
        assert_eq!(client.sessions(&[]).await.unwrap()[0].id, "s-1");
        assert_eq!(client.session("s-1", &[]).await.unwrap()[0], decided[0]);
    });
}
