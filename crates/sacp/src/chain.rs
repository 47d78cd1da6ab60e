//! `Chain`: agents one after another, as plain data, and the functions that say what comes next
//! (SACP, sections 4 and 6).
//!
//! A chain calls nobody. [`Chain::start`] begins a run, [`Chain::due`] names what has to be done for it now,
//! [`Chain::take`] takes a response, [`Chain::answer`] what the user says, until [`State::outcome`] has one. A
//! [`State`] is data and can be stored in between.
//!
//! A node calls an agent, answers by itself, asks the user, or consists of chains in turn: one, several side by side, or
//! one for each element of lists. That is what Flows of Agent Spec need beyond the specification.

mod advance;
mod check;
mod compiled;
mod description;
mod gather;
mod state;

pub use self::{
    compiled::{Chain, ChainError},
    description::{Choose, Each, Edge, Link, Node, Output, Reduction},
    state::{Due, Notice, Outcome, Place, State, Step, Task},
};
