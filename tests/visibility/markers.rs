//! Markers in texts and ids, by which it is known what a reader got.

use std::collections::BTreeSet;

use super::oracle::Part;

/// Something that is looked for in all that readers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Marker {
    Text(u32, Part),
    /// An id, by its number.
    Id(usize),
}

impl Marker {
    /// The number of the text that it is a part of.
    pub fn text(self) -> Option<u32> {
        match self {
            Marker::Text(text, _) => Some(text),
            Marker::Id(_) => None,
        }
    }
}

/// The markers in a text: `zqt`, `zqk` or `zqi` and five digits.
pub fn markers(text: &str) -> BTreeSet<Marker> {
    let found = text.match_indices("zq").filter_map(|(at, _)| {
        let number: usize = text.get(at + 3..at + 8)?.parse().ok()?;
        match text.as_bytes()[at + 2] {
            b't' => Some(Marker::Text(u32::try_from(number).ok()?, Part::Body)),
            b'k' => Some(Marker::Text(u32::try_from(number).ok()?, Part::Key)),
            b'i' => Some(Marker::Id(number)),
            _ => None,
        }
    });
    found.collect()
}
