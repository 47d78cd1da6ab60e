//! `Condition`: whether an edge of a chain is taken (SACP, section 4.1): an [`Expression`] over `response`.

use std::{fmt, str::FromStr};

use super::response::Response;
use crate::expression::{Expression, Facts, Scope};

const SCOPE: Scope = Scope { noun: "condition", facts: &["response"], example: "response.data.score > 0.8" };

/// A compiled condition. A value that it compares with a literal can also be a string, since models often write
/// numbers like this: `"0.9"` satisfies `response.data.score > 0.8`.
///
/// ```
/// use agentdex_sacp::{Condition, read};
/// let condition: Condition = r#"response.status == "success" and response.data.score > 0.8"#.parse().unwrap();
/// let sure = read(r#"{"thought": "", "status": "success", "data": {"score": 1}, "message": ""}"#).response;
/// assert_eq!(condition.holds(&sure), Ok(true));
/// ```
#[derive(Debug)]
pub struct Condition(Expression);

/// The reason why a condition can't be compiled or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("condition `{condition}`: {reason}")]
pub struct ConditionError {
    /// The condition as written, shortened if it is long.
    pub condition: String,
    /// Description of the error, and what would be right.
    pub reason: String,
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let refuse = |reason| ConditionError { condition: text.chars().take(120).collect(), reason };
        let expression = Expression::compile(text, SCOPE).map_err(refuse)?;
        Ok(Condition(expression.with_types_of_literals()))
    }
}

impl Condition {
    /// True if it holds for a response. A path that the response doesn't have makes it false.
    ///
    /// # Errors
    /// If its value is not a boolean, or it compares what can't be compared.
    pub fn holds(&self, response: &Response) -> Result<bool, ConditionError> {
        let facts = Facts::new().with("response", &response.to_value());
        let holds = facts.and_then(|facts| self.0.holds(&facts));
        holds.map_err(|reason| ConditionError { condition: self.0.as_str().to_owned(), reason })
    }

    /// The condition as written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
