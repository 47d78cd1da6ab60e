//! Commands for running packages, as typed in a shell.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::input::{is, is_secret, objects, text};

type Object = Map<String, Value>;

/// The command of a package, with the names of what has to be filled in in angle brackets; none for kinds of
/// packages that aren't run by a command.
pub(super) fn command(package: &Object) -> Option<Vec<String>> {
    let hint = text(package, "runtimeHint");
    if let (Some(hint), None, None) = (hint, text(package, "identifier"), text(package, "registryType")) {
        // A client runs it without a package.
        return Some(std::iter::once(hint.to_owned()).chain(arguments(package, "runtimeArguments")).collect());
    }
    let identifier = text(package, "identifier")?;
    let version = text(package, "version");
    let kind = text(package, "registryType")?;
    let with =
        |separator: &str| version.map_or(identifier.to_owned(), |version| format!("{identifier}{separator}{version}"));
    let runtime_arguments: Vec<String> = arguments(package, "runtimeArguments");
    let (program, usual, subject) = match kind {
        "npm" => ("npx", vec!["-y"], with("@")),
        "pypi" => ("uvx", Vec::new(), with("==")),
        "nuget" => ("dnx", Vec::new(), with("@")),
        "oci" => ("docker", vec!["run", "-i", "--rm"], in_registry(package, with(":"))),
        _ => return None,
    };
    let is_usual = hint.is_none_or(|hint| hint == program);
    let mut command = vec![hint.unwrap_or(program).to_owned()];
    let has_argument = |name: &str| runtime_arguments.iter().any(|known| known.split('=').next() == Some(name));
    let mut further = Vec::new();
    if let Some((flag, url)) = registry_flag(package, kind).filter(|(flag, _)| is_usual && !has_argument(flag)) {
        further.push(format!("{flag}={url}"));
    }
    if program == "docker" && is_usual {
        further.extend(passed_variables(package, &runtime_arguments));
    }
    // Arguments of `docker run` alone don't say that it is run.
    let is_run = kind != "oci" || runtime_arguments.iter().any(|argument| argument == "run");
    if is_usual && (runtime_arguments.is_empty() || !is_run) {
        command.extend(usual.into_iter().filter(|word| !has_argument(word)).map(str::to_owned));
    }
    command.extend(runtime_arguments.iter().cloned());
    command.extend(further);
    command.push(subject);
    command.extend(arguments(package, "packageArguments"));
    Some(command)
}

/// The registry of a package, unless it is the one that `public` names.
fn registry<'p>(package: &'p Object, public: &str) -> Option<&'p str> {
    let url = text(package, "registryBaseUrl")?.trim_end_matches('/');
    let host = url.strip_prefix("https://").or(url.strip_prefix("http://"))?;
    let is_plain = host.chars().all(|c| c.is_ascii_graphic());
    (is_plain && host.split('/').next() != Some(public)).then_some(url)
}

/// The flag of the usual program by which it takes packages from a registry, and its value.
fn registry_flag(package: &Object, kind: &str) -> Option<(&'static str, String)> {
    match kind {
        "npm" => Some(("--registry", registry(package, "registry.npmjs.org")?.to_owned())),
        "pypi" => {
            let url = registry(package, "pypi.org")?;
            // As at pypi.org, packages are listed below the address of the site (PEP 503).
            let is_site = !url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
            Some(("--index-url", if is_site { format!("{url}/simple") } else { url.to_owned() }))
        }
        "nuget" => Some(("--source", registry(package, "api.nuget.org")?.to_owned())),
        _ => None,
    }
}

/// The name of an image with the host of its registry.
fn in_registry(package: &Object, image: String) -> String {
    let host = image.split_once('/').map(|(host, _)| host);
    let is_complete = host.is_some_and(|host| host.contains(['.', ':']) || host == "localhost");
    let registry = registry(package, "docker.io").filter(|_| !is_complete);
    let place = registry.and_then(|url| Some(url.split_once("://")?.1));
    place.map_or_else(|| image.clone(), |place| format!("{place}/{image}"))
}

/// The flags by which a container gets the environment variables of a package.
fn passed_variables(package: &Object, runtime_arguments: &[String]) -> Vec<String> {
    let known: HashSet<&str> =
        runtime_arguments.iter().map(|argument| argument.split('=').next().unwrap_or_default()).collect();
    let variables = objects(package, "environmentVariables");
    let flags = variables.filter_map(|variable| {
        let name = text(variable, "name").filter(|name| !known.contains(name))?;
        let value = text(variable, "value").filter(|_| !is_secret(variable));
        Some(["-e".to_owned(), value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"))])
    });
    flags.flatten().collect()
}

fn arguments(package: &Object, list: &str) -> Vec<String> {
    let mut written = Vec::new();
    for argument in objects(package, list) {
        let given = text(argument, "value").or(text(argument, "default"));
        // Optional arguments without a value are the user's choice.
        let value = match given {
            Some(value) => Some(filled(value, argument)),
            None if is(argument, "isRequired") || text(argument, "valueHint").is_some() => {
                let name = text(argument, "valueHint").or(text(argument, "name")).unwrap_or("value");
                Some(format!("<{}>", name.trim_start_matches('-')))
            }
            None => None,
        };
        if text(argument, "type") == Some("named") {
            written.extend(text(argument, "name").map(str::to_owned));
        }
        written.extend(value);
    }
    written
}

/// A value with its variables as far as they have values; others stand in angle brackets.
fn filled(value: &str, argument: &Object) -> String {
    let declared = argument.get("variables").and_then(Value::as_object);
    let mut parts = value.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let named = part.split_once('}');
        match named.and_then(|(name, rest)| Some((name, declared?.get(name)?.as_object()?, rest))) {
            Some((name, variable, rest)) => {
                match text(variable, "value").or(text(variable, "default")).filter(|_| !is_secret(variable)) {
                    Some(known) => filled.push_str(known),
                    None => filled.push_str(&format!("<{name}>")),
                }
                filled.push_str(rest);
            }
            None => filled.extend(["{", part]),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(package: Value) -> String {
        command(package.as_object().unwrap()).unwrap().join(" ")
    }

    #[test]
    fn packages_come_from_their_registry() {
        let of = |kind: &str, identifier: &str, registry: &str| {
            run(
                json!({"registryType": kind, "identifier": identifier, "version": "1.0.0", "registryBaseUrl": registry}),
            )
        };
        for (kind, identifier, registry, expected) in [
            ("npm", "@a/x", "https://registry.npmjs.org", "npx -y @a/x@1.0.0"),
            ("npm", "@a/x", "https://npm.a.example/", "npx -y --registry=https://npm.a.example @a/x@1.0.0"),
            ("pypi", "x", "https://pypi.org/simple", "uvx x==1.0.0"),
            ("pypi", "x", "https://pypi.a.example", "uvx --index-url=https://pypi.a.example/simple x==1.0.0"),
            ("pypi", "x", "https://a.example/pypi/own", "uvx --index-url=https://a.example/pypi/own x==1.0.0"),
            ("nuget", "X", "https://api.nuget.org/v3/index.json", "dnx X@1.0.0"),
            ("nuget", "X", "https://a.example/v3/index.json", "dnx --source=https://a.example/v3/index.json X@1.0.0"),
            ("oci", "a/x", "https://docker.io", "docker run -i --rm a/x:1.0.0"),
            ("oci", "a/x", "https://oci.a.example:5000", "docker run -i --rm oci.a.example:5000/a/x:1.0.0"),
            ("oci", "ghcr.io/a/x", "https://ghcr.io", "docker run -i --rm ghcr.io/a/x:1.0.0"),
            ("npm", "@a/x", "--registry=https://b.example", "npx -y @a/x@1.0.0"),
        ] {
            assert_eq!(of(kind, identifier, registry), expected);
        }
        let own = json!([{"type": "named", "name": "--registry", "value": "https://b.example"}]);
        let package = json!({"registryType": "npm", "identifier": "x", "registryBaseUrl": "https://a.example", "runtimeArguments": own});
        assert_eq!(run(package), "npx --registry https://b.example x");
        let package = json!({"registryType": "npm", "identifier": "x", "registryBaseUrl": "https://a.example", "runtimeHint": "bunx"});
        assert_eq!(run(package), "bunx x");
    }

    #[test]
    fn containers_get_the_variables() {
        let variables = json!([
            {"name": "KEY", "isRequired": true, "isSecret": true, "value": "[redacted]"}, {"name": "LOG"}, {"name": "REGION", "value": "eu"},
        ]);
        let mut package = json!({"registryType": "oci", "identifier": "a/x", "environmentVariables": variables});
        assert_eq!(run(package.clone()), "docker run -i --rm -e KEY -e LOG -e REGION=eu a/x");
        package["runtimeArguments"] = json!([
            {"type": "named", "name": "--mount", "value": "src={s},dst={d}", "variables": {"s": {"isRequired": true}, "d": {"default": "/p"}}},
        ]);
        let mounted = "docker run -i --rm --mount src=<s>,dst=/p -e KEY -e LOG -e REGION=eu a/x";
        assert_eq!(run(package.clone()), mounted);
        package["runtimeArguments"] = json!([
            {"type": "positional", "value": "run"}, {"type": "named", "name": "-e", "value": "KEY"},
            {"type": "named", "name": "-e", "value": "LOG=debug"},
        ]);
        assert_eq!(run(package), "docker run -e KEY -e LOG=debug -e REGION=eu a/x");
    }
}
