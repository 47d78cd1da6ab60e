//! Refusals tell of an agent that their caller doesn't see at most that its id is taken.

use serde_json::{Value, json};

use super::server::{
    Server,
    Who::{Alice, Bob, Dana, Nobody},
    agent,
};
use crate::support::openapi;

const A: &str = "urn:hidden";

/// The operations that have preconditions, with their ids filled in.
fn operations() -> Vec<(String, String)> {
    let document: Value = openapi();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let has_condition = parameters
                .iter()
                .any(|parameter| matches!(parameter["name"].as_str(), Some("If-Match" | "If-None-Match")));
            if has_condition {
                operations.push((method.to_uppercase(), path.replace("{id}", A).replace("{name}", "hidden")));
            }
        }
    }
    assert!(operations.len() >= 10, "{operations:?}");
    operations
}

fn body(method: &str, path: &str) -> (&'static str, String) {
    match method {
        "PATCH" => ("application/merge-patch+json", json!({"title": "Mine"}).to_string()),
        "PUT" if path.ends_with("/access") => ("application/json", json!({"visibility": "public"}).to_string()),
        "PUT" if path.starts_with("/queries") => {
            ("application/json", json!({"q": "ocean", "mode": "lexical"}).to_string())
        }
        "PUT" => ("application/td+json", agent(A, "mine", "mine").to_string()),
        _ => ("application/json", String::new()),
    }
}

/// What is answered to strangers who ask with all kinds of conditions.
fn answers(server: &Server, tag: u64) -> Vec<String> {
    let (tag, weak) = (format!("\"{tag}\""), format!("W/\"{tag}\", \"7\""));
    let values = ["*", "\"999999\"", &tag, &weak, ""];
    let conditions = ["if-match", "if-none-match"].into_iter().flat_map(|name| values.map(|value| (name, value)));
    let conditions: Vec<_> = conditions.collect();
    let mut answers = Vec::new();
    for (method, path) in operations() {
        for who in [Nobody, Dana, Bob] {
            for parameters in ["", "?version=1.0.0"].iter().filter(|one| one.is_empty() || path.ends_with(A)) {
                for condition in &conditions {
                    let (media_type, body) = body(&method, &path);
                    let headers = [("content-type", media_type), *condition];
                    let answer = server.send(who, &method, &format!("{path}{parameters}"), &headers, &body);
                    let etag = answer.header("etag");
                    // The tag of a list is made of what the caller sees.
                    let is_list = path.starts_with("/v0.1/servers");
                    let text = answer.text();
                    assert!(
                        etag.is_empty() || is_list,
                        "{who} {method} {path}{parameters} {condition:?}: {etag} {text}"
                    );
                    // Only saved queries are saved, at another time each.
                    let text = if answer.status < 300 { "" } else { answer.text() };
                    answers.push(format!("{who} {method} {path} {} {etag} {text}", answer.status));
                }
            }
        }
        // Saved queries are each owner's own.
        server.send(Bob, "DELETE", "/queries/hidden", &[], "");
    }
    answers
}

#[test]
fn conditions_tell_nothing_of_a_hidden_agent() {
    let server = Server::start();
    server.put(Alice, A, &agent(A, "first", "first"), "?visibility=private").expect(201);
    let first = server.last();
    let before = answers(&server, first);
    server.put(Alice, A, &agent(A, "second", "second"), "").expect(204);
    assert!(server.last() > first);
    assert_eq!(before, answers(&server, first));
    // Whoever sees it is told the tag to go on with.
    let refused = server.send(
        Alice,
        "PUT",
        &format!("/things/{A}"),
        &[("content-type", "application/td+json"), ("if-none-match", "*")],
        &agent(A, "third", "third").to_string(),
    );
    refused.problem(412, "precondition-failed");
    assert_eq!(refused.header("etag"), format!("\"{}\"", server.last()));
}
