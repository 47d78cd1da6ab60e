//! The REST API over TLS.

use std::process::Command;

use agentdex_server::http::{Limits, Options};
use serde_json::json;

use super::{Files, metric};
use crate::support::{agent, run_node, skipped};

#[test]
fn curl_and_node_trust_the_authority_alone() {
    let files = Files::new();
    let (registry, _) = files.serve(Options::default());
    registry.registry().put(agent("urn:example:a", "Weather agent")).unwrap();
    let url = format!("https://localhost:{}/things/urn:example:a", registry.address().port());
    let curl = |more: &[&str]| Command::new("curl").args(["-sS", "--noproxy", "*", &url]).args(more).output();
    match curl(&["--cacert", &files.text("ca.pem")]) {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains("Weather agent"), "{text} {}", String::from_utf8_lossy(&output.stderr));
            assert!(!curl(&[]).unwrap().status.success());
        }
        Err(_) => skipped("curl", "the program curl"),
    }
    let program = "
        import https from 'node:https';
        import fs from 'node:fs';
        const [url, ca] = fs.readFileSync(0, 'utf8').split('\\n');
        https.get(url, {ca: fs.readFileSync(ca)}, (response) => {
            const protocol = response.socket.getProtocol();
            response.setEncoding('utf8');
            let text = '';
            response.on('data', (part) => text += part);
            response.on('end', () => console.log(protocol, JSON.parse(text).title));
        });";
    if let Some(output) = run_node(program, &format!("{url}\n{}", files.text("ca.pem"))) {
        assert_eq!(output.trim(), "TLSv1.3 Weather agent");
    }
}

#[test]
fn large_bodies_go_both_ways() {
    let files = Files::new();
    let (registry, _) = files.serve(Options::default());
    let client = files.client();
    let long = "tide ".repeat(100_000);
    let td = agent("urn:example:a", "A").replace("An agent for tests", &long);
    let url = registry.url("/things/urn:example:a");
    let put = client.http.put(&url).header("content-type", "application/td+json").body(td);
    assert_eq!(client.send(put).unwrap().status(), 201);
    assert_eq!(client.json(&url)["description"], long.as_str());
}

#[test]
fn urls_that_the_registry_gives_are_https() {
    let files = Files::new();
    let (registry, _) = files.serve(Options::default());
    let base = files.client().json(&registry.url("/.well-known/wot"))["base"].clone();
    assert_eq!(base, json!(registry.url("/")));
    assert!(base.as_str().unwrap().starts_with("https://127.0.0.1:"));
}

#[test]
fn browsers_are_told_to_stay_with_tls() {
    let files = Files::new();
    let (registry, _) = files.serve(Options::default());
    for (path, status) in [("/", 200), ("/things", 200), ("/things/urn:none", 404), ("/health/live", 200)] {
        let response = files.client().try_get(&registry.url(path)).unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["strict-transport-security"], "max-age=31536000", "{path}");
    }
    let plain = crate::support::TestRegistry::start();
    assert_eq!(plain.get("/things").header("strict-transport-security"), "");
}

#[test]
fn requests_without_tls_are_told_so() {
    let files = Files::new();
    let (registry, _) = files.serve(Options::default());
    let url = format!("http://{}/things", registry.address());
    crate::support::Call::new("GET", &url).send().problem(400, "tls-expected");
    assert_eq!(files.client().get(&registry.url("/things")).0, 200);
}

#[test]
fn health_is_answered_beyond_the_limit_and_the_rest_refused() {
    let files = Files::new();
    let limits = Limits { max_connections: Some(1), ..Limits::default() };
    let (registry, tls) = files.serve(Options { limits, ..Options::default() });
    let holder = files.client();
    let stream = holder.try_get(&registry.url("/events")).unwrap();
    assert_eq!(stream.status(), 200);
    let other = files.client();
    let refused = other.try_get(&registry.url("/things")).unwrap();
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "5");
    assert_eq!(files.client().get(&registry.url("/health/live")).0, 200);
    let metrics = files.client().get(&registry.url("/metrics")).1;
    let expires = metric(&metrics, "agentdex_tls_certificate_expiry_timestamp_seconds");
    assert_eq!(expires * 1000, u64::try_from(tls.status().expires.0).unwrap());
    assert_eq!(metric(&metrics, "agentdex_tls_reloads_total"), 0);
    drop(stream);
}
