//! A query and filters, represented in JSON.

use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::{Map, Value};

use agentdex_td::Timestamp;

use crate::{
    Filters, Mode,
    access::{Namespace, Owner, Visibility},
};

/// The members beside the filters.
const OWN: [&str; 3] = ["q", "mode", "threshold"];

/// A query and filters, like the parameters of `/search`. In JSON, they are members of one object, and each
/// filter is a list.
///
/// ```
/// use agentdex_api::QueryParameters;
///
/// let query: QueryParameters = serde_json::from_str(r#"{"q": "weather", "tag": ["beta"]}"#)?;
/// assert_eq!(query.filters.tag, ["beta"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct QueryParameters {
    /// Text of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Search mode: by words, by meaning, or by both (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Minimum cosine of a Thing that matches by meaning, from 0 to 1. By default, it is computed from the results at
    /// the time when the query is saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f32>,
    /// The filters.
    #[serde(flatten)]
    pub filters: Filters,
}

impl TryFrom<Map<String, Value>> for QueryParameters {
    type Error = serde_json::Error;

    fn try_from(mut members: Map<String, Value>) -> serde_json::Result<QueryParameters> {
        let known = || OWN.into_iter().chain(Filters::names());
        if let Some(unknown) = members.keys().find(|member| !known().any(|name| name == member.as_str())) {
            let known: Vec<_> = known().collect();
            return Err(serde_json::Error::custom(format!(
                "unknown member `{unknown}`; known members are {}",
                known.join(", ")
            )));
        }
        Ok(QueryParameters {
            q: members.remove("q").map(serde_json::from_value).transpose()?,
            mode: members.remove("mode").map(serde_json::from_value).transpose()?,
            threshold: members.remove("threshold").map(serde_json::from_value).transpose()?,
            filters: serde_json::from_value(Value::Object(members))?,
        })
    }
}

/// A saved query. Its name is unique among the queries of its owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NamedQuery {
    /// Name of the query.
    pub name: String,
    /// The owner who saved the query, and who can change it, as can admins; absent if the server didn't authenticate
    /// the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub owner: Option<Owner>,
    /// Visibility of the query. Its owner and admins can always see it. By default, everyone can.
    #[serde(default, skip_serializing_if = "is_public")]
    pub visibility: Visibility,
    /// The namespace of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub namespace: Option<Namespace>,
    /// Words and filters of the query.
    pub query: QueryParameters,
    /// The time at which the query was last saved.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub saved: Timestamp,
    /// Number of changes not yet compared with the query, if the query is too expensive to keep up. Its events are
    /// delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub behind: Option<u64>,
}

fn is_public(visibility: &Visibility) -> bool {
    *visibility == Visibility::Public
}

/// The name of a saved query, with its owner. By default, it refers to the caller's own query with that name or, if
/// there is none, to the query without an owner.
///
/// ```
/// use agentdex_api::QueryName;
///
/// let name = QueryName::new("weather").of("weather-team".parse()?);
/// assert_ne!(name, QueryName::from("weather"));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryName {
    /// Name of the query.
    pub name: String,
    /// Owner of the query; `Some(None)` for the query without an owner. `None` refers to the caller's own query or, if
    /// there is none, to the query without an owner.
    pub owner: Option<Option<Owner>>,
}

impl QueryName {
    /// Creates the name of the caller's own query or, if there is none, of the query without an owner.
    pub fn new(name: impl Into<String>) -> QueryName {
        QueryName { name: name.into(), owner: None }
    }

    /// Creates the name of a query of the given owner.
    #[must_use]
    pub fn of(self, owner: Owner) -> QueryName {
        QueryName { owner: Some(Some(owner)), ..self }
    }

    /// Creates the name of the query without an owner.
    #[must_use]
    pub fn without_owner(self) -> QueryName {
        QueryName { owner: Some(None), ..self }
    }
}

impl From<&str> for QueryName {
    fn from(name: &str) -> QueryName {
        QueryName::new(name)
    }
}

impl From<&NamedQuery> for QueryName {
    fn from(query: &NamedQuery) -> QueryName {
        QueryName { name: query.name.clone(), owner: Some(query.owner.clone()) }
    }
}
