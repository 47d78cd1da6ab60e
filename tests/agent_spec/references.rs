//! References: to components and to plain values, at any depth, and those that lead nowhere.

use agentdex::convert::agent_spec::Profile::{Sdk, Spec};
use serde_json::{Value, json};

use super::{agent, errors, llm, tool, warnings, with};

fn reference(id: &str) -> Value {
    json!({ "$component_ref": id })
}

/// The agent with an LLM that is defined elsewhere.
fn referring(definitions: Value) -> Value {
    let agent = with(agent(), "/llm_config", reference("llm"));
    with(agent, "/$referenced_components", definitions)
}

#[test]
fn component_is_found_where_it_is_defined() {
    let nested = json!({"component_type": "ServerTool", "id": "deep", "name": "deep", "$referenced_components": {"llm": llm("llm")}});
    let root =
        json!({"$component_ref": "agent", "agentspec_version": "26.3.1", "$referenced_components": {"agent": agent()}});
    let chain = json!({"llm": reference("other"), "other": llm("other")});
    for profile in [Spec, Sdk] {
        assert_eq!(errors(&referring(json!({"llm": llm("llm")})), profile), [""; 0]);
        assert_eq!(errors(&referring(chain.clone()), profile), [""; 0]);
        assert_eq!(errors(&root, profile), [""; 0]);
    }
    // The SDK reads the LLM before the tool that defines it.
    let document = with(with(agent(), "/llm_config", reference("llm")), "/tools", json!([nested]));
    assert_eq!(errors(&document, Spec), [""; 0]);
    assert_eq!(errors(&document, Sdk), ["unresolved-reference /llm_config"]);
}

#[test]
fn plain_values_are_found_too_but_not_by_the_sdk() {
    let document = with(
        agent(),
        "/$referenced_components",
        json!({"prompt": "Be brief.", "port": 3, "both": [reference("clock"), tool("calendar")], "clock": tool("clock")}),
    );
    let document = with(with(document, "/system_prompt", reference("prompt")), "/tools", reference("both"));
    assert_eq!(errors(&document, Spec), [""; 0]);
    assert_eq!(warnings(&document, Spec), ["unused-component /$referenced_components/port"]);
    let refused = ["plain-reference /$referenced_components/both", "plain-reference /$referenced_components/prompt"];
    let mut found = errors(&document, Sdk);
    found.sort();
    assert_eq!(found, refused);
    let wrong = with(document, "/description", reference("port"));
    assert_eq!(errors(&wrong, Spec), ["wrong-type /description"]);
}

#[test]
fn reference_that_leads_nowhere_is_refused_wherever_it_is() {
    for profile in [Spec, Sdk] {
        let document = with(agent(), "/llm_config", reference("gone"));
        assert_eq!(errors(&document, profile), ["unresolved-reference /llm_config"]);
        let document = with(
            agent(),
            "/tools/0/inputs",
            json!([{"title": "x", "type": "object", "default": {"a": reference("gone")}}]),
        );
        assert_eq!(errors(&document, profile), ["unresolved-reference /tools/0/inputs/0/default/a"]);
        for id in [json!(1), json!(null), json!(["llm"])] {
            let document = with(agent(), "/llm_config", json!({ "$component_ref": id }));
            assert_eq!(errors(&document, profile), ["malformed-reference /llm_config"]);
        }
    }
    // What is kept as metadata is nobody's configuration, but the SDK looks there too.
    let document = with(agent(), "/metadata", json!({"note": reference("gone")}));
    assert_eq!(errors(&document, Spec), [""; 0]);
    assert_eq!(errors(&document, Sdk), ["unresolved-reference /metadata/note"]);
}

#[test]
fn secret_that_was_left_out_is_no_error() {
    let accepted = [
        ("/llm_config/api_key", "llm.api_key"),
        // The id of the component was changed since.
        ("/llm_config/api_key", "old.api_key"),
        ("/llm_config/url", "llm.url"),
        ("/llm_config/default_generation_parameters", "llm.default_generation_parameters"),
    ];
    let refused = [
        ("/llm_config/api_key", "llm.url"),
        ("/llm_config/model_id", "llm.model_id"),
        ("/llm_config/url", "old.url"),
        ("/name", "agent.name"),
        ("/llm_config", "agent.llm_config"),
    ];
    for profile in [Spec, Sdk] {
        for (pointer, id) in accepted {
            assert_eq!(errors(&with(agent(), pointer, reference(id)), profile), [""; 0], "{pointer} {id}");
        }
        for (pointer, id) in refused {
            assert_eq!(
                errors(&with(agent(), pointer, reference(id)), profile),
                [format!("unresolved-reference {pointer}")]
            );
        }
    }
}

#[test]
fn header_that_was_left_out_is_no_error() {
    let transport = json!({
        "component_type": "SSETransport", "agentspec_version": "26.3.1", "id": "t", "name": "t", "url": "https://mcp.example/sse",
        "headers": {"X-Key": reference("t.headers.X-Key"), "Accept": "text/plain"}, "sensitive_headers": reference("t.sensitive_headers"),
    });
    for profile in [Spec, Sdk] {
        assert_eq!(errors(&transport, profile), [""; 0]);
    }
}

#[test]
fn part_of_itself_is_refused() {
    let document = json!({
        "component_type": "ManagerWorkers", "agentspec_version": "26.3.1", "id": "m", "name": "m", "group_manager": agent(),
        "workers": [reference("a")],
        "$referenced_components": {
            "a": {"component_type": "ManagerWorkers", "id": "a", "name": "a", "group_manager": reference("a"), "workers": [reference("x")]},
            "x": reference("y"), "y": reference("x"),
        },
    });
    for profile in [Spec, Sdk] {
        let found = errors(&document, profile);
        assert!(found.contains(&"circular-reference /$referenced_components/a/group_manager".to_owned()), "{found:?}");
        assert!(found.contains(&"circular-reference /$referenced_components/y".to_owned()), "{found:?}");
    }
}

#[test]
fn wrong_type_is_refused_by_reference_and_in_place() {
    for profile in [Spec, Sdk] {
        let document = referring(json!({"llm": tool("llm")}));
        assert_eq!(errors(&document, profile), ["wrong-component-type /llm_config"]);
        let document = with(agent(), "/tools/0", llm("other"));
        assert_eq!(errors(&document, profile), ["wrong-component-type /tools/0"]);
        let document = with(agent(), "/tools", json!({"clock": tool("clock")}));
        assert_eq!(errors(&document, profile), ["wrong-type /tools"]);
    }
}

#[test]
fn id_stands_for_one_component() {
    let twice = with(agent(), "/tools", json!([tool("clock"), tool("clock")]));
    assert_eq!(errors(&twice, Spec), ["duplicate-id /tools/1/id"]);
    let other = referring(json!({"llm": llm("another")}));
    assert_eq!(errors(&other, Spec), ["reference-id-differs /$referenced_components/llm/id"]);
    for document in [twice, other] {
        assert_eq!(errors(&document, Sdk), [""; 0]);
    }
    let levels = referring(json!({"llm": with(llm("llm"), "/$referenced_components", json!({"llm": llm("llm")}))}));
    for profile in [Spec, Sdk] {
        let found = errors(&levels, profile);
        let place = "/$referenced_components/llm/$referenced_components/llm";
        assert!(found.contains(&format!("duplicate-reference {place}")), "{found:?}");
    }
}

#[test]
fn what_is_defined_and_not_used_is_checked_by_the_text_alone() {
    let document =
        with(agent(), "/$referenced_components", json!({"spare": {"component_type": "ServerTool", "id": "spare"}}));
    assert_eq!(errors(&document, Spec), ["missing-field /$referenced_components/spare"]);
    assert_eq!(warnings(&document, Spec), ["unused-component /$referenced_components/spare"]);
    assert_eq!(errors(&document, Sdk), [""; 0]);
}

#[test]
fn members_beside_a_reference_are_warned_of() {
    let document = with(referring(json!({"llm": llm("llm")})), "/llm_config/name", json!("small"));
    assert_eq!(errors(&document, Spec), [""; 0]);
    assert_eq!(warnings(&document, Spec), ["reference-members /llm_config"]);
}
