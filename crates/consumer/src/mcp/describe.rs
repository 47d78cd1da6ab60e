//! Description of an MCP server without a published card, based on its initialization result and its list of tools.

use std::time::Duration;

use rmcp::{
    model::{PaginatedRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::{Value, json};

use super::{
    super::{Error, Network, Result, transport::Transport},
    answer,
    client::Client,
    connect::{self, Service},
    sse::{Ending, SseTransport},
};
use crate::{fetch, td::internal::McpTransport};

/// Maximum number of tools read, and of pages that they come in.
const MOST_TOOLS: usize = 2000;
const MOST_PAGES: usize = 200;
/// Pause between two pages, so that a server with many gets no more requests than the guarded fetcher would make.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum size of an answer, and of all tools together, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Connects to an MCP server without credentials, over streamable HTTP or else over Server-Sent Events. Returns a
/// Server Card: `serverInfo`, `capabilities`, `instructions`, `transport`, and the `tools` from `tools/list`.
///
/// # Errors
/// [`Error::Refused`], [`Error::Unreachable`], [`Error::Status`], [`Error::AnswerTooLarge`]; [`Error::Protocol`] if the
/// URL is not an MCP server; [`Error::Interrupted`] if reading the tools takes longer than `limit`.
pub async fn describe_mcp_server(network: &Network, url: &str, limit: Duration) -> Result<Value> {
    tokio::time::timeout(limit, ask(network, url)).await.unwrap_or_else(|_| {
        let reason = format!("reading the tools of the server took longer than {} s", limit.as_secs());
        Err(Error::Interrupted { url: fetch::shown(url), reason })
    })
}

async fn ask(network: &Network, url: &str) -> Result<Value> {
    let (mut service, transport) = match over_http(network, url).await {
        Ok(service) => (service, McpTransport::StreamableHttp),
        // Servers of 2024-11-05 refuse the message (MCP 2025-11-25, Transports, Backwards Compatibility).
        Err(refused @ (Error::Status { status: 400 | 404 | 405, .. } | Error::Protocol { .. })) => {
            match over_sse(network, url).await {
                Ok(service) => (service, McpTransport::Sse),
                Err(_) => return Err(refused),
            }
        }
        Err(error) => return Err(error),
    };
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
    card["transport"] = json!({"type": transport.name(), "endpoint": url});
    Ok(card)
}

async fn over_http(network: &Network, url: &str) -> Result<Service> {
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
    served.map_err(|error| answer::refusal(url, error))
}

async fn over_sse(network: &Network, url: &str) -> Result<Service> {
    let transport = SseTransport::open(Transport::plain(network, MAX_BYTES), url, Ending::default()).await?;
    let served = Client::of_results().serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await;
    served.map_err(|error| answer::refusal(url, error))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::{TcpListener, TcpStream},
        sync::{Arc, Mutex},
        thread,
    };

    use super::*;
    use crate::fetch::{AllowList, Options};

    /// Answers a request of a server whose stream is at `/sse`.
    fn serve(mut connection: TcpStream, stream: &Mutex<Option<TcpStream>>) {
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        reader.read_line(&mut head).unwrap();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() <= 2 {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut answer = |status: &str| {
            write!(connection, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        };
        match head.split(" HTTP").next().unwrap() {
            "GET /sse" => {
                let event = "event: endpoint\ndata: /messages\n\n";
                write!(connection, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{event}").unwrap();
                *stream.lock().unwrap() = Some(connection);
            }
            "POST /messages" => {
                answer("202 Accepted");
                let request: Value = serde_json::from_slice(&body).unwrap();
                let result = match request["method"].as_str().unwrap() {
                    "initialize" => json!({
                        "protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "k", "version": "1"},
                    }),
                    "tools/list" => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
                    _ => return,
                };
                let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
                write!(stream.lock().unwrap().as_mut().unwrap(), "event: message\ndata: {message}\n\n").unwrap();
            }
            "POST /sse" => answer("405 Method Not Allowed"),
            _ => answer("404 Not Found"),
        }
    }

    #[tokio::test]
    async fn server_with_a_stream_of_events_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stream = Arc::new(Mutex::new(None));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let stream = stream.clone();
                thread::spawn(move || serve(connection, &stream));
            }
        });
        let allowed = AllowList::parse([address.as_str()]).unwrap();
        let network = Network::new(Options::default().allowed(allowed)).unwrap();
        let limit = Duration::from_secs(30);
        let url = format!("http://{address}/sse");
        let card = describe_mcp_server(&network, &url, limit).await.unwrap();
        assert_eq!(card["transport"], json!({"type": "sse", "endpoint": url}));
        assert_eq!((&card["serverInfo"]["name"], &card["tools"][0]["name"]), (&json!("k"), &json!("t")));
        describe_mcp_server(&network, &format!("http://{address}/other"), limit).await.expect_err("no server");
    }
}
