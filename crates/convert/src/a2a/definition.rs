//! Conversion of a card's security schemes to security definitions of a TD.
//!
//! Members without a counterpart keep their names with the prefix `a2a:`; those of an OAuth 2.0
//! flow are in `a2a:flow`. A scheme that can't be expressed as a definition at all becomes `auto`,
//! with the original scheme in `a2a:declared`.

use serde_json::{Map, Value};

use super::{
    reference::web_url,
    schemes::{self, FLOWS, PLACES, Scheme, SchemeKind},
};
use crate::{shape::Findings, td::internal::Path};

type Object = Map<String, Value>;

/// The security definitions made of one scheme.
pub(super) enum Defined {
    One(Object),
    /// Several flows of OAuth 2.0, each a definition.
    Flows(Vec<(&'static str, Object)>),
}

/// Defines a scheme as it is declared.
pub(super) fn define(declared: &Object, base: Option<&str>, path: &Path<'_>, findings: &mut Findings) -> Defined {
    let mut definer = Definer { base, path, findings };
    let Ok(scheme) = Scheme::read(declared.clone()) else {
        definer.warn(
            "scheme-unknown",
            "unknown kind of security scheme; the Thing Description uses the scheme `auto` instead",
        );
        return Defined::One(left_open(declared));
    };
    let Scheme { kind, members, siblings } = scheme;
    let mut defined = match kind {
        SchemeKind::ApiKey => definer.api_key(members).map(Defined::One),
        SchemeKind::Http => Some(Defined::One(http(members))),
        SchemeKind::OAuth2 => definer.oauth2(members),
        SchemeKind::OpenIdConnect => Some(Defined::One(definer.open_id_connect(members))),
        SchemeKind::MutualTls => Some(Defined::One(definition("a2a:mutualTLS", members))),
    }
    .unwrap_or_else(|| Defined::One(left_open(declared)));
    if !siblings.is_empty() {
        let put = |definition: &mut Object| drop(definition.insert("a2a:siblings".into(), siblings.clone().into()));
        match &mut defined {
            Defined::One(definition) => put(definition),
            Defined::Flows(flows) => flows.iter_mut().for_each(|(_, definition)| put(definition)),
        }
    }
    defined
}

fn left_open(declared: &Object) -> Object {
    Object::from_iter([("scheme".into(), "auto".into()), ("a2a:declared".into(), declared.clone().into())])
}

/// A definition with the members of a scheme that have no other place.
fn definition(scheme: &str, mut members: Object) -> Object {
    let mut definition = Object::new();
    definition.insert("scheme".into(), scheme.into());
    if let Some(description) = members.remove("description") {
        definition.insert("description".into(), description);
    }
    definition.extend(members.into_iter().map(|(name, value)| (format!("a2a:{name}"), value)));
    definition
}

fn http(mut members: Object) -> Object {
    let written = members.remove("scheme");
    let name = written.as_ref().and_then(Value::as_str).unwrap_or_default();
    let known = ["basic", "bearer", "digest"].into_iter().find(|known| known.eq_ignore_ascii_case(name));
    let format = members.remove("bearerFormat");
    let (format, kept) = if known == Some("bearer") { (format, None) } else { (None, format) };
    members.extend(kept.map(|format| ("bearerFormat".to_owned(), format)));
    let mut definition = definition(known.unwrap_or("a2a:http"), members);
    if known.is_some() {
        definition.insert("in".into(), "header".into());
    }
    definition.extend(format.map(|format| ("format".to_owned(), format)));
    if let Some(written) = written.filter(|written| known.is_none_or(|known| written != known)) {
        definition.insert("a2a:scheme".into(), written);
    }
    definition
}

/// The name of a flow in a TD.
pub(super) fn td_flow(flow: &'static str) -> &'static str {
    match flow {
        "authorizationCode" => "code",
        "clientCredentials" => "client",
        "deviceCode" => "device",
        "implicit" => "a2a:implicit",
        "password" => "a2a:password",
        other => other,
    }
}

struct Definer<'d> {
    base: Option<&'d str>,
    path: &'d Path<'d>,
    findings: &'d mut Findings,
}

impl Definer<'_> {
    fn warn(&mut self, rule: &'static str, message: &str) {
        self.findings.add(self.path, rule, || message.to_owned());
    }

    fn api_key(&mut self, mut members: Object) -> Option<Object> {
        let place = members.get("location").and_then(Value::as_str);
        if !members.contains_key("name") {
            self.warn(
                "scheme-name",
                "the API key scheme has no name; the Thing Description uses the scheme `auto` instead",
            );
            return None;
        }
        if !place.is_some_and(|place| PLACES.contains(&place)) {
            self.warn(
                "scheme-location",
                "the location of an API key must be header, query, or cookie; the Thing \
                Description uses the scheme `auto` instead",
            );
            return None;
        }
        let own = [("in", "location"), ("name", "name")]
            .map(|(term, member)| (term.to_owned(), members.remove(member).unwrap_or_default()));
        let mut definition = definition("apikey", members);
        definition.extend(own);
        Some(definition)
    }

    fn open_id_connect(&mut self, mut members: Object) -> Object {
        self.resolve(&mut members, "openIdConnectUrl", self.path);
        definition("a2a:openIdConnect", members)
    }

    fn oauth2(&mut self, mut members: Object) -> Option<Defined> {
        self.resolve(&mut members, "oauth2MetadataUrl", self.path);
        let mut flows = match members.remove("flows") {
            Some(Value::Object(flows)) => flows,
            _ => Object::new(),
        };
        let known: Vec<_> = FLOWS
            .into_iter()
            .filter_map(|flow| match flows.get(flow)? {
                Value::Object(_) => Some((flow, flows.remove(flow)?)),
                _ => None,
            })
            .collect();
        if known.is_empty() {
            let path = self.path.member("flows");
            self.findings.add(&path, "scheme-flows", || {
                "the OAuth 2.0 scheme has no known flow; the Thing Description uses the scheme `auto` instead".into()
            });
            return None;
        }
        let mut common = definition("oauth2", members);
        if !flows.is_empty() {
            common.insert("a2a:flows".into(), flows.into());
        }
        let defined = known.into_iter().map(|(flow, members)| {
            let mut definition = common.clone();
            if let Value::Object(members) = members {
                self.put_flow(&mut definition, flow, members);
            }
            (flow, definition)
        });
        let mut defined: Vec<_> = defined.collect();
        Some(if defined.len() == 1 { Defined::One(defined.remove(0).1) } else { Defined::Flows(defined) })
    }

    fn put_flow(&mut self, definition: &mut Object, flow: &'static str, mut members: Object) {
        let path = self.path.member("flows");
        let path = path.member(flow);
        definition.insert("flow".into(), td_flow(flow).into());
        for (term, member) in schemes::endpoints(flow) {
            if self.resolve(&mut members, member, &path) {
                definition.extend(members.remove(member).map(|url| (term.to_owned(), url)));
            }
        }
        // None means as much as no scopes, which readers of cards want to be said.
        if let Value::Object(described) = members.entry("scopes").or_insert_with(|| Object::new().into()) {
            definition.insert("scopes".into(), described.keys().map(String::as_str).collect());
        }
        for name in ["scopes", "pkceRequired"] {
            definition.extend(members.remove(name).map(|value| (format!("a2a:{name}"), value)));
        }
        if !members.is_empty() {
            definition.insert("a2a:flow".into(), members.into());
        }
    }

    /// Resolves an endpoint that a client may send a person or secrets to; whether it is one.
    fn resolve(&mut self, members: &mut Object, member: &str, path: &Path<'_>) -> bool {
        let Some(Value::String(written)) = members.get_mut(member) else { return false };
        match web_url(written, self.base) {
            Ok(url) => {
                *written = url;
                true
            }
            Err(unusable) => {
                let path = path.member(member);
                let warning = unusable.warning(&path, written, "the Thing Description omits this endpoint");
                self.findings.add(&path, unusable.rule(), || warning.message);
                false
            }
        }
    }
}
