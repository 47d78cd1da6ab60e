//! Main loop of a follower: reads the log, applies changes, commits, and rebuilds. After failures and panics it
//! retries with increasing pauses, or as soon as a full disk has space again.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    follower::{Durability, Follower, FollowerState, FollowerStatus, Inspected},
    stop::Stop,
    waiting::{Waited, Waiting},
};
use crate::{
    Error, Result,
    change::{Position, Seq},
    store::{LogReader, Logged, LoggedChange, Record, Store},
};

/// Maximum number of changes applied before checking for waiters.
const CHANGES_AT_ONCE: usize = 512;
/// Maximum total size of these changes in bytes; a larger change is applied alone.
const BYTES_AT_ONCE: usize = 2 * 1024 * 1024;
/// Maximum number of changes that are still applied before a stop, if they are all.
const CHANGES_BEFORE_A_STOP: usize = 8;
/// Maximum time from the first uncommitted change to the commit.
const COMMIT_AFTER: Duration = Duration::from_secs(1);
/// Maximum time to the commit while there is a backlog and no caller is waiting. Few large commits are less work.
const COMMIT_AFTER_WHEN_BEHIND: Duration = Duration::from_secs(10);
/// Maximum number of changes in a commit.
const CHANGES_IN_A_COMMIT: usize = 50_000;
/// Interval between commits that survive a crash of the system.
const SYNC_EVERY: Duration = Duration::from_secs(10);
/// Pause after the first failure. It doubles with each further failure.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Interval of checking the free disk space during a pause. The pause ends when the free space has more than doubled.
const SPACE_INTERVAL: Duration = Duration::from_secs(1);
/// Records between readings of the clock while it is rebuilt.
const RECORDS_AT_ONCE: u64 = 256;
/// Records between reports in the log.
const RECORDS_IN_A_REPORT: u64 = 100_000;

/// State that the thread of a follower shares with its callers.
pub(in crate::registry) struct Shared {
    pub(super) waiting: Waiting,
    log: LogReader,
    status: Mutex<Progressing>,
}

/// State of a follower, except for its position.
struct Progressing {
    status: FollowerStatus,
    /// The [`LogReader::ordinal`] of its position, once it was counted.
    ordinal: Option<i64>,
    /// Position of the last applied change. Searches may not show its effect yet.
    applied: Option<Seq>,
}

impl Shared {
    pub(super) fn new(name: &'static str, log: LogReader) -> Shared {
        let state = FollowerState::Following;
        let status = FollowerStatus { name, state, seq: None, lag: 0, failures: 0, rebuilds: 0 };
        Shared {
            waiting: Waiting::default(),
            log,
            status: Mutex::new(Progressing { status, ordinal: None, applied: None }),
        }
    }

    pub(in crate::registry) fn status(&self) -> FollowerStatus {
        let (status, ordinal) = {
            let progressing = self.lock();
            (progressing.status.clone(), progressing.ordinal)
        };
        let last = *self.log.durable().borrow();
        let counted = ordinal.and_then(|ordinal| Some(self.log.ordinal(last).ok()?.saturating_sub(ordinal)));
        let lag = match counted {
            Some(lag) => u64::try_from(lag).unwrap_or_default(),
            // The largest number of changes that it may be behind.
            None => last.0.saturating_sub(status.seq.unwrap_or_default().0),
        };
        FollowerStatus { lag, ..status }
    }

    /// Waits until `target` is shown, for at most about `timeout`.
    pub(in crate::registry) fn wait(
        &self,
        target: Seq,
        timeout: Duration,
    ) -> impl Future<Output = Waited> + Send + use<> {
        self.waiting.wait(target, timeout)
    }

    /// Keeps the follower from following the log, or lets it go on.
    pub(in crate::registry) fn hold(&self, is_held: bool) {
        self.waiting.hold(is_held);
    }

    /// Returns the last applied change, which becomes visible as soon as a caller waits for it, or `None` while the
    /// follower fails or is being rebuilt.
    pub(in crate::registry) fn applied(&self) -> Option<Seq> {
        let progressing = self.lock();
        progressing.applied.filter(|_| progressing.status.state == FollowerState::Following)
    }

    fn set_applied(&self, seq: Seq) {
        self.lock().applied = Some(seq);
    }

    fn set_state(&self, state: FollowerState) {
        self.lock().status.state = state;
    }

    fn reached(&self, seq: Seq, ordinal: Option<i64>) {
        {
            let Progressing { status, ordinal: reached, applied } = &mut *self.lock();
            (status.seq, *reached) = (Some(seq), ordinal);
            *applied = (*applied).max(Some(seq));
            status.state = FollowerState::Following;
        }
        self.waiting.reached(seq);
    }

    /// Records a failure, or possible damage of the visible data.
    pub(in crate::registry) fn failed(&self, error: String) {
        let Progressing { status, .. } = &mut *self.lock();
        status.failures += 1;
        status.state = FollowerState::Failing { error };
    }

    fn lock(&self) -> MutexGuard<'_, Progressing> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A follower with its driver.
pub(super) struct Runner {
    follower: Box<dyn Follower>,
    store: Store,
    shared: Arc<Shared>,
    pause: Duration,
}

/// Applied and committed positions of a follower, and the time of its last sync.
struct Progress {
    committed: Position,
    applied: Seq,
    /// [`LogReader::ordinal`] of the last applied change.
    ordinal: i64,
    /// Since when there is something to commit, and how much.
    uncommitted: Option<(Instant, usize)>,
    synced: Instant,
    is_synced: bool,
}

impl Runner {
    pub fn new(follower: Box<dyn Follower>, store: Store, shared: Arc<Shared>) -> Runner {
        Runner { follower, store, shared, pause: SHORTEST_PAUSE }
    }

    /// Determines the position of the follower, so that it can answer queries immediately. An empty store is rebuilt
    /// right away. Failures are left to [`Runner::run`].
    pub fn prepare(&mut self) {
        let prepared = catch_unwind(AssertUnwindSafe(|| match self.position()? {
            // The changes that it lacks are counted later: there may be many.
            Some(position) => {
                self.shared.reached(position.seq, None);
                Ok(())
            }
            None if self.store.is_empty() => self.rebuild().map(drop),
            None => {
                self.shared.set_state(FollowerState::Rebuilding { done: 0, total: self.store.len() });
                Ok(())
            }
        }));
        if let Some(error) = failure(prepared) {
            self.shared.failed(error);
        }
    }

    /// Follows the log until a stop is requested.
    pub fn run(mut self) {
        loop {
            let followed = catch_unwind(AssertUnwindSafe(|| self.follow()));
            let Some(error) = failure(followed) else { break };
            let name = self.follower.name();
            tracing::error!(follower = name, error, again_in = ?self.pause, "a follower of the log failed");
            self.shared.failed(error);
            if self.rest() {
                break;
            }
        }
        self.shared.set_state(FollowerState::Stopped);
        self.shared.waiting.end();
    }

    /// Pauses after a failure, longer each time. Returns true if a stop is requested.
    fn rest(&mut self) -> bool {
        let (began, free) = (Instant::now(), self.store.free_space());
        while let Some(left) = self.pause.checked_sub(began.elapsed()) {
            if self.shared.waiting.rest(left.min(SPACE_INTERVAL)) {
                return true;
            }
            let grown = free.zip(self.store.free_space());
            if grown.is_some_and(|(before, now)| now / 2 > before) {
                self.pause = SHORTEST_PAUSE;
                return false;
            }
        }
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        false
    }

    /// Returns the position from which the log can be followed.
    fn position(&mut self) -> Result<Option<Position>> {
        let Some(position) = self.follower.position()? else { return Ok(None) };
        let can_follow = position.epoch == self.store.epoch() && !self.store.changes(position.seq, 1)?.truncated;
        Ok(can_follow.then_some(position))
    }

    fn follow(&mut self) -> Result<()> {
        let position = match self.position()? {
            Some(position) => position,
            None => self.rebuild()?,
        };
        let mut progress = self.at(position)?;
        let mut is_behind = true;
        loop {
            let pause = if is_behind { Duration::ZERO } else { self.follower.tick() };
            if self.shared.waiting.sleep(progress.applied, pause) {
                self.take_in_few(&mut progress)?;
                return self.commit(&mut progress, Durability::System);
            }
            is_behind = match self.take_in(&mut progress) {
                // The next start goes on from before the changes of which some were applied.
                Err(Error::ShuttingDown) if self.shared.waiting.stop_request().is_requested() => true,
                is_behind => is_behind?,
            };
            self.shared.waiting.expire(Instant::now());
        }
    }

    /// Applies the rest of the log before a stop, if it is short, so that an index can detect a store that is later
    /// restored to an older state.
    fn take_in_few(&mut self, progress: &mut Progress) -> Result<()> {
        let read = self.store.changes(progress.applied, CHANGES_BEFORE_A_STOP)?;
        let Some(last) = read.entries.last().filter(|last| !read.truncated && last.seq() == read.last) else {
            return Ok(());
        };
        self.follower.apply(&read.changes(), &Stop::default())?;
        (progress.applied, progress.ordinal) = (last.seq(), progress.ordinal + read.entries.len() as i64);
        Ok(())
    }

    /// Applies the next changes of the log, and commits them if due. Returns true if there are more.
    fn take_in(&mut self, progress: &mut Progress) -> Result<bool> {
        match self.follower.inspect()? {
            Inspected::Nothing => {}
            Inspected::Whole => self.shared.reached(progress.committed.seq, Some(progress.ordinal)),
            Inspected::Damaged => {
                let position = self.rebuild()?;
                *progress = self.at(position)?;
                return Ok(true);
            }
        }
        let target = self.shared.waiting.target(progress.committed.seq);
        // Not beyond what somebody waits for: who came first is answered first.
        let left = target.and_then(|target| usize::try_from(target.0.saturating_sub(progress.applied.0)).ok());
        let at_once = left.filter(|&left| left > 0).map_or(CHANGES_AT_ONCE, |left| left.min(CHANGES_AT_ONCE));
        let read = self.store.changes(progress.applied, at_once)?;
        if read.truncated {
            let position = self.rebuild()?;
            *progress = self.at(position)?;
            return Ok(true);
        }
        let up_to_target = match target.filter(|target| *target > progress.applied) {
            Some(target) => read.entries.partition_point(|entry| entry.seq() <= target).max(1),
            None => usize::MAX,
        };
        let mut left = read.entries.get(..up_to_target).unwrap_or(&read.entries);
        while !left.is_empty() {
            let (entries, later) = left.split_at(count_at_once(left));
            self.apply(entries, progress)?;
            // Somebody may have come to wait for less than what was read.
            left = if self.is_awaited(progress) { &[] } else { later };
        }
        let is_awaited = self.is_awaited(progress);
        let is_behind = progress.applied < read.last;
        if progress.is_due(is_behind) || is_awaited {
            let is_sync_due = progress.synced.elapsed() >= SYNC_EVERY;
            self.commit(progress, if is_sync_due { Durability::SystemLater } else { Durability::Process })?;
        } else if !progress.is_synced && progress.synced.elapsed() >= SYNC_EVERY && progress.uncommitted.is_none() {
            self.commit(progress, Durability::SystemLater)?;
        }
        Ok(is_behind)
    }

    fn apply(&mut self, entries: &[Logged], progress: &mut Progress) -> Result<()> {
        let Some(last) = entries.last() else { return Ok(()) };
        // Who is a member of what is nothing to them: they show everything.
        let changes: Vec<Arc<LoggedChange>> = entries.iter().filter_map(|entry| entry.change().cloned()).collect();
        self.follower.apply(&changes, self.shared.waiting.stop_request())?;
        (progress.applied, progress.ordinal) = (last.seq(), progress.ordinal + entries.len() as i64);
        self.shared.set_applied(progress.applied);
        let (since, count) = progress.uncommitted.unwrap_or((Instant::now(), 0));
        progress.uncommitted = Some((since, count + entries.len()));
        Ok(())
    }

    /// True if a caller waits for applied but uncommitted changes.
    fn is_awaited(&self, progress: &Progress) -> bool {
        let target = self.shared.waiting.target(progress.committed.seq);
        target.is_some_and(|target| target <= progress.applied)
    }

    fn commit(&mut self, progress: &mut Progress, durability: Durability) -> Result<()> {
        let position = Position { seq: progress.applied, ..progress.committed };
        self.follower.commit(position, durability)?;
        progress.committed = position;
        progress.uncommitted = None;
        progress.is_synced = durability != Durability::Process;
        if progress.is_synced {
            progress.synced = Instant::now();
        }
        self.pause = SHORTEST_PAUSE;
        self.shared.reached(position.seq, Some(progress.ordinal));
        Ok(())
    }

    /// Goes on from a position.
    fn at(&self, position: Position) -> Result<Progress> {
        self.shared.reached(position.seq, None);
        let progress = Progress::at(position, self.store.log_reader().ordinal(position.seq)?);
        self.shared.reached(position.seq, Some(progress.ordinal));
        Ok(progress)
    }

    /// Rebuilds the follower. The position is taken before the scan; changes written meanwhile are applied again,
    /// which is harmless.
    fn rebuild(&mut self) -> Result<Position> {
        let position = Position { epoch: self.store.epoch(), seq: *self.store.durable().borrow() };
        let (name, total) = (self.follower.name(), self.store.len());
        self.shared.set_state(FollowerState::Rebuilding { done: 0, total });
        // What is held in memory is made at every start: nobody has to know where that is done at once.
        let is_long = total >= RECORDS_IN_A_REPORT;
        if is_long {
            tracing::info!(follower = name, total, "rebuilding from the records");
        }
        let mut records =
            Counted { name, records: self.store.records_unpurged(None), shared: &self.shared, done: 0, total };
        self.follower.rebuild(&mut records, position)?;
        if is_long {
            tracing::info!(follower = name, done = records.done, "rebuilt");
        }
        self.shared.lock().status.rebuilds += 1;
        self.shared.reached(position.seq, self.store.log_reader().ordinal(position.seq).ok());
        Ok(position)
    }
}

/// Returns the number of entries to apply before checking for waiting callers.
fn count_at_once(entries: &[Logged]) -> usize {
    let mut bytes = 0;
    let is_within = |entry: &&Logged| {
        bytes += entry.weight();
        bytes <= BYTES_AT_ONCE
    };
    entries.iter().take_while(is_within).count().max(1)
}

impl Progress {
    fn at(position: Position, ordinal: i64) -> Progress {
        Progress {
            committed: position,
            applied: position.seq,
            ordinal,
            uncommitted: None,
            synced: Instant::now(),
            is_synced: true,
        }
    }

    fn is_due(&self, is_behind: bool) -> bool {
        let after = if is_behind { COMMIT_AFTER_WHEN_BEHIND } else { COMMIT_AFTER };
        self.uncommitted.is_some_and(|(since, count)| since.elapsed() >= after || count >= CHANGES_IN_A_COMMIT)
    }
}

/// Counting iterator over records. Ends with an error if a stop is requested.
struct Counted<'a, R> {
    /// Name of the follower.
    name: &'static str,
    records: R,
    shared: &'a Shared,
    done: u64,
    total: u64,
}

impl<R: Iterator<Item = Result<Record>>> Iterator for Counted<'_, R> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if let Err(stopped) = self.shared.waiting.stop_request().check() {
            return Some(Err(stopped));
        }
        if self.done.is_multiple_of(RECORDS_AT_ONCE) {
            self.shared.waiting.expire(Instant::now());
            self.shared.set_state(FollowerState::Rebuilding { done: self.done, total: self.total });
        }
        let record = self.records.next()?;
        self.done += 1;
        if self.done.is_multiple_of(RECORDS_IN_A_REPORT) {
            tracing::info!(follower = self.name, done = self.done, total = self.total, "rebuilding from the records");
        }
        Some(record)
    }
}

/// Describes an error with its causes, or a panic. Returns `None` if nothing failed or if a stop was requested.
fn failure(outcome: std::result::Result<Result<()>, Box<dyn Any + Send>>) -> Option<String> {
    match outcome {
        Ok(Ok(()) | Err(Error::ShuttingDown)) => None,
        Ok(Err(error)) => {
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                text.push_str(": ");
                text.push_str(&error.to_string());
                cause = error.source();
            }
            Some(text)
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Some(format!("it panicked: {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::{
        change::Precondition,
        registry::followers::Followers,
        store::{Declares, Expiry, Gaps, Operation, Write},
    };

    const LONG: Duration = Duration::from_secs(60);

    /// Outcome of the next call of `apply`.
    enum Next {
        Apply,
        Fail,
        Panic,
    }

    /// Does with each call of `apply` what it is asked to.
    struct Puppet {
        position: Option<Position>,
        applied: Sender<Vec<Seq>>,
        next: Receiver<Next>,
        commits: Arc<Mutex<Vec<(Seq, Durability)>>>,
    }

    impl Follower for Puppet {
        fn name(&self) -> &'static str {
            "puppet"
        }

        fn position(&mut self) -> Result<Option<Position>> {
            Ok(self.position)
        }

        fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
            let _ = self.applied.send(changes.iter().map(|change| change.seq).collect());
            match self.next.recv().unwrap_or(Next::Apply) {
                Next::Apply => stop.check(),
                Next::Fail => Err(Error::Index { doing: "writing", source: "the disk is full".into() }),
                Next::Panic => panic!("a puppet has no strings"),
            }
        }

        fn commit(&mut self, position: Position, durability: Durability) -> Result<()> {
            self.position = Some(position);
            self.commits.lock().unwrap().push((position.seq, durability));
            Ok(())
        }

        fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
            for record in records {
                record?;
            }
            self.commit(position, Durability::System)
        }
    }

    struct Stage {
        store: Store,
        followers: Followers,
        puppet: Arc<Shared>,
        applied: Receiver<Vec<Seq>>,
        next: Sender<Next>,
        commits: Arc<Mutex<Vec<(Seq, Durability)>>>,
        _directory: tempfile::TempDir,
    }

    /// The position of the change with that number.
    fn nth(number: u64) -> Seq {
        (0..number).fold(Seq::ZERO, |last, _| Gaps::default().after(last))
    }

    impl Stage {
        fn set() -> Stage {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path(), crate::store::Options::default()).unwrap();
            let (sender, applied) = channel();
            let (next, receiver) = channel();
            let commits = Arc::default();
            let puppet = Puppet { position: None, applied: sender, next: receiver, commits: Arc::clone(&commits) };
            let mut followers = Followers::new();
            let puppet = followers.start(puppet, &store).unwrap();
            Stage { store, followers, puppet, applied, next, commits, _directory: directory }
        }

        fn write(&self, count: u64) {
            self.write_texts(count, "{}");
        }

        fn write_texts(&self, count: u64, text: &str) {
            let from = self.store.durable().borrow().0;
            let put = |number: u64| Write {
                id: format!("urn:{}", from + number),
                precondition: Precondition::Any,
                operation: Operation::Put {
                    text: text.into(),
                    patch: None,
                    original: None,
                    created: None,
                    capabilities: Vec::new(),
                    expiry: Expiry::default(),
                    declares: Declares::itself(),
                },
                actor: None,
            };
            self.store.submit((0..count).map(put).collect()).wait().unwrap();
        }

        fn applied(&self) -> Vec<Seq> {
            self.applied.recv_timeout(LONG).unwrap()
        }

        fn go(&self, next: Next) {
            self.next.send(next).unwrap();
        }
    }

    #[test]
    fn who_waits_is_answered_before_the_backlog_is_through() {
        let stage = Stage::set();
        stage.write(1);
        assert_eq!(stage.applied(), [nth(1)]);
        stage.write(2_000);
        assert_eq!(stage.puppet.status().lag, 2_001);
        let near = stage.puppet.wait(nth(100), LONG);
        let far = stage.puppet.wait(nth(1_500), LONG);
        (0..20).for_each(|_| stage.go(Next::Apply));
        assert_eq!(pollster::block_on(near), Waited::Reached(nth(100)));
        assert_eq!(pollster::block_on(far), Waited::Reached(nth(1_500)));
    }

    #[test]
    fn who_comes_to_wait_is_answered_before_large_changes_that_were_read() {
        let stage = Stage::set();
        stage.write(1);
        stage.applied();
        stage.write_texts(6, &format!("{{\"description\":\"{}\"}}", "x".repeat(1_000_000)));
        stage.go(Next::Apply);
        assert_eq!(stage.applied(), [nth(2), nth(3)], "no more than 2 MiB");
        let near = stage.puppet.wait(nth(3), LONG);
        stage.go(Next::Apply);
        assert_eq!(pollster::block_on(near), Waited::Reached(nth(3)));
        (0..2).for_each(|_| stage.go(Next::Apply));
        let rest = [stage.applied(), stage.applied()].concat();
        assert_eq!(rest, (4..=7).map(nth).collect::<Vec<_>>());
        // A stop in the middle of the last would apply it again.
        assert_eq!(pollster::block_on(stage.puppet.wait(nth(7), LONG)), Waited::Reached(nth(7)));
    }

    #[test]
    fn failures_and_panics_are_reported_and_tried_again() {
        let stage = Stage::set();
        for (number, next) in [Next::Fail, Next::Panic].into_iter().enumerate() {
            stage.write(1);
            let first = stage.applied();
            stage.go(next);
            let again = stage.applied();
            assert_eq!(again.first(), first.first(), "from where it was");
            let status = stage.puppet.status();
            assert_eq!(status.failures, number as u64 + 1);
            let wait = stage.puppet.wait(*again.last().unwrap(), LONG);
            stage.go(Next::Apply);
            assert!(matches!(pollster::block_on(wait), Waited::Reached(_)));
            assert!(stage.puppet.status().is_ready());
        }
    }

    #[test]
    fn while_it_fails_it_is_not_ready() {
        let stage = Stage::set();
        assert!(stage.puppet.status().is_ready());
        stage.write(1);
        stage.applied();
        stage.go(Next::Panic);
        stage.applied();
        let status = stage.puppet.status();
        assert_eq!((status.is_ready(), status.failures), (true, 1), "it tries again: {status:?}");
        stage.go(Next::Fail);
        let ended = Instant::now() + LONG;
        while stage.puppet.status().is_ready() {
            assert!(Instant::now() < ended);
        }
        let reason = stage.puppet.status().reason().unwrap();
        assert!(reason.contains("the disk is full"), "{reason}");
    }

    #[test]
    fn commits_are_rarer_while_there_is_a_backlog() {
        let mut progress = Progress::at(Position { epoch: crate::change::Epoch(7), seq: Seq(1) }, 0);
        assert!(!progress.is_due(false), "nothing to commit");
        let ago = |time| Instant::now().checked_sub(time).unwrap();
        progress.uncommitted = Some((ago(COMMIT_AFTER), 1));
        assert_eq!((progress.is_due(false), progress.is_due(true)), (true, false));
        progress.uncommitted = Some((Instant::now(), CHANGES_IN_A_COMMIT));
        assert!(progress.is_due(true));
    }

    #[test]
    fn it_stops_with_what_was_applied_committed_durably() {
        let stage = Stage::set();
        stage.write(3);
        let applied = stage.puppet.wait(nth(3), LONG);
        (0..3).for_each(|_| stage.go(Next::Apply));
        assert_eq!(pollster::block_on(applied), Waited::Reached(nth(3)));
        stage.followers.stop();
        assert_eq!(stage.commits.lock().unwrap().last(), Some(&(nth(3), Durability::System)));
        let status = stage.puppet.status();
        assert_eq!((status.state, status.lag), (FollowerState::Stopped, 0));
        assert_eq!(pollster::block_on(stage.puppet.wait(Seq(9), LONG)), Waited::Stopped);
    }

    #[test]
    fn it_stops_within_the_current_changes_however_far_behind() {
        let stage = Stage::set();
        stage.write(2_000);
        let first = stage.applied();
        stage.puppet.waiting.stop();
        stage.go(Next::Apply);
        stage.followers.stop();
        assert!(stage.applied.try_recv().is_err(), "it goes on after {first:?}");
        assert_eq!(stage.commits.lock().unwrap().last(), Some(&(Seq::ZERO, Durability::System)));
        assert_eq!(stage.puppet.status().state, FollowerState::Stopped);
    }
}
