//! Requests of the protocol, answered by [`Tools`].

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        self, CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
        ServerConfig, ToolAnnotations,
    },
    service::RequestContext,
};

use super::tools::{Tool, Tools};

/// Time for which a list of tools may be cached, in milliseconds.
const LIST_TTL: u64 = 300_000;

/// Methods that are served, and have params.
const METHODS: [&str; 3] = ["initialize", "tools/call", "tools/list"];

/// Answers requests; there is one for each request.
pub(super) struct Handler<T>(pub(super) Arc<T>);

impl<T: Tools> ServerHandler for Handler<T> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let server = Implementation::new(self.0.name(), env!("CARGO_PKG_VERSION"));
        let config = ServerConfig::new(capabilities).with_server_info(server);
        match self.0.instructions() {
            Some(instructions) => config.with_instructions(instructions),
            None => config,
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = ListToolsResult::with_all_items(self.0.list().into_iter().map(described).collect());
        listed.ttl_ms = Some(LIST_TTL);
        listed.cache_scope = Some(if self.0.is_private() { CacheScope::Private } else { CacheScope::Public });
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.0.has(&request.name) {
            return Err(ErrorData::invalid_params("unknown tool; tools/list has those that there are", None));
        }
        // A mistake of the model's is an error of the tool, which the model reads, not one of the protocol.
        let result = match self.0.call(&request.name, request.arguments.unwrap_or_default()).await {
            Ok(value) => CallToolResult::structured(value),
            Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
        };
        Ok(result.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // rmcp reads a known method with malformed params as a custom one.
        Err(match METHODS.contains(&request.method.as_str()) {
            true => ErrorData::invalid_params(format!("the params are not those of {}", request.method), None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None),
        })
    }
}

fn described(tool: Tool) -> model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.hints.read_only)
        .destructive(tool.hints.destructive)
        .idempotent(tool.hints.idempotent)
        .open_world(tool.hints.open_world);
    model::Tool::new(tool.name, tool.description, Arc::new(tool.input))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output))
        .with_annotations(annotations)
}
