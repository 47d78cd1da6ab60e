//! Requests of AOS as steps that are judged.

use serde_json::Value;

use super::{
    description::Given,
    step::{Action, Citation, Origin, Step},
};
use crate::aos::{Call, MemoryParams, Source, StepContext, TextPart};

/// The step that an agent reports; none for requests that aren't steps.
pub fn step_of(call: &Call) -> Option<Step<'_>> {
    let action = match call {
        Call::Ping(_) => return None,
        Call::AgentTrigger(params) => {
            Action::Trigger { event: &params.trigger.event.kind, text: params.trigger.content.text() }
        }
        Call::KnowledgeRetrieval(params) => Action::Knowledge {
            query: params.knowledge_step.query.as_deref(),
            sources: params.knowledge_step.results.iter().map(|result| result.id.as_str()).collect(),
        },
        Call::MemoryStore(params) | Call::MemoryContextRetrieval(params) => memory(params),
        Call::Message(params) => Action::Message {
            role: params.message.role.as_str(),
            text: params.message.content.text(),
            citations: params.citation.iter().flatten().map(citation).collect(),
        },
        Call::ToolCallRequest(params) => {
            let call = &params.tool_call_request;
            let given = call.inputs.iter().map(|input| Given {
                name: &input.name,
                id: input.id.as_deref(),
                value: &input.value,
            });
            Action::ToolCall { execution: &call.execution_id, tool: &call.tool_id, inputs: given.collect() }
        }
        Call::ToolCallResult(params) => Action::ToolResult {
            execution: &params.execution_id,
            is_error: params.result.is_error,
            text: text(&params.result.outputs),
        },
        Call::A2a(_, params) => Action::A2a(&params.payload),
        Call::Mcp(params) => Action::Mcp(&params.message),
    };
    let origin = call.context().map(origin);
    Some(Step { method: call.method().as_str(), origin, reasoning: call.reasoning(), action, response: None })
}

fn memory(params: &MemoryParams) -> Action<'_> {
    Action::Memory { texts: params.memory.iter().map(String::as_str).collect() }
}

fn citation(source: &Source) -> Citation<'_> {
    match source {
        Source::File(file) => Citation::File(&file.id),
        Source::Site(site) => Citation::Site(&site.url),
    }
}

fn text(parts: &[TextPart]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn origin(context: &StepContext) -> Origin<'_> {
    let agent = &context.agent;
    Origin {
        agent: &agent.id,
        version: &agent.version,
        session: &context.session.id,
        turn: &context.turn_id,
        step: &context.step_id,
        resources: agent.resources.iter().flatten().map(|resource| resource.id.as_str()).collect(),
        mcp_servers: agent
            .mcp_servers
            .iter()
            .flatten()
            .map(|server| (server.name.as_str(), server.version.as_str()))
            .collect(),
    }
}

/// Returns the content of a request: its `payload`, its `reasoning`, and the members of its `params` except `context`,
/// which every request repeats.
pub(super) fn content(request: &serde_json::Map<String, Value>) -> Value {
    let members = ["params", "payload", "reasoning"].into_iter().filter_map(|name| request.get_key_value(name));
    let mut content: serde_json::Map<String, Value> = serde_json::Map::new();
    for (name, value) in members {
        match value {
            Value::Object(params) if name == "params" => {
                let own = params.iter().filter(|(name, _)| *name != "context");
                content.extend(own.map(|(name, value)| (name.clone(), value.clone())));
            }
            value => drop(content.insert(name.clone(), value.clone())),
        }
    }
    content.into()
}
