//! Forms: how a method of the protocol is called at each interface.

use serde_json::{Map, Value, json};

use super::{
    Card, Generation, Options,
    interface::{Binding, Interface},
    reference::{Unusable, grpc_target, interface_url},
    security::Security,
};
use crate::{convert::shape::Findings, td::Path};

/// The most interfaces that get forms: every skill has a form for each.
const MOST_INTERFACES: usize = 16;

/// An operation of the protocol that affordances stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Sends a message and gets the answer.
    Send,
    /// Sends a message and gets a stream of what happens.
    Stream,
}

/// An interface that can be called.
pub(super) struct Endpoint<'c> {
    interface: Interface<'c>,
    url: String,
    version: String,
}

/// The interfaces of a card that can be called. Of others it is said why not.
pub(super) fn endpoints<'c>(card: &'c Card, options: &Options, findings: &mut Findings) -> Vec<Endpoint<'c>> {
    let interfaces = card.interfaces();
    if interfaces.len() > MOST_INTERFACES {
        let message = || format!("{} interfaces; only the first {MOST_INTERFACES} get forms", interfaces.len());
        findings.add(&Path::ROOT, "too-many-interfaces", message);
    }
    let usable = interfaces.into_iter().take(MOST_INTERFACES).filter_map(|interface| {
        let target = (interface.binding == Binding::Grpc).then(|| grpc_target(interface.url)).flatten();
        let url = target.map_or_else(|| interface_url(interface.url, options.base.as_deref()), Ok);
        match url {
            Ok(url) => Some(Endpoint { version: interface.version(), interface, url }),
            Err(unusable) => {
                warn(interface, unusable, findings);
                None
            }
        }
    });
    usable.collect()
}

fn warn(interface: Interface<'_>, unusable: Unusable, findings: &mut Findings) {
    interface.place.with_paths(|_, path, _| {
        let warning = unusable.warning(path, interface.url, "there is no form for it");
        findings.add(path, unusable.rule(), || warning.message);
    });
}

/// The forms of an operation.
pub(super) fn forms(endpoints: &[Endpoint<'_>], operation: Operation, security: Option<&Security>) -> Vec<Value> {
    let with_security = |endpoint: &Endpoint<'_>| {
        let mut form = endpoint.form(operation);
        if let Some(Security { names, .. }) = security {
            form.insert("security".into(), names.clone());
        }
        if let Some(Security { scopes, .. }) = security.filter(|security| !security.scopes.is_empty()) {
            form.insert("scopes".into(), json!(scopes));
        }
        Value::Object(form)
    };
    endpoints.iter().map(with_security).collect()
}

impl Endpoint<'_> {
    fn form(&self, operation: Operation) -> Map<String, Value> {
        let binding = self.interface.binding;
        let mut form = Map::new();
        let mut put = |name: &str, value: Value| form.insert(name.to_owned(), value);
        put("op", [operation.name()].as_slice().into());
        put("href", self.href(operation).into());
        put("subprotocol", "a2a".into());
        put("a2a:binding", binding.name().into());
        put("a2a:protocolVersion", self.version.as_str().into());
        if let Some(tenant) = self.interface.tenant {
            put("a2a:tenant", tenant.into());
        }
        if let Some(method) = self.method(operation) {
            put("a2a:method", method.into());
        }
        // What a binding of one's own sends is not ours to say.
        if let Some(content_type) = self.content_type() {
            put("contentType", content_type.into());
            put("htv:methodName", "POST".into());
        }
        let is_http = matches!(binding, Binding::JsonRpc | Binding::HttpJson);
        if is_http && operation == Operation::Stream {
            put("response", json!({"contentType": "text/event-stream"}));
        }
        if is_http && self.interface.generation() == Generation::V1 {
            put("htv:headers", json!([{"htv:fieldName": "A2A-Version", "htv:fieldValue": self.version}]));
        }
        form
    }

    /// HTTP+JSON has a resource for each method, below the URL of the interface (and of the tenant).
    fn href(&self, operation: Operation) -> String {
        if self.interface.binding != Binding::HttpJson {
            return self.url.clone();
        }
        let (start, query) = self.url.split_at(self.url.find(['?', '#']).unwrap_or(self.url.len()));
        let start = start.trim_end_matches('/');
        let verb = match operation {
            Operation::Send => "message:send",
            Operation::Stream => "message:stream",
        };
        let query = query.split('#').next().unwrap_or_default();
        match (self.interface.generation(), self.interface.tenant) {
            (Generation::V0, _) if start.ends_with("/v1") => format!("{start}/{verb}{query}"),
            (Generation::V0, _) => format!("{start}/v1/{verb}{query}"),
            (Generation::V1, None) => format!("{start}/{verb}{query}"),
            (Generation::V1, Some(tenant)) => format!("{start}/{}/{verb}{query}", encode_segment(tenant)),
        }
    }

    fn method(&self, operation: Operation) -> Option<&'static str> {
        let is_rpc = self.interface.binding == Binding::JsonRpc;
        match (self.interface.binding, self.interface.generation(), operation) {
            (Binding::Custom(_), ..) => None,
            (_, Generation::V0, Operation::Send) if is_rpc => Some("message/send"),
            (_, Generation::V0, Operation::Stream) if is_rpc => Some("message/stream"),
            (_, _, Operation::Send) => Some("SendMessage"),
            (_, _, Operation::Stream) => Some("SendStreamingMessage"),
        }
    }

    fn content_type(&self) -> Option<&'static str> {
        match (self.interface.binding, self.interface.generation()) {
            (Binding::Custom(_), _) => None,
            (Binding::Grpc, _) => Some("application/grpc"),
            (Binding::HttpJson, Generation::V1) => Some("application/a2a+json"),
            _ => Some("application/json"),
        }
    }
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Send => "invokeaction",
            Operation::Stream => "subscribeevent",
        }
    }
}

fn encode_segment(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}
