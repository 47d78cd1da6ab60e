//! Replacement for `guarding.rs` in builds without the feature `guardian`.

use std::path::Path;

use super::{followers::Followers, guardian::Options, measures::Measures};
use crate::{Result, store::Store};

/// No guardian.
pub(super) struct Guarding;

impl Guarding {
    /// Does nothing.
    pub fn open(_: &Path, _: &Options, _: &mut Followers, _: &Store, _: &Measures) -> Result<Guarding> {
        Ok(Guarding)
    }

    /// Does nothing.
    pub fn stop(&self) {}
}
