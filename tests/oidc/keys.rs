//! Keys of the issuer that change, and an issuer that isn't there.

use std::net::TcpListener;

use agentdex::{
    access::{NewKey, Role},
    registry::IssuerOptions,
};
use agentdex_server::http::Options;

use super::{Provider, call};
use crate::support::{TestRegistry, eventually};

#[test]
fn new_keys_are_taken_and_old_ones_no_longer() {
    let Some(mut provider) = Provider::start("ES256") else { return };
    let registry = provider.registry();
    let get = |token: &str| call(&registry, token, "GET", "/things").send().status;
    let old = provider.token("reader", "read");
    assert_eq!(get(&old), 200);
    provider.command("rotate");
    let new = provider.token("reader", "read");
    eventually("the new key is known", || get(&new) == 200);
    assert_eq!(get(&old), 401);
}

#[test]
fn tokens_wait_for_an_issuer_that_starts_later() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", place.local_addr().unwrap());
    // It takes connections and says nothing.
    let registry =
        TestRegistry::with_issuer(|fetcher| IssuerOptions::new(issuer, "agentdex", fetcher), Options::default());
    let token = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ.e30.AAAA";
    let refused = call(&registry, token, "GET", "/things").send();
    refused.problem(503, "issuer-unavailable");
    assert_eq!(refused.header("retry-after"), "5");
    let new = NewKey { role: Role::Read, owner: "team".parse().unwrap(), ttl: None };
    let (_, key) = registry.registry().keys().create(new).unwrap();
    call(&registry, &key, "GET", "/things").send().expect(200);
    drop(place);
    let metrics = || call(&registry, &key, "GET", "/metrics").send().expect(200).text().to_owned();
    eventually("failures are counted", || {
        let text = metrics();
        let line =
            text.lines().find(|line| line.starts_with("agentdex_issuer_fetch_failures_total")).map(str::to_owned);
        line.is_some_and(|line| !line.ends_with(" 0"))
    });
    let refused = call(&registry, token, "GET", "/things").send();
    assert!(
        refused.problem(503, "issuer-unavailable")["detail"].as_str().unwrap().contains("the keys of http://127.0.0.1")
    );
}

#[test]
fn issuer_that_is_somebody_else_gives_no_keys() {
    let Some(provider) = Provider::start("ES256") else { return };
    // Another way to write it, which isn't the one that its tokens have.
    let issuer = provider.issuer.replace("127.0.0.1", "localhost");
    let registry =
        TestRegistry::with_issuer(|fetcher| IssuerOptions::new(issuer, "agentdex", fetcher), Options::default());
    let refused = call(&registry, &provider.token("reader", "read"), "GET", "/things").send();
    let detail = refused.problem(503, "issuer-unavailable")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(&format!("names the issuer {:?}", provider.issuer)), "{detail}");
}
