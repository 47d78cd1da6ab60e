//! Servers in configurations in JSON, which may have comments and trailing commas. Text is inserted, and otherwise only the
//! server's own value is replaced.

use anyhow::{Context, bail};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions,
    ast::{self, ObjectProp},
    common::{Range, Ranged},
    parse_to_ast,
};
use serde::Serialize;
use serde_json::{Map, Value, json, ser::PrettyFormatter};

use agentdex::convert::mcp_server::Configuration;

/// Member of a configuration of VS Code with the values that it asks for.
const INPUTS: &str = "inputs";

/// Returns a text with the server of a configuration; `None` if it has the same server already.
///
/// # Errors
/// Invalid JSON, a name already taken unless `replaces` is set, and members of another type.
pub(super) fn with_server(text: &str, configuration: &Configuration, replaces: bool) -> anyhow::Result<Option<String>> {
    let (member, name) = (configuration.client.servers_member(), configuration.name.as_str());
    let before = Document::parse(text)?;
    let mut expected = before.value.clone();
    let root = before.root()?;
    let servers = match find(root, member)?.map(|found| &found.value) {
        None => None,
        Some(ast::Value::Object(servers)) => Some(servers),
        Some(_) => bail!("`{member}` isn't an object"),
    };
    let existing = servers.map(|servers| find(servers, name)).transpose()?.flatten();
    let entry = &configuration.entry;
    let known = &before.value[member][name];
    let is_replaced = existing.is_some();
    let edited = match (servers, existing) {
        (_, Some(_)) if known == entry => text.to_owned(),
        (_, Some(_)) if !replaces => {
            bail!("the file already contains a server named {name:?}; use --replace, or another --name")
        }
        (_, Some(existing)) => before.layout.replace(text, existing, entry),
        (Some(servers), None) => before.layout.add_member(text, servers, name, entry),
        (None, None) => before.layout.add_member(text, root, member, &json!({ name: entry })),
    };
    if expected.get(member).is_none() {
        expected[member] = json!({});
    }
    expected[member][name] = entry.clone();
    let edited = with_inputs(edited, configuration, is_replaced, &mut expected)?;
    if edited == text {
        return Ok(None);
    }
    match Document::parse(&edited) {
        Ok(after) if after.value == expected => Ok(Some(edited)),
        _ => bail!("the file can't be edited automatically; add the server yourself"),
    }
}

/// Adds missing inputs. An input of another server isn't reused: its value is for that server only.
fn with_inputs(
    mut text: String,
    configuration: &Configuration,
    is_replaced: bool,
    expected: &mut Value,
) -> anyhow::Result<String> {
    for input in &configuration.inputs {
        let document = Document::parse(&text)?;
        let root = document.root()?;
        let known = document.value.get(INPUTS).and_then(Value::as_array).into_iter().flatten();
        let is_known = known.clone().any(|known| known["id"] == input["id"]);
        let edited = match find(root, INPUTS)?.map(|found| &found.value) {
            _ if is_known && !is_replaced => bail!(
                "the file already contains an input {}; choose another name for the server with --name",
                input["id"]
            ),
            _ if is_known => continue,
            None => document.layout.add_member(&text, root, INPUTS, &json!([input])),
            Some(ast::Value::Array(inputs)) => document.layout.add_element(&text, inputs, input),
            Some(_) => bail!("`{INPUTS}` isn't an array"),
        };
        if expected.get(INPUTS).is_none() {
            expected[INPUTS] = json!([]);
        }
        expected[INPUTS].as_array_mut().context("not an array")?.push(input.clone());
        text = edited;
    }
    Ok(text)
}

/// A parsed configuration.
struct Document<'t> {
    root: ast::Value<'t>,
    value: Value,
    layout: Layout,
}

impl<'t> Document<'t> {
    fn parse(text: &'t str) -> anyhow::Result<Document<'t>> {
        // JSON but for comments and trailing commas.
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let collected = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
        let parsed = parse_to_ast(text, &collected, &options).context("not valid JSON")?;
        let root = parsed.value.context("the file contains no JSON value; add an empty object, and try again")?;
        let value = to_json(text, &root)?;
        Ok(Document { root, value, layout: Layout::of(text) })
    }

    fn root(&self) -> anyhow::Result<&ast::Object<'t>> {
        self.root.as_object().context("not a JSON object")
    }
}

/// The member of an object by its name.
fn find<'o, 't>(object: &'o ast::Object<'t>, name: &str) -> anyhow::Result<Option<&'o ObjectProp<'t>>> {
    let mut found = object.properties.iter().filter(|member| member.name.as_str() == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => bail!("the member {name:?} occurs more than once; remove the duplicates"),
        (found, _) => Ok(found),
    }
}

/// The value of a syntax tree, whose depth the parser bounds.
fn to_json(text: &str, value: &ast::Value<'_>) -> anyhow::Result<Value> {
    let written = |range: Range| text.get(range.start..range.end).unwrap_or_default();
    // The parser takes strings with line breaks and other control characters, and JSON doesn't.
    let check = |range: Range| match written(range).contains(|c: char| c < ' ') {
        true => bail!("not valid JSON: a control character in a string"),
        false => Ok(()),
    };
    Ok(match value {
        ast::Value::StringLit(string) => {
            check(string.range)?;
            string.value.as_ref().into()
        }
        ast::Value::NumberLit(number) => serde_json::from_str(number.value).context("not valid JSON")?,
        ast::Value::BooleanLit(boolean) => boolean.value.into(),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => {
            array.elements.iter().map(|element| to_json(text, element)).collect::<anyhow::Result<_>>()?
        }
        ast::Value::Object(object) => {
            let mut members = Map::new();
            for member in &object.properties {
                check(member.name.range())?;
                members.insert(member.name.as_str().to_owned(), to_json(text, &member.value)?);
            }
            members.into()
        }
    })
}

/// The line breaks and the indentation of a text.
struct Layout {
    newline: &'static str,
    unit: String,
}

impl Layout {
    fn of(text: &str) -> Layout {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indentation = |line: &str| line.get(..line.len() - line.trim_start().len()).unwrap_or_default().to_owned();
        let member = text.lines().skip(1).find(|line| line.trim_start().starts_with('"') && !line.starts_with('"'));
        Layout { newline, unit: member.map_or_else(|| "  ".to_owned(), indentation) }
    }

    fn add_member(&self, text: &str, object: &ast::Object<'_>, name: &str, value: &Value) -> String {
        let items: Vec<Range> = object.properties.iter().map(|member| member.range).collect();
        let item = |indent: Option<&str>| format!("{}: {}", Value::from(name), self.written(value, indent));
        self.insert(text, object.range, &items, item)
    }

    fn add_element(&self, text: &str, array: &ast::Array<'_>, value: &Value) -> String {
        let items: Vec<Range> = array.elements.iter().map(Ranged::range).collect();
        self.insert(text, array.range, &items, |indent| self.written(value, indent))
    }

    /// Replaces the value of a member.
    fn replace(&self, text: &str, member: &ObjectProp<'_>, value: &Value) -> String {
        let old = member.value.range();
        let is_long = text.get(old.start..old.end).is_some_and(|old| old.contains('\n'));
        let indent = indent_at(text, member.range.start).filter(|_| is_long || starts_line(text, member.range.start));
        spliced(text, old.start, old.end, &self.written(value, indent))
    }

    /// Adds an item at the end of an object or array. The item gets lines of its own, unless the last item shares its line with
    /// others.
    fn insert(&self, text: &str, container: Range, items: &[Range], item: impl Fn(Option<&str>) -> String) -> String {
        let newline = self.newline;
        let Some(last) = items.last() else {
            let inner = text.get(container.start + 1..container.end - 1).unwrap_or_default();
            let position = container.start + 1 + inner.trim_end().len();
            let outer = indent_at(text, container.start).unwrap_or_default();
            let indent = format!("{outer}{}", self.unit);
            let rest = text.get(position..container.end - 1).unwrap_or_default();
            let closing = if rest.contains('\n') { String::new() } else { format!("{newline}{outer}") };
            let added = format!("{newline}{indent}{}{closing}", item(Some(&indent)));
            return spliced(text, position, position, &added);
        };
        let comma = comma_after(text, last.end);
        if !starts_line(text, last.start) {
            let (position, added) = match comma {
                Some(comma) => (comma + 1, format!(" {},", item(None))),
                None => (last.end, format!(", {}", item(None))),
            };
            return spliced(text, position, position, &added);
        }
        let indent = indent_at(text, last.start).unwrap_or_default();
        let added = format!("{newline}{indent}{}", item(Some(indent)));
        match comma {
            Some(comma) => {
                let position = end_of_line(text, comma + 1);
                spliced(text, position, position, &format!("{added},"))
            }
            None => {
                // A comment behind the last item stays with it.
                let position = end_of_line(text, last.end);
                let text = spliced(text, position, position, &added);
                spliced(&text, last.end, last.end, ",")
            }
        }
    }

    /// A value as text, indented or on a single line.
    fn written(&self, value: &Value, indent: Option<&str>) -> String {
        let Some(indent) = indent else { return value.to_string() };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        match value.serialize(&mut serializer) {
            Ok(()) => String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.newline)),
            Err(_) => value.to_string(),
        }
    }
}

fn spliced(text: &str, start: usize, end: usize, new: &str) -> String {
    [text.get(..start).unwrap_or_default(), new, text.get(end..).unwrap_or_default()].concat()
}

/// The spaces at the beginning of the line of a position.
fn indent_at(text: &str, position: usize) -> Option<&str> {
    let line = text.get(..position)?.rsplit('\n').next()?;
    line.get(..line.len() - line.trim_start().len())
}

/// True if only spaces are before a position on its line, which isn't the first.
fn starts_line(text: &str, position: usize) -> bool {
    let before = text.get(..position).unwrap_or_default();
    before.rsplit_once('\n').is_some_and(|(_, line)| line.trim_start().is_empty())
}

/// The comma that follows an item, after spaces and comments.
fn comma_after(text: &str, mut position: usize) -> Option<usize> {
    loop {
        let rest = text.get(position..)?;
        let trimmed = rest.trim_start();
        position += rest.len() - trimmed.len();
        if trimmed.starts_with(',') {
            return Some(position);
        }
        position += comment_length(trimmed)?;
    }
}

/// The end of the comments that follow a position on its line.
fn end_of_line(text: &str, mut position: usize) -> usize {
    let mut end = position;
    while let Some(rest) = text.get(position..) {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let Some(length) = comment_length(trimmed) else { break };
        let comment = trimmed.get(..length).unwrap_or_default();
        if comment.contains('\n') {
            break;
        }
        position += rest.len() - trimmed.len() + length;
        end = position;
    }
    end
}

/// The length of the comment at the beginning of a text.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find(['\r', '\n']).unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?.find("*/").map(|end| end + 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentdex::convert::mcp_server::{McpClient, RegistryAddress};

    fn edit_for(client: McpClient, text: &str, replaces: bool) -> anyhow::Result<Option<String>> {
        let address = RegistryAddress {
            url: "https://r.example",
            needs_key: client == McpClient::VsCode,
            program: "agentdex",
            context: None,
        };
        with_server(text, &Configuration::of_registry(client, address, None)?, replaces)
    }

    fn edit(text: &str, replaces: bool) -> anyhow::Result<Option<String>> {
        edit_for(McpClient::Cursor, text, replaces)
    }

    #[test]
    fn server_is_inserted() {
        let long = "\"agentdex\": {\n      \"url\": \"https://r.example/mcp\"\n    }";
        for (before, after) in [
            (
                "{\n  \"mcpServers\": {\n    \"a\": {} // of a\n    // last\n  }\n}\n",
                format!("{{\n  \"mcpServers\": {{\n    \"a\": {{}}, // of a\n    {long}\n    // last\n  }}\n}}\n"),
            ),
            (
                "{\n  \"mcpServers\": {\n    \"a\": {}, /* x */ // y\n  },\n}",
                format!("{{\n  \"mcpServers\": {{\n    \"a\": {{}}, /* x */ // y\n    {long},\n  }},\n}}"),
            ),
            ("{\n  \"mcpServers\": {}\n}", format!("{{\n  \"mcpServers\": {{\n    {long}\n  }}\n}}")),
            (
                "{\n  \"mcpServers\": {\n    // none\n  }\n}",
                format!("{{\n  \"mcpServers\": {{\n    // none\n    {long}\n  }}\n}}"),
            ),
            ("{\n  \"x\": 1\n}\n", format!("{{\n  \"x\": 1,\n  \"mcpServers\": {{\n    {long}\n  }}\n}}\n")),
            ("{}", format!("{{\n  \"mcpServers\": {{\n    {long}\n  }}\n}}")),
            (
                "{\"mcpServers\":{\"a\":1 /* x */}}",
                "{\"mcpServers\":{\"a\":1, \"agentdex\": {\"url\":\"https://r.example/mcp\"} /* x */}}".to_owned(),
            ),
            (
                "{\"mcpServers\":{\"a\":1, }} // end",
                "{\"mcpServers\":{\"a\":1, \"agentdex\": {\"url\":\"https://r.example/mcp\"}, }} // end".to_owned(),
            ),
        ] {
            let edited = edit(before, false).unwrap().unwrap();
            assert_eq!(edited, after);
            assert_eq!(edit(&edited, false).unwrap(), None);
            assert_eq!(edit(&edited.replace("r.example", "old.example"), true).unwrap().unwrap(), after);
            assert!(edit(&edited.replace("r.example", "old.example"), false).is_err());
            let crlf = edit(&before.replace('\n', "\r\n"), false).unwrap().unwrap();
            assert_eq!(crlf, if before.contains('\n') { after.replace('\n', "\r\n") } else { after });
        }
    }

    #[test]
    fn inputs_are_added_once() {
        let before = "{\n\t\"inputs\": [\n\t\t{\"id\": \"mine\"}\n\t]\n}\n";
        let edited = edit_for(McpClient::VsCode, before, false).unwrap().unwrap();
        let value: Value = serde_json::from_str(&edited).unwrap();
        assert_eq!(
            (value["inputs"][0]["id"].as_str(), value["inputs"][1]["id"].as_str()),
            (Some("mine"), Some("agentdex-api-key"))
        );
        let old = edited.replace("r.example", "old.example");
        assert_eq!(edit_for(McpClient::VsCode, &old, true).unwrap().unwrap(), edited);
        // Its value is that of another server.
        let taken = before.replace("mine", "agentdex-api-key");
        assert!(edit_for(McpClient::VsCode, &taken, false).is_err());
        assert!(edit_for(McpClient::VsCode, "{\"inputs\": {}}", false).is_err());
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for text in [
            "",
            " ",
            "// x",
            "[]",
            "1",
            "{",
            "{\"a\": \"\n\"}",
            "{\"a\": 'b'}",
            "{a: 1}",
            "{\"a\": 1 \"b\": 2}",
            "{} {}",
            "{\"a\": 01}",
            "{\"mcpServers\": []}",
            "{\"mcpServers\": null}",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            &deep,
            "{\"mcpServers\": {\"agentdex\": 1, \"agentdex\": 2}}",
            "{\"a\": /* }",
        ] {
            assert!(edit(text, true).is_err(), "{text}");
        }
    }
}
