//! Responses to what isn't read as a request: they are written to the socket as they are.

use std::time::Duration;

use actix_web::http::StatusCode;

use crate::http::problem::Problem;

/// The response with a problem document; the connection is closed after it.
pub(super) fn response(problem: &Problem, headers: &[(&str, &str)]) -> String {
    let (status, body) = (problem.status(), serde_json::json!(problem.document()).to_string());
    let mut answer = format!("HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\nconnection: close\r\n");
    for (name, value) in headers {
        answer.push_str(&format!("{name}: {value}\r\n"));
    }
    answer.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    answer
}

/// The problem of a client whose request doesn't come.
pub(super) fn timed_out(head_timeout: Duration) -> Problem {
    let detail = format!("no request was received within {head_timeout:?}");
    Problem::new(StatusCode::REQUEST_TIMEOUT, "request-timeout", detail)
}

/// The problem of a head for which actix has written this response, without saying why; none for another response.
pub(super) fn of_head(response: &[u8], head_timeout: Duration) -> Option<Problem> {
    let status = response.strip_prefix(b"HTTP/1.1 ").or_else(|| response.strip_prefix(b"HTTP/1.0 "))?.get(..3)?;
    let status = StatusCode::from_bytes(status).ok()?;
    Some(match status {
        StatusCode::BAD_REQUEST => {
            let detail = "the request line or a header is not valid HTTP/1.1 (RFC 9112); in URLs, percent-encode \
                spaces, quotes, <, >, and non-ASCII characters, as `curl --get --data-urlencode 'q=Straße'` does";
            Problem::new(StatusCode::BAD_REQUEST, "malformed-request", detail)
        }
        StatusCode::REQUEST_TIMEOUT => timed_out(head_timeout),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            let detail = "the URL and the headers of the request exceed 128 KiB in total";
            Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head-too-large", detail)
        }
        _ => return None,
    })
}
