//! Paths below `/servers`: the name of a server, a version, and the resource.
//!
//! The slash in a name may be percent-encoded.

use actix_web::HttpRequest;

use super::super::{
    address::{decode, path_below},
    problem::Problem,
};

/// Prefixes of all paths.
pub(in crate::http) const PREFIXES: [&str; 2] = ["/v0.1", "/v0"];
/// Path of the list.
pub(in crate::http) const SERVERS: &str = "/v0.1/servers";
/// Path of publications.
pub(in crate::http) const PUBLISH: &str = "/v0.1/publish";

/// True if pages of any origin may read a resource, since clients of MCP registries are pages of editors.
pub(in crate::http) fn is_open_to_pages(path: &str) -> bool {
    path == SERVERS || Route::ALL.iter().any(|route| route.is_read() && route.template() == path)
}

/// A resource below `/servers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Route {
    Versions,
    Version,
    VersionStatus,
    Status,
}

impl Route {
    /// All resources.
    pub(in crate::http) const ALL: [Route; 4] = [Route::Versions, Route::Version, Route::VersionStatus, Route::Status];

    /// The path in the documentation and metrics.
    pub(in crate::http) fn template(self) -> &'static str {
        match self {
            Route::Versions => "/v0.1/servers/{serverName}/versions",
            Route::Version => "/v0.1/servers/{serverName}/versions/{version}",
            Route::VersionStatus => "/v0.1/servers/{serverName}/versions/{version}/status",
            Route::Status => "/v0.1/servers/{serverName}/status",
        }
    }

    /// True for a resource that supports GET.
    fn is_read(self) -> bool {
        matches!(self, Route::Versions | Route::Version)
    }

    /// True if the path of a request addresses the resource.
    pub(in crate::http) fn is_at(self, path: &str) -> bool {
        let below = PREFIXES.iter().find_map(|prefix| path.split_once(&format!("{prefix}/servers/")));
        below.and_then(|(_, below)| split(below)).is_some_and(|(_, _, route)| route == self)
    }
}

/// Server and version addressed by a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Addressed {
    pub(super) name: String,
    /// Version, or `latest`; empty for all versions.
    pub(super) version: String,
}

impl Addressed {
    /// Reads the path of a request.
    pub(super) fn of(request: &HttpRequest) -> Result<Addressed, Problem> {
        let below = path_below(request);
        let below = below.strip_prefix('/').unwrap_or(below);
        let (name, version, _) = split(below).ok_or_else(|| Problem::unknown_path(request.path()))?;
        Ok(Addressed { name: decode(name)?.into_owned(), version: decode(version)?.into_owned() })
    }
}

/// Splits the part of a path after `/servers/` into the name, the version, and the resource.
fn split(below: &str) -> Option<(&str, &str, Route)> {
    let is_escaped = |name: &str| name.contains("%2F") || name.contains("%2f");
    let ends = below.match_indices('/').map(|(end, _)| end);
    // A name without a slash is invalid, but its path addresses a resource nevertheless.
    let (first, second) = (ends.clone().next()?, ends.clone().nth(1));
    let name_ends = [second.filter(|_| !below.get(..first).is_some_and(is_escaped)), Some(first)];
    name_ends.into_iter().flatten().find_map(|end| {
        let (name, rest) = (below.get(..end)?, below.get(end + 1..)?);
        let (version, route) = route_of(rest)?;
        (!name.starts_with('/') && !name.ends_with('/') && !name.is_empty()).then_some((name, version, route))
    })
}

/// Splits the part of a path after a name into the version, which may be empty, and the resource.
fn route_of(rest: &str) -> Option<(&str, Route)> {
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        ["versions"] => Some(("", Route::Versions)),
        // A deprecated path.
        ["latest"] => Some(("latest", Route::Version)),
        ["versions", version] if !version.is_empty() => Some((version, Route::Version)),
        ["versions", version, "status"] if !version.is_empty() => Some((version, Route::VersionStatus)),
        ["status"] => Some(("", Route::Status)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_of_names_may_be_escaped() {
        for (below, name, version, route) in [
            ("com.example%2Fa/versions", "com.example%2Fa", "", Route::Versions),
            ("com.example/a/versions", "com.example/a", "", Route::Versions),
            ("com.example/versions/versions", "com.example/versions", "", Route::Versions),
            ("com.example%2fa/versions/1.0.0%2Bb", "com.example%2fa", "1.0.0%2Bb", Route::Version),
            ("com.example/a/versions/latest", "com.example/a", "latest", Route::Version),
            ("com.example%2Fa/latest", "com.example%2Fa", "latest", Route::Version),
            ("com.example/a/versions/1/status", "com.example/a", "1", Route::VersionStatus),
            ("com.example%2Fa/status", "com.example%2Fa", "", Route::Status),
            ("versions/versions", "versions", "", Route::Versions),
            ("a/b/versions/latest/status", "a/b", "latest", Route::VersionStatus),
        ] {
            assert_eq!(split(below), Some((name, version, route)), "{below}");
            assert!(route.is_at(&format!("/registry/v0/servers/{below}")));
        }
        for other in
            ["", "a", "a/b", "a%2Fb", "a%2Fb/", "a/b/c", "a%2Fb/versions/", "a%2Fb/versions/1/x", "/b/versions"]
        {
            assert_eq!(split(other), None, "{other}");
        }
    }
}
