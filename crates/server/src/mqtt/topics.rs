//! The topics: one level for each part, percent-encoded, under a prefix.
//!
//! | topic | retained | payload |
//! |---|---|---|
//! | `{prefix}/events/{kind}/{id}` | no | the change as a CloudEvent |
//! | `{prefix}/events/resync/{registry}` | no | the CloudEvent `io.agentdex.resync`: changes were missed; read `things` again |
//! | `{prefix}/capabilities/{capability}/{kind}/{id}` | no | the same event as under `events`, once for each capability key |
//! | `{prefix}/queries/{query}/{kind}/{id}` | no | the same event, for each saved query that it concerns and that the reader can see; `{query}` is `<owner>/<name>` as a single level (`weather-team%2Fstorms`), or `<name>` for a query without an owner; `{kind}` can also be `thing_matched` or `thing_unmatched` |
//! | `{prefix}/guardian/{agent}/{decision}` | no | a decision of the guardian, as in `GET /aos/decisions`; `{agent}` is `unknown` if the step doesn't name the agent |
//! | `{prefix}/things/{id}` | yes | the Thing Description, as in `GET /things/{id}`; empty once it is removed |
//!
//! The resync event has as many levels as the others, so that subscribers to `{prefix}/events/+/+` receive it;
//! `{registry}` is the `source` of all events. The built-in endpoint sends it to each session that missed changes,
//! whatever its subscriptions: even a subscriber to only `things` must know that descriptions may have been removed.
//! It also means that events of saved queries were missed.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{Error, Result, access::Owner, change::ChangeKind, registry::MatchKind};

/// The longest capability key that gets topics.
const MAX_CAPABILITY_BYTES: usize = 256;
/// The longest prefix: leaves room for three encoded ids in the 65,535 bytes of a topic.
const MAX_PREFIX_BYTES: usize = 1024;
/// Characters that are percent-encoded in a level.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Names the topics under a prefix.
///
/// ```
/// use agentdex_server::mqtt::topics::Topics;
///
/// let topics = Topics::new("agentdex")?;
/// assert_eq!(topics.thing("https://agents.example/a"), "agentdex/things/https:%2F%2Fagents.example%2Fa");
/// # Ok::<(), agentdex::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Topics {
    prefix: String,
}

impl Topics {
    /// The topics under `prefix`, which may have several levels.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] where the prefix can't start a topic.
    pub fn new(prefix: &str) -> Result<Topics> {
        let wrong = if prefix.split('/').any(str::is_empty) {
            "has an empty level"
        } else if prefix.contains(['+', '#', '\0']) {
            "contains +, #, or NUL"
        } else if prefix.starts_with('$') {
            "starts with $, which is reserved for the broker"
        } else if prefix.len() > MAX_PREFIX_BYTES {
            "is longer than 1024 bytes"
        } else {
            return Ok(Topics { prefix: prefix.into() });
        };
        let message = format!("{prefix:?} {wrong}; use a prefix such as `agentdex` or `example/agents`");
        Err(Error::InvalidSetting { origin: "the prefix of the MQTT topics".into(), message })
    }

    /// The prefix.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the topic of the event of a change.
    ///
    /// ```
    /// use agentdex::ChangeKind;
    /// use agentdex_server::mqtt::topics::Topics;
    ///
    /// let topics = Topics::new("agentdex")?;
    /// let topic = topics.event(ChangeKind::Created, "urn:example:weather");
    /// assert_eq!(topic, "agentdex/events/thing_created/urn:example:weather");
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    pub fn event(&self, kind: ChangeKind, id: &str) -> String {
        format!("{}/events/{kind}/{}", self.prefix, encode(id))
    }

    /// True if a topic of a change has this prefix.
    pub(super) fn has_prefix_of(&self, topic: &str) -> bool {
        let rest = topic.strip_prefix(self.prefix.as_str());
        rest.is_some_and(|rest| rest.starts_with("/events/") || rest.starts_with("/queries/"))
    }

    /// The level of a saved query.
    pub(super) fn query_level(&self, owner: Option<&Owner>, name: &str) -> String {
        let query = owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}/{name}"));
        encode(&query).to_string()
    }

    /// The owner and the name of the saved query that has this level.
    pub(super) fn query_at(level: &str) -> Option<(Option<Owner>, String)> {
        let query = decode(level)?;
        match query.rsplit_once('/') {
            Some((owner, name)) => Some((Some(owner.parse().ok()?), name.to_owned())),
            None => Some((None, query)),
        }
    }

    /// Returns the topic of the event for subscribers of a capability; none if the key is over 256 bytes or empty.
    pub fn capability(&self, key: &str, kind: ChangeKind, id: &str) -> Option<String> {
        let fits = !key.is_empty() && key.len() <= MAX_CAPABILITY_BYTES;
        fits.then(|| format!("{}/capabilities/{}/{kind}/{}", self.prefix, encode(key), encode(id)))
    }

    /// Returns the topic of the event for subscribers of a saved query.
    ///
    /// ```
    /// use agentdex::registry::MatchKind;
    /// use agentdex_server::mqtt::topics::Topics;
    ///
    /// let topics = Topics::new("agentdex")?;
    /// let team = "weather-team".parse().ok();
    /// let topic = topics.query(team.as_ref(), "storms", MatchKind::Matched, "urn:a");
    /// assert_eq!(topic, "agentdex/queries/weather-team%2Fstorms/thing_matched/urn:a");
    /// let topic = topics.query(None, "storms", MatchKind::Matched, "urn:a");
    /// assert_eq!(topic, "agentdex/queries/storms/thing_matched/urn:a");
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    pub fn query(&self, owner: Option<&Owner>, name: &str, kind: MatchKind, id: &str) -> String {
        format!("{}/queries/{}/{kind}/{}", self.prefix, self.query_level(owner, name), encode(id))
    }

    /// The level of decisions.
    pub(super) const DECISIONS: &str = "guardian";

    /// Returns the topic of a decision of the guardian about a step of this agent.
    pub fn decision(&self, agent: Option<&str>, decision: crate::policy::Decision) -> String {
        let agent = agent.filter(|agent| !agent.is_empty()).unwrap_or("unknown");
        format!("{}/{}/{}/{}", self.prefix, Topics::DECISIONS, encode(agent), decision.as_str())
    }

    /// Returns the topic at which the current Thing Description is retained.
    pub fn thing(&self, id: &str) -> String {
        format!("{}/things/{}", self.prefix, encode(id))
    }

    /// Returns the topic that notifies subscribers that they missed more than the log holds.
    pub fn resync(&self, source: &str) -> String {
        format!("{}/events/resync/{}", self.prefix, encode(source))
    }

    /// The Thing whose description is retained at `topic`.
    ///
    /// ```
    /// use agentdex_server::mqtt::topics::Topics;
    ///
    /// let topics = Topics::new("agentdex")?;
    /// let id = "https://agents.example/a";
    /// assert_eq!(topics.thing_at(&topics.thing(id)).as_deref(), Some(id));
    /// assert_eq!(topics.thing_at("somewhere/else"), None);
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    pub fn thing_at(&self, topic: &str) -> Option<String> {
        let level = topic.strip_prefix(self.prefix.as_str())?.strip_prefix("/things/")?;
        if level.contains('/') { None } else { decode(level) }
    }
}

/// One level of a topic.
pub(super) fn encode(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, ENCODED)
}

/// Decodes a level; none if the result isn't UTF-8.
pub(super) fn decode(level: &str) -> Option<String> {
    percent_decode_str(level).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics() -> Topics {
        Topics::new("agentdex").unwrap()
    }

    #[test]
    fn ids_and_capabilities_take_one_level_each() {
        assert_eq!(
            topics().event(ChangeKind::Created, "https://example.com/a b?c#d"),
            "agentdex/events/thing_created/https:%2F%2Fexample.com%2Fa%20b%3Fc%23d"
        );
        assert_eq!(
            topics().capability("wetter/größe+", ChangeKind::Deleted, "urn:a").as_deref(),
            Some("agentdex/capabilities/wetter%2Fgr%C3%B6%C3%9Fe%2B/thing_deleted/urn:a")
        );
    }

    #[test]
    fn capability_key_over_256_bytes_gets_no_topic() {
        assert!(topics().capability(&"k".repeat(256), ChangeKind::Created, "urn:a").is_some());
        assert_eq!(topics().capability(&"k".repeat(257), ChangeKind::Created, "urn:a"), None);
    }

    #[test]
    fn thing_is_found_by_its_topic() {
        let id = "https://example.com/ä/+/#";
        assert_eq!(topics().thing_at(&topics().thing(id)).as_deref(), Some(id));
        assert_eq!(topics().thing_at("agentdex/things/a/b"), None);
        assert_eq!(topics().thing_at("other/things/a"), None);
    }

    #[test]
    fn saved_query_is_found_by_its_level() {
        for owner in [None, Some("team@example/%+#".parse::<Owner>().unwrap())] {
            let level = topics().query_level(owner.as_ref(), "my.storms~1");
            assert_eq!(Topics::query_at(&level), Some((owner, "my.storms~1".to_owned())), "{level}");
        }
    }

    #[test]
    fn prefix_that_cannot_start_a_topic_is_refused() {
        for prefix in ["", "a//b", "/a", "a/", "a/+", "#", "$SYS"] {
            assert!(Topics::new(prefix).is_err(), "{prefix:?} was taken");
        }
        assert_eq!(Topics::new("org/agents").unwrap().thing("urn:a"), "org/agents/things/urn:a");
    }
}
