//! Conversion of the authentication declared by a Server Card, for a server or one of its endpoints, to headers.

use serde_json::{Map, Value, json};

use super::input::text;
use crate::size::size;

type Object = Map<String, Value>;

/// The names of the member, and of those that only tell whether credentials are needed.
const MEMBERS: [&str; 9] = [
    "authentication",
    "auth",
    "authorization",
    "requiresAuth",
    "requires_auth",
    "authRequired",
    "authenticationRequired",
    "oauth",
    "oauth2",
];
/// Members of the settings of OAuth, which need not name the scheme.
const OAUTH: [&str; 8] = [
    "clientId",
    "client_id",
    "authorizationUrl",
    "authorization_endpoint",
    "tokenUrl",
    "token_endpoint",
    "flows",
    "scopes",
];
/// The member with the schemes of OpenAPI, by their names, and the member with those that are required.
const SCHEMES: &str = "securitySchemes";
const REQUIRED: &str = "security";
/// Members that name one scheme, and those with several.
const ONE: [&str; 3] = ["type", "scheme", "method"];
const SEVERAL: [&str; 3] = ["schemes", "types", "methods"];
/// The most schemes that are read.
const MOST_SCHEMES: usize = 16;
/// The most bytes that are read: every endpoint gets the headers.
pub(super) const MOST_BYTES: usize = 4096;

/// What callers need to be let in.
#[derive(Debug, Default)]
pub(super) struct Authentication {
    /// The headers that credentials are sent in, as inputs of the schema; one of them is enough.
    headers: Vec<Value>,
    /// False if callers are let in without credentials, too.
    pub(super) is_required: bool,
    /// True if it asks for something that no header is known for.
    is_unclear: bool,
}

/// A scheme that a card names.
#[derive(PartialEq)]
enum Scheme {
    Open,
    Header(Value),
    Unknown,
}

/// The member in which a server or an endpoint says what it asks for.
pub(super) fn member(owner: &Object) -> Option<(&'static str, &Value)> {
    MEMBERS.into_iter().find_map(|name| Some((name, owner.get(name)?)))
}

/// True for a name of the member.
pub(super) fn is_member(name: &str) -> bool {
    MEMBERS.contains(&name)
}

/// True for the names of members about authentication.
pub(super) fn is_read(name: &str) -> bool {
    is_member(name) || [SCHEMES, REQUIRED].contains(&name)
}

/// Returns the member about the authentication of callers, and whether they need credentials.
pub(crate) fn requirement(owner: &Object) -> Option<(&'static str, bool)> {
    let (name, asked) = member(owner).filter(|(_, asked)| !asked.is_null())?;
    let read = Authentication::of(asked);
    let asks_for_nothing = read.headers.is_empty() && !read.is_unclear;
    Some((name, read.is_required && !asks_for_nothing))
}

/// What the description leaves out of what a server or an endpoint asks for, if anything, and the member that says it.
pub(super) fn gap_of(owner: &Object) -> Option<(&'static str, &'static str)> {
    let name = member(owner).map_or(SCHEMES, |(name, _)| name);
    Some((name, Authentication::asked_by(owner)?.gap()?))
}

/// A copy that is not too large to be made for every endpoint; a larger one is not read.
pub(super) fn bounded(asked: &Value) -> Value {
    if size(asked, MOST_BYTES) > MOST_BYTES { json!({"required": true}) } else { asked.clone() }
}

impl Authentication {
    /// Reads the member of a server or an endpoint, if there is one.
    pub(super) fn asked_by(owner: &Object) -> Option<Authentication> {
        let asked = member(owner).map(|(_, asked)| Authentication::of(asked));
        asked.or_else(|| Authentication::of_open_api(owner))
    }

    /// Reads schemes and requirements as OpenAPI has them: any of the requirements is enough.
    fn of_open_api(owner: &Object) -> Option<Authentication> {
        let schemes = owner.get(SCHEMES)?.as_object().filter(|schemes| !schemes.is_empty())?;
        let requirements = owner.get(REQUIRED).and_then(Value::as_array);
        let Some(requirements) = requirements else {
            return Some(Authentication::of(&schemes.values().cloned().collect()));
        };
        let alternatives: Vec<&Object> =
            requirements.iter().filter_map(Value::as_object).take(MOST_SCHEMES + 1).collect();
        let named = alternatives.iter().filter_map(|names| schemes.get(names.keys().next()?));
        let is_required = !alternatives.is_empty() && alternatives.iter().all(|names| !names.is_empty());
        let asked = json!({"required": is_required, "schemes": named.collect::<Vec<&Value>>()});
        let mut read = Authentication::of(&asked);
        // Schemes that are needed together are no alternatives.
        let is_read = |names: &&Object| names.len() < 2 && names.keys().all(|name| schemes.contains_key(name));
        read.is_unclear |= !alternatives.iter().all(is_read);
        Some(read)
    }

    fn of(asked: &Value) -> Authentication {
        let mut read = Authentication { is_required: true, ..Authentication::default() };
        match asked {
            Value::Null | Value::Bool(false) => read.is_required = false,
            _ if size(asked, MOST_BYTES) > MOST_BYTES => read.is_unclear = true,
            Value::String(_) => read.add_all(std::slice::from_ref(asked), &Object::new()),
            Value::Array(schemes) => read.add_all(schemes, &Object::new()),
            Value::Object(members) => read.add_members(members),
            _ => read.is_unclear = true,
        }
        // Of several any will do.
        if let ([Value::Object(only)], true) = (read.headers.as_mut_slice(), read.is_required) {
            only.insert("isRequired".to_owned(), true.into());
        }
        read
    }

    fn add_members(&mut self, members: &Object) {
        let is_open = members.get("required") == Some(&Value::Bool(false));
        let listed: Vec<&Value> =
            SEVERAL.into_iter().filter_map(|name| members.get(name)?.as_array()).flatten().collect();
        match Scheme::of_members(members, members) {
            Some(Scheme::Unknown) if !listed.is_empty() => {}
            Some(own) => self.add(own),
            None if listed.is_empty() && OAUTH.iter().any(|name| members.contains_key(*name)) => {
                self.add(Scheme::named("oauth2", [members, members]));
            }
            None => self.is_unclear = listed.is_empty() && !is_open && members.get("schemes") != Some(&json!([])),
        }
        let is_known = !self.headers.is_empty();
        self.add_all(listed, members);
        // What stands beside a known scheme may only say more of it.
        self.is_unclear &= !is_known;
        self.is_required &= !is_open;
    }

    fn add_all<'s>(&mut self, schemes: impl IntoIterator<Item = &'s Value>, around: &Object) {
        for (index, scheme) in schemes.into_iter().enumerate() {
            self.add(match scheme {
                _ if index == MOST_SCHEMES => Scheme::Unknown,
                _ if index > MOST_SCHEMES => break,
                Value::String(name) => Scheme::named(name, [around, around]),
                Value::Object(members) => Scheme::of_members(members, around).unwrap_or(Scheme::Unknown),
                _ => Scheme::Unknown,
            });
        }
    }

    fn add(&mut self, scheme: Scheme) {
        match scheme {
            Scheme::Open => self.is_required = false,
            Scheme::Unknown => self.is_unclear = true,
            Scheme::Header(header) if self.headers.contains(&header) => {}
            Scheme::Header(header) => self.headers.push(header),
        }
    }

    fn gap(&self) -> Option<&'static str> {
        let gap = match self.headers.is_empty() {
            true => "no header for credentials can be determined, so the Thing Description doesn't declare a header",
            false => "authentication schemes without a known header are left out",
        };
        self.is_unclear.then_some(gap)
    }

    /// Adds the headers that an endpoint doesn't have yet.
    pub(super) fn add_to(&self, remote: &mut Object) {
        add_headers(remote, &self.headers);
    }

    /// True for a header of an endpoint that need not be sent if another one is.
    pub(super) fn is_alternative(&self, header: &Object) -> bool {
        self.headers.len() > 1 && self.headers.iter().any(|one| one.as_object() == Some(header))
    }
}

/// Adds the headers that an endpoint doesn't have yet.
pub(super) fn add_headers(remote: &mut Object, further: &[Value]) {
    if further.is_empty() {
        return;
    }
    let Value::Array(headers) = remote.entry("headers").or_insert_with(|| json!([])) else { return };
    let known: Vec<String> =
        headers.iter().filter_map(|header| Some(header.get("name")?.as_str()?.to_ascii_lowercase())).collect();
    let is_new =
        |header: &&Value| header["name"].as_str().is_some_and(|name| !known.contains(&name.to_ascii_lowercase()));
    headers.extend(further.iter().filter(is_new).cloned());
}

impl Scheme {
    /// The scheme that an object describes; `None` if it names none.
    fn of_members(members: &Object, around: &Object) -> Option<Scheme> {
        let mut named = ONE.into_iter().filter_map(|name| text(members, name)).peekable();
        named.peek()?;
        let read = |name| Scheme::named(name, [members, around]);
        Some(named.map(read).find(|scheme| *scheme != Scheme::Unknown).unwrap_or(Scheme::Unknown))
    }

    /// The scheme of a name; `described` is what says more of it, the nearest first.
    fn named(name: &str, described: [&Object; 2]) -> Scheme {
        let plain = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
        let plain: String = plain.take(32).collect();
        let header = described.into_iter().find_map(|members| {
            let header = ["header", "headerName", "header_name"].into_iter().find_map(|name| text(members, name));
            header.or_else(|| text(members, "name").filter(|_| text(members, "in") == Some("header")))
        });
        let value = match plain.as_str() {
            "none" | "public" | "anonymous" | "open" | "noauth" => return Scheme::Open,
            "basic" | "httpbasic" => Some("Basic {credentials}"),
            "apikey" | "key" | "header" => None,
            name if ["bearer", "oauth", "oidc", "openid", "jwt", "token", "pat"]
                .iter()
                .any(|one| name.contains(one)) =>
            {
                Some("Bearer {token}")
            }
            _ => return Scheme::Unknown,
        };
        let mut header = match (header, value) {
            (Some(header), None) => json!({"name": header}),
            (Some(header), Some(_)) if !header.eq_ignore_ascii_case("authorization") => json!({"name": header}),
            (_, Some(value)) => json!({"name": "Authorization", "value": value}),
            (None, None) => return Scheme::Unknown,
        };
        header["isSecret"] = true.into();
        if let Some(description) = described.into_iter().find_map(|members| text(members, "description")) {
            header["description"] = description.into();
        }
        Scheme::Header(header)
    }
}
