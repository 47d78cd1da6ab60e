//! A small client of [etcd](https://etcd.io)'s v3 API: transactions, ranges, watches, and leases.
//!
//! The client is meant for programs that must know the outcome of each write. A call is a single attempt at a single endpoint,
//! and an [`Error`] tells whether the write may have been applied ([`Error::may_have_been_applied`]). Nothing retries a write
//! on its own; only reads ([`Client::range`]) go round the endpoints.
//!
//! - [`Client`] makes calls, logs in, and opens watches and leases;
//! - [`Txn`], [`Compare`], [`Op`], [`Range`], and [`KeyRange`] describe requests;
//! - [`Watch`] follows the changes of a range of keys;
//! - [`Lease`] keeps a lease alive, and tells when it is lost;
//! - [`message`] has the messages of the API, as far as they are used here.
//!
//! Messages are written by hand after [`rpc.proto`] and [`kv.proto`] of etcd 3.4, so no code is generated at build
//! time. Everything is bounded: the size of messages, concurrent calls, open streams, and the time that each takes.
//!
//! [`rpc.proto`]: https://github.com/etcd-io/etcd/blob/release-3.4/etcdserver/etcdserverpb/rpc.proto
//! [`kv.proto`]: https://github.com/etcd-io/etcd/blob/release-3.4/mvcc/mvccpb/kv.proto

mod answer;
mod calls;
mod client;
mod connection;
mod endpoint;
mod error;
mod lease;
mod login;
pub mod message;
mod method;
mod options;
mod status;
mod txn;
mod watch;

pub use self::{
    answer::Answer,
    client::Client,
    endpoint::Endpoint,
    error::{Error, Refusal, Result},
    lease::{Lease, LeaseState},
    message::{Event, KeyValue, ResponseHeader},
    method::{Method, StreamMethod},
    options::{Identity, Options, Tls, User},
    txn::{Compare, Comparison, KeyRange, Op, Range, Txn},
    watch::{Update, Watch},
};

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
