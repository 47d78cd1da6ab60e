//! A call waiting for the answer to a question, as stored in the continuation of its conversation.

use std::collections::BTreeMap;

use rmcp::model::ElicitResult;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    super::{Call, Continuation, Error, Form, Reply, Request, Result, State},
    answer::protocol,
    elicitation::Question,
};

/// Maximum number of questions per call.
const MAX_QUESTIONS: usize = 32;

/// State required to continue a call once its questions are answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Asking {
    /// The input of the call, which is repeated unless it is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Value>,
    /// Unanswered questions, the next question first.
    questions: Vec<Question>,
    /// Answers so far.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Answer>,
    /// Id of the call waiting in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<String>,
    /// State to be returned to the server with the answers (protocol of 2026).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_state: Option<String>,
    /// True if the server asks in the protocol with sessions (2025) alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_session: bool,
    /// True if the call is refused until the user has opened the URLs of its questions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) requires_urls: bool,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Key under which the answer is sent when the call is repeated (protocol of 2026).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    message: String,
    result: ElicitResult,
}

impl Asking {
    /// Creates the state of a call without questions.
    pub(super) fn new(input: Option<Value>) -> Asking {
        Asking { input, ..Asking::default() }
    }

    /// Returns the state of the call that is continued by this call's input.
    ///
    /// # Errors
    /// [`Error::InvalidHistory`]
    pub(super) fn of(call: &Call) -> Result<Option<Asking>> {
        let Request::Invoke { continuation: Continuation { task: Some(task), .. }, .. } = &call.request else {
            return Ok(None);
        };
        let invalid = |reason: String| Error::InvalidHistory { reason: format!("its MCP call is not valid: {reason}") };
        let asking: Asking = serde_json::from_str(task).map_err(|error| invalid(error.to_string()))?;
        if asking.questions.is_empty() || asking.questions.len() + asking.answers.len() > MAX_QUESTIONS {
            return Err(invalid(format!("it must contain 1 to {MAX_QUESTIONS} questions")));
        }
        Ok(Some(asking))
    }

    /// Takes the answer of the user to the next question.
    ///
    /// # Errors
    /// [`Error::InvalidInput`]; nothing is changed then.
    pub(super) fn take_answer(&mut self, answer: Option<&Value>, form: &Form) -> Result<ElicitResult> {
        let Some(question) = self.questions.first() else { return Err(Error::Cancelled) };
        let result = question.result_of(answer, form)?;
        let Question { key, message, .. } = self.questions.remove(0);
        self.answers.push(Answer { key, message, result: result.clone() });
        Ok(result)
    }

    /// Adds questions of the server.
    ///
    /// # Errors
    /// [`Error::Protocol`] for more than a user should have to answer.
    pub(super) fn ask(&mut self, questions: Vec<Question>, target: &str) -> Result<()> {
        // What was answered before is known to the server by its state.
        self.answers.iter_mut().for_each(|answer| answer.key = None);
        self.questions.extend(questions);
        if self.questions.len() + self.answers.len() > MAX_QUESTIONS {
            return Err(protocol(target, format!("the server asks more than {MAX_QUESTIONS} questions")));
        }
        Ok(())
    }

    pub(super) fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The next question as a reply.
    pub(super) fn to_reply(&self) -> Reply {
        let message = self.questions.first().map(Question::to_message).unwrap_or_default();
        let continuation = Continuation { context: None, task: Some(json!(self).to_string()) };
        Reply { state: State::InputRequired, continuation, ..Reply::message(message) }
    }

    /// Returns the answers to be sent when the call is repeated, by key.
    pub(super) fn responses(&self) -> BTreeMap<String, Value> {
        let keyed = self.answers.iter().filter_map(|answer| Some((answer.key.clone()?, json!(answer.result))));
        keyed.collect()
    }

    /// The answers so far, for a call that is made again.
    pub(super) fn answers(&self) -> Vec<Answer> {
        self.answers.clone()
    }
}

/// Removes and returns the answer to a question with the same message: a call that is made again asks it again.
pub(super) fn known_answer(answers: &mut Vec<Answer>, question: &Question) -> Option<ElicitResult> {
    let position = answers.iter().position(|answer| answer.message == question.message)?;
    Some(answers.remove(position).result)
}
