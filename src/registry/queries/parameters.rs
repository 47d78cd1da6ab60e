//! A query and filters as JSON.

use serde::{Deserialize, Serialize};

use crate::search::Filters;

/// A query and filters, as `/search` has them. In JSON they are members of one object, and each filter a list.
///
/// ```
/// use agentdex::registry::QueryParameters;
///
/// let query: QueryParameters = serde_json::from_str(r#"{"q": "weather", "tag": ["beta"]}"#)?;
/// assert_eq!(query.filters.tag, ["beta"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Flat", into = "Flat")]
pub struct QueryParameters {
    /// The query text.
    pub q: Option<String>,
    /// The filters.
    pub filters: Filters,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Flat {
    #[serde(skip_serializing_if = "Option::is_none")]
    q: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    capability: Vec<String>,
    #[serde(rename = "type", skip_serializing_if = "Vec::is_empty")]
    type_: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tag: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vendor: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    protocol: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    format: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tenant: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    channel: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    status: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    signature: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    speaks: Vec<String>,
}

impl From<Flat> for QueryParameters {
    fn from(flat: Flat) -> QueryParameters {
        let Flat {
            q,
            capability,
            type_,
            tag,
            vendor,
            protocol,
            security,
            format,
            tenant,
            channel,
            status,
            signature,
            speaks,
        } = flat;
        let filters = Filters {
            capability,
            type_,
            tag,
            vendor,
            protocol,
            security,
            format,
            tenant,
            channel,
            status,
            signature,
            speaks,
        };
        QueryParameters { q, filters }
    }
}

impl From<QueryParameters> for Flat {
    fn from(QueryParameters { q, filters }: QueryParameters) -> Flat {
        let Filters {
            capability,
            type_,
            tag,
            vendor,
            protocol,
            security,
            format,
            tenant,
            channel,
            status,
            signature,
            speaks,
        } = filters;
        Flat {
            q,
            capability,
            type_,
            tag,
            vendor,
            protocol,
            security,
            format,
            tenant,
            channel,
            status,
            signature,
            speaks,
        }
    }
}
