//! Results of writes: of single Things, lines of a batch, and imports.

use agentdex_td::Violation;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::{Problem, access::Visibility};

/// The effect of a write or, in a dry run, the effect that the write would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum Effect {
    /// The Thing is new.
    Created,
    /// The description of the Thing changed, or the format from which it was converted.
    Updated,
    /// The description of the Thing is unchanged, but its original document was replaced. Exports in that format return
    /// the new original. There is no event, and the Thing keeps its entity tag.
    OriginalUpdated,
    /// The description of the Thing is unchanged, but a version that isn't served was stored, replaced, or removed.
    /// There is no event, and the Thing keeps its entity tag.
    VersionsUpdated,
    /// The description, the original, and the versions of the Thing are unchanged; at most, its expiry was extended.
    Unchanged,
    /// The Thing was removed.
    Removed,
    /// An effect introduced by a newer registry.
    #[serde(other, skip_serializing)]
    Other,
}

impl Effect {
    /// All effects known to this version.
    pub const ALL: [Effect; 6] = [
        Effect::Created,
        Effect::Updated,
        Effect::OriginalUpdated,
        Effect::VersionsUpdated,
        Effect::Unchanged,
        Effect::Removed,
    ];

    /// Returns the name of the effect.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Created => "created",
            Effect::Updated => "updated",
            Effect::OriginalUpdated => "original-updated",
            Effect::VersionsUpdated => "versions-updated",
            Effect::Unchanged => "unchanged",
            Effect::Removed => "removed",
            Effect::Other => "other",
        }
    }

    /// Returns the effect with the given name.
    pub fn from_name(name: &str) -> Option<Effect> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == name)
    }
}

impl Serialize for Effect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A version of a Thing in the answer of `GET /things/{id}/versions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Version {
    /// The version name; absent if the description has no version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// True for the version that is served if a request names none.
    #[serde(rename = "served")]
    pub is_served: bool,
    /// Entity tag of the version, for `If-Match` with `version`.
    pub etag: String,
    /// The format from which the version was converted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Id of the Thing whose document declares this version, if the Thing is a part of that document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Visibility of the version, if it is visible to fewer callers than the Thing; only for callers who may change the
    /// Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// False if the version belongs to a former owner, so that the caller can remove but not read it.
    #[serde(default = "is_readable", rename = "readable", skip_serializing_if = "is_true")]
    pub is_readable: bool,
}

fn is_readable() -> bool {
    true
}

fn is_true(is_readable: &bool) -> bool {
    *is_readable
}

/// The answer to a write that created a Thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Created {
    /// The id of the Thing.
    pub id: String,
    /// Applied fixes, and other warnings.
    pub warnings: Vec<Violation>,
}

/// The effect of a dry run or, if the request asks for it, of a removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DryRun {
    /// True if nothing was written.
    pub dry_run: bool,
    /// The effect.
    pub effect: Effect,
    /// The id of the Thing.
    pub id: String,
    /// Applied fixes, and other warnings.
    pub warnings: Vec<Violation>,
}

/// The result for a line of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BatchResult {
    /// True in a dry run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The effect of the line or, in a dry run, the effect that it would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub effect: Option<Effect>,
    /// The entity tag of the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Id of the Thing, if the line contains one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Number of the line, counted from 1.
    pub line: u64,
    /// The reason why the line was not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// Status of the line: 201, 204 (200 in a dry run), or the status of a problem.
    pub status: u16,
    /// Applied fixes, and other warnings; absent if there is a problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<Violation>>,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Imported {
    /// The ids of new Things.
    pub created: Vec<String>,
    /// True in a dry run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The ids of all Things of the document. The Thing of the document itself comes first.
    pub ids: Vec<String>,
    /// The ids of Things whose description is unchanged, but whose original document was replaced. Exports return the
    /// new original. There is no event.
    pub original_updated: Vec<String>,
    /// The ids of removed parts, which only an earlier version of the document contained.
    pub removed: Vec<String>,
    /// In a dry run, the descriptions that would be stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::descriptions))]
    pub things: Vec<Value>,
    /// The ids of existing Things that changed.
    pub updated: Vec<String>,
    /// The ids of Things whose description is unchanged, but for which a version that isn't served was stored or
    /// replaced.
    #[serde(default)]
    pub versions_updated: Vec<String>,
    /// Warnings about the document, and parts that were lost; pointers refer to the document.
    pub warnings: Vec<Violation>,
}
