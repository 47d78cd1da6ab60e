//! State of a guardian, shared by all callers of a registry, and its cleanup thread.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tokio::sync::broadcast;

use super::{agents::Agents, ocsf::OcsfFile, options::Options, trail::Trail};
use crate::{
    Result, Timestamp,
    access::Access,
    policy::{Decision, Entry, Sessions},
    registry::{
        measures::{Metric, MetricSource},
        thread::spawn,
    },
    store::Store,
};

/// Interval at which the trail is flushed to the operating system.
const FLUSH_EVERY: Duration = Duration::from_millis(250);
/// Interval at which old files and idle sessions are removed.
const TIDY_EVERY: Duration = Duration::from_secs(30);
/// Maximum number of entries a subscriber may lag behind before it misses some.
const BACKLOG: usize = 4096;

/// The guardian of a registry: options, sessions and trail.
pub(in crate::registry) struct State {
    pub(super) options: Options,
    pub(super) agents: Arc<Agents>,
    pub(super) sessions: Sessions,
    pub(super) trail: Trail,
    ocsf: Option<OcsfFile>,
    pub(super) entries: broadcast::Sender<Arc<Made>>,
    pub(super) counts: Counts,
    tidying: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

/// The counters since the start.
#[derive(Default)]
pub(super) struct Counts {
    decisions: [AtomicU64; Decision::ALL.len()],
    findings: AtomicU64,
    pub(super) refused: AtomicU64,
    lost: AtomicU64,
}

/// A new entry of the trail. `access` is that of its agent at the time; `None` for an agent unknown to the guardian.
pub(super) struct Made {
    pub entry: Arc<Entry>,
    pub access: Option<Access>,
}

impl State {
    /// Opens the one of a registry in `directory`.
    pub(in crate::registry) fn open(directory: &Path, options: Options, agents: Arc<Agents>) -> Result<Arc<State>> {
        let ocsf = options.ocsf.as_deref().map(OcsfFile::open).transpose()?;
        let guardian = Arc::new(State {
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

    /// The reader of agents for this policy.
    pub(in crate::registry) fn agents(store: &Store, options: &Options) -> Arc<Agents> {
        Arc::new(Agents::new(store.clone(), options.policy.clone()))
    }

    /// Records an entry. `access` is the access to its agent, or `None` if the agent is unknown to the guardian.
    pub(super) fn record(&self, mut entry: Entry, access: Option<&Access>) {
        let index = Decision::ALL.iter().position(|known| *known == entry.decision).unwrap_or_default();
        self.counts.decisions[index].fetch_add(1, Relaxed);
        self.counts.findings.fetch_add(entry.findings.len() as u64, Relaxed);
        if let Err(error) = self.trail.append(&mut entry) {
            // Reported once a thousand times: a full disk fails for every step.
            if self.counts.lost.fetch_add(1, Relaxed).is_multiple_of(1000) {
                tracing::error!(%error, "the guardian's trail can't be written; decisions are not recorded");
            }
        }
        if let Some(ocsf) = &self.ocsf {
            ocsf.append(&entry);
        }
        if self.entries.receiver_count() > 0 {
            // An error: nobody receives any more.
            let _ = self.entries.send(Arc::new(Made { entry: Arc::new(entry), access: access.cloned() }));
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

    /// Writes pending data and stops. Blocks.
    pub(in crate::registry) fn stop(&self) {
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

impl MetricSource for State {
    fn tells_of_things(&self) -> bool {
        true
    }

    fn metrics(&self) -> Vec<Metric> {
        let of = |decision: usize| self.counts.decisions[decision].load(Relaxed);
        let metric = |name, help, value| Metric { name, help, value };
        vec![
            metric("agentdex_guardian_allowed_total", "Steps that the guardian allowed.", of(0)),
            metric("agentdex_guardian_denied_total", "Steps that the guardian denied.", of(1)),
            metric("agentdex_guardian_modified_total", "Steps that the guardian modified.", of(2)),
            metric(
                "agentdex_guardian_findings_total",
                "Findings of the guardian's rules.",
                self.counts.findings.load(Relaxed),
            ),
            metric(
                "agentdex_guardian_refused_total",
                "Requests to the guardian that were answered with an error.",
                self.counts.refused.load(Relaxed),
            ),
            metric(
                "agentdex_guardian_unrecorded_total",
                "Decisions missing from the guardian's trail.",
                self.counts.lost.load(Relaxed),
            ),
            metric("agentdex_guardian_sessions", "Live sessions of the guardian.", self.sessions.len() as u64),
            metric("agentdex_guardian_agents", "Agents in the guardian's memory.", self.agents.len() as u64),
            metric("agentdex_guardian_trail_bytes", "Size of the guardian's trail.", self.trail.bytes()),
        ]
    }
}
