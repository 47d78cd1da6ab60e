//! Access control: roles, principals, API keys, owners and visibility of Things, and decisions about the permissions of
//! callers.
//!
//! This module performs no I/O: the registry stores the keys, and its listeners authenticate callers.

mod caller;
mod key;
mod owner;
mod role;
mod role_mapping;
mod rules;
mod visibility;

pub use self::{
    caller::{Caller, Principal, Unauthenticated},
    key::{ApiKey, CreatedKey, NewKey, Secret, Token},
    owner::Owner,
    role::Role,
    role_mapping::RoleMapping,
    rules::{Need, Refusal, Rules},
    visibility::{Access, AccessRequest, Grants, Namespace, NamespaceNumber, Visibility},
};
