//! Things as RDF.

use super::{Registry, Thing};
use crate::{Result, td::json_ld::Statements};

impl Registry {
    /// What a Thing says as RDF: the enriched description, read as JSON-LD. Blocks.
    ///
    /// # Errors
    /// As [`Expander::read`](crate::td::json_ld::Expander::read).
    pub fn statements(&self, thing: &Thing) -> Result<Statements> {
        Ok(self.0.expander.read(&thing.enriched())?)
    }
}
