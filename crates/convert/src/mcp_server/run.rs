//! Commands that run packages, as a person or program would type them.

use serde_json::{Map, Value};

use super::input::{is, objects, text};

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
        "oci" => ("docker", vec!["run", "-i", "--rm"], with(":")),
        _ => return None,
    };
    let mut command = vec![hint.unwrap_or(program).to_owned()];
    match runtime_arguments.is_empty() {
        true if hint.is_none_or(|hint| hint == program) => command.extend(usual.into_iter().map(str::to_owned)),
        true => {}
        false => command.extend(runtime_arguments),
    }
    command.push(subject);
    command.extend(arguments(package, "packageArguments"));
    Some(command)
}

fn arguments(package: &Object, list: &str) -> Vec<String> {
    let mut written = Vec::new();
    for argument in objects(package, list) {
        let given = text(argument, "value").or(text(argument, "default"));
        // Optional arguments without a value are the user's choice.
        let value = match given {
            Some(value) => Some(value.to_owned()),
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
