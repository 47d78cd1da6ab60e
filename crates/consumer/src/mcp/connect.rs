//! Connections to servers: over HTTP, or to a program.

use std::{collections::HashMap, process::Stdio, time::Duration};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    model::ProtocolVersion,
    service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService},
    transport::{
        StreamableHttpClientTransport, TokioChildProcess, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;
use tokio::{process::Command, sync::mpsc};

use super::{
    super::{
        Authorization, Call, Error, Event, Place, Result,
        transport::{cookies, parts},
    },
    answer,
    notify::Notified,
    program::Program,
};

/// Maximum time for closing a connection.
pub(super) const CLOSING: Duration = Duration::from_secs(2);

type Service = RunningService<RoleClient, Notified>;

/// Connects to the server that a form leads to.
pub(super) async fn over_http(call: &Call, events: mpsc::Sender<Event>) -> Result<Service> {
    let target = &call.form.href;
    let (client, mut url) = call.network.http(target).await?;
    let mut headers = HashMap::new();
    let mut add = |name: &str, value: &str, is_secret: bool| {
        let (name, value) = (HeaderName::try_from(name), HeaderValue::try_from(value));
        // What can't be a header isn't sent.
        if let (Ok(name), Ok(mut value)) = (name, value) {
            value.set_sensitive(is_secret);
            headers.insert(name, value);
        }
    };
    for (name, value) in declared_headers(call) {
        add(&name, &value, false);
    }
    for (name, value) in &call.headers {
        add(name, value, false);
    }
    if let Some(trace) = &call.trace {
        add("traceparent", &trace.parent, false);
        trace.state.iter().for_each(|state| add("tracestate", state, false));
    }
    for Authorization { scheme, grant } in &call.authorization {
        let (text, place) = parts(grant);
        match place {
            Place::Header(name) => add(name, &text, true),
            Place::Cookie(_) => {}
            Place::Query(name) => drop(url.query_pairs_mut().append_pair(name, &text)),
            _ => {
                let reason = "MCP has no place for it but headers, cookies and the query".to_owned();
                return Err(Error::Setting { setting: scheme.clone(), reason });
            }
        }
    }
    if let Some(cookies) = cookies(&call.authorization) {
        add("cookie", &cookies, true);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    config.custom_headers = headers;
    config.max_json_response_size = call.limits.max_bytes;
    config.max_sse_event_size = call.limits.max_bytes;
    let transport = StreamableHttpClientTransport::with_client(client, config);
    // Servers of the generation without sessions know no `initialize`, older ones no `server/discover`.
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    let served = Notified::new(events).serve_with_lifecycle(transport, lifecycle).await;
    served.map_err(|error| answer::refusal(target, error))
}

/// Headers that the form declares (`htv:headers`), with the values of their variables; one without a value is not sent.
fn declared_headers(call: &Call) -> Vec<(String, String)> {
    let declared = call.form.members.get("htv:headers").and_then(Value::as_array).into_iter().flatten();
    let header = |declared: &Value| {
        let name = declared.get("htv:fieldName")?.as_str()?;
        let mut value = declared.get("htv:fieldValue")?.as_str()?.to_owned();
        for (variable, given) in &call.variables {
            let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            value = value.replace(&format!("{{{variable}}}"), &text);
        }
        (!value.contains('{')).then(|| (name.to_owned(), value))
    };
    declared.filter_map(header).collect()
}

/// Starts a program and connects to it. It ends with the connection.
pub(super) async fn to_program(program: &Program, target: &str, events: mpsc::Sender<Event>) -> Result<Service> {
    let mut command = Command::new(&program.command);
    command.args(&program.arguments).envs(program.environment.iter().map(|(name, value)| (name, value)));
    command.kill_on_drop(true);
    let spawned = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
    let (transport, _) = spawned.map_err(|error| Error::Unreachable {
        url: target.to_owned(),
        reason: format!("{} can't be started: {error}", program.command.to_string_lossy()),
        source: None,
    })?;
    let served = Notified::new(events).serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await;
    served.map_err(|error| answer::refusal(target, error))
}
