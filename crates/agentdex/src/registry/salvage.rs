//! Salvage of data directories with damaged files, or with files replaced by older copies.

use std::{fmt, path::Path, thread, time::Duration};

use super::Registry;
use crate::{
    Error, Result,
    store::{self, CopiedDirectory, Fault, Inspection, Salvaged, Verdict},
};

/// Polling interval while the search index is being built.
const PAUSE: Duration = Duration::from_millis(50);

/// Reads the complete data directory of a closed registry, and reports inconsistencies and losses. The directory is
/// not modified: a copy is read, in the folder for temporary files (`TMPDIR`). Blocks.
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
/// [`Error::StoreInUse`], [`Error::UnsupportedStoreFormat`]; [`Error::DiskFull`] if there is no space for the copy;
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
/// Same as [`inspect`].
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
    let opened = match Registry::open(copy.path()) {
        Err(Error::ClusterDirectory { .. }) => copy.leave_cluster().and_then(|()| Registry::open(copy.path())),
        opened => opened,
    };
    let registry = match opened {
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

/// Creates a new data directory from the readable content of a closed registry's directory. The old directory is not
/// modified: a copy is read. The new directory must be empty or not exist yet; it has a new epoch. If the latest access
/// of records can't be proven, all records become private, all keys are revoked, and namespaces and saved queries are
/// dropped ([`Salvaged::is_proven`]). Blocks.
///
/// # Errors
/// [`Error::StoreInUse`]; [`Error::StoreDamaged`] if nothing can be read; [`Error::DiskFull`] if there is no space
/// for the copy; [`Error::Io`], [`Error::Store`].
pub fn salvage(directory: &Path, to: &Path) -> Result<Salvaged> {
    store::salvage(directory, to)
}

/// Accepts a data directory that was deliberately restored from older files. The directory gets a new epoch, so
/// resuming subscribers receive a `resync`. All keys are revoked, and their ids are returned. Access to agents, and the
/// members of namespaces, remain as found in the directory. Blocks.
///
/// # Errors
/// [`Error::StoreInUse`]; [`Error::StoreDamaged`] if the directory is also damaged; [`Error::Io`], [`Error::Store`].
pub fn accept_rollback(directory: &Path) -> Result<Vec<String>> {
    store::accept_rollback(directory)
}
