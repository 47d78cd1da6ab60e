//! The decision.

use std::time::Duration;

use agentdex_api::guardian::{Decision, Finding, Mode};
use serde_json::{Map, Value};

use super::{
    a2a,
    description::{Description, Given, Standing, given_members, shown},
    file::Policy,
    own::{Consequence, OwnFacts},
    rule::{Modes, Rule},
    session::Session,
    step::{Action, Citation, Origin, Step},
    verdict::{MOST_FINDINGS, Verdict},
    who::Who,
};

/// Time budget of a policy's own rules together, for each step. A rule that isn't decided in time counts as a finding.
pub const EXPRESSION_BUDGET: Duration = Duration::from_millis(20);

/// The kinds of changes to make in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    /// Credentials are masked.
    pub secrets: bool,
    /// Personal data are masked.
    pub personal_data: bool,
    /// The response in SACP that it carries becomes a failure.
    pub fail_response: bool,
}

/// A step that was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// The step.
    pub step: Value,
    /// JSON Pointers to the secrets that were masked.
    pub secrets: Vec<String>,
    /// JSON Pointers to the personal data that were masked.
    pub personal_data: Vec<String>,
    /// True if its response became a failure.
    pub has_failed_response: bool,
}

/// Decides of a step by what is known of its agent and its session. `edit` makes the step with something changed, if
/// there is something to change.
pub fn decide(
    step: &Step<'_>,
    description: Option<&Description>,
    session: Option<&Session>,
    policy: &Policy,
    edit: &dyn Fn(Edit) -> Option<Edited>,
) -> Verdict {
    let unknown = Who { id: step.origin.as_ref().map_or("", |origin| origin.agent), ..Who::default() };
    let (who, modes) = match description {
        Some(known) => (Who { id: &known.id, tags: &known.tags, vendor: known.vendor.as_deref() }, known.modes),
        None => (unknown, policy.modes_for(&unknown)),
    };
    let mut judge = Judge { modes, findings: Vec::new(), failing: Vec::new() };
    if let Some(origin) = &step.origin {
        judge.agent(origin, description);
    }
    judge.action(step, description, session);
    judge.own_rules(step, description, session, policy, &who);
    let edited = judge.edit(edit);
    judge.verdict(edited)
}

struct Judge {
    modes: Modes,
    findings: Vec<Finding>,
    /// Enforced own rules that make the response of the step a failure, and found something.
    failing: Vec<String>,
}

impl Judge {
    /// Adds what a rule finds, unless it is off.
    fn find<M: Into<String>>(&mut self, rule: Rule, found: impl IntoIterator<Item = M>) {
        let mode = self.modes.of(rule);
        if mode != Mode::Off {
            let finding = |message: M| Finding { rule: rule.name().into(), mode, message: message.into() };
            self.findings.extend(found.into_iter().take(MOST_FINDINGS).map(finding));
        }
    }

    /// Checks that the agent is registered, neither expired nor stale, and has the version, resources and MCP servers
    /// that its description declares.
    fn agent(&mut self, origin: &Origin<'_>, description: Option<&Description>) {
        let id = shown(origin.agent);
        let Some(known) = description else {
            return self.find(Rule::AgentRegistered, [format!("the agent {id:?} is not registered")]);
        };
        match known.standing {
            Standing::Live => {}
            Standing::Stale => {
                let message = format!("the source of {id:?} is stale, so its registration is no longer confirmed");
                self.find(Rule::AgentCurrent, [message]);
            }
            Standing::Expired => self.find(Rule::AgentLive, [format!("the registration of {id:?} has expired")]),
        }
        if let Some(version) = known.version.as_deref().filter(|version| *version != origin.version) {
            let message = format!(
                "the step names version {:?} of the agent, but version {:?} is registered",
                shown(origin.version),
                shown(version)
            );
            self.find(Rule::AgentVersion, [message]);
        }
        let undeclared = |id: &&&str| !known.resources.contains(**id);
        let message = |id: &&str| format!("the resource {:?} is not declared in the agent's description", shown(id));
        self.find(Rule::ResourceDeclared, origin.resources.iter().filter(undeclared).map(message));
        let faults = origin.mcp_servers.iter().filter_map(|(name, version)| mcp_server_fault(known, name, version));
        self.find(Rule::McpServerDeclared, faults);
    }

    fn action(&mut self, step: &Step<'_>, known: Option<&Description>, session: Option<&Session>) {
        let turn = step.origin.as_ref().map(|origin| origin.turn);
        match &step.action {
            Action::Knowledge { sources, .. } => self.sources(known, sources.iter().copied()),
            Action::Message { citations, .. } => {
                let files = citations.iter().filter_map(|citation| match citation {
                    Citation::File(id) => Some(*id),
                    // Whoever may read the web may cite it, so that only resources have to be declared.
                    Citation::Site(_) => None,
                });
                self.sources(known, files);
            }
            Action::ToolCall { tool, inputs, .. } => self.tool_call(known, tool, inputs.iter().copied()),
            Action::ToolResult { execution, .. } => {
                let is_known = session.zip(turn).is_some_and(|(session, turn)| session.has_called(turn, execution));
                if !is_known {
                    let message = format!("this turn has no pending call with the executionId {:?}", shown(execution));
                    self.find(Rule::ToolResult, [message]);
                }
            }
            Action::A2a(message) => self.find(Rule::A2aMessage, a2a::faults(step.method, message)),
            Action::Mcp(message) => self.mcp(known, session.zip(turn), message),
            Action::Trigger { .. } | Action::Memory { .. } | Action::Other(_) => {}
        }
    }

    fn sources<'i>(&mut self, known: Option<&Description>, ids: impl Iterator<Item = &'i str>) {
        let Some(known) = known else { return };
        let undeclared = ids.filter(|id| !known.resources.contains(*id));
        let message = |id: &str| format!("the source {:?} is not a declared resource of the agent", shown(id));
        self.find(Rule::SourceDeclared, undeclared.map(message));
    }

    fn tool_call<'g>(&mut self, known: Option<&Description>, key: &str, given: impl Iterator<Item = Given<'g>>) {
        // Of an agent that isn't registered, that is the finding.
        let Some(known) = known else { return };
        let Some(tool) = known.tools.find(key) else {
            let names: Vec<&str> = known.tools.iter().take(10).map(|tool| shown(&tool.id)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!(
                "the tool {:?} is not declared in the agent's description; declared tools: {names}",
                shown(key)
            );
            return self.find(Rule::ToolDeclared, [message]);
        };
        if self.modes.of(Rule::ToolArguments) != Mode::Off {
            let wrong = tool.arguments.check(given);
            let name = shown(&tool.id);
            self.find(Rule::ToolArguments, wrong.into_iter().map(|wrong| format!("the tool {name:?}: {wrong}")));
        }
    }

    fn mcp(&mut self, known: Option<&Description>, session: Option<(&Session, &str)>, message: &Map<String, Value>) {
        let faults = mcp_faults(message);
        if !faults.is_empty() {
            return self.find(Rule::McpMessage, faults);
        }
        let params = message.get("params");
        let param = |name: &str| params.and_then(|params| params.get(name));
        match message.get("method").and_then(Value::as_str) {
            Some("tools/call") => {
                let name = param("name").and_then(Value::as_str).unwrap_or_default();
                let none = Map::new();
                let arguments = param("arguments").and_then(Value::as_object).unwrap_or(&none);
                self.tool_call(known, name, given_members(arguments));
            }
            Some("resources/read") => {
                let uri = param("uri").and_then(Value::as_str).unwrap_or_default();
                if known.is_some_and(|known| !known.resources.contains(uri)) {
                    self.find(
                        Rule::ResourceDeclared,
                        [format!("the resource {:?} is not declared in the agent's description", shown(uri))],
                    );
                }
            }
            Some(_) => {}
            None => {
                let info = message.get("result").and_then(|result| result.get("serverInfo"));
                let text = |name: &str| info.and_then(|info| info.get(name)?.as_str());
                if let (Some(known), Some(name)) = (known, text("name")) {
                    let fault = mcp_server_fault(known, name, text("version").unwrap_or_default());
                    self.find(Rule::McpServerDeclared, fault);
                }
                let id = message.get("id").unwrap_or(&Value::Null);
                if session.is_some_and(|(session, turn)| !session.has_requested(turn, id)) {
                    let message = format!("this turn contains no MCP request with the id {}", shown(&id.to_string()));
                    self.find(Rule::ToolResult, [message]);
                }
            }
        }
    }

    fn own_rules(
        &mut self,
        step: &Step<'_>,
        description: Option<&Description>,
        session: Option<&Session>,
        policy: &Policy,
        who: &Who<'_>,
    ) {
        let mut rules = policy.own_rules.iter().filter(|rule| rule.concerns(step.method, who)).peekable();
        if rules.peek().is_none() {
            return;
        }
        let facts = OwnFacts::new(step, description, session, EXPRESSION_BUDGET);
        for compiled in rules {
            let rule = &compiled.rule;
            let Some(message) = compiled.find(&facts) else { continue };
            self.findings.push(Finding { rule: rule.name.clone().into(), mode: rule.mode, message });
            if rule.mode == Mode::Enforce && rule.then == Consequence::FailResponse {
                self.failing.push(rule.name.clone());
            }
        }
    }

    /// The step without what must not be shown, and with a failure for a response that must not succeed; none where
    /// it stays as it is.
    fn edit(&mut self, edit: &dyn Fn(Edit) -> Option<Edited>) -> Option<Value> {
        let is_on = |rule| self.modes.of(rule) != Mode::Off;
        let wanted = Edit {
            secrets: is_on(Rule::MaskSecrets),
            personal_data: is_on(Rule::MaskPersonalData),
            fail_response: !self.failing.is_empty(),
        };
        if wanted == Edit::NOTHING {
            return None;
        }
        let edited = edit(wanted)?;
        let found = |place: &String, what: &str| format!("{place}: {what}");
        self.find(Rule::MaskSecrets, edited.secrets.iter().map(|place| found(place, "it contains a secret")));
        let places = edited.personal_data.iter();
        self.find(Rule::MaskPersonalData, places.map(|place| found(place, "it contains personal data")));
        if !edited.has_failed_response {
            // A step without a response can only be denied.
            self.failing.clear();
        }
        let is_enforced = |rule| self.modes.of(rule) == Mode::Enforce;
        let enforced = Edit {
            secrets: is_enforced(Rule::MaskSecrets) && !edited.secrets.is_empty(),
            personal_data: is_enforced(Rule::MaskPersonalData) && !edited.personal_data.is_empty(),
            fail_response: edited.has_failed_response,
        };
        match enforced {
            Edit::NOTHING => None,
            // What is only warned of stays.
            enforced if enforced != wanted => edit(enforced).map(|edited| edited.step),
            _ => Some(edited.step),
        }
    }

    fn verdict(mut self, modified: Option<Value>) -> Verdict {
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.mode));
        if modified.is_none() {
            self.failing.clear();
        }
        let modifies = |finding: &Finding| {
            [Rule::MaskSecrets, Rule::MaskPersonalData].iter().any(|rule| rule.name() == finding.rule)
                || self.failing.iter().any(|name| *name == finding.rule)
        };
        let is_denied = self.findings.iter().any(|finding| finding.mode == Mode::Enforce && !modifies(finding));
        let decision = match &modified {
            _ if is_denied => Decision::Deny,
            Some(_) => Decision::Modify,
            None => Decision::Allow,
        };
        let modified = modified.filter(|_| decision == Decision::Modify);
        Verdict { decision, findings: self.findings, modified }
    }
}

impl Edit {
    /// Nothing is changed.
    const NOTHING: Edit = Edit { secrets: false, personal_data: false, fail_response: false };
}

/// The fault of an MCP server that an agent has; none where it declares it in this version.
fn mcp_server_fault(known: &Description, name: &str, version: &str) -> Option<String> {
    let server = (name.to_owned(), version.to_owned());
    if known.mcp_servers.contains(&server) {
        return None;
    }
    let versions = (server.0, String::new());
    Some(match known.mcp_servers.range(versions..).next() {
        Some((declared, _)) if declared == name => {
            format!("the MCP server {:?} is declared, but with a version other than {:?}", shown(name), shown(version))
        }
        _ => format!("the MCP server {:?} is not declared in the agent's description", shown(name)),
    })
}

/// Returns the faults in the form of an MCP message; none if it is well formed.
fn mcp_faults(message: &Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        faults.push("/jsonrpc: write \"2.0\"".to_owned());
    }
    let is_id = |id: &Value| id.is_string() || id.is_number();
    if message.get("id").is_some_and(|id| !is_id(id)) {
        faults.push("/id: an id must be a string or an integer".to_owned());
    }
    let params = message.get("params");
    match (message.get("method"), message.get("result"), message.get("error")) {
        (Some(Value::String(method)), None, None) => {
            if params.is_some_and(|params| !params.is_object()) {
                faults.push("/params: parameters must be an object".to_owned());
            }
            let has_name = || params.and_then(|params| params.get("name")).is_some_and(Value::is_string);
            if method == "tools/call" && !has_name() {
                faults.push("/params/name: tools/call needs the name of a tool".to_owned());
            }
            let arguments = params.and_then(|params| params.get("arguments"));
            if method == "tools/call" && arguments.is_some_and(|arguments| !arguments.is_object()) {
                faults.push("/params/arguments: arguments must be an object".to_owned());
            }
        }
        (None, Some(_), None) | (None, None, Some(_)) if message.contains_key("id") => {}
        _ => {
            faults.push("expected /method for a request, or /id and either /result or /error for a response".to_owned())
        }
    }
    faults
}
