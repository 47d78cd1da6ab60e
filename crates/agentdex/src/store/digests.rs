//! `Digests`: digests of all replicated keys and values of a store after a commit. The stores with a shared log compare
//! them, since the checksum in each commit doesn't include everything.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use sled::IVec;

use super::{layout, overlay::Pairs};
use crate::Result;

/// Digests of a store, or the reason why there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digests {
    /// Number of the commit after which the digests were computed.
    pub number: u64,
    /// First halves of SHA-256 digests in hexadecimal, by family of keys.
    #[serde(default)]
    pub families: BTreeMap<String, String>,
    /// Reason why they couldn't be computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Digests {
    /// Computes the digests of the given pairs: all pairs of a store after the commit `number`, ascending by key.
    pub fn of(number: u64, pairs: Result<impl Iterator<Item = Result<(IVec, IVec)>>>) -> Digests {
        match pairs.and_then(digests) {
            Ok(families) => Digests { number, families, problem: None },
            Err(error) => Digests { number, families: BTreeMap::new(), problem: Some(error.to_string()) },
        }
    }
}

fn digests(pairs: impl Iterator<Item = Result<(IVec, IVec)>>) -> Result<BTreeMap<String, String>> {
    let empty = layout::families().map(|family| (family, Context::new(&SHA256)));
    let mut families: BTreeMap<&str, Context> = empty.collect();
    for pair in pairs {
        let (key, value) = pair?;
        let Some(context) = layout::family_of(&key).and_then(|family| families.get_mut(family)) else { continue };
        for part in [&key, &value] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
    }
    let half = |context: Context| HEXLOWER.encode(&context.finish().as_ref()[..16]);
    Ok(families.into_iter().map(|(family, context)| (family.to_owned(), half(context))).collect())
}

/// True for the pairs of a commit after which digests are computed.
pub(super) fn are_asked_for(pairs: &Pairs) -> bool {
    pairs.iter().any(|(key, _)| *key == layout::DIGESTS_KEY)
}
