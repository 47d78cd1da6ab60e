//! `GET /search/jsonpath`: searches by the structure of descriptions (WoT Discovery, section 7.3.2.1).

use std::borrow::Cow;

use actix_web::{HttpRequest, HttpResponse, web::Data};
use percent_encoding::percent_decode_str;

use super::{blocking::blocking, context::Context, parameters::Parameters, problem::Problem};
use crate::search::jsonpath::Query;

/// Search by JSONPath
///
/// RFC 9535 over the list of all descriptions, such as `$[?@.title=='Weather']` or `$[*].actions`. Descriptions
/// by position, and `$` in a filter, are not supported.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/search/jsonpath",
    operation_id = "search_by_jsonpath",
    tag = "search",
    params(
        ("query" = String, Query, description = "JSONPath of at most 1 KiB, percent-encoded or not"),
    ),
    responses(
        (status = 200, description = "Results, in ascending order of ids", body = Vec<serde_json::Value>, content_type = "application/json"),
        super::schemas::Refusals,
        (status = 503, description = "The query takes too long or finds too much, or the server is at its limits", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn descriptions(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let query = Query::parse(&query_of(request.query_string())?)?;
    let registry = context.registry(&request);
    let found = blocking(move || registry.search_by_path(&query)).await?;
    Ok(HttpResponse::Ok().content_type("application/json").body(format!("[{}]", found.join(","))))
}

/// The query, which is the only parameter: what looks like another one is a part of a query that wasn't encoded.
fn query_of(text: &str) -> Result<Cow<'_, str>, Problem> {
    let Some(query) = text.strip_prefix("query=") else {
        Parameters::parse_query(text, &["query"])?;
        let detail = "give a JSONPath in `query`, as in /search/jsonpath?query=$[?@.title=='Weather']";
        return Err(Problem::invalid_parameter("query", detail));
    };
    // Forms encode a space as a plus sign, and a plus sign as %2B; who encodes nothing means what is there.
    let is_encoded = !query.contains(['[', ']', '\'', '"', '@', '?']);
    let query = if is_encoded { Cow::from(query.replace('+', " ")) } else { query.into() };
    let decoded = percent_decode_str(&query).decode_utf8().map(Cow::into_owned);
    decoded.map(Cow::from).map_err(|_| Problem::invalid_parameter("query", "`query` is not valid UTF-8 after decoding"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_encoded_or_not() {
        for (given, expected) in [
            ("query=$[?(@.tag=='x')]", "$[?(@.tag=='x')]"),
            ("query=$[?@.a=='1' && @.b=='c+d']", "$[?@.a=='1' && @.b=='c+d']"),
            ("query=%24%5B%3F%40.a%3D%3D%27b+c%27%5D", "$[?@.a=='b c']"),
            ("query=%24%5B%3F%40.a%3D%3D%27b%2Bc%27%5D", "$[?@.a=='b+c']"),
            ("query=$[?@.a=='%C3%A4']", "$[?@.a=='ä']"),
        ] {
            assert_eq!(query_of(given).ok().as_deref(), Some(expected), "{given}");
        }
        assert!(query_of("q=$[*]").is_err() && query_of("").is_err() && query_of("query=%ff").is_err());
    }
}
