//! Changes of Things, as used by the store, its followers, and the wire protocol.
//!
//! A change contains information that the record no longer has: the description of a creation, the merge patch of an
//! update, and the capability keys before and after the change. Its JSON form is used in the log, in `GET /changes`,
//! and by followers.

use std::{collections::HashSet, fmt};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    access::Access,
    position::{Epoch, Position, Seq},
};
use agentdex_td::Timestamp;

/// The kind of a change of a Thing. The names are those of the WoT Discovery events API.
///
/// ```
/// use agentdex_api::ChangeKind;
///
/// assert_eq!(ChangeKind::from_name("thing_updated"), Some(ChangeKind::Updated));
/// assert_eq!(ChangeKind::Deleted.to_string(), "thing_deleted");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChangeKind {
    /// The Thing is new.
    #[serde(rename = "thing_created")]
    Created,
    /// The Thing's description changed.
    #[serde(rename = "thing_updated")]
    Updated,
    /// The Thing is gone: removed, or expired.
    #[serde(rename = "thing_deleted")]
    Deleted,
}

impl ChangeKind {
    /// All kinds.
    pub const ALL: [ChangeKind; 3] = [ChangeKind::Created, ChangeKind::Updated, ChangeKind::Deleted];

    /// Returns `thing_created`, `thing_updated`, or `thing_deleted`.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Created => "thing_created",
            ChangeKind::Updated => "thing_updated",
            ChangeKind::Deleted => "thing_deleted",
        }
    }

    /// Returns the kind with the given name.
    pub fn from_name(name: &str) -> Option<ChangeKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason for a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeletionReason {
    /// A caller removed the Thing.
    Removed,
    /// The time to live of the Thing has elapsed.
    Expired,
    /// The document from which the Thing was imported no longer contains it.
    SourceGone,
}

impl DeletionReason {
    /// Returns `removed`, `expired`, or `source-gone`.
    pub fn as_str(self) -> &'static str {
        match self {
            DeletionReason::Removed => "removed",
            DeletionReason::Expired => "expired",
            DeletionReason::SourceGone => "source-gone",
        }
    }
}

impl fmt::Display for DeletionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change of a Thing: an entry of the log.
///
/// ```
/// use agentdex_api::{Change, ChangeKind, DeletionReason, Seq};
///
/// let change: Change = serde_json::from_str(
///     r#"{
///         "epoch": "00000000000000ab", "seq": 17, "previous": 16, "kind": "thing_deleted", "reason": "expired",
///         "id": "urn:example:weather", "at": "2026-01-01T00:00:00Z", "capabilitiesBefore": ["forecast"]
///     }"#,
/// )?;
/// assert_eq!((change.seq, change.kind), (Seq(17), ChangeKind::Deleted));
/// assert_eq!(change.reason, Some(DeletionReason::Expired));
/// assert_eq!(change.position().to_string(), "00000000000000ab-17");
/// // A reader that has read up to 16 has missed nothing; a reader that has read up to 15 has.
/// assert!(change.follows(Seq(16)) && !change.follows(Seq(15)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Change {
    /// The epoch of the store.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub epoch: Epoch,
    /// The position in the log.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seq: Seq,
    /// The position of the previous change, which may be hidden from the reader; 0 for the first change.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub previous: Seq,
    /// `thing_created`, `thing_updated` or `thing_deleted`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub kind: ChangeKind,
    /// The reason for a deletion: `removed`, `expired`, or `source-gone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub reason: Option<DeletionReason>,
    /// The id of the Thing.
    pub id: String,
    /// The time at which the change was committed.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The owner who made the change; absent without authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// For `thing_created`, the description as stored, without `registration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub td: Option<Box<RawValue>>,
    /// For `thing_updated`, the merge patch (RFC 7396) from the previous to the new stored description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub patch: Option<Box<RawValue>>,
    /// The capability keys of the Thing before the change (see [`agentdex_td::capabilities`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities_before: Vec<String>,
    /// The capability keys of the Thing after the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities_after: Vec<String>,
    /// Owner and visibility of the Thing before the change.
    #[serde(default, skip_serializing_if = "Access::is_default")]
    pub access_before: Access,
    /// Owner and visibility of the Thing after the change.
    #[serde(default, skip_serializing_if = "Access::is_default")]
    pub access_after: Access,
}

impl Change {
    /// Returns the position of a follower that has processed this change. It is also the id of the event.
    pub fn position(&self) -> Position {
        Position { epoch: self.epoch, seq: self.seq }
    }

    /// True if this is the first change after `position`, so that no changes in between were missed, not even hidden
    /// ones.
    pub fn follows(&self, position: Seq) -> bool {
        self.previous <= position && position < self.seq
    }

    /// Returns the approximate size in bytes, without encoded forms, for limiting the memory of cached and loaded
    /// changes.
    pub fn weight(&self) -> usize {
        let texts = [&self.td, &self.patch].into_iter().flatten().map(|text| text.get().len());
        let keys =
            self.capabilities_before.iter().chain(&self.capabilities_after).map(|key| key.len() + size_of::<String>());
        size_of::<Change>() + self.id.len() + texts.sum::<usize>() + keys.sum::<usize>()
    }

    /// Returns the data of the event, as specified by the WoT Discovery events API: the id and, with `diff`, the
    /// description of a created Thing or the merge patch of an updated Thing.
    pub fn event_data(&self, diff: bool) -> String {
        let id = serde_json::Value::from(self.id.as_str());
        match (&self.td, &self.patch) {
            (Some(td), _) if diff => td.get().to_owned(),
            (_, Some(patch)) if diff => match patch.get().trim_start().strip_prefix('{').map(str::trim_start) {
                Some(members) if !members.starts_with('}') => format!("{{\"id\":{id},{members}"),
                _ => format!("{{\"id\":{id}}}"),
            },
            _ => format!("{{\"id\":{id}}}"),
        }
    }

    /// Returns the capability keys before and after the change, without duplicates.
    pub fn capability_keys(&self) -> impl Iterator<Item = &str> {
        let before: HashSet<&str> = self.capabilities_before.iter().map(String::as_str).collect();
        let after = self.capabilities_after.iter().map(String::as_str);
        let new = after.filter(move |key| !before.contains(key));
        self.capabilities_before.iter().map(String::as_str).chain(new)
    }
}

impl fmt::Display for Change {
    /// Writes one line: time, kind, and id, and the reason for a deletion. The descriptions are left out.
    ///
    /// ```
    /// let change: agentdex_api::Change = serde_json::from_str(
    ///     r#"{
    ///         "epoch": "00000000000000ab", "seq": 17, "previous": 16, "kind": "thing_deleted", "reason": "expired",
    ///         "id": "urn:example:weather", "at": "2026-01-01T00:00:00Z"
    ///     }"#,
    /// )?;
    /// assert_eq!(change.to_string(), "2026-01-01T00:00:00.000Z thing_deleted urn:example:weather (expired)");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.at, self.kind, self.id)?;
        match self.reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}

/// The precondition of a write. The committer checks it in log order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// No condition.
    Any,
    /// The Thing doesn't exist.
    Absent,
    /// The Thing exists.
    Present,
    /// The last change of the Thing has this position.
    Seq(Seq),
}

impl Precondition {
    /// True if the precondition holds for a Thing whose last change is at position `found`; `None` if the Thing doesn't
    /// exist.
    pub fn holds(self, found: Option<Seq>) -> bool {
        match self {
            Precondition::Any => true,
            Precondition::Absent => found.is_none(),
            Precondition::Present => found.is_some(),
            Precondition::Seq(seq) => found == Some(seq),
        }
    }
}
