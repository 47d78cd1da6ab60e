//! The answers of searches by data: capabilities that fit, and the steps of chains.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Link, Seq};

/// The answer of `POST /search/compatible`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CompatibleResult {
    /// Number of capabilities that fit.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub total: usize,
    /// The page, the best fit first.
    pub hits: Vec<CompatibleHit>,
    /// Every change up to this one is taken into account.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seq: Seq,
}

/// A capability that fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CompatibleHit {
    /// The id of the Thing.
    pub id: String,
    /// The title of the Thing.
    pub title: Option<String>,
    /// The key of the capability.
    pub capability: String,
    /// The quality of the fit, from 0 to 1. 1: all values fit. From 0.5: the schemas don't contradict each other.
    /// Below: some values may not fit, or must be converted. The links list the doubts.
    pub fit: f32,
    /// The relevance of the Thing for the query, from 0 to 1; 0 without a query.
    pub relevance: f32,
    /// Parts of `have` that are used for its input.
    pub input: Vec<DataLink>,
    /// Parts of its output that are used for `want`.
    pub output: Vec<DataLink>,
    /// The reason why it fits, with its doubts, or what is missing.
    pub why: String,
    /// The one missing part, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingData>,
    /// The link to the description of the Thing. The server adds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub links: Vec<Link>,
}

/// A part of some data that is used for a part of other data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DataLink {
    /// The name of the member; empty for the data as a whole.
    pub from: String,
    /// The name of the member; empty for the data as a whole.
    pub to: String,
    /// True if the value must be converted, by the type compatibility rules of Agent Spec.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub converted: bool,
    /// Reasons why the value may not fit, as sentences; absent if it always fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// The one part that is missing for data to fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MissingData {
    /// `input`: the capability needs the part; `output`: the capability doesn't provide it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub side: Side,
    /// The name of the member; empty for the data as a whole.
    pub name: String,
    /// The JSON Pointer of its schema: in the capability for an input, in the query for an output.
    pub pointer: String,
    /// A sentence about what is missing.
    pub message: String,
}

/// A side of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The data that the capability needs.
    Input,
    /// The data that the capability returns.
    Output,
}

/// Capabilities that fit those of a Thing: the answer of `GET /things/{id}/compatible`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Neighbors {
    /// Id of the Thing.
    pub id: String,
    /// Capabilities of the Thing that declare their input or output.
    pub capabilities: Vec<CapabilityNeighbors>,
    /// Every change up to this one is taken into account.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seq: Seq,
}

/// Capabilities that fit one capability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CapabilityNeighbors {
    /// Key of the capability.
    pub capability: String,
    /// Capabilities of other Things that need only the output of this one.
    pub takes_output: Vec<CompatibleHit>,
    /// Capabilities of other Things that provide all input of this one.
    pub gives_input: Vec<CompatibleHit>,
}

/// The answer of `POST /search/compose`: chains of capabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ComposeResult {
    /// The chains, the best fit first.
    pub chains: Vec<Chain>,
    /// True if all chains were compared; otherwise, there wasn't enough time, and there may be better
    /// ones.
    pub complete: bool,
    /// Every change up to this one is taken into account.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seq: Seq,
}

/// Capabilities that are called one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Chain {
    /// The quality of the fit, from 0 to 1; below 0.5, some values may not fit. The links list the
    /// doubts.
    pub fit: f32,
    /// The average relevance of the Things for the query, from 0 to 1; 0 without a query.
    pub relevance: f32,
    /// The capabilities in the order of their calls.
    pub steps: Vec<ChainStep>,
    /// The parts of their output that are used for `want`.
    pub output: Vec<ChainLink>,
    /// An Agent Spec Flow that calls the capabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub flow: Option<Value>,
    /// The reason why there is no flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_problem: Option<String>,
}

/// A capability of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChainStep {
    /// The id of the Thing.
    pub id: String,
    /// The title of the Thing.
    pub title: Option<String>,
    /// The key of the capability.
    pub capability: String,
    /// The data that is used for its input.
    pub input: Vec<ChainLink>,
}

/// A part of the output of a step, or of `have`, and where it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChainLink {
    /// The number of the step that provides it, starting at 1; absent for `have`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub step: Option<usize>,
    /// The name of the member; empty for the data as a whole.
    pub from: String,
    /// The name of the member; empty for the data as a whole.
    pub to: String,
    /// True if the value must be converted, by the type compatibility rules of Agent Spec.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub converted: bool,
    /// Reasons why the value may not fit, as sentences; absent if it always fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}
