//! The Standard Agent Communication Protocol (SACP): responses of agents with a guaranteed shape.
//!
//! Pure functions and plain data: nothing here calls an agent.
//!
//! | section of the specification | here | shown by, of the tests of the workspace |
//! |---|---|---|
//! | 2 response schema | [`Response`], [`SCHEMA`] | `tests/sacp/response.rs` |
//! | 3 instruction injection | [`instructions`], [`inject`], [`Node::sacp`] | `tests/sacp/prompt.rs`, `tests/consumer/chains.rs` |
//! | 4.1 conditional edges | [`Condition`] | `tests/sacp/condition.rs` |
//! | 4.2 data mapping | [`Template`] | `tests/sacp/template.rs` |
//! | 6 example flow | [`Chain`] | `tests/sacp/chain.rs`, run by `tests/consumer/chains.rs` |
//! | 7 parsing failures | [`read_answer`] | `tests/sacp/answer.rs`, `tests/sacp/reading.rs` |
//! | 9.1 guardrails | [`Response::withhold_message`], [`Response::force_failure`]; rules of the guardian with `then = "fail-response"` | `tests/sacp/response.rs`, `aos::guardian::a_guardrail_makes_a_response_a_failure_before_the_next_agent_receives_it` |
//! | 11 schema enforcement | [`Expected`], [`DataContract`] | `tests/sacp/answer.rs`, `tests/sacp/response.rs` |
//!
//! Each MUST of the document, and the test of the workspace that shows it (in `tests/sacp`):
//!
//! | section | MUST | shown by |
//! |---|---|---|
//! | 2 | a response is a valid object of the schema | `response::each_required_member_that_is_missing_is_reported`, `response::a_member_of_the_wrong_type_makes_it_unreadable` |
//! | 3.1 | the instructions demand JSON and nothing else | `prompt::the_example_in_the_instructions_is_itself_a_response` |
//! | 7.2 | what can't be read is wrapped, with its text | `reading::messy_answers_are_read`, `reading::hostile_texts_end_in_the_fallback` |
//! | 8 | the final response adheres to the schema | `response::data_is_held_to_its_contract` |
//!
//! Section 8 (tools) concerns the agent's own loop: only its final response is read. Where the
//! specification leaves a choice:
//! - `completed` stands in the schema and nowhere else; it ends a chain with success, as `success` at a
//!   node without an outgoing edge does.
//! - `retry_with_instruction` of section 11 is read as an extension and never written.
//! - A node of a chain may also answer by itself, ask the user, or consist of chains, which the specification doesn't
//!   name; edges may be branches that a response names in its member `branch`.
//! - Of several objects in one text the last one that is a response counts: models draft before they answer. What stands in
//!   `<think>` is no answer.
//! - A missing `thought`, and `message` or `data`, is reported and read as empty. Without a readable `status`
//!   nothing can be routed, so such an object becomes the fallback of section 7.2.
//! - The answer of an agent that doesn't declare SACP is a response only if it is one as a whole, with all required members:
//!   much else has a `status`, and prose may quote a response.

use agentdex_td as td;

mod answer;
mod chain;
mod coercion;
mod condition;
mod contract;
mod expected;
pub mod expression;
mod fences;
mod lenient;
mod member_repair;
mod notation;
mod prompt;
mod reading;
mod response;
mod template;

pub use self::{
    answer::{Answer, Given, Kind, Piece, read_answer},
    chain::{
        Chain, ChainError, Choose, Due, Each, Edge, Link, Node, Notice, Outcome, Output, Place, Reduction, State, Step,
        Task,
    },
    coercion::coerced,
    condition::{Condition, ConditionError},
    contract::{DataContract, SchemaError},
    expected::{Expected, Sacp},
    prompt::{inject, instructions},
    reading::{Found, MAX_TEXT_BYTES, Reading, Repair, read},
    response::{Response, SCHEMA, Status},
    template::{Outputs, Template, TemplateError},
};

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
