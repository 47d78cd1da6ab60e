//! What is sent to be granted access, and where it is not sent.

use agentdex::{
    Registry,
    consumer::{Consumer, Credential, Error, Settings},
    registry::Write,
};
use serde_json::{Value, json};

use super::{
    agent, consumer, loopback, run,
    server::{Received, Said, Server},
    thing,
};
use crate::support::unreachable_url;

fn secured(origin: &str, definition: Value) -> Value {
    thing(json!({
        "securityDefinitions": {"my-key": definition}, "security": "my-key",
        "actions": {"ask": {"forms": [{"href": format!("{origin}/ask")}]}},
    }))
}

/// What a server is sent for a scheme.
fn sent(definition: Value, secret: &str) -> Received {
    let server = Server::start(|_| Said::json(json!({})));
    let environment = Settings::new().environment([("AGENTDEX_CREDENTIAL_MY_KEY", secret)]);
    let agent = agent(&secured(&server.origin, definition)).update(environment);
    run(agent.call("ask", json!({"a": 1}))).unwrap();
    server.only()
}

#[test]
fn each_scheme_is_sent_where_it_belongs() {
    let in_ = |place: &str| json!({"scheme": "apikey", "in": place, "name": "k"});
    assert_eq!(sent(json!({"scheme": "basic"}), "ada:s3:cret").header("authorization"), "Basic YWRhOnMzOmNyZXQ=");
    assert_eq!(sent(json!({"scheme": "bearer"}), "t0k").header("authorization"), "Bearer t0k");
    assert_eq!(sent(json!({"scheme": "oauth2", "flow": "code"}), "t0k").header("authorization"), "Bearer t0k");
    assert_eq!(sent(json!({"scheme": "auto"}), "t0k").header("authorization"), "Bearer t0k");
    assert_eq!(sent(in_("header"), "x y").header("k"), "x y");
    assert_eq!(sent(in_("query"), "x y").line, "POST /ask?k=x+y");
    assert_eq!(sent(in_("cookie"), "x;y").header("cookie"), "k=x%3By");
    assert_eq!(sent(in_("body"), "x").json(), json!({"a": 1, "k": "x"}));
    let at = |pointer: &str| sent(json!({"scheme": "apikey", "in": "body", "name": pointer}), "x").json();
    assert_eq!(at("/auth/key"), json!({"a": 1, "auth": {"key": "x"}}));
    assert_eq!(at("/keys/-"), json!({"a": 1, "keys": ["x"]}));
    let either = json!({"scheme": "nosec"});
    assert_eq!(sent(either, "x").header("authorization"), "");
}

#[test]
fn scheme_that_cannot_be_used_is_named_and_another_one_is_taken() {
    let server = Server::start(|_| Said::json(json!({})));
    let environment =
        || Settings::new().environment([("AGENTDEX_CREDENTIAL_MY_KEY", "x"), ("AGENTDEX_CREDENTIAL_OTHER", "t0k")]);
    for scheme in ["digest", "psk", "a2a:mutualTLS"] {
        let mut description = secured(&server.origin, json!({"scheme": scheme}));
        let error = run(agent(&description).update(environment()).call("ask", json!({}))).unwrap_err();
        let Error::Setting { setting, reason } = &error else { panic!("{error:?}") };
        assert_eq!(setting, "credentials.my-key");
        assert!(reason.contains(scheme) && reason.contains("bearer") && error.is_before_sending(), "{reason}");
        description["securityDefinitions"]["other"] = json!({"scheme": "bearer"});
        description["securityDefinitions"]["any"] = json!({"scheme": "combo", "oneOf": ["my-key", "other"]});
        description["security"] = json!("any");
        run(agent(&description).update(environment()).call("ask", json!({}))).unwrap();
    }
    let sent = server.received();
    assert_eq!(sent.len(), 3, "nothing is sent without the credential");
    assert!(sent.iter().all(|request| request.header("authorization") == "Bearer t0k"), "{sent:?}");
}

#[test]
fn credential_that_the_body_has_no_place_for_is_named_before_anything_is_sent() {
    let server = Server::start(|_| Said::json(json!({})));
    let definition = json!({"scheme": "apikey", "in": "body", "name": "/a/key"});
    let environment = Settings::new().environment([("AGENTDEX_CREDENTIAL_MY_KEY", "x")]);
    let agent = agent(&secured(&server.origin, definition)).update(environment);
    let error = run(agent.call("ask", json!({"a": 1}))).unwrap_err();
    assert!(error.to_string().contains("credentials.my-key") && error.to_string().contains("/a/key"), "{error}");
    assert!(server.received().is_empty());
}

#[test]
fn token_endpoint_is_resolved_against_the_base() {
    let server = Server::start(|request| match request.line.as_str() {
        "POST /auth/token" => Said::json(json!({"access_token": "t0k", "token_type": "Bearer"})),
        _ => Said::json(json!({})),
    });
    let mut description = secured(&server.origin, json!({"scheme": "oauth2", "flow": "client", "token": "token"}));
    description["base"] = format!("{}/auth/", server.origin).into();
    let credential = Credential::pair("id", "secret").for_origin(server.origin.as_str());
    run(agent(&description).update(Settings::new().credential("my-key", credential)).call("ask", json!({}))).unwrap();
    assert_eq!(server.received()[1].header("authorization"), "Bearer t0k");
}

#[test]
fn token_is_fetched_once_for_client_credentials() {
    let server = Server::start(|request| match request.line.as_str() {
        "POST /token" => Said::json(json!({"access_token": "t0k", "token_type": "Bearer", "expires_in": 3600})),
        _ => Said::json(json!({})),
    });
    let origin = &server.origin;
    let definition =
        json!({"scheme": "oauth2", "flow": "client", "token": format!("{origin}/token"), "scopes": ["a", "b"]});
    let credential = Credential::pair("id", "secret").for_origin(origin.as_str());
    let agent = agent(&secured(origin, definition)).update(Settings::new().credential("my-key", credential));
    run(async {
        agent.call("ask", json!({})).await.unwrap();
        agent.call("ask", json!({})).await.unwrap();
    });
    let received = server.received();
    let lines: Vec<&str> = received.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(lines, ["POST /token", "POST /ask", "POST /ask"]);
    assert_eq!(received[0].body, "grant_type=client_credentials&scope=a%20b");
    assert_eq!(received[0].header("authorization"), "Basic aWQ6c2VjcmV0");
    assert_eq!(received[2].header("authorization"), "Bearer t0k");
}

#[test]
fn refused_token_is_fetched_again_and_no_other() {
    let server = Server::start(|request| match request.line.as_str() {
        "POST /token" => {
            let scope = if request.body.contains("scope=b") { "b" } else { "a" };
            Said::json(json!({"access_token": scope, "token_type": "Bearer", "expires_in": 3600}))
        }
        _ if request.header("authorization") == "Bearer b" => Said::new("401 Unauthorized", &[], ""),
        _ => Said::json(json!({})),
    });
    let consumer = consumer();
    let agent = |scope: &str| {
        let token = format!("{}/token", server.origin);
        let definition = json!({"scheme": "oauth2", "flow": "client", "token": token, "scopes": [scope]});
        let credential = Credential::pair("id", "secret").for_origin(server.origin.as_str());
        let settings = Settings::new().credential("my-key", credential);
        consumer.agent_of(&secured(&server.origin, definition).to_string()).unwrap().update(settings)
    };
    run(async {
        agent("a").call("ask", json!({})).await.unwrap();
        for _ in 0..2 {
            let error = agent("b").call("ask", json!({})).await.unwrap_err();
            assert!(matches!(error, Error::Status { status: 401, .. }), "{error:?}");
        }
        agent("a").call("ask", json!({})).await.unwrap();
    });
    let fetched = server.received().into_iter().filter(|request| request.line == "POST /token");
    let scopes: Vec<String> = fetched.map(|request| request.body.split("scope=").nth(1).unwrap().to_owned()).collect();
    assert_eq!(scopes, ["a", "b", "b"]);
}

#[test]
fn credential_is_sent_to_its_origin_alone() {
    let server = Server::start(|_| Said::json(json!({})));
    let description = secured(&server.origin, json!({"scheme": "bearer"}));
    let with = |credential: Credential| agent(&description).update(Settings::new().credential("my-key", credential));
    run(async {
        let elsewhere = with(Credential::new("t0k").for_origin("https://agents.example"));
        let error = elsewhere.call("ask", json!({})).await.unwrap_err();
        assert!(matches!(error, Error::CredentialWithheld { .. }), "{error}");
        // A token endpoint is another origin.
        let definition = json!({"scheme": "oauth2", "flow": "client", "token": "https://evil.example/token"});
        let credential = Credential::pair("id", "secret").for_origin(server.origin.as_str());
        let lying =
            agent(&secured(&server.origin, definition)).update(Settings::new().credential("my-key", credential));
        let error = lying.call("ask", json!({})).await.unwrap_err();
        assert!(matches!(&error, Error::CredentialWithheld { origin, .. } if origin.contains("evil")), "{error}");
        assert!(server.received().is_empty());
        with(Credential::new("t0k").for_origin(server.origin.to_uppercase())).call("ask", json!({})).await.unwrap();
    });
    assert_eq!(server.only().header("authorization"), "Bearer t0k");
}

#[test]
fn agent_that_only_a_search_found_gets_no_credential_without_an_origin() {
    let server = Server::start(|_| Said::json(json!("ok")));
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::builder(directory.path()).open().unwrap();
    crate::support::await_index(&registry);
    let mut description = secured(&server.origin, json!({"scheme": "bearer"}));
    description["description"] = "Forecasts the weather".into();
    run(registry.write(Write::put(description.to_string()))).unwrap();
    // A search finds what was written just now.
    registry.search(agentdex::search::Search::words("weather").consistent()).unwrap();
    let variables = |more: &[(&'static str, String)]| {
        let secret = [("AGENTDEX_CREDENTIAL_MY_KEY", "t0k".to_owned())];
        let settings = Settings::new().environment(secret.into_iter().chain(more.iter().cloned()));
        Consumer::with_options(registry.clone(), loopback()).unwrap().with_settings(settings)
    };
    run(async {
        let found = variables(&[]).find("weather").await.unwrap();
        let error = found.ask("Rain?").await.unwrap_err();
        assert!(error.to_string().contains("AGENTDEX_CREDENTIAL_MY_KEY_ORIGIN"), "{error}");
        assert!(server.received().is_empty());
        variables(&[]).agent("urn:example:thing").await.unwrap().ask("Rain?").await.unwrap();
        let allowed = variables(&[("AGENTDEX_CREDENTIAL_MY_KEY_ORIGIN", server.origin.clone())]);
        allowed.find("weather").await.unwrap().ask("Rain?").await.unwrap();
        // What is given for one agent is meant for it.
        let own = Settings::new().environment([("", "")]).credential("my-key", Credential::new("own"));
        variables(&[]).find("weather").await.unwrap().update(own).ask("Rain?").await.unwrap();
    });
    let tokens: Vec<String> =
        server.received().iter().map(|request| request.header("authorization").to_owned()).collect();
    assert_eq!(tokens, ["Bearer t0k", "Bearer t0k", "Bearer own"]);
    registry.close();
}

#[test]
fn what_is_missing_is_named_when_it_is_needed() {
    let description = secured(&unreachable_url(""), json!({"scheme": "basic"}));
    let agent = consumer().agent_of(&description.to_string()).unwrap();
    let error = run(agent.call("ask", json!({}))).unwrap_err().to_string();
    assert!(error.contains("AGENTDEX_CREDENTIAL_MY_KEY") && error.contains("user:password"), "{error}");
    let malformed = Settings::new().credential("my-key", Credential::new("password-alone"));
    let error = run(agent.update(malformed).call("ask", json!({}))).unwrap_err().to_string();
    assert!(!error.contains("not set") && error.contains("user:password"), "{error}");
    let moved = agent.update(Settings::new().endpoint("gateway"));
    let error = run(moved.call("ask", json!({}))).unwrap_err().to_string();
    assert!(error.starts_with("endpoint: "), "{error}");
    let templated = thing(json!({"actions": {"ask": {"forms": [{"href": unreachable_url("/{city}")}]}}}));
    let error = run(super::agent(&templated).call("ask", json!({}))).unwrap_err().to_string();
    assert!(error.starts_with("variables.city: "), "{error}");
    let error = run(super::agent(&templated).update(Settings::new().action("talk")).ask("x")).unwrap_err().to_string();
    assert!(error.starts_with("action: ") && error.contains("ask"), "{error}");
}

#[test]
fn secrets_are_shown_nowhere() {
    let settings = Settings::new()
        .credential("a", Credential::new("s3cret"))
        .header("X-Key", "s3cret")
        .environment([("A", "s3cret")]);
    assert!(!format!("{settings:?}").contains("s3cret"));
    let definition = json!({"scheme": "apikey", "in": "query", "name": "k"});
    let agent = agent(&secured(&unreachable_url(""), definition))
        .update(Settings::new().credential("my-key", Credential::new("s3cret")));
    let error = run(agent.call("ask", json!({}))).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}

#[test]
fn credential_that_a_header_can_not_have_is_named_before_anything_is_sent() {
    let server = Server::start(|_| Said::json(json!({})));
    let in_header = json!({"scheme": "apikey", "in": "header", "name": "X-K"});
    for (definition, secret, expected) in [
        (json!({"scheme": "bearer"}), "kk\n", "line break"),
        (in_header.clone(), "kk\r\n", "line break"),
        (in_header, "k\u{1}k", "control character"),
        (json!({"scheme": "apikey", "in": "header", "name": "X-Ü"}), "kk", "X-Ü"),
    ] {
        let environment = Settings::new().environment([("AGENTDEX_CREDENTIAL_MY_KEY", secret)]);
        let agent = agent(&secured(&server.origin, definition.clone())).update(environment);
        let error = run(agent.call("ask", json!({}))).unwrap_err();
        let Error::Setting { setting, reason } = &error else { panic!("{definition}: {error:?}") };
        assert_eq!(setting, "credentials.my-key");
        assert!(reason.contains(expected) && !reason.contains(secret), "{reason}");
    }
    assert!(server.received().is_empty());
}

#[test]
fn header_that_can_not_be_sent_is_named_before_anything_is_sent() {
    let server = Server::start(|_| Said::json(json!({})));
    let plain = secured(&server.origin, json!({"scheme": "nosec"}));
    let mut declaring = plain.clone();
    declaring["actions"]["ask"]["forms"][0]["htv:headers"] = json!([{"htv:fieldName": "X-Ü", "htv:fieldValue": "1"}]);
    for (description, settings, name) in [
        (&plain, Settings::new().header("X-Ü", "1"), "X-Ü"),
        (&plain, Settings::new().header("X-Line", "a\nb"), "X-Line"),
        (&declaring, Settings::new(), "X-Ü"),
    ] {
        let error = run(agent(description).update(settings).call("ask", json!({}))).unwrap_err();
        let Error::Setting { setting, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*setting, format!("headers.{name}"));
    }
    assert!(server.received().is_empty());
}

#[test]
fn key_in_the_url_is_sent_in_combinations_too() {
    let server = Server::start(|_| Said::json(json!({})));
    let description = |href: &str, security: Value| {
        thing(json!({
            "securityDefinitions": {
                "url-key": {"scheme": "apikey", "in": "uri", "name": "k"}, "token": {"scheme": "bearer"},
                "both": {"scheme": "combo", "allOf": ["url-key", "token"]},
                "any": {"scheme": "combo", "oneOf": ["url-key", "token"]},
                "nested": {"scheme": "combo", "oneOf": ["both"]},
            },
            "security": security, "actions": {"ask": {"forms": [{"href": format!("{}{href}", server.origin)}]}},
        }))
    };
    let called = |href: &str, security: Value, given: &[(&'static str, &'static str)]| {
        let before = server.received().len();
        let environment = Settings::new().environment(given.iter().copied());
        let outcome = run(agent(&description(href, security)).update(environment).call("ask", json!({})));
        outcome.map(|_| {
            let received = server.received();
            assert_eq!(received.len(), before + 1);
            (received[before].line.clone(), received[before].header("authorization").to_owned())
        })
    };
    let (key, token) = (("AGENTDEX_CREDENTIAL_URL_KEY", "x/y"), ("AGENTDEX_CREDENTIAL_TOKEN", "t0k"));
    let sent = |line: &str, authorization: &str| (line.to_owned(), authorization.to_owned());
    for security in [json!("any"), json!("url-key"), json!(["any"])] {
        assert_eq!(called("/a/{k}/b", security.clone(), &[key]).unwrap(), sent("POST /a/x%2Fy/b", ""), "{security}");
    }
    for security in [json!("both"), json!("nested"), json!(["url-key", "token"])] {
        let expected = sent("POST /a?k=x%2Fy", "Bearer t0k");
        assert_eq!(called("/a{?k}", security.clone(), &[key, token]).unwrap(), expected, "{security}");
    }
    // Where another way is taken, the variable has no value.
    assert_eq!(called("/a{?k}", json!("any"), &[token]).unwrap(), sent("POST /a", "Bearer t0k"));
    let error = called("/a/{k}", json!("any"), &[token]).unwrap_err();
    assert!(error.to_string().starts_with("variables.k: "), "{error}");
    let error = called("/a", json!("url-key"), &[key]).unwrap_err();
    assert!(error.to_string().starts_with("credentials.url-key: "), "{error}");
    assert_eq!(server.received().len(), 7);
}

#[test]
fn key_of_a_body_is_named_where_the_request_has_none() {
    let server = Server::start(|_| Said::json(json!(1)));
    let mut description = secured(&server.origin, json!({"scheme": "apikey", "in": "body", "name": "k"}));
    description["properties"] =
        json!({"state": {"observable": true, "forms": [{"href": format!("{}/state", server.origin)}]}});
    let environment = Settings::new().environment([("AGENTDEX_CREDENTIAL_MY_KEY", "x")]);
    let agent = agent(&description).update(environment);
    let error = run(agent.read("state")).unwrap_err();
    assert!(error.to_string().starts_with("credentials.my-key: "), "{error}");
    assert!(server.received().is_empty());
}
