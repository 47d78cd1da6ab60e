//! Errors of an encoder's directory.

/// Reason why a directory contains no usable encoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct ModelError {
    /// File name.
    pub file: String,
    /// Description of the problem, and the expected content.
    pub problem: String,
}

impl ModelError {
    pub(super) fn new(file: &str, problem: impl ToString) -> ModelError {
        ModelError { file: file.to_owned(), problem: problem.to_string() }
    }
}
