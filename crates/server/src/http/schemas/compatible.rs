//! Bodies of compatible search.

use agentdex_api::{ChainLink, ChainStep};
use utoipa::ToSchema;

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
