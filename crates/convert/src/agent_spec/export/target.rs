//! `Target`: the parsed target of a form, a URI template (RFC 6570).

use std::collections::{HashMap, HashSet};

use fluent_uri::{Iri, IriRef};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The longest address in bytes, which is about what can be relied on (RFC 9110, section 4.1): every form
/// may have the same long base before it.
const LONGEST: usize = 8000;

/// The target of a form for HTTP.
#[derive(Debug, PartialEq)]
pub(super) struct Target(Vec<Part>);

#[derive(Debug, PartialEq)]
enum Part {
    Literal(String),
    /// An operator, or nothing, and names.
    Expression(Option<char>, Vec<String>),
}

impl Target {
    /// Resolves the target of a form against the base of its Thing; none if it isn't an HTTP address or is too long.
    pub(super) fn of(thing: &Value, form: &Value) -> Option<Target> {
        let href = form.get("href")?.as_str()?;
        let is_whole = href.starts_with('{') || href.contains("://");
        let href = match thing.get("base").and_then(Value::as_str).filter(|_| !is_whole) {
            Some(base) if base.len() + href.len() <= LONGEST => resolve(base, href)?,
            None if href.len() <= LONGEST => href.to_owned(),
            _ => return None,
        };
        let is_http = ["http://", "https://", "{"]
            .into_iter()
            .any(|start| href.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)));
        if is_http { Target::parse(&href) } else { None }
    }

    fn parse(template: &str) -> Option<Target> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((literal, expression)) = rest.split_once('{') {
            parts.push(Part::Literal(literal.to_owned()));
            let (expression, behind) = expression.split_once('}')?;
            let operator = expression.chars().next().filter(|first| "+#./;?&".contains(*first));
            let names = expression.get(operator.map_or(0, char::len_utf8)..)?.split(',');
            // How much of a value is used, and how a list is written, is up to whoever has the value.
            let names = names.map(|name| name.split([':', '*']).next().unwrap_or_default());
            let names = names.map(|name| percent_decode_str(name).decode_utf8_lossy().into_owned());
            parts.push(Part::Expression(operator, names.filter(|name| !name.is_empty()).collect()));
            rest = behind;
        }
        parts.push(Part::Literal(rest.to_owned()));
        Some(Target(parts))
    }

    /// The names of the variables, each once.
    pub(super) fn variables(&self) -> Vec<&str> {
        let mut known = HashSet::new();
        let names = self.0.iter().filter_map(|part| match part {
            Part::Expression(_, names) => Some(names),
            Part::Literal(_) => None,
        });
        names.flatten().map(String::as_str).filter(|name| known.insert(*name)).collect()
    }

    /// The address, if no variables are in it.
    pub(super) fn without_variables(&self) -> Option<String> {
        match self.0.as_slice() {
            [Part::Literal(address)] => Some(address.clone()),
            _ => None,
        }
    }

    /// The URL with placeholders for variables, whose inputs have those titles, and the parameters of the
    /// query that stand for further ones.
    pub(super) fn fill(&self, titles: &[(String, String)]) -> (String, Map<String, Value>) {
        let titles: HashMap<&str, &str> = titles.iter().map(|(name, title)| (name.as_str(), title.as_str())).collect();
        let placeholder = |name: &String| {
            let title = titles.get(name.as_str()).copied().unwrap_or(name);
            format!("{{{{{title}}}}}")
        };
        let (mut url, mut parameters) = (String::new(), Map::new());
        for part in &self.0 {
            let (operator, names) = match part {
                Part::Literal(literal) => {
                    url.push_str(literal);
                    continue;
                }
                Part::Expression(operator, names) => (operator.unwrap_or('+'), names),
            };
            for (index, name) in names.iter().enumerate() {
                match operator {
                    '?' | '&' => {
                        parameters.insert(name.clone(), placeholder(name).into());
                        continue;
                    }
                    ';' => url.push_str(&format!(";{name}=")),
                    '+' if index == 0 => {}
                    '#' if index == 0 => url.push('#'),
                    '+' | '#' => url.push(','),
                    separator => url.push(separator),
                }
                url.push_str(&placeholder(name));
            }
        }
        (url, parameters)
    }
}

/// A reference that may be a template, against a base that may be one.
fn resolve(base: &str, reference: &str) -> Option<String> {
    let hidden = |template: &str| template.replace('{', "%7B").replace('}', "%7D");
    let (base, reference) = (hidden(base), hidden(reference));
    let base = Iri::parse(base.as_str()).ok()?;
    let resolved = IriRef::parse(reference.as_str()).ok()?.resolve_against(&base.strip_fragment()).ok()?;
    Some(resolved.as_str().replace("%7B", "{").replace("%7D", "}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str) -> (String, Value) {
        let (url, parameters) = Target::parse(template).unwrap().fill(&[("a-b".into(), "a_b".into())]);
        (url, Value::Object(parameters))
    }

    #[test]
    fn templates_become_placeholders() {
        assert_eq!(filled("https://h/{a}/{+b}{/c,d}{#e,f}").0, "https://h/{{a}}/{{b}}/{{c}}/{{d}}#{{e}},{{f}}");
        assert_eq!(filled("https://h{.a}{;b}/{x,y}{z:3}").0, "https://h.{{a}};b={{b}}/{{x}},{{y}}{{z}}");
        let (url, parameters) = filled("https://h/x?n=1{&a-b,c*}");
        assert_eq!((url.as_str(), parameters), ("https://h/x?n=1", json!({"a-b": "{{a_b}}", "c": "{{c}}"})));
    }

    #[test]
    fn references_are_resolved() {
        let of = |base: &str, href: &str| {
            Target::of(&json!({"base": base}), &json!({"href": href})).map(|target| target.fill(&[]).0)
        };
        assert_eq!(of("https://h/a/", "b/{x}").unwrap(), "https://h/a/b/{{x}}");
        assert_eq!(of("https://{host}/a/", "/b").unwrap(), "https://{{host}}/b");
        assert_eq!(of("https://h/", "http://i/").unwrap(), "http://i/");
        for (base, href) in [("mqtt://h/", "x"), ("https://h/", "coap://h"), ("not a base", "x"), ("https://h", "{x")] {
            assert_eq!(of(base, href), None, "{base} {href}");
        }
        assert_eq!(Target::of(&json!({}), &json!({"href": "/x"})), None);
        assert_eq!(of(&format!("https://h/{}/", "x".repeat(LONGEST)), "x"), None);
    }
}
