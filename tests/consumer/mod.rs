//! Agents are found and called: real ones where their SDKs are installed, and servers that say what a test wants.

mod a2a;
pub mod agents;
mod answers;
mod chains;
mod commands;
mod credentials;
mod endless;
mod faults;
mod flow_corpus;
mod flows;
mod guarded;
mod http;
mod program;
pub mod server;
mod several;
mod talking;
mod things;
mod tools;
mod turns;

use std::time::Duration;

use agentdex::{
    consumer::{Agent, Candidate, Consumer, Directory, Pending, Search, Settings},
    fetch::{AllowList, Options},
};
use serde_json::{Value, json};

pub use self::{agents::TestAgent, program::agentdex};

/// A directory of nothing.
#[derive(Debug)]
pub struct Nobody;

impl Directory for Nobody {
    fn search<'a>(&'a self, _: &'a Search) -> Pending<'a, Vec<Candidate>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn description<'a>(&'a self, _: &'a str) -> Pending<'a, Option<String>> {
        Box::pin(async { Ok(None) })
    }
}

/// Options that allow calls to loopback.
pub fn loopback() -> Options {
    Options::default().allowed(AllowList::parse(["127.0.0.0/8"]).unwrap())
}

/// A consumer that may call loopback, and has no environment.
pub fn consumer() -> Consumer {
    let settings = Settings::new().environment([("", "")]).timeout(Duration::from_secs(60));
    Consumer::with_options(Nobody, loopback()).unwrap().with_settings(settings)
}

/// The agent that a description describes.
pub fn agent(description: &Value) -> Agent {
    consumer().agent_of(&description.to_string()).unwrap()
}

/// A Thing with these affordances.
pub fn thing(members: Value) -> Value {
    let mut thing = json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:thing", "title": "Thing",
        "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}}, "security": "nosec_sc",
    });
    thing.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    thing
}

/// A Thing with one action at this place.
pub fn asking(href: &str) -> Value {
    thing(json!({"actions": {"ask": {"forms": [{"href": href}]}}}))
}

/// Runs to the end, on a runtime of its own.
pub fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let output = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(120), future).await });
    output.expect("nothing hangs")
}
