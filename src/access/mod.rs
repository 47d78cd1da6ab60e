//! Who may do what: roles, principals, API keys, and the decision whether a caller may do something.
//!
//! Pure: nothing here reads a clock, a file or a socket. `registry` stores keys, `http` and `mqtt` find out who calls.

mod caller;
mod key;
mod owner;
mod role;
mod rules;

pub use self::{
    caller::{Caller, Principal},
    key::{ApiKey, NewKey, Secret, Token},
    owner::Owner,
    role::Role,
    rules::{Need, Refusal, Rules},
};
