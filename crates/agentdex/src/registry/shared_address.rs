//! Warning about a new agent with the address of another agent: it may be the same one with a new name.

use super::{Registry, names::address_of};
use crate::{
    Result,
    convert::{ConvertedThing, ImportOptions},
    td::{self, Violation},
};

/// Maximum numbers of agents at one address: compared, and named in the warning.
const MOST_COMPARED: usize = 16;
const MOST_NAMED: usize = 3;

impl Registry {
    /// Returns a warning if the document of a new Thing gives the address of other Things in its format, and its id is made of
    /// its name. Only Things that the caller may change are named.
    pub(super) fn shared_address(&self, thing: &ConvertedThing, options: &ImportOptions) -> Result<Option<Violation>> {
        let format = thing.source.format.name();
        let Some(address) = address_of(format, thing.description.value()) else { return Ok(None) };
        let own = td::normalize_id(&thing.id)?;
        if options.text("id").is_some() || self.0.store.find(&own)?.is_some() {
            return Ok(None);
        }
        let mut named = Vec::new();
        for id in self.0.flags.find_by_address(address).into_iter().filter(|id| *id != own).take(MOST_COMPARED) {
            let record = self.find_record(&id)?.filter(|record| record.format.as_deref() == Some(format));
            if record.is_some_and(|record| record.access.lets_change(self.caller())) && named.len() < MOST_NAMED {
                named.push(format!("{id:?}"));
            }
        }
        let message = format!(
            "the URL of this agent is already registered with a different name (as {}), so this document got a new id; \
             if both are the same agent, remove the new Thing ({own:?}), and import the document under the existing id \
             (`id`, `--id`)",
            named.join(", ")
        );
        Ok((!named.is_empty()).then(|| Violation::new("", "same-address", message)))
    }
}
