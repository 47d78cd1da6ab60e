//! Names of servers, which determine the id of the Thing without an index.
//!
//! By default, the id of a Thing is derived from the name in its document; the server then has this name. Otherwise, its name is an
//! encoding of the id, in the namespace `agentdex`. This prevents callers from taking a name by registering a document
//! under another id.

use std::fmt::Write;

use crate::convert::mcp_server::{self, is_name};

/// Namespace of names that encode ids.
const OWN_NAMESPACE: &str = "agentdex/";
/// Maximum length of a name.
const LONGEST: usize = 200;

/// Returns the name of the Thing `id`, given the name in its document, or `None` if the id is too long.
pub(super) fn name_of(id: &str, in_document: &str) -> Option<String> {
    if is_name(in_document) && !in_document.starts_with(OWN_NAMESPACE) && mcp_server::id_of(in_document) == id {
        return Some(in_document.to_owned());
    }
    let mut name = OWN_NAMESPACE.to_owned();
    for byte in id.bytes() {
        match byte {
            b':' => name.push_str("__"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => name.push(byte.into()),
            byte => {
                // Writing to a string doesn't fail.
                let _ = write!(name, "_{byte:02X}");
            }
        }
    }
    (name.len() <= LONGEST).then_some(name)
}

/// Returns the id of the Thing with a name.
pub(super) fn id_of(name: &str) -> Option<String> {
    let Some(made) = name.strip_prefix(OWN_NAMESPACE) else {
        return is_name(name).then(|| mcp_server::id_of(name));
    };
    let (mut id, mut rest) = (Vec::new(), made.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'_', [b'_', after @ ..]) => {
                id.push(b':');
                rest = after;
            }
            (b'_', [high, low, after @ ..]) => {
                id.push(u8::from_str_radix(str::from_utf8(&[*high, *low]).ok()?, 16).ok()?);
                rest = after;
            }
            (b'_', _) => return None,
            (plain, _) => id.push(plain),
        }
    }
    String::from_utf8(id).ok().filter(|id| name_of(id, "").as_deref() == Some(name))
}

/// Returns the namespace of a name, or `None` for an encoded id.
pub(super) fn namespace(name: &str) -> Option<&str> {
    if name.starts_with(OWN_NAMESPACE) { None } else { name.split_once('/').map(|(namespace, _)| namespace) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_determine_ids() {
        for (id, in_document, name) in [
            ("urn:agentdex:mcp:com.example/a_b", "com.example/a_b", "com.example/a_b"),
            ("urn:example:clock", "com.example/clock", "agentdex/urn__example__clock"),
            ("urn:a_b:c/d", "", "agentdex/urn__a_5Fb__c_2Fd"),
            ("urn:agentdex:mcp:data%20base", "data base", "agentdex/urn__agentdex__mcp__data_2520base"),
            ("urn:agentdex:mcp:agentdex/x", "agentdex/x", "agentdex/urn__agentdex__mcp__agentdex_2Fx"),
            ("urn:ü", "", "agentdex/urn___C3_BC"),
        ] {
            assert_eq!(name_of(id, in_document).as_deref(), Some(name));
            assert_eq!(id_of(name).as_deref(), Some(id), "{name}");
        }
        assert_eq!(name_of(&format!("urn:{}", "x".repeat(200)), ""), None);
        for other in
            ["", "a", "a/b/c", "agentdex/", "agentdex/_", "agentdex/_4", "agentdex/_41", "agentdex/a_3A", "ü/b"]
        {
            assert!(id_of(other).is_none_or(|id| id.is_empty()), "{other}");
        }
    }
}
