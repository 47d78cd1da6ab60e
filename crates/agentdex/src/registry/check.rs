//! Consistency check of the store, the log and the search index.

use std::collections::BTreeSet;

use super::Registry;
use crate::{
    Error, Result,
    search::Filters,
    store::{Checked, Fault},
};

/// Maximum number of ids listed per difference.
const MOST_LISTED: usize = 20;

impl Registry {
    /// Reads the whole store, compares the log, the records, and the search index with each other, and reports
    /// inconsistencies. Waits for the index. Concurrent writes may be reported as differences. Blocks.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// let checked = registry.check()?;
    /// assert_eq!((checked.records, checked.changes), (1, 1));
    /// assert!(checked.faults.is_empty(), "{:?}", checked.faults);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Registry::search`] and [`Registry::backup`].
    pub fn check(&self) -> Result<Checked> {
        let mut checked = self.0.store.check()?;
        checked.faults.extend(self.compare_index()?);
        Ok(checked)
    }

    /// Waits for the search index, unless it fails: after a stop it may lack much.
    fn wait_for_index(&self) -> Result<()> {
        loop {
            match self.refresh() {
                Err(Error::ConsistencyTimeout { .. }) if self.0.indexing.applied().is_some() => {}
                refreshed => return refreshed.map(drop),
            }
        }
    }

    /// Compares the search index with the records.
    pub(super) fn compare_index(&self) -> Result<Vec<Fault>> {
        self.wait_for_index()?;
        let indexed: BTreeSet<String> = self.ids_matching(None, &Filters::default(), true)?.ids.into_iter().collect();
        let (mut stored, mut faults) = (BTreeSet::new(), Vec::new());
        for thing in self.list() {
            // A record that can't be read is a fault of the store, and listed.
            let Ok(thing) = thing else { continue };
            stored.insert(thing.id().to_owned());
        }
        let mut compare = |ids: Vec<&String>, what: &str| {
            for id in ids.into_iter().take(MOST_LISTED) {
                let place = "the search index".to_owned();
                faults.push(Fault { place, message: format!("it {what} {id:?}") });
            }
        };
        compare(stored.difference(&indexed).collect(), "lacks");
        compare(indexed.difference(&stored).collect(), "still contains");
        Ok(faults)
    }
}
