//! The latest tasks of the converter, so that a question back can be answered.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};
use uuid::Uuid;

use super::units::{Answer, Wanted, Words};
use crate::Timestamp;

/// The most tasks that are remembered.
const MAX_TASKS: usize = 1000;
/// Maximum length of a message, in characters.
const MAX_TEXT: usize = 1000;

/// The tasks that are remembered, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<VecDeque<Task>>);

/// A task of A2A.
#[derive(Debug, Clone)]
pub(super) struct Task {
    id: String,
    context: String,
    wanted: Wanted,
    state: State,
    /// The last message of the agent.
    pub(super) said: String,
    /// The id of that message.
    message_id: String,
    at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InputRequired,
    Completed,
    Cancelled,
}

impl Tasks {
    /// Takes a message, as a new task or as an answer to the question of one. `None` if no such task is waiting.
    /// A message that is too long changes nothing of the request: the answer asks for a shorter one.
    pub(super) fn take(&self, text: &str, task: Option<&str>, context: Option<&str>) -> Option<Task> {
        // Before the lock, so that nobody waits for it.
        let words = text.chars().nth(MAX_TEXT).is_none().then(|| Words::parse(text));
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match task {
            Some(id) => {
                let place = tasks.iter().position(|task| task.id == id && task.is_waiting())?;
                Some(tasks.remove(place)?)
            }
            None => None,
        };
        let new = |context: Option<&str>| context.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
        let (id, context, wanted) = match before {
            Some(before) => (before.id, before.context, before.wanted),
            None => (new(None), new(context), Wanted::default()),
        };
        let (wanted, answer) = match words {
            Some(words) => {
                let mut wanted = wanted.and(&words);
                let answer = wanted.answer();
                (wanted, answer)
            }
            None => {
                let question = format!("That is more than {MAX_TEXT} characters. Can you ask in fewer words?");
                (wanted, Answer::Question(question))
            }
        };
        let (state, said) = match answer {
            Answer::Converted(answer) => (State::Completed, answer),
            Answer::Question(question) => (State::InputRequired, question),
        };
        let message_id = Uuid::new_v4().to_string();
        let task = Task { id, context, wanted, state, said, message_id, at: Timestamp::now() };
        if tasks.len() >= MAX_TASKS {
            tasks.pop_front();
        }
        tasks.push_back(task.clone());
        Some(task)
    }

    /// The task with an id.
    pub(super) fn find(&self, id: &str) -> Option<Task> {
        let tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().find(|task| task.id == id).cloned()
    }

    /// Cancels a task, if it waits.
    pub(super) fn cancel(&self, id: &str) -> Option<Task> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks.iter_mut().find(|task| task.id == id && task.is_waiting())?;
        task.state = State::Cancelled;
        Some(task.clone())
    }
}

impl Task {
    fn is_waiting(&self) -> bool {
        self.state == State::InputRequired
    }

    /// The task as A2A 1.0 has it.
    pub(super) fn written(&self) -> Value {
        json!({"id": self.id, "contextId": self.context, "status": self.status(), "artifacts": [], "history": []})
    }

    /// The task before it was worked on.
    pub(super) fn as_submitted(&self) -> Value {
        let status = json!({"state": "TASK_STATE_SUBMITTED", "timestamp": self.at.to_string()});
        json!({"id": self.id, "contextId": self.context, "status": status, "artifacts": [], "history": []})
    }

    /// The update of its status that says that it is worked on.
    pub(super) fn working(&self) -> Value {
        let status = json!({"state": "TASK_STATE_WORKING", "timestamp": self.at.to_string()});
        json!({"taskId": self.id, "contextId": self.context, "status": status})
    }

    /// The update of its status that ends a stream.
    pub(super) fn ended(&self) -> Value {
        json!({"taskId": self.id, "contextId": self.context, "status": self.status()})
    }

    fn status(&self) -> Value {
        let state = match self.state {
            State::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            State::Completed => "TASK_STATE_COMPLETED",
            State::Cancelled => "TASK_STATE_CANCELED",
        };
        json!({"state": state, "timestamp": self.at.to_string(), "message": {
            "messageId": self.message_id, "role": "ROLE_AGENT", "taskId": self.id, "contextId": self.context,
            "parts": [{"text": self.said}],
        }})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_once_and_the_oldest_task_is_forgotten() {
        let tasks = Tasks::default();
        let asked = tasks.take("convert 42", None, Some("c")).unwrap();
        assert_eq!((asked.state, asked.context.as_str()), (State::InputRequired, "c"));
        let answered = tasks.take("km", Some(&asked.id), None).unwrap();
        assert_eq!((answered.said.as_str(), &answered.id), ("42 km are 26.1 miles.", &asked.id));
        assert!(tasks.take("km", Some(&asked.id), None).is_none());
        assert!(tasks.cancel(&asked.id).is_none());
        let found = tasks.find(&asked.id).unwrap();
        assert_eq!(found.written(), answered.written(), "each read is the same, with the id of its message");
        for _ in 0..MAX_TASKS {
            tasks.take("1 km", None, None).unwrap();
        }
        assert!(tasks.find(&asked.id).is_none());
        assert_eq!(tasks.0.lock().unwrap().len(), MAX_TASKS);
    }
}
