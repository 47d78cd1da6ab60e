//! URI templates (RFC 6570), filled in with the values of a form's variables.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const RESERVED: &AsciiSet = &UNRESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'#')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b'%');

/// Rules for expanding expressions with an operator (RFC 6570, appendix A).
struct Style {
    first: &'static str,
    separator: &'static str,
    is_named: bool,
    /// The text between the name and an empty value.
    if_empty: &'static str,
    allowed: &'static AsciiSet,
}

/// A variable in an expression.
struct Variable<'t> {
    name: &'t str,
    /// The maximum number of characters of its text.
    length: Option<usize>,
    /// True if each element of a list, or member of an object, is written for itself.
    explodes: bool,
}

/// Expands a template. Undefined variables are omitted; if an undefined variable can't be omitted because it is part
/// of the path, returns its name as the error.
pub(super) fn expand(template: &str, values: &Map<String, Value>) -> Result<String, String> {
    let mut expanded = String::with_capacity(template.len());
    for (index, part) in template.split('{').enumerate() {
        let Some((inner, literal)) = part.split_once('}').filter(|_| index > 0) else {
            expanded.push_str(part);
            continue;
        };
        let (style, specifications) = specifications(inner);
        // What begins a URL is one itself: nothing could follow if its colon and slashes were encoded.
        let allowed = if expanded.is_empty() { RESERVED } else { style.allowed };
        let mut written = Vec::new();
        for variable in specifications {
            let name = variable.name;
            // The characters of a name that no template can have are percent-encoded in it.
            let value = values.get(name).or_else(|| values.get(&*percent_decode_str(name).decode_utf8_lossy()));
            match value.filter(|value| !value.is_null()) {
                Some(value) => written.extend(expansion(&style, allowed, &variable, value)),
                None if !style.is_named && style.first.is_empty() => return Err(name.to_owned()),
                None => {}
            }
        }
        if !written.is_empty() {
            expanded.push_str(style.first);
            expanded.push_str(&written.join(style.separator));
        }
        expanded.push_str(literal);
    }
    Ok(expanded)
}

/// True if the path of a URL contains dot segments (`.` or `..`), encoded or not.
pub(super) fn has_dot_segments(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let is_dot = |character: &str| matches!(character, "." | "%2e" | "%2E");
    path.split(['/', '\\']).any(|segment| {
        let (first, rest) = segment.split_at_checked(if segment.starts_with('%') { 3 } else { 1 }).unwrap_or(("", ""));
        is_dot(first) && (rest.is_empty() || is_dot(rest))
    })
}

/// True if a template has a variable.
pub(super) fn has_variable(template: &str, name: &str) -> bool {
    let mut expressions = template.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0));
    let is_it = |variable: &Variable<'_>| {
        variable.name == name || percent_decode_str(variable.name).decode_utf8_lossy() == name
    };
    expressions.any(|inner| specifications(inner).1.iter().any(is_it))
}

/// The style of an expression and its variables.
fn specifications(inner: &str) -> (Style, Vec<Variable<'_>>) {
    let style = |first, separator, is_named, if_empty, allowed| Style { first, separator, is_named, if_empty, allowed };
    let (style, names) = match inner.chars().next() {
        Some('+') => (style("", ",", false, "", RESERVED), &inner[1..]),
        Some('#') => (style("#", ",", false, "", RESERVED), &inner[1..]),
        Some('.') => (style(".", ".", false, "", UNRESERVED), &inner[1..]),
        Some('/') => (style("/", "/", false, "", UNRESERVED), &inner[1..]),
        Some(';') => (style(";", ";", true, "", UNRESERVED), &inner[1..]),
        Some('?') => (style("?", "&", true, "=", UNRESERVED), &inner[1..]),
        Some('&') => (style("&", "&", true, "=", UNRESERVED), &inner[1..]),
        _ => (style("", ",", false, "", UNRESERVED), inner),
    };
    let names = names.split(',').map(|text| match (text.strip_suffix('*'), text.split_once(':')) {
        (Some(name), _) => Variable { name, length: None, explodes: true },
        (None, Some((name, length))) => Variable { name, length: length.parse().ok(), explodes: false },
        (None, None) => Variable { name: text, length: None, explodes: false },
    });
    (style, names.collect())
}

fn expansion(style: &Style, allowed: &'static AsciiSet, variable: &Variable<'_>, value: &Value) -> Vec<String> {
    let Variable { name, length, explodes } = *variable;
    let encode = |text: &str| {
        let text: String = text.chars().take(length.unwrap_or(usize::MAX)).collect();
        utf8_percent_encode(&text, allowed).to_string()
    };
    let named = |name: &str, text: String| match style.is_named {
        true if text.is_empty() => format!("{name}{}", style.if_empty),
        true => format!("{name}={text}"),
        false => text,
    };
    match value {
        Value::Array(values) if explodes => values.iter().map(|value| named(name, encode(&text_of(value)))).collect(),
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(|value| encode(&text_of(value))).collect();
            if texts.is_empty() { Vec::new() } else { vec![named(name, texts.join(","))] }
        }
        Value::Object(members) if explodes => {
            members.iter().map(|(key, value)| format!("{}={}", encode(key), encode(&text_of(value)))).collect()
        }
        Value::Object(members) => {
            let pairs = members.iter().flat_map(|(key, value)| [encode(key), encode(&text_of(value))]);
            vec![named(name, pairs.collect::<Vec<_>>().join(","))]
        }
        value => vec![named(name, encode(&text_of(value)))],
    }
}

/// A value as text: a string is itself.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn examples_of_the_specification() {
        let values = json!({"var": "value", "hello": "Hello World!", "path": "/foo/bar", "empty": "", "x": 1024, "y": 768,
            "list": ["red", "green", "blue"], "keys": {"semi": ";", "dot": "."}, "undef": null, "base": "http://example.com/home/"});
        for (template, expected) in [
            ("a{var}", "avalue"),
            ("a{hello}", "aHello%20World%21"),
            ("a{+path}/here", "a/foo/bar/here"),
            ("X{#var}", "X#value"),
            ("map?{x,y}", "map?1024,768"),
            ("X{.var}", "X.value"),
            ("{/var,x}/here", "/value/1024/here"),
            ("a{;x,y,empty}", "a;x=1024;y=768;empty"),
            ("a{?x,y,empty}", "a?x=1024&y=768&empty="),
            ("a{?x,undef}", "a?x=1024"),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("a{var:3}", "aval"),
            ("a{list}", "ared,green,blue"),
            ("{/list*}", "/red/green/blue"),
            ("a{?list*}", "a?list=red&list=green&list=blue"),
            ("a{?keys*}", "a?dot=.&semi=%3B"),
            ("{base}index", "http://example.com/home/index"),
            ("a{?undef}", "a"),
        ] {
            assert_eq!(expand(template, values.as_object().unwrap()).as_deref(), Ok(expected), "{template}");
        }
        assert_eq!(expand("a/{undef}", values.as_object().unwrap()), Err("undef".into()));
    }

    #[test]
    fn dot_segments_are_known_however_they_are_written() {
        for url in
            ["http://a/..", "http://a/b/./c", "../x", "http://a/%2e%2E/x?y", "http://a/.%2e", "http://a/x\\..\\y"]
        {
            assert!(has_dot_segments(url), "{url}");
        }
        for url in ["http://a/b", "http://a/...", "http://a/.x/..y", "http://a/x?y=/../z", "http://a/%2f..%2f", ""] {
            assert!(!has_dot_segments(url), "{url}");
        }
    }
}
