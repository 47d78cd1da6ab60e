//! Requests of AOS as they are judged: the decision, its answer, and the entry of the trail.

use std::borrow::Cow;

use agentdex_api::{
    access::Owner,
    guardian::{Decision, Entry},
};
use agentdex_td::normalize_id;
use serde_json::{Map, Value, json};

use super::{
    decide::{Edit, Edited, decide},
    description::Description,
    digest::digest,
    file::Policy,
    request::{content, step_of},
    sacp_response::{fact_of, response_in, with_failure},
    sessions::{SessionKey, Sessions},
    step::Step,
    verdict::Verdict,
};
use crate::{
    Timestamp,
    aos::{self, Call, Masking, SuccessResult},
};

/// Applies a policy to AOS requests, with the live sessions.
#[derive(Debug, Clone, Copy)]
pub struct Guard<'g> {
    /// The policy.
    pub policy: &'g Policy,
    /// The live sessions.
    pub sessions: &'g Sessions,
    /// The owner that reports the requests; `None` for unauthenticated callers.
    pub reporter: Option<&'g Owner>,
    /// True to allow everything, and only report what would have been denied or modified.
    pub dry_run: bool,
    /// True to store the content of steps in entries, without secrets; otherwise, only its hash.
    pub store_content: bool,
}

/// The result of an AOS request.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The answer.
    pub result: SuccessResult,
    /// The entry for the trail; none if the request is not a step. Its `seq` and `microseconds` are 0.
    pub entry: Option<Entry>,
}

impl Guard<'_> {
    /// Decides about a request. `request` is the text from which `call` was read, `known` is the description of the
    /// agent with the id [`agent_id`], and `now` is the moment of the decision.
    pub fn judge(
        &self,
        call: &Call,
        request: &Map<String, Value>,
        known: Option<&Description>,
        now: Timestamp,
    ) -> Judged {
        let Some(mut step) = step_of(call) else {
            return Judged { result: result(&allowed(), None, request), entry: None };
        };
        if self.policy.reads_response_of(step.method) {
            step.response = fact_of(request);
        }
        let edit = |edit| edited(request, edit);
        let (verdict, would_be) = match &step.origin {
            Some(origin) => {
                let agent = known.map_or(origin.agent, |known| known.id.as_str());
                let key = SessionKey::new(agent, origin.session).reported_by(self.reporter);
                self.sessions.with(key, now, |session| {
                    let verdict = decide(&step, known, Some(session), self.policy, &edit);
                    let (verdict, would_be) = self.tried(verdict);
                    session.take_in(&step, &verdict);
                    (verdict, would_be)
                })
            }
            None => self.tried(decide(&step, known, None, self.policy, &edit)),
        };
        let result = result(&verdict, would_be, request);
        Judged { result, entry: Some(self.entry(&step, call, known, verdict, would_be, request, now)) }
    }

    /// Returns the answer, and the one that would have been where policies are only tried.
    fn tried(&self, verdict: Verdict) -> (Verdict, Option<Decision>) {
        if !self.dry_run || verdict.decision == Decision::Allow {
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
        at: Timestamp,
    ) -> Entry {
        // What is stored has no secrets, whatever the policy says.
        let shown = verdict.modified.as_ref().and_then(Value::as_object).unwrap_or(request);
        let hash = digest(content(request).to_string().as_bytes());
        let masked = self.store_content.then(|| {
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
            reporter: self.reporter.cloned(),
            session: origin.map(|origin| origin.session.to_owned()),
            turn: origin.map(|origin| origin.turn.to_owned()),
            step: origin.map(|origin| origin.step.to_owned()),
            recorded: call.context().map(|context| context.timestamp.as_str().to_owned()),
            tool,
            decision: verdict.decision,
            would_be,
            findings: verdict.findings,
            microseconds: 0,
            hash,
            sacp,
            content: masked.map(content),
        }
    }
}

/// The id of the agent that takes the step of a request, as the registry writes ids; none if it names no valid id.
pub fn agent_id(call: &Call) -> Option<Cow<'_, str>> {
    normalize_id(&call.context()?.agent.id).ok()
}

/// The ids of agents in a JSON-RPC body (a request or a batch), as the registry writes ids.
pub fn agent_ids(body: &Value) -> impl Iterator<Item = Cow<'_, str>> {
    let requests = match body {
        Value::Array(requests) => requests.as_slice(),
        one => std::slice::from_ref(one),
    };
    requests.iter().filter_map(agent_of).filter_map(|id| normalize_id(id).ok())
}

/// The id of the agent in the context of a request.
fn agent_of(request: &Value) -> Option<&str> {
    let context = request.get("params").and_then(|params| params.get("context")).or(request.get("context"))?;
    context.get("agent")?.get("id")?.as_str()
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

/// Returns the answer of AOS for a verdict.
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
