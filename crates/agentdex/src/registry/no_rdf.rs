//! Replacement for `rdf.rs` in builds without the feature `sparql`.

use super::followers::Followers;
use crate::{Result, store::Store};

/// Neither an expander nor statements.
pub(super) struct Rdf;

impl Rdf {
    /// Starts nothing: options that ask for SPARQL were refused.
    pub fn open(_: bool, _: &mut Followers, _: &Store) -> Result<Rdf> {
        Ok(Rdf)
    }
}
