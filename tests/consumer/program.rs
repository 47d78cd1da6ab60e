//! The program, as a user runs it against a registry.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::support::TestRegistry;

/// Runs the program against a registry, with the input of its user.
pub fn agentdex(registry: &TestRegistry, arguments: &[&str], input: &str) -> Output {
    agentdex_allowing("127.0.0.1", registry, arguments, input)
}

/// The same, with other addresses that may be called.
pub fn agentdex_allowing(allowed: &str, registry: &TestRegistry, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentdex"));
    command.args(arguments).env("AGENTDEX_URL", registry.url("")).env("AGENTDEX_ALLOW_FETCH", allowed);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}
