//! Salvage: data directories whose files are damaged, or were replaced by older ones.

use std::{fmt, path::Path, thread, time::Duration};

use super::Registry;
use crate::{
    Error, Result,
    store::{self, CopiedDirectory, Fault, Inspection, Salvaged, Verdict},
};

/// The pause before a search index that is being built is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// Reads all that is in the data directory of a registry that isn't open, and says what doesn't fit together, or isn't there
/// any more. Nothing is written to it: a copy is read, in the folder for temporary files (`TMPDIR`). Blocks.
///
/// ```
/// # use agentdex::{Registry, registry::{Verdict, inspect}, td::Description};
/// # let directory = tempfile::tempdir()?;
/// let registry = Registry::open(directory.path())?;
/// registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
/// registry.close();
/// let inspection = inspect(directory.path())?;
/// assert_eq!((inspection.verdict, inspection.checked.records), (Verdict::InOrder, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::StoreInUse`], [`Error::UnsupportedStoreFormat`]; [`Error::DiskFull`] where there is no room for the copy;
/// [`Error::Io`].
pub fn inspect(directory: &Path) -> Result<Inspection> {
    inspect_with(directory, |_| {})
}

/// A step of an inspection, for progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InspectionStep {
    /// Copying the data directory.
    Copy,
    /// Reading the store.
    Read,
    /// Comparing the search index with the store.
    Compare,
}

impl InspectionStep {
    /// All steps, in order.
    pub const ALL: [InspectionStep; 3] = [InspectionStep::Copy, InspectionStep::Read, InspectionStep::Compare];
}

impl fmt::Display for InspectionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InspectionStep::Copy => "copying the data directory",
            InspectionStep::Read => "reading the store",
            InspectionStep::Compare => "comparing the search index with the store",
        })
    }
}

/// Like [`inspect`], and calls `progress` at the beginning of each step. Blocks.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_with(directory: &Path, progress: impl Fn(InspectionStep)) -> Result<Inspection> {
    progress(InspectionStep::Copy);
    let copy = CopiedDirectory::of(directory)?;
    progress(InspectionStep::Read);
    let inspected = store::inspect(&copy).map_err(|error| match error {
        // The copy is gone when that is read.
        Error::UnsupportedStoreFormat { found, supported, .. } => {
            Error::UnsupportedStoreFormat { path: directory.to_owned(), found, supported }
        }
        error => error,
    });
    let mut inspection = inspected?;
    if !matches!(inspection.verdict, Verdict::InOrder | Verdict::Damaged) {
        return Ok(inspection);
    }
    progress(InspectionStep::Compare);
    let registry = match Registry::open(copy.path()) {
        Err(Error::StoreBehind { commits, found, expected, .. }) => {
            inspection.verdict = Verdict::Behind { commits, found, expected };
            return Ok(inspection);
        }
        registry => registry?,
    };
    let differences = loop {
        match registry.compare_index() {
            // That of a restored directory has yet to be made.
            Err(Error::IndexRebuilding { .. }) => thread::sleep(PAUSE),
            compared => break compared,
        }
    };
    registry.close();
    let differences: Vec<Fault> = differences?;
    if !differences.is_empty() {
        inspection.verdict = Verdict::Damaged;
        inspection.checked.faults.extend(differences);
    }
    Ok(inspection)
}

/// Makes a data directory of what can be read in the one of a registry that isn't open, which stays as it is: a copy is read.
/// The new one must not exist, or be empty; it has a new epoch. Records whose access isn't shown to be the last one arrive
/// private, and keys are revoked then ([`Salvaged::is_proven`]). Blocks.
///
/// # Errors
/// [`Error::StoreInUse`]; [`Error::StoreDamaged`] where nothing can be read; [`Error::DiskFull`] where there is no room for
/// the copy; [`Error::Io`], [`Error::Store`].
pub fn salvage(directory: &Path, to: &Path) -> Result<Salvaged> {
    store::salvage(directory, to)
}

/// Takes a data directory for right that is older than it was because its files were put back on purpose. It gets a new epoch,
/// so that subscribers that resume get a `resync`, and all keys are revoked: their ids are returned. Who may see an agent, and
/// who is a member of a namespace, is what it was. Blocks.
///
/// # Errors
/// [`Error::StoreInUse`]; [`Error::StoreDamaged`] where it is damaged beside that; [`Error::Io`], [`Error::Store`].
pub fn accept_rollback(directory: &Path) -> Result<Vec<String>> {
    store::accept_rollback(directory)
}
