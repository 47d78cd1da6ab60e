//! `Subscription`: live changes of a registry, as an iterator or a stream.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    vec,
};

use futures_core::Stream;
use tokio::sync::watch;

use super::{Inner, Registry, presence::Presence};
use crate::{
    Error, Result,
    access::Caller,
    change::{Position, Seq},
    store::{LogReader, Logged, LoggedChange},
};

/// Maximum number of log entries that are read at once.
const AT_ONCE: usize = 64;

/// Start position of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The next change.
    Now,
    /// The oldest change in the log.
    Oldest,
    /// The first change after this position, for example after [`Subscription::resume_position`] of an earlier
    /// subscription.
    After(Position),
}

impl From<Position> for Since {
    fn from(position: Position) -> Since {
        Since::After(position)
    }
}

impl From<Option<Position>> for Since {
    /// Converts a position. Without a position, returns [`Since::Now`].
    fn from(position: Option<Position>) -> Since {
        position.map_or(Since::Now, Since::After)
    }
}

/// An event of a subscription.
#[derive(Debug, Clone)]
pub enum Event {
    /// A change.
    Change(Arc<LoggedChange>),
    /// Changes are missing: the log no longer contains the requested position, or that position is from another data
    /// directory. Read all Things again ([`Registry::list`]). The changes after the position in this event follow; the
    /// list may already reflect some of them.
    Resync(Position),
}

impl fmt::Display for Event {
    /// Writes one line, without the descriptions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Change(change) => change.fmt(f),
            Event::Resync(position) => {
                write!(f, "changes are missing: list all agents again; the changes after {position} follow")
            }
        }
    }
}

/// Changes of a registry, in order, created by [`Registry::subscribe`].
///
/// A subscription ends when the registry is closed, and doesn't keep the registry open.
pub struct Subscription {
    log: LogReader,
    durable: watch::Receiver<Seq>,
    position: Seq,
    presence: Presence,
    is_lost: bool,
    has_ended: bool,
    ahead: VecDeque<Logged>,
    /// Remaining visible changes of the entry before those, with its position, which is reached after the last of
    /// them.
    seen: vec::IntoIter<Result<Arc<LoggedChange>>>,
    entry: Option<Seq>,
    /// Pending wait for the next change, started by a poll.
    waiting: Option<Waiting>,
    /// Caller that reads, unless it sees everything. The reference doesn't keep the registry open.
    reader: Option<(Weak<Inner>, Caller)>,
}

/// A [`Subscription`] as a [`Stream`], created by [`Subscription::into_stream`].
#[derive(Debug)]
pub struct SubscriptionStream(Subscription);

/// Ends with whether the log goes on.
type Waiting = Pin<Box<dyn Future<Output = bool> + Send + Sync>>;

impl Registry {
    /// Subscribes to changes since a position. The subscription is an [`Iterator`] whose `next` blocks until the next
    /// change; in asynchronous code, use [`Subscription::next_event`] or [`Subscription::into_stream`].
    /// [`Event::Resync`] reports missing changes, and [`Registry::close`] ends the subscription.
    ///
    /// ```
    /// use agentdex::{
    ///     Registry,
    ///     registry::{Event, Since},
    ///     td::Description,
    /// };
    ///
    /// # let directory = std::env::temp_dir().join(format!("agentdex-subscribe-{}", std::process::id()));
    /// let registry = Registry::open(&directory)?;
    /// let mut changes = registry.subscribe(Since::Now);
    /// registry.register(Description::new("Weather agent").id("urn:example:weather"))?;
    ///
    /// let Some(Event::Change(change)) = changes.next().transpose()? else { panic!("a change") };
    /// assert_eq!((change.kind.as_str(), change.id.as_str()), ("thing_created", "urn:example:weather"));
    ///
    /// // A program that stores the position goes on there after a restart.
    /// let position = changes.resume_position();
    /// registry.remove("urn:example:weather")?;
    /// let Some(Event::Change(change)) = registry.subscribe(position).next().transpose()? else { panic!("a change") };
    /// assert_eq!(change.kind.as_str(), "thing_deleted");
    ///
    /// registry.close();
    /// assert_eq!(changes.count(), 1);
    /// # std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// Changes that are older than the latest few thousand are read from disk, which can block for some milliseconds.
    pub fn subscribe(&self, since: impl Into<Since>) -> Subscription {
        let log = self.0.store.log_reader();
        let durable = log.durable();
        let last = *durable.borrow();
        let (position, resumed, is_lost) = match since.into() {
            Since::Now => (last, last, false),
            Since::Oldest => (log.start(), Seq::ZERO, false),
            Since::After(position) => (position.seq, position.seq, position.epoch != log.epoch()),
        };
        let presence = Presence::new(resumed, last);
        let reader = self.grants().map(|_| (Arc::downgrade(&self.0), self.1.clone()));
        let (ahead, seen, entry) = (VecDeque::new(), Vec::new().into_iter(), None);
        let (has_ended, waiting) = (false, None);
        Subscription { log, durable, position, presence, is_lost, has_ended, ahead, seen, entry, waiting, reader }
    }
}

impl Subscription {
    /// Returns the position after the last event, from which a new subscription can continue.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::registry::Since;
    ///
    /// let position = registry.subscribe(Since::Now).resume_position();
    /// // To be kept in a file: it is read as it is written.
    /// assert_eq!(position.to_string().parse(), Ok(position));
    /// registry.remove("urn:example:weather")?;
    /// assert!(registry.subscribe(position).next().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume_position(&self) -> Position {
        Position { epoch: self.log.epoch(), seq: self.position }
    }

    /// Waits for the next event. Returns `None` once the registry is closed.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub async fn next_event(&mut self) -> Option<Result<Event>> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    /// Converts the subscription to a [`Stream`].
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::registry::{Event, Since};
    /// use futures_util::StreamExt;
    ///
    /// # let _ =
    /// async {
    ///     let mut changes = registry.subscribe(Since::Oldest).into_stream();
    ///     while let Some(event) = changes.next().await {
    ///         match event? {
    ///             Event::Change(change) => println!("{} {}", change.kind, change.id),
    ///             Event::Resync(position) => println!("read all agents again; {position} follows"),
    ///         }
    ///     }
    ///     agentdex::Result::Ok(())
    /// };
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_stream(self) -> SubscriptionStream {
        SubscriptionStream(self)
    }

    /// Returns the next event that is there without waiting, if any.
    fn read(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(change) = self.seen.next() {
                if let Some(entry) = self.entry.filter(|_| self.seen.as_slice().is_empty()) {
                    self.position = entry;
                }
                return Ok(Some(Event::Change(change?)));
            }
            if self.ahead.is_empty() && !self.is_lost {
                match self.log.cached_changes(self.position, AT_ONCE) {
                    Some(changes) => self.ahead.extend(changes),
                    None => {
                        let read = self.log.changes(self.position, AT_ONCE)?;
                        self.is_lost = read.truncated;
                        self.ahead.extend(read.entries);
                    }
                }
            }
            if std::mem::take(&mut self.is_lost) {
                self.position = *self.durable.borrow_and_update();
                return Ok(Some(Event::Resync(self.resume_position())));
            }
            // What the reader doesn't see is passed over.
            let Some(entry) = self.ahead.pop_front() else { return Ok(None) };
            match &self.reader {
                None => {
                    self.position = entry.seq();
                    if let Logged::Change(change) = entry {
                        return Ok(Some(Event::Change(change)));
                    }
                }
                Some((inner, caller)) => {
                    let inner = inner.upgrade().ok_or(Error::ShuttingDown)?;
                    let registry = Registry::of(inner).as_caller(caller.clone());
                    let seen: Vec<_> = registry.seen(&entry, self.presence).collect();
                    if seen.is_empty() {
                        self.position = entry.seq();
                    }
                    (self.entry, self.seen) = (Some(entry.seq()), seen.into_iter());
                }
            }
        }
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Event>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                let Poll::Ready(goes_on) = waiting.as_mut().poll(context) else { return Poll::Pending };
                self.has_ended = !goes_on;
                self.waiting = None;
            }
            // Before reading: what becomes durable meanwhile is waited for no more.
            self.durable.borrow_and_update();
            match self.read() {
                Ok(Some(event)) => return Poll::Ready(Some(Ok(event))),
                Ok(None) if !self.has_ended => {
                    let mut durable = self.durable.clone();
                    self.waiting = Some(Box::pin(async move { durable.changed().await.is_ok() }));
                }
                // What isn't in memory can't be read any more.
                Ok(None) | Err(Error::ShuttingDown) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl Iterator for Subscription {
    type Item = Result<Event>;

    /// Waits for the next event. In async code use [`Subscription::next_event`] or [`Subscription::into_stream`].
    fn next(&mut self) -> Option<Result<Event>> {
        pollster::block_on(self.next_event())
    }
}

impl Stream for SubscriptionStream {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Event>>> {
        self.get_mut().0.poll_event(context)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("position", &self.resume_position()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::td::Description;

    #[test]
    fn events_are_displayed_in_one_line_without_the_description() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        registry.register(Description::new("Weather agent").id("urn:a").capability("forecast")).unwrap();
        registry.remove("urn:a").unwrap();
        registry.close();
        let lines: Vec<String> = registry.subscribe(Since::Oldest).map(|event| event.unwrap().to_string()).collect();
        let (created, deleted) = (&lines[0], &lines[1]);
        assert!(created.ends_with("Z thing_created urn:a") && !created.contains('\n'), "{created}");
        assert!(deleted.ends_with("Z thing_deleted urn:a (removed)"), "{deleted}");

        let position = "00000000000000ab-17".parse().unwrap();
        assert!(Event::Resync(position).to_string().contains("after 00000000000000ab-17"));
    }
}
