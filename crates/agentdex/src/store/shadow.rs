//! `Shadow`: a second store that installs every commit of a store, and is compared with it when that is closed: all that
//! a store has in memory must follow from its commits. For tests: in unit tests always, otherwise enabled in debug builds
//! by an environment variable.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use uuid::Uuid;

use super::{
    commit::Committer,
    comparison::difference,
    directory::{create_directory, open_tree},
    inspect,
    install::Folded,
    open::{self, Opened},
    options::Options,
    restore::Filling,
    tree::reading,
    view::View,
};
use crate::{Result, change::Timestamp};

/// Environment variable that gives stores a shadow: `1` for all stores, or a list of modules of tests, separated by
/// commas, for the stores that these tests open.
const VARIABLE: &str = "AGENTDEX_TEST_SHADOW";

/// The shadow of a store.
pub(super) struct Shadow {
    original: Arc<View>,
    view: Arc<View>,
    committer: Committer,
    /// First commit that couldn't be installed.
    failure: Mutex<Option<String>>,
    directory: PathBuf,
}

impl Shadow {
    /// Creates the shadow of a store that was just opened, if the environment variable requests it. A damaged store has
    /// no shadow.
    pub fn of(view: &Arc<View>) -> Result<Option<Arc<Shadow>>> {
        // Stores with a shared log are tested by other means.
        if view.options.log.is_some() || !(cfg!(test) || is_requested()) {
            return Ok(None);
        }
        let directory = env::temp_dir().join(format!("agentdex-shadow-{}", Uuid::new_v4()));
        create_directory(&directory)?;
        let options = Options { followed: Vec::new(), before_flush: None, log: None, ..view.options.clone() };
        let copy = copy(view, &directory, &options).and_then(|()| open::open(&directory, options));
        let Ok(Opened { view: shadow, files, witness, state, .. }) = copy else {
            let _ = fs::remove_dir_all(&directory);
            return Ok(None);
        };
        let shadow = Arc::new(shadow);
        let committer = Committer::new(shadow.clone(), files, Arc::new(witness), state, None)?;
        let shadow =
            Arc::new(Shadow { original: view.clone(), view: shadow, committer, failure: Mutex::default(), directory });
        let installs = Arc::downgrade(&shadow);
        view.observe(Box::new(move |pairs, commits| {
            installs.upgrade().into_iter().for_each(|shadow| shadow.install(Folded::of(pairs.clone(), commits)));
        }));
        Ok(Some(shadow))
    }

    fn install(&self, commits: Folded) {
        if let Err(error) = self.committer.install(commits) {
            self.failure().get_or_insert(error.to_string());
        }
    }

    /// Returns the first difference between the store and its shadow, or `None`. The store must no longer accept
    /// commits.
    pub fn difference(&self) -> Option<String> {
        let view = &self.original;
        // What an unreadable store or a failed commit contains isn't known.
        if view.closed.get().is_some() || view.tree.damage.count() > 0 {
            return None;
        }
        if view.expiries.grace.pending().is_none() {
            self.view.expiries.grace.grant();
        }
        let failure = self.failure().take();
        let found = failure.or_else(|| difference(view, &self.view, Timestamp::now()).ok().flatten())?;
        // If files were damaged before the store was opened, its log isn't read to the end.
        let is_whole = inspect::check_all(&view.tree).is_ok_and(|checked| checked.faults.is_empty());
        is_whole.then_some(found)
    }

    fn failure(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        self.committer.release();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// True if the environment variable requests a shadow for a store opened by this thread. The thread of a test has the
/// name of the test.
fn is_requested() -> bool {
    let Ok(requested) = env::var(VARIABLE) else { return false };
    let thread = thread::current();
    let test = thread.name().unwrap_or_default();
    let is_in = |module: &str| test.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"));
    requested == "1" || requested.split(',').any(is_in)
}

/// Copies all keys and values of a store.
fn copy(view: &View, directory: &Path, options: &Options) -> Result<()> {
    let tree = open_tree(directory, options)?;
    let mut filling = Filling::new(&tree);
    for pair in view.tree.db()?.iter() {
        let (key, value) = pair.map_err(reading)?;
        filling.put(key, value)?;
    }
    filling.finish()?;
    Ok(())
}
