//! Requests in JSON-RPC, and what is answered.

use std::{
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

use super::{
    Guardian,
    entry::Entry,
    responses::{fact_of, response_in, with_failure},
    sessions::SessionKey,
    steps::{content, step_of},
};
use crate::{
    Result, Timestamp,
    convert::aos::{
        self, Answer, Call, ErrorKind, MAX_BATCH, Masking, Moment, PingResult, PingStatus, Request, Response, RpcError,
        SuccessResult,
    },
    policy::{self, Decision, Description, Edit, Edited, Origin, Step, Verdict},
    signature::digest,
    td,
};

/// The longest id of a session or agent in memory; of a longer one its hash is there.
const LONGEST_ID: usize = 256;

/// What is answered to a body.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To a request.
    One(Box<Response>),
    /// To a batch.
    Batch(Vec<Response>),
}

impl Guardian {
    /// The ids of agents that a body names and that aren't in memory: [`Guardian::answer`] reads the store for them.
    pub fn has_all_agents(&self, body: &Value) -> bool {
        let requests = match body {
            Value::Array(requests) => requests.as_slice(),
            one => std::slice::from_ref(one),
        };
        requests.iter().filter_map(agent_of).all(|id| match td::normalize_id(id) {
            Ok(id) => self.agents.cached(&id).is_some(),
            Err(_) => true,
        })
    }

    /// Answers a request or a batch of them; none where there are only notifications. May read the store, unless
    /// [`Guardian::has_all_agents`].
    ///
    /// ```
    /// # fn main() -> agentdex::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("agentdex-guardian-{}", std::process::id()));
    /// let registry = agentdex::Registry::builder(&directory).open()?;
    /// let ping = serde_json::json!({
    ///     "jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"timestamp": "2026-11-22T10:00:00Z"},
    /// });
    /// let reply = serde_json::to_value(registry.guardian().answer(&ping)).unwrap();
    /// assert_eq!(reply["result"]["status"], "connected");
    /// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn answer(&self, body: &Value) -> Option<Reply> {
        let invalid = |detail: &str| {
            self.counts.refused.fetch_add(1, Relaxed);
            Some(Reply::One(Box::new(Response::error(None, RpcError::of(ErrorKind::InvalidRequest, detail)))))
        };
        match body {
            Value::Array(requests) if requests.is_empty() => invalid("a batch has requests; this one is empty"),
            Value::Array(requests) if requests.len() > MAX_BATCH => {
                invalid(&format!("a batch has at most {MAX_BATCH} requests; divide this one"))
            }
            Value::Array(requests) => {
                let responses: Vec<Response> = requests.iter().filter_map(|request| self.answer_one(request)).collect();
                (!responses.is_empty()).then_some(Reply::Batch(responses))
            }
            request => self.answer_one(request).map(|response| Reply::One(Box::new(response))),
        }
    }

    fn answer_one(&self, value: &Value) -> Option<Response> {
        let started = Instant::now();
        let refuse = |refusal: aos::Refusal| {
            self.counts.refused.fetch_add(1, Relaxed);
            (!refusal.is_notification).then(|| Response::error(refusal.id, refusal.error))
        };
        let request = match Request::read(value) {
            Ok(request) => request,
            Err(refusal) => return refuse(refusal),
        };
        let none = Map::new();
        let text = value.as_object().unwrap_or(&none);
        let answer = match &request.call {
            Call::Ping(_) => Ok(Answer::Ping(self.ping())),
            call => self.judge(call, text, started).map(|result| Answer::Decision(Box::new(result))),
        };
        let id = request.id?;
        Some(match answer {
            Ok(answer) => Response::result(Some(id), answer),
            Err(error) => {
                self.counts.refused.fetch_add(1, Relaxed);
                tracing::error!(%error, "the guardian can't decide of a step");
                Response::error(Some(id), RpcError::of(ErrorKind::Internal, "the decision failed; try again later"))
            }
        })
    }

    fn ping(&self) -> PingResult {
        let now = Moment::from(Timestamp::now());
        let version = env!("CARGO_PKG_VERSION").to_owned();
        PingResult { status: PingStatus::Connected, version, timestamp: now, metadata: None }
    }

    fn judge(&self, call: &Call, request: &Map<String, Value>, started: Instant) -> Result<SuccessResult> {
        let Some(mut step) = step_of(call) else { return Ok(result(&allowed(), None, request)) };
        let id = step.origin.as_ref().and_then(|origin| td::normalize_id(origin.agent).ok());
        let description = match id.as_deref() {
            Some(id) => match self.agents.cached(id) {
                Some(known) => known,
                None => self.agents.load(id)?,
            },
            None => None,
        };
        let known = description.as_deref();
        let now = Timestamp::now();
        let policy = &self.options.policy;
        if policy.reads_response_of(step.method) {
            step.response = fact_of(request);
        }
        let edit = |edit| edited(request, edit);
        let (verdict, would_be) = match &step.origin {
            Some(origin) => self.sessions.with(key(origin, known), now, |session| {
                let verdict = policy::decide(&step, known, Some(session), policy, &edit);
                let (verdict, would_be) = self.tried(verdict);
                session.take_in(&step, &verdict);
                (verdict, would_be)
            }),
            None => self.tried(policy::decide(&step, known, None, policy, &edit)),
        };
        let result = result(&verdict, would_be, request);
        self.record(self.entry(&step, call, known, verdict, would_be, request, (now, started.elapsed())));
        Ok(result)
    }

    /// What is answered, and what would have been, where policies are only tried.
    fn tried(&self, verdict: Verdict) -> (Verdict, Option<Decision>) {
        if !self.options.dry_run || verdict.decision == Decision::Allow {
            return (verdict, None);
        }
        let would_be = verdict.decision;
        (Verdict { decision: Decision::Allow, modified: None, ..verdict }, Some(would_be))
    }

    #[expect(clippy::too_many_arguments, reason = "an entry is put together of all that is known of a step")]
    fn entry(
        &self,
        step: &Step<'_>,
        call: &Call,
        known: Option<&Description>,
        verdict: Verdict,
        would_be: Option<Decision>,
        request: &Map<String, Value>,
        (at, took): (Timestamp, Duration),
    ) -> Entry {
        // What is stored has no secrets, whatever the policy says.
        let shown = verdict.modified.as_ref().and_then(Value::as_object).unwrap_or(request);
        let hash = digest(content(request).to_string().as_bytes());
        let masked = self.options.store_content.then(|| {
            let masking = Masking { secrets: true, personal_data: false };
            aos::mask(shown, masking).map(|masked| masked.request)
        });
        let masked = masked.as_ref().map(|masked| masked.as_ref().and_then(Value::as_object).unwrap_or(shown));
        let sacp = response_in(masked.unwrap_or(shown), masked.is_some());
        let origin = step.origin.as_ref();
        let tool = match call {
            Call::ToolCallRequest(params) => Some(params.tool_call_request.tool_id.clone()),
            Call::Mcp(params) if params.message.get("method").is_some_and(|method| method == "tools/call") => {
                params.message.get("params").and_then(|params| params.get("name")?.as_str()).map(str::to_owned)
            }
            _ => None,
        };
        Entry {
            seq: 0,
            at,
            method: step.method.to_owned(),
            agent: known.map(|known| known.id.clone()).or_else(|| origin.map(|origin| origin.agent.to_owned())),
            session: origin.map(|origin| origin.session.to_owned()),
            turn: origin.map(|origin| origin.turn.to_owned()),
            step: origin.map(|origin| origin.step.to_owned()),
            recorded: call.context().map(|context| context.timestamp.as_str().to_owned()),
            tool,
            decision: verdict.decision,
            would_be,
            findings: verdict.findings,
            microseconds: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            hash,
            sacp,
            content: masked.map(content),
        }
    }
}

fn allowed() -> Verdict {
    Verdict { decision: Decision::Allow, findings: Vec::new(), modified: None }
}

/// The request with what is to be changed; none where there is nothing to change.
fn edited(request: &Map<String, Value>, edit: Edit) -> Option<Edited> {
    let failed = if edit.fail_response { with_failure(request) } else { None };
    let has_failed_response = failed.is_some();
    let masking = Masking { secrets: edit.secrets, personal_data: edit.personal_data };
    let masked = aos::mask(failed.as_ref().and_then(Value::as_object).unwrap_or(request), masking);
    match (masked, failed) {
        (Some(masked), _) => Some(Edited {
            step: masked.request,
            secrets: masked.secrets,
            personal_data: masked.personal_data,
            has_failed_response,
        }),
        (None, Some(step)) => {
            Some(Edited { step, secrets: Vec::new(), personal_data: Vec::new(), has_failed_response })
        }
        (None, None) => None,
    }
}

/// What AOS answers for a verdict.
fn result(verdict: &Verdict, would_be: Option<Decision>, request: &Map<String, Value>) -> SuccessResult {
    let codes: Vec<String> = verdict.reason_codes().into_iter().map(str::to_owned).collect();
    let mut data = Map::new();
    if !verdict.findings.is_empty() {
        data.insert("findings".to_owned(), serde_json::to_value(&verdict.findings).unwrap_or_default());
    }
    if let Some(would_be) = would_be {
        data.insert("wouldBe".to_owned(), json!(would_be));
    }
    let modified = verdict.modified.clone().filter(|_| !request.is_empty());
    SuccessResult {
        decision: match verdict.decision {
            Decision::Allow => aos::Decision::Allow,
            Decision::Deny => aos::Decision::Deny,
            Decision::Modify => aos::Decision::Modify,
        },
        reasoning: None,
        reason_code: (!codes.is_empty()).then_some(codes),
        message: verdict.message(),
        data: (!data.is_empty()).then_some(data),
        modified_request: modified,
    }
}

/// The id of the agent in the context of a request.
fn agent_of(request: &Value) -> Option<&str> {
    let context = request.get("params").and_then(|params| params.get("context")).or(request.get("context"))?;
    context.get("agent")?.get("id")?.as_str()
}

fn key(origin: &Origin<'_>, known: Option<&Description>) -> SessionKey {
    let bounded = |id: &str| if id.len() <= LONGEST_ID { id.to_owned() } else { digest(id.as_bytes()) };
    let agent = known.map_or(origin.agent, |known| known.id.as_str());
    SessionKey { agent: bounded(agent), session: bounded(origin.session) }
}
