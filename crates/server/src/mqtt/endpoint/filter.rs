//! Topic filters, read once.
//!
//! MQTT 5.0, section 4.7 (wildcards) and 4.8.2 (shared subscriptions); 3.1.1 clients may share as well.
//!
//! All topics have the prefix, a family, and a fixed number of levels after that. A filter is therefore
//! the same as one [`Pattern`] for each family that it can match: as many levels as the topics have,
//! without `#`. No topic starts with `$`, so the rule that wildcards don't match such topics needs no care.

use super::super::{
    feed::Family,
    topics::{Topics, decode},
};

/// The longest filter that is accepted: no topic is half as long.
const MAX_FILTER_BYTES: usize = 8 * 1024;

/// The levels after `{prefix}/{family}`, as many as the topics of the family have; none: any.
pub(super) type Pattern = Box<[Option<Box<str>>]>;

/// A topic filter, without the `$share/{group}/` it may have had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopicFilter {
    levels: Vec<Level>,
    /// True if a group shares the subscription.
    pub is_shared: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Level {
    Exact(Box<str>),
    /// `+`
    Any,
    /// `#`
    Rest,
}

/// The retained descriptions that a filter matches: that of one Thing, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RetainedScope {
    One(String),
    Everything,
}

impl TopicFilter {
    /// Reads `filter` or `$share/{group}/filter`; none where that is invalid or over 8 KiB.
    pub fn parse(text: &str) -> Option<TopicFilter> {
        if text.len() > MAX_FILTER_BYTES || text.contains('\0') {
            return None;
        }
        let Some(shared) = text.strip_prefix("$share/") else {
            return Some(TopicFilter { levels: parse_levels(text)?, is_shared: false });
        };
        let (group, filter) = shared.split_once('/')?;
        if group.is_empty() || group.contains(['+', '#']) {
            return None;
        }
        Some(TopicFilter { levels: parse_levels(filter)?, is_shared: true })
    }

    /// Returns the pattern by which it matches topics of a family; none if it matches none of them.
    pub fn pattern(&self, topics: &Topics, family: Family) -> Option<Pattern> {
        self.pattern_below(topics, family.level(), family.depth())
    }

    /// Returns the pattern by which it matches topics of decisions; none if it matches none of them.
    pub fn pattern_of_decisions(&self, topics: &Topics) -> Option<Pattern> {
        self.pattern_below(topics, Topics::DECISIONS, 2)
    }

    /// Returns the pattern by which it matches topics with `depth` levels below `{prefix}/{level}`; none if it matches
    /// none of them.
    fn pattern_below(&self, topics: &Topics, level: &str, depth: usize) -> Option<Pattern> {
        let mut levels = self.levels.as_slice();
        for expected in topics.prefix().split('/').chain([level]) {
            match levels {
                [Level::Rest] => break,
                [Level::Any, rest @ ..] => levels = rest,
                [Level::Exact(found), rest @ ..] if **found == *expected => levels = rest,
                _ => return None,
            }
        }
        let mut pattern = Vec::with_capacity(depth);
        for level in levels {
            match level {
                Level::Rest => pattern.resize(depth, None),
                _ if pattern.len() == depth => return None,
                Level::Any => pattern.push(None),
                Level::Exact(text) => pattern.push(Some(text.clone())),
            }
        }
        (pattern.len() == depth).then(|| pattern.into())
    }

    /// Returns the scope of the descriptions at `{prefix}/things/{id}` that it matches; none if it matches none of
    /// them.
    pub fn retained_scope(&self, topics: &Topics) -> Option<RetainedScope> {
        match &*self.pattern(topics, Family::Thing)? {
            [None] => Some(RetainedScope::Everything),
            [Some(level)] => decode(level).map(RetainedScope::One),
            _ => None,
        }
    }
}

fn parse_levels(text: &str) -> Option<Vec<Level>> {
    if text.is_empty() {
        return None;
    }
    let count = text.split('/').count();
    let levels = text.split('/').enumerate().map(|(index, level)| match level {
        "+" => Some(Level::Any),
        "#" => (index + 1 == count).then_some(Level::Rest),
        level if level.contains(['+', '#']) => None,
        level => Some(Level::Exact(level.into())),
    });
    levels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> TopicFilter {
        TopicFilter::parse(text).unwrap_or_else(|| panic!("{text:?} was refused"))
    }

    /// The pattern, with `+` for any level.
    fn pattern(text: &str, family: Family) -> Option<String> {
        let pattern = filter(text).pattern(&Topics::new("org/agentdex").unwrap(), family)?;
        let levels: Vec<&str> = pattern.iter().map(|level| level.as_deref().unwrap_or("+")).collect();
        Some(levels.join("/"))
    }

    #[test]
    fn filter_is_one_pattern_for_each_family_it_can_match() {
        use Family::{Capability, Event, Thing};
        for (text, family, expected) in [
            ("#", Event, Some("+/+")),
            ("#", Capability, Some("+/+/+")),
            ("org/#", Thing, Some("+")),
            ("org/agentdex/events", Event, None),
            ("org/agentdex/events/#", Event, Some("+/+")),
            ("org/agentdex/events/#", Thing, None),
            ("+/+/+/thing_created/+/#", Event, Some("thing_created/+")),
            ("+/+/+/thing_created/+", Capability, None),
            ("org/agentdex/capabilities/chat/#", Capability, Some("chat/+/+")),
            ("org/agentdex/capabilities/chat/+/urn:a", Capability, Some("chat/+/urn:a")),
            ("org/agentdex/things/+/x", Thing, None),
            ("org/agentdex/things/urn:a/#", Thing, Some("urn:a")),
            ("other/#", Event, None),
            ("/org/agentdex/#", Event, None),
            ("$SYS/#", Event, None),
            ("+", Event, None),
            ("$share/readers/org/agentdex/things/+", Thing, Some("+")),
        ] {
            assert_eq!(pattern(text, family).as_deref(), expected, "{text} for {family:?}");
        }
    }

    #[test]
    fn invalid_filters_are_refused() {
        for text in ["", "a/#/b", "a#", "a/b+", "a\0", "$share/g", "$share//a", "$share/g+/a", "$share/g/"] {
            assert_eq!(TopicFilter::parse(text), None, "{text:?} was accepted");
        }
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
