//! Whole numbers in JSON documents. `10` and `10.0` are the same number, since the `integer` type of JSON Schema is any
//! number without a fraction (2020-12, validation, section 6.1.1).

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

/// The largest whole number that JSON holds exactly (RFC 7493, section 2.2).
const LARGEST: u64 = (1 << 53) - 1;

struct WholeNumber(u64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(member: D) -> Result<WholeNumber, D::Error> {
        member.deserialize_u64(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = WholeNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {LARGEST}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<WholeNumber, E> {
        let known = Some(number).filter(|number| *number <= LARGEST).map(WholeNumber);
        known.ok_or_else(|| E::custom(format!("{number} is larger than {LARGEST}")))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<WholeNumber, E> {
        let known = u64::try_from(number).map_err(|_| E::custom(format!("{number} is less than 0")))?;
        self.visit_u64(known)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<WholeNumber, E> {
        match number {
            _ if number.fract() != 0.0 || !number.is_finite() => {
                Err(E::custom(format!("{number} is not a whole number")))
            }
            _ if number < 0.0 => Err(E::custom(format!("{number} is less than 0"))),
            _ if number > LARGEST as f64 => Err(E::custom(format!("{number} is larger than {LARGEST}"))),
            _ => Ok(WholeNumber(number as u64)),
        }
    }
}

/// Deserializes a count.
pub fn count<'de, D: Deserializer<'de>>(member: D) -> Result<usize, D::Error> {
    let WholeNumber(number) = WholeNumber::deserialize(member)?;
    usize::try_from(number).map_err(|_| D::Error::custom(format!("{number} is too large")))
}

/// Deserializes an optional number.
pub fn optional<'de, D: Deserializer<'de>>(member: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<WholeNumber>::deserialize(member)?.map(|WholeNumber(number)| number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_of_zero_makes_no_other_number() {
        for (text, number) in [("0", 0), ("581.0", 581), ("1e3", 1000), ("-0.0", 0), ("9007199254740991", LARGEST)] {
            let read = optional(&mut serde_json::Deserializer::from_str(text));
            assert_eq!(read.ok().flatten(), Some(number), "{text}");
        }
        assert_eq!(optional(&mut serde_json::Deserializer::from_str("null")).ok(), Some(None));
    }

    #[test]
    fn what_is_no_whole_number_is_refused() {
        for text in ["-1", "-1.0", "0.5", "9007199254740992", "1e300", "\"1\"", "true"] {
            assert!(count(&mut serde_json::Deserializer::from_str(text)).is_err(), "{text}");
        }
    }
}
