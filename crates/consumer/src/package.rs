//! Packages: MCP servers to be run by the callers themselves, as listed in `mcp:packages` of a description.

use std::borrow::Cow;

use serde_json::Value;

/// Maximum number of packages that are shown.
const MAX_SHOWN: usize = 4;

/// Returns instructions for running and connecting to the server, if it is published as packages for local use.
pub(super) fn instructions(description: &Value) -> Option<String> {
    let packages = description.get("mcp:packages").and_then(Value::as_array)?;
    // In the configuration of a client.
    let directory = description.get("mcp:cwd").and_then(Value::as_str);
    let shown: Vec<String> =
        packages.iter().filter_map(|package| instruction(package, directory)).take(MAX_SHOWN).collect();
    (!shown.is_empty()).then(|| format!("it must run on the caller's machine: {}", shown.join("; or ")))
}

fn instruction(package: &Value, directory: Option<&str>) -> Option<String> {
    let text = |name: &str| package.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let command = package.get("mcp:command").and_then(Value::as_array);
    let words: Vec<&str> = command.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut instruction = match (words.is_empty(), text("mcp:registryType"), text("mcp:identifier")) {
        (false, ..) => format!("start `{}`", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
        (true, Some(kind), Some(identifier)) => format!("install the {kind} package {identifier}"),
        _ => return None,
    };
    let is_named = |registry: &str| {
        let host = registry.split("://").last().unwrap_or(registry).trim_end_matches('/');
        words.iter().copied().chain(text("mcp:identifier")).any(|word| word.contains(host))
    };
    if let Some(registry) = text("mcp:registryBaseUrl").filter(|registry| !is_named(registry)) {
        instruction += &format!(" from the registry {registry}");
    }
    if let Some(hash) = text("mcp:fileSha256") {
        instruction += &format!(" (SHA-256 of its file: {hash})");
    }
    if let Some(directory) = text("agentspec:workingDirectory").or(directory) {
        instruction += &format!(" in the directory {}", quoted(directory));
    }
    let variables: Vec<Cow<'_, str>> = inputs(package, "mcp:environmentVariables").collect();
    if !variables.is_empty() {
        instruction += &format!(" with {} set", variables.join(", "));
    }
    let transport = package.get("mcp:transport");
    let url = transport.and_then(|transport| Some(with_defaults(transport.get("mcp:url")?.as_str()?, package)));
    let place = url.map_or("over its standard input and output".to_owned(), |url| format!("at {url}"));
    instruction += &format!(", and speak MCP {place}");
    let headers: Vec<Cow<'_, str>> =
        transport.into_iter().flat_map(|transport| inputs(transport, "mcp:headers")).collect();
    if !headers.is_empty() {
        instruction += &format!(" with the headers {}", headers.join(", "));
    }
    if words.iter().any(|word| word.contains('<') && word.contains('>')) {
        instruction += " (replace the parts in angle brackets)";
    }
    Some(instruction)
}

/// Returns the URL of a transport with the default values of arguments and environment variables.
fn with_defaults(url: &str, package: &Value) -> String {
    let variables = package.pointer("/mcp:transport/mcp:variables").and_then(Value::as_object).into_iter().flatten();
    let lists = ["mcp:packageArguments", "mcp:runtimeArguments", "mcp:environmentVariables"];
    let listed = lists.iter().filter_map(|list| package.get(*list)?.as_array()).flatten();
    let inputs = listed.flat_map(|input| {
        let names = ["mcp:valueHint", "mcp:name"].into_iter().filter_map(|member| input.get(member)?.as_str());
        names.map(move |name| (name.trim_start_matches('-'), input))
    });
    let known = variables.map(|(name, variable)| (name.trim_start_matches("mcp:"), variable)).chain(inputs);
    known.fold(url.to_owned(), |url, (name, input)| {
        let value = ["mcp:value", "mcp:default"].into_iter().find_map(|member| input.get(member));
        let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        text.map_or(url.clone(), |text| url.replace(&format!("{{{name}}}"), &text))
    })
}

/// Returns the inputs that callers must provide, and those with a value.
fn inputs<'p>(owner: &'p Value, list: &str) -> impl Iterator<Item = Cow<'p, str>> + use<'p> {
    let listed = owner.get(list).and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(|input| {
        let is = |flag: &str| input.get(flag) == Some(&Value::Bool(true));
        let name = input.get("mcp:name")?.as_str()?;
        match input.get("mcp:value").and_then(Value::as_str).filter(|_| !is("mcp:isSecret")) {
            Some(value) => Some(format!("{name}={}", quoted(value)).into()),
            None => is("mcp:isRequired").then_some(name.into()),
        }
    })
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
                "it must run on the caller's machine: start `npx -y @x/y@1.0.0 'a b'` with KEY set, and speak MCP over its \
                 standard input and output; or install the mcpb package https://x.example/y.mcpb, and speak MCP at \
                 http://localhost:8080/sse"
            )
        );
        let packages = json!([{
            "mcp:registryType": "npm", "mcp:identifier": "@x/y", "mcp:registryBaseUrl": "https://npm.x.example", "mcp:command": ["bunx", "@x/y"],
            "mcp:environmentVariables": [{"mcp:name": "REGION", "mcp:value": "eu west"}],
            "mcp:transport": {"mcp:type": "sse", "mcp:url": "http://localhost/sse", "mcp:headers": [
                {"mcp:name": "X-Key", "mcp:isSecret": true, "mcp:isRequired": true, "mcp:value": "{key}"}, {"mcp:name": "X-Trace"},
            ]},
        }]);
        assert_eq!(
            instructions(&json!({"mcp:packages": packages})).as_deref(),
            Some(
                "it must run on the caller's machine: start `bunx @x/y` from the registry https://npm.x.example with \
                 REGION='eu west' set, and speak MCP at http://localhost/sse with the headers X-Key"
            )
        );
        let file = json!([{
            "mcp:registryType": "mcpb", "mcp:identifier": "https://github.com/y.mcpb", "mcp:registryBaseUrl": "https://github.com",
            "mcp:fileSha256": "fe33", "mcp:transport": {"mcp:type": "stdio"},
        }]);
        assert_eq!(
            instructions(&json!({"mcp:packages": file})).as_deref(),
            Some(
                "it must run on the caller's machine: install the mcpb package https://github.com/y.mcpb (SHA-256 of its \
                 file: fe33), and speak MCP over its standard input and output"
            )
        );
        for package in [
            json!({"mcp:packages": [{"mcp:command": ["serve"], "agentspec:workingDirectory": "/srv/a b"}]}),
            json!({"mcp:packages": [{"mcp:command": ["serve"]}], "mcp:cwd": "/srv/a b"}),
        ] {
            let text = instructions(&package).unwrap();
            assert!(text.contains("start `serve` in the directory '/srv/a b', and speak MCP"), "{text}");
        }
        let served = json!([{
            "mcp:command": ["docker", "run", "--mount", "src=<dir>", "x"], "mcp:packageArguments": [{"mcp:name": "--port", "mcp:default": "3000"}],
            "mcp:transport": {"mcp:url": "http://127.0.0.1:{port}/mcp"},
        }]);
        let text = instructions(&json!({"mcp:packages": served})).unwrap();
        assert!(
            text.ends_with("speak MCP at http://127.0.0.1:3000/mcp (replace the parts in angle brackets)"),
            "{text}"
        );
        assert_eq!(instructions(&json!({"mcp:packages": [{}]})), None);
        assert_eq!(instructions(&json!({})), None);
    }
}
