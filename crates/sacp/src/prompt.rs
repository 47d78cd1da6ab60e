//! The instructions that make an agent answer in SACP (section 3).

use std::fmt::Write;

use serde_json::Value;

use super::contract::DataContract;

/// The block that is appended to an agent's system prompt. With a contract, it names the keys of
/// `data`, as section 10 advises.
pub fn instructions(contract: Option<&DataContract>) -> String {
    let keys = contract.map(DataContract::keys).unwrap_or_default();
    let data = if keys.is_empty() {
        "        \"<key>\": <value>\n".to_owned()
    } else {
        let lines: Vec<String> =
            keys.iter().map(|key| format!("        {}: <{}>", Value::from(key.name), key.kind)).collect();
        lines.join(",\n") + "\n"
    };
    let mut text = format!(
        "### SYSTEM PROTOCOL: RESPONSE FORMAT\n\
         You are one agent of a larger workflow. Answer with exactly one JSON object and nothing else:\n\
         no text before or after it, no Markdown code fence, no comments, no trailing commas.\n\
         \n\
         {{\n    \"thought\": \"<how you came to the answer>\",\n    \
         \"status\": \"success\" | \"failure\" | \"clarification_needed\",\n    \
         \"data\": {{\n{data}    }},\n    \
         \"message\": \"<the answer for the user>\"\n}}\n\
         \n\
         Use \"success\" only if the task is done, and \"clarification_needed\" to ask the user a question,\n\
         which you put into \"message\".\n"
    );
    for key in &keys {
        let need = if key.is_required { "required" } else { "optional" };
        let description = key.description.map(|text| format!(": {text}")).unwrap_or_default();
        let _ = writeln!(text, "- data.{} ({}, {need}){description}", key.name, key.kind);
    }
    let example =
        r#"{"thought": "5 + 5 is 10.", "status": "success", "data": {"result": 10}, "message": "The result is 10."}"#;
    let _ = if keys.is_empty() { writeln!(text, "\nFor example:\n{example}") } else { Ok(()) };
    text
}

/// Appends the instructions to a system prompt, unless it already contains them.
pub fn inject(system_prompt: &str, contract: Option<&DataContract>) -> String {
    let instructions = instructions(contract);
    match system_prompt.trim_end() {
        "" => instructions,
        prompt if prompt.ends_with(instructions.trim_end()) => system_prompt.to_owned(),
        prompt => format!("{prompt}\n\n{instructions}"),
    }
}
