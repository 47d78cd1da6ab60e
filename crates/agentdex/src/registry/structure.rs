//! Searches by the structure of descriptions. Every description that may match is read, in parallel on all
//! processors. If a query requires a title, a type, or an id, the index narrows down the candidates.

use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{Registry, Thing, Things};
use crate::{
    Error, Result,
    search::jsonpath::{Found, Query},
};

/// Maximum time of a search.
const TIME_BUDGET: Duration = Duration::from_secs(5);

/// Maximum size of the results in bytes of JSON.
const MAX_FOUND_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of threads per query.
const MAX_THREADS: usize = 4;

/// Maximum number of descriptions read at a time by a thread, if the index lists the candidates.
const PORTION: usize = 64;

/// Of so many descriptions the index need not say which may match: all are read in their order.
const MOST_CANDIDATES: usize = 20_000;

/// Descriptions that a thread reads.
type Portion<'a> = Box<dyn Iterator<Item = Result<Thing>> + 'a>;

/// Descriptions that are left to read.
enum Unread {
    All(Things),
    /// Ids of candidates, ascending.
    Candidates(std::vec::IntoIter<String>),
}

/// State that the threads of a search share.
struct Work<'a> {
    registry: &'a Registry,
    query: &'a Query,
    /// Remaining descriptions, and the number of portions already taken.
    unread: Mutex<(Unread, usize)>,
    deadline: Instant,
    found_bytes: AtomicUsize,
}

impl Registry {
    /// Evaluates a JSONPath query on the array of all descriptions, each with its `registration` (see
    /// [`super::Thing::enriched`]). Returns the results as JSON texts, in order of the ids of their Things. An entire
    /// description is returned as stored, with its `registration`. Every acknowledged write is found. Blocks.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// let query = agentdex::search::jsonpath::Query::parse("$[?@.title=='Weather agent'].id")?;
    /// assert_eq!(registry.search_by_path(&query)?, [r#""urn:example:weather""#]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::QueryTooCostly`] after 5 s or beyond 16 MiB of results, [`Error::Store`].
    pub fn search_by_path(&self, query: &Query) -> Result<Vec<String>> {
        let unread = self.candidates(query).map_or_else(|| Unread::All(self.list()), Unread::Candidates);
        let work = Work {
            registry: self,
            query,
            unread: Mutex::new((unread, 0)),
            deadline: Instant::now() + TIME_BUDGET,
            found_bytes: AtomicUsize::new(0),
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let mut portions = thread::scope(|scope| {
            // Not on this one: what a thread keeps compiled goes with it.
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.run())).collect();
            let mut portions = Vec::new();
            for thread in threads {
                let joined = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                portions.extend(joined?);
            }
            Ok::<_, Error>(portions)
        })?;
        portions.sort_unstable_by_key(|(number, _)| *number);
        Ok(portions.into_iter().flat_map(|(_, found)| found).collect())
    }

    /// Returns the ids of candidates, ascending, if the index can determine them.
    fn candidates(&self, query: &Query) -> Option<std::vec::IntoIter<String>> {
        if let Some(id) = query.only_id() {
            return Some(vec![id.to_owned()].into_iter());
        }
        let (words, filters) = query.narrowed()?;
        // An index that isn't ready, or behind, tells nothing; then all are read.
        let words = Some(words.as_str()).filter(|words| !words.is_empty());
        pollster::block_on(self.ready_to_search(true)).ok()?;
        let found = self.ids_as_indexed(words, &filters, None, MOST_CANDIDATES + 1).ok()?;
        (found.ids.len() <= MOST_CANDIDATES).then(|| found.ids.into_iter())
    }
}

impl Work<'_> {
    /// Evaluates portions until none is left. Returns the results of each portion with its number.
    fn run(&self) -> Result<Vec<(usize, Vec<String>)>> {
        let mut portions = Vec::new();
        while let Some((number, things)) = self.next_portion()? {
            let mut found = Vec::new();
            for thing in things {
                self.evaluate(thing?.enriched(), &mut found)?;
            }
            if !found.is_empty() {
                portions.push((number, found));
            }
        }
        Ok(portions)
    }

    fn next_portion(&self) -> Result<Option<(usize, Portion<'_>)>> {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        let (unread, taken) = &mut *unread;
        *taken += 1;
        let portion: Option<Portion<'_>> = match unread {
            Unread::All(things) => things.take_chunk()?.map(|things| -> Portion<'_> { Box::new(things) }),
            Unread::Candidates(ids) => {
                let ids: Vec<String> = ids.take(PORTION).collect();
                let find = |id: String| self.registry.find(&id).transpose();
                (!ids.is_empty()).then(|| -> Portion<'_> { Box::new(ids.into_iter().filter_map(find)) })
            }
        };
        Ok(portion.map(|portion| (*taken, portion)))
    }

    fn evaluate(&self, description: String, found: &mut Vec<String>) -> Result<()> {
        if Instant::now() > self.deadline {
            let message =
                format!("it takes longer than {} s; add filters, or search by words first", TIME_BUDGET.as_secs());
            return Err(Error::QueryTooCostly { message });
        }
        if !self.query.may_match(&description) {
            return Ok(());
        }
        let before = found.len();
        let results = self.query.evaluate(&description)?;
        found.extend(results.into_iter().map(|result| match result {
            Found::Description => description.clone(),
            Found::Part(text) => text,
        }));
        let bytes: usize = found.iter().skip(before).map(String::len).sum();
        if self.found_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_FOUND_BYTES {
            let message = format!("its results exceed {MAX_FOUND_BYTES} bytes; select less, for example $[*].title");
            return Err(Error::QueryTooCostly { message });
        }
        Ok(())
    }
}
