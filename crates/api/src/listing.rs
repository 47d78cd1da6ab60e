//! Lists of Things.

use agentdex_td::Capability;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A page of Things: the answer of `GET /things?format=collection`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ThingCollection {
    /// Number of Things on all pages.
    pub total: u64,
    /// The URL of this page.
    #[serde(rename = "@id")]
    pub id: String,
    /// The URL of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The descriptions, or summaries with `view=summary`.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::descriptions, required))]
    pub members: Vec<Box<RawValue>>,
}

/// A Thing in a list with `view=summary`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Capabilities of the Thing.
    #[serde(default)]
    pub capabilities: Vec<CapabilitySummary>,
    /// Description of the Thing, in prose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Id of the Thing.
    pub id: String,
    /// Title of the Thing.
    #[serde(default)]
    pub title: Option<String>,
}

/// A capability in a [`Summary`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilitySummary {
    /// Description of the capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Id of the capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl From<Capability<'_>> for CapabilitySummary {
    fn from(capability: Capability<'_>) -> CapabilitySummary {
        let Capability { id, name, description } = capability;
        let [description, id, name] = [description, id, name].map(|text| text.map(str::to_owned));
        CapabilitySummary { description, id, name }
    }
}
