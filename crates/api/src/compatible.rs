//! Results of searches by data schemas: compatible capabilities, and chains of capabilities.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Link, Seq};

/// The answer of `POST /search/compatible`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CompatibleResult {
    /// Number of compatible capabilities.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub total: usize,
    /// The hits on this page, best fit first.
    pub hits: Vec<CompatibleHit>,
    /// The last change reflected in the result.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seq: Seq,
}

/// A compatible capability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CompatibleHit {
    /// The id of the Thing.
    pub id: String,
    /// The title of the Thing.
    pub title: Option<String>,
    /// The key of the capability.
    pub capability: String,
    /// Quality of the match, from 0 to 1. With 1, all values fit. From 0.5, the schemas don't contradict each other.
    /// Below 0.5, some values may not fit or must be converted. The links list the doubts.
    pub fit: f32,
    /// Relevance of the Thing to the query, from 0 to 1; 0 without a query.
    pub relevance: f32,
    /// The members of `have` used for the input of the capability.
    pub input: Vec<DataLink>,
    /// The members of the capability's output used for `want`.
    pub output: Vec<DataLink>,
    /// The reason why the capability matches, with any doubts, or the missing member.
    pub why: String,
    /// The missing member, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingData>,
    /// The link to the description of the Thing. The server adds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub links: Vec<Link>,
}

/// A link between data: the member of one object that is used for a member of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DataLink {
    /// Name of the source member; empty for the data as a whole.
    pub from: String,
    /// Name of the target member; empty for the data as a whole.
    pub to: String,
    /// True if the value must be converted, by the type compatibility rules of Agent Spec.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub converted: bool,
    /// Reasons why a value may not fit, as sentences; absent if every value fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// The only member that is missing for a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MissingData {
    /// `input` if the capability requires the member, `output` if the capability doesn't provide it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub side: Side,
    /// The name of the member; empty for the data as a whole.
    pub name: String,
    /// JSON Pointer to the schema of the member: within the capability for an input, within the query for an output.
    pub pointer: String,
    /// A sentence about the missing member.
    pub message: String,
}

/// A side of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The data required by the capability.
    Input,
    /// The data returned by the capability.
    Output,
}

/// Capabilities compatible with those of a Thing: the answer of `GET /things/{id}/compatible`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Neighbors {
    /// Id of the Thing.
    pub id: String,
    /// Capabilities of the Thing that declare an input or an output.
    pub capabilities: Vec<CapabilityNeighbors>,
    /// The last change reflected in the result.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seq: Seq,
}

/// Capabilities compatible with a single capability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CapabilityNeighbors {
    /// Key of the capability.
    pub capability: String,
    /// Capabilities of other Things whose required input is completely provided by the output of this capability.
    pub takes_output: Vec<CompatibleHit>,
    /// Capabilities of other Things whose output provides the complete input of this capability.
    pub gives_input: Vec<CompatibleHit>,
}

/// The answer of `POST /search/compose`: chains of capabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ComposeResult {
    /// The chains, best fit first.
    pub chains: Vec<Chain>,
    /// True if all chains were compared. If false, the time was not sufficient, and there may be better chains.
    pub complete: bool,
    /// The last change reflected in the result.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seq: Seq,
}

/// A sequence of capabilities to be called one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Chain {
    /// Quality of the match, from 0 to 1; below 0.5, some values may not fit. The links list the doubts.
    pub fit: f32,
    /// Average relevance of the Things to the query, from 0 to 1; 0 without a query.
    pub relevance: f32,
    /// The capabilities, in calling order.
    pub steps: Vec<ChainStep>,
    /// The members of outputs used for `want`.
    pub output: Vec<ChainLink>,
    /// An Agent Spec Flow that calls the capabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub flow: Option<Value>,
    /// The reason why no flow was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_problem: Option<String>,
}

/// A step of a chain: a capability to call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChainStep {
    /// The id of the Thing.
    pub id: String,
    /// The title of the Thing.
    pub title: Option<String>,
    /// The key of the capability.
    pub capability: String,
    /// The data used for the input of the capability.
    pub input: Vec<ChainLink>,
}

/// A data link of a chain: a member of a step's output or of `have`, and the member for which it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChainLink {
    /// Number of the step that provides the data, counted from 1; absent for `have`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub step: Option<usize>,
    /// Name of the source member; empty for the data as a whole.
    pub from: String,
    /// Name of the target member; empty for the data as a whole.
    pub to: String,
    /// True if the value must be converted, by the type compatibility rules of Agent Spec.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub converted: bool,
    /// Reasons why a value may not fit, as sentences; absent if every value fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}
