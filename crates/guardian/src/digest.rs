//! The hash of what is exchanged, of long ids, and of the ids of spans.

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest as hash};

/// SHA-256 as `sha256:` and hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(hash(&SHA256, bytes).as_ref()))
}
