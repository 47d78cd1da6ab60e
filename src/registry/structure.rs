//! Searches by the structure of descriptions: every description is read, by all processors.

use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{Registry, Things};
use crate::{
    Error, Result,
    search::jsonpath::{Found, Query},
};

/// How long a search may take.
const TIME_BUDGET: Duration = Duration::from_secs(5);

/// The most bytes of JSON that are found.
const MAX_FOUND_BYTES: usize = 16 * 1024 * 1024;

/// The most threads that evaluate one query.
const MAX_THREADS: usize = 4;

/// What the threads of a search share.
struct Work<'a> {
    query: &'a Query,
    /// What is left, and how many portions were taken.
    things: Mutex<(Things, usize)>,
    deadline: Instant,
    found_bytes: AtomicUsize,
}

impl Registry {
    /// What a JSONPath finds in the list of all descriptions, each with `registration` as [`super::Thing::enriched`]
    /// has it: JSON texts, in the order of ids. Whole descriptions are as they were registered. Blocks; every
    /// acknowledged write is found.
    ///
    /// # Errors
    /// [`Error::QueryTooCostly`] after 5 s, or where more than 16 MiB are found, [`Error::Store`].
    pub fn search_by_path(&self, query: &Query) -> Result<Vec<String>> {
        let work = Work {
            query,
            things: Mutex::new((self.list(), 0)),
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
}

impl Work<'_> {
    /// Evaluates portion after portion, until none is left; what was found in each, with its number.
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

    fn next_portion(&self) -> Result<Option<(usize, Things)>> {
        let mut things = self.things.lock().unwrap_or_else(PoisonError::into_inner);
        let (things, taken) = &mut *things;
        *taken += 1;
        Ok(things.take_chunk()?.map(|portion| (*taken, portion)))
    }

    fn evaluate(&self, description: String, found: &mut Vec<String>) -> Result<()> {
        if Instant::now() > self.deadline {
            let message =
                format!("it takes longer than {} s: filter by more, or by words first", TIME_BUDGET.as_secs());
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
            let message = format!("it finds more than {MAX_FOUND_BYTES} bytes: select parts, such as $[*].title");
            return Err(Error::QueryTooCostly { message });
        }
        Ok(())
    }
}
