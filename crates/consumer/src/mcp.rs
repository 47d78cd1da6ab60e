//! Tools of MCP servers: over streamable HTTP, over HTTP with Server-Sent Events (`mcp:transport` is `sse`), or over
//! stdio with a program started for the call.
//!
//! The form has the subprotocol `mcp` and names its tool in `mcp:tool`; without a tool, the input is `{name,
//! arguments}`. Each call has its own connection, and canceling it notifies the server. Progress reported by the
//! server becomes [`Event::Status`].
//!
//! A description can't choose the program to start. The form has a target such as `stdio:timetable`, which refers to
//! a program that the caller has allowed under that name ([`Mcp::program`]).
//!
//! # Questions
//! A tool may ask its user a question (`elicitation`). The call then ends with
//! [`Event::InputRequired`](super::Event::InputRequired). Its message contains the text of the question and, as data,
//! its schema (`{"requestedSchema": …}`) or a URL to be opened by the user (`{"url": …}`). The next message of the
//! conversation is the answer:
//! - Data is the content of the answer, and must satisfy the schema.
//! - A text is the value of the schema's only property, or of its only required property, in the type of that
//!   property: `3`, `yes`, or a choice by its title. For several properties, the text must be a JSON object.
//! - `{"action": "decline"}` declines the question and `{"action": "cancel"}` dismisses it, as data or as text. If
//!   there is nothing to fill in (a URL, or a schema without properties), `yes`, `no`, and `cancel` are accepted.
//!
//! In the protocol of 2026, the continuation of the conversation contains everything required by the server. In
//! protocols with sessions the call waits in this process for up to ten minutes, with at most 64 waiting calls per
//! consumer; [`Consumer::close`](super::Consumer::close) cancels them. If the call no longer waits, or the answer is
//! sent by another process, **the tool is called again and runs up to its question a second time**; questions with
//! the same message receive the same answers. The same happens if the server speaks the protocol of 2026 but its tool
//! asks in the way of older protocols.
//!
//! A call may ask up to 32 questions of 64 KiB each; simultaneous questions are asked one by one. Models (`sampling`)
//! and folders (`roots`) are not offered.
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
    /// Continues a call whose question is answered by the input: the waiting call if there is one, otherwise a
    /// repeated call.
    async fn go_on(&self, mut call: Call, mut asking: Asking) -> Result<Exchange> {
        if matches!(&call.request, Request::Invoke { parts, .. } if !parts.is_empty()) {
            return Err(Error::Unsupported { what: "binary content as the answer to an MCP tool".into() });
        }
        let answer = call.request.data().cloned();
        let result = asking.take_answer(answer.as_ref(), &call.form)?;
        if asking.requires_urls && result.action != ElicitationAction::Accept {
            let message = "the user did not agree to open the URL requested by the tool".to_owned();
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
