//! Containment of JSON Schemas: whether every value allowed by one schema satisfies another.
//!
//! A *giver* produces values, and a *taker* accepts values. The result is a [`Certainty`]:
//!
//! - **Fits**: every value of the giver satisfies the taker.
//! - **Possible**: some values may not. Either the giver leaves a requirement of the taker open
//!   ([`Certainty::Unstated`]: it declares no type or no unit), or it allows more values than the taker
//!   ([`Certainty::MayFail`]). Doubts give the details.
//! - **Cannot**: no value of the giver satisfies the taker, with a reason.
//!
//! All keywords of JSON Schema that describe values are compared, and also `unit` of Thing Descriptions. Keywords
//! that would require guessing (`not`, `if`, `patternProperties`, and similar) are a doubt if the taker uses them.
//! Members of an object that aren't listed count as absent, unless the object has `additionalProperties`. A list, a
//! map, or an optional member that could satisfy the taker only by being empty or absent does not. Values that are
//! converted by the type compatibility rules of Agent Spec (everything to a string, numbers and booleans to each
//! other) may fail.
//!
//! - `schema`: schemas in a flat and compact form. `read` creates them, with `$ref` resolved and `allOf` merged.
//! - `decide`: the comparison. `values` checks the values of `enum` and `const`, `formats` and `units` are tables,
//!   `numbers` has ranges, and `wording` describes values in doubts.
//!
//! Schemas come from untrusted sources: reading and comparing them is limited in size, depth, and steps.

mod decide;
mod formats;
mod merge;
mod nodes;
mod numbers;
mod outcome;
mod parts;
mod read;
mod schema;
mod units;
mod values;
mod wording;

pub(in crate::search) use self::{
    decide::{decide, explain},
    nodes::Limits,
    outcome::Certainty,
    read::{Bases, Read, unwrapped},
    schema::Schema,
};

#[cfg(test)]
mod tests;
