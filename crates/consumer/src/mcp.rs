//! Tools of MCP servers: over streamable HTTP, over HTTP with Server-Sent Events (`mcp:transport` is `sse`), or in a program
//! that is started and spoken to over stdio.
//!
//! A form has the subprotocol `mcp` and names its tool by `mcp:tool`; one without a tool takes `{name, arguments}`. Each
//! call has a connection of its own, and cancelling it notifies the server. Progress of the server is [`Event::Status`].
//!
//! A description never says which program is started. Its form has a target such as `stdio:timetable`, and only a program
//! that the caller gave that name ([`Mcp::program`]) is run for it.
//!
//! # Questions
//! A tool may ask its user (`elicitation`). The call ends with [`Event::InputRequired`](super::Event::InputRequired) then, whose
//! message has the text of the question and, as data, its schema (`{"requestedSchema": …}`) or the URL that the user should open
//! (`{"url": …}`). The next message of the conversation is the answer:
//! - Data are the content. They have to satisfy the schema.
//! - A text is the value of the schema's only property, or of the only required one, in the type of the property: `3`, `yes`, a choice
//!   by its title. For several properties, it is a JSON object.
//! - `{"action": "decline"}` declines the question and `{"action": "cancel"}` dismisses it, as data or as text. Where nothing is
//!   to be filled in (a URL, a schema without properties), `yes`, `no` and `cancel` do.
//!
//! In the protocol of 2026, the continuation of the conversation has all that the server needs. In those with sessions the call waits
//! within this process: for ten minutes, and 64 calls of a consumer at most. [`Consumer::close`](super::Consumer::close) cancels them.
//! If the call no longer waits, or the answer comes from another process, **the tool is called again and runs up to its question a
//! second time**; questions with the same message get the same answers. This also happens where a server speaks the protocol of 2026
//! and its tool asks in the way of the older ones.
//!
//! A call may ask 32 questions of 64 KiB each; several at once are asked one after another. Models (`sampling`) and folders (`roots`)
//! are not offered.
//!
//! | pattern of LMOS | shown by (`tests/bindings/mcp.rs`, `mcp_questions.rs`) |
//! |---|---|
//! | request-reply | `tools_are_called_over_http`, `tools_are_called_over_server_sent_events`, `tools_are_called_in_a_program_that_the_caller_allows` |
//! | one request, several responses | progress before the result, in the same tests; questions before it: `questions_are_answered_over_http` |
//! | notifications, publish-subscribe | none: tools have no topics |
//! | request and response streams | none: a tool takes one input and gives one result |

mod answer;
mod asking;
mod client;
mod connect;
mod connector;
mod describe;
mod elicitation;
mod held_call;
mod open;
mod program;
mod request;
mod running;
mod sse;

use rmcp::model::ElicitationAction;

use self::{answer::NAME, asking::Asking, connector::Connector, running::Running};
pub use self::{describe::describe_mcp_server, program::Program};
use super::{Binding, Call, Error, Exchange, Fit, Form, Operation, Pending, Request, Result, State, input};
use crate::td::internal::McpTransport;

/// Binding for tools of MCP servers.
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
    connector: Connector,
}

impl Mcp {
    /// Allows starting a program for forms with the target `stdio:NAME`.
    pub fn program(mut self, name: impl Into<String>, program: Program) -> Mcp {
        self.connector.programs.insert(name.into(), program);
        self
    }
}

impl Binding for Mcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit> {
        let is_reached = match form.scheme().as_str() {
            "http" | "https" => McpTransport::of_form(&form.members).is_some(),
            "stdio" => self.connector.program_of(form).is_some(),
            _ => false,
        };
        let calls_tools = form.text("mcp:method").is_none_or(|method| method == "tools/call");
        let is_ours = form.subprotocol() == Some(NAME) && operation == Operation::InvokeAction;
        let fit = Fit { rank: 30, continues: true, streams: true, ..Fit::default() };
        (is_ours && is_reached && calls_tools).then_some(fit)
    }

    fn start(&self, call: Call) -> Pending<'_, Exchange> {
        Box::pin(async move {
            match Asking::of(&call)? {
                Some(asking) => self.go_on(call, asking).await,
                None => {
                    let asking = Asking::new(call.request.data().cloned());
                    let open = self.connector.open(&call, &asking).await?;
                    Ok(Running::new(self.connector.clone(), call, asking, open).into_exchange())
                }
            }
        })
    }

    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async {
            self.connector.held.cancel().await;
            Ok(())
        })
    }
}

impl Mcp {
    /// Goes on with a call whose question the input answers: with the one that is held, else by a repeated one.
    async fn go_on(&self, mut call: Call, mut asking: Asking) -> Result<Exchange> {
        if matches!(&call.request, Request::Invoke { parts, .. } if !parts.is_empty()) {
            return Err(Error::Unsupported { what: "binary content as the answer to a tool of MCP".into() });
        }
        let answer = call.request.data().cloned();
        let result = asking.take_answer(answer.as_ref(), &call.form)?;
        if asking.requires_urls && result.action != ElicitationAction::Accept {
            let message = "the user did not agree to open a URL of the tool".to_owned();
            return Err(Error::Failed { state: State::Cancelled, message, data: None });
        }
        if asking.has_questions() {
            return Ok(Exchange::reply(asking.to_reply()));
        }
        asking.requires_urls = false;
        // The continuation was stored elsewhere: its input is checked as that of any other call.
        let input = input::of_data(&call.description, &call.form, asking.input.clone(), call.variables.clone())?;
        if let Request::Invoke { input: answer, .. } = &mut call.request {
            *answer = input.data;
        }
        call.variables = input.variables;
        if let Some(held) = asking.held.take().and_then(|id| self.connector.held.take(&id, &call.form.href)) {
            // A server that doesn't wait for it any more goes on by itself.
            let _ = held.answer.send(result);
            return Ok(Running::of_held(self.connector.clone(), call, asking, held.open).into_exchange());
        }
        let open = self.connector.open(&call, &asking).await?;
        Ok(Running::new(self.connector.clone(), call, asking, open).into_exchange())
    }
}
