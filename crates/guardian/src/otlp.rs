//! Entries of the trail as spans of OpenTelemetry, in the JSON of OTLP.
//!
//! A session is a trace, and each step a span of it that is as long as the decision took.

use agentdex_api::guardian::{Decision, Entry, Finding};
use serde_json::{Value, json};

use super::digest::digest;

/// The spans of entries, in the form for a collector (`ExportTraceServiceRequest`).
pub fn traces<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Value {
    let spans: Vec<Value> = entries.into_iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            text("service.name", "agentdex"),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ]},
        "scopeSpans": [{"scope": {"name": "agentdex.guardian", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
    }]})
}

fn span(entry: &Entry) -> Value {
    let (agent, session) = (entry.agent.as_deref().unwrap_or_default(), entry.session.as_deref().unwrap_or_default());
    let start = i128::from(entry.at.0) * 1_000_000;
    let end = start + i128::from(entry.microseconds) * 1000;
    let mut attributes = vec![
        text("aos.method", &entry.method),
        text("aos.decision", entry.decision.as_str()),
        text("aos.content.hash", &entry.hash),
        json!({"key": "aos.seq", "value": {"intValue": entry.seq.to_string()}}),
    ];
    let members = [
        ("gen_ai.agent.id", &entry.agent),
        ("gen_ai.conversation.id", &entry.session),
        ("gen_ai.tool.name", &entry.tool),
        ("aos.turn.id", &entry.turn),
        ("aos.step.id", &entry.step),
    ];
    attributes.extend(members.into_iter().filter_map(|(name, value)| Some(text(name, value.as_deref()?))));
    if let Some(would_be) = entry.would_be {
        attributes.push(text("aos.decision.would_be", would_be.as_str()));
    }
    if let Some(response) = &entry.sacp {
        attributes.push(text("sacp.status", &response.status));
    }
    let event = |finding: &Finding| {
        json!({
            "name": "finding", "timeUnixNano": end.to_string(),
            "attributes": [text("aos.rule", &finding.rule), text("aos.message", &finding.message)],
        })
    };
    let events: Vec<Value> = entry.findings.iter().map(event).collect();
    // Steps without a session are traces of their own.
    let trace = match session {
        "" => id(&format!("{}\n{}", entry.seq, entry.hash), 32),
        session => {
            // Sessions of two reporters are two.
            let reporter = entry.reporter.as_ref().map(|reporter| format!("\n{reporter}")).unwrap_or_default();
            id(&format!("{agent}\n{session}{reporter}"), 32)
        }
    };
    json!({
        "traceId": trace,
        "spanId": id(&format!("{}\n{agent}\n{session}\n{}", entry.seq, entry.at), 16),
        "name": entry.method, "kind": 1,
        "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(),
        "attributes": attributes, "events": events,
        "status": if entry.decision == Decision::Deny { json!({"code": 2, "message": "denied"}) } else { json!({"code": 1}) },
    })
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Hexadecimal digits that are the same for the same text.
fn id(text: &str, digits: usize) -> String {
    digest(text.as_bytes()).trim_start_matches("sha256:").chars().take(digits).collect()
}
