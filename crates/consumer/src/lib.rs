//! Finds agents and calls them, over any protocol.
//!
//! A [`Consumer`] searches a directory for an agent, either an embedded registry (with the feature `consumer` of
//! `agentdex`) or a remote registry ([`RegistryClient`](crate::client::RegistryClient)). It then chooses a form of
//! the agent's description that a binding supports, checks the input against the schema, resolves credentials, and
//! calls the agent.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use agentdex_client::RegistryClient;
//! use agentdex_consumer::Consumer;
//!
//! let consumer = Consumer::new(RegistryClient::new("http://127.0.0.1:8080")?)?;
//! let agent = consumer.find("weather forecast").await?;
//! let conversation = agent.ask("Will it rain in Bonn?").await?;
//! println!("{}", conversation.message());
//! let next = conversation.ask("And in Cologne?").await?;
//! println!("{}", next.message());
//! # Ok(())
//! # }
//! ```
//!
//! # Contents of a message
//! Messages can contain text, structured data, images, audio, documents, and videos, either by URL or as bytes, and
//! service messages (a system prompt, the result of a tool). A message can have several parts:
//!
//! ```no_run
//! # async fn example(agent: agentdex_consumer::Agent) -> Result<(), Box<dyn std::error::Error>> {
//! use agentdex_consumer::{Media, Part};
//!
//! let logo = Part::Image(Media::url("https://example.com/logo.png"));
//! let answer = agent.ask(("What company is this logo from?", logo)).await?;
//! for part in &answer.message().parts {
//!     match part {
//!         Part::Text { text } => println!("{text}"),
//!         Part::Data { data } => println!("{data}"),
//!         other => println!("{other:?}"),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Agents that accept whole messages (A2A) receive the message as it is. For other agents, the input of an action is
//! built from the message: data becomes the input, and text is assigned to a member with a suitable name, or to the
//! only free-text member. Everything is checked against the schema of the description before it is sent.
//!
//! # Concepts of AG2
//! | AG2's redesign | this crate |
//! |---|---|
//! | Configuration: one way for all providers | [`Settings`]: the same for every agent and protocol |
//! | Options override, `model.update()` | [`Settings::update`], [`Agent::update`] return new values; nothing is changed in place |
//! | Environment variables | `AGENTDEX_CREDENTIAL_<SCHEME>`, [`CREDENTIAL_VARIABLE`]; the error names the missing variable |
//! | Composition, fallback | [`FirstThatAnswers`]; [`Router`] picks the best agent with a capability and gives the reasons |
//! | Delayed configuration, per-call override | [`Agent::update`], [`Agent::ask_with`]; settings are validated when a call needs them |
//! | `model \| other` | `settings \| other` |
//! | `agent.ask()`, several messages in a turn | [`Agent::ask`] with anything that is [`Into`] a [`Message`] |
//! | Message types, response parts | [`Part`] |
//! | History, multi-turn | [`Conversation::history`], [`Conversation::ask`] |
//! | Response schema | [`Agent::ask_as`] |
//! | `cost` | [`Conversation::cost`] |
//! | `agent.process()` | [`Agent::process`]: until the agent is done or needs input |
//! | Streaming, `InputRequired` | [`Agent::stream`], [`Event`] |
//! | Both directions, `writer()` | [`Dialogue::writer`]; `examples/chat_server.rs` uses it over HTTP |
//! | `pause`, `continue`, `break` | [`Writer::pause`], [`Writer::resume`], [`Writer::cancel`] |
//! | History manipulation | [`Conversation::with_history`], [`Conversation::summarized_by`] |
//! | `restore_conversation` | [`Conversation::to_json`], [`Agent::restore_conversation`] |
//! | Guardrails as middleware | [`Middleware`]; [`ReportSteps`] asks a guardian before each call and about each answer |
//! | Tools, prompts, and models of the caller | not supported: this crate calls agents and runs no models |
//!
//! ```no_run
//! # async fn example(consumer: agentdex_consumer::Consumer) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use agentdex_consumer::{Credential, Event, FirstThatAnswers, Router, Settings};
//!
//! // Configuration: immutable, merged, overridden for an agent and for a call.
//! let shared = Settings::new().timeout(Duration::from_secs(30));
//! let own = shared.clone() | Settings::new().credential("key", Credential::new("…").for_origin("https://a.example"));
//! let agent = consumer.find("weather forecast").await?.update(own);
//! let answer = agent.ask_with("Will it rain?", Settings::new().timeout(Duration::from_secs(300))).await?;
//!
//! // History: read, summarized by another agent, stored, restored.
//! let mut conversation = answer.ask("And tomorrow?").await?;
//! if conversation.history().len() > 10 {
//!     let summarizer = consumer.find("summaries").await?;
//!     conversation = conversation.summarized_by(&summarizer).await?;
//! }
//! let stored = conversation.to_json();
//! let restored = agent.restore_conversation(&stored)?;
//! let last_turns = restored.history()[restored.history().len().saturating_sub(4)..].to_vec();
//! let restored = restored.with_history(last_turns);
//! println!("{} calls, {:?}", restored.cost().calls, restored.cost().elapsed);
//!
//! // Credentials of the environment: for the security scheme `api_key`, and for no other origin.
//! let named = agent.update(Settings::new().environment([
//!     ("AGENTDEX_CREDENTIAL_API_KEY", "…"),
//!     ("AGENTDEX_CREDENTIAL_API_KEY_ORIGIN", "https://a.example"),
//! ]));
//! println!("{:?}", named.explain().await?.credentials);
//!
//! // Until the agent is done, or needs input.
//! let mut conversation = restored.process("Plan my week").await?;
//! while conversation.state().needs_input() {
//!     println!("{}", conversation.message());
//!     conversation = conversation.process("Yes.").await?;
//! }
//!
//! // In both directions.
//! let mut stream = agent.stream();
//! let writer = stream.writer();
//! tokio::spawn(async move {
//!     writer.send("Tell me everything").await?;
//!     writer.pause().await?;
//!     writer.resume().await?;
//!     writer.cancel().await
//! });
//! while let Some(event) = stream.next().await {
//!     if let Event::Thinking(text) = event? {
//!         println!("thinking: {text}");
//!     }
//! }
//!
//! // Several agents.
//! let agents = consumer.find_all("weather forecast").await?;
//! let first = FirstThatAnswers::of(agents).or_found_by("weather").ask("Will it rain?").await?;
//! let best = Router::by_capability("translate").choose(&consumer).await?;
//! println!("{} {:?}", first.message(), best.why());
//! # Ok(())
//! # }
//! ```
//!
//! A guardrail is a middleware that denies a call, modifies it, or modifies the answer.
//!
//! ```
//! use agentdex_consumer::{Call, Error, Exchange, Middleware, Next, Pending};
//!
//! /// Calls no agent outside of the company.
//! #[derive(Debug)]
//! struct InternalOnly;
//!
//! impl Middleware for InternalOnly {
//!     fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
//!         Box::pin(async move {
//!             if call.form.href.contains(".internal/") {
//!                 return next.run(call).await;
//!             }
//!             Err(Error::Denied { by: "InternalOnly".into(), reason: "the agent is outside of the company".into() })
//!         })
//!     }
//! }
//! ```
//!
//! # Patterns and bindings
//! The communication patterns of LMOS, with the tests that cover them (in `tests/consumer`; for the last three
//! columns, in `tests/bindings`):
//!
//! | pattern | A2A 0.3 and 1.0 | plain HTTP | MCP | WebSocket with `lmosprotocol` | MQTT 5 |
//! |---|---|---|---|---|---|
//! | request and reply | `a2a::question_is_answered_and_the_conversation_goes_on` | `things::thing_of_node_wot_is_called_read_written_and_subscribed_to`, `http::tools_of_agent_spec_are_called_by_their_forms` | `mcp::tools_are_called_over_http`, `mcp::tools_are_called_over_server_sent_events`, `mcp::tools_are_called_in_a_program_that_the_caller_allows` | `websocket::an_action_is_invoked_and_its_statuses_are_read`, `websocket::properties_are_read_written_and_observed` | `mqtt::an_action_is_invoked_by_its_topic` |
//! | one request, several responses | `a2a::answer_comes_in_pieces` | `http::one_request_has_several_responses`, `http::action_under_way_is_asked_about_until_it_is_done` | progress before the result, in the same tests; questions: `mcp_questions::questions_are_answered_over_http` | `websocket::one_request_has_several_responses` | `mqtt::one_request_has_several_responses_and_bytes_are_sent` |
//! | notifications | status updates of a task: `a2a::answer_comes_in_pieces` | `http::subscription_by_server_sent_events_goes_on_after_the_last_event` | none but progress: tools have no topics | `websocket::events_are_received_until_the_subscription_ends` | `mqtt::events_and_properties_are_topics` |
//! | publish and subscribe | `a2a::events_of_a_task_go_on_after_a_break`; A2A has no topics beside tasks | `things::thing_of_node_wot_is_called_read_written_and_subscribed_to` (long polls) | none: tools have no topics | `websocket::events_are_received_until_the_subscription_ends` | `mqtt::events_and_properties_are_topics` |
//! | streams of requests and responses | further messages during a task; bytes come as parts of messages | responses: `http::binary_answer_comes_in_frames`; HTTP/1.1 sends a request whole | none: a tool takes one input and gives one result | `websocket::sound_is_streamed_in_both_directions`, `websocket::further_input_belongs_to_the_same_action` | responses; bytes of a request are one message: `mqtt::one_request_has_several_responses_and_bytes_are_sent` |
//!
//! # Running several agents
//! A [`Chain`](crate::sacp::Chain) defines the agents to call, their inputs, and the transitions that follow from
//! their answers. [`Consumer::run`] runs a chain and [`Run`] reports its progress. A Flow of Agent Spec is converted
//! to a chain by `Configuration::to_chain` of `agentdex_convert::agent_spec`. Tests in `tests/consumer`:
//!
//! | | test |
//! |---|---|
//! | agents of several protocols, conditions, mappings | `chains::agents_of_several_protocols_are_a_chain` |
//! | questions, answered by another process | `chains::a_question_is_answered_by_another_process` |
//! | resumed after a crash | `chains::a_run_goes_on_after_a_crash_where_it_was` |
//! | bounds, error edges | `chains::failures_and_bounds_end_a_run_or_take_its_error_edge` |
//! | cancelling | `chains::cancelling_a_run_cancels_the_tasks_of_its_agents` |
//! | Flows of the SDK | `flows::flows_of_the_sdk_run_over_http_tools`, `flows::a_flow_asks_its_user_and_an_agent` |
//! | Flows of composed searches | `flows::flows_of_composed_searches_run` |
//!
//! # Failures
//! [`Error`] has a variant for each kind of failure, and tells whether another attempt may help. A call takes no
//! longer than [`Settings::timeout`], with pauses no longer than [`Settings::idle_timeout`]; neither applies to
//! subscriptions. Descriptions are not trusted: their URLs are subject to the rules of the guarded fetcher
//! ([`fetch::AllowList`]), redirects must stay within their origin, answers are limited to [`Settings::max_bytes`],
//! and a [`Credential`] is sent only to its allowed origins.
//!
//! # Adding a binding
//! A binding is a file or folder with a type that implements [`Binding`] (in `binding.rs`): `fit` rates the binding
//! for a form, and `start` performs a [`Call`]. A line in `bindings.rs` adds it to the built-in bindings. Two further
//! methods are optional. A binding whose forms may refer to another description, such as the agent's card, implements
//! `find_description`. A binding that keeps connections open between calls implements `close`.
//!
//! A binding receives a complete call: [`Call::form`] (with its target resolved), [`Call::request`] (checked),
//! [`Call::variables`], [`Call::authorization`], [`Call::limits`], [`Call::trace`], and [`Call::network`]. Every
//! connection is opened through the network: [`Network::http`] returns a client for a URL, and [`Network::addresses`]
//! returns the checked addresses of a host for protocols with their own connections.
//!
//! A binding returns an [`Exchange`]: a stream of [`Event`]s ending with [`Event::Done`] or [`Event::InputRequired`].
//! If the protocol supports it, the exchange has a [`Control`] to send, cancel, pause, and resume. The caller
//! enforces the time limits, and drops the events to abort a call.

use agentdex_client as client;
use agentdex_convert as convert;
use agentdex_fetch as fetch;
use agentdex_sacp as sacp;
use agentdex_td as td;

pub mod a2a;
mod action_state;
#[cfg(any(feature = "mqtt", feature = "websocket"))]
mod action_status;
mod agent;
mod answer;
mod answer_builder;
mod authorize;
mod binding;
mod bindings;
mod bounded;
mod calls;
mod charset;
mod choose;
mod context;
mod conversation;
mod credential;
mod description;
mod dialogue;
mod directory;
mod discover;
mod error;
mod event;
mod headers;
mod input;
#[cfg(feature = "mcp")]
mod mcp;
mod message;
mod middleware;
#[cfg(feature = "mqtt")]
mod mqtt;
mod network;
mod package;
mod request_template;
mod run;
mod schema;
mod settings;
mod several;
mod stand_in;
mod state;
mod template;
mod transport;
mod turn;
mod typed;
mod utterance;
#[cfg(feature = "websocket")]
mod websocket;
mod wot_http;

#[cfg(feature = "mcp")]
pub use self::mcp::{Mcp, Program, describe_mcp_server};

#[cfg(feature = "mqtt")]
pub use self::mqtt::Mqtt;

pub use self::run::{Run, RunEvent};
#[cfg(feature = "websocket")]
pub use self::websocket::WebSocket;
pub use self::{
    a2a::A2a,
    agent::{Agent, Explanation},
    binding::{Binding, Call, Control, Events, Exchange, Fit, Limits, Operation, Pending, Request},
    conversation::Conversation,
    credential::{Authorization, Credential, Grant, Place, Secret, Trace},
    description::{Affordance, Description, Form},
    dialogue::{Dialogue, Writer},
    directory::{Candidate, Directory, Search},
    discover::Consumer,
    error::{Error, Result},
    event::{Continuation, Cost, Event, Notification, Reply, Status},
    message::{Artifact, Content, Media, Message, Part, Role, ToolCall, ToolResult},
    middleware::{Logging, Middleware, Next, PassTrace, RateLimit, ReportSteps, Retry},
    network::Network,
    settings::{CREDENTIAL_VARIABLE, Settings},
    several::{FirstThatAnswers, Router},
    state::State,
    typed::Typed,
    wot_http::Http,
};

pub use crate::sacp::{Repair, Sacp};

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
