//! How a database that calls a language model is let in.

use super::{Demand, Key, Rules};

impl Rules<'_, '_> {
    /// There is a credential, or a local host for the providers that have one.
    pub(super) fn credential(&mut self, key: Key) {
        let is_given = |field| self.graph.field(key, field).is_some_and(|value| !value.is_null());
        let message = match (is_given("host"), is_given("credential_name")) {
            (true, true) => "only one of `host` and `credential_name` can be given",
            (false, false) => "a `credential_name` is needed where no `host` is given",
            (true, false) => match self.graph.text(key, "provider") {
                None | Some("openai" | "ollama") => return,
                Some(_) => "only the providers `openai` and `ollama` can have a `host`",
            },
            (false, true) => return,
        };
        self.report(Demand::Both, "llm-credential", || self.graph.at(key), || message);
    }
}
