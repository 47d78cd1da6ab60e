//! Typed answers: the schema is sent if the protocol supports that, and checked on return.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Agent, Conversation, Error, Message, Result, answer::given, schema};
use crate::sacp::{Answer, Expected, read_answer};

/// A typed answer, with its conversation.
#[derive(Debug, Clone)]
pub struct Typed<T> {
    /// The deserialized answer.
    pub value: T,
    /// Conversation including the answer, for further messages.
    pub conversation: Conversation,
}

impl Agent {
    /// Asks for an answer of type `T`. The JSON Schema of the type is sent with the message if the protocol supports
    /// that. The answer, which is either data or text with JSON, is checked against the schema. A value of a wrong type
    /// is coerced if the schema allows exactly one interpretation of it.
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
    /// Same as [`Agent::ask`]; also [`Error::Failed`] and [`Error::InvalidAnswer`].
    pub async fn ask_as<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<Message>) -> Result<Typed<T>> {
        Conversation::new(self.clone()).ask_as(message).await
    }
}

impl Conversation {
    /// Sends the next message and asks for an answer of type `T`. See [`Agent::ask_as`].
    ///
    /// # Errors
    /// Same as [`Agent::ask_as`].
    pub async fn ask_as<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<Message>) -> Result<Typed<T>> {
        let schema = schemars::schema_for!(T).to_value();
        let conversation = self.turn(message.into(), Some(schema.clone()), true).await?.into_result()?;
        let expected = Expected::value(schema).map_err(|error| schema::unusable("the expected type", &error.reason))?;
        let Answer { value, text, mismatches, .. } = read_answer(&given(conversation.message()), &expected);
        let answer = value.unwrap_or(Value::String(text));
        let invalid = |violations| Error::InvalidAnswer {
            expected: T::schema_name().into_owned(),
            violations,
            answer: Box::new(answer.clone()),
        };
        if !mismatches.is_empty() {
            return Err(invalid(mismatches));
        }
        let value = serde_json::from_value(answer.clone())
            .map_err(|error| invalid(vec![crate::td::Violation::new("", "type", error.to_string())]))?;
        Ok(Typed { value, conversation })
    }
}
