//! A registry without a guardian: what `guarding.rs` is in a library without the feature `guardian`.

use std::path::Path;

use super::{followers::Followers, guardian::Options, measures::Measures};
use crate::{Result, store::Store};

/// No guardian.
pub(super) struct Guarding;

impl Guarding {
    /// Opens nothing.
    pub fn open(_: &Path, _: &Options, _: &mut Followers, _: &Store, _: &Measures) -> Result<Guarding> {
        Ok(Guarding)
    }

    /// Ends nothing.
    pub fn stop(&self) {}
}
