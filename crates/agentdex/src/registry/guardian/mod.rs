//! The guardian: it decides of the steps that agents report (Agent Observability Standard), by what the registry knows of
//! them.
//!
//! [`Guardian::answer`] takes a request in JSON-RPC and decides. What it needs of an agent is in memory ([`agents`]):
//! read when the agent takes its first step, and changed by a follower of the log since, so that no decision reads the
//! store or a description. A decision may miss a write that is younger than the interval in which followers read the
//! log, 50 ms; [`Registry::catch_up_guardian`](crate::Registry::catch_up_guardian) waits for all writes so far. Renewals are no changes of the log, so that
//! an agent counts as expired once it is purged, within a second.
//!
//! Own rules have 20 ms together, 50,000 values in a step, and patterns that stand in the rule; what can't be decided is
//! denied. The trail has hashes of what is exchanged, or with an option the content, without secrets.
//!
//! [`Sessions`] are bounded in number and forgotten once they are idle. Every decision goes to the [`trail`] and to those
//! who subscribe. Which rules there are, and what they find, is in [`crate::policy`].

mod agents;
mod answer;
mod ocsf;
mod trail;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use memchr::memmem;
use tokio::sync::broadcast;

pub(super) use self::agents::Agents;
pub use self::trail::Retention;
use self::{ocsf::OcsfFile, trail::Trail};
use super::{
    measures::{Metric, MetricSource},
    thread::spawn,
};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result, Timestamp,
    policy::{Decision, Policy, Sessions},
    store::Store,
};

pub use crate::policy::{Entry, LiveSession, Reply, SacpResponse};

/// How often the trail reaches the operating system.
const FLUSH_EVERY: Duration = Duration::from_millis(250);
/// How often old files and idle sessions are removed.
const TIDY_EVERY: Duration = Duration::from_secs(30);
/// How far a subscriber may be behind before it misses entries.
const BACKLOG: usize = 4096;

/// Options of a guardian.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// What it decides by.
    pub policy: Arc<Policy>,
    /// Whether everything is allowed, and what would have been denied or modified is only reported.
    pub dry_run: bool,
    /// Whether what is exchanged is stored in the trail; otherwise only hashes of it are.
    pub store_content: bool,
    /// The most live sessions; with more, those whose last step is longest ago are forgotten.
    pub max_sessions: usize,
    /// After how long without a step a session is forgotten.
    pub session_idle: Duration,
    /// How much of the trail is kept.
    pub retention: Retention,
    /// A file that each decision is appended to as an event of OCSF; none: there is none.
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

/// Decides of the steps that agents report. [`Registry::guardian`](crate::Registry::guardian) has it.
pub struct Guardian {
    options: Options,
    agents: Arc<Agents>,
    sessions: Sessions,
    trail: Trail,
    ocsf: Option<OcsfFile>,
    entries: broadcast::Sender<Arc<Entry>>,
    counts: Counts,
    tidying: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

/// What was counted since the start.
#[derive(Default)]
struct Counts {
    decisions: [AtomicU64; Decision::ALL.len()],
    findings: AtomicU64,
    refused: AtomicU64,
    lost: AtomicU64,
}

impl Guardian {
    /// Opens the one of a registry in `directory`.
    pub(super) fn open(directory: &Path, options: Options, agents: Arc<Agents>) -> Result<Arc<Guardian>> {
        let ocsf = options.ocsf.as_deref().map(OcsfFile::open).transpose()?;
        let guardian = Arc::new(Guardian {
            agents,
            sessions: Sessions::new(options.max_sessions, options.session_idle),
            trail: Trail::open(directory.join("guardian"), options.retention)?,
            ocsf,
            entries: broadcast::channel(BACKLOG).0,
            counts: Counts::default(),
            tidying: Mutex::default(),
            options,
        });
        let (stop, stopped) = channel::<()>();
        let weak = Arc::downgrade(&guardian);
        let thread = spawn("agentdex-guardian", move || {
            let mut tidied = Instant::now();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(FLUSH_EVERY) {
                let Some(guardian) = weak.upgrade() else { return };
                guardian.flush();
                if tidied.elapsed() >= TIDY_EVERY {
                    tidied = Instant::now();
                    guardian.trail.remove_old();
                    guardian.sessions.forget_idle(Timestamp::now());
                }
            }
        })?;
        *guardian.tidying.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop, thread));
        Ok(guardian)
    }

    /// What an [`Agents`] of this policy reads.
    pub(super) fn agents(store: &Store, options: &Options) -> Arc<Agents> {
        Arc::new(Agents::new(store.clone(), options.policy.clone()))
    }

    /// The live sessions of an agent, or of all, the one with the latest step first.
    pub fn sessions(&self, agent: Option<&str>, limit: usize) -> Vec<LiveSession> {
        self.sessions.list(agent, limit)
    }

    /// At most `limit` steps of a session, the oldest first, also of one that is no longer live. Blocks.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn steps(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
        let json = serde_json::to_string(session).unwrap_or_default();
        let finder = memmem::Finder::new(json.as_bytes());
        let is_of_session = |entry: &Entry| entry.session.as_deref() == Some(session);
        self.trail.entries(after, limit, |line| finder.find(line).is_some(), is_of_session)
    }

    /// At most `limit` entries after the one with the number `after`, the oldest first: of an agent, with a decision, not
    /// older than `since`. Blocks.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn decisions(
        &self,
        agent: Option<&str>,
        decision: Option<Decision>,
        since: Option<Timestamp>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let json = agent.map(|agent| serde_json::to_string(agent).unwrap_or_default());
        let finder = json.as_ref().map(|json| memmem::Finder::new(json.as_bytes()));
        let is_wanted = |entry: &Entry| {
            agent.is_none_or(|agent| entry.agent.as_deref() == Some(agent))
                && decision.is_none_or(|decision| entry.decision == decision)
                && since.is_none_or(|since| entry.at >= since)
        };
        let may_be = |line: &[u8]| finder.as_ref().is_none_or(|finder| finder.find(line).is_some());
        self.trail.entries(after, limit, may_be, is_wanted)
    }

    /// Receives entries as they are made. Who is thousands behind misses some, and is notified of how many.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Entry>> {
        self.entries.subscribe()
    }

    /// How it works.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn record(&self, mut entry: Entry) {
        let index = Decision::ALL.iter().position(|known| *known == entry.decision).unwrap_or_default();
        self.counts.decisions[index].fetch_add(1, Relaxed);
        self.counts.findings.fetch_add(entry.findings.len() as u64, Relaxed);
        if let Err(error) = self.trail.append(&mut entry) {
            // Reported once a thousand times: a full disk fails for every step.
            if self.counts.lost.fetch_add(1, Relaxed).is_multiple_of(1000) {
                tracing::error!(%error, "the guardian's trail can't be written: decisions are not recorded");
            }
        }
        if let Some(ocsf) = &self.ocsf {
            ocsf.append(&entry);
        }
        if self.entries.receiver_count() > 0 {
            // An error: nobody receives any more.
            let _ = self.entries.send(Arc::new(entry));
        }
    }

    fn flush(&self) {
        if let Err(error) = self.trail.flush() {
            tracing::warn!(%error, "the guardian's trail can't be written");
        }
        if let Some(ocsf) = &self.ocsf {
            ocsf.flush();
        }
    }

    /// Writes what is left, and ends. Blocks.
    pub(super) fn stop(&self) {
        let tidying = self.tidying.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, thread)) = tidying {
            drop(stop);
            let _ = thread.join();
        }
        self.flush();
        if let Err(error) = self.trail.sync() {
            tracing::warn!(%error, "the guardian's trail can't be written");
        }
    }
}

impl MetricSource for Guardian {
    fn metrics(&self) -> Vec<Metric> {
        let of = |decision: usize| self.counts.decisions[decision].load(Relaxed);
        let metric = |name, help, value| Metric { name, help, value };
        vec![
            metric("agentdex_guardian_allowed_total", "Steps that the guardian allowed.", of(0)),
            metric("agentdex_guardian_denied_total", "Steps that the guardian denied.", of(1)),
            metric("agentdex_guardian_modified_total", "Steps that the guardian modified.", of(2)),
            metric("agentdex_guardian_findings_total", "Findings of rules.", self.counts.findings.load(Relaxed)),
            metric(
                "agentdex_guardian_refused_total",
                "Requests that were answered with an error.",
                self.counts.refused.load(Relaxed),
            ),
            metric(
                "agentdex_guardian_unrecorded_total",
                "Decisions that the trail lacks.",
                self.counts.lost.load(Relaxed),
            ),
            metric("agentdex_guardian_sessions", "Live sessions.", self.sessions.len() as u64),
            metric("agentdex_guardian_agents", "Agents that are in memory.", self.agents.len() as u64),
            metric("agentdex_guardian_trail_bytes", "Size of the trail.", self.trail.bytes()),
        ]
    }
}

impl std::fmt::Debug for Guardian {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guardian").field("options", &self.options).finish_non_exhaustive()
    }
}
