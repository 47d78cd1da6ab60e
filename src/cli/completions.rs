//! `agentdex completions`: prints a completion script for a shell. The script calls this program, which completes commands,
//! options, and ids of agents.

use std::{
    env,
    ffi::OsStr,
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use clap::{Arg, Args, Command, FromArgMatches};
use clap_complete::{ArgValueCompleter, CompleteEnv, CompletionCandidate, Shell, env::Shells};
use serde_json::json;

use super::{output::print_json, remote::Remote};

/// Variable by which scripts call this program.
const VARIABLE: &str = "AGENTDEX_COMPLETE";

/// Maximum time that a person waits for completions.
const PATIENCE: Duration = Duration::from_secs(1);

/// Maximum number of agents among which ids are completed.
const MAX_AGENTS: &str = "1000";

/// By default, bash takes the parts of an id between colons for words of their own.
const WORDS_OF_BASH: &str = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n";

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Shell to generate the script for
    #[arg(value_name = "bash|zsh|fish|elvish|powershell", hide_possible_values = true)]
    shell: Shell,
    /// Print the name of the shell and the script as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the script.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let shell = arguments.shell.to_string();
    let shells = Shells::builtins();
    let completer = shells.completer(&shell).context("the shell has no completions")?;
    let mut script = Vec::new();
    if arguments.shell == Shell::Bash {
        script.extend(WORDS_OF_BASH.bytes());
    }
    completer.write_registration(VARIABLE, "agentdex", "agentdex", "agentdex", &mut script)?;
    match arguments.json {
        true => print_json(&json!({"shell": shell, "script": String::from_utf8_lossy(&script)}))?,
        false => io::stdout().write_all(&script)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers a shell that asks for completions. Returns false if this process was started for something else. `command`
/// creates the command line.
pub(super) fn answer(command: fn() -> Command) -> anyhow::Result<bool> {
    let current = env::current_dir().ok();
    let completions = CompleteEnv::with_factory(move || with_ids(command())).var(VARIABLE);
    Ok(completions.try_complete(env::args_os(), current.as_deref())?)
}

/// Lets the arguments of commands that are ids of agents be completed.
fn with_ids(command: Command) -> Command {
    let is_id = |arg: &Arg| arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "ID"));
    if command.get_name() == "keys" {
        return command;
    }
    let command = command.mut_args(|arg| if is_id(&arg) { arg.add(ArgValueCompleter::new(ids)) } else { arg });
    command.mut_subcommands(with_ids)
}

/// Returns the ids of agents that begin like the given word, with their titles. The registry is that of the variables and
/// contexts. Without an answer, there are no completions.
fn ids(word: &OsStr) -> Vec<CompletionCandidate> {
    let found = word.to_str().map(agents_that_begin_with);
    found.and_then(Result::ok).unwrap_or_default()
}

fn agents_that_begin_with(word: &str) -> anyhow::Result<Vec<CompletionCandidate>> {
    let without_flags = Remote::augment_args(Command::new("registry")).try_get_matches_from(["registry"])?;
    let client = Remote::from_arg_matches(&without_flags)?.client()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let parameters = [("limit", MAX_AGENTS)];
    let listed = runtime.block_on(async { tokio::time::timeout(PATIENCE, client.summaries(&parameters)).await })??;
    let agents = listed.into_iter().filter(|agent| agent.id.starts_with(word));
    Ok(agents.map(|agent| CompletionCandidate::new(agent.id).help(agent.title.map(Into::into))).collect())
}
