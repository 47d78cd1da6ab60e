//! An agent, ready to be called.

use std::sync::Arc;

use futures_util::StreamExt;
use reqwest::Url;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    Affordance, Authorization, Binding, Call, Description, Error, Event, Events, Exchange, Limits, Message, Operation,
    Part, Place, Reply, Request, Result, Settings, State,
    answer::{given, invalid, with_answer},
    answer_builder::AnswerBuilder,
    authorize::{Caller, keys_in_url},
    bounded::{bounded, within},
    choose::{Choice, choices, message_action},
    context::Context,
    credential::parts,
    description::strings,
    input,
    middleware::Next,
    request_template::RequestTemplate,
    schema, stand_in, template,
    utterance::Utterance,
};
use crate::{
    sacp::{Answer, Expected, Sacp, read_answer},
    td::internal::origin_variable,
};

/// An agent with its description, and the settings of its calls. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Agent {
    context: Arc<Context>,
    description: Arc<Description>,
    /// The consumer's settings, with those of the agent merged onto them.
    settings: Arc<Settings>,
    /// Capabilities by which a search found the agent.
    capabilities: Vec<String>,
    /// True if the caller named it.
    is_named: bool,
    why: Vec<String>,
    /// Relevance in the search, and true if the directory had low confidence.
    rank: Option<(f32, bool)>,
}

/// Result of a dry run of a message: the agent, action, binding, target, and credentials, with reasons. See
/// [`Agent::explain`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Reasons why the agent was chosen.
    pub agent: Vec<String>,
    /// Affordance to be called and, after a colon, the reason for the choice.
    pub affordance: String,
    /// Name of the binding.
    pub binding: String,
    /// Target of the form, without secrets.
    pub target: String,
    /// Names of the security schemes for which credentials are sent; empty if no credentials are sent.
    pub credentials: Vec<String>,
}

/// A call before its form and binding are chosen: a message, or a request to an affordance.
pub(super) enum Intent {
    Message(Box<Utterance>),
    Request(Request),
}

impl Agent {
    pub(super) fn new(context: Arc<Context>, description: Description) -> Agent {
        Agent {
            settings: context.settings.clone(),
            context,
            description: Arc::new(description),
            capabilities: Vec::new(),
            is_named: true,
            why: vec!["the caller named it".into()],
            rank: None,
        }
    }

    pub(super) fn found(self, capabilities: Vec<String>, why: String) -> Agent {
        Agent { capabilities, is_named: false, why: vec![why], ..self }
    }

    pub(super) fn ranked(self, score: f32, is_doubtful: bool) -> Agent {
        Agent { rank: Some((score, is_doubtful)), ..self }
    }

    pub(super) fn because(mut self, why: impl IntoIterator<Item = String>) -> Agent {
        self.why.extend(why);
        self
    }

    /// Returns the id of the agent.
    pub fn id(&self) -> &str {
        self.description.id()
    }

    /// Returns the title of the agent, or its id if it has no title.
    pub fn title(&self) -> &str {
        self.description.title()
    }

    /// Returns the agent's description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the reasons why the agent was chosen.
    pub fn why(&self) -> &[String] {
        &self.why
    }

    /// Returns the relevance score from the search, or `None` if the agent wasn't found by a search.
    pub fn score(&self) -> Option<f32> {
        self.rank.map(|(score, _)| score)
    }

    /// True if the agent was found by a search and the directory reports low confidence in the match.
    pub fn is_doubtful(&self) -> bool {
        self.rank.is_some_and(|(_, is_doubtful)| is_doubtful)
    }

    /// Returns a copy of the agent with further settings; `self` is unchanged. Credentials in `changes` may be sent
    /// to this agent even if they name no origin.
    pub fn update(&self, changes: Settings) -> Agent {
        Agent { settings: Arc::new(self.settings.update(changes.for_agent())), ..self.clone() }
    }

    /// Queries the status of an action. `task` is the [`Continuation::task`](super::Continuation::task) of the action's
    /// reply.
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn query(&self, action: &str, task: Option<String>) -> Result<Reply> {
        let exchange = self.request(Affordance::Action(action.to_owned()), Request::Query { task }).await?;
        self.collect_any(exchange).await
    }

    /// Cancels an action. `task` is the [`Continuation::task`](super::Continuation::task) of the action's reply.
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn cancel(&self, action: &str, task: Option<String>) -> Result<Reply> {
        let exchange = self.request(Affordance::Action(action.to_owned()), Request::Cancel { task }).await?;
        self.collect_any(exchange).await
    }

    /// Lists the agent's tasks, as an array of `{id, context, state}`. With `context`, lists the tasks of that
    /// conversation only.
    ///
    /// # Errors
    /// Same as [`Agent::ask`], and [`Error::Unsupported`] if the agent's protocol can't list tasks.
    pub async fn tasks(&self, context: Option<String>) -> Result<Value> {
        let (affordance, _) = self.message_action(self.settings())?;
        let reply = self.collect(self.request(affordance, Request::Tasks { context }).await?).await?;
        Ok(reply.message.data().cloned().unwrap_or_else(|| Value::Array(Vec::new())))
    }

    /// Receives the events of a running task again, for example after a connection broke. Earlier events are not
    /// repeated.
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn resume(&self, task: &str) -> Result<Exchange> {
        let (affordance, _) = self.message_action(self.settings())?;
        self.request(affordance, Request::Resume { task: task.to_owned() }).await
    }

    /// Reads the value of a property. Use [`Agent::read_reply`] for binary content.
    ///
    /// # Errors
    /// Same as [`Agent::call`], and [`Error::NoForm`] if the property is `writeOnly`.
    pub async fn read(&self, property: &str) -> Result<Value> {
        let reply = self.read_reply(property).await?;
        let text = || Value::String(reply.message.text());
        Ok(reply.message.data().cloned().unwrap_or_else(|| if reply.message.is_empty() { Value::Null } else { text() }))
    }

    /// Reads a property and returns its value as sent by the agent: data, text, or binary content.
    ///
    /// # Errors
    /// Same as [`Agent::read`].
    pub async fn read_reply(&self, property: &str) -> Result<Reply> {
        let affordance = Affordance::Property(property.to_owned());
        self.refuse_if(&affordance, "writeOnly")?;
        let reply = self.collect(self.request(affordance.clone(), Request::Read).await?).await?;
        let has_content = reply.message.parts.iter().any(|part| part.media().is_some());
        let Some(schema) = self.description.find(&affordance).filter(|_| !has_content && !reply.state.needs_input())
        else {
            return Ok(reply);
        };
        let expected = Expected::of_action(&json!({"output": schema}), Sacp::Off)
            .map_err(|error| schema::unusable(self.id(), &error.reason))?;
        let answer = read_answer(&given(&reply.message), &expected);
        match invalid(affordance.to_string(), &answer) {
            Some(error) => Err(error),
            None => Ok(with_answer(reply, &answer)),
        }
    }

    /// Writes a property, after checking the value against the property's schema.
    ///
    /// # Errors
    /// Same as [`Agent::call`], and [`Error::NoForm`] if the property is `readOnly`.
    pub async fn write(&self, property: &str, value: impl Into<Value>) -> Result<()> {
        let (affordance, value) = (Affordance::Property(property.to_owned()), value.into());
        self.refuse_if(&affordance, "readOnly")?;
        if let Some(schema) = self.description.find(&affordance) {
            let violations = schema::check_data(schema, &value, self.id())?;
            if !violations.is_empty() {
                return Err(Error::InvalidInput { affordance: affordance.to_string(), violations });
            }
        }
        self.collect(self.request(affordance, Request::Write(value)).await?).await.map(drop)
    }

    /// Fails if the flag is set in the description of a property, which forbids the operation.
    fn refuse_if(&self, affordance: &Affordance, flag: &str) -> Result<()> {
        match self.description.find(affordance).and_then(|property| property.get(flag)) {
            Some(Value::Bool(true)) => {
                Err(Error::NoForm { id: self.id().into(), reason: format!("{affordance} is `{flag}`") })
            }
            _ => Ok(()),
        }
    }

    /// Subscribes to an event and returns its notifications. Dropping the stream ends the subscription.
    ///
    /// # Errors
    /// Same as [`Agent::call`].
    pub async fn subscribe(&self, event: &str, input: impl Into<Option<Value>>) -> Result<Events> {
        let affordance = Affordance::Event(event.to_owned());
        Ok(self.request(affordance, Request::Subscribe { input: input.into() }).await?.events)
    }

    /// Observes a property and returns its changes. Dropping the stream ends the observation.
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn observe(&self, property: &str) -> Result<Events> {
        let affordance = Affordance::Property(property.to_owned());
        Ok(self.request(affordance, Request::Subscribe { input: None }).await?.events)
    }

    /// Explains which action, binding, target, and credentials a message would use, and why. No message is sent, but
    /// credentials are resolved, so an OAuth 2.0 token may be fetched.
    ///
    /// # Errors
    /// Same as [`Agent::ask`], for failures before a message is sent.
    pub async fn explain(&self) -> Result<Explanation> {
        let settings = self.settings();
        let (affordance, why) = self.message_action(settings)?;
        let choices = self.choices(&affordance, Operation::InvokeAction, settings)?;
        let mut first_error = None;
        for choice in choices {
            let given_headers = given_headers(&choice.form, &Map::new(), settings);
            let caller = Caller { given_headers: &given_headers, ..self.caller(settings) };
            match self.context.authorizer.authorize(&self.description, &choice.form, &caller).await {
                Ok(granted) => {
                    return Ok(Explanation {
                        agent: self.why.clone(),
                        affordance: format!("{affordance}: {why}"),
                        binding: choice.binding.name().into(),
                        target: crate::fetch::shown(&choice.form.href),
                        credentials: granted.into_iter().map(|granted| granted.scheme).collect(),
                    });
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| Error::NoForm { id: self.id().into(), reason: "it has no form".into() }))
    }

    /// Checks whether a message could be sent, according to the description, without sending it: the agent must have an
    /// action for messages, a usable form, and an input with room for the message's content.
    ///
    /// # Errors
    /// [`Error::NoForm`], [`Error::Setting`], [`Error::InvalidInput`], [`Error::Unconfirmed`].
    pub fn check_message(&self, message: impl Into<Message>) -> Result<()> {
        let settings = self.settings();
        let (affordance, _) = self.message_action(settings)?;
        self.check_confirmed(&affordance, settings)?;
        let said = Utterance { message: message.into(), ..Utterance::default() };
        let mut first_error = None;
        for choice in self.choices(&affordance, Operation::InvokeAction, settings)? {
            match said.request(&self.description, &choice, settings.variables.clone()) {
                Ok(_) => return Ok(()),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    fn check_confirmed(&self, affordance: &Affordance, settings: &Settings) -> Result<()> {
        match settings.confirmed != Some(true) && self.description.requires_confirmation(affordance) {
            true => Err(Error::Unconfirmed { id: self.id().into(), affordance: affordance.to_string() }),
            false => Ok(()),
        }
    }

    /// Checks that a message can be sent, as far as the description tells.
    pub(super) fn check(&self) -> Result<()> {
        let settings = self.settings();
        let (affordance, _) = self.message_action(settings)?;
        self.choices(&affordance, Operation::InvokeAction, settings).map(drop)
    }

    /// True if the target of a message accepts a connection.
    pub(super) async fn is_reachable(&self) -> bool {
        let settings = self.settings();
        let target = self
            .message_action(settings)
            .and_then(|(affordance, _)| self.choices(&affordance, Operation::InvokeAction, settings));
        let href = target.ok().and_then(|choices| Some(choices.first()?.form.href.clone()));
        let Some(url) = href.and_then(|href| Url::parse(&href).ok()) else { return false };
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
        let Ok(addresses) = self.context.network.addresses(host, port).await else { return false };
        tokio::net::TcpStream::connect(addresses.as_slice()).await.is_ok()
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Settings of the consumer and of the agent, merged.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn message_action(&self, settings: &Settings) -> Result<(Affordance, String)> {
        message_action(&self.description, settings, &self.capabilities, &self.context.bindings)
    }

    pub(super) fn choices(
        &self,
        affordance: &Affordance,
        operation: Operation,
        settings: &Settings,
    ) -> Result<Vec<Choice>> {
        choices(&self.description, affordance, operation, settings, &self.context.bindings)
    }

    fn caller<'a>(&'a self, settings: &'a Settings) -> Caller<'a> {
        let (network, variables) = (&self.context.network, &settings.variables);
        let found = (!self.is_named).then(|| self.why.first().map_or("it was found", String::as_str));
        Caller { settings, network, variables, found, given_headers: &[], stand_in: None }
    }

    pub(super) async fn request(&self, affordance: Affordance, request: Request) -> Result<Exchange> {
        Ok(self.perform(&affordance, Intent::Request(request)).await?.0)
    }

    /// Chooses form and binding, checks the request, resolves credentials, and sends it. Returns the exchange and the
    /// choice.
    pub(super) async fn perform(&self, affordance: &Affordance, intent: Intent) -> Result<(Exchange, Choice)> {
        let settings = self.settings();
        let operation = match (&intent, affordance) {
            (Intent::Request(Request::Subscribe { .. }), Affordance::Property(_)) => Operation::ObserveProperty,
            (Intent::Request(request), _) => request.operation(),
            (Intent::Message(_), _) => Operation::InvokeAction,
        };
        if operation == Operation::InvokeAction {
            self.check_confirmed(affordance, settings)?;
        }
        let mut first_error = None;
        for choice in self.choices(affordance, operation, settings)? {
            let settings = &settings.limited_by(&choice.form.members);
            // Another form may need less, or lead to a server that is up.
            match self.call_of(&intent, &choice, settings).await {
                Ok(call) => match self.send(call, &choice, settings).await {
                    Err(error) if error.is_without_connection() => first_error = first_error.or(Some(error)),
                    sent => return Ok((sent?, choice)),
                },
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| Error::NoForm { id: self.id().into(), reason: "it has no form".into() }))
    }

    async fn call_of(&self, intent: &Intent, choice: &Choice, settings: &Settings) -> Result<Call> {
        let (description, form) = (&self.description, &choice.form);
        let variables = settings.variables.clone();
        let (request, variables) = match intent {
            Intent::Message(said) => said.request(description, choice, variables)?,
            // A text over a protocol of messages isn't what the input describes.
            Intent::Request(request @ Request::Invoke { input: Some(Value::String(_)), .. })
                if choice.fit.takes_messages =>
            {
                (request.clone(), input::of_variables(description, &form.affordance, variables)?)
            }
            Intent::Request(Request::Invoke { input, parts, continuation, stream }) => {
                let checked = input::of_data(description, form, input.clone(), variables)?;
                let (parts, continuation) = (parts.clone(), continuation.clone());
                (Request::Invoke { input: checked.data, parts, continuation, stream: *stream }, checked.variables)
            }
            Intent::Request(Request::Subscribe { input }) => {
                let checked = input::of_data(description, form, input.clone(), variables)?;
                (Request::Subscribe { input: checked.data }, checked.variables)
            }
            Intent::Request(request) => {
                (request.clone(), input::of_variables(description, &form.affordance, variables)?)
            }
        };
        // A default takes no credential's place.
        let none = Map::new();
        let given = given_members(intent).unwrap_or(&none);
        let given_headers = given_headers(form, given, settings);
        let mut form = form.clone();
        let authorization = self.resolve_target(&mut form, &variables, settings, &given_headers).await?;
        let is_subscription = matches!(request, Request::Subscribe { .. });
        let limits = Limits {
            deadline: (!is_subscription).then(|| Instant::now() + settings.whole_timeout()),
            idle: (!is_subscription).then(|| settings.pause_timeout()),
            max_bytes: settings.answer_bytes(),
        };
        Ok(Call {
            description: description.clone(),
            form,
            request,
            variables,
            authorization,
            headers: settings.headers.clone().into_iter().collect(),
            trace: settings.trace.as_ref().map(super::Trace::child),
            limits,
            network: self.context.network.clone(),
        })
    }

    /// Fills in the URI template of a form and resolves the credentials for its target.
    async fn resolve_target(
        &self,
        form: &mut super::Form,
        variables: &Map<String, Value>,
        settings: &Settings,
        given_headers: &[String],
    ) -> Result<Vec<Authorization>> {
        stand_in::check(form)?;
        if RequestTemplate::of(form).is_some()
            && let Some(name) = origin_variable(&form.href)
        {
            let reason = format!(
                "the input {name:?} would select the server; write the host into the URL of the tool, and register \
                 the tool again (Rust programs can use `Settings::endpoint`)"
            );
            return Err(Error::Refused { url: form.href.clone(), reason });
        }
        let expand = |variables: &Map<String, Value>| -> Result<String> {
            let expanded = template::expand(&form.href, variables).map_err(|name| Error::Setting {
                setting: format!("variables.{name}"),
                reason: format!("a value is required, because the URL of {} contains this variable", form.affordance),
            })?;
            if template::has_dot_segments(&expanded) && !template::has_dot_segments(&form.href) {
                let reason = "a variable would turn a path segment into \".\" or \"..\", and so select another path";
                return Err(Error::Refused { url: form.href.clone(), reason: reason.to_owned() });
            }
            // A variable at the start may be a whole URL.
            let url = self.description.resolve(&expanded).unwrap_or(expanded);
            RequestTemplate::of(form).map_or(Ok(()), |template| template.check_url(&url))?;
            Ok(url)
        };
        // A key that is a part of the URL is known once the target is.
        let mut assumed = variables.clone();
        let keys = keys_in_url(&self.description, form);
        assumed.extend(keys.iter().map(|name| (name.clone(), "key".into())));
        let mut target = form.clone();
        target.href = expand(&assumed)?;
        let caller = Caller { variables, given_headers, ..self.caller(settings) };
        let granted = self.context.authorizer.authorize(&self.description, &target, &caller).await?;
        let mut filled = variables.clone();
        for Authorization { scheme, grant } in &granted {
            let (key, Place::Uri(name)) = parts(grant) else { continue };
            if !template::has_variable(&form.href, name) {
                let reason = format!(
                    "this credential belongs in the URL variable {name:?}, but the URL of {} has no such variable",
                    form.affordance
                );
                return Err(Error::Setting { setting: format!("credentials.{scheme}"), reason });
            }
            filled.insert(name.clone(), key.into());
        }
        form.href = if keys.is_empty() { target.href } else { expand(&filled)? };
        Ok(granted)
    }

    async fn send(&self, call: Call, choice: &Choice, settings: &Settings) -> Result<Exchange> {
        let (limits, whole) = (call.limits, settings.whole_timeout());
        let id = self.id();
        let binding = &*choice.binding;
        let send = move |call: Call| -> super::Pending<'_, Exchange> {
            Box::pin(async move {
                let limits = call.limits;
                within(id, &limits, whole, "the answer", self.start(call, binding, settings)).await
            })
        };
        let middleware = &self.context.middleware;
        let exchange = Next::new(middleware, &send).run(call).await?;
        Ok(bounded(exchange, self.id().to_owned(), limits, whole))
    }

    async fn start(&self, call: Call, binding: &dyn Binding, settings: &Settings) -> Result<Exchange> {
        let mut sent = call.authorization.clone();
        let started = async {
            let call = self.with_found_description(call, binding, settings).await?;
            sent.clone_from(&call.authorization);
            binding.start(call).await
        };
        started.await.inspect_err(|error| {
            if matches!(error, Error::Status { status: 401, .. }) {
                self.context.authorizer.forget(&sent);
            }
        })
    }

    /// Completes a call whose form refers to another description. Credentials required by that description are sent
    /// in addition to those requested by the agent's own description by name; if the latter leaves the scheme open
    /// (`auto`), the other description decides.
    async fn with_found_description(&self, mut call: Call, binding: &dyn Binding, settings: &Settings) -> Result<Call> {
        let (open, own): (Vec<_>, Vec<_>) =
            std::mem::take(&mut call.authorization).into_iter().partition(|one| call.description.is_auto(&one.scheme));
        call.authorization = own;
        let Some((description, mut form)) = binding.find_description(&call).await? else {
            call.authorization.extend(open);
            return Ok(call);
        };
        let given_headers: Vec<String> = call.authorization.iter().filter_map(header_name).collect();
        let caller = Caller {
            variables: &call.variables,
            given_headers: &given_headers,
            stand_in: call.description.security(&call.form).into_iter().find(|name| call.description.is_auto(name)),
            ..self.caller(settings)
        };
        let required = self.context.authorizer.authorize(&description, &form, &caller).await?;
        call.authorization.extend(if required.is_empty() { open } else { required });
        form.members.extend(call.form.members.remove_entry("htv:headers"));
        form.affordance = call.form.affordance;
        Ok(Call { description: Arc::new(description), form, ..call })
    }

    /// Reads the answer to an action, by its declared output. `choice`: the form and binding that were used, if any was.
    pub(super) fn answer(
        &self,
        affordance: &Affordance,
        choice: Option<&Choice>,
        reply: &Reply,
        sacp: Sacp,
    ) -> Result<Answer> {
        Ok(read_answer(&given(&reply.message), &self.expected(affordance, choice, reply, sacp)?))
    }

    fn expected(
        &self,
        affordance: &Affordance,
        choice: Option<&Choice>,
        reply: &Reply,
        sacp: Sacp,
    ) -> Result<Expected> {
        let is_of_messages = choice.is_some_and(|choice| choice.fit.takes_messages);
        let has_content =
            reply.message.parts.iter().any(|part| part.media().is_some() || matches!(part, Part::Artifact(_)));
        let is_checked = reply.state == State::Completed && !is_of_messages && !has_content;
        let Some(action) = self.description.find(affordance).filter(|_| is_checked) else {
            return self.expected_of_messages(affordance, reply, sacp);
        };
        let expected = Expected::of_action(action, sacp).map_err(|error| schema::unusable(self.id(), &error.reason))?;
        // A tool of Open Agent Spec or MCP with one output may answer with its value.
        let is_tool = choice.is_some_and(|choice| choice.form.subprotocol() == Some("mcp"));
        let mut types = self.description.value().get("@type").into_iter().flat_map(strings);
        let has_single_output = is_tool || types.any(|name| name.starts_with("agentspec:"));
        Ok(if has_single_output { expected.or_single_output() } else { expected })
    }

    /// Determines whether answers to messages may or must be SACP responses.
    pub(super) fn sacp_of_messages(&self, affordance: &Affordance, sacp: Sacp) -> Sacp {
        match self.expected_of_messages(affordance, &Reply::default(), sacp) {
            Ok(expected) => expected.sacp(),
            Err(_) => sacp,
        }
    }

    fn expected_of_messages(&self, affordance: &Affordance, reply: &Reply, sacp: Sacp) -> Result<Expected> {
        match self.description.find(affordance) {
            // A question of the protocol, and the reason of a failure, is prose, whatever the agent declares.
            Some(action) if !reply.state.needs_input() && !reply.state.is_failure() => {
                Expected::of_messages(action, sacp).map_err(|error| schema::unusable(self.id(), &error.reason))
            }
            _ => Ok(Expected::any(sacp)),
        }
    }

    /// Reads an exchange outside of a turn to its end. Unsuccessful ends are errors.
    async fn collect(&self, exchange: Exchange) -> Result<Reply> {
        self.collect_any(exchange).await?.into_result()
    }

    /// Reads an exchange outside of a turn to its end, successful or not.
    async fn collect_any(&self, mut exchange: Exchange) -> Result<Reply> {
        let mut builder = self.answer_builder();
        while let Some(event) = exchange.events.next().await {
            match event? {
                Event::Done(reply) | Event::InputRequired(reply) => return Ok(builder.complete(reply)),
                event => builder.push(&event)?,
            }
        }
        // A binding that ends without a last event has said all that there is.
        Ok(Reply::message(builder.into_message()))
    }

    /// An answer of this agent, still without content, within the limit of its settings.
    pub(super) fn answer_builder(&self) -> AnswerBuilder {
        AnswerBuilder::new(self.id(), self.settings().answer_bytes())
    }
}

/// Returns the names of the form's headers whose values are supplied by the caller, as data or as variables.
fn given_headers(form: &super::Form, data: &Map<String, Value>, settings: &Settings) -> Vec<String> {
    RequestTemplate::of(form).map(|template| template.given_headers(data, &settings.variables)).unwrap_or_default()
}

/// Returns the name of the header for a credential, if it is sent in a header.
fn header_name(authorization: &Authorization) -> Option<String> {
    match parts(&authorization.grant).1 {
        Place::Header(name) => Some(name.clone()),
        _ => None,
    }
}

/// Returns the members of the caller's data.
fn given_members(intent: &Intent) -> Option<&Map<String, Value>> {
    let data = match intent {
        Intent::Message(said) => said.message.data(),
        Intent::Request(Request::Invoke { input, .. }) => input.as_ref(),
        Intent::Request(..) => None,
    };
    data.and_then(Value::as_object)
}
