//! `agentdex demo`: its agents, and the program as people run it.

mod agents;
mod commands;
pub mod process;
mod start;
