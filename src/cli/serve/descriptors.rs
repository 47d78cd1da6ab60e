//! File descriptors: how many the server may have open.

/// Raises the soft limit to the hard one. Shells and service managers often start programs with 1,024, for the
/// sake of programs that can't count further; each connection takes one.
pub(super) fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_some_and(|current| maximum.is_none_or(|maximum| current < maximum))
            && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        {
            tracing::warn!(%error, "the file descriptor limit can't be raised");
        }
    }
}

/// Returns the maximum number of open file descriptors; none where there is no limit, or none that is known.
pub(super) fn limit() -> Option<usize> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok())
    }
    #[cfg(not(unix))]
    None
}
