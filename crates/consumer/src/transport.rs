//! HTTP requests of a call: credentials, redirects, and size limits of answers.
//!
//! Requests are sent only to the origin for which the credentials were resolved; a redirect to another origin ends
//! the call. Answers are limited in size, event streams by event.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use reqwest::{Method, Response, StatusCode, Url, header, header::HeaderMap};
use serde_json::{Value, json};

use super::{
    Authorization, Call, Error, Network, Place, Request, Result, Trace, charset::decoded, credential::parts, headers,
};
use crate::{
    client::sse::{Block, Parser},
    fetch::shown,
};

/// The maximum number of redirects.
const MAX_REDIRECTS: usize = 5;
/// Number of bytes after which the body of an error is read no further.
const MAX_ERROR_BYTES: usize = 16 * 1024;
/// Maximum number of its characters that are repeated.
const MAX_DETAIL: usize = 300;

/// Sender of a call's requests.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    network: Network,
    authorization: Vec<Authorization>,
    headers: Vec<(String, String)>,
    trace: Option<Trace>,
    max_bytes: usize,
    /// Maximum number of consecutive bytes without content, such as ids and comments of an event stream. `None` for a
    /// subscription, which may have nothing to say for years.
    max_silence: Option<usize>,
    /// The only allowed origin; `None` allows any.
    origin: Option<String>,
}

/// A request to be sent.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Vec<u8>>,
}

/// A successful answer whose body has not been read.
pub(super) struct Incoming {
    pub(super) status: u16,
    pub(super) response: Response,
    /// The URL without secrets.
    pub(super) url: String,
    max_bytes: usize,
    max_silence: Option<usize>,
}

impl Outgoing {
    pub(super) fn new(method: Method, url: impl Into<String>) -> Outgoing {
        Outgoing { method, url: url.into(), headers: Vec::new(), body: None }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Outgoing {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn json(self, media_type: &str, body: &Value) -> Outgoing {
        self.body(media_type, body.to_string().into_bytes())
    }

    pub(super) fn body(mut self, media_type: &str, body: Vec<u8>) -> Outgoing {
        self.body = Some(body);
        self.header("content-type", media_type)
    }
}

impl Transport {
    pub(super) fn of(call: &Call) -> Transport {
        let is_subscription = matches!(call.request, Request::Subscribe { .. });
        Transport {
            network: call.network.clone(),
            authorization: call.authorization.clone(),
            headers: call.headers.clone(),
            trace: call.trace.clone(),
            max_bytes: call.limits.max_bytes,
            max_silence: (!is_subscription).then_some(call.limits.max_bytes),
            origin: Some(origin(&call.form.href).unwrap_or_default()),
        }
    }

    /// With further headers in each request.
    pub(super) fn with_headers(mut self, headers: Vec<(String, String)>) -> Transport {
        self.headers.extend(headers);
        self
    }

    /// Creates a transport without credentials, for example for token requests.
    pub(super) fn plain(network: &Network, max_bytes: usize) -> Transport {
        Transport {
            network: network.clone(),
            authorization: Vec::new(),
            headers: Vec::new(),
            trace: None,
            max_bytes,
            max_silence: Some(max_bytes),
            origin: None,
        }
    }

    /// Adds the keys that are sent in the body.
    ///
    /// # Errors
    /// [`Error::Setting`] if a key can't be added to the body; the request is not sent without it.
    pub(super) fn add_to_body(&self, body: &mut Value) -> Result<()> {
        for Authorization { scheme, grant } in &self.authorization {
            let (secret, Place::Body(name)) = parts(grant) else { continue };
            let pointer = if name.starts_with('/') { name.clone() } else { format!("/{}", name.replace('~', "~0")) };
            if !insert(body, &pointer, secret.into()) {
                let reason = format!("the request body has no place for the credential at {pointer}");
                return Err(Error::Setting { setting: format!("credentials.{scheme}"), reason });
            }
        }
        Ok(())
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(&self, outgoing: &Outgoing) -> Result<Incoming> {
        if let Some(known) = &self.origin
            && origin(&outgoing.url).as_ref() != Some(known)
        {
            let reason = format!("credentials and settings of this call may be sent only to {known}");
            return Err(Error::Refused { url: shown(&outgoing.url), reason });
        }
        let (client, mut url) = self.network.http(&outgoing.url).await?;
        self.add_to_query(&mut url);
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers.iter().chain(&outgoing.headers) {
            headers::add(&mut headers, name, value)?;
        }
        headers::add_credentials(&mut headers, &self.authorization)?;
        self.trace.iter().try_for_each(|trace| headers::add_trace(&mut headers, trace))?;
        let first = url.origin();
        let mut method = outgoing.method.clone();
        let mut body = outgoing.body.as_ref();
        for redirects in 0..=MAX_REDIRECTS {
            let mut request = client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(body) = body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| match Network::failure(url.as_str(), error) {
                // What was redirected was sent.
                Error::Unreachable { url, reason, .. } if redirects > 0 => Error::Interrupted { url, reason },
                error => error,
            })?;
            let status = response.status();
            if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                return self.received(response, &url).await;
            }
            let next = redirect_target(&response, &url)?;
            if next.origin() != first {
                let reason = format!(
                    "{} redirects to this URL, but has another origin; register the agent with this URL",
                    shown(url.as_str())
                );
                return Err(Error::Refused { url: shown(next.as_str()), reason });
            }
            let keeps_method = matches!(status.as_u16(), 307 | 308) || matches!(method, Method::GET | Method::HEAD);
            if !keeps_method && status != StatusCode::SEE_OTHER {
                let reason = format!(
                    "{} redirects a {method} request to this URL with status {}, which would drop the request body",
                    shown(url.as_str()),
                    status.as_u16()
                );
                return Err(Error::Refused { url: shown(next.as_str()), reason });
            }
            if !keeps_method {
                (method, body) = (Method::GET, None);
            }
            url = next;
        }
        Err(Error::Refused {
            url: shown(url.as_str()),
            reason: format!("{} redirects more than {MAX_REDIRECTS} times", shown(&outgoing.url)),
        })
    }

    async fn received(&self, response: Response, url: &Url) -> Result<Incoming> {
        let incoming = Incoming {
            status: response.status().as_u16(),
            url: shown(url.as_str()),
            response,
            max_bytes: self.max_bytes,
            max_silence: self.max_silence,
        };
        if incoming.response.status().is_success() { Ok(incoming) } else { Err(incoming.into_error().await) }
    }

    fn add_to_query(&self, url: &mut Url) {
        for Authorization { grant, .. } in &self.authorization {
            if let (secret, Place::Query(name)) = parts(grant) {
                url.query_pairs_mut().append_pair(name, &secret);
            }
        }
    }
}

/// Inserts a value at a JSON Pointer (RFC 6901), creating missing objects (TD 1.1, section 5.3.3.1). Returns false if
/// another value is in the way.
fn insert(body: &mut Value, pointer: &str, value: Value) -> bool {
    let mut place = body;
    for token in pointer.split('/').skip(1) {
        if place.is_null() {
            *place = if token == "-" { json!([]) } else { json!({}) };
        }
        place = match place {
            Value::Object(members) => members.entry(token.replace("~1", "/").replace("~0", "~")).or_insert(Value::Null),
            Value::Array(elements) => {
                let index = if token == "-" { Some(elements.len()) } else { token.parse().ok() };
                let Some(index) = index.filter(|index| *index <= elements.len()) else { return false };
                if index == elements.len() {
                    elements.push(Value::Null);
                }
                &mut elements[index]
            }
            _ => return false,
        };
    }
    *place = value;
    true
}

fn redirect_target(response: &Response, url: &Url) -> Result<Url> {
    let location = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| url.join(location).ok());
    target.ok_or_else(|| Error::Protocol {
        url: shown(url.as_str()),
        binding: "http",
        reason: format!("its status is {}, but its Location header is missing or invalid", response.status().as_u16()),
    })
}

/// Returns the origin of a URL: scheme, host, and port. Returns `None` if it is unknown, for example in a template.
pub(super) fn origin(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty() && !host.contains(['{', '%']))?;
    let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{}{port}", url.scheme(), host.to_ascii_lowercase()))
}

impl Incoming {
    /// The media type of the body, with its parameters.
    pub(super) fn content_type(&self) -> &str {
        self.header("content-type").unwrap_or_default()
    }

    /// The media type of the body, without parameters and in lower case.
    pub(super) fn media_type(&self) -> String {
        let text = self.content_type();
        text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The whole body.
    pub(super) async fn bytes(self) -> Result<Vec<u8>> {
        let Incoming { mut response, url, max_bytes, .. } = self;
        let too_large = || Error::AnswerTooLarge { url: url.clone(), limit: max_bytes };
        if response.content_length().is_some_and(|length| length > max_bytes as u64) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| interrupted(&url, &error))? {
            if bytes.len() + piece.len() > max_bytes {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// The body as it comes.
    pub(super) fn pieces(self) -> impl Stream<Item = Result<Vec<u8>>> + Send {
        let Incoming { response, url, .. } = self;
        response.bytes_stream().map(move |piece| match piece {
            Ok(piece) => Ok(piece.to_vec()),
            Err(error) => Err(interrupted(&url, &error)),
        })
    }

    /// Returns the body as server-sent events, until the server closes the stream.
    pub(super) fn blocks(self) -> impl Stream<Item = Result<Block>> + Send {
        let (url, max_bytes, max_silence) = (self.url.clone(), self.max_bytes, self.max_silence);
        let state = (Box::pin(self.pieces()), Parser::default(), url, 0);
        stream::try_unfold(state, move |(mut pieces, mut parser, url, mut silence)| async move {
            loop {
                let block = parser.next_block();
                let held = block.as_ref().map_or(parser.held(), |block| block.data.len());
                let is_silent = block.is_none() && max_silence.is_some_and(|most| silence > most + held);
                if held > max_bytes || is_silent {
                    return Err(Error::AnswerTooLarge { url, limit: max_bytes });
                }
                if let Some(block) = block {
                    let silence = if block.data.is_empty() { silence } else { 0 };
                    return Ok(Some((block, (pieces, parser, url, silence))));
                }
                let Some(piece) = pieces.next().await.transpose()? else {
                    if parser.is_incomplete() {
                        return Err(Error::Interrupted { url, reason: "the last event is incomplete".into() });
                    }
                    return Ok(None);
                };
                silence += piece.len();
                parser.push(&piece);
            }
        })
    }

    /// The body as lines, without those that are blank.
    pub(super) fn lines(self) -> impl Stream<Item = Result<String>> + Send {
        let (url, max_bytes, max_silence) = (self.url.clone(), self.max_bytes, self.max_silence);
        let state = (Box::pin(self.pieces()), Lines::default(), url, 0);
        stream::try_unfold(state, move |(mut pieces, mut lines, url, mut silence)| async move {
            loop {
                let line = lines.next_line();
                let held = line.as_ref().map_or(lines.held.len(), String::len);
                let is_silent = line.is_none() && max_silence.is_some_and(|most| silence > most + held);
                if held > max_bytes || is_silent {
                    return Err(Error::AnswerTooLarge { url, limit: max_bytes });
                }
                if let Some(line) = line {
                    return Ok(Some((line, (pieces, lines, url, 0))));
                }
                match pieces.next().await.transpose()? {
                    Some(piece) => {
                        silence += piece.len();
                        lines.push(&piece);
                    }
                    // Nothing follows the last line, which need not end.
                    None if lines.held.is_empty() => return Ok(None),
                    None => lines.push(b"\n"),
                }
            }
        })
    }

    async fn into_error(self) -> Error {
        let content_type = self.content_type().to_owned();
        let Incoming { mut response, url, status, .. } = self;
        let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|value| value.trim().parse().ok()).map(Duration::from_secs);
        let mut bytes = Vec::new();
        while bytes.len() < MAX_ERROR_BYTES
            && let Ok(Some(piece)) = response.chunk().await
        {
            bytes.extend_from_slice(&piece);
        }
        Error::Status { url, status, detail: detail(&decoded(&bytes, &content_type)), retry_after }
    }
}

/// Lines of a body that arrives in pieces. Each byte is searched and moved once, however long a line or a piece is.
#[derive(Default)]
struct Lines {
    held: Vec<u8>,
    /// Position of the first byte that isn't returned.
    start: usize,
    /// Position of the first byte that isn't searched for the end of a line.
    searched: usize,
}

impl Lines {
    fn push(&mut self, piece: &[u8]) {
        self.held.extend_from_slice(piece);
    }

    /// Returns the next complete line that isn't blank, or `None` if only an incomplete line is left in the buffer.
    fn next_line(&mut self) -> Option<String> {
        while let Some(length) = self.held[self.searched..].iter().position(|byte| *byte == b'\n') {
            let end = self.searched + length;
            let line = String::from_utf8_lossy(&self.held[self.start..end]).trim().to_owned();
            (self.start, self.searched) = (end + 1, end + 1);
            if !line.is_empty() {
                return Some(line);
            }
        }
        self.held.drain(..self.start);
        (self.start, self.searched) = (0, self.held.len());
        None
    }
}

/// Extracts the message from the body of an error: a member of a problem document or of an error object, else the text.
pub(super) fn detail(body: &str) -> Option<String> {
    let value: Option<Value> = serde_json::from_str(body).ok();
    let said = value.as_ref().and_then(|value| {
        let error = value.get("error").unwrap_or(value);
        ["detail", "message", "title", "error_description"]
            .into_iter()
            .find_map(|name| error.get(name).and_then(Value::as_str))
            .or_else(|| error.as_str())
    });
    let text = said.unwrap_or(body).trim();
    let short: String = text.chars().filter(|c| !c.is_control()).take(MAX_DETAIL).collect();
    (!short.is_empty()).then_some(short)
}

fn interrupted(url: &str, error: &reqwest::Error) -> Error {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    Error::Interrupted { url: url.to_owned(), reason: innermost.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_inserted_with_what_is_missing_on_the_way() {
        for (body, pointer, expected) in [
            (json!({"a": 1}), "/auth/key", Some(json!({"a": 1, "auth": {"key": "x"}}))),
            (json!({"auth": {"b": 1}}), "/auth/key", Some(json!({"auth": {"b": 1, "key": "x"}}))),
            (json!({"a": [1]}), "/a/-", Some(json!({"a": [1, "x"]}))),
            (json!({}), "/a/-", Some(json!({"a": ["x"]}))),
            (json!({}), "/a/-/key", Some(json!({"a": [{"key": "x"}]}))),
            (json!([1]), "/0", Some(json!(["x"]))),
            (json!({}), "/a~1b~0c", Some(json!({"a/b~c": "x"}))),
            (json!([1]), "/auth", None),
            (json!([1]), "/7", None),
            (json!({"auth": "text"}), "/auth/key", None),
            (json!("text"), "/auth", None),
        ] {
            let mut inserted = body.clone();
            let is_done = insert(&mut inserted, pointer, "x".into());
            assert_eq!(is_done.then_some(inserted), expected, "{body} {pointer}");
        }
    }

    #[test]
    fn lines_are_read_wherever_they_are_cut() {
        let text = "\n{\"a\": 1}\r\n\n  \nä\nrest";
        for cut in 0..=text.len() {
            let mut lines = Lines::default();
            let mut read = Vec::new();
            for piece in [&text.as_bytes()[..cut], &text.as_bytes()[cut..], b"\n"] {
                lines.push(piece);
                read.extend(std::iter::from_fn(|| lines.next_line()));
            }
            assert_eq!(
                (read, lines.held.len()),
                (vec!["{\"a\": 1}".into(), "ä".into(), "rest".to_owned()], 0),
                "{cut}"
            );
        }
    }
}
