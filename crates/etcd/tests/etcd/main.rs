//! Tests against a fake server that fails in all ways, and against etcd.

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
