//! The request to track a source: its URL and format, and the options for registering its Things.

use crate::{access::AccessRequest, convert::Format, registry::IfExists};

/// A source to be imported and tracked.
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
    /// The document of that format at a URL; `None`: of the format that it is found to have.
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

    /// Gives the Thing this id instead of one that is derived from the document.
    pub fn id(mut self, id: Option<String>) -> TrackRequest {
        self.id = id;
        self
    }

    /// Sets the rule for Things that exist already: they are replaced, or the request is refused.
    pub fn if_exists(mut self, if_exists: IfExists) -> TrackRequest {
        self.if_exists = if_exists;
        self
    }

    /// Lets a document in another format drop what its Thing has, as [`Import::replace`](crate::registry::Import::replace)
    /// does, and also other versions of the Thing. That holds for this request; a later poll drops nothing in another format.
    pub fn replace(mut self, replace: bool) -> TrackRequest {
        self.replace = replace;
        self
    }

    /// Sets the time to live of the Things in seconds, at least 60. They are renewed as long as their source is
    /// tracked.
    pub fn ttl(mut self, seconds: Option<u64>) -> TrackRequest {
        self.ttl = seconds;
        self
    }

    /// Checks everything, writes nothing and tracks nothing.
    pub fn dry_run(mut self, dry_run: bool) -> TrackRequest {
        self.dry_run = dry_run;
        self
    }

    /// Asks for an access to the Things.
    pub fn with_access(mut self, access: AccessRequest) -> TrackRequest {
        self.access = access;
        self
    }

    /// Names who tracks in the changes.
    pub fn actor(mut self, actor: Option<String>) -> TrackRequest {
        self.actor = actor;
        self
    }
}
