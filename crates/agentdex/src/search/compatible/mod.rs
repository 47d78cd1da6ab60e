//! Compatible search, which finds capabilities that accept the caller's data and produce the wanted data, and
//! composed search, which finds chains of capabilities that lead from available to wanted data.
//!
//! - **Ports** (`port`): the members of an object, or the data as a whole. Ports correspond if their names or titles
//!   are equal (`names`), ignoring case and punctuation, or if they are synonyms, which is reported as a doubt. A
//!   port supplies another port if its values satisfy the other's schema (`search::containment`): certainly, possibly
//!   (reported as a doubt), or never.
//! - **Shapes** (`shape`): inputs and outputs of a capability. Capabilities with the same shape are compared only
//!   once.
//! - **Index** (`index`): shapes by the names of their ports, in memory. It takes about 70 bytes per Thing and 25 per
//!   capability in addition to their texts, and for each distinct shape about 120 bytes per port, plus each distinct
//!   schema.
//! - **Search** (`fit`, `find`): selects candidates by name, compares schemas, and sorts the matches.
//! - **Composition** (`reach`, `plan`, `compose`): proceeds backwards from the wanted data, using only reachable
//!   shapes.

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

/// Relevance of Things by id. Things that aren't listed have a relevance of 0.
pub type Relevance = HashMap<String, f32>;
