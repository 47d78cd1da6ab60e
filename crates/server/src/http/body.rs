//! Request bodies and media types: what is read, how much of it, and what is answered.

use std::{
    cell::Cell,
    io,
    rc::Rc,
    time::{Duration, Instant},
};

use actix_web::{
    HttpRequest,
    dev::Decompress,
    error::PayloadError,
    http::{
        StatusCode,
        header::{
            ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ContentEncoding,
            HeaderName,
        },
    },
    web::{self, Bytes, Data},
};
use futures_util::{
    FutureExt, Stream, StreamExt,
    stream::{self, LocalBoxStream},
};
use tokio::time::timeout;

use super::{context::Context, limits::Limits, problem::Problem};

/// Media types of Thing Descriptions, in requests and responses.
pub(super) const DESCRIPTIONS: [&str; 3] = ["application/td+json", "application/ld+json", "application/json"];
/// Response header with the effect of a write, such as `created` or `unchanged`.
pub(super) const EFFECT: HeaderName = HeaderName::from_static("agentdex-effect");
/// Counts what was fixed or is unusual in a description.
pub(super) const WARNINGS: HeaderName = HeaderName::from_static("agentdex-warnings");
/// Media types of a JSON Merge Patch (RFC 7396).
pub(super) const MERGE_PATCHES: [&str; 2] = ["application/merge-patch+json", "application/json"];
/// Media type of JSON lines: one value a line.
pub(super) const NDJSON: &str = "application/x-ndjson";
/// Media types of a batch.
pub(super) const LINES: [&str; 3] = [NDJSON, "application/ndjson", "application/jsonl"];

/// Number of bytes of a body that have to arrive to count as progress.
const PROGRESS: usize = 512;
/// The most that is allocated for a body before it arrives.
const FORESEEN: usize = 64 * 1024;
/// Maximum number of bytes of a compressed body that are decoded at once. They expand to at most a thousand times that.
const DECODED_AT_ONCE: usize = 2048;
/// Number of bytes that a body may expand to, or be answered with, whatever was received of it.
pub(super) const FREE_EXPANSION: u64 = 64 * 1024 * 1024;
/// Maximum number of bytes for each that was received, beyond these: JSON seldom compresses that well.
pub(super) const MAX_EXPANSION: u64 = 32;

/// Refuses a body of a type that isn't among `taken`, or of none (415). What a page of any origin may
/// send without asking first has one of the types of forms, or none: it never gets in.
pub(super) fn check_type(request: &HttpRequest, taken: &[&str]) -> Result<(), Problem> {
    let refusal = |is: String| {
        let detail = format!("{is}, but must be {}", taken.join(" or "));
        unsupported(detail).with_header(ACCEPT, taken.join(", "))
    };
    let Some(given) = request.headers().get(CONTENT_TYPE) else {
        return Err(refusal("the body has no `Content-Type`".to_owned()));
    };
    let given = given.to_str().unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if taken.iter().any(|taken| taken.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    Err(refusal(format!("the body is {given:?}")))
}

/// A chunk of a body; none at its end.
type Chunk = Option<Result<Bytes, PayloadError>>;

/// A body without its content coding, which has to go on arriving, and may not expand without bounds.
pub(super) struct Decoded {
    chunks: LocalBoxStream<'static, Result<Bytes, PayloadError>>,
    /// Number of bytes received, and number of bytes decoded from them.
    received: Rc<Cell<u64>>,
    decoded: u64,
    timeout: Duration,
    /// Remaining time to wait for progress.
    left: Duration,
    /// Number of bytes that have arrived since the last progress.
    arrived: usize,
}

impl Decoded {
    /// A body whose chunks are decoded from gzip, or are as they came.
    fn new(
        chunks: impl Stream<Item = Result<Bytes, PayloadError>> + 'static,
        is_gzip: bool,
        timeout: Duration,
    ) -> Decoded {
        let received = Rc::new(Cell::new(0));
        let count = received.clone();
        let note = move |chunk: &Result<Bytes, PayloadError>| {
            count.update(|received: u64| received + chunk.as_ref().map_or(0, Bytes::len) as u64);
        };
        let chunks = match is_gzip {
            true => {
                let pieces = chunks.flat_map(|chunk| stream::iter(pieces(chunk))).inspect(note);
                Decompress::new(pieces, ContentEncoding::Gzip).boxed_local()
            }
            false => chunks.inspect(note).boxed_local(),
        };
        Decoded { chunks, received, decoded: 0, timeout, left: timeout, arrived: 0 }
    }

    /// True if so many bytes may be made of what was received: 64 MiB, or 32 times as many.
    pub(super) fn allows(&self, bytes: u64) -> bool {
        bytes <= FREE_EXPANSION.max(self.received.get().saturating_mul(MAX_EXPANSION))
    }

    /// Waits for the next chunk. A body of which hardly anything comes while it is waited for fails.
    pub(super) async fn next(&mut self) -> Chunk {
        let started = Instant::now();
        match timeout(self.left, self.chunks.next()).await {
            Ok(chunk) => {
                self.left = self.left.saturating_sub(started.elapsed());
                self.counted(chunk)
            }
            Err(_) => Some(Err(PayloadError::Io(io::ErrorKind::TimedOut.into()))),
        }
    }

    /// The next chunk if it has arrived.
    pub(super) fn next_arrived(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.next().now_or_never()?;
        Some(self.counted(chunk))
    }

    /// Counts a chunk, which is an error if the body has expanded too much.
    fn counted(&mut self, chunk: Chunk) -> Chunk {
        let length = chunk.as_ref().and_then(|chunk| chunk.as_ref().ok()).map_or(0, Bytes::len);
        self.arrived += length;
        if self.arrived >= PROGRESS {
            (self.arrived, self.left) = (0, self.timeout);
        }
        self.decoded += length as u64;
        if self.allows(self.decoded) { chunk } else { Some(Err(PayloadError::Overflow)) }
    }
}

/// Undoes the content coding of a body. The one that is known is gzip: others unpack a few bytes into
/// gigabytes, and the decoder hands out no part of a chunk before the whole of it is unpacked.
pub(super) fn decoded(request: &HttpRequest, payload: web::Payload) -> Result<Decoded, Problem> {
    let context = request.app_data::<Data<Context>>();
    let timeout = context.map_or(Limits::default().body_timeout, |context| context.options.limits.body_timeout);
    let coding = request.headers().get(CONTENT_ENCODING).map_or("", |coding| coding.to_str().unwrap_or("?").trim());
    let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(coding));
    if is(&["", "identity"]) {
        return Ok(Decoded::new(payload, false, timeout));
    }
    if !is(&["gzip", "x-gzip"]) {
        let detail = format!("the body has the content coding {coding:?}, but only gzip is supported");
        return Err(unsupported(detail).with_header(ACCEPT_ENCODING, "gzip"));
    }
    Ok(Decoded::new(payload, true, timeout))
}

/// A chunk in parts that are small enough to be decoded at once.
fn pieces(chunk: Result<Bytes, PayloadError>) -> impl Iterator<Item = Result<Bytes, PayloadError>> {
    let mut rest = Some(chunk);
    std::iter::from_fn(move || match rest.take()? {
        Ok(mut bytes) if bytes.len() > DECODED_AT_ONCE => {
            let piece = bytes.split_to(DECODED_AT_ONCE);
            rest = Some(Ok(bytes));
            Some(Ok(piece))
        }
        last => Some(last),
    })
}

/// Reads a whole body of at most `maximum` bytes.
pub(super) async fn read(request: &HttpRequest, payload: web::Payload, maximum: usize) -> Result<Vec<u8>, Problem> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > maximum) {
        return Err(Problem::body_too_large(maximum));
    }
    let mut payload = decoded(request, payload)?;
    let mut body = Vec::with_capacity(length.unwrap_or_default().min(FORESEEN));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| broken(&error))?;
        if body.len() + chunk.len() > maximum {
            return Err(Problem::body_too_large(maximum));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A body that ends early, isn't coded as it says, or expands too much.
pub(super) fn broken(error: &PayloadError) -> Problem {
    let detail = match error {
        PayloadError::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
            let detail = "the body stalled for too long; send it without pauses";
            return Problem::new(StatusCode::REQUEST_TIMEOUT, "body-timeout", detail).with_header(CONNECTION, "close");
        }
        PayloadError::Overflow => {
            let detail = format!(
                "the body expands to more than {FREE_EXPANSION} bytes, and to more than {MAX_EXPANSION} times its \
                 compressed size; send it in parts"
            );
            return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "excessive-compression", detail)
                .with_header(CONNECTION, "close");
        }
        PayloadError::EncodingCorrupted => "the chunked transfer encoding of the body is malformed",
        _ => "the body is truncated, or doesn't match its `Content-Encoding`",
    };
    Problem::new(StatusCode::BAD_REQUEST, "broken-body", detail)
}

/// 415
pub(super) fn unsupported(detail: String) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", detail)
}

/// The preference for what was done, with its warnings, as the body of the response.
pub(super) const RETURN_EFFECT: &str = "return=effect";

/// True if the client asks for a preference (RFC 7240).
pub(super) fn prefers(request: &HttpRequest, preference: &str) -> bool {
    let prefer = HeaderName::from_static("prefer");
    let mut given = request.headers().get_all(prefer).filter_map(|value| value.to_str().ok());
    given.any(|value| value.split([',', ';']).any(|given| given.trim().eq_ignore_ascii_case(preference)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_and_make_up_the_chunk() {
        for length in [0, 1, DECODED_AT_ONCE, DECODED_AT_ONCE + 1, 3 * DECODED_AT_ONCE] {
            let chunk: Bytes = (0..length).map(|byte| byte as u8).collect();
            let pieces: Vec<_> = pieces(Ok(chunk.clone())).flatten().collect();
            assert!(pieces.iter().all(|piece| piece.len() <= DECODED_AT_ONCE));
            assert_eq!(pieces.concat(), chunk);
        }
    }

    /// The number of bytes that are decoded of a body in one-kilobyte chunks, and the code of the problem that it ends with.
    fn decode(body: &[u8]) -> (u64, Option<String>) {
        let chunks: Vec<_> = body.chunks(1024).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        let mut decoded = Decoded::new(stream::iter(chunks), true, Duration::from_secs(60));
        let mut count = 0;
        while let Some(chunk) = decoded.next_arrived().flatten() {
            match chunk {
                Ok(chunk) => count += chunk.len() as u64,
                Err(error) => return (count, Some(broken(&error).document().code)),
            }
        }
        (count, None)
    }

    fn gzipped(parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        parts.into_iter().for_each(|part| encoder.write_all(&part).unwrap());
        encoder.finish().unwrap()
    }

    /// A mebibyte that doesn't compress.
    fn noise(seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        (0..1024 * 1024).map(|_| next()).collect()
    }

    #[test]
    fn body_may_expand_up_to_a_bound() {
        let mebibytes = |count: usize| std::iter::repeat_n(vec![b' '; 1024 * 1024], count);
        assert_eq!(decode(&gzipped(mebibytes(64))), (FREE_EXPANSION, None));
        let (count, code) = decode(&gzipped(mebibytes(96)));
        assert_eq!(code.as_deref(), Some("excessive-compression"));
        assert!(count <= FREE_EXPANSION, "{count}");
        // Three mebibytes were received by then, so that 96 are allowed.
        let three = (1..=3).map(noise).chain(mebibytes(90));
        assert_eq!(decode(&gzipped(three)), (93 * 1024 * 1024, None));
        let three = (1..=3).map(noise).chain(mebibytes(150));
        assert_eq!(decode(&gzipped(three)).1.as_deref(), Some("excessive-compression"));
    }
}
