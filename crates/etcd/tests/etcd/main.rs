//! Tests against a fake server that fails in all ways, and against etcd.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "functions of tests may panic, too")]

mod fake;
mod process;

mod attempts;
mod authentication;
mod leases;
mod login;
mod store;
mod streams;
mod tls;
mod watches;
