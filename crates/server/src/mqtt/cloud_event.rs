//! Changes as CloudEvents 1.0 in the structured JSON mode (CloudEvents, MQTT protocol binding, section 3.2).

use serde_json::Value;

use crate::change::{Change, Position, Timestamp};

/// The media type of the events.
pub(super) const MEDIA_TYPE: &str = "application/cloudevents+json; charset=utf-8";

/// Writes the events of one registry.
#[derive(Debug, Clone)]
pub(super) struct CloudEvents {
    source: String,
}

impl CloudEvents {
    pub fn new(registry_id: uuid::Uuid) -> CloudEvents {
        CloudEvents { source: format!("urn:agentdex:registry:{registry_id}") }
    }

    /// The registry, as the events name it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The event of a change; its data is the same as in SSE with `diff=true`. For a deletion, it is
    /// only the id, and the extension attribute `reason` contains the reason.
    pub fn event(&self, change: &Change) -> String {
        let (kind, data) = (change.kind.as_str(), change.event_data(true));
        let mut attributes = format!("\"subject\":{},", Value::from(change.id.as_str()));
        if let Some(reason) = change.reason {
            attributes.push_str(&format!("\"reason\":\"{reason}\","));
        }
        self.write(change.position(), kind, &attributes, change.at, &data)
    }

    /// The event for subscribers that missed changes that are no longer in the log; the next change is the one
    /// after `cursor`.
    pub fn resync(&self, cursor: Position) -> String {
        self.write(cursor, "resync", "", Timestamp::now(), &format!("{{\"cursor\":\"{cursor}\"}}"))
    }

    fn write(&self, cursor: Position, kind: &str, attributes: &str, time: Timestamp, data: &str) -> String {
        format!(
            "{{\"specversion\":\"1.0\",\"id\":\"{cursor}\",\"source\":\"{}\",\"type\":\"io.agentdex.{kind}\",{attributes}\
             \"time\":\"{time}\",\"datacontenttype\":\"application/json\",\"data\":{data}}}",
            self.source
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::change::{ChangeKind, DeletionReason, Epoch, Seq};

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn change_becomes_a_cloud_event() {
        let change = Change {
            epoch: Epoch(1),
            seq: Seq(7),
            previous: Seq(6),
            kind: ChangeKind::Deleted,
            reason: Some(DeletionReason::Expired),
            id: "urn:\"a\"".into(),
            at: Timestamp(0),
            actor: None,
            td: None,
            patch: None,
            access_before: Default::default(),
            access_after: Default::default(),
            capabilities_before: Vec::new(),
            capabilities_after: Vec::new(),
        };
        let event = CloudEvents::new(uuid::Uuid::nil()).event(&change);
        assert_eq!(
            read(&event),
            json!({
                "specversion": "1.0",
                "id": "0000000000000001-7",
                "source": "urn:agentdex:registry:00000000-0000-0000-0000-000000000000",
                "type": "io.agentdex.thing_deleted",
                "subject": "urn:\"a\"",
                "reason": "expired",
                "time": "1970-01-01T00:00:00.000Z",
                "datacontenttype": "application/json",
                "data": {"id": "urn:\"a\""}
            })
        );
    }

    #[test]
    fn resync_event_states_the_position_that_all_later_events_follow() {
        let cursor = Position { epoch: Epoch(1), seq: Seq(7) };
        let event = read(&CloudEvents::new(uuid::Uuid::nil()).resync(cursor));
        assert_eq!((&event["type"], &event["data"]["cursor"]), (&json!("io.agentdex.resync"), &event["id"]));
        assert_eq!(event.get("subject"), None);
    }
}
