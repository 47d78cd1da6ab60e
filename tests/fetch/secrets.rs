//! What lets one in is kept out of errors, which are logged, stored and sent.

use agentdex::fetch::{Fetcher, Options};

use super::{allowing, fetch};
use crate::support::{Reply, Site};

/// What is said and what a debugger sees.
fn told(fetcher: &Fetcher, url: &str) -> String {
    let error = fetch(fetcher, url).unwrap_err();
    format!("{error} {error:?}")
}

#[test]
fn credentials_and_queries_are_not_repeated() {
    let broken = Site::start(|_| Reply::new("500 Oops", &[], ""));
    let fetcher = Fetcher::new(allowing([broken.address().to_string()])).unwrap();
    for url in [
        "https://user:secret@agents.example/card.json".to_owned(),
        "https://secret@[/card.json".to_owned(),
        "http://10.0.0.1/card.json?token=secret".to_owned(),
        "ftp://agents.example/?token=secret".to_owned(),
        broken.url("/card.json?token=secret#secret"),
    ] {
        let told = told(&fetcher, &url);
        assert!(!told.contains("secret"), "{told}");
    }
    assert!(told(&fetcher, &broken.url("/card.json?token=secret")).contains(&broken.url("/card.json?…")));
    assert!(broken.heads()[0].starts_with("GET /card.json?token=secret "), "{:?}", broken.heads());
    let refused = told(&Fetcher::new(Options::default()).unwrap(), &broken.url("/?token=secret"));
    assert!(refused.contains("--allow-fetch") && !refused.contains("secret"), "{refused}");
}

#[test]
fn redirects_are_told_without_what_lets_one_in() {
    for location in [
        "https://user:secret@agents.example/x",
        "//user:secret@agents.example/x?sig=secret",
        "http://10.0.0.1/x?sig=secret",
        "file:///x?sig=secret",
        "http://secret@[/x?sig=secret",
    ] {
        let site = Site::start(move |_| Reply::redirect(location));
        let told = told(&Fetcher::new(allowing([site.address().to_string()])).unwrap(), &site.url("/"));
        assert!(told.contains("it redirects to") && !told.contains("secret"), "{told}");
    }
}
