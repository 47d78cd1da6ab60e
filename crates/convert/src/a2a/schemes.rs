//! Structure of security schemes in both generations.
//!
//! Version 0.x has a single object with a `type`. Version 1.0 wraps the members in an object named after the kind of
//! scheme, and calls the location of an API key `location`.

use serde_json::{Map, Value};

use super::Generation;
use crate::shape::snake_case;

type Object = Map<String, Value>;

/// The kinds of security schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemeKind {
    ApiKey,
    Http,
    OAuth2,
    OpenIdConnect,
    MutualTls,
}

impl SchemeKind {
    const ALL: [SchemeKind; 5] =
        [SchemeKind::ApiKey, SchemeKind::Http, SchemeKind::OAuth2, SchemeKind::OpenIdConnect, SchemeKind::MutualTls];

    /// The `type` in 0.x.
    fn type_(self) -> &'static str {
        match self {
            SchemeKind::ApiKey => "apiKey",
            SchemeKind::Http => "http",
            SchemeKind::OAuth2 => "oauth2",
            SchemeKind::OpenIdConnect => "openIdConnect",
            SchemeKind::MutualTls => "mutualTLS",
        }
    }

    /// True if this is its `type` in 0.x, however it is cased.
    fn is_called(self, type_: &str) -> bool {
        self.type_().eq_ignore_ascii_case(type_)
    }

    /// The kind of a scheme without a `type`, by the members that only this kind has.
    fn inferred(members: &Object) -> Option<SchemeKind> {
        let has = |name: &str| members.contains_key(name);
        if has("openIdConnectUrl") {
            Some(SchemeKind::OpenIdConnect)
        } else if has("flows") {
            Some(SchemeKind::OAuth2)
        } else if has("scheme") {
            Some(SchemeKind::Http)
        } else if has("name") && (has("in") || has("location")) {
            Some(SchemeKind::ApiKey)
        } else {
            None
        }
    }

    /// The `type` that a scheme lacks which names neither that nor its kind, where its members tell.
    pub(super) fn missing_type(members: &Object) -> Option<&'static str> {
        let is_named =
            members.contains_key("type") || SchemeKind::ALL.iter().any(|kind| members.contains_key(kind.wrapper()));
        SchemeKind::inferred(members).filter(|_| !is_named).map(SchemeKind::type_)
    }

    /// The name of the object in 1.0.
    fn wrapper(self) -> &'static str {
        match self {
            SchemeKind::ApiKey => "apiKeySecurityScheme",
            SchemeKind::Http => "httpAuthSecurityScheme",
            SchemeKind::OAuth2 => "oauth2SecurityScheme",
            SchemeKind::OpenIdConnect => "openIdConnectSecurityScheme",
            SchemeKind::MutualTls => "mtlsSecurityScheme",
        }
    }
}

/// The flows of OAuth 2.0 by the names that cards have for them.
pub(super) const FLOWS: [&str; 5] = ["authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"];

/// Locations of an API key.
pub(super) const PLACES: [&str; 3] = ["header", "query", "cookie"];

/// The endpoints of a flow: what a TD calls them, and what a card does.
pub(super) fn endpoints(flow: &str) -> [(&'static str, &'static str); 3] {
    let authorization = if flow == "deviceCode" { "deviceAuthorizationUrl" } else { "authorizationUrl" };
    [("authorization", authorization), ("token", "tokenUrl"), ("refresh", "refreshUrl")]
}

/// Members of 0.x that a card for readers of both generations has beside the object of 1.0.
const SPELLED_FOR_BOTH: [&str; 9] =
    ["type", "description", "name", "in", "location", "scheme", "bearerFormat", "flows", "openIdConnectUrl"];

/// A scheme: its kind, and its members as 1.0 spells them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scheme {
    pub(super) kind: SchemeKind,
    pub(super) members: Object,
    /// Members beside the object of 1.0.
    pub(super) siblings: Object,
}

impl Scheme {
    /// Reads a scheme in either spelling; the members again if it is of no known kind.
    pub(super) fn read(mut members: Object) -> Result<Scheme, Object> {
        let type_ = members.get("type").and_then(Value::as_str).map(str::to_owned);
        let mut wrapped =
            SchemeKind::ALL.into_iter().filter(|kind| members.get(kind.wrapper()).is_some_and(Value::is_object));
        // Of several objects that of the `type` counts, else the first; the others are none of its members.
        let is_of_type = |kind: &SchemeKind| type_.as_ref().is_some_and(|type_| kind.is_called(type_));
        let wrapped = wrapped.clone().find(is_of_type).or_else(|| wrapped.next());
        let mut read = match wrapped.and_then(|kind| Some((kind, members.remove(kind.wrapper())?))) {
            Some((kind, inner)) => {
                let is_wrapper = |name: &str| {
                    SchemeKind::ALL.iter().any(|kind| name == kind.wrapper() || name == snake_case(kind.wrapper()))
                };
                members.retain(|name, _| !is_wrapper(name) && !SPELLED_FOR_BOTH.contains(&name.as_str()));
                let inner = if let Value::Object(inner) = inner { inner } else { Object::new() };
                Scheme { kind, members: inner, siblings: members }
            }
            None => {
                let kind = match type_ {
                    Some(type_) => kind_of(&type_, &mut members),
                    None => SchemeKind::inferred(&members),
                };
                let Some(kind) = kind else { return Err(members) };
                members.remove("type");
                Scheme { kind, members, siblings: Object::new() }
            }
        };
        if let Some(place) = read.members.remove("location").or_else(|| read.members.remove("in")) {
            read.members.insert("location".into(), in_lower_case(place));
        }
        Ok(read)
    }

    /// Writes the scheme in the spelling of a generation.
    pub(super) fn write(mut self, generation: Generation) -> Value {
        match generation {
            Generation::V0 => {
                if let Some(place) = self.members.remove("location") {
                    self.members.insert("in".into(), place);
                }
                self.members.insert("type".into(), self.kind.type_().into());
                for (name, value) in self.siblings {
                    self.members.entry(name).or_insert(value);
                }
                Value::Object(self.members)
            }
            Generation::V1 => {
                self.siblings.insert(self.kind.wrapper().into(), self.members.into());
                Value::Object(self.siblings)
            }
        }
    }

    /// Returns the name in 0.3 of a member that the scheme lacks and that strict readers of 0.3 require. An unknown
    /// location of an API key counts as missing.
    pub(super) fn missing(&self) -> Option<&'static str> {
        let text = |name: &str| self.members.get(name).and_then(Value::as_str);
        let has_place = || text("location").is_some_and(|place| PLACES.contains(&place));
        match self.kind {
            SchemeKind::ApiKey if !has_place() => Some("in"),
            SchemeKind::ApiKey => text("name").is_none().then_some("name"),
            SchemeKind::Http => text("scheme").is_none().then_some("scheme"),
            SchemeKind::OAuth2 => self.members.get("flows").is_none().then_some("flows"),
            SchemeKind::OpenIdConnect => text("openIdConnectUrl").is_none().then_some("openIdConnectUrl"),
            SchemeKind::MutualTls => None,
        }
    }

    /// The flows of OAuth 2.0 that the scheme has; of another kind, it has none.
    pub(super) fn flows(&self) -> impl Iterator<Item = (&'static str, &Object)> {
        let flows = self.members.get("flows").filter(|_| self.kind == SchemeKind::OAuth2).and_then(Value::as_object);
        FLOWS.into_iter().filter_map(move |name| Some((name, flows?.get(name)?.as_object()?)))
    }
}

/// The place of an API key as both generations write it.
fn in_lower_case(place: Value) -> Value {
    let known = |written: &str| PLACES.into_iter().find(|place| place.eq_ignore_ascii_case(written));
    place.as_str().and_then(known).map_or_else(|| place.clone(), Value::from)
}

/// The kind of a `type`, however it is cased; HTTP schemes are written there too.
fn kind_of(type_: &str, members: &mut Object) -> Option<SchemeKind> {
    let known = SchemeKind::ALL.into_iter().find(|kind| kind.is_called(type_));
    if known.is_none() && ["bearer", "basic", "digest"].iter().any(|scheme| scheme.eq_ignore_ascii_case(type_)) {
        members.entry("scheme").or_insert_with(|| type_.into());
        return Some(SchemeKind::Http);
    }
    known
}
