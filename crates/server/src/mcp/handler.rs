//! Requests of the protocol, answered by [`Tools`].

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        self, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
    },
    service::RequestContext,
};

use super::tools::{Tool, Tools};

/// Answers requests; there is one for each request.
pub(super) struct Handler<T>(pub(super) Arc<T>);

impl<T: Tools> ServerHandler for Handler<T> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let server = Implementation::new(self.0.name(), env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(server)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.list().into_iter().map(described).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // A mistake of the model's is an error of the tool, which the model reads, not one of the protocol.
        let result = match self.0.call(&request.name, request.arguments.unwrap_or_default()).await {
            Ok(value) => CallToolResult::structured(value),
            Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
        };
        Ok(result.into())
    }
}

fn described(tool: Tool) -> model::Tool {
    model::Tool::new(tool.name, tool.description, Arc::new(tool.input))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output))
        .with_annotations(ToolAnnotations::new().read_only(true))
}
