//! The tokens in links to the next page: where in the order of ids a page starts.
//!
//! A token names the last id of the page before. What is written meanwhile doesn't invalidate it: the next
//! page is what comes after that id then. A check makes sure that it comes from a link of this registry, so
//! that a token that was cut or made up is an error and not a page.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

/// Length of the check in bytes.
const CHECK: usize = 8;

/// Makes the token of the page after `id` in the registry with that uuid.
pub(super) fn encode(registry: Uuid, id: &str) -> String {
    let check = Uuid::new_v5(&registry, id.as_bytes());
    URL_SAFE_NO_PAD.encode([check.as_bytes().get(..CHECK).unwrap_or_default(), id.as_bytes()].concat())
}

/// Decodes a token to an id. Returns `None` for anything but a token of this registry.
pub(super) fn decode(registry: Uuid, token: &str) -> Option<String> {
    let id = URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes.get(CHECK..)?.to_vec()).ok());
    id.filter(|id| encode(registry, id) == token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_the_registry() {
        let registry = Uuid::from_u128(7);
        for id in ["urn:example:a", "urn:ü", ""] {
            assert_eq!(decode(registry, &encode(registry, id)).as_deref(), Some(id));
        }
        let token = encode(registry, "urn:example:a");
        let mut forged = token.clone();
        forged.replace_range(..1, if token.starts_with('A') { "B" } else { "A" });
        for other in
            ["", "urn:example:a", "AAAA", &token[1..], &token[..token.len() - 2], &format!("{token}="), &forged]
        {
            assert!(decode(registry, other).is_none(), "{other}");
        }
        assert!(decode(Uuid::from_u128(8), &token).is_none());
    }
}
