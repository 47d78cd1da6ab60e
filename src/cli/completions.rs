//! `agentdex completions`: prints a completion script for a shell.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Args, Command};
use clap_complete::Shell;
use serde_json::json;

use super::output::print_json;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Shell to generate the script for
    #[arg(value_name = "bash|zsh|fish|elvish|powershell", hide_possible_values = true)]
    shell: Shell,
    /// Print the name of the shell and the script as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the script for the commands of `agentdex`.
pub(super) fn run(arguments: &Arguments, agentdex: &mut Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, agentdex, "agentdex", &mut script);
    match arguments.json {
        true => print_json(&json!({"shell": arguments.shell.to_string(), "script": String::from_utf8_lossy(&script)}))?,
        false => io::stdout().write_all(&script)?,
    }
    Ok(ExitCode::SUCCESS)
}
