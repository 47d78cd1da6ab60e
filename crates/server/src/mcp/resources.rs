//! Resources, independent of the protocol that they are read by.

use futures_util::{future::BoxFuture, stream::BoxStream};

/// A template of the URIs of resources (RFC 6570).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Template {
    pub(crate) uri: &'static str,
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) media_type: &'static str,
}

/// The resources of a server.
pub(crate) trait Resources: Send + Sync {
    /// The template of all URIs.
    fn template(&self) -> Template;

    /// Reads a resource; `None` if the caller sees no resource of this URI. An error is a sentence for the caller.
    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Option<String>, String>>;

    /// Returns a stream of the URIs among these whose resources change. It ends when the server stops, or the caller's
    /// credentials are no longer valid.
    fn changes(&self, uris: &[String]) -> BoxStream<'static, String>;
}
