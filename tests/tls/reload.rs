//! Certificates that change while the server runs.

use std::fs;

use agentdex_server::{http::Options, tls::ServerTls};

use super::{Authority, Files, metric};
use crate::support::{agent, eventually};

#[test]
fn new_certificate_is_for_new_connections_and_open_ones_go_on() {
    let files = Files::new();
    let (registry, tls) = files.serve(Options::default());
    let holder = files.client();
    let mut stream = holder.try_get(&registry.url("/events")).unwrap();
    let new = files.authority.server();
    files.write(&new);
    // Nobody asks for it: the change of the files is noticed.
    eventually("the certificate is replaced", || tls.status().reloads > 0);
    assert_eq!(files.client().certificate(&registry.url("/things")), new.der);
    registry.registry().put(agent("urn:example:a", "A")).unwrap();
    let chunk = holder.runtime.block_on(stream.chunk()).unwrap().unwrap();
    assert!(String::from_utf8_lossy(&chunk).contains("thing_created"));
}

#[test]
fn pair_that_does_not_fit_changes_nothing() {
    let files = Files::new();
    let (registry, tls) = files.serve(Options::default());
    let first = files.client().certificate(&registry.url("/things"));
    let other = files.authority.server();
    fs::write(files.path("server.pem"), &other.certificate).unwrap();
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.contains("server.key: it is not the key of the certificate in"), "{error}");
    for (name, content) in [("server.pem", ""), ("server.key", "x"), ("server.pem", "-----BEGIN CERTIFICATE-----\n")] {
        let before = fs::read(files.path(name)).unwrap();
        fs::write(files.path(name), content).unwrap();
        assert!(tls.reload().unwrap_err().to_string().contains(name));
        fs::write(files.path(name), before).unwrap();
    }
    fs::remove_file(files.path("server.key")).unwrap();
    assert!(tls.reload().is_err());
    assert_eq!(files.client().certificate(&registry.url("/things")), first);
    let metrics = files.client().get(&registry.url("/metrics")).1;
    assert!(metric(&metrics, "agentdex_tls_reload_failures_total") >= 5, "{metrics}");
    // Once both fit they are taken.
    fs::write(files.path("server.key"), &other.key).unwrap();
    tls.reload().unwrap();
    assert_eq!(files.client().certificate(&registry.url("/things")), other.der);
}

#[test]
fn certificate_that_has_expired_does_not_replace_one_that_has_not() {
    let files = Files::new();
    let tls = files.tls();
    let expired = files.authority.issue("server", &["localhost"], |parameters| {
        parameters.not_before = rcgen::date_time_ymd(2001, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2002, 1, 1);
    });
    files.write(&expired);
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.contains("the certificate expired at 2002-01-01"), "{error}");
    // A server starts with it all the same, since its clock may be the one that is wrong.
    assert_eq!(files.tls().status().expires.to_string(), "2002-01-01T00:00:00.000Z");
}

#[test]
fn authority_of_clients_is_replaced_as_well() {
    let files = Files::new();
    let ours = Authority::new("Ours");
    fs::write(files.path("clients.pem"), Authority::new("Theirs").pem()).unwrap();
    let options = agentdex_server::tls::Options { client_ca: Some(files.path("clients.pem")), ..files.options() };
    let tls = ServerTls::open(options).unwrap();
    let (registry, tls) = files.serve(Options { tls: Some(tls), ..Options::default() });
    let issued = ours.client("us", &["us.example.org"]);
    let status = || files.client_with(Some(&issued)).try_get(&registry.url("/things")).map(|answer| answer.status());
    assert!(status().is_err());
    fs::write(files.path("clients.pem"), ours.pem()).unwrap();
    tls.reload().unwrap();
    assert_eq!(status().unwrap(), 200);
}
