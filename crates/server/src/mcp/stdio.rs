//! One client over standard input and output.

use std::{future::pending, sync::Arc};

use futures_util::FutureExt;
use rmcp::{service::ServerInitializeError, transport::stdio_pipes};

use super::{handler::Handler, registry::RegistryTools};
use crate::{Registry, access::Rules, registry::Since};

/// Serves a registry as an MCP server to the client at standard input and output, one message a line, until the input ends.
/// Reads and writes of the registry run on the calling task. Nothing else may write to standard output meanwhile.
///
/// # Errors
/// The reason why the client and the server found no common way to begin.
pub async fn serve_stdio(registry: &Registry, rules: Rules) -> Result<(), String> {
    let tools = RegistryTools {
        registry: registry.clone(),
        rules,
        conversations: None,
        since: Since::Now,
        stopped: Arc::new(|| pending().boxed()),
        blocking: |work| async move { work() }.boxed(),
        explain: |error| error.to_string(),
    };
    match rmcp::serve_server(Handler(Arc::new(tools)), stdio_pipes()).await {
        Ok(service) => drop(service.waiting().await),
        // The input has ended before the first request.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(error.to_string()),
    }
    Ok(())
}
