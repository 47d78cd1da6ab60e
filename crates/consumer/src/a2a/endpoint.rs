//! The interface of a form, and requests for its methods.

use reqwest::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::{Form, transport::Outgoing};

/// An interface of an agent.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// For JSON-RPC, the URL of requests. For HTTP+JSON, the base URL of resources.
    url: String,
    query: String,
    pub(super) is_rpc: bool,
    /// True if it speaks 1.0 rather than 0.3.
    pub(super) is_v1: bool,
    version: String,
    tenant: Option<String>,
}

/// A method of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rpc {
    Send(Value),
    Stream(Value),
    Get(String),
    Cancel(String),
    Subscribe(String),
    List(Option<String>),
}

impl Endpoint {
    /// Returns the interface of a form, or `None` if it is not supported.
    pub(super) fn of(form: &Form) -> Option<Endpoint> {
        if form.subprotocol() != Some("a2a") {
            return None;
        }
        if !matches!(form.scheme().as_str(), "http" | "https") {
            return None;
        }
        let version = form.text("a2a:protocolVersion").unwrap_or("1.0");
        let target = form.href.as_str();
        let is_rpc = match form.text("a2a:binding")? {
            "JSONRPC" => true,
            "HTTP+JSON" => false,
            _ => return None,
        };
        let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
        let base = ["/message:send", "/message:stream"].iter().find_map(|verb| path.strip_suffix(verb));
        Some(Endpoint {
            url: if is_rpc { target.to_owned() } else { base.unwrap_or(path.trim_end_matches('/')).to_owned() },
            query: query.to_owned(),
            is_rpc,
            is_v1: !version.trim_start_matches(['v', 'V']).starts_with("0."),
            version: version.to_owned(),
            tenant: form.text("a2a:tenant").map(str::to_owned),
        })
    }

    /// Returns the request for a method, with its JSON-RPC id, or `None` if this version has no such method.
    pub(super) fn request(&self, method: &Rpc) -> Option<(Outgoing, Option<String>)> {
        let id = self.is_rpc.then(|| Uuid::new_v4().to_string());
        let request = match &id {
            Some(id) => self.rpc(method, id)?,
            None => self.resource(method),
        };
        let accept = match method {
            Rpc::Stream(_) | Rpc::Subscribe(_) => "text/event-stream",
            _ if self.is_v1 && !self.is_rpc => "application/a2a+json, application/json",
            _ => "application/json",
        };
        let request = request.header("accept", accept);
        let request = if self.is_v1 { request.header("A2A-Version", &self.version) } else { request };
        Some((request, id))
    }

    fn rpc(&self, method: &Rpc, request: &str) -> Option<Outgoing> {
        let id = |id: &str| json!({"id": id});
        let (old, new, params) = match method {
            Rpc::Send(params) => ("message/send", "SendMessage", params.clone()),
            Rpc::Stream(params) => ("message/stream", "SendStreamingMessage", params.clone()),
            Rpc::Get(task) => ("tasks/get", "GetTask", id(task)),
            Rpc::Cancel(task) => ("tasks/cancel", "CancelTask", id(task)),
            Rpc::Subscribe(task) => ("tasks/resubscribe", "SubscribeToTask", id(task)),
            Rpc::List(_) if !self.is_v1 => return None,
            Rpc::List(context) => {
                let context = context.as_ref().map(|context| ("contextId".to_owned(), context.as_str().into()));
                ("", "ListTasks", Value::Object(Map::from_iter(context)))
            }
        };
        let mut params = params;
        if let (Some(tenant), Value::Object(members)) = (&self.tenant, &mut params) {
            members.insert("tenant".into(), tenant.as_str().into());
        }
        let name = if self.is_v1 { new } else { old };
        let body = json!({"jsonrpc": "2.0", "id": request, "method": name, "params": params});
        Some(Outgoing::new(Method::POST, &self.url).json("application/json", &body))
    }

    fn resource(&self, method: &Rpc) -> Outgoing {
        let url = |path: String| format!("{}{path}{}", self.url, self.query);
        let task = |id: &str, verb: &str| url(format!("/tasks/{}{verb}", encoded(id)));
        let media_type = if self.is_v1 { "application/a2a+json" } else { "application/json" };
        match method {
            Rpc::Send(params) => Outgoing::new(Method::POST, url("/message:send".into())).json(media_type, params),
            Rpc::Stream(params) => Outgoing::new(Method::POST, url("/message:stream".into())).json(media_type, params),
            Rpc::Get(id) => Outgoing::new(Method::GET, task(id, "")),
            Rpc::Cancel(id) => Outgoing::new(Method::POST, task(id, ":cancel")).json(media_type, &json!({})),
            Rpc::Subscribe(id) => Outgoing::new(Method::GET, task(id, ":subscribe")),
            Rpc::List(context) => {
                let mark = if self.query.is_empty() { '?' } else { '&' };
                let context = context.as_ref().map(|context| format!("{mark}contextId={}", encoded(context)));
                Outgoing::new(Method::GET, format!("{}{}", url("/tasks".into()), context.unwrap_or_default()))
            }
        }
    }
}

fn encoded(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}
