//! Validation of agents' answers against the declared output of their actions.

use serde_json::Value;

use super::Registry;
use crate::{
    Error, Result,
    sacp::{Answer, DataContract, Expected, Given, read_answer},
};

/// Maximum number of actions named in an error.
const MOST_NAMED: usize = 20;

impl Registry {
    /// Reads an agent's answer to an action as an SACP response, and validates its data against the action's `output`.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NoSuchAction`], for example if the action declares no SACP responses,
    /// [`Error::InvalidId`], [`Error::Store`].
    pub fn check_response(&self, id: &str, action: &str, text: &str) -> Result<Answer> {
        let contract = self.response_contract(id, action)?;
        Ok(read_answer(&Given::text(text), &Expected::response(Some(contract))))
    }

    /// Returns the contract that an action's `output` declares for its responses in SACP.
    ///
    /// # Errors
    /// Same as [`Registry::check_response`].
    pub fn response_contract(&self, id: &str, action: &str) -> Result<DataContract> {
        let thing = self.find(id)?.ok_or_else(|| Error::NotFound { id: id.to_owned() })?;
        let refuse = |reason: String| Error::NoSuchAction { id: id.to_owned(), action: action.to_owned(), reason };
        let description: Value = serde_json::from_str(thing.text())
            .map_err(|source| Error::Store { doing: "reading a stored description", source: source.into() })?;
        let Some(found) = description["actions"].get(action) else {
            let names: Vec<&str> = description["actions"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .take(MOST_NAMED)
                .collect();
            return Err(refuse(match names.is_empty() {
                true => "it has no actions".to_owned(),
                false if names.len() == MOST_NAMED => {
                    format!("its first {MOST_NAMED} actions are {}", names.join(", "))
                }
                false => format!("its actions are {}", names.join(", ")),
            }));
        };
        let contract = DataContract::of_action(found).map_err(|error| refuse(error.to_string()))?;
        contract.ok_or_else(|| {
            refuse(
                "the `output` of the action doesn't declare SACP responses (\"@type\": \"sacp:Response\")".to_owned(),
            )
        })
    }
}
