//! Decisions as events of the Open Cybersecurity Schema Framework, one a line: API activity (class 6003) of agents.

use agentdex_api::guardian::{Decision, Entry};
use serde_json::{Value, json};

/// The version of the schema.
const VERSION: &str = "1.3.0";
const CATEGORY: u32 = 6;
const CLASS: u32 = 6003;
/// Other: none of the kinds that the schema names.
const ACTIVITY: u32 = 99;

/// Converts an entry to an OCSF event.
pub fn event(entry: &Entry) -> Value {
    let denied = entry.decision == Decision::Deny;
    let (action_id, action) = match entry.decision {
        Decision::Allow => (1, "Allowed"),
        Decision::Deny => (2, "Denied"),
        Decision::Modify => (4, "Modified"),
    };
    let (severity_id, severity) = match entry.findings.is_empty() {
        true => (1, "Informational"),
        false if denied => (4, "High"),
        false => (2, "Low"),
    };
    let rules: Vec<&str> = entry.findings.iter().map(|finding| finding.rule.as_ref()).collect();
    let messages: Vec<&str> = entry.findings.iter().map(|finding| finding.message.as_str()).collect();
    json!({
        "category_uid": CATEGORY, "category_name": "Application Activity",
        "class_uid": CLASS, "class_name": "API Activity",
        "activity_id": ACTIVITY, "activity_name": entry.method,
        "type_uid": CLASS * 100 + ACTIVITY,
        "time": entry.at.0,
        "severity_id": severity_id, "severity": severity,
        "status_id": if denied { 2 } else { 1 }, "status": if denied { "Failure" } else { "Success" },
        "status_detail": messages.join("; "),
        "action_id": action_id, "action": action,
        "message": rules.join(", "),
        "duration": entry.microseconds / 1000,
        "actor": {"app_uid": entry.agent, "session": {"uid": entry.session}},
        "api": {"operation": entry.method, "service": {"name": "agentdex"}, "request": {"uid": entry.step}},
        "metadata": {
            "version": VERSION, "uid": entry.seq.to_string(), "correlation_uid": entry.turn,
            "product": {"name": "agentdex", "vendor_name": "agentdex", "version": env!("CARGO_PKG_VERSION")},
            "profiles": ["security_control"],
        },
        "unmapped": {"hash": entry.hash, "tool": entry.tool, "sacp": entry.sacp},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    #[test]
    fn a_denied_step_is_a_failure() {
        let entry: Entry = serde_json::from_value(json!({
            "seq": 7, "at": "2026-11-22T10:00:00Z", "method": "steps/message", "agent": "urn:x:a", "decision": "deny",
            "findings": [{"rule": "agent-registered", "mode": "enforce", "message": "it isn't"}], "microseconds": 2000,
            "hash": "sha256:00",
        }))
        .unwrap();
        let event = event(&entry);
        assert_eq!((&event["type_uid"], &event["action"]), (&json!(600_399), &json!("Denied")));
        assert_eq!(event["time"], Timestamp::parse_rfc3339("2026-11-22T10:00:00Z").unwrap().0);
        assert_eq!(
            (&event["status"], &event["severity"], &event["duration"]),
            (&json!("Failure"), &json!("High"), &json!(2))
        );
        assert_eq!(event["message"], "agent-registered");
    }
}
