//! Times in the format used by clients, ISO 8601.

use serde::Serialize;
use serde_json::Value;
use time::{OffsetDateTime, PrimitiveDateTime, format_description::well_known::Iso8601};

use super::strict::{Strict, mismatch};
use crate::{
    shape::Findings,
    td::{Timestamp, internal::Path},
};

/// A time in ISO 8601, as written. Without an offset, it is in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Moment(String);

impl Moment {
    /// Parses a time.
    pub fn parse(text: &str) -> Option<Moment> {
        unix_nanoseconds(text).map(|_| Moment(text.to_owned()))
    }

    /// Returns the time as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of nanoseconds since 1970.
    pub fn unix_nanoseconds(&self) -> i128 {
        unix_nanoseconds(&self.0).unwrap_or_default()
    }
}

impl From<Timestamp> for Moment {
    fn from(moment: Timestamp) -> Moment {
        Moment(moment.to_string())
    }
}

fn unix_nanoseconds(text: &str) -> Option<i128> {
    let text = text.trim();
    let moment = OffsetDateTime::parse(text, &Iso8601::DEFAULT)
        .or_else(|_| PrimitiveDateTime::parse(text, &Iso8601::DEFAULT).map(PrimitiveDateTime::assume_utc));
    moment.ok().map(OffsetDateTime::unix_timestamp_nanos)
}

impl Strict for Moment {
    const NOUN: &'static str = "a date and time in ISO 8601, such as `2026-11-22T10:00:00Z`";

    fn read_at(value: &Value, at: &Path<'_>, faults: &mut Findings) -> Option<Moment> {
        let Some(text) = value.as_str() else {
            mismatch(value, Self::NOUN, at, faults);
            return None;
        };
        let read = Moment::parse(text);
        if read.is_none() {
            let shown: String = text.chars().take(80).collect();
            faults.add(at, "member-value", || format!("{shown:?} is not a valid time; expected {}", Self::NOUN));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_with_and_without_an_offset() {
        let at = |text: &str| Moment::parse(text).map(|moment| moment.unix_nanoseconds());
        let expected = at("2026-11-22T10:00:00Z");
        assert_eq!(expected, Some(1_795_341_600_000_000_000));
        for text in ["2026-11-22T10:00:00", "2026-11-22T11:00:00+01:00", "2026-11-22T10:00:00.000Z", "20261122T100000Z"]
        {
            assert_eq!(at(text), expected, "{text}");
        }
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "1795341600"] {
            assert_eq!(at(text), None, "{text}");
        }
    }
}
