//! Modes, facets and limits of searches.

use serde::{Deserialize, Serialize};

/// Default number of hits of a search.
pub const DEFAULT_LIMIT: usize = 10;
/// Maximum number of hits of one answer.
pub const MAX_LIMIT: usize = 1000;
/// Maximum of offset and limit together.
pub const MAX_DEPTH: usize = 10_000;
/// Maximum length of a query text, in bytes.
pub const MAX_QUERY_BYTES: usize = 4096;
/// Maximum length of the text by which values of facets are looked up, in bytes.
pub const MAX_FACET_QUERY_BYTES: usize = 256;

/// The mode of a search for words.
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
    /// The words alone.
    Lexical,
    /// The meaning alone.
    Semantic,
    /// Both; only the words if the registry has no vectors.
    #[default]
    Hybrid,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 3] = [Mode::Lexical, Mode::Semantic, Mode::Hybrid];

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Lexical => "lexical",
            Mode::Semantic => "semantic",
            Mode::Hybrid => "hybrid",
        }
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The key by which hits are sorted.
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
    /// The score, the best first; without words, the id.
    #[default]
    Relevance,
    /// The id.
    Id,
    /// The title, regardless of case.
    Title,
    /// The moment of registration.
    Created,
    /// The moment of the last change.
    Modified,
}

impl SortBy {
    /// All sort keys.
    pub const ALL: [SortBy; 5] = [SortBy::Relevance, SortBy::Id, SortBy::Title, SortBy::Created, SortBy::Modified];

    /// The name of the key.
    pub fn name(self) -> &'static str {
        match self {
            SortBy::Relevance => "relevance",
            SortBy::Id => "id",
            SortBy::Title => "title",
            SortBy::Created => "created",
            SortBy::Modified => "modified",
        }
    }

    /// The key of that name.
    pub fn from_name(name: &str) -> Option<SortBy> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }
}

/// The direction of a sort.
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

    /// The name of the direction.
    pub fn name(self) -> &'static str {
        match self {
            SortOrder::Asc => "asc",
            SortOrder::Desc => "desc",
        }
    }
}

/// A field that can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FacetField {
    /// Capability keys.
    Capability,
    /// `@type`
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
    /// The states of sources.
    Status,
    /// The states of signatures of agent cards.
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

    /// The name of the field, which is also the name of its filter.
    pub fn name(self) -> &'static str {
        FACETS[self as usize].1
    }

    /// The field of that name.
    pub fn from_name(name: &str) -> Option<FacetField> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}
