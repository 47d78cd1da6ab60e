//! Tokens over HTTP.

use agentdex::access::{NewKey, Role, RoleMapping};
use agentdex_server::http::Options;

use super::{Provider, call, claims};
use crate::support::{Call, TestRegistry, agent};

const ID: &str = "urn:example:weather";

#[test]
fn tokens_give_an_owner_and_a_role() {
    for algorithm in ["RS256", "PS256", "ES256", "ES384", "EdDSA"] {
        let Some(provider) = Provider::start(algorithm) else { return };
        let registry = provider.registry();
        let (weather, reader, operations) = (
            provider.token("weather", "register"),
            provider.token("reader", "read"),
            provider.token("operations", "read+admin"),
        );
        let put = |token: &str| call(&registry, token, "PUT", &format!("/things/{ID}"));
        let put = |token: &str| put(token).body("application/td+json", agent(ID, algorithm)).send();
        put(&weather).expect(201);
        let access = call(&registry, &reader, "GET", &format!("/things/{ID}/access")).send().expect(200).json();
        assert_eq!(access["owner"], "weather", "{algorithm}");
        let refused = put(&reader);
        refused.problem(403, "forbidden");
        assert!(refused.header("www-authenticate").contains("error=\"insufficient_scope\", scope=\"register\""));
        let audit = call(&registry, &operations, "GET", "/audit").send().expect(200).json();
        assert_eq!(
            (&audit["entries"][0]["owner"], &audit["entries"][0]["key"]),
            (&"weather".into(), &"token:weather".into())
        );
        // An API key counts beside them, in the name of the same owner.
        let new = NewKey { role: Role::Register, owner: "weather".parse().unwrap(), ttl: None };
        let (_, key) = registry.registry().keys().create(new).unwrap();
        put(&key).expect(204);
    }
}

#[test]
fn tokens_that_prove_nothing_are_refused() {
    let Some(provider) = Provider::start("RS256") else { return };
    let registry = provider.registry();
    let refusal = |token: &str| {
        let answer = call(&registry, token, "GET", "/things").send();
        assert!(answer.header("www-authenticate").contains("error=\"invalid_token\""));
        answer.problem(401, "invalid-credentials")["detail"].as_str().unwrap().to_owned()
    };
    assert!(refusal(&provider.token_for("weather", "read", "urn:example:other")).contains("its audience is \"other\""));
    assert!(refusal(&provider.token("stranger", "")).contains("grants a role"));
    // The claims of one token under the signature of another.
    let (one, other) = (provider.token("weather", "read"), provider.token("operations", "admin"));
    let part = |token: &str, number: usize| token.split('.').nth(number).unwrap().to_owned();
    let forged = format!("{}.{}.{}", part(&one, 0), part(&other, 1), part(&one, 2));
    assert!(refusal(&forged).contains("signature"));
    assert!(
        refusal(&format!("{}..", part(&one, 0))).contains("its claims")
            || refusal(&format!("{}..", part(&one, 0))).contains("signature")
    );
    assert!(refusal("adx_0123456789ab_").contains("three parts"));
    let another = Provider::start("RS256").unwrap();
    let detail = refusal(&another.token("operations", "admin"));
    assert!(detail.contains("signature") || detail.contains("issuer"), "{detail}");
    call(&registry, &one, "GET", "/things").send().expect(200);
}

#[test]
fn the_openapi_document_and_the_agent_card_declare_the_issuer() {
    let Some(provider) = Provider::start("ES256") else { return };
    let registry = provider.registry();
    let document = registry.get("/openapi.json").expect(200).json();
    let scheme = &document["components"]["securitySchemes"]["oidc"];
    let url = scheme["openIdConnectUrl"].as_str().unwrap();
    assert_eq!(scheme["type"], "openIdConnect");
    let metadata = registry.get("/.well-known/oauth-protected-resource").expect(200).json();
    let issuer = metadata["authorization_servers"][0].as_str().unwrap();
    assert_eq!(url, format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')));
    let security = &document["paths"]["/keys"]["post"]["security"];
    assert_eq!(*security, serde_json::json!([{"apiKey": ["admin"]}, {"oidc": []}]));
    let card = registry.get("/.well-known/agent-card.json").expect(200).json();
    assert_eq!(card["securitySchemes"]["oidc"]["openIdConnectSecurityScheme"]["openIdConnectUrl"], url);
    let alternatives = serde_json::json!([{"schemes": {"apiKey": {"list": []}}}, {"schemes": {"oidc": {"list": []}}}]);
    assert_eq!(card["securityRequirements"], alternatives);
}

/// What a client of RFC 9728 does: it asks, is told whose tokens are taken, gets one there, and asks again.
#[test]
fn clients_find_out_where_to_get_tokens() {
    let Some(provider) = Provider::start("ES256") else { return };
    let registry = provider.registry();
    for path in ["/things", "/things/urn:example:a", "/search?q=a", "/queries/a"] {
        let refused = registry.get(path).expect(401);
        let challenge = refused.header("www-authenticate");
        let (_, rest) = challenge.split_once("resource_metadata=\"").unwrap_or_else(|| panic!("{path}: {challenge}"));
        let url = rest.split('"').next().unwrap();
        assert_eq!(url, registry.url("/.well-known/oauth-protected-resource"), "{path}");
    }
    let message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let call_mcp = || registry.call("POST", "/mcp").body("application/json", message.clone());
    let challenge = call_mcp().send().expect(401).header("www-authenticate");
    let of_mcp = "/.well-known/oauth-protected-resource/mcp";
    assert!(challenge.contains(&format!("resource_metadata=\"{}\"", registry.url(of_mcp))), "{challenge}");
    assert_eq!(registry.get(of_mcp).expect(200).json()["resource"], registry.url("/mcp"));
    let token = format!("Bearer {}", provider.token("reader", "read"));
    call_mcp().header("authorization", &token).send().expect(200);
    let metadata = registry.get("/.well-known/oauth-protected-resource").expect(200).json();
    assert_eq!(metadata["resource"], registry.url(""));
    assert_eq!(metadata["scopes_supported"], serde_json::json!(["read", "register", "admin"]));
    let issuer = metadata["authorization_servers"][0].as_str().unwrap();
    let server = Call::new("GET", &format!("{issuer}/.well-known/openid-configuration")).send().expect(200).json();
    assert_eq!(server["token_endpoint"], format!("{}/token", provider.issuer));
    call(&registry, &provider.token("reader", "read"), "GET", "/things").send().expect(200);
    TestRegistry::start().get("/.well-known/oauth-protected-resource").problem(404, "no-issuer");
}

#[test]
fn owner_and_role_may_be_other_claims() {
    let Some(provider) = Provider::start("ES256") else { return };
    let options = |fetcher| {
        provider
            .options(fetcher)
            .owner_claim("/client_id")
            .role_claim("client_id")
            .roles(RoleMapping::parse(["read", "weather=admin"]).unwrap())
    };
    let registry = TestRegistry::with_issuer(options, Options::default());
    let about = |token: &str| call(&registry, token, "GET", "/").header("accept", "application/json").send().json();
    let weather = provider.token("weather", "read");
    assert_eq!(claims(&weather)["client_id"], "weather");
    assert_eq!(about(&weather)["access"]["role"], "admin");
    assert_eq!(about(&provider.token("stranger", ""))["access"]["role"], "read");
    assert_eq!(about(&provider.token("stranger", ""))["access"]["owner"], "stranger");
}

/// Pages of other origins learn why they are refused.
#[test]
fn refusals_can_be_read_by_pages_that_may_use_the_api() {
    let Some(provider) = Provider::start("ES256") else { return };
    let origins = |origins: &[&str]| Options {
        cors_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
        ..Options::default()
    };
    let registry = TestRegistry::with_issuer(|fetcher| provider.options(fetcher), origins(&["https://a.example"]));
    let from = |registry: &TestRegistry, origin: &str| {
        registry.call("GET", "/things").header("origin", origin).send().expect(401)
    };
    let allowed = from(&registry, "https://a.example");
    assert_eq!(allowed.header("access-control-allow-origin"), "https://a.example");
    assert!(allowed.header("access-control-expose-headers").contains("www-authenticate"));
    assert!(allowed.header("vary").contains("origin"));
    assert_eq!(from(&registry, "https://b.example").header("access-control-allow-origin"), "");
    let registry = TestRegistry::with_issuer(|fetcher| provider.options(fetcher), origins(&["*"]));
    assert_eq!(from(&registry, "https://b.example").header("access-control-allow-origin"), "*");
}
