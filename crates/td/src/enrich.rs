//! Enrichment of a description for clients. The text is assembled from the stored text with a scan and two insertions,
//! without parsing it, since every read of a description does this.

use std::fmt::{self, Write};

use super::{CONTEXT_DISCOVERY, Flag, Registration, members::end_of_string};

/// Remarks of a registry about a description, served as members of its `registration`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Notes<'a> {
    /// Suspicious texts and credentials in the description: `agentdex:flags`.
    pub flags: &'a [Flag],
    /// Ids of the Things of which the description is a part: `agentdex:partOf`.
    pub part_of: &'a [String],
}

/// Returns a description as a registry serves it: with `registration`, which includes any notes, and the discovery
/// context.
///
/// `stored` is the [`text`](super::ThingDescription::text) of an admitted description: a compact JSON object with an
/// `@context` and without `registration`.
pub fn enrich(stored: &str, registration: &Registration, notes: Notes<'_>) -> String {
    let mut enriched = String::with_capacity(stored.len() + 320);
    let rest = match find_context(stored) {
        Some((start, end)) => {
            enriched.push_str(&stored[..start]);
            push_context(&mut enriched, &stored[start..end]);
            &stored[end..]
        }
        None => stored,
    };
    let body = rest.trim_ascii_end();
    let body = body.strip_suffix('}').unwrap_or(body);
    enriched.push_str(body);
    let written = push_registration(&mut enriched, registration, notes);
    debug_assert!(written.is_ok(), "writing to a string can't fail");
    enriched.push('}');
    enriched
}

fn push_context(enriched: &mut String, context: &str) {
    let several = context.strip_prefix('[').and_then(|entries| entries.strip_suffix(']'));
    enriched.push('[');
    match several {
        Some(entries) if entries.trim_ascii().is_empty() => {}
        Some(entries) => {
            enriched.push_str(entries);
            enriched.push(',');
        }
        None => {
            enriched.push_str(context);
            enriched.push(',');
        }
    }
    enriched.push('"');
    enriched.push_str(CONTEXT_DISCOVERY);
    enriched.push_str("\"]");
}

fn push_registration(enriched: &mut String, registration: &Registration, notes: Notes<'_>) -> fmt::Result {
    let Registration { created, modified, expires, ttl, retrieved } = registration;
    write!(enriched, r#","registration":{{"created":"{created}","modified":"{modified}""#)?;
    if let Some(expires) = expires {
        write!(enriched, r#","expires":"{expires}""#)?;
    }
    if let Some(ttl) = ttl {
        write!(enriched, r#","ttl":{ttl}"#)?;
    }
    if let Some(retrieved) = retrieved {
        write!(enriched, r#","retrieved":"{retrieved}""#)?;
    }
    if !notes.part_of.is_empty() {
        let documents = serde_json::to_string(notes.part_of).map_err(|_| fmt::Error)?;
        write!(enriched, r#","agentdex:partOf":{documents}"#)?;
    }
    if !notes.flags.is_empty() {
        let flags = serde_json::to_string(notes.flags).map_err(|_| fmt::Error)?;
        write!(enriched, r#","agentdex:flags":{flags}"#)?;
    }
    enriched.write_char('}')
}

/// Finds the value of the top-level member `@context`: the byte positions of its start and end; none if there is no
/// such member.
pub(super) fn find_context(object: &str) -> Option<(usize, usize)> {
    let bytes = object.as_bytes();
    let mut position = bytes.iter().position(|byte| *byte == b'{')? + 1;
    loop {
        position += bytes.get(position..)?.iter().position(|byte| matches!(byte, b'"' | b'}'))?;
        let name_end = end_of_string(bytes, position);
        let name = object.get(position..name_end)?;
        let colon = name_end + bytes.get(name_end..)?.iter().position(|byte| *byte == b':')?;
        let start = colon + 1 + bytes.get(colon + 1..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let end = end_of_value(bytes, start);
        if name == r#""@context""# {
            return Some((start, end));
        }
        position = end;
    }
}

/// The position after the value that begins at `start`.
fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let mut position = start;
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'"' => {
                position = end_of_string(bytes, position);
                if depth == 0 {
                    return position;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return position,
            b'}' | b']' if depth == 1 => return position + 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return position,
            _ => {}
        }
        position += 1;
    }
    bytes.len()
}
