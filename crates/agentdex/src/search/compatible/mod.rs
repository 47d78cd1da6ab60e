//! Compatible search: which capabilities can work with the data that a caller has, and give the data that it
//! wants; and composed search: which chains of capabilities lead from the one to the other.
//!
//! - **Ports** (`port`): the members of an object, or the data as a whole. They correspond by name or title (`names`),
//!   regardless of case and punctuation, or by a name that means the same, which is a doubt. One goes into another if its
//!   values satisfy the other's schema (`search::containment`): surely, possibly, which is a doubt, or not at all.
//! - **Shapes** (`shape`): the inputs and outputs of a capability. Capabilities of the same shape are compared once.
//! - **Index** (`index`): shapes by the names of what they need and give, in memory. It takes about 70 bytes for each
//!   Thing and 25 for each capability, beside their texts, and, once for each different shape, about 120 bytes for each
//!   port, and once for each different schema what it says.
//! - **Search** (`fit`, `find`): candidates by name, then the schemas, then the order.
//! - **Composition** (`reach`, `plan`, `compose`): backwards from what is wanted, among what can be reached at all.

mod compose;
mod find;
mod fit;
mod index;
mod names;
mod plan;
mod port;
mod reach;
mod shape;

use std::collections::HashMap;

pub use self::{
    compose::{Chain, ComposeRequest, Composed, MAX_STEPS},
    find::{Found, Request},
    index::ShapeIndex,
    port::Data,
    shape::{Shapes, shapes},
};

#[doc(inline)]
pub use agentdex_api::{
    ChainLink as StepLink, ChainStep as Step, CompatibleHit, DataLink as Link, MissingData as Missing, Side,
};

/// Relevance of Things by id. A Thing that isn't listed has a relevance of 0.
pub type Relevance = HashMap<String, f32>;
