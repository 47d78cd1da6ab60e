//! Answers of a type: its schema is sent where the protocol can, and checked on return.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Agent, Conversation, Error, Message, Result, schema};

/// An answer of a type, and the conversation it ended.
#[derive(Debug, Clone)]
pub struct Typed<T> {
    /// The answer.
    pub value: T,
    /// The conversation, to go on with.
    pub conversation: Conversation,
}

impl Agent {
    /// Asks for an answer of a type. Its JSON Schema goes with the message where the protocol can; the answer is
    /// checked against it: data, or text that is JSON.
    ///
    /// ```no_run
    /// # async fn example(agent: agentdex_consumer::Agent) -> agentdex_consumer::Result<()> {
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Forecast { rain: bool, text: String }
    ///
    /// let forecast = agent.ask_as::<Forecast>("Will it rain in Bonn?").await?;
    /// println!("{} ({})", forecast.value.text, forecast.value.rain);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Agent::ask`]; [`Error::InvalidAnswer`].
    pub async fn ask_as<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<Message>) -> Result<Typed<T>> {
        Conversation::new(self.clone()).ask_as(message).await
    }
}

impl Conversation {
    /// The next message, for an answer of a type. See [`Agent::ask_as`].
    ///
    /// # Errors
    /// As [`Agent::ask_as`].
    pub async fn ask_as<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<Message>) -> Result<Typed<T>> {
        let schema = schemars::schema_for!(T).to_value();
        let conversation = self.turn(message.into(), Some(schema.clone()), true).await?;
        let answer = data_of(conversation.message());
        let invalid = |violations| Error::InvalidAnswer {
            expected: T::schema_name().into_owned(),
            violations,
            answer: Box::new(answer.clone()),
        };
        let violations = schema::check_json(&schema, &answer)?;
        if !violations.is_empty() {
            return Err(invalid(violations));
        }
        let value = serde_json::from_value(answer.clone())
            .map_err(|error| invalid(vec![crate::td::Violation::new("", "type", error.to_string())]))?;
        Ok(Typed { value, conversation })
    }
}

/// The data of a message: as they are, or in its text, with or without a fence.
fn data_of(message: &Message) -> Value {
    if let Some(data) = message.data() {
        return data.clone();
    }
    let text = message.text();
    let fenced = text.split("```").nth(1).map(|inner| inner.trim_start_matches("json").trim());
    let parsed = |text: &str| serde_json::from_str::<Value>(text.trim()).ok();
    parsed(&text).or_else(|| fenced.and_then(parsed)).unwrap_or(Value::String(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_are_found_in_text() {
        for (text, expected) in [
            ("{\"a\": 1}", json!({"a": 1})),
            ("Here:\n```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("It rains.", json!("It rains.")),
        ] {
            assert_eq!(data_of(&Message::from(text)), expected);
        }
    }
}
