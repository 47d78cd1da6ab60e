//! Signed cards: keys of the operator and of the card's domain, and what becomes of a card when they change.

use std::{path::PathBuf, sync::Mutex};

use agentdex::{
    ChangeKind::{Created, Updated},
    fetch::Options,
    signature::{Algorithm, Form, TrustedKeys},
    td::Document,
};

use super::*;
use crate::{signature::signer::Signer, support::certified};

pub(super) const HOST: &str = "agents.example";

/// The site of a domain with its keys and a card.
pub(super) struct Domain {
    pub site: Site,
    pub card: Arc<Mutex<Value>>,
    pub keys: Arc<Mutex<Reply>>,
    ca: PathBuf,
    _directory: TempDir,
}

impl Domain {
    pub fn start(signer: &Signer) -> Domain {
        let directory = TempDir::new().unwrap();
        let ca = directory.path().join("ca.pem");
        let (card, keys) = (Arc::new(Mutex::new(Value::Null)), Arc::new(Mutex::new(Reply::json("{}"))));
        let (told_card, told_keys) = (card.clone(), keys.clone());
        let site = Site::at("127.0.0.1:0", Some(certified(HOST, &ca)), move |head| {
            if head.starts_with("GET /.well-known/jwks.json ") {
                told_keys.lock().unwrap().clone()
            } else {
                Reply::json(&told_card.lock().unwrap().to_string())
            }
        });
        let domain = Domain { site: site.unwrap(), card, keys, ca, _directory: directory };
        domain.publish(&[signer]);
        domain.serve("first", Some(signer));
        domain
    }

    /// Serves a card, signed or not.
    pub fn serve(&self, description: &str, signer: Option<&Signer>) {
        let mut card = card("a", description);
        card["url"] = format!("https://{HOST}:{}/a2a", self.site.address().port()).into();
        if let Some(signer) = signer {
            signer.sign(&mut card, Form::Specification);
        }
        *self.card.lock().unwrap() = card;
    }

    pub fn publish(&self, signers: &[&Signer]) {
        let keys: Vec<Value> = signers.iter().map(|signer| signer.jwk()).collect();
        *self.keys.lock().unwrap() = Reply::json(&json!({"keys": keys}).to_string());
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{HOST}:{}{path}", self.site.address().port())
    }

    pub fn fixture(&self, change: impl FnOnce(Tracking) -> Tracking) -> Fixture {
        let fetcher = self.fetcher(Options::default());
        Fixture::with(|tracking| change(tracking.fetcher(fetcher)))
    }

    pub fn fetcher(&self, options: Options) -> Fetcher {
        let allowed = AllowList::parse(["127.0.0.0/8"]).unwrap();
        let options = options.allowed(allowed).ca(self.ca.clone());
        Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap()
    }

    pub fn track(&self, fixture: &Fixture) -> agentdex::Result<Imported> {
        block_on(fixture.registry.track(TrackRequest::new(self.url("/card.json"), Format::A2a)))
    }

    pub fn asked_for_keys(&self) -> usize {
        self.site.heads().iter().filter(|head| head.contains("jwks.json")).count()
    }
}

pub(super) fn signature(fixture: &Fixture) -> Value {
    fixture.thing("urn:card:a")["agentdex:signature"].clone()
}

pub(super) fn trusted(signer: &Signer) -> TrustedKeys {
    TrustedKeys::from_domain(signer.jwk().to_string().as_bytes(), "partners.json").unwrap()
}

#[test]
fn domain_vouches_for_its_own_cards() {
    let signer = Signer::new("k", Algorithm::Es256);
    let domain = Domain::start(&signer);
    let fixture = domain.fixture(|tracking| tracking);
    domain.track(&fixture).unwrap();
    let found = signature(&fixture);
    assert_eq!((&found["status"], &found["form"]), (&json!("valid"), &json!("specification")));
    assert_eq!(found["trustedBy"], domain.url("/.well-known/jwks.json"));
    // The same card again, however often it is checked, changes nothing.
    domain.track(&fixture).unwrap();
    fixture.refresh("urn:card:a");
    assert_eq!((signature(&fixture), fixture.changes()), (found, vec![Created]));
    let heads = domain.site.heads();
    let asked = heads.iter().find(|head| head.contains("jwks.json")).unwrap();
    assert!(asked.contains("application/jwk-set+json"), "{asked}");
}

#[test]
fn key_that_is_taken_back_is_noticed() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let domain = Domain::start(&signer);
    let fixture = domain.fixture(|tracking| tracking);
    domain.track(&fixture).unwrap();
    // Keys that can't be had for a moment say nothing.
    *domain.keys.lock().unwrap() = Reply::new("500 Oops", &[], "");
    fixture.refresh("urn:card:a");
    assert_eq!((signature(&fixture)["status"].clone(), fixture.changes()), (json!("valid"), vec![Created]));
    domain.publish(&[&Signer::new("other", Algorithm::EdDsa)]);
    fixture.refresh("urn:card:a");
    assert_eq!(
        (signature(&fixture)["status"].clone(), fixture.changes()),
        (json!("untrusted"), vec![Created, Updated])
    );
    assert!(fixture.registry.original("urn:card:a").unwrap().is_some());
    domain.publish(&[&signer]);
    fixture.refresh("urn:card:a");
    assert_eq!(signature(&fixture)["status"], "valid");
}

#[test]
fn keys_of_the_operator_need_no_domain() {
    let signer = Signer::new("k", Algorithm::Es384);
    let domain = Domain::start(&signer);
    let fixture = domain.fixture(|tracking| tracking.trusted_keys(trusted(&signer)));
    domain.track(&fixture).unwrap();
    let found = signature(&fixture);
    assert_eq!((&found["status"], &found["trustedBy"]), (&json!("valid"), &json!("partners.json")));
    assert_eq!(domain.asked_for_keys(), 0);
}

#[test]
fn keys_that_cannot_be_had_are_told_of() {
    let signer = Signer::new("k", Algorithm::Es256);
    let domain = Domain::start(&signer);
    *domain.keys.lock().unwrap() = Reply::new("404 Not Found", &[], "");
    let fixture = domain.fixture(|tracking| tracking);
    domain.track(&fixture).unwrap();
    let found = signature(&fixture);
    assert_eq!(found["status"], "untrusted");
    let reason = found["reason"].as_str().unwrap();
    assert!(reason.contains("no trusted key") && reason.contains("jwks.json") && reason.contains("404"), "{reason}");
}

#[test]
fn unsigned_and_forged_cards_are_told_of() {
    let (signer, forger) = (Signer::new("k", Algorithm::Es256), Signer::new("k", Algorithm::Es256));
    let domain = Domain::start(&signer);
    let fixture = domain.fixture(|tracking| tracking);
    domain.serve("first", None);
    domain.track(&fixture).unwrap();
    assert_eq!(signature(&fixture)["status"], "unsigned");
    assert_eq!(domain.asked_for_keys(), 0);
    let with = |status: &str| fixture.found(Filters { signature: vec![status.into()], ..Filters::default() });
    assert_eq!((with("unsigned").len(), with("valid").len()), (1, 0));
    domain.serve("second", Some(&forger));
    fixture.refresh("urn:card:a");
    assert_eq!(signature(&fixture)["status"], "invalid");
    assert_eq!((with("unsigned").len(), with("invalid").len()), (0, 1));
}

#[test]
fn where_signatures_are_required_nothing_else_gets_in() {
    let signer = Signer::new("k", Algorithm::Es256);
    let domain = Domain::start(&signer);
    let fixture = domain.fixture(|tracking| tracking.require_signature(true));
    domain.serve("first", None);
    let error = domain.track(&fixture).unwrap_err();
    assert!(matches!(error, Error::SignatureRequired { status: "unsigned", .. }), "{error}");
    assert!(fixture.registry.is_empty());
    domain.serve("first", Some(&signer));
    domain.track(&fixture).unwrap();
    // A change that nobody signed is a failure; what was signed stays.
    domain.serve("second", None);
    let import = fixture.refresh("urn:card:a");
    assert!(import.last_error.unwrap().contains("it has no signature"));
    assert_eq!(fixture.thing("urn:card:a")["description"], "first");
    assert_eq!(signature(&fixture)["status"], "valid");
}

#[test]
fn card_that_came_otherwise_is_checked_alike() {
    let signer = Signer::new("k", Algorithm::Ps256);
    let domain = Domain::start(&signer);
    let fixture = domain.fixture(|tracking| tracking.require_signature(true));
    let card = Document::parse(domain.card.lock().unwrap().to_string().as_bytes()).unwrap();
    let found = block_on(fixture.registry.check_card(&card, None)).unwrap();
    assert_eq!(found.status.name(), "valid");
    let unsigned = Document::parse(super::card("a", "x").to_string().as_bytes()).unwrap();
    let error = block_on(fixture.registry.check_card(&unsigned, None)).unwrap_err();
    assert!(matches!(error, Error::SignatureRequired { .. }), "{error}");
}

#[test]
fn signer_who_is_new_at_a_domain_is_asked_for() {
    let (old, new) = (Signer::new("old", Algorithm::Es256), Signer::new("new", Algorithm::EdDsa));
    let domain = Domain::start(&old);
    let fixture = domain.fixture(|tracking| tracking.interval(Duration::from_secs(60)));
    domain.track(&fixture).unwrap();
    assert_eq!((signature(&fixture)["kid"].clone(), domain.asked_for_keys()), (json!("old"), 1));
    domain.publish(&[&old, &new]);
    domain.serve("second", Some(&new));
    // A minute later the keys are still remembered, and the new one isn't among them.
    fixture.refresh("urn:card:a");
    assert_eq!(
        (signature(&fixture)["status"].clone(), signature(&fixture)["kid"].clone()),
        (json!("valid"), json!("new"))
    );
    assert_eq!(domain.asked_for_keys(), 2);
}

#[test]
fn key_of_the_operator_with_the_same_name_hides_no_domain() {
    let (ours, theirs) = (Signer::new("key-1", Algorithm::Es256), Signer::new("key-1", Algorithm::Es256));
    let domain = Domain::start(&theirs);
    let fixture = domain.fixture(|tracking| tracking.trusted_keys(trusted(&ours)));
    domain.track(&fixture).unwrap();
    assert_eq!(signature(&fixture)["status"], "valid");
    // Nobody vouches for a card that was changed.
    domain.card.lock().unwrap()["description"] = "forged".into();
    fixture.refresh("urn:card:a");
    assert_eq!(signature(&fixture)["status"], "invalid");
}
