//! `agentdex completions`: prints a completion script for a shell.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Args, Command};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Shell to generate the script for
    #[arg(value_name = "bash|zsh|fish|elvish|powershell", hide_possible_values = true)]
    shell: Shell,
}

/// Prints the script for the commands of `agentdex`.
pub(super) fn run(arguments: &Arguments, agentdex: &mut Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, agentdex, "agentdex", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
