//! What tests of a running registry share: a server on a port of its own, and a plain client.

mod call;
mod checked_in;
mod closed;
mod disk;
mod events;
mod positions;
mod resolver;
mod sdk;
mod site;
mod skip_log;
mod skipped;
mod wait;

use std::{fs, net::SocketAddr, path::Path, thread::JoinHandle, time::Duration};

use agentdex::{
    Registry,
    access::{NewKey, Role, Rules},
    consumer::{Consumer, Sacp, Settings},
    fetch::{self, AllowList, Fetcher},
    registry::{self, FollowerStatus, IssuerOptions, tracked_sources::Tracking},
};
use agentdex_server::http;
use tempfile::TempDir;
use tokio::sync::oneshot;

#[allow(unused_imports, reason = "named by the tests that need them")]
pub use self::{
    call::{Answer, Call, client},
    checked_in::{assert_checked_in, openapi},
    closed::{closed_address, unreachable_url},
    disk::{SmallDisk, directory_on_disk},
    events::{Event, EventStream},
    positions::{nth, number_of},
    resolver::Answers,
    sdk::{
        run_agent_spec, run_browser, run_javascript, run_mcp_javascript, run_mcp_python, run_node, run_node_wot,
        run_python,
    },
    site::{Page, Reply, Site, certified},
    skipped::skipped,
    wait::{eventually, eventually_async, next_millisecond},
};

/// A registry in a directory of its own, served over HTTP until it is dropped.
pub struct TestRegistry {
    registry: Registry,
    address: SocketAddr,
    scheme: &'static str,
    serving: Vec<(oneshot::Sender<()>, JoinHandle<agentdex::Result<()>>)>,
    /// Removed once the registry is closed.
    _directory: TempDir,
}

impl TestRegistry {
    /// Starts an empty one with the default options.
    pub fn start() -> TestRegistry {
        TestRegistry::start_with(registry::Options::default(), http::Options::default())
    }

    /// One that authenticates its clients, and lets others read what is public.
    pub fn guarded() -> TestRegistry {
        let access = Rules { authentication: true, public_read: true, ..Rules::default() };
        TestRegistry::start_with(registry::Options::default(), http::Options { access, ..Default::default() })
    }

    /// A new key of an owner.
    pub fn key(&self, owner: &str, role: Role) -> String {
        let new = NewKey { role, owner: owner.parse().unwrap(), ttl: None };
        self.registry().keys().create(new).unwrap().1
    }

    /// Starts an empty one.
    pub fn start_with(options: registry::Options, http_options: http::Options) -> TestRegistry {
        TestRegistry::start_in(tempfile::tempdir().unwrap(), options, http_options)
    }

    /// Starts an empty one that fetches from loopback, whatever the name of the host. It polls only
    /// where it is told to.
    pub fn tracking() -> TestRegistry {
        TestRegistry::tracking_with(|tracking| tracking, http::Options::default())
    }

    /// The same with changes.
    pub fn tracking_with(change: impl FnOnce(Tracking) -> Tracking, http_options: http::Options) -> TestRegistry {
        TestRegistry::tracking_in(registry::Options::default(), change, http_options)
    }

    /// The same with options of the registry.
    pub fn tracking_under(options: registry::Options) -> TestRegistry {
        TestRegistry::tracking_in(options, |tracking| tracking, http::Options::default())
    }

    fn tracking_in(
        registry: registry::Options,
        change: impl FnOnce(Tracking) -> Tracking,
        http_options: http::Options,
    ) -> TestRegistry {
        let options = fetch::Options::default()
            .allowed(AllowList::parse(["127.0.0.0/8"]).unwrap())
            .timeout(Duration::from_secs(20))
            .phase_timeout(Duration::from_secs(10));
        let fetcher = Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap();
        let tracking = change(Tracking::new(fetcher).in_background(false));
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).options(registry).tracking(tracking).open().unwrap();
        TestRegistry::serve(registry, directory, http_options)
    }

    /// Starts an empty one that takes the tokens of an issuer, and authenticates.
    pub fn with_issuer(issuer: impl FnOnce(Fetcher) -> IssuerOptions, http_options: http::Options) -> TestRegistry {
        let issuer = issuer(Fetcher::new(fetch::Options::default()).unwrap());
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).issuer(issuer).open().unwrap();
        let access = Rules { authentication: true, ..http_options.access };
        TestRegistry::serve(registry, directory, http::Options { access, ..http_options })
    }

    /// Starts an empty one that calls agents on loopback, or on the public internet alone.
    pub fn with_conversations(on_loopback: bool, http_options: http::Options) -> TestRegistry {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        let allowed = if on_loopback { AllowList::parse(["127.0.0.0/8"]).unwrap() } else { AllowList::default() };
        let options = fetch::Options::default().allowed(allowed);
        let consumer = Consumer::with_options(registry.clone(), options).unwrap();
        // As the server has it.
        let consumer = consumer.with_settings(Settings::new().answers(Sacp::Allowed));
        TestRegistry::serve(registry, directory, http::Options { conversations: Some(consumer), ..http_options })
    }

    /// Starts one whose options are made of it.
    pub fn with_consumer(options: impl FnOnce(&Registry) -> http::Options) -> TestRegistry {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        let options = options(&registry);
        TestRegistry::serve(registry, directory, options)
    }

    /// Starts one on what a directory has already.
    pub fn start_in(directory: TempDir, options: registry::Options, http_options: http::Options) -> TestRegistry {
        let registry = Registry::builder(directory.path()).options(options).open().unwrap();
        TestRegistry::serve(registry, directory, http_options)
    }

    fn serve(registry: Registry, directory: TempDir, http_options: http::Options) -> TestRegistry {
        let scheme = if http_options.tls.is_some() { "https" } else { "http" };
        let (address, serving) = run(&registry, http_options);
        await_index(&registry);
        TestRegistry { registry, address, scheme, serving: vec![serving], _directory: directory }
    }

    /// Serves the same registry at another address too, by other rules; returns the URL without a path.
    pub fn serve_also(&mut self, http_options: http::Options) -> String {
        let (address, serving) = run(&self.registry, http_options);
        self.serving.push(serving);
        format!("http://{address}")
    }

    /// The registry itself.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// A request that isn't sent yet.
    pub fn call(&self, method: &str, path: &str) -> Call {
        Call::new(method, &self.url(path))
    }

    /// GET
    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", path).send()
    }

    /// HEAD
    pub fn head(&self, path: &str) -> Answer {
        self.call("HEAD", path).send()
    }

    /// PUT of a TD.
    pub fn put(&self, path: &str, td: impl Into<Vec<u8>>) -> Answer {
        self.call("PUT", path).body("application/td+json", td).send()
    }

    /// POST of a TD.
    pub fn post(&self, path: &str, td: impl Into<Vec<u8>>) -> Answer {
        self.call("POST", path).body("application/td+json", td).send()
    }

    /// PATCH
    pub fn patch(&self, path: &str, patch: impl Into<Vec<u8>>) -> Answer {
        self.call("PATCH", path).body("application/merge-patch+json", patch).send()
    }

    /// DELETE
    pub fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path).send()
    }

    /// An event stream, open.
    pub fn events(&self, path: &str, last_event_id: Option<&str>) -> EventStream {
        let call = self.call("GET", path);
        EventStream::open(match last_event_id {
            Some(id) => call.header("last-event-id", id),
            None => call,
        })
    }

    /// Tells the server to stop and waits until it has.
    pub fn stop(&mut self) {
        for (stop, thread) in self.serving.drain(..) {
            let _ = stop.send(());
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        self.stop();
        self.registry.close();
    }
}

/// Serves a registry until it is told to stop.
fn run(
    registry: &Registry,
    http_options: http::Options,
) -> (SocketAddr, (oneshot::Sender<()>, JoinHandle<agentdex::Result<()>>)) {
    let server = http::Server::bind("127.0.0.1:0", registry, http_options).unwrap();
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel();
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(server.run(async { drop(stopped.await) }))
    };
    (address, (stop, std::thread::spawn(serve)))
}

/// Waits until searches of every kind answer.
pub fn await_index(registry: &Registry) {
    let is_ready = || {
        let status = registry.status();
        status.not_ready().is_none() && status.followers.iter().all(FollowerStatus::is_ready)
    };
    eventually("a search index that answers", is_ready);
}

/// An LMOS agent with one capability, as a document.
pub fn agent(id: &str, title: &str) -> String {
    format!(
        r#"{{
  "@context": ["https://www.w3.org/2022/wot/td/v1.1", {{"lmos": "https://eclipse.dev/lmos/protocol/v1"}}],
  "@type": "lmos:Agent",
  "id": "{id}",
  "title": "{title}",
  "description": "An agent for tests",
  "lmos:capabilities": [{{"id": "forecast", "name": "Weather forecast", "description": "Tells the weather"}}],
  "securityDefinitions": {{"nosec_sc": {{"scheme": "nosec"}}}},
  "security": ["nosec_sc"]
}}"#
    )
}

/// The same without an id.
pub fn anonymous_agent(title: &str) -> String {
    agent("urn:to:be:taken:out", title).replace("  \"id\": \"urn:to:be:taken:out\",\n", "")
}

/// Copies a directory, as a crash of its program at this moment would leave it.
pub fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
