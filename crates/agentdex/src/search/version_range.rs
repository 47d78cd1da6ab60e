//! Version ranges in npm syntax: `^1.2`, `>=1 <3 || 5.x`, `1.0.0 - 2.0.0`.
//!
//! Alternatives are separated by `||`; an empty alternative matches any version. Each alternative is converted to
//! comparisons that must all hold. Parsing is strict: an invalid part makes the whole range invalid. A prerelease
//! only matches if a comparison of the same alternative names a prerelease of the same release.

use semver::{Prerelease, Version};

/// The longest range in bytes, so that a lookup stays cheap.
const LONGEST: usize = 1024;
/// Maximum number in an npm version, 2^53 - 1.
const HIGHEST_NUMBER: u64 = 9_007_199_254_740_991;

/// Longer operators come before those that they begin with.
const OPERATORS: [(&str, Operator); 8] = [
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("~>", Operator::Tilde),
    (">", Operator::Above),
    ("<", Operator::Below),
    ("=", Operator::Equal),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
    Tilde,
    Caret,
}

/// A comparison with a version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    version: Version,
}

/// Comparisons that must all hold. Without a comparison, any version matches.
type Alternative = Vec<Comparison>;

/// A range of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    alternatives: Vec<Alternative>,
}

impl Range {
    /// Parses a range. The error names the invalid part.
    pub fn parse(text: &str) -> Result<Range, String> {
        if text.len() > LONGEST {
            return Err(format!("the range is longer than {LONGEST} bytes"));
        }
        let mut alternatives = text.split("||").map(alternative).collect::<Result<Vec<_>, _>>()?;
        // As npm has it: beside any version, a prerelease that is named isn't found either.
        if alternatives.iter().any(Vec::is_empty) {
            alternatives = vec![Alternative::new()];
        }
        Ok(Range { alternatives })
    }

    /// True if a version is in the range.
    pub fn contains(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| {
            all.iter().all(|comparison| comparison.holds(version))
                && (version.pre.is_empty() || all.iter().any(|comparison| comparison.admits_prereleases_of(version)))
        })
    }
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        match self.operator {
            Operator::AtLeast => *version >= self.version,
            Operator::AtMost => *version <= self.version,
            Operator::Above => *version > self.version,
            Operator::Below => *version < self.version,
            Operator::Equal | Operator::Tilde | Operator::Caret => *version == self.version,
        }
    }

    fn admits_prereleases_of(&self, version: &Version) -> bool {
        let release = |version: &Version| (version.major, version.minor, version.patch);
        !self.version.pre.is_empty() && release(&self.version) == release(version)
    }
}

fn alternative(text: &str) -> Result<Alternative, String> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let mut comparisons = Alternative::new();
    if let [from, "-", to] = parts.as_slice() {
        let (from, to) = (Partial::parse(from)?, Partial::parse(to)?);
        comparisons.extend(from.compared(Operator::AtLeast));
        comparisons.extend(to.compared(Operator::AtMost));
        return Ok(comparisons);
    }
    let mut parts = parts.into_iter();
    while let Some(part) = parts.next() {
        let known = OPERATORS.iter().find_map(|(sign, operator)| Some((*operator, part.strip_prefix(sign)?)));
        let (operator, version) = match known {
            Some((operator, "")) => {
                let version = parts.next().ok_or_else(|| format!("no version follows {}", quoted(part)))?;
                (operator, version)
            }
            Some(known) => known,
            None => (Operator::Equal, part),
        };
        comparisons.extend(Partial::parse(version)?.compared(operator));
    }
    Ok(comparisons)
}

fn quoted(part: &str) -> String {
    format!("{:?}", part.chars().take(40).collect::<String>())
}

/// A partial version, whose last numbers may be left open: `1`, `1.x`, `1.2.*`, `1.2.3-beta`.
struct Partial {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    pre: Prerelease,
}

impl Partial {
    fn parse(part: &str) -> Result<Partial, String> {
        Partial::read(part).ok_or_else(|| format!("{} is not a version such as 1.2.3, 1.2, or 1.x", quoted(part)))
    }

    fn read(part: &str) -> Option<Partial> {
        let text = part.strip_prefix('v').unwrap_or(part);
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        if let Some(build) = build {
            semver::BuildMetadata::new(build).ok().filter(|build| !build.is_empty())?;
        }
        let (numbers, pre) = text.split_once('-').map_or((text, None), |(text, pre)| (text, Some(pre)));
        let numbers = numbers.split('.').map(number).collect::<Option<Vec<_>>>()?;
        let (major, minor, patch) = match *numbers.as_slice() {
            [major] => (major, None, None),
            [major, minor] => (major, minor, None),
            [major, minor, patch] => (major, minor, patch),
            _ => return None,
        };
        // A number after one that is left open says nothing, and a prerelease is of one release.
        if (major.is_none() && minor.is_some()) || (minor.is_none() && patch.is_some()) {
            return None;
        }
        let pre = match pre {
            Some(pre) => {
                patch?;
                Prerelease::new(pre).ok().filter(|pre| !pre.is_empty())?
            }
            None => Prerelease::EMPTY,
        };
        Some(Partial { major, minor, patch, pre })
    }

    /// Converts a partial version with an operator to comparisons.
    fn compared(self, operator: Operator) -> Alternative {
        let from = Version { pre: self.pre.clone(), ..self.lowest() };
        match (operator, self.end(operator)) {
            // No version is above or below any version.
            (Operator::Above | Operator::Below, _) if self.major.is_none() => vec![below(&Version::new(0, 0, 0))],
            (_, _) if self.major.is_none() => Vec::new(),
            (Operator::AtLeast, _) => at_least(from),
            (Operator::Below, _) if self.patch.is_none() => vec![below(&from)],
            (Operator::Below, _) => vec![Comparison { operator: Operator::Below, version: from }],
            (Operator::Above, Some(end)) => at_least(end),
            (Operator::AtMost, Some(end)) => vec![below(&end)],
            (_, Some(end)) => at_least(from).into_iter().chain([below(&end)]).collect(),
            (operator, None) => vec![Comparison { operator, version: from }],
        }
    }

    fn lowest(&self) -> Version {
        Version::new(self.major.unwrap_or(0), self.minor.unwrap_or(0), self.patch.unwrap_or(0))
    }

    /// Returns the release at which the range ends, exclusively, or `None` if the partial version is complete.
    fn end(&self, operator: Operator) -> Option<Version> {
        let (major, minor, patch) = (self.major?, self.minor, self.patch);
        match (operator, minor, patch) {
            (_, None, _) => Some(Version::new(major + 1, 0, 0)),
            (Operator::Caret, Some(_), _) if major > 0 => Some(Version::new(major + 1, 0, 0)),
            (Operator::Caret, Some(0), Some(patch)) => Some(Version::new(major, 0, patch + 1)),
            (Operator::Caret | Operator::Tilde, Some(minor), _) => Some(Version::new(major, minor + 1, 0)),
            (_, Some(minor), None) => Some(Version::new(major, minor + 1, 0)),
            (_, Some(_), Some(_)) => None,
        }
    }
}

/// Parses a number. The inner `None` is an open number.
fn number(text: &str) -> Option<Option<u64>> {
    if matches!(text, "x" | "X" | "*") {
        return Some(None);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let number = text.parse().ok().filter(|&number: &u64| is_number && number <= HIGHEST_NUMBER)?;
    Some(Some(number))
}

/// Returns the comparison for a minimum version, or no comparison for the lowest release.
fn at_least(version: Version) -> Alternative {
    if version == Version::new(0, 0, 0) {
        return Vec::new();
    }
    vec![Comparison { operator: Operator::AtLeast, version }]
}

/// Before a release and all of its prereleases.
fn below(release: &Version) -> Comparison {
    let lowest = Prerelease::new("0").unwrap_or_default();
    Comparison { operator: Operator::Below, version: Version { pre: lowest, ..release.clone() } }
}
