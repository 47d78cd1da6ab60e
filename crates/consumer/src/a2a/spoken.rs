//! Messages in the input modes of the agent.

use serde_json::Value;

use super::super::{Call, Message, Part, description::strings};

/// The message as the agent can read it (A2A 1.0, sections 4.4.1 and 4.4.5: `defaultInputModes`, and `inputModes` of a skill).
/// Data are sent as data to an agent that takes JSON, as their JSON text to one that takes text, and as both to one that takes
/// both: agents that read texts alone would see an empty message. A string is a text wherever texts are taken.
pub(super) fn spoken(message: &Message, call: &Call) -> Message {
    let modes = Modes::of(call);
    let parts = message.parts.iter().flat_map(|part| match part {
        Part::Data { data } => modes.spoken(data),
        part => vec![part.clone()],
    });
    Message { parts: parts.collect(), ..message.clone() }
}

/// The media types that an agent takes, as far as they decide about data.
#[derive(Debug, Clone, Copy)]
struct Modes {
    takes_text: bool,
    takes_json: bool,
}

impl Modes {
    /// Those of the skill, else of the card. An agent that names none may take anything.
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
