//! Messages of the service `Watch`.

use bytes::Bytes;
use prost::Message;

use super::{header::ResponseHeader, kv::KeyValue};

/// Message to the server on the stream of watches (`WatchRequest`). A single field is set.
#[derive(Clone, PartialEq, Message)]
pub struct WatchRequest {
    /// Creates a watch.
    #[prost(message, optional, tag = "1")]
    pub create: Option<WatchCreateRequest>,
    /// Requests a response with the revision that the watches have reached.
    #[prost(message, optional, tag = "3")]
    pub progress: Option<WatchProgressRequest>,
}

/// Creates a watch (`WatchCreateRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct WatchCreateRequest {
    /// First key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// End of the range, as in [`RangeRequest::range_end`](super::RangeRequest::range_end).
    #[prost(bytes = "bytes", tag = "2")]
    pub range_end: Bytes,
    /// First revision whose events are sent; 0 for the next revision.
    #[prost(int64, tag = "3")]
    pub start_revision: i64,
    /// True if the server sends responses without events now and then while nothing happens.
    #[prost(bool, tag = "4")]
    pub progress_notify: bool,
    /// True if the server may split the events of a revision into several responses.
    #[prost(bool, tag = "8")]
    pub fragment: bool,
}

/// Requests a response with the current revision (`WatchProgressRequest`).
#[derive(Clone, Copy, PartialEq, Message)]
pub struct WatchProgressRequest {}

/// Message from the server on the stream of watches (`WatchResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct WatchResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Id of the watch.
    #[prost(int64, tag = "2")]
    pub watch_id: i64,
    /// True in the response to the creation.
    #[prost(bool, tag = "3")]
    pub created: bool,
    /// True if the watch has ended, or couldn't be created.
    #[prost(bool, tag = "4")]
    pub canceled: bool,
    /// Least revision that can still be watched, if the watch began earlier; otherwise 0.
    #[prost(int64, tag = "5")]
    pub compact_revision: i64,
    /// Reason of the cancellation.
    #[prost(string, tag = "6")]
    pub cancel_reason: String,
    /// True if the next response continues this response.
    #[prost(bool, tag = "7")]
    pub fragment: bool,
    /// Events, ascending by revision.
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<Event>,
}

/// Kind of an event (`mvccpb.Event.EventType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum EventKind {
    /// The key was written.
    Put = 0,
    /// The key was deleted, or its lease has expired.
    Delete = 1,
}

/// A change of a key (`mvccpb.Event`).
#[derive(Clone, PartialEq, Message)]
pub struct Event {
    /// Kind, as a number of [`EventKind`]; see [`Event::is_delete`].
    #[prost(enumeration = "EventKind", tag = "1")]
    pub event_type: i32,
    /// Key with its value. If the key was deleted, only the key and the revision of the deletion are set.
    #[prost(message, optional, tag = "2")]
    pub kv: Option<KeyValue>,
}

impl Event {
    /// True if the key was deleted, or its lease has expired. Otherwise the key was written.
    pub fn is_delete(&self) -> bool {
        self.event_type == EventKind::Delete as i32
    }
}
