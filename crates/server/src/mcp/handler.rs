//! Requests of the protocol, answered by [`Tools`].

use std::{collections::BTreeSet, pin::pin, sync::Arc};

use futures_util::{
    StreamExt,
    future::{Either, select},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        self, CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents, ResourceTemplate,
        ServerCapabilities, ServerConfig, SubscriptionFilter, ToolAnnotations,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde_json::json;

use super::{
    foreign_text::excerpt,
    resources::{Resources, Template},
    tools::{Tool, Tools},
};

/// Time for which a list of tools may be cached, in milliseconds.
const LIST_TTL: u64 = 300_000;

/// Methods that are served, and have params.
const METHODS: [&str; 5] = ["initialize", "resources/read", "subscriptions/listen", "tools/call", "tools/list"];
/// Maximum number of characters of the message of a failed tool.
const LONGEST_FAILURE: usize = 2000;
/// Maximum number of resources of a subscription.
pub(super) const MAX_SUBSCRIBED: usize = 100;

/// Answers requests; there is one for each request.
pub(super) struct Handler<T>(pub(super) Arc<T>);

impl<T: Tools> ServerHandler for Handler<T> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = match self.0.resources() {
            Some(_) => {
                ServerCapabilities::builder().enable_tools().enable_resources().enable_resources_subscribe().build()
            }
            None => ServerCapabilities::builder().enable_tools().build(),
        };
        let server = Implementation::new(self.0.name(), env!("CARGO_PKG_VERSION"));
        let config = ServerConfig::new(capabilities).with_server_info(server);
        match self.0.instructions() {
            Some(instructions) => config.with_instructions(instructions),
            None => config,
        }
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // `resources/subscribe` needs a session.
        if let Some(resources) = &mut result.capabilities.resources {
            resources.subscribe = None;
        }
        Ok(result)
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        check_first_page(page)?;
        Ok(ListResourcesResult::default())
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_first_page(page)?;
        let template = |resources: &dyn Resources| {
            let Template { uri, name, title, media_type } = resources.template();
            ResourceTemplate::new(uri, name).with_title(title).with_mime_type(media_type)
        };
        let templates = self.0.resources().map(template).into_iter().collect();
        let mut listed = ListResourceTemplatesResult::with_all_items(templates);
        (listed.ttl_ms, listed.cache_scope) = (Some(LIST_TTL), Some(CacheScope::Public));
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let unknown = || {
            let uri = excerpt(&request.uri, LONGEST_FAILURE);
            ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})))
        };
        let resources = self.0.resources().ok_or_else(unknown)?;
        let found = resources.read(&request.uri).await.map_err(|reason| ErrorData::internal_error(reason, None))?;
        let text = found.ok_or_else(unknown)?;
        let contents = ResourceContents::text(text, &request.uri).with_mime_type(resources.template().media_type);
        let mut result = ReadResourceResult::new(vec![contents]);
        (result.ttl_ms, result.cache_scope) = (Some(0), Some(self.cache_scope()));
        Ok(result.into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.0.resources()?;
        // Whether the caller sees them is not told.
        let uris = requested.resource_subscriptions.iter().flatten().take(MAX_SUBSCRIBED).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(uris).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let uris: BTreeSet<String> = context.accepted().resource_subscriptions.iter().flatten().cloned().collect();
        let Some(resources) = self.0.resources() else { return Ok(()) };
        let mut changes = resources.changes(&uris.into_iter().collect::<Vec<_>>());
        loop {
            let cancelled = pin!(context.cancelled());
            let Either::Right((Some(uri), _)) = select(cancelled, changes.next()).await else { return Ok(()) };
            if context.sink().notify_resource_updated(uri).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_first_page(page)?;
        let mut listed = ListToolsResult::with_all_items(self.0.list().into_iter().map(described).collect());
        listed.ttl_ms = Some(LIST_TTL);
        listed.cache_scope = Some(self.cache_scope());
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.0.has(&request.name) {
            return Err(ErrorData::invalid_params("unknown tool; tools/list lists the tools", None));
        }
        // A mistake of the model's is an error of the tool, which the model reads, not one of the protocol.
        let call = self.0.call(&request.name, request.arguments.unwrap_or_default());
        let Either::Right((outcome, _)) = select(pin!(context.ct.cancelled()), call).await else {
            return Err(ErrorData::internal_error("the call was canceled", None));
        };
        let result = match outcome {
            Ok(value) => CallToolResult::structured(value),
            // Agents and callers may have a say in it.
            Err(reason) => CallToolResult::error(vec![ContentBlock::text(excerpt(&reason, LONGEST_FAILURE))]),
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
            true => ErrorData::invalid_params(format!("the params don't match the method {}", request.method), None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None),
        })
    }
}

impl<T: Tools> Handler<T> {
    fn cache_scope(&self) -> CacheScope {
        if self.0.is_private() { CacheScope::Private } else { CacheScope::Public }
    }
}

/// Fails for a cursor: every list has a single page, so there are no cursors.
fn check_first_page(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match page.and_then(|page| page.cursor) {
        Some(_) => {
            Err(ErrorData::invalid_params("unknown cursor; the list has a single page, so omit the cursor", None))
        }
        None => Ok(()),
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
