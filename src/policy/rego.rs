//! Modules in Rego, the language of Open Policy Agent: whether their `deny` has something to say of a step.

use std::{
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use regorus::{Engine, Value as RegoValue, utils::limits::ExecutionTimerConfig};
use serde_json::Value;

use crate::expression::MAX_VALUES;

/// The longest module in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// How many operations are done between two checks of the time.
const CHECK_EVERY: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);
/// The rule that is evaluated.
const RULE: &str = "deny";
/// How long the check at load may take.
const TRIAL: Duration = Duration::from_secs(1);

/// A compiled module.
pub(super) struct Module {
    /// Cloned for each evaluation, since one changes it.
    engine: Mutex<Engine>,
    /// The path of its rule, such as `data.refunds.deny`.
    rule: String,
}

/// What modules read, in their own form.
pub(super) struct Input(RegoValue);

impl Input {
    pub(super) fn new<'v>(facts: impl IntoIterator<Item = (&'static str, &'v Value)>) -> Result<Input, String> {
        let members = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact.clone()));
        let input = Value::Object(members.collect());
        if crate::expression::values_of(&input, MAX_VALUES) > MAX_VALUES {
            return Err(format!("there are more than {MAX_VALUES} values in the step, too many for Rego"));
        }
        Ok(Input(RegoValue::from(input)))
    }
}

impl Module {
    /// Compiles a module; `name` is what errors call it.
    pub(super) fn compile(name: &str, text: &str) -> Result<Module, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("the module is longer than {MAX_BYTES} bytes"));
        }
        let mut engine = Engine::new();
        let package = engine.add_policy(format!("{name}.rego"), text.to_owned()).map_err(|error| error.to_string())?;
        let module = Module { engine: Mutex::new(engine), rule: format!("{package}.{RULE}") };
        // The schedule of rules is made at the first evaluation: unknown functions and rules that need themselves are
        // found now, and the time that it takes is not that of a decision.
        let step = Input::new([])?;
        let mut engine = module.lock();
        engine.set_execution_timer_config(timer(TRIAL));
        engine.set_input(step.0);
        engine.eval_rule(module.rule.clone()).map_err(|error| match error.to_string() {
            text if text.contains("not a valid rule path") => {
                format!("it has no rule `{RULE}`; write `{RULE} contains message if {{ … }}`")
            }
            text => text,
        })?;
        drop(engine);
        Ok(module)
    }

    /// The messages of what is denied; none for a denial without a message.
    pub(super) fn denied(&self, input: &Input, remaining: Duration) -> Result<Vec<Option<String>>, String> {
        let mut engine = self.lock().clone();
        engine.set_execution_timer_config(timer(remaining));
        engine.set_input(input.0.clone());
        let denied = engine.eval_rule(self.rule.clone()).map_err(|error| error.to_string())?;
        Ok(match denied {
            RegoValue::Undefined | RegoValue::Bool(false) => Vec::new(),
            RegoValue::Bool(true) => vec![None],
            RegoValue::String(message) => vec![Some(message.to_string())],
            RegoValue::Set(messages) => messages.iter().map(message).collect(),
            RegoValue::Array(messages) => messages.iter().map(message).collect(),
            _ => return Err(format!("`{RULE}` is neither true, a message, nor a set of messages")),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("rule", &self.rule).finish_non_exhaustive()
    }
}

/// A text, or the `msg` of an object, as policies for other tools write them.
fn message(value: &RegoValue) -> Option<String> {
    match value {
        RegoValue::String(text) => Some(text.to_string()),
        RegoValue::Object(members) => members.get(&RegoValue::from("msg")).and_then(message),
        other => Some(other.to_string()),
    }
}

fn timer(limit: Duration) -> ExecutionTimerConfig {
    ExecutionTimerConfig { limit, check_interval: CHECK_EVERY }
}
