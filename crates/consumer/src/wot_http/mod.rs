//! Plain HTTP as described by the forms of a Thing Description (WoT Binding Templates for HTTP).
//!
//! | operation | default method | also |
//! |---|---|---|
//! | invokeaction | POST | answers: JSON, text, binary content, a stream (`text/event-stream`, JSON lines), an action status with a place to ask |
//! | queryaction, cancelaction | GET, DELETE | of the form, or of the place that the action status gave |
//! | readproperty, writeproperty | GET, PUT | |
//! | subscribeevent, observeproperty | GET | `sse`: reconnects after the last event; `longpoll` |
//!
//! `htv:methodName` and `htv:headers` of a form are respected, as are additions by the converter of Agent Spec for
//! request parts generated from inputs (`agentspec:request`, in earlier versions `agentspec:headers`).

mod answer;
mod request;
mod subscribe;

use super::{
    Binding, Call, Error, Exchange, Fit, Form, Operation, Pending, Request, Result, request_template::RequestTemplate,
    transport::Transport,
};

/// Binding for plain HTTP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Http;

impl Binding for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    fn fit(&self, form: &Form, operation: Operation) -> Option<Fit> {
        let is_http = matches!(form.scheme().as_str(), "http" | "https");
        let is_known = matches!(form.subprotocol(), None | Some("sse" | "longpoll"));
        // Where an action goes on, its status is a resource of its own.
        let follows_invocation = matches!(operation, Operation::QueryAction | Operation::CancelAction)
            && form.has_operation(Operation::InvokeAction);
        // Of forms that differ in nothing else, one of JSON or text is read by more than its agent.
        let is_foreign = matches!(form.content_type(), "application/cbor" | "application/exi" | "application/xml")
            && RequestTemplate::of(form).is_none();
        let rank = match (form.has_operation(operation), follows_invocation) {
            _ if !is_http || !is_known || is_foreign => return None,
            (true, _) => 10,
            (false, true) => 9,
            (false, false) => return None,
        };
        let is_possible = matches!(
            operation,
            Operation::InvokeAction
                | Operation::QueryAction
                | Operation::CancelAction
                | Operation::ReadProperty
                | Operation::WriteProperty
                | Operation::ObserveProperty
                | Operation::SubscribeEvent
        );
        is_possible.then_some(Fit { rank, streams: true, ..Fit::default() })
    }

    fn start(&self, call: Call) -> Pending<'_, Exchange> {
        Box::pin(run(call))
    }
}

async fn run(call: Call) -> Result<Exchange> {
    let transport = Transport::of(&call);
    let outgoing = request::of(&call, &transport)?;
    match &call.request {
        Request::Subscribe { .. } => subscribe::run(&call, transport, outgoing).await,
        Request::Message { .. } | Request::Resume { .. } | Request::Tasks { .. } => {
            Err(Error::Unsupported { what: "messages or task requests over plain HTTP".into() })
        }
        request => {
            let streams = matches!(request, Request::Invoke { stream: true, .. });
            let answer = transport.send(&outgoing).await?;
            answer::exchange(&call, &transport, answer, streams).await
        }
    }
}
