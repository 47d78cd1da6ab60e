//! Three small agents that answer, mounted below `/demo/agents/` where [`super::Options`] has a [`Demo`]: a clock over plain
//! HTTP, a converter of units over A2A 1.0, dice over MCP.
//!
//! Each has a file for what it knows and one for how it is reached. What describes them to a registry is not here.

mod activity;
mod cities;
mod clock;
mod converter;
mod dice;
mod tasks;
mod tools;
mod units;

pub use self::activity::{Activity, Demo};
pub(super) use self::{
    clock::{cities, hour, time},
    converter::{card, message},
    tools::call,
};
