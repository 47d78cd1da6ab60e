//! Every data object: valid, each required member missing, each member of another type.

use agentdex::{convert::aos, td::Violation};
use serde_json::{Value, json};

use super::{agent, context, message};

type Read = fn(&Value) -> Result<Value, Vec<Violation>>;

/// What is read of an object and written again.
macro_rules! read {
    ($type:ident) => {
        |value: &Value| aos::$type::read(value).map(|read| serde_json::to_value(read).unwrap())
    };
}

struct Case {
    name: &'static str,
    read: Read,
    valid: Value,
    required: &'static [&'static str],
    /// Members that anything may be in.
    free: &'static [&'static str],
}

fn case(name: &'static str, read: Read, valid: Value, required: &'static [&'static str]) -> Case {
    Case { name, read, valid, required, free: &[] }
}

fn cases() -> Vec<Case> {
    let part = json!({"kind": "text", "text": "Hello", "metadata": {"a": 1}});
    let source = json!([{"kind": "site", "url": "https://a.example"}]);
    let typed = json!({"name": "a", "id": "b", "description": "c", "type": "string", "mimeType": "text/plain"});
    let mut argument = typed.clone();
    argument["required"] = true.into();
    let mut whole = agent();
    whole.as_object_mut().unwrap().remove("x-own");
    let mut tool = whole["tools"][0].clone();
    tool["arguments"][2].as_object_mut().unwrap().remove("mimeType");
    whole["tools"][0] = tool.clone();
    let mut inner = context();
    inner["agent"] = whole.clone();
    let provider = json!({"name": "a", "url": "https://a.example", "metadata": {"a": null}});
    let model = json!({
        "name": "a", "id": "b", "provider": {"name": "c"}, "maxTokens": 1, "contextWindow": 2, "stopSequences": ["x"],
        "defaultParams": {"topK": 1}, "metadata": {},
    });
    let resource =
        json!({"name": "a", "id": "b", "description": "c", "content": "", "mimeType": "d/e", "metadata": {}});
    let trigger = json!({
        "type": "autonomous", "event": {"type": "email", "id": "1"}, "content": [part], "metadata": {},
    });
    let user = json!({"id": "a", "name": "b", "email": "c", "organization": {"id": "d"}, "metadata": {}});
    let retrieval = json!({"query": "a", "keywords": ["b"], "results": [{"id": "c", "content": "d"}]});
    let call = json!({"executionId": "a", "toolId": "b", "inputs": [{"name": "c", "value": null}]});
    let result = json!({
        "decision": "modify", "reasoning": "a", "reasonCode": ["b"], "message": "c", "data": {}, "modifiedRequest": {},
    });
    let argument_value = Case {
        free: &["value"],
        ..case(
            "ToolArgumentValue",
            read!(ToolArgumentValue),
            json!({"name": "a", "id": "b", "value": [1]}),
            &["name", "value"],
        )
    };
    let success = Case {
        free: &["modifiedRequest"],
        ..case("SuccessResult", read!(SuccessResult), result, &["decision", "message"])
    };
    let error = Case {
        free: &["data"],
        ..case("RpcError", read!(RpcError), json!({"code": -32603, "message": "a", "data": 1}), &["code", "message"])
    };
    vec![
        case("Agent", read!(Agent), whole, &["name", "id", "instructions", "version", "provider"]),
        case("AgentProvider", read!(AgentProvider), provider, &["name", "url"]),
        case("Model", read!(Model), model, &["name", "id", "provider"]),
        case("LlmProvider", read!(LlmProvider), json!({"name": "a", "metadata": {}}), &["name"]),
        case("McpServer", read!(McpServer), json!({"name": "a", "version": "1"}), &["name", "version"]),
        case("Resource", read!(Resource), resource, &["name", "id", "content"]),
        case("ToolDefinition", read!(ToolDefinition), tool, &["name", "id", "type", "arguments", "outputs"]),
        case("ToolArgumentDefinition", read!(ToolArgumentDefinition), argument, &["name", "required"]),
        case("ToolOutputDefinition", read!(ToolOutputDefinition), typed, &["name"]),
        case("Organization", read!(Organization), json!({"id": "a", "name": "b", "metadata": {}}), &["id"]),
        case("Message", read!(Message), message("system", "Hello"), &["id", "role", "content"]),
        case("TextPart", read!(TextPart), part.clone(), &["kind", "text"]),
        case(
            "FilePart",
            read!(FilePart),
            json!({"kind": "file", "file": {"uri": "a"}, "metadata": {}}),
            &["kind", "file"],
        ),
        case("DataPart", read!(DataPart), json!({"kind": "data", "data": [1], "metadata": {}}), &["kind", "data"]),
        case(
            "FileWithBytes",
            read!(FileWithBytes),
            json!({"name": "a", "mimeType": "b/c", "bytes": "YQ=="}),
            &["bytes"],
        ),
        case("FileWithUri", read!(FileWithUri), json!({"name": "a", "mimeType": "b/c", "uri": "d"}), &["uri"]),
        case("AgentTrigger", read!(AgentTrigger), trigger.clone(), &["type", "event", "content"]),
        case("AgentTriggerEvent", read!(AgentTriggerEvent), json!({"type": "a", "id": "b"}), &["type", "id"]),
        case(
            "FileSource",
            read!(FileSource),
            json!({"kind": "file", "id": "a", "name": "b", "url": "c"}),
            &["kind", "id", "name"],
        ),
        case("SiteSource", read!(SiteSource), source[0].clone(), &["kind", "url"]),
        case("StepContext", read!(StepContext), inner.clone(), &["agent", "session", "turnId", "stepId", "timestamp"]),
        case("Session", read!(Session), json!({"id": "a", "metadata": {}}), &["id"]),
        case("User", read!(User), user, &["id", "organization"]),
        case("KnowledgeRetrievalStepParams", read!(KnowledgeRetrievalStepParams), retrieval.clone(), &["results"]),
        case(
            "KnowledgeRetrievalResult",
            read!(KnowledgeRetrievalResult),
            json!({"id": "a", "content": "b", "mimeType": "c/d", "metadata": {}}),
            &["id", "content"],
        ),
        case("ToolCallRequest", read!(ToolCallRequest), call.clone(), &["executionId", "toolId", "inputs"]),
        argument_value,
        case("ToolCallResult", read!(ToolCallResult), json!({"outputs": [], "isError": true}), &["outputs", "isError"]),
        case(
            "AgentTriggerParams",
            read!(AgentTriggerParams),
            json!({"context": inner, "trigger": trigger}),
            &["context", "trigger"],
        ),
        case(
            "KnowledgeRetrievalParams",
            read!(KnowledgeRetrievalParams),
            json!({"context": inner, "knowledgeStep": retrieval, "reasoning": "a"}),
            &["context", "knowledgeStep"],
        ),
        case(
            "MemoryParams",
            read!(MemoryParams),
            json!({"context": inner, "memory": [], "reasoning": "a"}),
            &["context", "memory"],
        ),
        case(
            "MessageParams",
            read!(MessageParams),
            json!({"context": inner, "message": message("user", "a"), "citation": source, "reasoning": "a"}),
            &["context", "message"],
        ),
        case(
            "ToolCallRequestParams",
            read!(ToolCallRequestParams),
            json!({"context": inner, "toolCallRequest": call, "reasoning": "a"}),
            &["context", "toolCallRequest"],
        ),
        case(
            "ToolCallResultParams",
            read!(ToolCallResultParams),
            json!({"context": inner, "executionId": "a", "result": {"outputs": [part], "isError": false}}),
            &["context", "executionId", "result"],
        ),
        case(
            "PingParams",
            read!(PingParams),
            json!({"timestamp": "2026-11-22T10:00:00+01:00", "timeout": 1, "metadata": {}}),
            &["timestamp"],
        ),
        case("A2aParams", read!(A2aParams), json!({"payload": {}, "reasoning": "a", "context": inner}), &["payload"]),
        case("McpParams", read!(McpParams), json!({"message": {}, "reasoning": "a", "context": inner}), &["message"]),
        success,
        error,
        case(
            "PingResult",
            read!(PingResult),
            json!({"status": "connected", "version": "1", "timestamp": "2026-11-22T10:00:00Z", "metadata": {}}),
            &["status", "version", "timestamp"],
        ),
    ]
}

#[test]
fn valid_objects_are_read_and_written_as_they_were() {
    for case in cases() {
        let read = (case.read)(&case.valid).unwrap_or_else(|faults| panic!("{}: {faults:#?}", case.name));
        assert_eq!(read, case.valid, "{}", case.name);
    }
}

#[test]
fn each_required_member_is_missed_with_its_place() {
    for case in cases() {
        for (member, _) in case.valid.as_object().unwrap() {
            let mut without = case.valid.clone();
            without.as_object_mut().unwrap().remove(member);
            let read = (case.read)(&without);
            if !case.required.contains(&member.as_str()) {
                assert!(read.is_ok(), "{}.{member} is optional: {read:?}", case.name);
                continue;
            }
            let faults = read.expect_err(case.name);
            let found: Vec<_> = faults.iter().map(|one| (one.rule.as_ref(), one.pointer.as_str())).collect();
            assert_eq!(found, [("member-missing", format!("/{member}").as_str())], "{}", case.name);
            assert!(faults[0].message.contains("; add "), "{}", faults[0].message);
        }
        assert!(case.required.iter().all(|name| case.valid.get(name).is_some()), "{}", case.name);
    }
}

#[test]
fn each_member_of_another_type_is_refused_with_its_place() {
    for case in cases() {
        for (member, value) in case.valid.as_object().unwrap() {
            if case.free.contains(&member.as_str()) {
                continue;
            }
            let mut odd = case.valid.clone();
            odd[member] = if value.is_number() { "x".into() } else { 7.into() };
            let faults = (case.read)(&odd).expect_err(&format!("{}.{member}", case.name));
            let place = format!("/{member}");
            assert!(faults.iter().all(|one| one.pointer.starts_with(&place)), "{}: {faults:?}", case.name);
            assert_eq!(faults[0].rule, "member-type", "{}.{member}", case.name);
        }
        for odd in [json!(null), json!([]), json!("x"), json!(1)] {
            let faults = (case.read)(&odd).expect_err(case.name);
            assert_eq!((faults.len(), faults[0].pointer.as_str()), (1, ""), "{}", case.name);
        }
    }
}

#[test]
fn null_stands_for_what_may_be_missing_and_for_lists_that_may_be_null() {
    let mut agent = agent();
    agent["description"] = Value::Null;
    agent["tools"][0]["arguments"] = Value::Null;
    assert_eq!(aos::Agent::read(&agent).unwrap().description, None);
    agent["instructions"] = Value::Null;
    let faults = aos::Agent::read(&agent).unwrap_err();
    assert_eq!(
        (faults[0].pointer.as_str(), faults[0].message.as_str()),
        ("/instructions", "found null; expected a string")
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    let odd = json!({
        "name": 1, "id": "a", "version": "1", "provider": {}, "instructions": "",
        "tools": [{"id": "t", "name": "t", "type": "f", "outputs": null, "arguments": [{"name": "a", "type": "text"}]}],
    });
    let faults = aos::Agent::read(&odd).unwrap_err();
    let found: Vec<_> = faults.iter().map(|one| (one.rule.as_ref(), one.pointer.as_str())).collect();
    assert_eq!(
        found,
        [
            ("member-type", "/name"),
            ("member-missing", "/provider/name"),
            ("member-missing", "/provider/url"),
            ("member-value", "/tools/0/arguments/0/type"),
            ("member-missing", "/tools/0/arguments/0/required"),
        ]
    );
    assert!(faults[3].message.contains("one of `string`, `number`, `boolean`, `object`, `array`, `null`"));
}

#[test]
fn unions_are_read_by_their_kind() {
    let read = |part: Value| {
        let message = json!({"id": "m", "role": "user", "content": [part]});
        aos::Message::read(&message).map(|message| message.content.parts()[0].clone())
    };
    for (part, place) in [
        (json!({"kind": "image", "text": "x"}), "/content/0/kind"),
        (json!({"text": "x"}), "/content/0/kind"),
        (json!({"kind": "file", "file": {}}), "/content/0/file"),
        (json!({"kind": "file", "file": {"bytes": "", "uri": "a"}}), "/content/0/file"),
        (json!({"kind": "file", "file": {"bytes": "a!"}}), "/content/0/file/bytes"),
        (json!({"kind": "data", "data": "x"}), "/content/0/data"),
        (json!("x"), "/content/0"),
    ] {
        let faults = read(part.clone()).unwrap_err();
        assert_eq!(faults[0].pointer, place, "{part}");
    }
    let bytes = read(json!({"kind": "file", "file": {"bytes": "aGVsbG8"}})).unwrap();
    assert!(matches!(bytes, aos::Part::File(aos::FilePart { file: aos::File::Bytes(_), .. })), "{bytes:?}");
    let empty = aos::Message::read(&json!({"id": "m", "role": "user", "content": []})).unwrap_err();
    assert_eq!((empty[0].rule.as_ref(), empty[0].pointer.as_str()), ("member-value", "/content"));
    let sources = json!({"context": context(), "message": message("agent", "a"), "citation": [{"kind": "book"}]});
    assert_eq!(aos::MessageParams::read(&sources).unwrap_err()[0].pointer, "/citation/0/kind");
}

#[test]
fn citations_may_be_missing_and_moments_must_be_moments() {
    let mut params = json!({"context": context(), "message": message("user", "a")});
    assert_eq!(aos::MessageParams::read(&params).unwrap().citation, None);
    params["context"]["timestamp"] = "now".into();
    let faults = aos::MessageParams::read(&params).unwrap_err();
    assert_eq!((faults[0].rule.as_ref(), faults[0].pointer.as_str()), ("member-value", "/context/timestamp"));
}
