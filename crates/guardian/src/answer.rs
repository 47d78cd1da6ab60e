//! Requests in JSON-RPC, and what is answered.

use std::time::Instant;

use serde_json::{Map, Value};

use crate::{
    Timestamp,
    aos::{Answer, Call, ErrorKind, MAX_BATCH, Moment, PingResult, PingStatus, Refusal, Request, Response, RpcError},
};

/// The answer to a body: a response, or those of a batch.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To a request.
    One(Box<Response>),
    /// To a batch.
    Batch(Vec<Response>),
}

/// The answer to a body, and the number of requests in it that were refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The answer; none where there are only notifications.
    pub reply: Option<Reply>,
    /// Number of requests that were answered with an error, or would have been if they weren't notifications.
    pub refused: u64,
}

/// Answers a request of AOS in JSON-RPC, or a batch of them. `perform` is called with each request that is well formed:
/// as it was read, as it was written, and with the moment at which its reading began.
///
/// ```
/// use agentdex_guardian::{Reply, aos::{Answer, ErrorKind, RpcError}, answer, pong, Timestamp};
/// use serde_json::json;
///
/// let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"timestamp": "2026-11-22T10:00:00Z"}});
/// let answered = answer(&ping, |_, _, _| Ok(Answer::Ping(pong(Timestamp(0)))));
/// assert!(matches!(answered.reply, Some(Reply::One(_))));
/// let failed = answer(&json!([ping]), |_, _, _| Err(RpcError::of(ErrorKind::Internal, "try again later")));
/// assert_eq!(failed.refused, 1);
/// ```
pub fn answer(
    body: &Value,
    mut perform: impl FnMut(&Call, &Map<String, Value>, Instant) -> Result<Answer, RpcError>,
) -> Answered {
    let invalid = |detail: &str| {
        let response = Response::error(None, RpcError::of(ErrorKind::InvalidRequest, detail));
        Answered { reply: Some(Reply::One(Box::new(response))), refused: 1 }
    };
    let mut refused = 0;
    let mut answer_one = |request| {
        let (response, is_refused) = answer_one(request, &mut perform);
        refused += u64::from(is_refused);
        response
    };
    let reply = match body {
        Value::Array(requests) if requests.is_empty() => return invalid("a batch must not be empty"),
        Value::Array(requests) if requests.len() > MAX_BATCH => {
            return invalid(&format!("a batch can contain at most {MAX_BATCH} requests; split it"));
        }
        Value::Array(requests) => {
            let responses: Vec<Response> = requests.iter().filter_map(answer_one).collect();
            (!responses.is_empty()).then_some(Reply::Batch(responses))
        }
        request => answer_one(request).map(|response| Reply::One(Box::new(response))),
    };
    Answered { reply, refused }
}

/// The response, and true if it is, or would be, an error.
fn answer_one(
    value: &Value,
    perform: &mut impl FnMut(&Call, &Map<String, Value>, Instant) -> Result<Answer, RpcError>,
) -> (Option<Response>, bool) {
    let started = Instant::now();
    let Request { id, call } = match Request::read(value) {
        Ok(request) => request,
        Err(Refusal { id, is_notification, error }) => {
            return ((!is_notification).then(|| Response::error(id, error)), true);
        }
    };
    let none = Map::new();
    let answer = perform(&call, value.as_object().unwrap_or(&none), started);
    let is_refused = answer.is_err();
    let response = id.map(|id| match answer {
        Ok(answer) => Response::result(Some(id), answer),
        Err(error) => Response::error(Some(id), error),
    });
    (response, is_refused)
}

/// The answer to `ping`.
pub fn pong(now: Timestamp) -> PingResult {
    PingResult {
        status: PingStatus::Connected,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        timestamp: Moment::from(now),
        metadata: None,
    }
}
