//! Forms for the methods of the protocol at each interface.

use serde_json::{Map, Value, json};

use super::{
    Card, FORMS_BINDING, Generation, Options,
    interface::{Binding, Interface, Listed},
    reference::Unusable,
    rest::{Operation, Resources},
    security::Security,
};
use crate::{
    shape::Findings,
    td::{MAX_DOCUMENT_BYTES, internal::Path},
    thing_builder::form,
};

/// The most interfaces that get forms: every skill has a form for each.
const MOST_INTERFACES: usize = 16;
/// Maximum estimated size of all forms in a description, in bytes. The first interface has forms in any case.
const MOST_FORM_BYTES: usize = MAX_DOCUMENT_BYTES / 2;
/// About what a form takes beside its URL.
const FORM_BYTES: usize = 320;

/// An interface that can be called.
pub(super) struct Callable<'c> {
    interface: Interface<'c>,
    url: String,
    version: String,
}

/// The interfaces of a card that can be called, if so many actions have forms for them. Of others it is
/// said why not.
pub(super) fn callables<'c>(
    card: &'c Card,
    options: &Options,
    actions: usize,
    findings: &mut Findings,
) -> Vec<Callable<'c>> {
    let mut bytes = 0;
    let mut callables: Vec<Callable<'c>> = Vec::new();
    for (index, interface) in card.interfaces().enumerate() {
        bytes += actions * (FORM_BYTES + interface.url.len());
        if index >= MOST_INTERFACES || (index > 0 && bytes > MOST_FORM_BYTES) {
            let message =
                || format!("the card has {} interfaces; only the first {index} get forms", card.interfaces().count());
            findings.add(&Path::ROOT, "too-many-interfaces", message);
            break;
        }
        match interface.resolved_url(options.base.as_deref()) {
            // Requests of its own, which an extension lists.
            Ok(_) if interface.binding == Binding::Custom(FORMS_BINDING) => {}
            Ok(url) => callables.push(Callable { version: interface.version(), interface, url }),
            Err(unusable) => warn(interface, unusable, findings),
        }
    }
    callables
}

fn warn(interface: Interface<'_>, unusable: Unusable, findings: &mut Findings) {
    interface.listed.with_paths(|_, path, _| {
        let warning = unusable.warning(path, interface.url, "no form is created for it");
        findings.add(path, unusable.rule(), || warning.message);
    });
}

/// The forms of an operation.
pub(super) fn forms(callables: &[Callable<'_>], operation: Operation, security: Option<&Security>) -> Vec<Value> {
    callables.iter().map(|callable| secured(callable.form(operation), security)).collect()
}

/// The form of an agent of which no more than the address is known: a message to it over JSON-RPC.
pub(crate) fn message_form(url: &str, generation: Generation) -> Map<String, Value> {
    let (listed, written_version) = match generation {
        Generation::V0 => (Listed::Main, None),
        Generation::V1 => (Listed::Supported(0), Some(generation.name())),
    };
    let interface = Interface { url, binding: Binding::JsonRpc, written: None, written_version, tenant: None, listed };
    Callable { interface, version: interface.version(), url: url.to_owned() }.form(Operation::Send)
}

/// A form that says what it requires.
pub(super) fn secured(mut form: Map<String, Value>, security: Option<&Security>) -> Value {
    if let Some(Security { names, scopes }) = security {
        form.insert("security".into(), names.clone());
        if !scopes.is_empty() {
            form.insert("scopes".into(), scopes.iter().map(String::as_str).collect());
        }
    }
    Value::Object(form)
}

impl Callable<'_> {
    fn form(&self, operation: Operation) -> Map<String, Value> {
        let binding = self.interface.binding;
        let mut form = form(operation.name(), &self.href(operation));
        let mut put = |name: &str, value: Value| form.insert(name.to_owned(), value);
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

    fn href(&self, operation: Operation) -> String {
        if self.interface.binding != Binding::HttpJson {
            return self.url.clone();
        }
        let resources = Resources { generation: self.interface.generation(), tenant: self.interface.tenant };
        resources.href(&self.url, operation)
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
