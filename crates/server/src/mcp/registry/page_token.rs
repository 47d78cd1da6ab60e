//! Tokens of the next page: a position, for the same arguments in the same registry.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

/// Length of the check in bytes.
const CHECK: usize = 8;

/// Makes the token of a position. `scope` is the list or text that the position is in: its arguments, or the document.
pub(super) fn encode(registry: Uuid, scope: &[u8], position: usize) -> String {
    let position = u64::try_from(position).unwrap_or(u64::MAX).to_be_bytes();
    let check = Uuid::new_v5(&registry, &[scope, &position[..]].concat());
    URL_SAFE_NO_PAD.encode([check.as_bytes().get(..CHECK).unwrap_or_default(), &position].concat())
}

/// Returns the position that a token stands for, 0 without a token.
///
/// # Errors
/// A sentence about a token that belongs to something else.
pub(super) fn decode(registry: Uuid, scope: &[u8], token: Option<&str>) -> Result<usize, String> {
    let Some(token) = token else { return Ok(0) };
    let position = URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| {
        let position = u64::from_be_bytes(bytes.get(CHECK..)?.try_into().ok()?);
        usize::try_from(position).ok()
    });
    position.filter(|position| encode(registry, scope, *position) == token).ok_or_else(|| {
        "page_token is from a call with other arguments, or the document has changed since that call; repeat the \
         arguments of the last call with its next_page_token, or start again without page_token"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_for_one_registry_and_the_same_arguments() {
        let registry = Uuid::from_u128(7);
        let token = encode(registry, b"a", 10);
        assert_eq!(decode(registry, b"a", Some(&token)), Ok(10));
        assert_eq!(decode(registry, b"a", None), Ok(0));
        for (registry, scope, token) in [
            (Uuid::from_u128(8), &b"a"[..], token.as_str()),
            (registry, b"b", &token),
            (registry, b"a", &token[1..]),
            (registry, b"a", ""),
            (registry, b"a", "AAAAAAAAAAAAAAAAAAAAAA"),
        ] {
            assert!(decode(registry, scope, Some(token)).is_err(), "{token}");
        }
    }
}
