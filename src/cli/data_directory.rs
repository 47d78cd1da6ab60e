//! The data directory of a registry that is stopped.

use std::path::Path;

use anyhow::{Context, bail};

/// Refuses a directory without a registry, which opening would make, and one that can't be read.
pub(super) fn check_has_registry(directory: &Path) -> anyhow::Result<()> {
    match directory.join("store").try_exists().with_context(|| format!("reading {}", directory.display()))? {
        true => Ok(()),
        false => bail!("{}: this directory contains no registry", directory.display()),
    }
}
