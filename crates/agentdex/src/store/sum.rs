//! `Sum` and `Digest`: checksums for detecting damage.

use ring::digest::{Context, SHA256};

use super::{database::Database, layout, tree::reading};
use crate::Result;

/// The first half of the SHA-256 of a text or an original.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digest(pub [u8; 16]);

impl Digest {
    /// Computes the digest of the given bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest::of_parts(&[bytes])
    }

    fn of_parts(parts: &[&[u8]]) -> Digest {
        let mut context = Context::new(&SHA256);
        parts.iter().for_each(|part| context.update(part));
        Digest(context.finish().as_ref().first_chunk().copied().unwrap_or_default())
    }
}

/// Order-independent checksum: the sum of the digests of keys with their values. It includes the keys that can't be
/// reconstructed from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum(pub u128);

impl Sum {
    /// Prefixes of the keys included in the checksum.
    pub const COUNTED: [&[u8]; 9] = [
        layout::RECORDS,
        layout::METADATA,
        layout::EDITS,
        layout::RESTRICTED,
        layout::KEYS,
        layout::NAMESPACES,
        layout::QUERIES,
        layout::ORIGIN_KEY,
        layout::CLOCK_KEY,
    ];

    /// True if the key is included in the checksum.
    pub fn counts(key: &[u8]) -> bool {
        Sum::COUNTED.iter().any(|prefix| key.starts_with(prefix))
    }

    /// Computes the checksum of a tree.
    pub fn read(tree: &Database) -> Result<Sum> {
        let mut sum = Sum::default();
        for prefix in Sum::COUNTED {
            for pair in tree.scan_prefix(prefix) {
                let (key, value) = pair.map_err(reading)?;
                sum.replace(&key, None, Some(&value));
            }
        }
        Ok(sum)
    }

    /// Replaces a key's previous value in the checksum by its new value.
    pub fn replace(&mut self, key: &[u8], before: Option<&[u8]>, after: Option<&[u8]>) {
        if let Some(before) = before {
            self.0 = self.0.wrapping_sub(of_pair(key, before));
        }
        if let Some(after) = after {
            self.0 = self.0.wrapping_add(of_pair(key, after));
        }
    }
}

fn of_pair(key: &[u8], value: &[u8]) -> u128 {
    let length = u32::try_from(key.len()).unwrap_or(u32::MAX).to_be_bytes();
    u128::from_be_bytes(Digest::of_parts(&[&length, key, value]).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_depends_on_what_is_there_and_not_on_the_way_there() {
        let (mut one, mut other) = (Sum::default(), Sum::default());
        one.replace(b"r/a", None, Some(b"1"));
        one.replace(b"r/b", None, Some(b"2"));
        one.replace(b"r/a", Some(b"1"), Some(b"3"));
        other.replace(b"r/b", None, Some(b"2"));
        other.replace(b"r/a", None, Some(b"3"));
        assert_eq!(one, other);
        other.replace(b"r/b", Some(b"2"), None);
        assert_ne!(one, other);
        other.replace(b"r/a", Some(b"3"), None);
        assert_eq!(other, Sum::default());
        // Where a key ends counts.
        one.replace(b"r/a", Some(b"3"), None);
        one.replace(b"r/b", Some(b"2"), Some(b""));
        other.replace(b"r/", None, Some(b"b"));
        assert_ne!(one, other);
    }

    #[test]
    fn texts_and_what_belongs_to_followers_do_not_count() {
        for key in
            [&b"t/\0\0\0\0\0\0\0\x01"[..], b"l/1", b"h/urn:a", b"n/p/search", b"n/s/session", b"m/state", b"e/urn:a"]
        {
            assert!(!Sum::counts(key), "{key:?}");
        }
        for key in [&b"r/urn:a"[..], b"i/urn:a", b"v/urn:a", b"n/k/1", b"n/n/1", b"n/q/1", b"m/origin"] {
            assert!(Sum::counts(key), "{key:?}");
        }
    }
}
