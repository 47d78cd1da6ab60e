//! Changes as events of an event stream, encoded once for all streams.

use std::fmt::Write;

use actix_web::web::Bytes;

use crate::{
    Position,
    store::{LoggedChange, Slot},
};

/// Maximum number of log entries that are read at once.
pub(super) const AT_ONCE: usize = 64;

const PLAIN: Slot<Bytes> = Slot::numbered(0, size);
const DIFF: Slot<Bytes> = Slot::numbered(1, size);

fn size(event: &Bytes) -> usize {
    size_of::<Bytes>() + event.len()
}

/// The event of a change as it goes over the wire. The data of a deletion is the id alone (WoT Discovery,
/// section 7.3.2.2); its reason, and when a change was committed, are in fields of their own, which clients that
/// don't know them ignore.
pub(super) fn encoded(change: &LoggedChange, diff: bool) -> Bytes {
    let slot = if diff { &DIFF } else { &PLAIN };
    let encode = || {
        let reason = change.reason.map(|reason| format!("reason: {reason}\n")).unwrap_or_default();
        let mut event = encode(change.position(), change.kind.as_str(), &change.event_data(diff));
        // Before the empty line that ends it.
        event.insert_str(event.len() - 1, &format!("time: {}\n", change.at));
        Bytes::from(reason + &event)
    };
    Bytes::clone(&change.rendition(slot, encode))
}

/// An event of an event stream (HTML, section 9.2). Data of several lines is several fields.
pub(super) fn encode(id: Position, kind: &str, data: &str) -> String {
    let mut event = String::with_capacity(data.len() + 96);
    let _ = writeln!(event, "id: {id}\nevent: {kind}");
    for line in data.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        let _ = writeln!(event, "data: {line}");
    }
    event.push('\n');
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, ChangeKind, Epoch, Seq, Timestamp, change::DeletionReason};

    #[test]
    fn deletion_has_its_reason_in_a_field_and_the_id_alone_in_its_data() {
        let change = Change {
            epoch: Epoch(7),
            seq: Seq(1),
            previous: Seq::ZERO,
            kind: ChangeKind::Deleted,
            reason: Some(DeletionReason::Expired),
            id: "urn:a".into(),
            at: Timestamp(0),
            actor: None,
            td: None,
            patch: None,
            access_before: Default::default(),
            access_after: Default::default(),
            capabilities_before: Vec::new(),
            capabilities_after: Vec::new(),
        };
        let expected = "reason: expired\nid: 0000000000000007-1\nevent: thing_deleted\ndata: {\"id\":\"urn:a\"}\ntime: 1970-01-01T00:00:00.000Z\n\n";
        assert_eq!(encoded(&change.into(), true), expected);
    }

    #[test]
    fn data_of_several_lines_is_several_fields() {
        let event = encode(Position { epoch: Epoch(7), seq: Seq(1) }, "thing_created", "{\n \"id\": 1\n}");
        assert_eq!(event, "id: 0000000000000007-1\nevent: thing_created\ndata: {\ndata:  \"id\": 1\ndata: }\n\n");
    }
}
