//! Rules for the credential or host of a language model called by a database.

use super::{Demand, Key, Rules};

/// Fields for calling other language models, which this one doesn't take.
const NOT_TAKEN: [&str; 3] = ["api_provider", "api_type", "api_key"];

impl Rules<'_, '_> {
    /// There is a credential, or a local host for the providers that have one, and no key.
    pub(super) fn credential(&mut self, key: Key) {
        let graph = self.graph;
        let is_given =
            |field| graph.is_withheld(key, field) || graph.field(key, field).is_some_and(|value| !value.is_null());
        for field in NOT_TAKEN.into_iter().filter(|field| is_given(field)) {
            self.report(
                Demand::Both,
                "llm-credential",
                || graph.at(key).member(field),
                || {
                    format!(
                        "`{field}` is not accepted: the database calls the model with the credential named by \
                         `credential_name`"
                    )
                },
            );
        }
        let message = match (is_given("host"), is_given("credential_name")) {
            (true, true) => "only one of `host` and `credential_name` can be given",
            (false, false) => "a `credential_name` is needed unless a `host` is given",
            (true, false) => match graph.text(key, "provider") {
                None | Some("openai" | "ollama") => return,
                Some(_) => "only the providers `openai` and `ollama` can have a `host`",
            },
            (false, true) => return,
        };
        self.report(Demand::Both, "llm-credential", || graph.at(key), || message);
    }
}
