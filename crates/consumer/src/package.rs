//! Packages: MCP servers that callers run themselves, as `mcp:packages` of a description has them.

use std::borrow::Cow;

use serde_json::Value;

/// Maximum number of packages that are shown.
const MAX_SHOWN: usize = 4;

/// Tells how the server of a description is run and spoken to, if it is one that callers run themselves.
pub(super) fn instructions(description: &Value) -> Option<String> {
    let packages = description.get("mcp:packages").and_then(Value::as_array)?;
    let shown: Vec<String> = packages.iter().filter_map(instruction).take(MAX_SHOWN).collect();
    (!shown.is_empty()).then(|| format!("it runs on the caller's machine: {}", shown.join("; or ")))
}

fn instruction(package: &Value) -> Option<String> {
    let text = |name: &str| package.get(name).and_then(Value::as_str);
    let command = package.get("mcp:command").and_then(Value::as_array);
    let words: Vec<Cow<'_, str>> = command.into_iter().flatten().filter_map(Value::as_str).map(quoted).collect();
    let start = match (words.is_empty(), text("mcp:registryType"), text("mcp:identifier")) {
        (false, ..) => format!("start `{}`", words.join(" ")),
        (true, Some(kind), Some(identifier)) => format!("install the {kind} package {identifier}"),
        _ => return None,
    };
    let variables = package.get("mcp:environmentVariables").and_then(Value::as_array).into_iter().flatten();
    let is_required = |variable: &&Value| variable.get("mcp:isRequired") == Some(&Value::Bool(true));
    let names = variables.filter(is_required).filter_map(|variable| variable.get("mcp:name")?.as_str());
    let names: Vec<&str> = names.collect();
    let setting = if names.is_empty() { String::new() } else { format!(" with {} set", names.join(", ")) };
    let transport = package.get("mcp:transport");
    let url = transport.and_then(|transport| transport.get("mcp:url")?.as_str());
    let place = url.map_or("over its standard input and output".to_owned(), |url| format!("at {url}"));
    Some(format!("{start}{setting}, and speak MCP {place}"))
}

/// A word of a command as a POSIX shell takes it.
fn quoted(word: &str) -> Cow<'_, str> {
    // What is to be filled in stands in angle brackets.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,<>".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn command_its_variables_and_its_transport_are_told() {
        let packages = json!([
            {"mcp:command": ["npx", "-y", "@x/y@1.0.0", "a b"], "mcp:transport": {"mcp:type": "stdio"},
             "mcp:environmentVariables": [{"mcp:name": "KEY", "mcp:isRequired": true}, {"mcp:name": "LOG"}]},
            {"mcp:registryType": "mcpb", "mcp:identifier": "https://x.example/y.mcpb", "mcp:transport": {"mcp:type": "sse", "mcp:url": "http://localhost:8080/sse"}},
        ]);
        assert_eq!(
            instructions(&json!({"mcp:packages": packages})).as_deref(),
            Some(
                "it runs on the caller's machine: start `npx -y @x/y@1.0.0 'a b'` with KEY set, and speak MCP over its \
                 standard input and output; or install the mcpb package https://x.example/y.mcpb, and speak MCP at \
                 http://localhost:8080/sse"
            )
        );
        assert_eq!(instructions(&json!({"mcp:packages": [{}]})), None);
        assert_eq!(instructions(&json!({})), None);
    }
}
