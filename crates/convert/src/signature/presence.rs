//! Members of a card that are part of the signed form (A2A 1.0, section 8.4.1).
//!
//! A required member is always part of it, an optional member if it is present, and any other member unless it has the
//! default value of its type. This is the definition of version 1.0. Members specific to version 0.x are treated like
//! the members that replaced them in version 1.0.

use serde_json::{Map, Value};

use self::{
    Kind::{Choice, List, Map as MapOf, One, Plain, Telling},
    Presence::{Implicit, Optional, Required},
};

/// The members of one kind of object that are known.
pub(super) struct Message(&'static [Member]);

struct Member {
    name: &'static str,
    presence: Presence,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Presence {
    /// Stays.
    Required,
    /// Stays if it is there; null means that it isn't.
    Optional,
    /// Stays unless it is null, false, 0 or empty.
    Implicit,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Nothing is known of what is in it. An empty one says no more than a missing one.
    Plain,
    /// An empty text is read otherwise than a missing one.
    Telling,
    One(&'static Message),
    /// One of several objects: that it is there says something, whatever is in it.
    Choice(&'static Message),
    List(&'static Message),
    Map(&'static Message),
}

const fn member(name: &'static str, presence: Presence, kind: Kind) -> Member {
    Member { name, presence, kind }
}

/// The card of a generation: the shape decides, as everywhere.
pub(super) fn card_message(card: &Value) -> &'static Message {
    if card.get("supportedInterfaces").is_some() { &CARD } else { &CARD_0 }
}

static CARD: Message = Message(&[
    member("name", Required, Plain),
    member("description", Required, Plain),
    member("supportedInterfaces", Required, List(&INTERFACE)),
    member("provider", Optional, One(&PROVIDER)),
    member("version", Required, Plain),
    member("documentationUrl", Optional, Plain),
    member("capabilities", Required, One(&CAPABILITIES)),
    member("securitySchemes", Implicit, MapOf(&SCHEME)),
    member("securityRequirements", Implicit, List(&REQUIREMENT)),
    member("defaultInputModes", Required, Plain),
    member("defaultOutputModes", Required, Plain),
    member("skills", Required, List(&SKILL)),
    member("iconUrl", Optional, Plain),
]);

static INTERFACE: Message = Message(&[
    member("url", Required, Telling),
    member("protocolBinding", Required, Telling),
    member("tenant", Implicit, Plain),
    member("protocolVersion", Required, Plain),
]);

static PROVIDER: Message = Message(&[member("url", Required, Plain), member("organization", Required, Plain)]);

static CAPABILITIES: Message = Message(&[
    member("streaming", Optional, Plain),
    member("pushNotifications", Optional, Plain),
    member("stateTransitionHistory", Optional, Plain),
    member("extensions", Implicit, List(&EXTENSION)),
    member("extendedAgentCard", Optional, Plain),
]);

static EXTENSION: Message = Message(&[
    member("uri", Implicit, Plain),
    member("description", Implicit, Plain),
    member("required", Implicit, Plain),
    member("params", Optional, Plain),
]);

static SKILL: Message = Message(&[
    member("id", Required, Plain),
    member("name", Required, Plain),
    member("description", Required, Plain),
    member("tags", Required, Plain),
    member("examples", Implicit, Plain),
    member("inputModes", Implicit, Plain),
    member("outputModes", Implicit, Plain),
    member("securityRequirements", Implicit, List(&REQUIREMENT)),
    member("security", Implicit, Plain),
]);

static REQUIREMENT: Message = Message(&[member("schemes", Implicit, MapOf(&SCOPES))]);

static SCOPES: Message = Message(&[member("list", Implicit, Plain)]);

static SCHEME: Message = Message(&[
    member("apiKeySecurityScheme", Optional, Choice(&API_KEY)),
    member("httpAuthSecurityScheme", Optional, Choice(&HTTP_AUTH)),
    member("oauth2SecurityScheme", Optional, Choice(&OAUTH2)),
    member("openIdConnectSecurityScheme", Optional, Choice(&OPEN_ID_CONNECT)),
    member("mtlsSecurityScheme", Optional, Choice(&MUTUAL_TLS)),
]);

static API_KEY: Message = Message(&[
    member("description", Implicit, Plain),
    member("location", Required, Plain),
    member("name", Required, Plain),
]);

static HTTP_AUTH: Message = Message(&[
    member("description", Implicit, Plain),
    member("scheme", Required, Plain),
    member("bearerFormat", Implicit, Plain),
]);

static OAUTH2: Message = Message(&[
    member("description", Implicit, Plain),
    member("flows", Required, One(&FLOWS)),
    member("oauth2MetadataUrl", Implicit, Plain),
]);

static OPEN_ID_CONNECT: Message =
    Message(&[member("description", Implicit, Plain), member("openIdConnectUrl", Required, Plain)]);

static MUTUAL_TLS: Message = Message(&[member("description", Implicit, Plain)]);

static FLOWS: Message = Message(&[
    member("authorizationCode", Optional, Choice(&FLOW)),
    member("clientCredentials", Optional, Choice(&FLOW)),
    member("deviceCode", Optional, Choice(&FLOW)),
    member("implicit", Optional, Choice(&DEPRECATED_FLOW)),
    member("password", Optional, Choice(&DEPRECATED_FLOW)),
]);

static FLOW: Message = Message(&[
    member("authorizationUrl", Required, Plain),
    member("deviceAuthorizationUrl", Required, Plain),
    member("tokenUrl", Required, Plain),
    member("refreshUrl", Implicit, Plain),
    member("scopes", Required, Plain),
    member("pkceRequired", Implicit, Plain),
]);

/// The flows that 1.0 only knows to warn of them: nothing in them is required.
static DEPRECATED_FLOW: Message = Message(&[
    member("authorizationUrl", Implicit, Plain),
    member("tokenUrl", Implicit, Plain),
    member("refreshUrl", Implicit, Plain),
    member("scopes", Implicit, Plain),
]);

static CARD_0: Message = Message(&[
    member("protocolVersion", Required, Plain),
    member("name", Required, Plain),
    member("description", Required, Plain),
    member("url", Required, Telling),
    member("preferredTransport", Optional, Telling),
    member("additionalInterfaces", Implicit, List(&INTERFACE_0)),
    member("provider", Optional, One(&PROVIDER)),
    member("version", Required, Plain),
    member("documentationUrl", Optional, Plain),
    member("capabilities", Required, One(&CAPABILITIES)),
    member("securitySchemes", Implicit, MapOf(&SCHEME_0)),
    member("security", Implicit, Plain),
    member("defaultInputModes", Required, Plain),
    member("defaultOutputModes", Required, Plain),
    member("skills", Required, List(&SKILL)),
    member("supportsAuthenticatedExtendedCard", Optional, Plain),
    member("iconUrl", Optional, Plain),
]);

static INTERFACE_0: Message = Message(&[member("url", Required, Telling), member("transport", Required, Telling)]);

static SCHEME_0: Message = Message(&[
    member("type", Required, Plain),
    member("description", Implicit, Plain),
    member("in", Required, Plain),
    member("name", Required, Plain),
    member("scheme", Required, Plain),
    member("bearerFormat", Implicit, Plain),
    member("flows", Required, One(&FLOWS_0)),
    member("oauth2MetadataUrl", Implicit, Plain),
    member("openIdConnectUrl", Required, Plain),
]);

static FLOWS_0: Message = Message(&[
    member("authorizationCode", Optional, Choice(&FLOW)),
    member("clientCredentials", Optional, Choice(&FLOW)),
    member("implicit", Optional, Choice(&FLOW)),
    member("password", Optional, Choice(&FLOW)),
]);

impl Message {
    /// Removes members that aren't signed from an object. Unknown members are kept.
    pub fn prune(&self, value: &mut Value) {
        let Value::Object(members) = value else { return };
        for member in self.0 {
            member.prune(members);
        }
    }

    /// Returns the kind of a member, or `None` if the member is unknown.
    pub fn kind_of(&self, name: &str) -> Option<Kind> {
        self.0.iter().find(|member| member.name == name).map(|member| member.kind)
    }
}

impl Member {
    fn prune(&self, members: &mut Map<String, Value>) {
        let Some(value) = members.get_mut(self.name) else { return };
        match (self.kind, &mut *value) {
            (One(message) | Choice(message), value) => message.prune(value),
            (List(message), Value::Array(items)) => items.iter_mut().for_each(|item| message.prune(item)),
            (MapOf(message), Value::Object(entries)) => entries.values_mut().for_each(|entry| message.prune(entry)),
            _ => {}
        }
        let stays = match self.presence {
            Required => true,
            Optional => !value.is_null(),
            Implicit => !is_default(value),
        };
        if !stays {
            members.remove(self.name);
        }
    }
}

/// True if a value is the default of its type.
pub(super) fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// True if nothing of a value is left once everything empty is taken away.
pub(super) fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_hollow),
        Value::Object(members) => members.values().all(is_hollow),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
