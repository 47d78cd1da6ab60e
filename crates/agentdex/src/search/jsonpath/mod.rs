//! JSONPath (RFC 9535) over descriptions as specified by WoT Discovery: the root is the array of all descriptions.
//!
//! Each description is evaluated separately, as the only element of the array, so only results are held in memory.
//! Two constructs would need all descriptions at once and are refused: elements of the root by position, and `$`
//! inside a filter. The cost of a query is limited before parsing and again for each description; see [`guard`] and
//! [`cost`].

mod cost;
mod functions;
mod guard;
mod members;

use serde_json::Value;
use serde_json_path::JsonPath;

use self::guard::Outline;
use super::Filters;
use crate::{Error, Result};

/// Longer words aren't in the index.
const MAX_WORD_BYTES: usize = 80;

/// A parsed JSONPath query.
#[derive(Debug)]
pub struct Query {
    path: JsonPath,
    outline: Outline,
}

/// A result of a query on a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The whole description.
    Description,
    /// Part of the description, as JSON.
    Part(String),
}

impl Query {
    /// Parses a query.
    ///
    /// ```
    /// use agentdex::search::jsonpath::{Found, Query};
    ///
    /// let query = Query::parse("$[?@.title == 'Weather'].actions.*.title")?;
    /// let found = query.evaluate(r#"{"title": "Weather", "actions": {"ask": {"title": "Ask"}}}"#)?;
    /// assert_eq!(found, [Found::Part("\"Ask\"".into())]);
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] with the position of the mistake, [`Error::LimitExceeded`].
    pub fn parse(text: &str) -> Result<Query> {
        let outline = guard::check(text)?;
        let path = JsonPath::parse(text).map_err(|error| Error::InvalidQuery {
            message: format!("invalid JSONPath at character {}: {}", error.position(), error.message()),
        })?;
        Ok(Query { path, outline })
    }

    /// True if a description may have results. Returns false if its text lacks a string that every result requires.
    pub fn may_match(&self, description: &str) -> bool {
        let is_missing = |value: &String| memchr::memmem::find(description.as_bytes(), value.as_bytes()).is_none();
        !self.outline.required.iter().any(is_missing) || guard::has_escaped_letters(description)
    }

    /// Returns a search that finds every description with a result, or `None` if all descriptions have to be read.
    pub fn narrowed(&self) -> Option<(String, Filters)> {
        let (member, text) = self.outline.equality.as_ref()?;
        let is_word = |word: &str| (1..=MAX_WORD_BYTES).contains(&word.len()) && word.is_ascii();
        match member.as_str() {
            "title" if text.split(|c: char| !c.is_alphanumeric()).any(is_word) && !text.contains('"') => {
                Some((format!("title:\"{text}\""), Filters::default()))
            }
            "@type" if !text.is_empty() => {
                Some((String::new(), Filters { type_: vec![text.clone()], ..Filters::default() }))
            }
            _ => None,
        }
    }

    /// Returns the id that a description must have for the query to have a result, or `None` if the query doesn't
    /// require an id.
    pub fn only_id(&self) -> Option<&str> {
        let (member, text) = self.outline.equality.as_ref()?;
        (member == "id").then_some(text.as_str())
    }

    /// Evaluates the query on a description, and returns the results in document order.
    ///
    /// # Errors
    /// [`Error::Store`] if the description can't be read, [`Error::QueryTooCostly`].
    pub fn evaluate(&self, description: &str) -> Result<Vec<Found>> {
        let description = members::read(description, self.outline.members.as_ref())
            .map_err(|error| Error::Store { doing: "reading a description", source: error.into() })?;
        cost::check(&description, &self.outline)?;
        let root = Value::Array(vec![description]);
        let is_description = |node: &Value| root.get(0).is_some_and(|description| std::ptr::eq(node, description));
        let found = |node: &Value| match is_description(node) {
            true => Found::Description,
            false => Found::Part(node.to_string()),
        };
        Ok(self.path.query(&root).iter().map(|node| found(node)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, description: &str) -> Vec<String> {
        let found = Query::parse(query).unwrap().evaluate(description).unwrap();
        let text = |found| match found {
            Found::Description => "*".to_owned(),
            Found::Part(text) => text,
        };
        found.into_iter().map(text).collect()
    }

    const TD: &str = r#"{"title":"Weather","tags":["a","b"],"actions":{"ask":{"title":"Ask","n":1.5},"tell":{"n":2}}}"#;

    #[test]
    fn descriptions_and_their_parts_are_found() {
        for (query, expected) in [
            ("$[?@.title=='Weather']", &["*"][..]),
            ("$[?(@.title=='Weather')]", &["*"]),
            ("$[?@.title=='Other']", &[]),
            ("$[*].title", &["\"Weather\""]),
            ("$[*].tags[-1]", &["\"b\""]),
            ("$[*]['tags'][0:1]", &["\"a\""]),
            ("$..n", &["1.5", "2"]),
            ("$[?@.actions.ask.n > 1 && @.tags[?@ == 'a']].tags", &[r#"["a","b"]"#]),
            ("$[?match(@.title, 'W.*r')]", &["*"]),
            ("$[?match(@.title, 'eath')]", &[]),
            ("$[?search(@.title, 'eath')]", &["*"]),
            (r"$[?match(@.title, '\\p{Lu}\\w+')]", &["*"]),
            (r#"$[?match(@.title, 'W\'|["x]') || match(@.title, 7)]"#, &[]),
            ("$[?length(@.tags) == 2 && count(@.actions.*) == 2]", &["*"]),
            ("$[?!@.nothing].actions[?@.title].title", &["\"Ask\""]),
            ("$.title", &[]),
        ] {
            assert_eq!(found(query, TD), expected, "{query}");
        }
    }

    #[test]
    fn values_that_all_results_need_are_looked_for_in_the_text() {
        let may = |query: &str, text: &str| Query::parse(query).unwrap().may_match(text);
        for query in ["$[?@.t=='x']", "$[?'x' == @.t]", "$[?@.t == \"x\" && @.u == 'y']..z", "$[?@.a[?@.t=='x']]"] {
            assert!(!may(query, r#"{"t":"other"}"#), "{query}");
            assert!(may(query, r#"{"t":"x","u":"y"}"#), "{query}");
            assert!(may(query, r#"{"t":"\u0078"}"#), "{query}");
        }
        for query in [
            "$[?@.t=='x' || @.u]",
            "$[?!(@.t=='x')]",
            "$[?@.t!='x']",
            "$[?count(@.a[?@.t=='x'])==0]",
            "$[?@.t=='x', ?@.u]",
            "$[?@.t<'x']",
        ] {
            assert!(may(query, r#"{"t":"other"}"#), "{query}");
        }
    }

    #[test]
    fn only_members_that_the_query_names_are_read() {
        let members = |query: &str| {
            let members = guard::check(query).unwrap().members?;
            Some(members.into_iter().collect::<Vec<_>>().join(" "))
        };
        for (query, expected) in [
            ("$[*]", ""),
            ("$[*].title", "title"),
            ("$[?@.title=='x']", "title"),
            ("$[?@['a b'].c > @.d].e.f", "a b d e"),
            ("$[?match(@.t, 'x') && (!@.u || count(@.v.*) > 1)]", "t u v"),
            ("$[?@.a[?@.b == 1]].z[?@.c]", "a z"),
            ("$[?@.a, ?@.b]['c']", "a b c"),
            (r"$[?@['\u0061']]", "a"),
        ] {
            assert_eq!(members(query).as_deref(), Some(expected), "{query}");
        }
        let all = ["$..a", "$[*].*", "$[*]..a", "$[?length(@) > 1]", "$[?@]", "$[?@.*]", "$[*]['a','b']", "$[?@.a€b]"];
        for query in all {
            assert_eq!(members(query), None, "{query}");
        }
        // The last of several members counts, as when all are read.
        assert_eq!(found("$[*].t", r#"{"x":[{"t":1}],"t":1,"\u0074":2}"#), ["2"]);
    }

    #[test]
    fn queries_over_all_descriptions_at_once_are_refused() {
        for query in ["$", "$[0]", "$[-1].title", "$[1:2]", "$[?@.a == $[0].a]", "$..[0]", "$[*, 0]"] {
            let error = Query::parse(query).unwrap_err();
            assert!(matches!(error, Error::InvalidQuery { .. }), "{query}: {error}");
        }
        assert_eq!(found("$[?@.title == '$[0]']", r#"{"title":"$[0]"}"#), ["*"]);
    }

    #[test]
    fn errors_say_where() {
        for (query, part) in [
            ("", "start with `$`"),
            ("title", "start with `$`"),
            ("$[?@.title ==]", "character"),
            ("$[?@.title == 'x]", "unterminated string at character 15"),
            ("$[?@.title == 'x'", "`[` at character 2"),
            ("$[?match(@.a, @.b)]", "pattern"),
            ("$[?match(@.a, '(')]", "pattern"),
            ("$[*])", "`)` at character 5"),
        ] {
            let error = Query::parse(query).unwrap_err().to_string();
            assert!(error.contains(part), "{query}: {error}");
        }
    }

    #[test]
    fn what_would_take_long_is_refused_before_it_is_parsed() {
        let nested_filters = format!("$[?@.a{}{}]", "[?@.a".repeat(200), "]".repeat(200));
        let parentheses = format!("$[?{}@.a{}]", "(".repeat(400), ")".repeat(400));
        let doubling = format!("$[*]{}", "[*,*]".repeat(100));
        let descending = format!("$..a{}", "..a".repeat(5));
        let long = format!("$[?@.a=='{}']", "x".repeat(2000));
        for query in [&nested_filters, &parentheses, &doubling, &descending, &long] {
            assert!(matches!(Query::parse(query), Err(Error::LimitExceeded { .. })), "{query}");
        }
    }

    #[test]
    fn what_would_take_long_in_one_description_is_refused() {
        let deep = format!("{}1{}", "{\"a\":[".repeat(30), "]}".repeat(30));
        let wide = format!("[{}]", vec![deep.as_str(); 5000].join(","));
        let query = Query::parse("$[*]..*..*").unwrap();
        assert!(query.evaluate(&deep).is_ok());
        assert!(matches!(query.evaluate(&wide), Err(Error::QueryTooCostly { .. })));
    }
}
