//! Errors in a directory that should have an encoder.

/// Why a directory has no encoder that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct ModelError {
    /// Name of the file.
    pub file: String,
    /// Problem of the file, and what would be right.
    pub problem: String,
}

impl ModelError {
    pub(super) fn new(file: &str, problem: impl ToString) -> ModelError {
        ModelError { file: file.to_owned(), problem: problem.to_string() }
    }
}
