//! Connections to servers: over HTTP, or to a program.

use std::{process::Stdio, time::Duration};

use reqwest::header::HeaderMap;
use rmcp::{
    model::ProtocolVersion,
    service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService},
    transport::{
        StreamableHttpClientTransport, TokioChildProcess, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::process::Command;

use super::{
    super::{
        Call, Error, Place, Result,
        credential::parts,
        headers::{self, check_no_body, declared_headers},
    },
    answer,
    client::Client,
    program::Program,
    sse::{Ending, SseTransport},
};

/// Maximum time for closing a connection.
pub(super) const CLOSING: Duration = Duration::from_secs(2);

pub(super) type Service = RunningService<RoleClient, Client>;

/// Connects to the server of a form. With `with_session`, uses the protocol with sessions.
pub(super) async fn over_http(call: &Call, own: Client, with_session: bool) -> Result<Service> {
    check_no_body(&call.authorization, "MCP")?;
    let target = &call.form.href;
    let (client, mut url) = call.network.http(target).await?;
    let mut sent = HeaderMap::new();
    for (name, value) in declared_headers(call)?.iter().chain(&call.headers) {
        headers::add(&mut sent, name, value)?;
    }
    headers::add_credentials(&mut sent, &call.authorization)?;
    call.trace.iter().try_for_each(|trace| headers::add_trace(&mut sent, trace))?;
    for authorization in &call.authorization {
        if let (text, Place::Query(name)) = parts(&authorization.grant) {
            url.query_pairs_mut().append_pair(name, &text);
        }
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    config.custom_headers = sent.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    config.max_json_response_size = call.limits.max_bytes;
    config.max_sse_event_size = call.limits.max_bytes;
    let transport = StreamableHttpClientTransport::with_client(client, config);
    // Servers of the generation without sessions know no `initialize`, older ones no `server/discover`.
    let lifecycle = match with_session {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
    };
    let served = own.serve_with_lifecycle(transport, lifecycle).await;
    served.map_err(|error| answer::refusal(target, error))
}

/// Opens the stream of a server that the form leads to.
pub(super) async fn over_sse(call: &Call, own: Client, ending: &Ending) -> Result<Service> {
    check_no_body(&call.authorization, "MCP")?;
    let transport = SseTransport::connect(call, ending.clone()).await?;
    let served = own.serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await;
    served.map_err(|error| ending.take().unwrap_or_else(|| answer::refusal(&call.form.href, error)))
}

/// Starts a program and connects to it. It ends with the connection.
pub(super) async fn to_program(program: &Program, target: &str, own: Client) -> Result<Service> {
    let mut command = Command::new(&program.command);
    command.args(&program.arguments).envs(program.environment.iter().map(|(name, value)| (name, value)));
    command.kill_on_drop(true);
    let spawned = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
    let (transport, _) = spawned.map_err(|error| Error::Unreachable {
        url: target.to_owned(),
        reason: format!("{} can't be started: {error}", program.command.to_string_lossy()),
        source: None,
    })?;
    let served = own.serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await;
    served.map_err(|error| answer::refusal(target, error))
}
