//! Last positions of the index and of the vectors, read without opening them. A store that ends at an earlier
//! position has lost changes.

use std::{fs, path::Path};

use serde::Deserialize;

use super::directory;
use crate::change::Position;

/// Metadata of an index as written by its last commit, as far as it is used.
#[derive(Deserialize)]
struct Metadata {
    payload: Option<String>,
}

/// Returns the position of the index in a directory, or `None` if there is no readable index.
pub fn position_of_index(home: &Path) -> Option<Position> {
    let current = directory::current(home).ok()??;
    let bytes = fs::read(current.join("meta.json")).ok()?;
    // A checksum follows, which the index compares when it is opened.
    let metadata: Metadata = serde_json::Deserializer::from_slice(&bytes).into_iter().next()?.ok()?;
    metadata.payload?.parse().ok()
}
