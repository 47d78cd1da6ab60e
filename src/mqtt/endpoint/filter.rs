//! Topic filters, split once and matched often.
//!
//! MQTT 5.0, section 4.7 (wildcards) and 4.8.2 (shared subscriptions); 3.1.1 clients may share as well.

use super::super::topics::{Topics, decode};

/// The longest filter that is taken: no topic is half as long.
const MAX_FILTER_BYTES: usize = 8 * 1024;

/// A topic filter, without the `$share/{group}/` it may have had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopicFilter {
    levels: Vec<Level>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Level {
    Exact(Box<str>),
    /// `+`
    Any,
    /// `#`
    Rest,
}

/// What a client asked to subscribe to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// The group that shares the subscription.
    pub group: Option<String>,
    pub filter: TopicFilter,
}

/// Which retained descriptions a filter matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RetainedScope {
    One(String),
    Everything,
}

impl Request {
    /// Reads `filter` or `$share/{group}/filter`; none where that is invalid or over 8 KiB.
    pub fn parse(text: &str) -> Option<Request> {
        if text.len() > MAX_FILTER_BYTES {
            return None;
        }
        let Some(shared) = text.strip_prefix("$share/") else {
            return Some(Request { group: None, filter: TopicFilter::parse(text)? });
        };
        let (group, filter) = shared.split_once('/')?;
        if group.is_empty() || group.contains(['+', '#']) {
            return None;
        }
        Some(Request { group: Some(group.into()), filter: TopicFilter::parse(filter)? })
    }
}

impl TopicFilter {
    fn parse(text: &str) -> Option<TopicFilter> {
        if text.is_empty() || text.contains('\0') {
            return None;
        }
        let count = text.split('/').count();
        let levels = text.split('/').enumerate().map(|(index, level)| match level {
            "+" => Some(Level::Any),
            "#" => (index + 1 == count).then_some(Level::Rest),
            level if level.contains(['+', '#']) => None,
            level => Some(Level::Exact(level.into())),
        });
        Some(TopicFilter { levels: levels.collect::<Option<_>>()? })
    }

    pub fn matches(&self, topic: &str) -> bool {
        // A wildcard in the first place doesn't match `$SYS` and the like (4.7.2).
        if topic.starts_with('$') && !matches!(self.levels.first(), Some(Level::Exact(_))) {
            return false;
        }
        let mut topic = topic.split('/');
        for level in &self.levels {
            match (level, topic.next()) {
                (Level::Rest, _) => return true,
                (Level::Any, Some(_)) => {}
                (Level::Exact(expected), Some(found)) if **expected == *found => {}
                _ => return false,
            }
        }
        topic.next().is_none()
    }

    /// Whether it could match a topic of this family: `{prefix}/{family}/…`.
    pub fn reaches(&self, topics: &Topics, family: &str) -> bool {
        self.after(topics, family).is_some()
    }

    /// Which descriptions at `{prefix}/things/{id}` it matches.
    pub fn retained_scope(&self, topics: &Topics) -> Option<RetainedScope> {
        match self.after(topics, "things")? {
            [Level::Any] | [Level::Rest] | [Level::Any, Level::Rest] => Some(RetainedScope::Everything),
            [Level::Exact(level)] | [Level::Exact(level), Level::Rest] => decode(level).map(RetainedScope::One),
            _ => None,
        }
    }

    /// The levels that are left for what comes after `{prefix}/{family}`.
    fn after(&self, topics: &Topics, family: &str) -> Option<&[Level]> {
        let mut levels = self.levels.as_slice();
        for expected in topics.prefix().split('/').chain([family]) {
            match levels {
                [Level::Rest] => return Some(levels),
                [Level::Any, rest @ ..] => levels = rest,
                [Level::Exact(found), rest @ ..] if **found == *expected => levels = rest,
                _ => return None,
            }
        }
        (!levels.is_empty()).then_some(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> TopicFilter {
        TopicFilter::parse(text).unwrap_or_else(|| panic!("{text:?} was refused"))
    }

    #[test]
    fn wildcards_match_as_in_section_4_7() {
        for (pattern, topic, expected) in [
            ("a/b", "a/b", true),
            ("a/b", "a/b/c", false),
            ("a/+", "a/b", true),
            ("a/+", "a", false),
            ("a/+", "a/b/c", false),
            ("a/#", "a", true),
            ("a/#", "a/b/c", true),
            ("#", "a/b", true),
            ("+/+", "a/b", true),
            ("+", "a/b", false),
            ("#", "$SYS/x", false),
            ("+/x", "$SYS/x", false),
            ("$SYS/#", "$SYS/x", true),
        ] {
            assert_eq!(filter(pattern).matches(topic), expected, "{pattern} against {topic}");
        }
    }

    #[test]
    fn invalid_filters_are_refused() {
        for text in ["", "a/#/b", "a#", "a/b+", "$share/g", "$share//a", "$share/g+/a", "$share/g/"] {
            assert_eq!(Request::parse(text), None, "{text:?} was taken");
        }
    }

    #[test]
    fn shared_filter_is_taken_apart() {
        let request = Request::parse("$share/readers/agentdex/events/#").unwrap();
        assert_eq!(request.group.as_deref(), Some("readers"));
        assert_eq!(request.filter, filter("agentdex/events/#"));
    }

    #[test]
    fn retained_scope_tells_one_from_all() {
        let topics = Topics::new("org/agentdex").unwrap();
        for (pattern, expected) in [
            ("#", Some(RetainedScope::Everything)),
            ("org/#", Some(RetainedScope::Everything)),
            ("+/agentdex/+/+", Some(RetainedScope::Everything)),
            ("org/agentdex/things/#", Some(RetainedScope::Everything)),
            ("org/agentdex/things/+/#", Some(RetainedScope::Everything)),
            ("org/agentdex/things/urn:a%2Fb", Some(RetainedScope::One("urn:a/b".into()))),
            ("org/+/+/urn:a", Some(RetainedScope::One("urn:a".into()))),
            ("org/agentdex/things", None),
            ("org/agentdex/things/+/x", None),
            ("org/agentdex/events/#", None),
        ] {
            assert_eq!(filter(pattern).retained_scope(&topics), expected, "{pattern}");
        }
    }
}
