//! Requests to track a source, with its URL, its format, and the options for registering its Things.

use crate::{access::AccessRequest, convert::Format, registry::IfExists};

/// Request to import and track a source.
#[derive(Debug, Clone)]
#[must_use = "nothing is tracked until Registry::track is called"]
pub struct TrackRequest {
    pub(super) url: String,
    pub(super) format: Option<Format>,
    pub(super) id: Option<String>,
    pub(super) if_exists: IfExists,
    pub(super) replace: bool,
    pub(super) ttl: Option<u64>,
    pub(super) dry_run: bool,
    pub(super) actor: Option<String>,
    pub(super) access: AccessRequest,
}

impl TrackRequest {
    /// Creates a request for the document at a URL. Without a format, the format is detected.
    pub fn new(url: impl Into<String>, format: impl Into<Option<Format>>) -> TrackRequest {
        TrackRequest {
            url: url.into(),
            format: format.into(),
            id: None,
            if_exists: IfExists::default(),
            replace: false,
            ttl: None,
            dry_run: false,
            actor: None,
            access: AccessRequest::default(),
        }
    }

    /// Sets the id of the Thing. If `None`, the id is derived from the document.
    pub fn id(mut self, id: Option<String>) -> TrackRequest {
        self.id = id;
        self
    }

    /// Sets the rule for Things that already exist.
    pub fn if_exists(mut self, if_exists: IfExists) -> TrackRequest {
        self.if_exists = if_exists;
        self
    }

    /// Permits the document to drop content of the Thing, like [`Import::replace`](crate::registry::Import::replace).
    /// Applies to this request only, not to later polls.
    pub fn replace(mut self, replace: bool) -> TrackRequest {
        self.replace = replace;
        self
    }

    /// Sets the time to live of the Things in seconds, at least 60. They are renewed while their source is tracked.
    pub fn ttl(mut self, seconds: Option<u64>) -> TrackRequest {
        self.ttl = seconds;
        self
    }

    /// Performs all checks without writing or tracking.
    pub fn dry_run(mut self, dry_run: bool) -> TrackRequest {
        self.dry_run = dry_run;
        self
    }

    /// Sets the access of the Things.
    pub fn with_access(mut self, access: AccessRequest) -> TrackRequest {
        self.access = access;
        self
    }

    /// Sets the author recorded in the changes.
    pub fn actor(mut self, actor: Option<String>) -> TrackRequest {
        self.actor = actor;
        self
    }
}
