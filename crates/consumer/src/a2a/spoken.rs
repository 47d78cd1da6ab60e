//! Conversion of messages to the input modes accepted by the agent.

use serde_json::Value;

use super::super::{Call, Message, Part, description::strings};

/// Converts a message to the input modes of the agent (A2A 1.0, sections 4.4.1 and 4.4.5: `defaultInputModes`, and
/// `inputModes` of a skill). Data is sent as data to agents that accept JSON, as JSON text to agents that accept
/// text, and in both forms to agents that accept both, since an agent that reads only text would see an empty
/// message. A string is sent as text if text is accepted.
pub(super) fn spoken(message: &Message, call: &Call) -> Message {
    let modes = Modes::of(call);
    let parts = message.parts.iter().flat_map(|part| match part {
        Part::Data { data } => modes.spoken(data),
        part => vec![part.clone()],
    });
    Message { parts: parts.collect(), ..message.clone() }
}

/// Media types accepted by an agent, as far as they matter for data.
#[derive(Debug, Clone, Copy)]
struct Modes {
    takes_text: bool,
    takes_json: bool,
}

impl Modes {
    /// Returns the modes of the skill or else of the card. An agent that names no modes accepts anything.
    fn of(call: &Call) -> Modes {
        let value = call.description.value();
        let skills = value.get("lmos:capabilities").and_then(Value::as_array).into_iter().flatten();
        let name = call.form.affordance.name();
        let mut own = skills.filter(|skill| skill.get("lmos:id").and_then(Value::as_str) == Some(name));
        let own = own.find_map(|skill| skill.get("a2a:inputModes"));
        let modes: Vec<String> = match own.or_else(|| value.get("a2a:defaultInputModes")) {
            Some(modes) => strings(modes).map(str::to_ascii_lowercase).collect(),
            None => Vec::new(),
        };
        let any = |is: fn(&str) -> bool| modes.iter().any(|mode| is(mode.split(';').next().unwrap_or_default().trim()));
        Modes {
            takes_text: modes.is_empty() || any(|mode| mode == "*/*" || mode == "text" || mode.starts_with("text/")),
            takes_json: modes.is_empty()
                || any(|mode| matches!(mode, "*/*" | "application/*" | "application/json" | "json" | "data"))
                || any(|mode| mode.ends_with("+json")),
        }
    }

    fn spoken(self, data: &Value) -> Vec<Part> {
        let as_data = Part::Data { data: data.clone() };
        match (data, self.takes_text, self.takes_json) {
            (Value::String(text), true, _) => vec![Part::text(text)],
            (_, true, true) => vec![Part::text(data.to_string()), as_data],
            (_, true, false) => vec![Part::text(data.to_string())],
            (_, false, _) => vec![as_data],
        }
    }
}
