//! Programs that a caller allows to be started.

use std::ffi::OsString;

/// An MCP server program, connected by its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub(super) command: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Program {
    /// Creates a program from a command name or path.
    pub fn new(command: impl Into<OsString>) -> Program {
        Program { command: command.into(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Program {
        self.arguments.push(argument.into());
        self
    }

    /// Adds an environment variable. Other variables are inherited from this process.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Program {
        self.environment.push((name.into(), value.into()));
        self
    }
}
