//! Timestamps in milliseconds.

use std::fmt;

use serde::{Deserialize, Serialize};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Milliseconds since 1970-01-01T00:00:00Z, serialized as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the current time.
    pub fn now() -> Timestamp {
        Timestamp((OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000) as i64)
    }

    /// Parses an RFC 3339 date-time with an offset.
    pub fn parse_rfc3339(text: &str) -> Option<Timestamp> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        Some(Timestamp((moment.unix_timestamp_nanos() / 1_000_000) as i64))
    }

    /// Returns the time `seconds` later, or [`Timestamp::MAX`] on overflow.
    pub fn plus_seconds(self, seconds: u64) -> Timestamp {
        let milliseconds = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000);
        Timestamp(self.0.saturating_add(milliseconds).min(Self::MAX.0))
    }

    /// Latest time that RFC 3339 can represent, 9999-12-31T23:59:59.999Z.
    pub const MAX: Timestamp = Timestamp(253_402_300_799_999);
}

impl fmt::Display for Timestamp {
    /// By hand: every read of a Thing writes two or three.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = OffsetDateTime::from_unix_timestamp(self.0.div_euclid(1000)).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |end: usize, mut number: u16| {
            for digit in text.iter_mut().take(end).rev().take_while(|digit| digit.is_ascii_digit()) {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        put(4, moment.year().try_into().unwrap_or_default());
        put(7, u8::from(moment.month()).into());
        put(10, moment.day().into());
        put(13, moment.hour().into());
        put(16, moment.minute().into());
        put(19, moment.second().into());
        put(23, self.0.rem_euclid(1000) as u16);
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Timestamp::parse_rfc3339(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 date-time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_rfc_3339_with_milliseconds() {
        let moment = Timestamp(1_700_000_000_042);
        assert_eq!(moment.to_string(), "2023-11-14T22:13:20.042Z");
        assert_eq!(Timestamp::parse_rfc3339("2023-11-14T23:13:20.042+01:00"), Some(moment));
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
    }
}
