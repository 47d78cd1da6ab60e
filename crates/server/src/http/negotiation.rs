//! Content negotiation by `Accept` (RFC 9110, section 12.5.1): the choice of the media type of a response.

use actix_web::{
    HttpRequest,
    http::header::{ACCEPT, HeaderName, HeaderValue, VARY},
};

/// The `Vary` header of descriptions: the headers of a request that they depend on.
pub(super) const VARY_BY_TYPE: (HeaderName, HeaderValue) = (VARY, HeaderValue::from_static("accept, accept-encoding"));

/// A media range of `Accept` with its weight in thousandths.
struct Range<'a> {
    media_type: &'a str,
    weight: u16,
}

/// The offered media type that the client prefers. Among equals one that it names comes before one that a
/// wildcard matches, then the order of `offered` decides. A client that accepts none gets the first.
pub(super) fn negotiate(request: &HttpRequest, offered: &[&'static str]) -> &'static str {
    let first = offered.first().copied().unwrap_or_default();
    if !request.headers().contains_key(ACCEPT) {
        return first;
    }
    let ranges = ranges(request);
    let best = offered.iter().rev().max_by_key(|offer| preference(&ranges, offer));
    best.copied().filter(|best| preference(&ranges, best).0 > 0).unwrap_or(first)
}

/// True if the client names a media type among those that it accepts; wildcards do not count.
pub(super) fn accepts(request: &HttpRequest, media_type: &str) -> bool {
    ranges(request).iter().any(|range| range.weight > 0 && range.media_type.eq_ignore_ascii_case(media_type))
}

/// The weight that the client gives a media type, and how specific the range is that says so.
fn preference(ranges: &[Range<'_>], offer: &str) -> (u16, u8) {
    let specificity = |range: &Range<'_>| match range.media_type.split_once('/') {
        _ if range.media_type.eq_ignore_ascii_case(offer) => Some(2),
        Some(("*", "*")) => Some(0),
        Some((kind, "*")) if offer.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(kind)) => Some(1),
        _ => None,
    };
    let matching = ranges.iter().filter_map(|range| Some((specificity(range)?, range.weight)));
    matching.max().map_or((0, 0), |(specificity, weight)| (weight, specificity))
}

fn ranges(request: &HttpRequest) -> Vec<Range<'_>> {
    let values = request.headers().get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(','));
    ranges.map(range).filter(|range| !range.media_type.is_empty()).collect()
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

/// A weight is between 0 and 1; one that cannot be read counts as 1.
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
            ("text/html", "application/td+json"),
            ("application/json;q=0", "application/td+json"),
            ("", "application/td+json"),
            (",;q=1,/", "application/td+json"),
        ] {
            assert_eq!(negotiate(&request(accept), &OFFERED), chosen, "{accept}");
        }
        assert_eq!(negotiate(&TestRequest::default().to_http_request(), &OFFERED), OFFERED[0]);
    }

    #[test]
    fn only_what_is_named_with_a_weight_is_accepted() {
        assert!(accepts(&request("text/html, application/json;q=0.1"), "application/json"));
        assert!(!accepts(&request("*/*"), "application/json"));
        assert!(!accepts(&request("application/json;q=0"), "application/json"));
    }
}
