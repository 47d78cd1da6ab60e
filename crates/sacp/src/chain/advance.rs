//! Progress of a run: from a response to the next step.

use serde_json::{Map, Value, json};

use super::{
    compiled::{Chain, Part, Prepared},
    description::{Edge, INPUT},
    gather,
    state::{Notice, Outcome, Place, State, Step},
};
use crate::{Condition, Outputs, Response, Status, TemplateError};

/// The branch that is taken where a response names none.
const NEXT: &str = "next";

/// The most elements of a list that a chain is run for.
const MAX_RUNS: usize = 10_000;

/// The next action of a run, until something has to be waited for.
enum Next {
    /// Run a node.
    Enter(String),
    /// Run it with this input.
    Call(String, Value),
    /// The node that was run last has answered.
    Answered(Response),
    /// It failed, and its own response, if there is one, is stored.
    Failed(String),
    /// Wait, or end.
    Stop(Step),
}

impl Chain {
    /// Begins a run.
    pub fn start(&self, input: Value) -> State {
        self.begin(None, input)
    }

    fn begin(&self, chain: Option<&str>, input: Value) -> State {
        let reason = || "there is no such chain".to_owned();
        let nothing = Step::End(Outcome::Failed { node: chain.unwrap_or_default().to_owned(), reason: reason() });
        let mut state = State {
            chain: chain.map(str::to_owned),
            input,
            outputs: Outputs::new(),
            calls: Vec::new(),
            answers: 0,
            step: nothing,
            conversation: None,
            error: None,
            instruction: None,
            notices: Vec::new(),
        };
        if let Some(part) = self.part(chain) {
            self.go(part, &mut state, Next::Enter(part.start.clone()));
        }
        state
    }

    /// Accepts the response of the agent that was called at a place. If it is no longer due there, nothing changes,
    /// and the return value says so.
    pub fn take(&self, state: &mut State, place: &Place, response: Response) -> bool {
        let is_due = state.at_mut(place).is_some_and(|state| matches!(state.step, Step::Call { .. }));
        if is_due {
            self.go_on(state, &place.within, Next::Answered(response));
        }
        is_due
    }

    /// Gives the user's answer to the node that asks at a place.
    pub fn answer(&self, state: &mut State, place: &Place, answer: Value) -> bool {
        let Some(asking) = state.at_mut(place) else { return false };
        let Step::NeedsInput { node, .. } = &asking.step else { return false };
        let node = node.clone();
        let part = self.part(asking.chain.as_deref());
        let is_own = part.and_then(|part| part.nodes.get(&node)).is_some_and(|found| found.node.ask.is_some());
        let next = if is_own {
            let message = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
            Next::Answered(Response::success(message, Map::new()))
        } else {
            asking.answers += 1;
            Next::Call(node, answer)
        };
        self.go_on(state, &place.within, next);
        true
    }

    /// Stores the caller's conversation with the agent of a place.
    pub fn remember(&self, state: &mut State, place: &Place, conversation: Option<Value>) {
        if let Some(state) = state.at_mut(place) {
            state.conversation = conversation;
        }
    }

    /// Ends a run at its current node.
    pub fn stop(&self, state: &mut State, reason: impl Into<String>) {
        let node = state.node().unwrap_or_default().to_owned();
        state.step = Step::End(Outcome::Failed { node, reason: reason.into() });
    }

    /// Goes on within nodes, and with the nodes whose chains have ended by that.
    fn go_on(&self, state: &mut State, within: &[(usize, usize)], next: Next) {
        let Some(part) = self.part(state.chain.as_deref()) else { return };
        let Some(((_, run), rest)) = within.split_first() else { return self.go(part, state, next) };
        let Step::Within { node, runs } = &mut state.step else { return };
        let Some(run) = runs.get_mut(*run) else { return };
        self.go_on(run, rest, next);
        state.notices.append(&mut run.notices);
        let Some(found) = part.nodes.get(node) else { return };
        if let Some(response) = gather::gathered(&found.node, runs) {
            self.go(part, state, Next::Answered(response));
        }
    }

    fn go(&self, part: &Part, state: &mut State, mut next: Next) {
        loop {
            next = match next {
                Next::Enter(node) => {
                    state.error = None;
                    match part.input_of(state, &node) {
                        Ok(input) => Next::Call(node, input),
                        Err(error) if state.calls.is_empty() => {
                            Next::Stop(Step::End(Outcome::Failed { node, reason: error.to_string() }))
                        }
                        Err(error) => Next::Failed(format!("the input of {node:?} can't be determined: {error}")),
                    }
                }
                Next::Call(node, input) => self.call(part, state, node, input),
                Next::Answered(response) => part.answered(state, response),
                Next::Failed(reason) => part.failed(state, reason),
                Next::Stop(step) => return state.step = step,
            }
        }
    }

    /// Runs a node.
    fn call(&self, part: &Part, state: &mut State, node: String, input: Value) -> Next {
        if state.calls.len() >= (part.max_steps + state.answers) as usize {
            let reason =
                format!("the limit of {} steps is reached; raise max_steps if more steps are intended", part.max_steps);
            return Next::Stop(Step::End(Outcome::Failed { node, reason }));
        }
        if state.calls.last().is_none_or(|(before, _)| *before != node) {
            state.conversation = None;
        }
        state.calls.push((node.clone(), input.clone()));
        let Some(found) = part.nodes.get(&node) else { return Next::Failed("there is no such node".into()) };
        let Prepared { node: described, own, .. } = found;
        if let Some(own) = own {
            return match (own.fill_from(&state.sources(Some(&input))), described.ask.is_some()) {
                (Ok(filled), true) => Next::Stop(Step::NeedsInput { node, message: text_of(&filled) }),
                (Ok(filled), false) => {
                    let response = response_of(filled, input);
                    if !response.message.is_empty() {
                        state.notices.push(Notice::Said { node, message: response.message.clone() });
                    }
                    Next::Answered(response)
                }
                (Err(error), _) => Next::Answered(Response::failure(error.to_string())),
            };
        }
        let inputs = match (&described.each, described.parts()) {
            (_, parts) if parts.is_empty() => {
                // What the user answers is sent as it is.
                let is_answer = matches!(&state.step, Step::NeedsInput { node: asking, .. } if *asking == node);
                let request = found.request.as_ref().filter(|_| !is_answer);
                let sent = request.map(|request| request.fill_from(&state.sources(Some(&input))));
                return match sent.transpose() {
                    Ok(sent) => Next::Stop(Step::Call { node, input: sent.unwrap_or(input) }),
                    Err(error) => Next::Answered(Response::failure(error.to_string())),
                };
            }
            (Some(each), parts) => match elements(&each.over, &input) {
                Ok(inputs) => inputs.into_iter().map(|input| (parts[0], input)).collect(),
                Err(reason) => return Next::Answered(Response::failure(reason)),
            },
            (None, parts) => parts.into_iter().map(|part| (part, input.clone())).collect::<Vec<_>>(),
        };
        let mut runs: Vec<State> = inputs.into_iter().map(|(chain, input)| self.begin(Some(chain), input)).collect();
        runs.iter_mut().for_each(|run| state.notices.append(&mut run.notices));
        match gather::gathered(described, &runs) {
            Some(response) => Next::Answered(response),
            None => Next::Stop(Step::Within { node, runs }),
        }
    }
}

impl Part {
    /// Returns the input of a node: its filled template, with the values of the links that lead to the node.
    fn input_of(&self, state: &State, node: &str) -> Result<Value, TemplateError> {
        let Some(found) = self.nodes.get(node) else { return Ok(Value::Null) };
        let mut input = found.input.fill_from(&state.sources(None))?;
        let last_run = |name: &str| state.calls.iter().rposition(|(called, _)| called == name);
        let mut latest: Map<String, Value> = Map::new();
        let mut links: Vec<_> = self.links.iter().filter(|link| link.to == node).collect();
        links.sort_by_key(|link| last_run(&link.from).map(|position| position + 1));
        for link in links {
            let value = match link.from == INPUT {
                true => state.input.get(&link.output),
                false => state.outputs.get(&link.from).and_then(|response| response.data.get(&link.output)),
            };
            latest.extend(value.map(|value| (link.input.clone(), value.clone())));
        }
        if let Value::Object(members) = &mut input {
            members.extend(latest);
        }
        Ok(input)
    }

    fn answered(&self, state: &mut State, response: Response) -> Next {
        let Some((node, _)) = state.calls.last().cloned() else { return Next::Failed("no node was called yet".into()) };
        let Some(found) = self.nodes.get(&node) else { return Next::Failed("there is no such node".into()) };
        let response = found.finished(state, response);
        if response.status != Status::ClarificationNeeded {
            state.conversation = None;
        }
        state.instruction = None;
        state.outputs.insert(node.clone(), response.clone());
        for (edge, condition) in self.edges_of(&node) {
            let Some(condition) = condition else { continue };
            match condition.holds(&response) {
                Ok(true) => return Next::Enter(edge.to.clone()),
                Ok(false) => {}
                Err(error) => return Next::Failed(error.to_string()),
            }
        }
        match response.status {
            Status::Success => {
                let branch = response.branch().unwrap_or(NEXT);
                let is_of_branch = |edge: &Edge| edge.branch.as_deref().is_none_or(|own| own == branch);
                let mut edges = self.edges_of(&node).filter(|(edge, condition)| condition.is_none() && !edge.on_error);
                match edges.clone().find(|(edge, _)| is_of_branch(edge)) {
                    Some((edge, _)) => Next::Enter(edge.to.clone()),
                    None if edges.any(|(edge, _)| edge.branch.is_some()) => {
                        Next::Failed(format!("no edge of this node has the branch {branch:?}"))
                    }
                    None => Next::Stop(Step::End(Outcome::Done(response))),
                }
            }
            Status::Completed => Next::Stop(Step::End(Outcome::Done(response))),
            Status::ClarificationNeeded => Next::Stop(Step::NeedsInput { node, message: response.message }),
            Status::Failure => Next::Failed(response.message),
            Status::RetryWithInstruction => {
                state.error = None;
                match state.calls.iter().rev().find(|(called, _)| *called != node).cloned() {
                    Some((before, input)) if self.calls_agent(&before) => {
                        state.instruction = Some(response.message);
                        Next::Call(before, input)
                    }
                    Some((before, input)) => {
                        Next::Call(before, json!({"input": input, "instruction": response.message}))
                    }
                    None => Next::Failed(
                        "the agent requests a retry with an instruction, but no other node ran before this node".into(),
                    ),
                }
            }
        }
    }

    /// Takes the error edge of the node that was run last, or ends.
    fn failed(&self, state: &mut State, reason: String) -> Next {
        let node = state.calls.last().map(|(node, _)| node.clone()).unwrap_or_default();
        let Some((Edge { to, .. }, _)) = self.edges_of(&node).find(|(edge, _)| edge.on_error) else {
            return Next::Stop(Step::End(Outcome::Failed { node, reason }));
        };
        state.error = Some(json!({"node": node, "reason": reason}));
        // It can always be made: with an error, a reference that leads nowhere is null.
        let input = self.input_of(state, to).unwrap_or_default();
        state.notices.push(Notice::ErrorHandled { node, to: to.clone(), reason });
        Next::Call(to.clone(), input)
    }

    /// True if a node calls an agent, rather than answers by itself or consists of chains.
    fn calls_agent(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|found| found.own.is_none() && found.node.parts().is_empty())
    }

    fn edges_of<'c, 'n>(
        &'c self,
        node: &'n str,
    ) -> impl Iterator<Item = &'c (Edge, Option<Condition>)> + Clone + use<'c, 'n> {
        self.edges.iter().filter(move |(edge, _)| edge.from == node)
    }
}

impl Prepared {
    /// The response as it counts: with the outputs that the node has, and what it says in place of a failure.
    fn finished(&self, state: &State, mut response: Response) -> Response {
        response = self.with_outputs(response);
        if let (Status::Failure, Some(otherwise)) = (response.status, &self.otherwise) {
            let given = json!({"failure": response.message});
            let filled = otherwise.fill_from(&state.sources(Some(&given)));
            response = match filled {
                Ok(filled) => self.with_outputs(response_of(filled, json!({}))),
                Err(error) => Response::failure(error.to_string()),
            };
        }
        if let (Status::Success, Some(choose)) = (response.status, &self.node.choose) {
            let value = response.data.get(&choose.by).map(text_of).unwrap_or_default();
            let branch = choose.branches.get(&value).map_or("default", String::as_str);
            response.other.insert("branch".into(), branch.into());
        }
        response
    }

    fn with_outputs(&self, mut response: Response) -> Response {
        let Some(outputs) = &self.node.outputs else { return response };
        if !matches!(response.status, Status::Success | Status::Completed) {
            return response;
        }
        let mut data = Map::new();
        for (name, output) in outputs {
            let whole = || (outputs.len() == 1).then(|| whole(&response, self.node.answer.is_some())).flatten();
            let value = response.data.get(name).cloned().or_else(|| output.default.clone()).or_else(whole);
            match value {
                Some(value) => drop(data.insert(name.clone(), value)),
                None => {
                    let names = response.data.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                    let names = if names.is_empty() { "none".to_owned() } else { names };
                    let what = if self.node.answer.is_some() { "input" } else { "response" };
                    return Response::failure(format!("the {what} has no member {name:?}; its members: {names}"));
                }
            }
        }
        response.data = data;
        response
    }
}

/// An answer as the one value that it is.
fn whole(response: &Response, is_own: bool) -> Option<Value> {
    if is_own {
        return None;
    }
    match response.data.get("result") {
        Some(result) if response.data.len() == 1 => Some(result.clone()),
        _ if !response.data.is_empty() => Some(Value::Object(response.data.clone())),
        _ => (!response.message.is_empty()).then(|| response.message.clone().into()),
    }
}

/// Builds a node's own response from its filled `answer` or `otherwise`. Without `data`, the data is `input`.
fn response_of(filled: Value, input: Value) -> Response {
    let mut object = match filled {
        Value::Object(members) => members,
        message => Map::from_iter([("message".to_owned(), message)]),
    };
    let given = match input {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let text = |value: Option<Value>| value.as_ref().map(text_of).unwrap_or_default();
    let status = object.remove("status").and_then(|status| Status::from_name(status.as_str()?));
    Response {
        thought: text(object.remove("thought")),
        status: status.unwrap_or(Status::Success),
        data: match object.remove("data") {
            Some(Value::Object(data)) => data,
            _ => given,
        },
        message: text(object.remove("message")),
        next_step_hint: None,
        other: object,
    }
}

/// A value as text: a string is itself.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The input of each run: an element of each list, and the other members as they are.
fn elements(over: &[String], input: &Value) -> Result<Vec<Value>, String> {
    let members = input.as_object().ok_or("its input is not an object that contains the lists to iterate over")?;
    let mut length = None;
    for name in over {
        let list = members.get(name).and_then(Value::as_array);
        let list = list.ok_or_else(|| format!("{name:?} of its input is not a list"))?;
        if length.replace(list.len()).is_some_and(|before| before != list.len()) {
            return Err(format!("the lists {} have different lengths", over.join(", ")));
        }
    }
    let length = length.ok_or("no member of its input is a list to iterate over")?;
    if length > MAX_RUNS {
        return Err(format!("a list has {length} elements, but at most {MAX_RUNS} are allowed"));
    }
    let of = |index: usize| {
        let value = |(name, value): (&String, &Value)| {
            let element = over.contains(name).then(|| value.get(index).cloned()).flatten();
            (name.clone(), element.unwrap_or_else(|| value.clone()))
        };
        Value::Object(members.iter().map(value).collect())
    };
    Ok((0..length).map(of).collect())
}
