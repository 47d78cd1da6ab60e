//! The result of the program and its steps.

/// A result whose errors end the program.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
