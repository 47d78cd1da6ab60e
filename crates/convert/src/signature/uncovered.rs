//! Detection of significant members of a card that a form omits. Anyone can add such members to a card without
//! invalidating its signature.
//!
//! The form of the specification omits default values, but some default values affect requirements. The stripped form
//! omits all empty values. Two kinds of empty values are harmless: those that mean the same as an absent member, and
//! those that SDKs strip from valid cards (requirements that name schemes without scopes, and mutual TLS, which is a
//! scheme without members).

use serde_json::{Map, Value};

use super::presence::{Kind, Message, card_message, is_default, is_hollow};
use crate::td::internal::Path;

/// The members of cards and skills with requirements, of either generation: readers take one for the other.
const REQUIREMENTS: [&str; 2] = ["security", "securityRequirements"];
/// A scheme that has no members.
const MUTUAL_TLS: &str = "mtlsSecurityScheme";

/// A JSON Pointer to the first place of a card that isn't covered. `strips` is whether what is empty
/// was taken away, or defaults only.
pub(super) fn find(card: &Value, strips: bool) -> Option<String> {
    let members = card.as_object()?;
    let root = Path::ROOT;
    // It decides of which generation the card is.
    if strips && members.get("supportedInterfaces").is_some_and(is_hollow) {
        return Some(root.member("supportedInterfaces").to_pointer());
    }
    Walk { strips }.object(card_message(card), members, &root)
}

#[derive(Clone, Copy)]
struct Walk {
    strips: bool,
}

impl Walk {
    fn object(self, message: &Message, members: &Map<String, Value>, at: &Path<'_>) -> Option<String> {
        members.iter().filter(|(name, _)| *name != "signatures").find_map(|(name, value)| {
            let at = at.member(name);
            if REQUIREMENTS.contains(&name.as_str()) {
                return self.requirements(value, &at);
            }
            match message.kind_of(name) {
                Some(_) if value.is_null() => None,
                Some(kind) => self.known(kind, value, &at),
                None => self.emptied(value, &at),
            }
        })
    }

    fn known(self, kind: Kind, value: &Value, at: &Path<'_>) -> Option<String> {
        match (kind, value) {
            (Kind::Telling, value) => self.emptied(value, at),
            (Kind::Choice(_), value) if is_hollow(value) => self.emptied(value, at),
            (Kind::One(message) | Kind::Choice(message), Value::Object(members)) => self.object(message, members, at),
            (Kind::List(message), Value::Array(items)) => items.iter().enumerate().find_map(|(index, item)| {
                let at = at.index(index);
                match item {
                    Value::Object(members) if !is_hollow(item) => self.object(message, members, &at),
                    item => self.emptied(item, &at),
                }
            }),
            (Kind::Map(message), Value::Object(entries)) => entries.iter().find_map(|(name, entry)| {
                let at = at.member(name);
                match entry {
                    _ if is_mutual_tls(entry) => None,
                    Value::Object(members) if !is_hollow(entry) => self.object(message, members, &at),
                    entry => self.emptied(entry, &at),
                }
            }),
            (_, value) => self.emptied_within(value, at),
        }
    }

    /// Requirements of a card or skill: alternatives, or what is read as one.
    fn requirements(self, value: &Value, at: &Path<'_>) -> Option<String> {
        match value {
            Value::Null => None,
            Value::Array(items) => {
                items.iter().enumerate().find_map(|(index, item)| self.requirement(item, &at.index(index)))
            }
            one if is_default(one) => Some(at.to_pointer()),
            one => self.requirement(one, at),
        }
    }

    /// Schemes that are needed together: none at all says that nothing is needed.
    fn requirement(self, value: &Value, at: &Path<'_>) -> Option<String> {
        let Value::Object(members) = value else { return self.emptied(value, at) };
        if members.is_empty() {
            return self.emptied(value, at);
        }
        let Some(schemes) = members.get("schemes") else { return self.schemes(members, at) };
        let place = at.member("schemes");
        match schemes {
            // Beside others it decides whether they are read.
            _ if members.len() > 1 && is_default(schemes) => Some(place.to_pointer()),
            _ if members.len() > 1 => self.emptied(value, at),
            Value::Object(schemes) if schemes.is_empty() => self.emptied(value, at),
            Value::Object(schemes) => self.schemes(schemes, &place),
            schemes if is_default(schemes) => Some(place.to_pointer()),
            schemes => self.emptied(schemes, &place),
        }
    }

    /// Schemes with the scopes that are needed: `[]`, `{}` and `{"list": []}` all name none.
    fn schemes(self, schemes: &Map<String, Value>, at: &Path<'_>) -> Option<String> {
        schemes.iter().find_map(|(name, scopes)| {
            let at = at.member(name);
            let (list, at) = match (scopes.as_object().map(Map::len), scopes.get("list")) {
                (Some(0), _) => return None,
                (Some(1), Some(list)) => (list, at.member("list")),
                _ => (scopes, at),
            };
            match list {
                Value::Array(scopes) if scopes.is_empty() => None,
                // It is read as one scope, and a default all the same.
                Value::String(text) if text.is_empty() => Some(at.to_pointer()),
                list => self.emptied(list, &at),
            }
        })
    }

    /// The first place in a value that is taken away, be it the value itself.
    fn emptied(self, value: &Value, at: &Path<'_>) -> Option<String> {
        if self.strips && is_hollow(value) { Some(at.to_pointer()) } else { self.emptied_within(value, at) }
    }

    fn emptied_within(self, value: &Value, at: &Path<'_>) -> Option<String> {
        match value {
            _ if !self.strips => None,
            Value::Array(items) => {
                items.iter().enumerate().find_map(|(index, item)| self.emptied(item, &at.index(index)))
            }
            Value::Object(members) => members.iter().find_map(|(name, member)| self.emptied(member, &at.member(name))),
            _ => None,
        }
    }
}

/// Beside another scheme it would be a second one.
fn is_mutual_tls(entry: &Value) -> bool {
    let members = entry.as_object().filter(|members| members.len() == 1);
    let scheme = members.and_then(|members| members.get(MUTUAL_TLS)).and_then(Value::as_object);
    scheme.is_some_and(|scheme| scheme.iter().all(|(name, value)| name == "description" && value.is_string()))
}
