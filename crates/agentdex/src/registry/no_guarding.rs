//! A registry without a guardian: what `guarding.rs` is in a library without the feature `guardian`.

use std::path::Path;

use super::{Registry, followers::Followers, guardian::Options};
use crate::{Result, store::Store};

/// No guardian.
pub(super) struct Guarding;

impl Guarding {
    /// Opens nothing.
    pub fn open(_: &Path, _: &Options, _: &mut Followers, _: &Store) -> Result<Guarding> {
        Ok(Guarding)
    }

    /// Starts nothing.
    pub fn start(_: &Registry) {}

    /// Ends nothing.
    pub fn stop(&self) {}
}
