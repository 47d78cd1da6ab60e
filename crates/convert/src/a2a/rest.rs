//! Resources of the HTTP+JSON binding: each method of the protocol has a path below the URL of the interface and its
//! tenant.

use std::borrow::Cow;

use super::Generation;

/// An operation of the protocol that affordances stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Sends a message and gets the answer.
    Send,
    /// Sends a message and gets a stream of what happens.
    Stream,
}

impl Operation {
    const ALL: [Operation; 2] = [Operation::Send, Operation::Stream];

    /// The end of its resource's path in HTTP+JSON.
    fn verb(self) -> &'static str {
        match self {
            Operation::Send => "/message:send",
            Operation::Stream => "/message:stream",
        }
    }

    /// Returns the operation type (`op`) of its forms.
    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Send => "invokeaction",
            Operation::Stream => "subscribeevent",
        }
    }
}

/// An interface as far as its resources depend on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resources<'i> {
    pub(super) generation: Generation,
    pub(super) tenant: Option<&'i str>,
}

impl Resources<'_> {
    /// Returns the URL of an operation's resource, below the URL of the interface.
    pub(super) fn href(&self, url: &str, operation: Operation) -> String {
        let (start, query) = with_query(url.split('#').next().unwrap_or_default());
        let start = start.trim_end_matches('/');
        let verb = operation.verb();
        match (self.generation, self.tenant) {
            (Generation::V0, _) if start.ends_with("/v1") => format!("{start}{verb}{query}"),
            (Generation::V0, _) => format!("{start}/v1{verb}{query}"),
            (Generation::V1, None) => format!("{start}{verb}{query}"),
            (Generation::V1, Some(tenant)) => format!("{start}/{}{verb}{query}", encode_segment(tenant)),
        }
    }

    /// The URL of the interface that has a resource; the resource itself if it is none of the protocol's.
    pub(super) fn url<'h>(&self, href: &'h str) -> Cow<'h, str> {
        let (resource, query) = with_query(href);
        let start = Operation::ALL.into_iter().find_map(|operation| resource.strip_suffix(operation.verb()));
        let own = |start: &'h str| match (self.generation, self.tenant) {
            // One that ends with the version already has no other.
            (Generation::V0, _) => start.strip_suffix("/v1").filter(|start| !start.ends_with("/v1")),
            (Generation::V1, None) => Some(start),
            (Generation::V1, Some(tenant)) => start.strip_suffix(&encode_segment(tenant))?.strip_suffix('/'),
        };
        match start.map(|start| own(start).unwrap_or(start)) {
            Some(start) if query.is_empty() => start.into(),
            Some(start) => format!("{start}{query}").into(),
            None => href.into(),
        }
    }
}

fn with_query(url: &str) -> (&str, &str) {
    url.split_at(url.find('?').unwrap_or(url.len()))
}

fn encode_segment(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_resource_has_that_resource() {
        for generation in [Generation::V0, Generation::V1] {
            for tenant in [None, Some("north sea/ü")] {
                let resources = Resources { generation, tenant };
                for url in [
                    "https://a.example",
                    "https://a.example/x/",
                    "https://a.example/v1?k=/v1",
                    "https://a.example/v1/v1",
                ] {
                    for operation in Operation::ALL {
                        let href = resources.href(url, operation);
                        assert_eq!(resources.href(&resources.url(&href), operation), href, "{url}");
                    }
                }
            }
        }
    }

    #[test]
    fn only_0_x_has_its_version_in_the_path() {
        let of = |generation| Resources { generation, tenant: None };
        assert_eq!(of(Generation::V0).url("https://a.example/v1/message:send"), "https://a.example");
        assert_eq!(of(Generation::V1).url("https://a.example/v1/message:send?k=1"), "https://a.example/v1?k=1");
        assert_eq!(of(Generation::V1).url("https://a.example/rpc"), "https://a.example/rpc");
        let with_tenant = Resources { generation: Generation::V1, tenant: Some("a b") };
        assert_eq!(with_tenant.url("https://a.example/a%20b/message:stream"), "https://a.example");
    }
}
