use agentdex::sacp::{DataContract, inject, instructions, read};
use serde_json::json;

#[test]
fn the_instructions_name_the_keys_of_the_contract() {
    let schema = json!({"required": ["order_id"], "properties": {
        "total": {"type": "number"},
        "order_id": {"type": "string", "description": "The number of the order"},
    }});
    let contract = DataContract::new(schema).expect("a schema");
    let text = instructions(Some(&contract));
    assert!(
        text.contains("- data.order_id (string, required): The number of the order\n- data.total (number, optional)"),
        "{text}"
    );
}

#[test]
fn the_example_in_the_instructions_is_itself_a_response() {
    let text = instructions(None);
    assert_eq!(read(text.lines().last().expect("a line")).response.data["result"], json!(10));
    for status in ["success", "failure", "clarification_needed"] {
        assert!(text.contains(status));
    }
}

#[test]
fn the_instructions_follow_the_prompt_once() {
    let once = inject("You book tables.\n", None);
    assert!(once.starts_with("You book tables.\n\n### SYSTEM PROTOCOL"));
    assert_eq!(inject(&once, None), once);
    assert_eq!(inject("", None), instructions(None));
}
