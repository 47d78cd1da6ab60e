//! `ListTasks`: which tasks a caller asks for (A2A 1.0, section 3.1.4).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{failure::Failure, question::id, task::Task};
use crate::Timestamp;

/// Number of tasks of a page, unless another is asked for, and the maximum.
const DEFAULT_SIZE: i64 = 50;
const MAX_SIZE: i64 = 100;

/// States of tasks; the first stands for all.
const STATES: [&str; 9] = [
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

/// A request for a list of tasks.
pub(super) struct Listing {
    context: Option<String>,
    status: Option<&'static str>,
    /// Earliest moment of the last update.
    after: Option<Timestamp>,
    size: usize,
    /// Id of the last task of the page before.
    token: Option<String>,
    pub(super) has_artifacts: bool,
}

/// A page of tasks.
pub(super) struct Page {
    pub(super) tasks: Vec<Arc<Task>>,
    total: usize,
    size: usize,
    next: Option<String>,
}

impl Listing {
    /// Reads the params of `ListTasks`.
    pub(super) fn parse(params: &Value) -> Result<Listing, Failure> {
        let status = match &params["status"] {
            Value::Null => None,
            status => {
                let known = STATES.iter().find(|known| status == **known);
                let known = known.ok_or_else(|| {
                    Failure::invalid("status", "`status` is not a task state, such as TASK_STATE_COMPLETED")
                })?;
                Some(*known).filter(|known| *known != STATES[0])
            }
        };
        let after = match &params["statusTimestampAfter"] {
            Value::Null => None,
            after => {
                let moment = after.as_str().and_then(Timestamp::parse_rfc3339);
                let invalid = || {
                    Failure::invalid(
                        "statusTimestampAfter",
                        "`statusTimestampAfter` must be a date-time, such as 2026-11-27T12:00:00Z",
                    )
                };
                Some(moment.ok_or_else(invalid)?)
            }
        };
        let size = match &params["pageSize"] {
            Value::Null => DEFAULT_SIZE,
            size => size.as_i64().filter(|size| (1..=MAX_SIZE).contains(size)).ok_or_else(|| {
                Failure::invalid("pageSize", format!("`pageSize` must be a whole number from 1 to {MAX_SIZE}"))
            })?,
        };
        let has_artifacts = match &params["includeArtifacts"] {
            Value::Null => false,
            flag => flag
                .as_bool()
                .ok_or_else(|| Failure::invalid("includeArtifacts", "`includeArtifacts` must be true or false"))?,
        };
        check_history(params)?;
        Ok(Listing {
            context: id(params, "contextId", "contextId")?,
            status,
            after,
            size: usize::try_from(size).unwrap_or_default(),
            token: id(params, "pageToken", "pageToken")?,
            has_artifacts,
        })
    }

    /// Returns the page of some tasks, the latest of which comes first.
    pub(super) fn page(&self, mut tasks: Vec<Arc<Task>>) -> Result<Page, Failure> {
        tasks.retain(|task| {
            self.context.as_ref().is_none_or(|context| *context == task.context)
                && self.status.is_none_or(|status| status == task.state())
                && self.after.is_none_or(|after| task.at >= after)
        });
        let total = tasks.len();
        if let Some(token) = &self.token {
            let last = tasks.iter().position(|task| task.id == *token);
            let unknown =
                || Failure::invalid("pageToken", "`pageToken` is invalid or outdated; start again without it");
            tasks.drain(..=last.ok_or_else(unknown)?);
        }
        let next = tasks.get(self.size).and_then(|_| tasks.get(self.size - 1)).map(|last| last.id.clone());
        tasks.truncate(self.size);
        Ok(Page { tasks, total, size: self.size, next })
    }
}

impl Page {
    /// The result of `ListTasks` with its tasks as they are written.
    pub(super) fn result(&self, tasks: Value) -> Value {
        let next = self.next.as_deref().unwrap_or_default();
        json!({"tasks": tasks, "nextPageToken": next, "pageSize": self.size, "totalSize": self.total})
    }
}

/// Checks the number of messages that a client wants. This agent stores none.
pub(super) fn check_history(params: &Value) -> Result<(), Failure> {
    let length = &params["historyLength"];
    match length.is_null() || length.as_u64().is_some_and(|length| i32::try_from(length).is_ok()) {
        true => Ok(()),
        false => Err(Failure::invalid("historyLength", "`historyLength` must be a whole number from 0 to 2147483647")),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::question::Modes, *};

    #[test]
    fn pages_have_each_task_once_the_latest_first() {
        let modes = Modes { text: true, json: true };
        let task = |context: &str| Arc::new(Task::new(Some(context.to_owned()), modes, Ok(json!({}))));
        let tasks: Vec<_> = ["a", "b", "a", "a"].map(task).into();
        let page = |params: Value| Listing::parse(&params).and_then(|listing| listing.page(tasks.clone()));
        let (mut token, mut ids) = (String::new(), Vec::new());
        loop {
            let page = page(json!({"contextId": "a", "pageSize": 2, "pageToken": token})).unwrap();
            ids.extend(page.tasks.iter().map(|task| task.id.clone()));
            let result = page.result(Value::Null);
            assert_eq!((&result["totalSize"], &result["pageSize"]), (&json!(3), &json!(2)));
            token = result["nextPageToken"].as_str().unwrap().to_owned();
            if token.is_empty() {
                break;
            }
        }
        assert!(ids.iter().eq([0, 2, 3].map(|number: usize| &tasks[number].id)));
        let failed = page(json!({"status": "TASK_STATE_FAILED"})).unwrap();
        assert!(failed.tasks.is_empty());
        assert_eq!(page(json!({"status": "TASK_STATE_UNSPECIFIED"})).unwrap().tasks.len(), 4);
        assert_eq!(page(json!({"statusTimestampAfter": "2999-01-01T00:00:00Z"})).unwrap().tasks.len(), 0);
        for invalid in [
            json!({"pageSize": 0}),
            json!({"pageSize": 101}),
            json!({"pageToken": "none"}),
            json!({"status": "done"}),
            json!({"statusTimestampAfter": "yesterday"}),
            json!({"historyLength": -1}),
            json!({"includeArtifacts": "yes"}),
            json!({"contextId": 7}),
        ] {
            assert!(page(invalid.clone()).is_err(), "{invalid}");
        }
    }
}
