//! Positions in the log of a store.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The position of a change in the log. Positions ascend and may have gaps: the position before a change is its
/// [`Change::previous`](crate::Change::previous), and the difference of two positions isn't the number of changes
/// between them.
///
/// ```
/// use agentdex_api::Seq;
///
/// assert!(Seq::ZERO < Seq(1) && Seq(41) < Seq(47));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position before the first change.
    pub const ZERO: Seq = Seq(0);

    /// Returns the next number, which need not be the position of a change.
    pub fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Identifier of a store's log: a random number generated when the store is created, by which positions from a restored
/// store or another directory are recognized. Written as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Epoch {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !digits {
            return Err(ParsePositionError(text.into()));
        }
        u64::from_str_radix(text, 16).map(Epoch).map_err(|_| ParsePositionError(text.into()))
    }
}

impl Serialize for Epoch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Epoch {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The position of a follower: `<epoch>-<seq>`, which is also the id of an event.
///
/// ```
/// use agentdex_api::{Position, Seq};
///
/// let position: Position = "00000000000000ab-17".parse()?;
/// assert_eq!(position.seq, Seq(17));
/// assert!("17".parse::<Position>().is_err(), "of which store?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The epoch of the log to which `seq` belongs.
    pub epoch: Epoch,
    /// The last processed change.
    pub seq: Seq,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.seq)
    }
}

impl FromStr for Position {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || ParsePositionError(text.into());
        let (epoch, seq) = text.split_once('-').ok_or_else(malformed)?;
        if seq.is_empty() || !seq.bytes().all(|b| b.is_ascii_digit()) {
            return Err(malformed());
        }
        Ok(Position { epoch: epoch.parse().map_err(|_| malformed())?, seq: Seq(seq.parse().map_err(|_| malformed())?) })
    }
}

/// The place in the log up to which a reader has read: a position or, within the changes at a position, a Thing,
/// written `<epoch>-<seq>.<id>`. A single entry of the log can make many Things visible or invisible; these changes are
/// read in order of their ids.
///
/// ```
/// use agentdex_api::{Cursor, Position};
///
/// let cursor: Cursor = "00000000000000ab-17.urn:example:weather".parse()?;
/// assert_eq!(cursor.id.as_deref(), Some("urn:example:weather"));
/// let position: Position = "00000000000000ab-17".parse()?;
/// assert_eq!(Cursor::from(position).to_string(), "00000000000000ab-17");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The position of the last entry that was at least partly read.
    pub position: Position,
    /// The last Thing that was read within the entry, or `None` if the entry was read completely.
    pub id: Option<String>,
}

impl From<Position> for Cursor {
    fn from(position: Position) -> Cursor {
        Cursor { position, id: None }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.position.fmt(f)?;
        self.id.as_ref().map_or(Ok(()), |id| write!(f, ".{id}"))
    }
}

impl FromStr for Cursor {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (position, id) = text.split_once('.').map_or((text, None), |(position, id)| (position, Some(id)));
        let position = position.parse().map_err(|_| ParsePositionError(text.into()))?;
        Ok(Cursor { position, id: id.map(str::to_owned) })
    }
}

impl Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Error for a text that is not a position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a position: expected <16 hexadecimal digits>-<sequence number>")]
pub struct ParsePositionError(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_reads_what_it_writes() {
        let position = Position { epoch: Epoch(0xab), seq: Seq(17) };
        assert_eq!(position.to_string(), "00000000000000ab-17");
        assert_eq!(position.to_string().parse(), Ok(position));
    }

    #[test]
    fn what_is_not_a_position_is_refused() {
        for text in ["", "-", "17", "00000000000000ab-", "00000000000000AB-1", "00000000000000ab-+1", "ab-1"] {
            assert!(text.parse::<Position>().is_err(), "{text:?} was read as a position");
        }
    }
}
