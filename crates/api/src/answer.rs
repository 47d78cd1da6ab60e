//! Search results: hits, facets, and hints.

use std::{borrow::Cow, collections::BTreeMap};

use agentdex_td::Flag;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{FacetField, Mode, Seq, Timestamp};

/// A search result, in JSON the answer of `GET /search`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchResult))]
pub struct Answer {
    /// Number of matching Things.
    pub total: u64,
    /// The hits on this page.
    pub hits: Vec<Hit>,
    /// For each requested field, up to 100 of its values: values with a word of the query first, then the most frequent
    /// values. With `facet_query`, only values that contain its text, and values that begin with it first. The counts
    /// of a field ignore its own filter (`vendor`, but not `all_vendor` and `not_vendor`), so they show the
    /// alternatives.
    #[serde(default, deserialize_with = "known_facets")]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, Vec<FacetCount>>, required))]
    pub facets: BTreeMap<FacetField, Vec<FacetCount>>,
    /// For each requested field, the total number of its values; `facets` lists at most 100 of them.
    #[serde(default, deserialize_with = "known_totals")]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, u64>, required))]
    pub facet_totals: BTreeMap<FacetField, u64>,
    /// The query with corrected words, best first; only if hits were found by corrections.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub suggestions: Vec<String>,
    /// Words of the query that occur in no description, with the words that were searched for instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Parts of the query that may be mistakes, such as an unknown field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// True if words of the query were corrected, so that hits may contain words with a similar spelling instead.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub fuzzy: bool,
    /// A warning for models that read the answer: texts in hits come from third parties. The server adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = String, required))]
    pub notice: Option<Cow<'static, str>>,
    /// Parts of the page left out because of `max_bytes`; absent if the page is complete. The server adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub left_out: Option<LeftOut>,
    /// `low` if no hit is similar to the request in meaning and the best hit contains few of its words. Only for
    /// searches by meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The search mode. For `hybrid`, it is `lexical` if the registry has no vectors (a library without the feature
    /// `semantic`).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub mode: Mode,
    /// The last change reflected in the result.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = u64, required))]
    pub seq: Seq,
}

/// Parts of a page that were left out to limit its size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchLeftOut))]
pub struct LeftOut {
    /// Number of hits left out at the end of the page. The `next` link begins with the first of them.
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

/// A word of a query that occurs in no description. Words of five letters or more can differ from a correction by one
/// letter that is wrong, missing, superfluous, or swapped with the next; words of nine letters or more, by two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchCorrection))]
pub struct Correction {
    /// The word in the query.
    pub word: String,
    /// The words that were searched for instead, as they occur in hits.
    pub read_as: Vec<String>,
}

/// Confidence that the hits are relevant to the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SearchConfidence))]
#[non_exhaustive]
pub enum Confidence {
    /// No hit is similar to the request in meaning, and the best hit contains few of its words.
    Low,
    /// A value introduced by a newer registry.
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

/// A matching Thing. With `fields`, contains only the id and the requested members.
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
    /// Vendors of the Thing, at most four of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vendors: Vec<String>,
    /// The protocols by which the Thing can be reached, at most sixteen of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// True if one of its actions can be called without credentials: by HTTP, WebSocket, or MQTT, at a host whose
    /// name isn't reserved for examples and tests (RFC 2606).
    #[serde(default)]
    pub callable: bool,
    /// Time of the registration (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub created: Option<Timestamp>,
    /// Time of the last change of the description (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub modified: Option<Timestamp>,
    /// The score by which hits are ranked. It is BM25; searches by meaning add 40 times the cosine (60 times with a
    /// sentence encoder; less if words of the request are unknown), and up to 10 for a title named in the request.
    #[serde(default)]
    pub score: f32,
    /// The BM25 score of the words; 0 if none of them matches.
    #[serde(default)]
    pub bm25: f32,
    /// Similarity of the meaning, from -1 to 1; absent in searches by words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine: Option<f32>,
    /// The `score` as a share of the best possible score of the request, from 0 to 1, for comparing hits of different
    /// requests. The best possible score is that of a Thing with the same meaning, with every word of the request
    /// arbitrarily often, and with a title named in the request. It isn't a probability. For a single request, it rises
    /// with the score. Absent if the request contains no words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 1))]
    pub normalized_score: Option<f32>,
    /// The parts of the score, if requested by `explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub explanation: Option<Explanation>,
    /// The five best-matching capabilities, best match first.
    #[serde(default)]
    pub capabilities: Vec<CapabilityHit>,
    /// Number of capabilities that are not listed.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub more_capabilities: usize,
    /// Possibly deceptive texts in the description, and credentials in it. The registry adds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The link to the description. The server adds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

impl Hit {
    /// The members of a hit that `fields` can name, in addition to the id, which is always included.
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

/// Title and description of a hit, split into segments. A text that contains no word of the request is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Highlight {
    /// The complete title.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub title: Vec<Segment>,
    /// The part of the description with the most words of the request, about 200 characters. An ellipsis (`…`) marks
    /// omitted text before and after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub description: Vec<Segment>,
}

/// A piece of a text. It is plain text, without any escaping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HighlightSegment))]
pub struct Segment {
    /// The text.
    pub text: String,
    /// True if the segment is a word of the request.
    #[serde(default, rename = "match", skip_serializing_if = "std::ops::Not::not")]
    pub is_match: bool,
}

/// An explanation of a hit's score, which is the sum of the parts for words, meaning, and title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ScoreExplanation))]
pub struct Explanation {
    /// The words of the request that the Thing contains, the largest contribution first. The contributions add up to
    /// `bm25`.
    pub words: Vec<WordScore>,
    /// The contribution of the meaning, in searches by meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub meaning: Option<MeaningScore>,
    /// The contribution of the title, if the request names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub title: Option<TitleScore>,
    /// The best possible score of the request, to which `normalized_score` is relative.
    pub best: f32,
}

/// The contribution of a word of the request to a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WordScore {
    /// The word in the request, in lower case; a quoted phrase counts as a single word.
    pub word: String,
    /// Weight of the word: 1, or less for words common in requests and for corrections of misspelled words.
    pub boost: f32,
    /// Weighted contribution of the word to `bm25`.
    pub score: f32,
}

/// The contribution of the meaning to a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MeaningScore {
    /// Similarity of the meaning, from -1 to 1.
    pub cosine: f32,
    /// Weight of the similarity; lower if the model doesn't know some words of the request.
    pub boost: f32,
    /// Weighted similarity, at least 0.
    pub score: f32,
    /// The share of `bm25` that counts in the score, from 0 to 1; lower if the meaning differs.
    #[serde(default = "whole")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub words_share: f32,
}

fn whole() -> f32 {
    1.0
}

/// The contribution of the title to a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TitleScore {
    /// The share of the title's words that the request names, from 0 to 1.
    pub share: f32,
    /// Weight of the squared share.
    pub boost: f32,
    /// Weighted, squared share.
    pub score: f32,
}

/// A capability of a hit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CapabilityHit {
    /// Key of the capability.
    pub name: String,
    /// Matching text of the capability as HTML: escaped, with matches in `<b>`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub snippet: String,
}

/// A value of a field, and the number of matches with this value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FacetCount {
    /// The value.
    pub value: String,
    /// Number of matching Things with this value.
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
    /// Creates the link to a Thing Description.
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
