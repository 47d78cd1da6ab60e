//! Commits that another store has decided: verification, and folding of several commits into one.

use std::collections::BTreeMap;

use sled::IVec;

use super::{
    commit_log::{Arrived, Stamp},
    database::Database,
    effects::value_of,
    layout,
    overlay::{Pairs, Sealed},
    sum::Sum,
    tree::{Before, reading},
    value::State,
};
use crate::Error;

#[cfg(test)]
pub(super) mod tests;

/// Maximum size of an installed commit in bytes, keys and values together.
pub(super) const MAX_COMMIT_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of commits that are folded together.
const MAX_FOLDED: u64 = 64;

/// Maximum size of the keys and values of folded commits, in bytes.
const MAX_FOLDED_BYTES: usize = 8 * 1024 * 1024;

/// Pairs of consecutive commits, in which later values of a key replace earlier ones.
#[derive(Debug, Clone)]
pub(super) struct Folded {
    pairs: BTreeMap<IVec, Option<IVec>>,
    commits: u64,
    /// Size of all keys and values in bytes, including replaced values.
    bytes: usize,
    is_foldable: bool,
    /// Stamp of the last commit.
    stamp: Option<Stamp>,
}

#[cfg(test)]
impl From<Pairs> for Folded {
    fn from(pairs: Pairs) -> Folded {
        Folded::of(pairs, 1)
    }
}

impl From<Arrived> for Folded {
    /// Wraps a single commit.
    fn from(Arrived { pairs, stamp }: Arrived) -> Folded {
        Folded { stamp, ..Folded::of(pairs, 1) }
    }
}

impl Folded {
    /// Wraps the combined pairs of a number of commits.
    pub fn of(pairs: Pairs, commits: u64) -> Folded {
        let bytes = pairs.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, |value| value.len())).sum();
        let is_foldable = pairs.iter().all(is_foldable);
        Folded { pairs: pairs.into_iter().collect(), commits, bytes, is_foldable, stamp: None }
    }

    /// Folds consecutive commits, so that a store that is behind installs fewer batches. A commit is not folded if its
    /// intermediate values matter to the state in memory.
    pub fn fold<C: Into<Folded>>(commits: impl IntoIterator<Item = C>) -> Vec<Folded> {
        let mut folded: Vec<Folded> = Vec::new();
        for commit in commits.into_iter().map(C::into) {
            match folded.last_mut() {
                Some(last) if last.has_room_for(&commit) => last.append(commit),
                _ => folded.push(commit),
            }
        }
        folded
    }

    /// Returns the stamp of the last commit, as a pair to be written with it.
    pub fn stamped(&self) -> Pairs {
        stamped(self.stamp.clone())
    }

    /// True for a commit after which digests are computed.
    pub fn asks_for_digests(&self) -> bool {
        self.pairs.contains_key(layout::DIGESTS_KEY)
    }

    /// Returns the size of the keys and values in bytes, including replaced values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn has_room_for(&self, next: &Folded) -> bool {
        let is_small = self.commits < MAX_FOLDED && self.bytes + next.bytes <= MAX_FOLDED_BYTES;
        is_small && self.is_foldable && next.is_foldable
    }

    fn append(&mut self, next: Folded) {
        self.pairs.extend(next.pairs);
        self.commits += next.commits;
        self.bytes += next.bytes;
        self.stamp = next.stamp;
    }
}

/// Returns the stamp of a commit, as a pair to be written with it.
pub(super) fn stamped(stamp: Option<Stamp>) -> Pairs {
    stamp.map(|stamp| (layout::NODE_KEY.into(), Some(stamp))).into_iter().collect()
}

/// True for a pair of which only the last value matters. Entries of the log must not be dropped by the batch that adds
/// them.
fn is_foldable((key, value): &(IVec, Option<IVec>)) -> bool {
    const OTHERS: [&[u8]; 5] =
        [layout::RESTRICTED, b"n/", layout::CLOCK_KEY, layout::AUDIT_DROPPED_KEY, layout::DIGESTS_KEY];
    !OTHERS.iter().any(|prefix| key.starts_with(prefix)) && (value.is_some() || !key.starts_with(layout::LOG))
}

/// Reason why a commit can't be installed.
#[derive(Debug, thiserror::Error)]
pub(super) enum InstallError {
    /// This store no longer equals the store that decided the commit.
    #[error(
        "commit {commit} gives a different checksum here: this store has diverged from the store that wrote the commit"
    )]
    Diverged {
        /// Number of the commit.
        commit: u64,
    },
    /// The commit doesn't follow the last commit of this store.
    #[error("commit {commit} doesn't follow commit {last}")]
    OutOfOrder {
        /// Number of the commit.
        commit: u64,
        /// Number of the last commit of this store.
        last: u64,
    },
    /// The commit writes a node-local key.
    #[error("the commit writes the key {key:?}, which is local to each store")]
    NotReplicated {
        /// First such key.
        key: String,
    },
    /// The commit is too large.
    #[error("the commit has {bytes} bytes, but at most {MAX_COMMIT_BYTES} are allowed")]
    TooLarge {
        /// Size of the commit.
        bytes: usize,
    },
    /// A key or value can't be read, or the commit can't be written.
    #[error(transparent)]
    Store(#[from] Error),
}

impl Sealed {
    /// Verifies commits that were decided on a store in the state `before`.
    pub fn of_pairs(
        tree: &Database,
        before: &State,
        Folded { pairs, commits, bytes, .. }: Folded,
    ) -> std::result::Result<Sealed, InstallError> {
        let pairs: Pairs = pairs.into_iter().collect();
        if let Some((key, _)) = pairs.iter().find(|(key, _)| !layout::is_replicated(key)) {
            return Err(InstallError::NotReplicated { key: key.escape_ascii().to_string() });
        }
        if bytes > MAX_COMMIT_BYTES {
            return Err(InstallError::TooLarge { bytes });
        }
        let state = State::decode(value_of(&pairs, layout::STATE_KEY).ok_or_else(layout::corrupt)?)?;
        if state.commit != before.commit + commits {
            return Err(InstallError::OutOfOrder { commit: state.commit, last: before.commit });
        }
        let (mut sum, mut hidden, mut revokes) = (before.sum, Before::new(), false);
        for (key, value) in &pairs {
            let (is_counted, is_hidden) = (Sum::counts(key), layout::is_hidden_until_durable(key));
            if !is_counted && !is_hidden {
                continue;
            }
            let former = tree.get(key).map_err(reading)?;
            if is_counted {
                sum.replace(key, former.as_deref(), value.as_deref());
                revokes |= former.is_some() && layout::grants(key);
            }
            if is_hidden {
                hidden.insert(key.clone(), former);
            }
        }
        if sum != state.sum {
            return Err(InstallError::Diverged { commit: state.commit });
        }
        Ok(Sealed { pairs, before: hidden, state, revokes })
    }
}
