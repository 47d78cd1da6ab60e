//! Content negotiation by `Accept` (RFC 9110, section 12.5.1): the choice of the media type of a response.

use actix_web::{
    HttpRequest,
    http::{
        StatusCode,
        header::{ACCEPT, HeaderName, HeaderValue, VARY},
    },
};

use super::problem::Problem;

/// The `Vary` header of descriptions: the headers of a request that they depend on.
pub(super) const VARY_BY_TYPE: (HeaderName, HeaderValue) = (VARY, HeaderValue::from_static("accept, accept-encoding"));

/// A media range of `Accept` with its weight in thousandths.
struct Range<'a> {
    media_type: &'a str,
    weight: u16,
}

/// The offered media type that the client prefers. Among equals one that it names comes before one that a
/// wildcard matches, then the order of `offered` decides. A client that names no media range gets the first.
///
/// # Errors
/// 406 with what is offered, where the client accepts none of it.
pub(super) fn negotiate<'o>(request: &HttpRequest, offered: &[&'o str]) -> Result<&'o str, Problem> {
    preferred(request, offered).ok_or_else(|| {
        let detail = format!("`Accept` excludes all available media types: {}", offered.join(", "));
        Problem::new(StatusCode::NOT_ACCEPTABLE, "not-acceptable", detail)
            .with("offered", offered)
            .with_header(VARY, "accept")
    })
}

/// [`negotiate`], but `None` for a client that accepts none.
pub(super) fn preferred<'o>(request: &HttpRequest, offered: &[&'o str]) -> Option<&'o str> {
    let ranges = ranges(request);
    if ranges.is_empty() {
        return offered.first().copied();
    }
    let best = offered.iter().rev().max_by_key(|offer| preference(&ranges, offer))?;
    Some(*best).filter(|best| preference(&ranges, best).0 > 0)
}

/// The weight that the client gives a media type, and how specific the range is that says so.
fn preference(ranges: &[Range<'_>], offer: &str) -> (u16, u8) {
    let specificity = |range: &Range<'_>| match range.media_type.split_once('/') {
        _ if range.media_type.eq_ignore_ascii_case(offer) => Some(2),
        // Some clients abbreviate it.
        None | Some(("*", "*")) => Some(0),
        Some((kind, "*")) if offer.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(kind)) => Some(1),
        _ => None,
    };
    let matching = ranges.iter().filter_map(|range| Some((specificity(range)?, range.weight)));
    matching.max().map_or((0, 0), |(specificity, weight)| (weight, specificity))
}

fn ranges(request: &HttpRequest) -> Vec<Range<'_>> {
    let values = request.headers().get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(','));
    ranges.map(range).filter(|range| is_range(range.media_type)).collect()
}

/// True for a media range, and for `*`.
fn is_range(text: &str) -> bool {
    text == "*" || text.split_once('/').is_some_and(|(kind, name)| !kind.is_empty() && !name.is_empty())
}

fn range(text: &str) -> Range<'_> {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let weight = parts.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| weight(value.trim()))
    });
    Range { media_type, weight: weight.unwrap_or(1000) }
}

/// A weight is between 0 and 1; an unreadable weight counts as 1.
fn weight(text: &str) -> u16 {
    let weight = text.parse::<f32>().ok().filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(1.0);
    (weight * 1000.0).round() as u16
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const OFFERED: [&str; 3] = ["application/td+json", "application/ld+json", "application/json"];

    fn request(accept: &'static str) -> HttpRequest {
        TestRequest::default().insert_header((ACCEPT, accept)).to_http_request()
    }

    #[test]
    fn weights_decide_then_names_then_order() {
        for (accept, chosen) in [
            ("application/json", "application/json"),
            ("application/json;q=0.5, application/ld+json;q=0.9", "application/ld+json"),
            ("application/td+json;q=0, */*", "application/ld+json"),
            ("application/json, text/plain, */*", "application/json"),
            ("application/*;q=0.2, application/json;q=0.1", "application/td+json"),
            ("*/*;q=0.1, APPLICATION/JSON;charset=utf-8;q=0.3", "application/json"),
            ("application/json;Q=0.2,application/ld+json;q=0.2", "application/ld+json"),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/td+json"),
            ("text/html, *; q=.2", "application/td+json"),
            ("application/*", "application/td+json"),
            ("", "application/td+json"),
            (",;q=1,/", "application/td+json"),
        ] {
            assert_eq!(negotiate(&request(accept), &OFFERED).unwrap(), chosen, "{accept}");
        }
        assert_eq!(negotiate(&TestRequest::default().to_http_request(), &OFFERED).unwrap(), OFFERED[0]);
    }

    #[test]
    fn what_is_not_offered_is_not_acceptable() {
        for accept in ["text/html", "text/*, application/json;q=0", "*/*;q=0", "application/rdf+xml, application/trig"]
        {
            let problem = negotiate(&request(accept), &OFFERED).unwrap_err();
            assert_eq!(problem.status(), StatusCode::NOT_ACCEPTABLE, "{accept}");
            assert_eq!(problem.document().members["offered"], serde_json::json!(OFFERED), "{accept}");
        }
    }
}
