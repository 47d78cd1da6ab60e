//! The message for a failed command: the error, its causes, and a hint if a registry refused the request.

use serde_json::{Value, json};

use agentdex_client as client;
use agentdex_consumer as consumer;

/// Returns an error with its causes on one line, without repeating a cause that an error names itself. For an error of the
/// client, a hint follows on the next line.
pub(super) fn causes(error: &anyhow::Error) -> String {
    let (message, hint) = message_and_hint(error);
    hint.into_iter().fold(message, |message, hint| format!("{message}\n  {hint}"))
}

/// Returns an error as `--json` prints it: the message, a hint if there is one, and the problem document of the registry.
pub(super) fn to_json(error: &anyhow::Error) -> Value {
    let (message, hint) = message_and_hint(error);
    // Errors of this program have their hint on the lines after the message.
    let (message, own_hint) =
        message.split_once("\n  ").map_or((message.as_str(), None), |(first, rest)| (first, Some(rest)));
    let mut object = json!({"error": message});
    if let Some(hint) = hint.or(own_hint) {
        object["hint"] = hint.into();
    }
    let problem = error.chain().find_map(|cause| cause.downcast_ref::<client::Error>()?.problem());
    // A response without a code isn't one of a registry.
    if let Some(problem) = problem.filter(|problem| !problem.code.is_empty()) {
        object["problem"] = json!(problem);
    }
    if let Some(answer) = error.chain().find_map(rejected_answer_of) {
        object["answer"] = answer.clone();
    }
    object
}

/// Returns the answer of an agent that can't be used, if an error is about one.
pub(super) fn rejected_answer_of<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Value> {
    match error.downcast_ref::<consumer::Error>() {
        Some(consumer::Error::InvalidAnswer { answer, .. }) => Some(answer),
        _ => None,
    }
}

fn message_and_hint(error: &anyhow::Error) -> (String, Option<&'static str>) {
    let mut said = String::new();
    for cause in error.chain() {
        // A cause may quote what others wrote, in which only a command may color.
        let (mut message, mut hint) = (cause.to_string().replace('\u{1b}', "\u{fffd}"), None);
        let refusal = cause.downcast_ref::<client::Error>();
        if let Some(error) = refusal {
            if let Some(before) = said.strip_suffix(&message) {
                said.truncate(before.len());
            }
            (message, hint) = explain(error);
            message = message.replace('\u{1b}', "\u{fffd}");
        }
        said = match said.trim_end_matches(": ") {
            "" => message,
            _ if said.ends_with(&message) => said,
            before => format!("{before}: {message}"),
        };
        if refusal.is_some() {
            // The rest is of the HTTP library.
            return (said, hint);
        }
    }
    (said, None)
}

/// Codes of unavailability that doesn't end by waiting. Their messages say what to do.
const SELF_EXPLANATORY: [&str; 5] = ["writes-closed", "outcome-unknown", "query-too-costly", "clock-skew", "cut-off"];

/// Returns the message for an error of the client, and a hint what to do about it.
fn explain(error: &client::Error) -> (String, Option<&'static str>) {
    let hint = match error {
        client::Error::Unreachable { reason, .. } if reason.contains("certificate") => Some(
            "if a private authority issued the certificate, pass the authority's certificate with --ca or AGENTDEX_CA",
        ),
        // The reason says what to do.
        client::Error::Unreachable { reason, .. } if reason.contains("doesn't speak") => None,
        client::Error::Unreachable { .. } => {
            Some("is `agentdex serve` running there? Use --url or AGENTDEX_URL for another address")
        }
        client::Error::Refused(problem) => match problem.status {
            401 if problem.code == "unauthenticated" => {
                Some("set AGENTDEX_API_KEY or --api-key; admins create keys with `agentdex keys create`")
            }
            // The registry itself says what to do.
            401 | 403 if !problem.code.is_empty() => None,
            401 | 403 => Some(
                "if a proxy in front of the registry requires credentials, use https://USER:PASSWORD@HOST as the URL",
            ),
            501 if problem.code == "query-language-not-offered" => {
                Some("enable it with `agentdex serve --sparql`, or use --jsonpath")
            }
            404 if problem.code == "no-such-key" => Some("`agentdex keys list` lists the keys"),
            404 if problem.code == "not-tracked" => Some("`agentdex imports` lists the tracked sources"),
            404 if problem.code == "not-clustered" => Some(
                "nodes of a cluster run with `agentdex serve --cluster`; `agentdex status` shows a single registry",
            ),
            404 if problem.code == "unknown-path" => {
                Some("set --url or AGENTDEX_URL to the registry's URL, without the path of a resource")
            }
            404 if problem.code == "not-found" => {
                Some("`agentdex list` lists the agents, `agentdex queries list` the saved queries")
            }
            404 if !problem.code.is_empty() => None,
            _ if problem.code.is_empty() => {
                Some("is this the registry? Set --url or AGENTDEX_URL to its URL, such as http://127.0.0.1:8080")
            }
            // The message says what to do.
            503 if SELF_EXPLANATORY.contains(&problem.code.as_str()) => None,
            503 => Some("this is usually temporary; try again in a moment"),
            _ => None,
        },
        _ => None,
    };
    let what = match error.problem().filter(|problem| !problem.validation_errors.is_empty()) {
        // Its detail names the routes of the REST API.
        None if error.problem().is_some_and(|problem| problem.code == "query-language-not-offered") => {
            "this registry doesn't offer SPARQL".to_owned()
        }
        Some(problem) => {
            let url = problem.members.get("url").and_then(Value::as_str);
            let what = match problem.code.as_str() {
                "invalid-document" if url.is_some() => {
                    &*format!("the document from {} is not valid", url.unwrap_or_default())
                }
                "invalid-document" => "the document is not valid",
                "credential-in-description" => {
                    "the description contains credentials; remove them, and declare the authentication in \
                     `securityDefinitions`; also revoke the credentials, since they were transmitted"
                }
                _ => "the Thing Description is not valid",
            };
            format!("{what} (status {}){}", problem.status, validation_errors(problem))
        }
        None => error.to_string(),
    };
    (what, hint)
}

fn validation_errors(problem: &client::Problem) -> String {
    problem.validation_errors.iter().map(|error| format!("\n  {}: {}", error.field, error.description)).collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn causes_have_no_escape_sequences() {
        let quoted = anyhow::anyhow!("it has no \u{1b}[31mX").context("calling \u{1b}]0;Y");
        assert_eq!(causes(&quoted), "calling \u{fffd}]0;Y: it has no \u{fffd}[31mX");
    }

    #[test]
    fn cause_is_reported_once() {
        let missing = || io::Error::from_raw_os_error(2);
        let once = missing().to_string();
        let error = agentdex::Error::Io { doing: "opening a".into(), source: missing() };
        assert_eq!(causes(&anyhow::Error::new(error).context("starting")), format!("starting: opening a: {once}"));
        assert_eq!(causes(&anyhow::Error::new(missing()).context("opening a")), format!("opening a: {once}"));
    }

    #[test]
    fn registry_that_is_not_there_is_explained_once() {
        let unreachable = || client::Error::Unreachable {
            url: "http://a/".into(),
            reason: "refused".into(),
            source: "of the library".into(),
        };
        let expected = "the registry at http://a/ can't be reached: refused\n  is `agentdex serve` running there? Use --url or \
            AGENTDEX_URL for another address";
        assert_eq!(causes(&unreachable().into()), expected);
        let text = causes(&anyhow::Error::new(unreachable()).context("the file isn't complete"));
        assert_eq!(text, format!("the file isn't complete: {expected}"));
        let directory = agentdex_consumer::Error::Directory { source: unreachable().into() };
        assert_eq!(causes(&directory.into()), format!("the registry can't be queried: {expected}"));
    }
}
