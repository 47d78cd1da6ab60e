//! Description of a server without a published card, by its answers to a connection and its list of tools.

use std::time::Duration;

use rmcp::{
    model::{PaginatedRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::{Value, json};

use super::{
    super::{Error, Network, Result},
    answer,
    client::Client,
    connect,
};
use crate::fetch;

/// Maximum number of tools read, and of pages that they come in.
const MOST_TOOLS: usize = 2000;
const MOST_PAGES: usize = 200;
/// Pause between two pages, so that a server with many gets no more requests than the guarded fetcher would make.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum size of an answer, and of all tools together, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Connects to an MCP server over streamable HTTP without credentials, and describes it as a Server Card:
/// `serverInfo`, `capabilities`, `instructions`, `transport`, and the `tools` from `tools/list`.
///
/// # Errors
/// [`Error::Refused`], [`Error::Unreachable`], [`Error::Status`], [`Error::AnswerTooLarge`]; [`Error::Protocol`] if
/// the URL is not an MCP server; [`Error::Interrupted`] if it doesn't answer within `limit`.
pub async fn describe_mcp_server(network: &Network, url: &str, limit: Duration) -> Result<Value> {
    tokio::time::timeout(limit, ask(network, url)).await.unwrap_or_else(|_| {
        let reason = format!("it did not answer within {} s", limit.as_secs());
        Err(Error::Interrupted { url: fetch::shown(url), reason })
    })
}

async fn ask(network: &Network, url: &str) -> Result<Value> {
    let (client, target) = network.http(url).await?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(target.as_str());
    config.max_json_response_size = MAX_BYTES;
    config.max_sse_event_size = MAX_BYTES;
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    let served = Client::of_results().serve_with_lifecycle(transport, lifecycle).await;
    let mut service = served.map_err(|error| answer::refusal(url, error))?;
    let info = service.peer().peer_info();
    let mut card = info.and_then(|info| serde_json::to_value(&*info).ok()).unwrap_or_default();
    let (mut tools, mut left, mut cursor) = (Vec::new(), MAX_BYTES, None);
    let has_tools = card["capabilities"].get("tools").is_some();
    for _ in 0..if has_tools { MOST_PAGES } else { 0 } {
        let request = PaginatedRequestParams::default().with_cursor(cursor);
        let page = service.peer().list_tools(Some(request)).await.map_err(|error| answer::failure(url, error))?;
        for tool in page.tools.iter().filter_map(|tool| serde_json::to_value(tool).ok()) {
            left = left.saturating_sub(tool.to_string().len());
            if left == 0 || tools.len() == MOST_TOOLS {
                return Err(Error::AnswerTooLarge { url: fetch::shown(url), limit: MAX_BYTES });
            }
            tools.push(tool);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    let _ = service.close_with_timeout(connect::CLOSING).await;
    card["tools"] = tools.into();
    card["transport"] = json!({"type": "streamable-http", "endpoint": url});
    Ok(card)
}
