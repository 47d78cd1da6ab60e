//! Whom the fetcher doesn't fetch from, and how an operator changes that.

use agentdex::fetch::{Fetcher, Options};

use super::{allowing, failure, fetch, fetcher_for, refusal};
use crate::support::{Answers, Reply, Site, skipped};

fn card_site() -> Site {
    Site::start(|_| Reply::json("{\"name\": \"Agent\"}"))
}

#[test]
fn loopback_is_not_even_connected_to() {
    let site = card_site();
    let fetcher = Fetcher::new(Options::default()).unwrap();
    let reason = refusal(&fetcher, &site.url("/card.json"));
    assert_eq!(
        reason,
        format!("127.0.0.1 is a loopback address; the operator can allow it with --allow-fetch {}", site.address())
    );
    for host in ["localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "①②⑦.1", "0"] {
        refusal(&fetcher, &format!("http://{host}:{}/", site.address().port()));
    }
    assert!(site.heads().is_empty(), "{:?}", site.heads());
}

#[test]
fn allowed_places_are_fetched_from() {
    let site = card_site();
    let port = site.address().port();
    let by_port = format!("127.0.0.1:{port}");
    for entry in ["127.0.0.1", "127.0.0.0/8", &by_port] {
        let fetched = fetch(&Fetcher::new(allowing([entry])).unwrap(), &site.url("/card.json#part")).unwrap();
        assert_eq!(fetched.bytes, b"{\"name\": \"Agent\"}");
        assert_eq!(fetched.media_type, "application/json");
        assert_eq!(fetched.url, site.url("/card.json"));
    }
    let by_name = Fetcher::with_resolver(allowing([format!("cards.internal:{port}")]), Answers::of(&[&["127.0.0.1"]]));
    let by_name = by_name.unwrap();
    fetch(&by_name, &format!("http://cards.internal:{port}/")).unwrap();
    refusal(&by_name, &format!("http://other.internal:{port}/"));
    refusal(&by_name, &site.url("/"));
}

#[test]
fn allowing_one_port_allows_no_other() {
    let (one, other) = (card_site(), card_site());
    let fetcher = fetcher_for(&one);
    fetch(&fetcher, &one.url("/")).unwrap();
    let reason = refusal(&fetcher, &other.url("/"));
    assert!(reason.ends_with(&format!("--allow-fetch {}", other.address())), "{reason}");
    assert!(other.heads().is_empty());
}

#[test]
fn request_says_who_asks_and_for_what() {
    let site = card_site();
    fetch(&fetcher_for(&site), &site.url("/a%20card?x=1#y")).unwrap();
    let head = site.heads().remove(0).to_lowercase();
    assert!(head.starts_with("get /a%20card?x=1 http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: {}\r\n", site.address())), "{head}");
    assert!(head.contains(&format!("user-agent: agentdex/{}\r\n", env!("CARGO_PKG_VERSION"))), "{head}");
    assert!(head.contains("accept: application/json") && head.contains("accept-encoding: gzip\r\n"), "{head}");
    for unwanted in ["cookie", "authorization", "referer", "if-none-match"] {
        assert!(!head.contains(unwanted), "{head}");
    }
}

#[test]
fn names_are_judged_by_all_they_stand_for() {
    let site = card_site();
    let url = format!("http://agents.example:{}/", site.address().port());
    for (answer, kind) in [
        (&["127.0.0.1"][..], "a loopback address"),
        (&["10.0.0.1"], "a private address"),
        (&["169.254.169.254"], "a cloud metadata address"),
        (&["fd00:ec2::254"], "a cloud metadata address"),
        (&["93.184.215.14", "127.0.0.1"], "a loopback address"),
        (&["::ffff:127.0.0.1"], "a loopback address"),
    ] {
        let answers = Answers::of(&[answer]);
        let fetcher = Fetcher::with_resolver(Options::default(), answers.clone()).unwrap();
        let reason = refusal(&fetcher, &url);
        assert!(reason.starts_with(&format!("agents.example resolves to {kind}")), "{reason}");
        // What a name stands for inside is not told to those outside.
        assert!(!reason.contains("10.0.0.1") && !reason.contains("169.254"), "{reason}");
        assert_eq!(answers.asked(), 1);
    }
    assert!(site.heads().is_empty());
}

#[test]
fn name_that_changes_its_mind_gains_nothing() {
    let (checked, victim) = (card_site(), Site::at("127.0.0.2:0", None, |_| Reply::json("{}")));
    let Ok(victim) = victim else { return skipped("127.0.0.2", "a second loopback address") };
    // Both are on one port as far as the URL can tell: the connection decides.
    let port = checked.address().port();
    let _same_port = Site::at(&format!("127.0.0.2:{port}"), None, |_| Reply::json("\"victim\"")).unwrap();
    let answers = Answers::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let fetcher = Fetcher::with_resolver(allowing([format!("127.0.0.1:{port}")]), answers.clone()).unwrap();
    let fetched = fetch(&fetcher, &format!("http://rebinding.example:{port}/")).unwrap();
    assert_eq!(fetched.bytes, b"{\"name\": \"Agent\"}");
    assert_eq!(answers.asked(), 1);
    assert!(checked.heads()[0].to_lowercase().contains(&format!("host: rebinding.example:{port}\r\n")));
    let reason = refusal(&fetcher, &format!("http://rebinding.example:{port}/"));
    assert!(reason.contains("a loopback address"), "{reason}");
    assert!(victim.heads().is_empty());
}

#[test]
fn addresses_beyond_the_first_are_tried() {
    let site = card_site();
    let port = site.address().port();
    let answers = Answers::of(&[&["127.0.0.9", "127.0.0.1"]]);
    let fetcher = Fetcher::with_resolver(allowing(["127.0.0.0/8"]), answers).unwrap();
    fetch(&fetcher, &format!("http://agents.example:{port}/")).unwrap();
}

#[test]
fn what_is_no_plain_web_address_is_refused() {
    let fetcher = Fetcher::new(allowing(["0.0.0.0/0", "::/0"])).unwrap();
    assert!(refusal(&fetcher, "ftp://127.0.0.1/card.json").contains("scheme is ftp"));
    assert!(refusal(&fetcher, "file:///etc/passwd").contains("scheme is file"));
    assert!(refusal(&fetcher, "http://me:secret@127.0.0.1/").contains("credentials"));
    assert!(refusal(&fetcher, "127.0.0.1/card.json").contains("not a valid URL"));
    assert!(refusal(&fetcher, &format!("http://127.0.0.1/{}", "x".repeat(5000))).contains("4096 bytes"));
}

#[test]
fn name_without_addresses_is_no_failure_of_ours() {
    let unknown = Fetcher::with_resolver(Options::default(), Answers::default()).unwrap();
    assert!(failure(&unknown, "http://nobody.example/").contains("nobody.example can't be resolved"));
    let empty = Fetcher::with_resolver(Options::default(), Answers::of(&[&[]])).unwrap();
    assert!(failure(&empty, "http://nobody.example/").contains("has no address"));
}

#[test]
fn ipv6_is_guarded_and_fetched_alike() {
    let Ok(site) = Site::at("[::1]:0", None, |_| Reply::json("6")) else {
        return skipped("IPv6", "the address ::1");
    };
    let reason = refusal(&Fetcher::new(Options::default()).unwrap(), &site.url("/"));
    assert!(reason.ends_with(&format!("--allow-fetch {}", site.address())), "{reason}");
    assert!(site.heads().is_empty());
    for entry in [site.address().to_string(), "::1".into(), "::/64".into()] {
        assert_eq!(fetch(&Fetcher::new(allowing([entry])).unwrap(), &site.url("/")).unwrap().bytes, b"6");
    }
    let answers = Answers::of(&[&["::1"]]);
    let named = Fetcher::with_resolver(allowing(["six.internal"]), answers).unwrap();
    fetch(&named, &format!("http://six.internal:{}/", site.address().port())).unwrap();
}
