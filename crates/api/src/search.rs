//! Modes, facets and limits of searches.

use serde::{Deserialize, Serialize};

/// Default number of hits of a search.
pub const DEFAULT_LIMIT: usize = 10;
/// Maximum number of hits of one answer.
pub const MAX_LIMIT: usize = 1000;
/// Maximum sum of `offset` and `limit`.
pub const MAX_DEPTH: usize = 10_000;
/// Maximum length of a query text, in bytes.
pub const MAX_QUERY_BYTES: usize = 4096;
/// Maximum length of `facet_query`, in bytes.
pub const MAX_FACET_QUERY_BYTES: usize = 256;

/// Search mode.
///
/// ```
/// use agentdex_api::Mode;
///
/// assert_eq!(Mode::from_name("lexical"), Some(Mode::Lexical));
/// assert_eq!(Mode::default().name(), "hybrid");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchMode))]
pub enum Mode {
    /// By words only.
    Lexical,
    /// By meaning only.
    Semantic,
    /// By words and meaning, or by words only if the registry has no vectors.
    #[default]
    Hybrid,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 3] = [Mode::Lexical, Mode::Semantic, Mode::Hybrid];

    /// Returns the name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Lexical => "lexical",
            Mode::Semantic => "semantic",
            Mode::Hybrid => "hybrid",
        }
    }

    /// Returns the mode with the given name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Sort key of hits.
///
/// ```
/// use agentdex_api::SortBy;
///
/// assert_eq!(SortBy::from_name("modified"), Some(SortBy::Modified));
/// assert_eq!(SortBy::default().name(), "relevance");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SortBy {
    /// Score, best first; without words, the id.
    #[default]
    Relevance,
    /// Id.
    Id,
    /// Title, regardless of case.
    Title,
    /// Time of the registration.
    Created,
    /// Time of the last change.
    Modified,
}

impl SortBy {
    /// All sort keys.
    pub const ALL: [SortBy; 5] = [SortBy::Relevance, SortBy::Id, SortBy::Title, SortBy::Created, SortBy::Modified];

    /// Returns the name of the key.
    pub fn name(self) -> &'static str {
        match self {
            SortBy::Relevance => "relevance",
            SortBy::Id => "id",
            SortBy::Title => "title",
            SortBy::Created => "created",
            SortBy::Modified => "modified",
        }
    }

    /// Returns the key with the given name.
    pub fn from_name(name: &str) -> Option<SortBy> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }
}

/// Direction of a sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// The smallest key first: A before Z, older before newer.
    #[default]
    Asc,
    /// The largest key first.
    Desc,
}

impl SortOrder {
    /// Both directions.
    pub const ALL: [SortOrder; 2] = [SortOrder::Asc, SortOrder::Desc];

    /// Returns the name of the direction.
    pub fn name(self) -> &'static str {
        match self {
            SortOrder::Asc => "asc",
            SortOrder::Desc => "desc",
        }
    }
}

/// A field whose values can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FacetField {
    /// Capability keys.
    Capability,
    /// Values of `@type`.
    Type,
    /// Tags.
    Tag,
    /// Vendors.
    Vendor,
    /// Protocols.
    Protocol,
    /// Security schemes.
    Security,
    /// Source formats.
    Format,
    /// States of tracked sources.
    Status,
    /// States of the signatures of agent cards.
    Signature,
}

/// Each facet with its name.
const FACETS: [(FacetField, &str); 9] = [
    (FacetField::Capability, "capability"),
    (FacetField::Type, "type"),
    (FacetField::Tag, "tag"),
    (FacetField::Vendor, "vendor"),
    (FacetField::Protocol, "protocol"),
    (FacetField::Security, "security"),
    (FacetField::Format, "format"),
    (FacetField::Status, "status"),
    (FacetField::Signature, "signature"),
];

impl FacetField {
    /// All fields that can be counted.
    pub const ALL: [FacetField; FACETS.len()] = {
        let mut all = [FacetField::Capability; FACETS.len()];
        let mut at = 0;
        while at < all.len() {
            assert!(FACETS[at].0 as usize == at, "in the order of the variants");
            all[at] = FACETS[at].0;
            at += 1;
        }
        all
    };

    /// Returns the name of the field, which is also the name of its filter.
    pub fn name(self) -> &'static str {
        FACETS[self as usize].1
    }

    /// Returns the field with the given name.
    pub fn from_name(name: &str) -> Option<FacetField> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}
