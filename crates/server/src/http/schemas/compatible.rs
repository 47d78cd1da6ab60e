//! Bodies of compatible search.

use utoipa::ToSchema;

use super::Link;

/// What fits.
#[derive(ToSchema)]
pub(in crate::http) struct CompatibleResult {
    /// How many capabilities fit.
    total: u64,
    hits: Vec<CompatibleHit>,
    /// Every change up to this one is taken into account.
    seq: u64,
}

/// A capability that fits.
#[derive(ToSchema)]
pub(in crate::http) struct CompatibleHit {
    /// The id of the Thing.
    id: String,
    title: Option<String>,
    /// The key of the capability.
    capability: String,
    /// How well it fits, from 0 to 1.
    fit: f32,
    /// How relevant the Thing is for `query`, from 0 to 1.
    relevance: f32,
    /// What of `have` goes into what it needs.
    input: Vec<DataLink>,
    /// What of what it gives goes into `want`.
    output: Vec<DataLink>,
    /// Why it fits, or what is missing.
    why: String,
    missing: Option<MissingData>,
    links: Vec<Link>,
}

/// Which part of some data goes into which part of other data.
#[derive(ToSchema)]
pub(in crate::http) struct DataLink {
    /// The name of the member; empty for the data as a whole.
    from: String,
    /// The name of the member; empty for the data as a whole.
    to: String,
    /// `true` where the types differ, so that the value may have to be converted.
    converted: Option<bool>,
}

/// The one thing that is missing.
#[derive(ToSchema)]
pub(in crate::http) struct MissingData {
    /// `input`: the capability needs it; `output`: it doesn't give it.
    side: String,
    name: String,
    /// JSON Pointer: in the capability for an input, in the query for an output.
    pointer: String,
    message: String,
}

/// What fits the capabilities of a Thing.
#[derive(ToSchema)]
pub(in crate::http) struct Neighbors {
    id: String,
    capabilities: Vec<CapabilityNeighbors>,
    /// Every change up to this one is taken into account.
    seq: u64,
}

/// What fits a capability.
#[derive(ToSchema)]
pub(in crate::http) struct CapabilityNeighbors {
    /// Its key.
    capability: String,
    /// Capabilities of other Things that need nothing but what it gives.
    takes_output: Vec<CompatibleHit>,
    /// Capabilities of other Things that give everything that it needs.
    gives_input: Vec<CompatibleHit>,
}

/// Chains of capabilities.
#[derive(ToSchema)]
pub(in crate::http) struct ComposeResult {
    chains: Vec<Chain>,
    /// Whether all chains were compared; otherwise the time didn't suffice, and there may be better ones.
    complete: bool,
    /// Every change up to this one is taken into account.
    seq: u64,
}

/// Capabilities that are called one after the other.
#[derive(ToSchema)]
pub(in crate::http) struct Chain {
    /// How well the data fits, from 0 to 1.
    fit: f32,
    /// How relevant the Things are for `query` on average, from 0 to 1.
    relevance: f32,
    steps: Vec<ChainStep>,
    /// What goes into `want`.
    output: Vec<ChainLink>,
    /// An Agent Spec Flow that calls the capabilities.
    #[schema(value_type = Option<Object>)]
    flow: Option<()>,
    /// Why there is no flow.
    flow_problem: Option<String>,
}

/// A capability of a chain.
#[derive(ToSchema)]
pub(in crate::http) struct ChainStep {
    /// The id of the Thing.
    id: String,
    title: Option<String>,
    /// The key of the capability.
    capability: String,
    /// What goes into what it needs.
    input: Vec<ChainLink>,
}

/// Which data goes where.
#[derive(ToSchema)]
pub(in crate::http) struct ChainLink {
    /// The step that it comes from, from 1; absent: from `have`.
    step: Option<u64>,
    /// The name of the member; empty for the data as a whole.
    from: String,
    /// The name of the member; empty for the data as a whole.
    to: String,
    /// `true` where the types differ, so that the value may have to be converted.
    converted: Option<bool>,
}
