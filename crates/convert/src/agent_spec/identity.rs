//! Ids of Things, derived from the ids of components.

use percent_encoding::utf8_percent_encode;
use serde_json::Value;
use uuid::Uuid;

use super::{
    graph::Key,
    thing::{Mapper, RESERVED},
};
use crate::{Error, Result, td::MAX_ID_BYTES};

/// The namespace of ids that are made of documents without one: version 5 of `urn:agentdex:agent-spec:` in
/// the namespace of URLs (RFC 9562, section 6.6).
const NAMESPACE: Uuid = Uuid::from_u128(0x40d9_5c17_def5_58e1_8eb1_ff07_09ae_714e);

impl Mapper<'_, '_> {
    /// The id that a component has as a Thing: a UUID as it is, another id within the publisher's, and
    /// where there is none one of the content that was sent for the component.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where it would be too long.
    pub(super) fn thing_id(&self, key: Key) -> Result<String> {
        let mut ids = self.ids.borrow_mut();
        let id = ids.entry(key).or_insert_with(|| match self.graph.id(key) {
            Some(id) if !id.is_empty() => of_component(id, &self.options.publisher),
            _ => self.content_id(key),
        });
        if id.len() > MAX_ID_BYTES {
            return Err(Error::LimitExceeded { what: "length of the id in bytes", maximum: MAX_ID_BYTES as u64 });
        }
        Ok(id.clone())
    }

    fn content_id(&self, key: Key) -> String {
        let spot = self.graph.at(key);
        let sent = self.sent.pointer(&spot.pointer).filter(|_| spot.document == 0);
        let canonical = match sent {
            Some(value) => sorted(value).to_string(),
            None => sorted(&Value::Object(self.graph.component(key).members.clone())).to_string(),
        };
        format!("urn:uuid:{}", Uuid::new_v5(&NAMESPACE, canonical.as_bytes()))
    }
}

fn of_component(id: &str, publisher: &str) -> String {
    let uuid =
        id.get(..9).filter(|start| start.eq_ignore_ascii_case("urn:uuid:")).map_or(id, |start| &id[start.len()..]);
    // Other ways to write a UUID are too easily something else.
    let is_uuid = |uuid: &str| uuid.len() == 36 && Uuid::try_parse(uuid).is_ok();
    match is_uuid(uuid) {
        true => format!("urn:uuid:{}", uuid.to_ascii_lowercase()),
        false => format!("urn:agentspec:{}:{}", encoded(publisher), encoded(id)),
    }
}

/// A value whose members are sorted, whatever order serde_json was asked for.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        scalar => scalar.clone(),
    }
}

fn encoded(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_stays_one_and_other_ids_are_the_publishers() {
        let uuid = "6F1D3A7A-1f97-4e6b-b45f-f3c2e1c84c77";
        assert_eq!(of_component(uuid, "local"), "urn:uuid:6f1d3a7a-1f97-4e6b-b45f-f3c2e1c84c77");
        assert_eq!(of_component(&format!("urn:uuid:{uuid}"), "local"), of_component(uuid, "acme"));
        assert_eq!(of_component("my agent/1", "local"), "urn:agentspec:local:my%20agent%2F1");
        assert_eq!(
            of_component("6f1d3a7a1f974e6bb45ff3c2e1c84c77", "a:b"),
            "urn:agentspec:a%3Ab:6f1d3a7a1f974e6bb45ff3c2e1c84c77"
        );
        assert_eq!(of_component("é", "local"), "urn:agentspec:local:%C3%A9");
    }

    #[test]
    fn namespace_is_what_it_is_said_to_be() {
        let url = crate::agent_spec::AGENT_SPEC_NAMESPACE;
        assert_eq!(NAMESPACE, Uuid::new_v5(&Uuid::NAMESPACE_URL, url.as_bytes()));
    }
}
