//! Settings of calls: immutable values that are merged.

use std::{collections::BTreeMap, fmt, ops::BitOr, time::Duration};

use serde_json::{Map, Value};

use super::{Credential, Trace};
use crate::sacp::Sacp;

/// Maximum total duration of a call unless it is set.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum time that an agent may say nothing during a call unless it is set.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time that a description may ask for.
const MAX_DECLARED_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum number of bytes of an answer, and of an event, unless it is set.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Prefix of environment variables that contain credentials. It is followed by the name of the security scheme in upper
/// case, with `_` for each character other than a letter or digit. A variable with the additional suffix `_ORIGIN`
/// lists the credential's allowed origins, separated by commas.
pub const CREDENTIAL_VARIABLE: &str = "AGENTDEX_CREDENTIAL_";

/// Settings of calls. A value that isn't set has a default. Settings can be overridden by other settings
/// ([`Settings::update`]). Values are not validated before a call needs them.
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
    /// Creates settings without any value.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// Returns a copy of these settings, overridden by the values set in `changes`.
    pub fn update(&self, changes: Settings) -> Settings {
        self.clone() | changes
    }

    /// Replaces the endpoint of the agent's description: the scheme, host, and port of each form become those of this
    /// URL.
    pub fn endpoint(mut self, url: impl Into<String>) -> Settings {
        self.endpoint = Some(url.into());
        self
    }

    /// Sets the credential for the security scheme with this name.
    pub fn credential(mut self, scheme: impl Into<String>, credential: Credential) -> Settings {
        self.credentials.insert(scheme.into(), credential);
        self
    }

    /// Sets variables that replace the process environment. Credentials that [`Settings::credential`] doesn't set are
    /// looked up in these variables; see [`CREDENTIAL_VARIABLE`].
    pub fn environment<N: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Settings {
        self.environment = Some(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect());
        self
    }

    /// Sets a header of every request, for protocols with headers. For access credentials, use
    /// [`Settings::credential`], which restricts the origins they are sent to.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Settings {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Sets the value of a URI variable of the description's forms.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Settings {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Limits the total duration of a call. The default is the duration declared in the description, up to 600 s, or
    /// else 120 s.
    pub fn timeout(mut self, limit: Duration) -> Settings {
        self.timeout = Some(limit);
        self
    }

    /// Limits the time between two events of a call. The default is the time declared in the description, up to 600 s,
    /// or else 60 s.
    pub fn idle_timeout(mut self, limit: Duration) -> Settings {
        self.idle_timeout = Some(limit);
        self
    }

    /// Limits the size of an answer, and of each event of a stream; 4 MiB by default. For an answer assembled from
    /// pieces, the limit applies to its approximate size in memory; structured data and empty pieces count for more
    /// than their length. There is no limit on the number of events read directly by the caller
    /// ([`Agent::call_streaming`](super::Agent::call_streaming), [`Agent::subscribe`](super::Agent::subscribe)), which
    /// are not assembled.
    pub fn max_bytes(mut self, limit: usize) -> Settings {
        self.max_bytes = Some(limit);
        self
    }

    /// Sets the action for messages, if the agent has several actions.
    pub fn action(mut self, name: impl Into<String>) -> Settings {
        self.action = Some(name.into());
        self
    }

    /// Restricts calls to the binding with this name.
    pub fn binding(mut self, name: impl Into<String>) -> Settings {
        self.binding = Some(name.into());
        self
    }

    /// Sets whether the user agreed to calls of actions that require confirmation
    /// ([`Description::requires_confirmation`]). Such calls are refused by default.
    ///
    /// [`Description::requires_confirmation`]: super::Description::requires_confirmation
    pub fn confirmed(mut self, is_confirmed: bool) -> Settings {
        self.confirmed = Some(is_confirmed);
        self
    }

    /// Sets the instructions for the agent's behavior. They are sent with the first message of a conversation, or
    /// with each message if the agent's protocol has no conversations.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Settings {
        self.system_prompt = Some(text.into());
        self
    }

    /// Sets whether agents are instructed to answer in SACP (section 3.2). The instructions are appended to the system
    /// prompt, and include the keys of `data` declared by the action.
    pub fn sacp_instructions(mut self, are_sent: bool) -> Settings {
        self.sacp_instructions = Some(are_sent);
        self
    }

    /// Sets the trace of the calls. Each call gets its own span.
    pub fn trace(mut self, trace: Trace) -> Settings {
        self.trace = Some(trace);
        self
    }

    /// Sets whether answers are read as responses of the Standard Agent Communication Protocol: the message becomes
    /// the text, the response's data and thought become separate parts, `clarification_needed` becomes a question to
    /// the caller, and `failure` a failure. [`Sacp::Off`] by default.
    pub fn answers(mut self, sacp: Sacp) -> Settings {
        self.answers = Some(sacp);
        self
    }

    /// Marks the credentials as given for a specific agent.
    pub(super) fn for_agent(mut self) -> Settings {
        self.credentials.values_mut().for_each(|credential| credential.is_for_agent = true);
        self
    }

    /// Returns a copy of these settings with the time limits that the members of a form declare, unless they are set.
    pub(super) fn limited_by(&self, form: &Map<String, Value>) -> Settings {
        let session = form.get("agentspec:sessionParameters").and_then(|literal| literal.get("@value"));
        let of_session = |name: &str| session.and_then(|session| seconds(session.get(name)?));
        let whole = of_session("timeout").or_else(|| of_session("read_timeout_seconds"));
        // A limit that the caller sets replaces both.
        let pause = form.get("agentspec:timeout").and_then(seconds).or(whole).filter(|_| self.timeout.is_none());
        Settings { timeout: self.timeout.or(whole), idle_timeout: self.idle_timeout.or(pause), ..self.clone() }
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

/// A number of seconds that a description declares.
fn seconds(declared: &Value) -> Option<Duration> {
    let seconds = declared.as_f64().filter(|seconds| *seconds > 0.0)?;
    Some(Duration::from_secs_f64(seconds.min(MAX_DECLARED_TIMEOUT.as_secs_f64())))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits(settings: &Settings, form: Value) -> (Duration, Duration) {
        let limited = settings.limited_by(form.as_object().expect("an object"));
        (limited.whole_timeout(), limited.pause_timeout())
    }

    #[test]
    fn limits_of_a_description_hold_unless_the_caller_sets_some() {
        let session = |members: Value| json!({"agentspec:sessionParameters": {"@type": "@json", "@value": members}});
        let of = |whole: f64, pause: f64| (Duration::from_secs_f64(whole), Duration::from_secs_f64(pause));
        let unset = Settings::new();
        for (form, expected) in [
            (json!({}), of(120.0, 60.0)),
            (json!({"agentspec:timeout": 1}), of(120.0, 1.0)),
            (session(json!({"read_timeout_seconds": 0.5})), of(0.5, 0.5)),
            (session(json!({"timeout": 300, "poll_interval": 2})), of(300.0, 300.0)),
            (session(json!({"timeout": 1e300})), of(600.0, 600.0)),
            (session(json!({"timeout": -1, "read_timeout_seconds": "5"})), of(120.0, 60.0)),
        ] {
            assert_eq!(limits(&unset, form.clone()), expected, "{form}");
        }
        let set = Settings::new().timeout(Duration::from_secs(30));
        assert_eq!(limits(&set, session(json!({"read_timeout_seconds": 0.5}))), of(30.0, 60.0));
        let set = Settings::new().idle_timeout(Duration::from_secs(30));
        assert_eq!(limits(&set, json!({"agentspec:timeout": 1})), of(120.0, 30.0));
    }
}
