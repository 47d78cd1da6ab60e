//! Open Agent Spec: reading, validating and mapping configurations.

mod fixtures;
mod properties;
mod rules;
