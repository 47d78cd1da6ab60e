//! Options of a guardian.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::Retention;
use crate::policy::Policy;

/// Options of a guardian.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Policy for decisions.
    pub policy: Arc<Policy>,
    /// True if every step is allowed, and violations of the policy are only reported.
    pub dry_run: bool,
    /// Whether the trail stores the exchanged content instead of only its hashes.
    pub store_content: bool,
    /// Maximum number of live sessions. Beyond it, the sessions with the oldest last step are removed.
    pub max_sessions: usize,
    /// Idle time after which a session is removed.
    pub session_idle: Duration,
    /// Limits of the trail.
    pub retention: Retention,
    /// File to which each decision is appended as an OCSF event, if any.
    pub ocsf: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            policy: Arc::default(),
            dry_run: false,
            store_content: false,
            max_sessions: 20_000,
            session_idle: Duration::from_secs(60 * 60),
            retention: Retention::default(),
            ocsf: None,
        }
    }
}

impl Options {
    /// Sets [`Options::policy`].
    pub fn policy(mut self, policy: Arc<Policy>) -> Options {
        self.policy = policy;
        self
    }

    /// Sets [`Options::dry_run`].
    pub fn dry_run(mut self, dry_run: bool) -> Options {
        self.dry_run = dry_run;
        self
    }

    /// Sets [`Options::store_content`].
    pub fn store_content(mut self, stored: bool) -> Options {
        self.store_content = stored;
        self
    }

    /// Sets [`Options::max_sessions`].
    pub fn max_sessions(mut self, sessions: usize) -> Options {
        self.max_sessions = sessions;
        self
    }

    /// Sets [`Options::session_idle`].
    pub fn session_idle(mut self, time: Duration) -> Options {
        self.session_idle = time;
        self
    }

    /// Sets [`Options::retention`].
    pub fn retention(mut self, retention: Retention) -> Options {
        self.retention = retention;
        self
    }

    /// Sets [`Options::ocsf`].
    pub fn ocsf(mut self, file: impl Into<Option<PathBuf>>) -> Options {
        self.ocsf = file.into();
        self
    }
}
