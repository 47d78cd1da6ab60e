//! The methods of the protocol.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    failure::{Failure, Kind},
    listing::{Listing, check_history},
    question::{Question, id},
    task::Task,
    tasks::Tasks,
};
use crate::mcp::{RegistryTools, Tools};

/// The agent, for one caller.
pub(crate) struct Agent<'t> {
    /// The registry as the caller sees it.
    pub(crate) tools: RegistryTools,
    pub(crate) tasks: &'t Tasks,
    /// Name of the caller, whose tasks no other caller reads.
    pub(crate) caller: String,
    /// False for callers who can't be told apart from others: they read tasks by their ids alone.
    pub(crate) lists_tasks: bool,
}

impl Agent<'_> {
    /// Answers a request at a version of the protocol, which is empty if the client names none.
    pub(crate) async fn answer(&self, version: &str, method: &str, params: &Value) -> Result<Value, Failure> {
        check_version(version)?;
        match method {
            "SendMessage" => self.send_message(params).await,
            "GetTask" => self.task(params).await,
            "ListTasks" => self.list_tasks(params).await,
            "CancelTask" => Err(match self.find(params) {
                Ok(_) => Failure::new(Kind::TaskNotCancelable, "the task has already ended"),
                Err(failure) => failure,
            }),
            "SendStreamingMessage" | "SubscribeToTask" => {
                Err(Failure::new(Kind::UnsupportedOperation, "streaming is not supported; use SendMessage and GetTask"))
            }
            "GetExtendedAgentCard" => {
                Err(Failure::new(Kind::UnsupportedOperation, "this agent has no extended card; use its public card"))
            }
            "CreateTaskPushNotificationConfig"
            | "GetTaskPushNotificationConfig"
            | "ListTaskPushNotificationConfigs"
            | "DeleteTaskPushNotificationConfig" => {
                Err(Failure::new(Kind::PushNotificationNotSupported, "this agent doesn't support push notifications"))
            }
            _ => Err(Failure::new(Kind::MethodNotFound, "A2A 1.0 has no such method; use SendMessage to search")),
        }
    }

    async fn send_message(&self, params: &Value) -> Result<Value, Failure> {
        let question = Question::parse(params)?;
        check_history(&params["configuration"])?;
        if let Some(task) = &question.task {
            return Err(match self.tasks.find(&self.caller, task) {
                Some(_) => {
                    Failure::new(Kind::UnsupportedOperation, "the task has ended; omit taskId to start a new task")
                }
                None => not_found(),
            });
        }
        let found = self.tools.call("search_agents", question.arguments).await;
        let task = Task::new(question.context, question.modes, found);
        let written = task.with_artifacts(|_| Ok(true)).map_err(|error| self.internal(error))?;
        self.tasks.keep(&self.caller, task);
        Ok(json!({"task": written}))
    }

    async fn task(&self, params: &Value) -> Result<Value, Failure> {
        let task = self.find(params)?;
        check_history(params)?;
        let written = self.with_artifacts(vec![task]).await?;
        Ok(written.get(0).cloned().unwrap_or_default())
    }

    async fn list_tasks(&self, params: &Value) -> Result<Value, Failure> {
        let listing = Listing::parse(params)?;
        let page = listing.page(if self.lists_tasks { self.tasks.of(&self.caller) } else { Vec::new() })?;
        let tasks = match listing.has_artifacts {
            true => self.with_artifacts(page.tasks.clone()).await?,
            false => page.tasks.iter().map(|task| task.without_artifacts()).collect(),
        };
        Ok(page.result(tasks))
    }

    /// Returns the task that params name.
    fn find(&self, params: &Value) -> Result<Arc<Task>, Failure> {
        let id = id(params, "id", "id")?.ok_or_else(|| Failure::invalid("id", "the task id is missing"))?;
        self.tasks.find(&self.caller, &id).ok_or_else(not_found)
    }

    /// Writes tasks with those of their results that the caller still sees.
    async fn with_artifacts(&self, tasks: Vec<Arc<Task>>) -> Result<Value, Failure> {
        let registry = self.tools.registry.clone();
        let write = move || {
            let is_visible = |id: &str| RegistryTools::sees(&registry, id);
            tasks.iter().map(|task| task.with_artifacts(is_visible)).collect::<crate::Result<Value>>()
        };
        (self.tools.blocking)(Box::new(write)).await.map_err(|error| self.internal(error))
    }

    fn internal(&self, error: crate::Error) -> Failure {
        Failure::new(Kind::Internal, (self.tools.explain)(error))
    }
}

fn not_found() -> Failure {
    Failure::new(Kind::TaskNotFound, "the task is unknown, or no longer stored")
}

/// Checks the version that a client speaks. One that names none speaks 0.3 (A2A 1.0, section 3.6.2).
fn check_version(version: &str) -> Result<(), Failure> {
    let mut numbers = version.trim().split('.');
    match (numbers.next(), numbers.next()) {
        (Some("1"), Some("0")) => Ok(()),
        _ => Err(Failure::new(
            Kind::VersionNotSupported,
            "this agent speaks A2A 1.0 only; send the header `A2A-Version: 1.0`",
        )),
    }
}
