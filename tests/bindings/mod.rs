//! Bindings of the consumer against counterparts that others wrote.

pub mod mcp;
mod mcp_questions;
pub mod mqtt;
pub mod websocket;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use agentdex::{
    consumer::{Affordance, Binding, Call, Continuation, Description, Error, Event, Limits, Message, Network, Request},
    fetch::{self, AllowList},
};
use futures_util::StreamExt;
use serde_json::{Map, Value, json};

use crate::support::eventually_async;

/// A file beside this one.
fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bindings").join(name)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Connections to this machine, which are not allowed by default.
fn network() -> Network {
    let allowed = AllowList::parse(["127.0.0.1"]).unwrap();
    Network::new(fetch::Options::default().allowed(allowed)).unwrap()
}

/// The same, which also trust a certificate.
fn network_trusting(certificate: &Path) -> Network {
    let allowed = AllowList::parse(["127.0.0.1"]).unwrap();
    Network::new(fetch::Options::default().allowed(allowed).ca(certificate.to_owned())).unwrap()
}

/// A certificate for 127.0.0.1, and its key, as files.
struct Certified {
    certificate: PathBuf,
    key: PathBuf,
}

impl Certified {
    fn new(folder: &Path) -> Certified {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        Certified { certificate, key }
    }
}

/// Waits until something holds, without holding up what else runs.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually_async(what, async || holds()).await;
}

/// A description with these affordances.
fn description(affordances: Value) -> Arc<Description> {
    let mut thing = json!({"id": "urn:example:agent", "title": "Agent"});
    thing.as_object_mut().unwrap().extend(affordances.as_object().unwrap().clone());
    Arc::new(Description::parse(&thing.to_string()).unwrap())
}

/// A call of the first form of an affordance.
fn call(description: &Arc<Description>, affordance: Affordance, request: Request) -> Call {
    Call {
        form: description.forms(&affordance).remove(0),
        description: description.clone(),
        request,
        variables: Map::new(),
        authorization: Vec::new(),
        headers: Vec::new(),
        trace: None,
        limits: Limits { deadline: None, idle: None, max_bytes: 1024 * 1024 },
        network: network(),
    }
}

fn invoke(input: Value) -> Request {
    Request::Invoke { input: Some(input), parts: Vec::new(), continuation: Continuation::default(), stream: true }
}

/// All events of a call, or its error.
async fn events(binding: &dyn Binding, call: Call) -> Result<Vec<Event>, Error> {
    assert!(binding.fit(&call.form, call.request.operation()).is_some(), "{} does not fit", binding.name());
    let mut exchange = binding.start(call).await?;
    let mut events = Vec::new();
    while let Some(event) = exchange.events.next().await {
        events.push(event?);
    }
    assert!(events.last().is_some_and(Event::is_last), "{events:?}");
    Ok(events)
}

/// The message that ends a call.
async fn answer(binding: &dyn Binding, call: Call) -> Result<Message, Error> {
    match events(binding, call).await?.pop() {
        Some(Event::Done(reply)) => Ok(reply.message),
        other => panic!("{other:?}"),
    }
}
