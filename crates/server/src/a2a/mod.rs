//! The registry as an A2A agent (version 1.0) that searches it on behalf of one caller.
//!
//! [`Agent`] answers the methods of the protocol; [`rpc`] is their JSON-RPC form. Whatever serves HTTP adds the HTTP+JSON binding.
//! Each message is one search, so each task is complete when it is returned. [`Tasks`] are the latest ones, for later reads.

mod agent;
mod card;
mod failure;
mod listing;
mod question;
pub(crate) mod rpc;
mod task;
mod tasks;

pub(crate) use self::{
    agent::Agent,
    card::{Security, card},
    failure::{Failure, Kind},
    tasks::Tasks,
};
