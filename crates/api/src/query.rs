//! A query and filters as JSON.

use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::{Map, Value};

use agentdex_td::Timestamp;

use crate::{FilterField, Filters, Mode};

/// The members beside the filters.
const OWN: [&str; 3] = ["q", "mode", "threshold"];

/// A query and filters, as `/search` has them. In JSON they are members of one object, and each filter a list.
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
    /// The query text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Selects the words of the query ([`Mode::Lexical`], also where none is given) or its meaning
    /// ([`Mode::Semantic`]); never both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The least cosine of a Thing that matches, where the meaning counts, from 0 to 1; none: the one below which
    /// searches aren't sure of what they found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f32>,
    /// The filters.
    #[serde(flatten)]
    pub filters: Filters,
}

impl TryFrom<Map<String, Value>> for QueryParameters {
    type Error = serde_json::Error;

    fn try_from(mut members: Map<String, Value>) -> serde_json::Result<QueryParameters> {
        let filters = FilterField::ALL.map(FilterField::name);
        let known = || OWN.iter().chain(&filters).copied();
        if let Some(unknown) = members.keys().find(|member| !known().any(|name| name == member.as_str())) {
            let known: Vec<_> = known().collect();
            return Err(serde_json::Error::custom(format!(
                "there is no member `{unknown}`; known here: {}",
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

#[cfg(feature = "schema")]
mod schema {
    use serde_json::json;
    use utoipa::{
        PartialSchema, ToSchema,
        openapi::{
            Ref, RefOr, Schema,
            schema::{AdditionalProperties, ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat, Type},
        },
    };

    use crate::FilterField;

    /// The modes of a saved query.
    #[expect(dead_code, reason = "read by the derive alone")]
    #[derive(ToSchema)]
    #[schema(rename_all = "lowercase")]
    enum SavedQueryMode {
        /// Its words, unless another is given.
        Lexical,
        /// Its meaning.
        Semantic,
    }

    /// By hand: the filters are members beside the others, which a flattened struct would deny.
    impl PartialSchema for super::QueryParameters {
        fn schema() -> RefOr<Schema> {
            let text = || ObjectBuilder::new().schema_type(Type::String);
            let threshold = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0)).maximum(Some(1));
            let object = ObjectBuilder::new()
                .schema_type(Type::Object)
                .description(Some("A query and filters as `GET /search` has them."))
                .property("q", text().max_length(Some(crate::MAX_QUERY_BYTES)).description(Some("The query text.")))
                .property("mode", Ref::from_schema_name("SavedQueryMode"))
                .property(
                    "threshold",
                    threshold.format(Some(SchemaFormat::KnownFormat(KnownFormat::Float))).description(Some(
                        "With the mode `semantic`, the least cosine of a Thing that matches: 0.30 unless given (0.35 with a sentence encoder).",
                    )),
                );
            let filters = FilterField::ALL.into_iter().map(FilterField::name);
            let object = filters.fold(object, |object, name| object.property(name, ArrayBuilder::new().items(text())));
            object
                .additional_properties(Some(AdditionalProperties::FreeForm(false)))
                .examples([json!({"q": "weather forecast", "protocol": ["http"]})])
                .into()
        }
    }

    impl ToSchema for super::QueryParameters {
        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            schemas.push((SavedQueryMode::name().into_owned(), SavedQueryMode::schema()));
        }
    }
}

/// A query that is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NamedQuery {
    /// Its name.
    pub name: String,
    /// Its words and filters.
    pub query: QueryParameters,
    /// When it was saved as it is.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub saved: Timestamp,
}
