//! Descriptions of agents as resources.

use std::collections::HashMap;

use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::{
    super::{
        foreign_text::escape,
        resources::{Resources, Template},
    },
    RegistryTools,
};
use crate::{Error, registry::Event, td};

/// Start of the URI of an agent; its id follows, percent-encoded.
const THINGS: &str = "agentdex://things/";

impl Resources for RegistryTools {
    fn template(&self) -> Template {
        Template {
            uri: "agentdex://things/{id}",
            name: "agent",
            title: "Description of an agent",
            media_type: "application/td+json",
        }
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        async move {
            let Some(id) = id_of(uri) else { return Ok(None) };
            let registry = self.registry.clone();
            let find = move || match Self::stored_id(&registry, &id).and_then(|id| registry.find(&id)) {
                Ok(found) => Ok(json!(found.map(|thing| thing.enriched()))),
                Err(Error::InvalidId { .. }) => Ok(Value::Null),
                Err(error) => Err(error),
            };
            let found = RegistryTools::read(self, find).await?;
            // In JSON, the codes of characters stand for them. Outside of its strings there are line breaks only.
            Ok(found.as_str().map(|text| escape(text.replace('\r', "\n"))))
        }
        .boxed()
    }

    fn changes(&self, uris: &[String]) -> BoxStream<'static, String> {
        let mut by_id: HashMap<String, Vec<String>> = HashMap::new();
        for uri in uris {
            if let Some(id) = id_of(uri) {
                by_id.entry(id).or_default().push(uri.clone());
            }
        }
        let changes = stream::unfold(self.registry.subscribe(self.since), |mut changes| async move {
            Some((changes.next_event().await?.ok()?, changes))
        });
        let changed = changes.flat_map(move |event| {
            stream::iter(match event {
                Event::Change(change) => by_id.get(&change.id).cloned().unwrap_or_default(),
                // Changes were missed: any of them may be among those.
                Event::Resync(_) => by_id.values().flatten().cloned().collect(),
            })
        });
        changed.take_until((self.stopped)()).boxed()
    }
}

/// Returns the id of the agent that a URI names, or `None` for a URI of another kind.
fn id_of(uri: &str) -> Option<String> {
    let id = percent_decode_str(uri.strip_prefix(THINGS)?).decode_utf8().ok()?;
    td::normalize_id(&id).ok().map(|id| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_percent_encoded_or_as_they_are() {
        for uri in ["agentdex://things/urn:x:a", "agentdex://things/urn%3Ax%3Aa"] {
            assert_eq!(id_of(uri).as_deref(), Some("urn:x:a"), "{uri}");
        }
        for other in ["", "urn:x:a", "agentdex://agents/urn:x:a", "agentdex://things/%ff", "http://things/urn:x:a"] {
            assert_eq!(id_of(other), None, "{other}");
        }
    }
}
