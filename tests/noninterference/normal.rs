//! Answers without what differs between any two registries: the epoch and id of the registry, generated ids, times, blank
//! nodes, figures of the process, and what the documentation says of scores.

use serde_json::Value;

use crate::{
    support::{Answer, Event},
    visibility::server::{Message, Server},
};

/// Names of numbers that depend on how frequent words are in all descriptions.
const STATISTICS: [&str; 3] = ["score", "normalized_score", "bm25"];

/// Metrics of the process: of the same requests they may be other ones.
const OF_PROCESS: [&str; 10] = [
    "path=\"/metrics\"",
    "_seconds",
    "_bytes",
    "process_",
    "agentdex_follower_",
    "agentdex_index_",
    "agentdex_event_streams",
    "agentdex_mqtt",
    "agentdex_store_",
    "_connections",
];

/// The names that a registry has for itself.
pub struct Normal {
    epoch: String,
}

impl Normal {
    pub fn of(server: &Server) -> Normal {
        Normal { epoch: server.epoch() }
    }

    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    pub fn answer(&self, path: &str, answer: &Answer) -> String {
        let mut headers: Vec<String> = answer
            .headers
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "date" | "content-length" | "connection" | "x-request-id"))
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or_default()))
            .collect();
        headers.sort();
        let text = self.text(&String::from_utf8_lossy(&answer.body));
        let body = match path {
            _ if path.starts_with("/metrics") => metrics(&text),
            _ if path.starts_with("/search") || path.starts_with("/things?") => ranked(&text),
            "/mcp" => ranked(&result(&text)),
            _ if path.starts_with("/a2a") => ranked(&without_tokens(&text)),
            _ if path.starts_with("/v0.1/servers?") => ranked(&page(&text)),
            _ => text,
        };
        format!("{} {}\n{body}", answer.status, self.text(&headers.join(", ")))
    }

    pub fn event(&self, event: &Event) -> String {
        self.text(&format!("{} {} {}", event.id, event.kind, event.data))
    }

    /// A message. A description is the present one, which may be a later one than that of the change.
    pub fn message(&self, message: &Message) -> String {
        let payload = if message.topic.starts_with("agentdex/things/") { "" } else { &message.payload };
        self.text(&format!("{} {payload}", message.topic))
    }

    /// A message with its description.
    pub fn retained(&self, message: &Message) -> String {
        self.text(&format!("{} {}", message.topic, message.payload))
    }

    fn text(&self, text: &str) -> String {
        let mut normal = String::with_capacity(text.len());
        for (number, part) in text.split('"').enumerate() {
            if number > 0 {
                normal.push('"');
            }
            let may_vary = part.len() >= 11 && part.bytes().any(|byte| byte.is_ascii_digit()) || part.contains("_:");
            if may_vary { self.append(&mut normal, part) } else { normal.push_str(part) }
        }
        normal
    }

    fn append(&self, normal: &mut String, mut rest: &str) {
        // The tag of a description of the registry itself, which has its address.
        if is_like(rest.as_bytes(), "xxxxxxxxxxxxxxxx") && rest.len() == 16 {
            normal.push_str("HASH");
            return;
        }
        while let Some(character) = rest.chars().next() {
            let (length, name) = self.variable(rest).unwrap_or((character.len_utf8(), ""));
            normal.push_str(if name.is_empty() { &rest[..length] } else { name });
            rest = &rest[length..];
        }
    }

    /// The length of what a text begins with that is another one in each registry, and a name for it.
    fn variable(&self, text: &str) -> Option<(usize, &'static str)> {
        let bytes = text.as_bytes();
        let after = |start: &str, is_part: fn(&u8) -> bool| {
            let length = bytes[start.len()..].iter().take_while(|byte| is_part(byte)).count();
            (length > 0).then_some(start.len() + length)
        };
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match bytes[0] {
            _ if text.starts_with(&self.epoch) => Some((self.epoch.len(), "EPOCH")),
            b'0'..=b'9' | b'a'..=b'f' if is_like(bytes, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") => Some((36, "UUID")),
            b'0'..=b'9' if is_like(bytes, "xxxx-xx-xxTxx:xx:xx") => {
                let fraction = bytes[19..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
                Some((19 + fraction, "TIME"))
            }
            b'1' if text.starts_with("127.0.0.1:") => {
                after("127.0.0.1:", u8::is_ascii_digit).map(|end| (end, "ADDRESS"))
            }
            b'_' if text.starts_with("_:") => after("_:", u8::is_ascii_alphanumeric).map(|end| (end, "NODE")),
            // Page tokens begin with a check that is the server's own.
            b'a' if text.starts_with("after=") => after("after=", is_token).map(|end| (end, "TOKEN")),
            _ => None,
        }
    }
}

/// True if a text begins like a pattern, in which `x` is a hexadecimal digit.
fn is_like(bytes: &[u8], pattern: &str) -> bool {
    let fits = |(byte, wanted): (&u8, u8)| if wanted == b'x' { byte.is_ascii_hexdigit() } else { *byte == wanted };
    bytes.len() >= pattern.len() && bytes.iter().zip(pattern.bytes()).all(fits)
}

/// Metrics without figures of the process.
fn metrics(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((name, _)) if OF_PROCESS.iter().any(|part| name.contains(part)) => name.to_owned(),
        _ => line.to_owned(),
    };
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.sort();
    lines.join("\n")
}

/// The result of a tool, without its copy as text and the token of the next page, whose check is the server's own.
fn result(text: &str) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let result = &mut answer["result"];
    if result["structuredContent"].is_object() {
        result["content"] = Value::Null;
        let token = result["structuredContent"].get_mut("next_page_token");
        token.into_iter().for_each(|token| *token = "TOKEN".into());
    }
    answer.to_string()
}

/// The answer of the A2A agent without tokens of the next page: their check is the server's own.
fn without_tokens(text: &str) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    fn replace(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.get_mut("next_page_token").into_iter().for_each(|token| *token = "TOKEN".into());
                members.values_mut().for_each(replace);
            }
            Value::Array(elements) => elements.iter_mut().for_each(replace),
            _ => {}
        }
    }
    replace(&mut answer);
    answer.to_string()
}

/// A page of MCP servers without the cursor of the next one, whose check is the server's own.
fn page(text: &str) -> String {
    let Ok(mut page) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let cursor = page["metadata"].get_mut("nextCursor");
    cursor.into_iter().for_each(|cursor| *cursor = "TOKEN".into());
    page.to_string()
}

/// What was found, without scores and in an order that doesn't follow from them.
fn ranked(text: &str) -> String {
    let Ok(mut found) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    without_statistics(&mut found);
    found.to_string()
}

fn without_statistics(value: &mut Value) {
    match value {
        Value::Object(members) => {
            STATISTICS.iter().for_each(|name| drop(members.remove(*name)));
            if members.get("type").is_some_and(|kind| kind == "bnode") {
                members.insert("value".to_owned(), Value::Null);
            }
            if let Some(explanation) = members.get_mut("explanation") {
                without_numbers(explanation);
            }
            members.values_mut().for_each(without_statistics);
        }
        Value::Array(elements) => {
            elements.iter_mut().for_each(without_statistics);
            if elements.iter().all(Value::is_object) {
                elements.sort_by_key(ToString::to_string);
            }
        }
        _ => {}
    }
}

fn without_numbers(value: &mut Value) {
    match value {
        Value::Number(_) => *value = Value::Null,
        Value::Object(members) => members.values_mut().for_each(without_numbers),
        Value::Array(elements) => elements.iter_mut().for_each(without_numbers),
        _ => {}
    }
}
