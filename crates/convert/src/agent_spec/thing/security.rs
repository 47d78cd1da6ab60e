//! Security schemes of a Thing (TD 1.1, section 5.3.3), derived from the credentials that its configuration sends.
//!
//! | configuration | scheme |
//! |---|---|
//! | OAuthConfig | `oauth2` with flow `code`: there is a redirection |
//! | OAuthConfig without both endpoints that this takes | `agentspec:oauth2`: they are found by the issuer |
//! | header `Authorization: Bearer …`, `Basic …`, `Digest …`; user-info in a URL | `bearer`, `basic`, `digest`; `basic` |
//! | any other sensitive header, a header or query parameter that is a key by its name, a value in the body that was hidden | `apikey` |
//! | certificate and key of a client | `agentspec:mutualTLS` |
//! | OCI client | `agentspec:oci` |
//! | hidden headers that the metadata doesn't list | the scheme in the options, or `agentspec:sensitiveHeaders`, which prevents calls |
//! | configuration of a plugin | `auto` |
//! | no credentials | `auto`, or the scheme in the options, since no document states that credentials aren't required |
//!
//! If several schemes apply, all of them are required.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{
    Mapper,
    endpoint::{Credentials, Endpoint},
    request::is_access,
};
use crate::{
    Error, Result,
    agent_spec::{
        Security,
        graph::Key,
        references::REFERENCE,
        sensitive_headers::{self, authorization_scheme},
        types::Call,
    },
    redaction::{Hidden, Rule, is_stand_in},
};

/// The most ways to be granted access that one Thing needs at once.
const MOST_SCHEMES: usize = 100;

/// Headers whose names aren't known.
const UNKNOWN_HEADERS: &str = "agentspec:sensitiveHeaders";

/// A way to be granted access.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scheme<'d> {
    /// By what an OAuthConfig says.
    OAuth(Key),
    /// One of TD 1.1 without any members, or one of ours.
    Plain(&'static str),
    /// A key: where it goes, and by which name.
    ApiKey(&'static str, &'d str),
    /// A client of OCI.
    Oci(Option<&'d str>),
}

impl Scheme<'_> {
    fn name(self) -> &'static str {
        match self {
            Scheme::OAuth(_) => "oauth2",
            Scheme::Plain(name) => name.trim_start_matches("agentspec:"),
            Scheme::ApiKey(..) => "apikey",
            Scheme::Oci(_) => "oci",
        }
    }
}

/// The ways to be granted access that are all needed.
#[derive(Default)]
struct Schemes<'d>(Vec<Scheme<'d>>);

impl<'d> Schemes<'d> {
    fn add(&mut self, scheme: Scheme<'d>) {
        // One more tells that there are too many.
        if self.0.len() <= MOST_SCHEMES && !self.0.contains(&scheme) {
            self.0.push(scheme);
        }
    }

    fn add_headers(&mut self, headers: Option<&'d Value>, are_sensitive: bool) {
        for (name, value) in headers.and_then(Value::as_object).into_iter().flatten() {
            if name == REFERENCE {
                // What it refers to isn't known, so a call would lack it.
                self.add(Scheme::Plain(UNKNOWN_HEADERS));
                continue;
            }
            let is_authorization = name.eq_ignore_ascii_case("authorization");
            match value.as_str().and_then(authorization_scheme) {
                Some(known) if is_authorization => self.add(Scheme::Plain(known)),
                _ if are_sensitive || is_access(name) => self.add(Scheme::ApiKey("header", name)),
                _ => {}
            }
        }
    }
}

impl<'d> Mapper<'_, 'd> {
    /// `securityDefinitions` and `security` of a Thing.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where there are so many that nobody could have all of them.
    pub(super) fn security(&self, key: Key, endpoint: Option<&Endpoint>) -> Result<(Value, Value)> {
        let schemes = self.schemes(key, endpoint.map(|endpoint| &endpoint.credentials));
        if schemes.0.len() > MOST_SCHEMES {
            let what = "number of security schemes of a Thing";
            return Err(Error::LimitExceeded { what, maximum: MOST_SCHEMES as u64 });
        }
        let (mut definitions, mut names) = (Map::new(), Vec::new());
        let mut counts = HashMap::new();
        for scheme in schemes.0 {
            let count = counts.entry(scheme.name()).and_modify(|count| *count += 1).or_insert(1);
            let number = if *count == 1 { String::new() } else { count.to_string() };
            let name = format!("{}{number}_sc", scheme.name());
            definitions.insert(name.clone(), self.definition(scheme));
            names.push(name);
        }
        let names = if names.len() == 1 { names.remove(0).into() } else { names.into() };
        Ok((definitions.into(), names))
    }

    fn schemes<'s>(&self, key: Key, credentials: Option<&'s Credentials>) -> Schemes<'s>
    where
        'd: 's,
    {
        let mut schemes = Schemes::default();
        let graph = self.graph;
        if let Some(auth) = self.connection(key).and_then(|connection| graph.part(connection, "auth")) {
            schemes.add(if graph.is_a(auth, "OAuthConfig") { Scheme::OAuth(auth) } else { Scheme::Plain("auto") });
        }
        if credentials.is_some_and(|credentials| credentials.user_info) {
            schemes.add(Scheme::Plain("basic"));
        }
        for name in credentials.into_iter().flat_map(|credentials| &credentials.parameters) {
            schemes.add(Scheme::ApiKey("query", name));
        }
        for pointer in credentials.into_iter().flat_map(|credentials| &credentials.members) {
            schemes.add(Scheme::ApiKey("body", pointer));
        }
        if let Some(connection) = self.connection(key) {
            // Of hidden ones too: only their names and ways of access are shown.
            schemes.add_headers(self.sent_field(connection, "headers"), false);
            schemes.add_headers(self.sensitive_headers(connection), true);
            // A value that was hidden granted access, whatever its name is.
            for (name, _) in self
                .field(connection, "headers")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .filter(|(name, value)| !is_access(name) && value.as_str().is_some_and(is_stand_in))
            {
                schemes.add(Scheme::ApiKey("header", name));
            }
            let has = |field| {
                graph.is_withheld(connection, field)
                    || graph.text(connection, field).is_some_and(|path| !path.is_empty())
            };
            if has("key_file") || has("cert_file") {
                schemes.add(Scheme::Plain("agentspec:mutualTLS"));
            }
        }
        if let Some(client) = graph.part(key, "client_config") {
            schemes.add(Scheme::Oci(self.text(client, "auth_type")));
        }
        self.add_assumed(&mut schemes);
        schemes
    }

    /// Adds the scheme of the options where the configuration names none, and puts it in place of one that isn't known. That
    /// nothing is needed contradicts what is held back.
    fn add_assumed(&self, schemes: &mut Schemes<'d>) {
        let assumed = match self.options.security {
            Security::ApiKey => Scheme::ApiKey("header", "X-API-Key"),
            security => Scheme::Plain(security.name()),
        };
        if schemes.0.is_empty() {
            schemes.add(assumed);
        } else if self.options.security != Security::Nosec {
            let others: Vec<Scheme<'d>> = std::mem::take(&mut schemes.0);
            let is_unknown = |scheme: Scheme<'d>| match scheme {
                Scheme::Plain(UNKNOWN_HEADERS) => self.options.security != Security::Auto,
                scheme => scheme == Scheme::Plain("auto"),
            };
            let known = |scheme| if is_unknown(scheme) { assumed } else { scheme };
            others.into_iter().map(known).for_each(|scheme| schemes.add(scheme));
        }
    }

    /// The sensitive headers of a component, or what its metadata says of them where they are held back.
    fn sensitive_headers(&self, key: Key) -> Option<&'d Value> {
        let sent = self.sent_field(key, sensitive_headers::FIELD)?;
        let kept = || self.sent_field(key, "metadata")?.get(sensitive_headers::KEPT).filter(|kept| kept.is_object());
        if sent.get(REFERENCE).is_some() { kept().or(Some(sent)) } else { Some(sent) }
    }

    /// A field as it was sent, of the main document.
    fn sent_field(&self, key: Key, field: &str) -> Option<&'d Value> {
        let spot = self.graph.at(key);
        let sent = self.sent.pointer(&spot.pointer).filter(|_| spot.document == 0);
        sent.and_then(|component| component.get(field)).or_else(|| self.graph.field(key, field))
    }

    /// True if a URL had user-info, which was left out.
    pub(super) fn had_user_info(&self, key: Key, field: &str) -> bool {
        let is_it = |hidden: &&Hidden| hidden.rule == Rule::UserInfo && hidden.pointer.ends_with(field);
        let mut found = self.hidden.iter().filter(is_it).peekable();
        found.peek().is_some() && {
            let spot = self.graph.at(key).member(field);
            spot.document == 0 && found.any(|hidden| hidden.pointer == spot.pointer)
        }
    }

    /// The component that says how a tool or remote agent is talked to.
    pub(super) fn connection(&self, key: Key) -> Option<Key> {
        if self.call(key) == Call::Request {
            return Some(key);
        }
        ["client_transport", "connection_config"].into_iter().find_map(|field| self.graph.part(key, field))
    }

    fn definition(&self, scheme: Scheme<'d>) -> Value {
        match scheme {
            Scheme::OAuth(auth) => self.oauth(auth).into(),
            Scheme::Plain(name @ ("bearer" | "basic" | "digest")) => json!({"scheme": name, "in": "header"}),
            Scheme::Plain(name) => json!({"scheme": name}),
            Scheme::ApiKey(place, name) => json!({"scheme": "apikey", "in": place, "name": name}),
            Scheme::Oci(None) => json!({"scheme": "agentspec:oci"}),
            Scheme::Oci(Some(auth_type)) => json!({"scheme": "agentspec:oci", "agentspec:authType": auth_type}),
        }
    }

    fn oauth(&self, auth: Key) -> Map<String, Value> {
        let endpoints = self.field(auth, "endpoints");
        let endpoint = |field: &str| {
            let url = self.resolve(endpoints?.get(field)?)?;
            Endpoint::of_url(url.as_str()?).map(|endpoint| endpoint.href)
        };
        let members = [
            ("authorization", endpoint("authorization_endpoint")),
            ("token", endpoint("token_endpoint")),
            ("refresh", endpoint("refresh_endpoint")),
            ("agentspec:issuer", self.text(auth, "issuer").and_then(Endpoint::of_url).map(|endpoint| endpoint.href)),
        ];
        let is_code = members.iter().take(2).all(|(_, url)| url.is_some());
        let mut definition: Map<String, Value> =
            members.into_iter().filter_map(|(name, url)| Some((name.to_owned(), url?.into()))).collect();
        definition.insert("scheme".to_owned(), if is_code { "oauth2" } else { "agentspec:oauth2" }.into());
        if is_code {
            definition.insert("flow".to_owned(), "code".into());
        }
        let scopes: Vec<&str> = match self.field(auth, "scopes") {
            Some(Value::String(scopes)) => scopes.split_whitespace().collect(),
            Some(Value::Array(scopes)) => scopes.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !scopes.is_empty() {
            definition.insert("scopes".to_owned(), scopes.into());
        }
        definition
    }
}
