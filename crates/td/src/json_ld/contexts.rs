//! The known JSON-LD contexts, and their loader for the `json-ld` crate.

use std::{cell::RefCell, sync::LazyLock};

use json_ld::{Iri, IriBuf, LoadError, Loader, RemoteDocument, syntax};
use serde_json::Value;

use super::json::to_syntax;

/// The bundled contexts, written from the tables of terms of the vocabularies: URL and document.
const CONTEXTS: [(&str, &str); 10] = [
    ("https://www.w3.org/2022/wot/td/v1.1", include_str!("../../schemas/contexts/td-1.1.jsonld")),
    ("https://www.w3.org/2019/wot/td/v1", include_str!("../../schemas/contexts/td-1.0.jsonld")),
    ("https://www.w3.org/2022/wot/discovery", include_str!("../../schemas/contexts/discovery.jsonld")),
    (
        "https://w3c.github.io/wot-discovery/context/discovery-context.jsonld",
        include_str!("../../schemas/contexts/discovery.jsonld"),
    ),
    ("https://eclipse.dev/lmos/protocol/v1", include_str!("../../schemas/contexts/lmos.jsonld")),
    ("https://eclipse.dev/lmos/protocol/v1/", include_str!("../../schemas/contexts/lmos.jsonld")),
    ("https://eclipse.dev/lmos/protocol/v1#", include_str!("../../schemas/contexts/lmos.jsonld")),
    ("urn:agentdex:", include_str!("../../schemas/contexts/agentdex.jsonld")),
    ("urn:agentdex:a2a:", include_str!("../../schemas/a2a.jsonld")),
    ("urn:agentdex:agent-spec:", include_str!("../../schemas/agent-spec.jsonld")),
];

/// The bundled contexts, parsed.
static PARSED: LazyLock<Vec<(&str, syntax::Value)>> = LazyLock::new(|| {
    let parsed = CONTEXTS.iter().map(|(url, text)| {
        let context = serde_json::from_str::<Value>(text).unwrap_or_default();
        (*url, to_syntax(context))
    });
    parsed.collect()
});

/// True if there is a context at this URL.
pub(crate) fn is_known(url: &str) -> bool {
    CONTEXTS.iter().any(|(known, _)| *known == url)
}

/// Loader of the bundled contexts. Any other URL is remembered, and yields an empty context.
#[derive(Debug, Default)]
pub(super) struct BundledContexts {
    unknown: RefCell<Vec<String>>,
}

impl BundledContexts {
    /// Returns the unknown URLs requested since the last call.
    pub fn take_unknown(&self) -> Vec<String> {
        self.unknown.take()
    }
}

impl Loader for BundledContexts {
    async fn load(&self, url: &Iri) -> Result<RemoteDocument<IriBuf>, LoadError> {
        let known = PARSED.iter().find(|(known, _)| *known == url.as_str());
        let context = known.map_or_else(
            || {
                let mut unknown = self.unknown.borrow_mut();
                if !unknown.iter().any(|known| known == url.as_str()) {
                    unknown.push(url.as_str().to_owned());
                }
                to_syntax(serde_json::json!({"@context": {}}))
            },
            |(_, context)| context.clone(),
        );
        Ok(RemoteDocument::new(Some(url.to_owned()), None, context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bundled_context_is_json_with_a_context() {
        for (url, text) in CONTEXTS {
            let parsed: Value = serde_json::from_str(text).unwrap_or_default();
            assert!(parsed["@context"].is_object(), "{url}");
        }
    }
}
