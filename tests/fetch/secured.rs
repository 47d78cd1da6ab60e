//! TLS: the name is checked, whatever address was connected to.

use std::{fs, path::Path};

use agentdex::fetch::{Error, Fetcher, Options};

use super::{allowing, failure, fetch, refusal};
use crate::support::{Answers, Reply, Site, certified};

const HOST: &str = "agents.example";

/// A site with a certificate for [`HOST`], which is left in `ca`.
fn site(ca: &Path, reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Site {
    Site::at("127.0.0.1:0", Some(certified(HOST, ca)), reply).unwrap()
}

/// A fetcher to which every name stands for the site.
fn fetcher(site: &Site, more: &[String], ca: Option<&Path>) -> Fetcher {
    let allowed = [&[site.address().to_string()], more].concat();
    let options = allowing(allowed).ca(ca.map(Path::to_owned));
    Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap()
}

#[test]
fn certificate_must_be_for_the_name_and_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let site = site(&ca, |_| Reply::json("\"secured\""));
    let port = site.address().port();
    let trusting = fetcher(&site, &[], Some(&ca));
    let url = format!("https://{HOST}:{port}/");
    assert_eq!(fetch(&trusting, &url).unwrap().bytes, b"\"secured\"");
    let reason = failure(&trusting, &format!("https://other.example:{port}/"));
    assert!(reason.contains("certificate"), "{reason}");
    let reason = failure(&fetcher(&site, &[], None), &url);
    assert!(reason.contains("certificate"), "{reason}");
}

#[test]
fn redirect_to_what_is_not_encrypted_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let plain = Site::start(|_| Reply::json("\"plain\""));
    let port = plain.address().port();
    let secured = site(&ca, move |_| Reply::redirect(&format!("http://elsewhere.example:{port}/")));
    let url = format!("https://{HOST}:{}/", secured.address().port());
    // Also where the operator opened the place.
    for opened in [plain.address().to_string(), format!("elsewhere.example:{port}")] {
        let reason = refusal(&fetcher(&secured, &[opened], Some(&ca)), &url);
        assert!(reason.contains("http instead of https"), "{reason}");
    }
    assert!(plain.heads().is_empty());
}

#[test]
fn file_without_certificates_is_an_error_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    fs::write(&empty, "no certificate").unwrap();
    for ca in [empty, directory.path().join("missing.pem")] {
        let error = Fetcher::new(Options::default().ca(ca)).unwrap_err();
        assert!(matches!(&error, Error::InvalidSetting { origin, .. } if origin == "fetch_ca"), "{error}");
    }
}
