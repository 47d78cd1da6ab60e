//! Versions of the language: YEAR.QUARTER.PATCH, in which YEAR has two digits and QUARTER is 1 to 4.

use std::fmt;

/// Members in which a document says which version it is written for; the second is the name that it had before the
/// first release.
pub(super) const VERSION_MEMBERS: [&str; 2] = ["agentspec_version", "air_version"];

/// A version of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    year: u8,
    quarter: u8,
    patch: u16,
}

impl Version {
    /// The draft that is read as the first release.
    pub(super) const DRAFT: Version = Version::new(25, 4, 0);
    /// The first release.
    pub(super) const V25_4_1: Version = Version::new(25, 4, 1);
    /// Toolboxes, swarms, A2A agents, sensitive headers.
    pub(super) const V25_4_2: Version = Version::new(25, 4, 2);
    /// Datastores, transforms, OAuth, retries.
    pub(super) const V26_1_2: Version = Version::new(26, 1, 2);
    /// LLMs that a database calls.
    pub(super) const V26_3_1: Version = Version::new(26, 3, 1);
    /// The newest that is known: what a configuration without a version is read as.
    pub(super) const NEWEST: Version = Version::V26_3_1;

    const fn new(year: u8, quarter: u8, patch: u16) -> Version {
        Version { year, quarter, patch }
    }

    /// Reads a version by its format, whether it is known or not.
    pub(super) fn parse(text: &str) -> Option<Version> {
        let mut parts = text.split('.');
        let (year, quarter, patch) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if parts.next().is_some() || year.len() != 2 || ![year, quarter, patch].into_iter().all(digits) {
            return None;
        }
        let (year, quarter, patch) = (year.parse().ok()?, quarter.parse().ok()?, patch.parse().ok()?);
        (1..=4).contains(&quarter).then_some(Version::new(year, quarter, patch))
    }

    /// True if this is a version that was released, or came before the first release.
    pub(super) fn is_known(self) -> bool {
        KNOWN.contains(&self)
    }

    /// True if this came before the first release.
    pub(super) fn is_draft(self) -> bool {
        self < Version::V25_4_1
    }
}

/// All that are known, the oldest first; the first three are drafts.
const KNOWN: [Version; 8] = [
    Version::new(25, 3, 0),
    Version::new(25, 3, 1),
    Version::DRAFT,
    Version::V25_4_1,
    Version::V25_4_2,
    Version::new(26, 1, 0),
    Version::V26_1_2,
    Version::V26_3_1,
];

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.year, self.quarter, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_three_numbers_and_four_quarters() {
        assert_eq!(Version::parse("25.4.1"), Some(Version::V25_4_1));
        for wrong in
            ["", "25.4", "25.4.1.0", "25.5.1", "25.0.1", "2025.4.1", "25.4.x", "25.4.+1", "v25.4.1", "25.4.99999"]
        {
            assert_eq!(Version::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("25.4.10") > version("25.4.9") && version("26.1.0") > version("25.4.10"));
        assert!(version("25.4.0").is_draft() && !version("25.4.1").is_draft());
        assert!(KNOWN.is_sorted() && version("26.2.0") < Version::NEWEST && !version("26.2.0").is_known());
    }
}
