//! Settings of calls: immutable values that are merged.

use std::{collections::BTreeMap, fmt, ops::BitOr, time::Duration};

use serde_json::{Map, Value};

use super::{Credential, Trace};
use crate::sacp::Sacp;

/// Maximum total duration of a call unless it is set.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum time that an agent may say nothing during a call unless it is set.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of bytes of an answer, and of an event, unless it is set.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Names of environment variables with credentials begin with this; the name of the security scheme follows, in upper
/// case and with `_` for all but letters and digits. The same name with `_ORIGIN` after it has the origins that the
/// credential may be sent to, separated by commas.
pub const CREDENTIAL_VARIABLE: &str = "AGENTDEX_CREDENTIAL_";

/// Settings of calls. A value that isn't set is taken from the settings that these are merged onto, and last from the
/// defaults. Nothing is checked before a call needs it.
///
/// ```
/// use std::time::Duration;
/// use agentdex_consumer::{Credential, Settings};
///
/// let shared = Settings::new().timeout(Duration::from_secs(30)).header("X-Team", "weather");
/// let patient = shared.update(Settings::new().timeout(Duration::from_secs(300)));
/// assert_eq!(patient, shared.clone() | Settings::new().timeout(Duration::from_secs(300)));
/// assert_ne!(patient, shared);
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Settings {
    pub(super) endpoint: Option<String>,
    pub(super) credentials: BTreeMap<String, Credential>,
    pub(super) environment: Option<BTreeMap<String, String>>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) variables: Map<String, Value>,
    pub(super) timeout: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) max_bytes: Option<usize>,
    pub(super) action: Option<String>,
    pub(super) binding: Option<String>,
    pub(super) confirmed: Option<bool>,
    pub(super) system_prompt: Option<String>,
    pub(super) sacp_instructions: Option<bool>,
    pub(super) trace: Option<Trace>,
    pub(super) answers: Option<Sacp>,
}

impl Settings {
    /// Settings in which nothing is set.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// These settings with those of `changes` in place of theirs; a new value, `self` stays what it is.
    pub fn update(&self, changes: Settings) -> Settings {
        self.clone() | changes
    }

    /// Replaces the endpoint of the agent's description: scheme, host and port of each form become those of this URL.
    pub fn endpoint(mut self, url: impl Into<String>) -> Settings {
        self.endpoint = Some(url.into());
        self
    }

    /// The credential for a security scheme, by the name of its definition.
    pub fn credential(mut self, scheme: impl Into<String>, credential: Credential) -> Settings {
        self.credentials.insert(scheme.into(), credential);
        self
    }

    /// Replaces the environment of the process, where credentials without a setting are looked up.
    pub fn environment<N: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Settings {
        self.environment = Some(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect());
        self
    }

    /// A header of every request, for protocols that have headers. Not for what grants access: that is a
    /// [`Settings::credential`], which knows where it may be sent.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Settings {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// The value of a URI variable of the description's forms.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Settings {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Limits the total duration of a call; 120 s unless it is set.
    pub fn timeout(mut self, limit: Duration) -> Settings {
        self.timeout = Some(limit);
        self
    }

    /// Limits the time that the agent may say nothing during a call; 60 s unless it is set.
    pub fn idle_timeout(mut self, limit: Duration) -> Settings {
        self.idle_timeout = Some(limit);
        self
    }

    /// Limits an answer, and one event of a stream; 4 MiB unless it is set. Pieces that are gathered into one answer count as
    /// what they occupy in memory, roughly: text as its length, structured data and empty pieces as more than that. Events
    /// that the caller takes as they come ([`Agent::call_streaming`](super::Agent::call_streaming),
    /// [`Agent::subscribe`](super::Agent::subscribe)) are not gathered, so that their number has no limit.
    pub fn max_bytes(mut self, limit: usize) -> Settings {
        self.max_bytes = Some(limit);
        self
    }

    /// The action that messages go to, where an agent has several.
    pub fn action(mut self, name: impl Into<String>) -> Settings {
        self.action = Some(name.into());
        self
    }

    /// The only binding that is used, by its name.
    pub fn binding(mut self, name: impl Into<String>) -> Settings {
        self.binding = Some(name.into());
        self
    }

    /// Whether the user agreed to calls of actions that require confirmation ([`Description::requires_confirmation`]).
    /// Unless it is set, they are refused.
    ///
    /// [`Description::requires_confirmation`]: super::Description::requires_confirmation
    pub fn confirmed(mut self, is_confirmed: bool) -> Settings {
        self.confirmed = Some(is_confirmed);
        self
    }

    /// Sets the instructions for the agent's behaviour. They are sent with the first message of a conversation, and
    /// with each where the agent's protocol has no conversations.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Settings {
        self.system_prompt = Some(text.into());
        self
    }

    /// Tells agents to answer in SACP (section 3.2): the instructions are appended to the system prompt, with the keys of
    /// `data` that the action declares.
    pub fn sacp_instructions(mut self, are_sent: bool) -> Settings {
        self.sacp_instructions = Some(are_sent);
        self
    }

    /// The trace that calls belong to: each gets a span of its own in it.
    pub fn trace(mut self, trace: Trace) -> Settings {
        self.trace = Some(trace);
        self
    }

    /// Whether answers are read as responses of the Standard Agent Communication Protocol: the message becomes the text, its
    /// data and the agent's thought become parts of their own, `clarification_needed` a question to the caller, `failure` a
    /// failure. [`Sacp::Off`] unless it is set.
    pub fn answers(mut self, sacp: Sacp) -> Settings {
        self.answers = Some(sacp);
        self
    }

    /// Marks the credentials as given for one agent.
    pub(super) fn for_agent(mut self) -> Settings {
        self.credentials.values_mut().for_each(|credential| credential.is_for_agent = true);
        self
    }

    pub(super) fn whole_timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    pub(super) fn pause_timeout(&self) -> Duration {
        self.idle_timeout.unwrap_or(IDLE_TIMEOUT)
    }

    pub(super) fn answer_bytes(&self) -> usize {
        self.max_bytes.unwrap_or(MAX_BYTES)
    }

    pub(super) fn sacp(&self) -> Sacp {
        self.answers.unwrap_or_default()
    }

    /// An environment variable, unless it is empty.
    pub(super) fn variable_of_environment(&self, name: &str) -> Option<String> {
        let value = match &self.environment {
            Some(environment) => environment.get(name).cloned(),
            None => std::env::var(name).ok(),
        };
        value.filter(|value| !value.is_empty())
    }
}

/// The name of the environment variable with the credential for a scheme.
pub(super) fn credential_variable(scheme: &str) -> String {
    let own = scheme.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    format!("{CREDENTIAL_VARIABLE}{}", own.collect::<String>())
}

impl BitOr for Settings {
    type Output = Settings;

    fn bitor(mut self, other: Settings) -> Settings {
        self.credentials.extend(other.credentials);
        self.headers.extend(other.headers);
        self.variables.extend(other.variables);
        Settings {
            endpoint: other.endpoint.or(self.endpoint),
            credentials: self.credentials,
            environment: other.environment.or(self.environment),
            headers: self.headers,
            variables: self.variables,
            timeout: other.timeout.or(self.timeout),
            idle_timeout: other.idle_timeout.or(self.idle_timeout),
            max_bytes: other.max_bytes.or(self.max_bytes),
            action: other.action.or(self.action),
            binding: other.binding.or(self.binding),
            confirmed: other.confirmed.or(self.confirmed),
            system_prompt: other.system_prompt.or(self.system_prompt),
            sacp_instructions: other.sacp_instructions.or(self.sacp_instructions),
            trace: other.trace.or(self.trace),
            answers: other.answers.or(self.answers),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the values of headers and of the environment, which may be secrets.
        f.debug_struct("Settings")
            .field("endpoint", &self.endpoint)
            .field("credentials", &self.credentials)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("timeout", &self.timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_bytes", &self.max_bytes)
            .field("action", &self.action)
            .field("binding", &self.binding)
            .field("confirmed", &self.confirmed)
            .finish_non_exhaustive()
    }
}
