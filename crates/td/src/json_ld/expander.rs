//! Threads with large stacks, which convert documents to statements.

use std::{
    collections::VecDeque,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

use super::{Statements, processor::Processor};
use crate::{Error, Result};

/// The stack of a thread. A level of nesting takes some 20 KiB, and several times as much where nothing is optimized;
/// what isn't used takes no memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The most threads.
const MAX_THREADS: usize = 4;

/// The most documents that wait.
const MAX_WAITING: usize = 256;

/// Converts documents to RDF on its own threads. They are started on demand, and terminate when the expander is
/// dropped.
///
/// ```
/// use agentdex_td::json_ld::Expander;
///
/// let document = r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:lamp", "title": "Lamp"}"#;
/// let statements = Expander::new().read(document)?;
/// assert_eq!(statements.quads[0].predicate.as_ref(), "https://www.w3.org/2019/wot/td#title");
/// # Ok::<(), agentdex_td::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Expander {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    is_stopping: bool,
}

#[derive(Debug)]
struct Job {
    text: String,
    reply: mpsc::Sender<Result<Statements>>,
}

/// A conversion in progress, started by [`Expander::start`].
#[derive(Debug)]
pub struct Pending(mpsc::Receiver<Result<Statements>>);

impl Pending {
    /// Waits for the statements of the document.
    ///
    /// # Errors
    /// Same as [`Expander::read`].
    pub fn wait(self) -> Result<Statements> {
        self.0.recv().unwrap_or(Err(Error::ShuttingDown))
    }
}

impl Expander {
    /// Creates an expander without starting threads yet.
    pub fn new() -> Expander {
        Expander::default()
    }

    /// Returns the statements of a document, blocking until they are read.
    ///
    /// ```
    /// use agentdex_td::{Description, json_ld::{Expander, Term}};
    ///
    /// let agent = Description::new("Weather agent").id("urn:example:weather");
    /// let statements = Expander::new().read(&agent.to_json())?;
    /// let mut quads = statements.quads.iter();
    /// let title = quads.find(|quad| &*quad.predicate == "https://www.w3.org/2019/wot/td#title").unwrap();
    /// assert_eq!(title.subject, Term::Iri("urn:example:weather".into()));
    /// assert!(matches!(&title.object, Term::Literal { value, .. } if value == "Weather agent"));
    /// # Ok::<(), agentdex_td::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MalformedJson`]; [`Error::LimitExceeded`] for deeply nested JSON; [`Error::NotRdf`] for JSON that is
    /// not JSON-LD; otherwise the same as [`Expander::start`].
    pub fn read(&self, document: &str) -> Result<Statements> {
        self.start(document.to_owned())?.wait()
    }

    /// Starts reading a document, without blocking.
    ///
    /// # Errors
    /// [`Error::Overloaded`] if the queue is full; [`Error::Io`] if no thread can be started.
    pub fn start(&self, document: String) -> Result<Pending> {
        let (reply, pending) = mpsc::channel();
        let mut queue = self.shared.lock();
        if queue.jobs.len() >= MAX_WAITING {
            return Err(Error::Overloaded { doing: "reading descriptions as JSON-LD" });
        }
        queue.jobs.push_back(Job { text: document, reply });
        let most = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        if queue.idle < queue.jobs.len() && queue.threads < most {
            let shared = self.shared.clone();
            let started = thread::Builder::new()
                .name("agentdex-json-ld".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || shared.run());
            match started {
                Ok(_) => queue.threads += 1,
                Err(source) if queue.threads == 0 => {
                    queue.jobs.clear();
                    return Err(Error::Io { doing: "starting a thread for JSON-LD".to_owned(), source });
                }
                // Those that are there do it.
                Err(_) => {}
            }
        }
        drop(queue);
        self.shared.changed.notify_one();
        Ok(Pending(pending))
    }
}

impl Drop for Expander {
    fn drop(&mut self) {
        self.shared.lock().is_stopping = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn run(&self) {
        let mut processor = Processor::default();
        while let Some(job) = self.next() {
            let read = catch_unwind(AssertUnwindSafe(|| processor.read(&job.text))).unwrap_or_else(|_| {
                // The crate panics on IRIs whose percent-encoded bytes are not UTF-8. Other descriptions must not wait for it.
                processor = Processor::default();
                let reason =
                    "the description contains an unreadable IRI; its percent-encoded bytes must be UTF-8".to_owned();
                Err(Error::NotRdf { reason })
            });
            // Nobody may wait for it any more.
            let _ = job.reply.send(read);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.is_stopping {
                return None;
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
