//! Tools of MCP servers: over streamable HTTP, over HTTP with Server-Sent Events (`mcp:transport` is `sse`), or in a program
//! that is started and spoken to over stdio.
//!
//! A form has the subprotocol `mcp` and names its tool by `mcp:tool`; one without a tool takes `{name, arguments}`. Each
//! call has a connection of its own, and cancelling it notifies the server. Progress of the server is [`Event::Status`].
//!
//! A description never says which program is started. Its form has a target such as `stdio:timetable`, and only a program
//! that the caller gave that name ([`Mcp::program`]) is run for it.
//!
//! | pattern of LMOS | shown by (`tests/bindings/mcp.rs`) |
//! |---|---|
//! | request-reply | `tools_are_called_over_http`, `tools_are_called_over_server_sent_events`, `tools_are_called_in_a_program_that_the_caller_allows` |
//! | one request, several responses | progress before the result, in the same tests |
//! | notifications, publish-subscribe | none: tools have no topics |
//! | request and response streams | none: a tool takes one input and gives one result |

mod answer;
mod connect;
mod describe;
mod notify;
mod program;
mod sse;

use std::{collections::BTreeMap, sync::Arc};

use futures_util::stream;
use rmcp::{
    model::{CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, ServerResult},
    service::{PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError},
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use self::{answer::NAME, notify::Notified, sse::Ending};
pub use self::{describe::describe_mcp_server, program::Program};
use super::{Binding, Call, Control, Error, Event, Exchange, Fit, Form, Operation, Pending, Request, Result};
use crate::td::internal::McpTransport;

/// Calls tools of MCP servers.
///
/// ```
/// use agentdex_consumer::{Mcp, Program};
///
/// // For forms with the target `stdio:timetable`:
/// let mcp = Mcp::default().program("timetable", Program::new("python3").argument("timetable.py"));
/// # drop(mcp);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Mcp {
    programs: BTreeMap<String, Program>,
}

impl Mcp {
    /// Allows a program to be started for forms with the target `stdio:NAME`.
    pub fn program(mut self, name: impl Into<String>, program: Program) -> Mcp {
        self.programs.insert(name.into(), program);
        self
    }

    fn program_of(&self, form: &Form) -> Option<&Program> {
        self.programs.get(form.href.strip_prefix("stdio:")?)
    }
}

impl Binding for Mcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit> {
        let is_reached = match form.scheme().as_str() {
            "http" | "https" => McpTransport::of_form(&form.members).is_some(),
            "stdio" => self.program_of(form).is_some(),
            _ => false,
        };
        let calls_tools = form.text("mcp:method").is_none_or(|method| method == "tools/call");
        let is_ours = form.subprotocol() == Some(NAME) && operation == Operation::InvokeAction;
        (is_ours && is_reached && calls_tools).then_some(Fit {
            rank: 30,
            takes_messages: false,
            continues: false,
            takes_history: false,
            streams: true,
        })
    }

    fn start(&self, call: Call) -> Pending<'_, Exchange> {
        Box::pin(async move {
            let params = params(&call)?;
            let target = call.form.href.clone();
            let (sender, notified) = mpsc::channel(notify::BACKLOG);
            let ending = Ending::default();
            let service = match (self.program_of(&call.form), McpTransport::of_form(&call.form.members)) {
                (Some(program), _) => connect::to_program(program, &target, sender).await?,
                (None, Some(McpTransport::Sse)) => connect::over_sse(&call, sender, &ending).await?,
                (None, _) => connect::over_http(&call, sender).await?,
            };
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
            let sent = service.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await;
            let handle = sent.map_err(|error| answer::failure(&target, error))?;
            let cancelled = Arc::new(Notify::new());
            let running = Running {
                handle: Some(handle),
                service,
                notified,
                cancelled: cancelled.clone(),
                ending,
                output: only_output(&call).map(str::to_owned),
                target,
                left: Vec::new(),
            };
            let events = stream::try_unfold(running, |mut running| async move {
                Ok(running.next().await?.map(|event| (event, running)))
            });
            Ok(Exchange::new(events).with_control(Cancel(cancelled)))
        })
    }
}

/// The tool and its arguments.
fn params(call: &Call) -> Result<CallToolRequestParams> {
    let Request::Invoke { input, .. } = &call.request else {
        return Err(Error::Unsupported { what: "anything but calling a tool of MCP".into() });
    };
    let (name, arguments) = match call.form.text("mcp:tool") {
        Some(tool) => (tool.to_owned(), input.clone()),
        None => {
            let name = input.as_ref().and_then(|input| input.get("name")?.as_str());
            let name = name.ok_or_else(|| Error::NoForm {
                id: call.description.id().to_owned(),
                reason: "its form names no tool (`mcp:tool`), and neither does the input (`name`)".into(),
            })?;
            (name.to_owned(), input.as_ref().and_then(|input| input.get("arguments")).cloned())
        }
    };
    let params = CallToolRequestParams::new(name);
    Ok(match arguments {
        None | Some(Value::Null) => params,
        Some(Value::Object(arguments)) => params.with_arguments(arguments),
        // Tools take objects: a value that is none is what the tool's one argument would be called by convention.
        Some(value) => params.with_arguments(JsonObject::from_iter([("input".to_owned(), value)])),
    })
}

/// The name of the only value that a tool has by its description.
fn only_output(call: &Call) -> Option<&str> {
    let action = call.description.find(&call.form.affordance)?;
    let mut names = action.get("output")?.get("properties")?.as_object()?.keys();
    names.next().filter(|_| names.next().is_none()).map(String::as_str)
}

/// A call under way. Dropping it ends the connection.
struct Running {
    handle: Option<RequestHandle<RoleClient>>,
    service: RunningService<RoleClient, Notified>,
    notified: mpsc::Receiver<Event>,
    cancelled: Arc<Notify>,
    ending: Ending,
    output: Option<String>,
    target: String,
    /// The events of the answer that are still to be delivered, the next one last.
    left: Vec<Event>,
}

impl Running {
    async fn next(&mut self) -> Result<Option<Event>> {
        if let Some(event) = self.left.pop() {
            return Ok(Some(event));
        }
        let Some(handle) = &mut self.handle else { return Ok(None) };
        let answered = tokio::select! {
            biased;
            Some(event) = self.notified.recv() => return Ok(Some(event)),
            answered = &mut handle.rx => answered.unwrap_or(Err(ServiceError::TransportClosed)),
            () = self.cancelled.notified() => {
                if let Some(handle) = self.handle.take() {
                    // The call is over for its caller, whether the server is notified or not.
                    let _ = handle.cancel(Some("the caller cancelled it".to_owned())).await;
                }
                return Err(Error::Cancelled);
            }
        };
        self.handle = None;
        // A session that is left open costs the server memory; an answer is one without it, too.
        let _ = self.service.close_with_timeout(connect::CLOSING).await;
        let reply = match answered {
            Ok(ServerResult::CallToolResult(result)) => answer::reply(result, self.output.as_deref())?,
            Ok(_) => {
                let reason = "tools/call is answered with another result".to_owned();
                return Err(Error::Protocol { url: self.target.clone(), binding: NAME, reason });
            }
            Err(error) => return Err(self.ending.take().unwrap_or_else(|| answer::failure(&self.target, error))),
        };
        self.left = reply.events();
        self.left.reverse();
        Ok(self.left.pop())
    }
}

/// Cancels a call.
#[derive(Debug)]
struct Cancel(Arc<Notify>);

impl Control for Cancel {
    fn cancel(&self) -> Pending<'_, ()> {
        self.0.notify_one();
        Box::pin(async { Ok(()) })
    }
}
