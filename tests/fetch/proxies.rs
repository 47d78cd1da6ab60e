//! Proxies: those of the environment are ignored, the operator's is used.

use std::process::Command;

use agentdex::fetch::{Error, Fetcher, Options};

use super::{allowing, fetch, refusal};
use crate::support::{Answers, Reply, Site};

/// Set for a second process of these tests, whose environment has a proxy in it.
const FETCH_FROM: &str = "AGENTDEX_TEST_FETCH_FROM";

#[test]
fn proxies_of_the_environment_are_ignored() {
    if let Ok(address) = std::env::var(FETCH_FROM) {
        let fetcher = Fetcher::new(allowing([&address])).unwrap();
        assert_eq!(fetch(&fetcher, &format!("http://{address}/")).unwrap().bytes, b"\"site\"");
        return;
    }
    let (site, proxy) = (Site::start(|_| Reply::json("\"site\"")), Site::start(|_| Reply::json("\"proxy\"")));
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "fetch::proxies::proxies_of_the_environment_are_ignored"]);
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"] {
        again.env(variable, proxy.url(""));
    }
    let done = again.env(FETCH_FROM, site.address().to_string()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!((site.heads().len(), proxy.heads().len()), (1, 0));
}

fn proxied(proxy: &Site, answers: Answers) -> Fetcher {
    let options = Options::default().proxy(proxy.url(""));
    Fetcher::with_resolver(options, answers).unwrap()
}

#[test]
fn proxy_of_the_operator_is_used() {
    let proxy = Site::start(|_| Reply::json("\"by proxy\""));
    // It may know names that this machine doesn't.
    for answers in [Answers::default(), Answers::of(&[&["93.184.215.14"]])] {
        let fetched = fetch(&proxied(&proxy, answers), "http://agents.example/card.json").unwrap();
        assert_eq!(fetched.bytes, b"\"by proxy\"");
    }
    assert!(proxy.heads()[0].starts_with("GET http://agents.example/card.json HTTP/1.1\r\n"), "{:?}", proxy.heads());
}

#[test]
fn proxy_does_not_open_what_is_closed() {
    let proxy = Site::start(|_| Reply::json("{}"));
    refusal(&proxied(&proxy, Answers::default()), "http://10.0.0.1/");
    refusal(&proxied(&proxy, Answers::default()), "http://localhost/");
    refusal(&proxied(&proxy, Answers::of(&[&["10.0.0.1"]])), "http://agents.example/");
    assert!(proxy.heads().is_empty());
}

#[test]
fn unusable_proxy_is_an_error_at_the_start_that_keeps_its_password() {
    // A proxy of another kind, too: whoever asks for one wants nothing to go past it.
    for proxy in ["http://user:secret@[", "not a url secret", "secret:3128", "socks5://user:secret@a", "ftp://secret"] {
        let error = Fetcher::new(Options::default().proxy(proxy.to_owned())).unwrap_err();
        assert!(matches!(error, Error::InvalidSetting { .. }) && !format!("{error:?}").contains("secret"), "{error:?}");
    }
    let fetcher = Fetcher::new(Options::default().proxy("http://user:secret@proxy.example".to_owned()));
    assert!(!format!("{:?}", fetcher.unwrap()).contains("secret"));
}
