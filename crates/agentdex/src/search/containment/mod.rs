//! Containment of JSON Schemas: does every value that one schema allows satisfy another?
//!
//! A *giver* produces values, a *taker* demands some. The answer is a [`Certainty`]:
//!
//! - **Fits**: every value of the giver satisfies the taker.
//! - **Possible**: some may not. Either the giver leaves open what the taker demands ([`Certainty::Unstated`]: it names
//!   no type, no unit), or it allows more than the taker does ([`Certainty::MayFail`]). Doubts say what.
//! - **Cannot**: no value of the giver satisfies the taker, for a reason.
//!
//! All keywords of JSON Schema that describe values are compared, and `unit` of Thing Descriptions; of those that a
//! comparison would have to guess (`not`, `if`, `patternProperties` and the like) the taker's are a doubt. Members that
//! an object doesn't list are absent, unless it has `additionalProperties`. A list, a map or an optional member that
//! could only do by being empty or absent can't. What the type compatibility rules of Agent Spec convert (everything to
//! a string, numbers and booleans to each other) may fail.
//!
//! - `schema`: schemas as they are compared, flat and small; `read` makes them, with `$ref` resolved and `allOf` merged.
//! - `decide`: the comparison. `values` judges the values of `enum` and `const`, `formats` and `units` are tables,
//!   `numbers` has ranges, `wording` the values as doubts name them.
//!
//! Schemas are anybody's: reading them and comparing them is limited in size, depth and steps.

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
