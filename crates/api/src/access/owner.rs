//! The name of an owner.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The longest name in bytes.
const MAX_BYTES: usize = 128;

/// The name of an owner: a team, a service, or a person. Principals act on behalf of an owner, and several API keys can
/// have the same owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = OwnerName, value_type = String, min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$"))]
pub struct Owner(String);

impl Owner {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Owner {
    type Error = String;

    fn try_from(name: String) -> Result<Owner, String> {
        if name.is_empty() || name.len() > MAX_BYTES || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            let shown: String = name.chars().take(MAX_BYTES).collect();
            return Err(format!(
                "{shown:?} is not an owner; use 1 to {MAX_BYTES} ASCII characters without spaces, for example \
                 weather-team"
            ));
        }
        Ok(Owner(name))
    }
}

impl FromStr for Owner {
    type Err = String;

    fn from_str(name: &str) -> Result<Owner, String> {
        name.to_owned().try_into()
    }
}

impl From<Owner> for String {
    fn from(owner: Owner) -> String {
        owner.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_have_neither_spaces_nor_control_characters() {
        for owner in ["a", "weather-team", "ops@example.org", "https://example.org/teams/a"] {
            assert!(owner.parse::<Owner>().is_ok(), "{owner}");
        }
        for other in ["", "a b", "a\0", "a\n", &"a".repeat(129)] {
            assert!(other.parse::<Owner>().is_err(), "{other:?}");
        }
    }
}
