//! How the keys of domains are come by.

use std::sync::Mutex;

use agentdex::{
    signature::{Algorithm, Form, Verification},
    td::Document,
};

use super::{
    signatures::{Domain, HOST},
    *,
};
use crate::signature::signer::Signer;

fn check(fixture: &Fixture, card: &Value) -> Verification {
    let card = Document::parse(card.to_string().as_bytes()).unwrap();
    block_on(fixture.registry.check_card(&card, None)).unwrap()
}

fn signed(domain: &Domain, signer: &Signer) -> Value {
    domain.serve("first", Some(signer));
    domain.card.lock().unwrap().clone()
}

#[test]
fn keys_never_come_over_an_unprotected_redirect() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let domain = Domain::start(&signer);
    let card = signed(&domain, &signer);
    let set = json!({"keys": [signer.jwk()]}).to_string();
    let plain = Site::start(move |_| Reply::json(&set));
    *domain.keys.lock().unwrap() = Reply::redirect(&plain.url("/keys"));
    let found = check(&domain.fixture(|tracking| tracking), &card);
    assert_eq!(found.status.name(), "untrusted", "{found:?}");
    assert!(plain.heads().is_empty());
}

#[test]
fn domain_is_asked_once_by_many() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let domain = Domain::start(&signer);
    let card = Document::parse(signed(&domain, &signer).to_string().as_bytes()).unwrap();
    let fixture = domain.fixture(|tracking| tracking);
    block_on(async {
        let mut checks = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (registry, card) = (fixture.registry.clone(), card.clone());
            checks.spawn(async move { registry.check_card(&card, None).await.unwrap().status.name() });
        }
        assert_eq!(checks.join_all().await, ["valid"; 8]);
    });
    assert_eq!(domain.asked_for_keys(), 1);
}

#[test]
fn domain_that_could_not_be_asked_is_asked_the_next_time() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let domain = Domain::start(&signer);
    let card = signed(&domain, &signer);
    let patience = Duration::from_millis(300);
    let fetcher = domain.fetcher(fetch::Options::default().at_once(1).phase_timeout(patience));
    let fixture = Fixture::with(|tracking| tracking.fetcher(fetcher.clone()));
    // Somebody else has the only turn for longer than that.
    let (begun, waits) = std::sync::mpsc::channel();
    let begun = Mutex::new(begun);
    let slow = Site::start(move |_| {
        begun.lock().unwrap().send(()).ok();
        Reply::raw(
            &[
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n",
                b"{",
                b" ",
                b" ",
                b" ",
                b" ",
                b" ",
                b" ",
                b" ",
                b" ",
                b" ",
                b" ",
            ],
            Duration::from_millis(150),
        )
    });
    let url = slow.url("/");
    let holder = std::thread::spawn(move || drop(block_on(fetcher.fetch(&fetch::Request::new(url)))));
    waits.recv().unwrap();
    let busy = check(&fixture, &card);
    assert_eq!(busy.status.name(), "untrusted");
    assert!(busy.reason.as_ref().unwrap().contains("too many fetches are in progress"), "{busy:?}");
    holder.join().unwrap();
    assert_eq!(check(&fixture, &card).status.name(), "valid");
}

#[test]
fn domain_without_keys_is_not_asked_again_at_once() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let domain = Domain::start(&signer);
    let card = signed(&domain, &signer);
    *domain.keys.lock().unwrap() = Reply::new("404 Not Found", &[], "");
    let fixture = domain.fixture(|tracking| tracking);
    for _ in 0..3 {
        assert!(check(&fixture, &card).reason.unwrap().contains("404"));
    }
    assert_eq!(domain.asked_for_keys(), 1);
    // Many others leave no place for it.
    for number in 0..300 {
        let mut other = super::card("b", "x");
        other["url"] = format!("https://{HOST}:1/{number}").replace(":1/", &format!(":{}/", 20_000 + number)).into();
        signer.sign(&mut other, Form::Specification);
        check(&fixture, &other);
    }
    check(&fixture, &card);
    assert_eq!(domain.asked_for_keys(), 2);
}
