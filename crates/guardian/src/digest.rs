//! The hash of what is exchanged, of long ids, and of the ids of spans.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// SHA-256 as `sha256:` and hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}
