//! The answer to a search: hits, facets and hints.

use std::{borrow::Cow, collections::BTreeMap};

use agentdex_td::Flag;
use serde::{Deserialize, Serialize};

use crate::{FacetField, Seq};

/// The answer to a search; as JSON, that of `GET /search`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchResult))]
pub struct Answer {
    /// Number of Things that match.
    pub total: u64,
    /// The page.
    pub hits: Vec<Hit>,
    /// For each field asked for, its values, the most frequent first.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, Vec<FacetCount>>, required))]
    pub facets: BTreeMap<FacetField, Vec<FacetCount>>,
    /// Words of the index that are spelled like those of the query; only where nothing matched exactly.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub suggestions: Vec<String>,
    /// Parts of the query that are perhaps not what was meant, such as a field that there isn't.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// True if nothing matched exactly and the hits match words that are spelled alike.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub fuzzy: bool,
    /// A warning that the texts of hits are those of third parties, for models that read answers. The server adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = String, required))]
    pub notice: Option<Cow<'static, str>>,
    /// `low` where no hit is much like the request and the best has few of its words. Only where meaning counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Every change up to this one is taken into account.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = u64, required))]
    pub seq: Seq,
}

/// Confidence that hits are what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchConfidence))]
pub enum Confidence {
    /// No hit is much like the request, and the best has few of its words.
    Low,
}

/// A Thing that matches.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// The score that hits are ranked by: BM25, and 40 times the cosine (60 times with a sentence encoder) where
    /// meaning counts.
    pub score: f32,
    /// The score of the words: raw BM25, 0 where none matches.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub bm25: f32,
    /// The likeness of the meaning, from -1 to 1; missing where meaning doesn't count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// Its capabilities, the best match first; the first five.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub capabilities: Vec<CapabilityHit>,
    /// Number of capabilities that aren't listed.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = u64, required))]
    pub more_capabilities: usize,
    /// Parts of its description that may be there to deceive; the registry adds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The link to its description. The server adds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub links: Vec<Link>,
}

/// A capability of a hit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CapabilityHit {
    /// Its key.
    pub name: String,
    /// Its text as HTML, escaped, with matches in `<b>`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub snippet: String,
}

/// A value and its frequency among the matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FacetCount {
    /// The value.
    pub value: String,
    /// Number of matching Things that have it.
    pub count: u64,
}

/// A link as TDs write them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Link {
    /// Its relation type.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub rel: Cow<'static, str>,
    /// Its target.
    pub href: String,
    /// The media type of its target.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub type_: Cow<'static, str>,
}

impl Link {
    /// The link to a Thing Description.
    pub fn to_description(href: String) -> Link {
        Link { rel: "describedby".into(), href, type_: "application/td+json".into() }
    }
}
