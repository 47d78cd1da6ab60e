//! `ask_agent`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{
        foreign_text::{escape, escape_all},
        size_limit::{DEFAULT_BYTES, fit, size_of},
    },
    ROOM, RegistryTools, failure, parse,
};
use crate::{
    Error,
    consumer::{self, CREDENTIAL_VARIABLE, Message, Part, Settings},
};

#[derive(Deserialize)]
struct Arguments {
    id: String,
    message: Option<String>,
    input: Option<Value>,
    action: Option<String>,
    conversation: Option<String>,
}

impl RegistryTools {
    pub(super) async fn ask_agent(&self, arguments: Value) -> Result<Value, String> {
        let Arguments { id, message, input, action, conversation } = parse(arguments)?;
        let Some(consumer) = &self.conversations else { return Err("this registry doesn't call agents".to_owned()) };
        let parts: Vec<Part> = message.map(Part::text).into_iter().chain(input.map(Part::data)).collect();
        if parts.is_empty() {
            return Err("the message is empty; give a message, the input of an action, or both".to_owned());
        }
        let registry = self.registry.clone();
        let find = move || {
            let id = RegistryTools::stored_id(&registry, &id)?;
            registry.find(&id)?.map(|thing| json!(thing.text())).ok_or(Error::NotFound { id })
        };
        let description = self.read(find).await?;
        // The variables of this process may have credentials of its operator.
        let no_variables: [(String, String); 0] = [];
        let settings = Settings::new().environment(no_variables);
        let settings = action.into_iter().fold(settings, Settings::action);
        let agent = consumer.agent_of(description.as_str().unwrap_or_default()).map_err(failed)?.update(settings);
        let message = Message::user(parts);
        let turn = match conversation {
            Some(stored) => agent.restore_conversation(&stored).map_err(failed)?.process(message).await,
            None => agent.process(message).await,
        };
        let turn = turn.map_err(failed)?;
        let data: Vec<Value> = turn.message().all_data().cloned().map(escape_all).collect();
        let answer = json!({"state": turn.state().to_string(), "text": escape(turn.message().text()), "data": data});
        Ok(bounded(answer, turn.to_json()))
    }
}

/// The answer as far as it fits, with the conversation if there is room for it.
fn bounded(mut answer: Value, conversation: String) -> Value {
    let maximum = DEFAULT_BYTES - ROOM;
    // In contrast to other tools, this one has no argument for the size.
    if fit(&mut answer, "hits", maximum).is_shortened {
        answer["left_out"] = "long texts and lists were shortened".into();
    }
    // It is JSON, in which the codes of characters stand for them.
    let conversation = Value::String(escape(conversation));
    match size_of(&answer) + size_of(&conversation) <= DEFAULT_BYTES - ROOM {
        true => answer["conversation"] = conversation,
        false => {
            answer["left_out"] = "the conversation is too long to continue; long texts may have been shortened".into()
        }
    }
    answer
}

/// The message of a failed call.
fn failed(error: consumer::Error) -> String {
    const ERROR: &str = "the agent couldn't be called, or didn't answer correctly";
    match error {
        // It names a variable, which only the operator of this server could set.
        consumer::Error::Setting { setting, .. } if setting.starts_with(CREDENTIAL_VARIABLE) => failure(
            ERROR,
            "the agent requires credentials, but ask_agent sends none; ask another agent, or call this agent directly",
        ),
        error => failure(ERROR, &error.to_string()),
    }
}
