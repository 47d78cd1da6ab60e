//! Clients that prove who they are with a certificate.

use std::fs;

use agentdex::access::{RoleMapping, Rules};
use agentdex_server::{
    http::Options,
    tls::{self, ServerTls},
};

use super::{Authority, Client, Files};
use crate::support::{TestRegistry, agent};

/// A server that authenticates, and knows the clients of the authority.
fn guarded(files: &Files, roles: &[&str]) -> TestRegistry {
    let options = tls::Options {
        client_ca: Some(files.path("ca.pem")),
        client_roles: RoleMapping::parse(roles).unwrap(),
        ..files.options()
    };
    let tls = Some(ServerTls::open(options).unwrap());
    let access = Rules { authentication: true, ..Rules::default() };
    files.serve(Options { tls, access, ..Options::default() }).0
}

fn put(client: &Client, registry: &TestRegistry, id: &str) -> u16 {
    let request = client.http.put(registry.url(&format!("/things/{id}")));
    let request = request.header("content-type", "application/td+json").body(agent(id, "A"));
    client.send(request).unwrap().status().as_u16()
}

#[test]
fn certificate_gives_an_owner_and_a_role() {
    let files = Files::new();
    let registry = guarded(&files, &["read", "weather.example.org=register", "ops.example.org=admin"]);
    let of = |name: &str| files.client_with(Some(&files.authority.client("x", &[name])));
    let (weather, maps, ops) = (of("weather.example.org"), of("maps.example.org"), of("ops.example.org"));
    assert_eq!(put(&weather, &registry, "urn:example:a"), 201);
    assert_eq!(put(&maps, &registry, "urn:example:b"), 403);
    assert_eq!(maps.get(&registry.url("/things/urn:example:a")).0, 200);
    let access = weather.json(&registry.url("/things/urn:example:a/access"));
    assert_eq!(access["owner"], "weather.example.org");
    let audit = ops.json(&registry.url("/audit"));
    let entry = &audit["entries"][0];
    assert_eq!(entry["owner"], "weather.example.org");
    assert!(entry["key"].as_str().unwrap().starts_with("certificate:"), "{entry}");
    // The page says who it is.
    let request = ops.http.get(registry.url("/")).header("accept", "application/json");
    let answer = ops.send(request).unwrap();
    let about: serde_json::Value = ops.runtime.block_on(answer.json()).unwrap();
    assert_eq!((&about["access"]["owner"], &about["access"]["role"]), (&"ops.example.org".into(), &"admin".into()));
}

#[test]
fn without_a_certificate_a_key_is_needed_and_comes_before_a_certificate() {
    let files = Files::new();
    let registry = guarded(&files, &["admin"]);
    let nobody = files.client();
    assert_eq!(nobody.get(&registry.url("/things")).0, 401);
    assert_eq!(nobody.get(&registry.url("/health/live")).0, 200);
    let holder = files.client_with(Some(&files.authority.client("ops", &[])));
    assert_eq!(holder.get(&registry.url("/things")).0, 200);
    let request = holder.http.get(registry.url("/things")).header("authorization", "Bearer x");
    assert_eq!(holder.send(request).unwrap().status(), 401);
}

#[test]
fn certificates_of_others_end_the_handshake() {
    let files = Files::new();
    let registry = guarded(&files, &["admin"]);
    let stranger = Authority::new("Test authority").client("ops", &[]);
    assert!(files.client_with(Some(&stranger)).try_get(&registry.url("/things")).is_err());
    let expired = files.authority.issue("ops", &[], |parameters| {
        parameters.not_before = rcgen::date_time_ymd(2001, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2002, 1, 1);
    });
    assert!(files.client_with(Some(&expired)).try_get(&registry.url("/things")).is_err());
    // That of a server isn't one of a client.
    assert!(files.client_with(Some(&files.authority.server())).try_get(&registry.url("/things")).is_err());
    assert_eq!(files.client().get(&registry.url("/health/live")).0, 200);
}

#[test]
fn file_without_authorities_is_refused_at_the_start() {
    let files = Files::new();
    fs::write(files.path("empty.pem"), "").unwrap();
    let options = tls::Options { client_ca: Some(files.path("empty.pem")), ..files.options() };
    let error = ServerTls::open(options).unwrap_err().to_string();
    assert!(error.contains("tls_client_ca") && error.contains("empty.pem"), "{error}");
}
