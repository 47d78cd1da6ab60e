//! The answer to a search: hits, facets and hints.

use std::{borrow::Cow, collections::BTreeMap};

use agentdex_td::Flag;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{FacetField, Mode, Seq, Timestamp};

/// The answer to a search; as JSON, that of `GET /search`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchResult))]
pub struct Answer {
    /// Number of Things that match.
    pub total: u64,
    /// The page.
    pub hits: Vec<Hit>,
    /// For each requested field, up to 100 of its values: those with a word of the query first, then the most
    /// frequent. With `facet_query`, only values that contain it, those that begin with it first. The counts of a
    /// field ignore its own filter (`vendor`, but not `all_vendor` and `not_vendor`), so they show what else can be
    /// chosen.
    #[serde(default, deserialize_with = "known_facets")]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, Vec<FacetCount>>, required))]
    pub facets: BTreeMap<FacetField, Vec<FacetCount>>,
    /// For each requested field, the number of its values; `facets` has at most 100 of them.
    #[serde(default, deserialize_with = "known_totals")]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, u64>, required))]
    pub facet_totals: BTreeMap<FacetField, u64>,
    /// The query with corrected words, best first; only if hits were found by corrections.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub suggestions: Vec<String>,
    /// Words of the query that no description has, and the words that were searched for instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Parts of the query that may be mistakes, such as an unknown field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// True if words of the query were corrected: hits may match words with a similar spelling.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub fuzzy: bool,
    /// A warning for models that read answers: texts of hits are from third parties. The server adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = String, required))]
    pub notice: Option<Cow<'static, str>>,
    /// Parts that `max_bytes` left out; absent if all of the page is there. The server adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub left_out: Option<LeftOut>,
    /// `low` if no hit is similar to the request in meaning and the best hit has few of its words. Only in
    /// searches by meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The mode of the search: `lexical` also for `hybrid` if the registry has no vectors (a library without the
    /// feature `semantic`).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub mode: Mode,
    /// Every change up to this one is taken into account.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = u64, required))]
    pub seq: Seq,
}

/// Parts of a page that were left out to fit a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchLeftOut))]
pub struct LeftOut {
    /// Number of hits that were dropped from the end of the page; the `next` link begins with them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub hits: u64,
    /// True if long texts or lists were cut.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub shortened: bool,
}

/// Reads facets; those of fields that only a newer registry knows are left out.
fn known_facets<'de, D: Deserializer<'de>>(member: D) -> Result<BTreeMap<FacetField, Vec<FacetCount>>, D::Error> {
    let facets = BTreeMap::<String, Vec<FacetCount>>::deserialize(member)?;
    Ok(facets.into_iter().filter_map(|(name, counts)| Some((FacetField::from_name(&name)?, counts))).collect())
}

/// Reads the numbers of values; those of fields that only a newer registry knows are left out.
fn known_totals<'de, D: Deserializer<'de>>(member: D) -> Result<BTreeMap<FacetField, u64>, D::Error> {
    let totals = BTreeMap::<String, u64>::deserialize(member)?;
    Ok(totals.into_iter().filter_map(|(name, total)| Some((FacetField::from_name(&name)?, total))).collect())
}

/// A word of a query that no description has: in words of five letters or more, one letter may be wrong,
/// missing, superfluous, or exchanged with the next; from nine letters, two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchCorrection))]
pub struct Correction {
    /// The word as the query has it.
    pub word: String,
    /// The words that were searched for instead, as hits have them.
    pub read_as: Vec<String>,
}

/// Confidence that hits are what was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchConfidence))]
#[non_exhaustive]
pub enum Confidence {
    /// No hit is similar to the request in meaning, and the best hit has few of its words.
    Low,
    /// A value that only a newer registry knows.
    #[serde(other, skip_serializing)]
    Other,
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Confidence::Low => "low",
            Confidence::Other => "other",
        })
    }
}

/// A Thing that matches. With `fields`, only the id and the requested members.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Hit {
    /// Id of the Thing.
    pub id: String,
    /// Title of the Thing.
    #[serde(default)]
    pub title: Option<String>,
    /// Description of the Thing, in prose.
    #[serde(default)]
    pub description: Option<String>,
    /// Title and description with the words of the request marked, if `highlight` requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub highlight: Option<Highlight>,
    /// Version of the Thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub version: Option<String>,
    /// Vendors of the Thing, at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vendors: Vec<String>,
    /// The protocols by which the Thing can be reached, at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// True if one of its actions can be called without credentials: by HTTP, WebSocket, or MQTT, at a host whose
    /// name isn't reserved for examples and tests (RFC 2606).
    #[serde(default)]
    pub callable: bool,
    /// Moment of its registration (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub created: Option<Timestamp>,
    /// Moment of the last change of its description (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub modified: Option<Timestamp>,
    /// The score by which hits are ranked: BM25; in searches by meaning, plus 40 times the cosine (60 times with a
    /// sentence encoder), less if words of the request are unknown, and up to 10 for a title that the request names.
    #[serde(default)]
    pub score: f32,
    /// The score of the words: raw BM25, 0 if none matches.
    #[serde(default)]
    pub bm25: f32,
    /// The similarity of the meaning, from -1 to 1; absent in searches by words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// `score` as a share of the best possible score of its request, from 0 to 1, to compare hits of different
    /// requests. The best possible score is that of a Thing in which each word of the request is arbitrarily
    /// frequent, whose meaning is the same, and whose title the request names. It isn't a probability; for one
    /// request, it rises with the score. Missing where no words were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 1))]
    pub normalized_score: Option<f32>,
    /// The parts of the score, if `explain` requests them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub explanation: Option<Explanation>,
    /// The five capabilities that match best, best first.
    #[serde(default)]
    pub capabilities: Vec<CapabilityHit>,
    /// Number of capabilities that aren't listed.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub more_capabilities: usize,
    /// Parts of its description that may be deceptive, and credentials in it; the registry adds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The link to its description. The server adds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

impl Hit {
    /// The members of a hit that `fields` can name. The id comes with every hit.
    pub const MEMBERS: [&'static str; 19] = [
        "bm25",
        "callable",
        "capabilities",
        "cosine",
        "created",
        "description",
        "explanation",
        "flags",
        "highlight",
        "id",
        "links",
        "modified",
        "more_capabilities",
        "normalized_score",
        "protocols",
        "score",
        "title",
        "vendors",
        "version",
    ];
}

/// Title and description of a hit, in segments. A text without a word of the request is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Highlight {
    /// The whole title.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub title: Vec<Segment>,
    /// The part of the description with the most words of the request, about 200 characters. `…` stands for omitted
    /// text before and after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub description: Vec<Segment>,
}

/// A piece of a text, as plain text: nothing in it is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HighlightSegment))]
pub struct Segment {
    /// The text.
    pub text: String,
    /// True for words of the request.
    #[serde(default, rename = "match", skip_serializing_if = "std::ops::Not::not")]
    pub is_match: bool,
}

/// The parts of the score of a hit: the score is the sum of those of its words, its meaning, and
/// its title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ScoreExplanation))]
pub struct Explanation {
    /// The words of the request that the Thing has, those with the largest parts first; their sum is `bm25`.
    pub words: Vec<WordScore>,
    /// The part of the meaning, in searches by meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub meaning: Option<MeaningScore>,
    /// The part of the title, if the request names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub title: Option<TitleScore>,
    /// The best possible score of the request; `normalized_score` is the share of it.
    pub best: f32,
}

/// The part that a word of the request has in a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WordScore {
    /// The word as the request has it, in lower case; a phrase in quotes as a whole.
    pub word: String,
    /// Weight of the word: 1, or less for common words of requests, and for corrections of misspelled words.
    pub boost: f32,
    /// Contribution of the word to `bm25`, weighted.
    pub score: f32,
}

/// The part that the meaning has in a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MeaningScore {
    /// The similarity of the meaning, from -1 to 1.
    pub cosine: f32,
    /// The weight of the similarity: less if words of the request are unknown to the model.
    pub boost: f32,
    /// The weight times the similarity, at least 0.
    pub score: f32,
    /// The share of `bm25` that counts in the score, from 0 to 1: less if the meaning differs.
    #[serde(default = "whole")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub words_share: f32,
}

fn whole() -> f32 {
    1.0
}

/// The part that the title has in a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TitleScore {
    /// The share of the words of the title that the request names, from 0 to 1.
    pub share: f32,
    /// The weight of the square of the share.
    pub boost: f32,
    /// The weight times the square of the share.
    pub score: f32,
}

/// A capability of a hit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CapabilityHit {
    /// Key of the capability.
    pub name: String,
    /// Text of the capability as HTML, escaped, with matches in `<b>`.
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

/// A link, in the form of Thing Descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Link {
    /// Relation type of the link.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub rel: Cow<'static, str>,
    /// Target of the link.
    pub href: String,
    /// The media type of the target.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_members_of_a_newer_registry_are_passed_over() {
        let answer = r#"{
            "total": 1, "confidence": "medium", "facets": {"language": [{"value": "de", "count": 1}], "tag": []}, "more": 1,
            "hits": [{
                "id": "urn:a", "title": null, "description": null, "score": 1.5, "links": [], "more": 1,
                "flags": [{"kind": "homoglyph-url", "pointer": "/title", "found": "a"}]
            }]
        }"#;
        let answer: Answer = serde_json::from_str(answer).expect("an answer");
        assert_eq!(answer.confidence, Some(Confidence::Other));
        assert_eq!(answer.facets.keys().copied().collect::<Vec<_>>(), [FacetField::Tag]);
        assert_eq!(answer.hits[0].flags[0].kind, agentdex_td::FlagKind::Other);
        assert_eq!(serde_json::from_str::<crate::Effect>("\"moved\"").ok(), Some(crate::Effect::Other));
        assert!(serde_json::to_string(&answer).is_ok());
    }

    #[test]
    fn members_of_a_hit_are_listed() {
        let segments = vec![Segment { text: "Rain".into(), is_match: true }];
        let hit = Hit {
            highlight: Some(Highlight { title: segments, description: Vec::new() }),
            version: Some("1.0.0".into()),
            vendors: vec!["Acme".into()],
            protocols: vec!["http".into()],
            created: Some(Timestamp(0)),
            modified: Some(Timestamp(0)),
            cosine: Some(0.5),
            normalized_score: Some(0.5),
            explanation: Some(Explanation { words: Vec::new(), meaning: None, title: None, best: 1.0 }),
            flags: vec![Flag { kind: agentdex_td::FlagKind::Other, pointer: String::new(), found: String::new() }],
            links: vec![Link::to_description("/things/urn:a".into())],
            ..Hit::default()
        };
        let written = serde_json::to_value(&hit).expect("JSON");
        let mut names: Vec<&str> = written.as_object().expect("an object").keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, Hit::MEMBERS);
        assert_eq!(written["highlight"], serde_json::json!({"title": [{"text": "Rain", "match": true}]}));
        let read: Hit = serde_json::from_str(r#"{"id": "urn:a", "title": "Rain"}"#).expect("a hit with some members");
        assert_eq!((read.id.as_str(), read.title.as_deref(), read.score), ("urn:a", Some("Rain"), 0.0));
    }
}
