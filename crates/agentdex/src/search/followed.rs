//! The positions that an index and vectors have come to, read without opening them: a store that ends earlier is older than
//! it was.

use std::{fs, path::Path};

use serde::Deserialize;

use super::directory;
use crate::change::Position;

/// The part of the metadata of an index that its last commit has written.
#[derive(Deserialize)]
struct Metadata {
    payload: Option<String>,
}

/// The position of the index in a directory; none where there is none, or none that can be read.
pub fn position_of_index(home: &Path) -> Option<Position> {
    let current = directory::current(home).ok()??;
    let bytes = fs::read(current.join("meta.json")).ok()?;
    // A checksum follows, which the index compares when it is opened.
    let metadata: Metadata = serde_json::Deserializer::from_slice(&bytes).into_iter().next()?.ok()?;
    metadata.payload?.parse().ok()
}
