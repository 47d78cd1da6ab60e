//! Namespaces of domains: they are claimed by those whom the domain names.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use agentdex::{
    access::{NewKey, Role, Rules},
    fetch::{self, Fetcher},
};
use agentdex_server::http;
use serde_json::{Value, json};

use crate::support::{Answer, Answers, Reply, Site, TestRegistry, certified};

const DOMAIN: &str = "agents.example";
const REGISTRY: &str = "https://registry.example";

/// A proxy that takes connections to anywhere to the site.
fn tunnel_to(site: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            thread::spawn(move || drop(tunnel(client, site)));
        }
    });
    address
}

fn tunnel(mut client: TcpStream, site: SocketAddr) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut server = TcpStream::connect(site)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let mut back = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut back.0, &mut back.1).and_then(|_| back.1.shutdown(Shutdown::Write)));
    io::copy(&mut reader, &mut server)?;
    server.shutdown(Shutdown::Write)
}

/// What a domain serves that names these.
fn owners(named: &[(&str, &str)]) -> String {
    let named = named.iter().map(|(owner, registry)| json!({"owner": owner, "registry": registry}));
    json!({"owners": named.collect::<Vec<_>>()}).to_string()
}

struct Domain {
    reply: Arc<Mutex<Reply>>,
    site: Site,
    registry: TestRegistry,
    keys: Vec<(&'static str, String)>,
    _directory: tempfile::TempDir,
}

impl Domain {
    fn start(public_url: Option<&str>) -> Domain {
        let directory = tempfile::tempdir().unwrap();
        let ca = directory.path().join("ca.pem");
        let reply = Arc::new(Mutex::new(Reply::new("404 Not Found", &[], "")));
        let told = reply.clone();
        let site = Site::at("127.0.0.1:0", Some(certified(DOMAIN, &ca)), move |head| match head {
            // Somebody else may say what is there.
            _ if head.starts_with("GET /elsewhere ") => Reply::json(&owners(&[("weather-team", REGISTRY)])),
            _ => told.lock().unwrap().clone(),
        });
        let site = site.unwrap();
        let proxy = Some(format!("http://{}", tunnel_to(site.address())));
        let options = fetch::Options::default().proxy(proxy).ca(ca);
        let fetcher = Fetcher::with_resolver(options, Answers::of(&[&["93.184.215.14"]])).unwrap();
        let access = Rules { authentication: true, ..Rules::default() };
        let http_options = http::Options { access, public_url: public_url.map(str::to_owned), ..Default::default() };
        let registry = TestRegistry::tracking_with(|tracking| tracking.fetcher(fetcher), http_options);
        let key = |owner: &'static str, role| {
            let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
            (owner, registry.registry().keys().create(new).unwrap().1)
        };
        let keys = vec![key("weather-team", Role::Register), key("others", Role::Register), key("root", Role::Admin)];
        Domain { reply, site, registry, keys, _directory: directory }
    }

    fn serve(&self, named: &[(&str, &str)]) {
        *self.reply.lock().unwrap() = Reply::json(&owners(named));
    }

    fn claim(&self, owner: &str, name: &str, members: Value) -> Answer {
        let (_, key) = self.keys.iter().find(|(known, _)| *known == owner).unwrap();
        let call = self.registry.call("PUT", &format!("/namespaces/{name}"));
        let call = call.header("authorization", &format!("Bearer {key}"));
        call.body("application/json", json!({ "members": members }).to_string()).send()
    }

    fn refusal(&self, owner: &str) -> String {
        let problem = self.claim(owner, DOMAIN, json!([])).problem(403, "access-refused");
        problem["detail"].as_str().unwrap().to_owned()
    }
}

#[test]
fn domain_names_who_claims_its_namespace() {
    let domain = Domain::start(Some("https://registry.example/"));
    let refusal = domain.refusal("weather-team");
    let wanted = r#"{"owners":[{"owner":"weather-team","registry":"https://registry.example"}]}"#;
    assert!(refusal.contains("404") && refusal.contains(wanted), "{refusal}");
    assert!(refusal.contains("https://agents.example/.well-known/agentdex.json"), "{refusal}");
    for (reply, reason) in [
        (Reply::json("[]"), "can't be read"),
        (Reply::json(r#"{"owners": [{"owner": "weather-team"}]}"#), "can't be read"),
        (Reply::redirect("https://agents.example:8443/elsewhere"), "redirects to another site"),
        (Reply::redirect("http://agents.example/.well-known/agentdex.json"), "http instead of https"),
    ] {
        *domain.reply.lock().unwrap() = reply;
        let refusal = domain.refusal("weather-team");
        assert!(refusal.contains(reason), "{refusal}");
    }
    for named in [&[][..], &[("others", REGISTRY)], &[("weather-team", "https://another.example")]] {
        domain.serve(named);
        let refusal = domain.refusal("weather-team");
        assert!(refusal.contains("its proof doesn't name you as an owner for this registry"), "{refusal}");
    }

    domain.serve(&[("others", "https://another.example"), ("weather-team", REGISTRY)]);
    let claimed = domain.claim("weather-team", DOMAIN, json!([])).expect(201).json();
    assert_eq!(claimed["owner"], "weather-team");
    assert_eq!(claimed["proof"], "https://agents.example/.well-known/agentdex.json");
    // It stays claimed, and isn't asked for again.
    let asked = domain.site.heads().len();
    domain.serve(&[("others", REGISTRY)]);
    let changed = domain.claim("weather-team", DOMAIN, json!(["others"])).expect(200).json();
    assert_eq!((&changed["members"], &changed["proof"]), (&json!(["others"]), &claimed["proof"]));
    assert!(domain.refusal("others").contains("belongs to another owner"));
    assert_eq!(domain.site.heads().len(), asked);
    // Names without a dot need no proof, and admins none for any.
    assert!(domain.claim("others", "plain", json!([])).expect(201).json().get("proof").is_none());
    domain.claim("root", "other.example", json!([])).expect(201);
    assert_eq!(domain.site.heads().len(), asked);
}

#[test]
fn registry_without_a_public_url_asks_no_domain() {
    let domain = Domain::start(None);
    domain.serve(&[("weather-team", REGISTRY)]);
    assert!(domain.refusal("weather-team").contains("--public-url"));
    assert!(domain.site.heads().is_empty());
}
