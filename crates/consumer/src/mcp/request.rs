//! The request for calling a tool.

use rmcp::model::{CallToolRequestParams, JsonObject};
use serde_json::Value;

use super::{
    super::{Call, Error, Request, Result},
    asking::Asking,
};

/// The tool and its arguments, with the answers to its questions.
pub(super) fn params(call: &Call, asking: &Asking) -> Result<CallToolRequestParams> {
    let Request::Invoke { input, parts, .. } = &call.request else {
        return Err(Error::Unsupported { what: "operations other than calling an MCP tool".into() });
    };
    if !parts.is_empty() {
        return Err(Error::Unsupported { what: "binary content as the argument of an MCP tool".into() });
    }
    let (name, arguments) = match call.form.text("mcp:tool") {
        Some(tool) => (tool.to_owned(), input.clone()),
        None => {
            let name = input.as_ref().and_then(|input| input.get("name")?.as_str());
            let name = name.ok_or_else(|| Error::NoForm {
                id: call.description.id().to_owned(),
                reason: "the name of the tool is missing; set it in the form (`mcp:tool`) or in the input (`name`)"
                    .into(),
            })?;
            (name.to_owned(), input.as_ref().and_then(|input| input.get("arguments")).cloned())
        }
    };
    let mut params = CallToolRequestParams::new(name);
    params.request_state.clone_from(&asking.request_state);
    params.input_responses = Some(asking.responses()).filter(|responses| !responses.is_empty());
    Ok(match arguments {
        None | Some(Value::Null) => params,
        Some(Value::Object(arguments)) => params.with_arguments(arguments),
        // Tools take objects: a value that is none is what the tool's one argument would be called by convention.
        Some(value) => params.with_arguments(JsonObject::from_iter([("input".to_owned(), value)])),
    })
}

/// Returns the name of the tool's only output according to its description.
pub(super) fn only_output(call: &Call) -> Option<&str> {
    let action = call.description.find(&call.form.affordance)?;
    let mut names = action.get("output")?.get("properties")?.as_object()?.keys();
    names.next().filter(|_| names.next().is_none()).map(String::as_str)
}
