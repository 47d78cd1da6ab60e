//! The command line: one file a command, one enum, one match.

mod access;
mod ask;
mod audit;
mod backup;
mod call;
mod calling;
mod chat;
mod check;
mod completions;
mod document;
mod examples;
mod export;
mod get;
mod history;
mod imports;
mod keys;
mod line_editor;
mod list;
mod mapping;
mod moments;
mod mqtt;
mod namespaces;
mod openapi;
mod output;
mod patch;
mod records;
mod refresh;
mod register;
mod remote;
mod remove;
mod run;
mod sacp;
mod search;
mod serve;
mod status;
mod stop;
mod td;
mod together;
mod untrack;
mod validate;
mod watch;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{CommandFactory, Parser, Subcommand};

use self::remote::Remote;

/// An agent discovery registry: agents register what they can do, clients find them and subscribe to changes.
#[derive(Debug, Parser)]
#[command(name = "agentdex", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    /// Where the registry is, for all commands that talk to one
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// API key, for all commands that talk to a registry
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// PEM file with certificates to trust a registry by, for all commands that talk to one
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the registry: REST, search, events, MQTT.
    Serve(Box<serve::Arguments>),
    /// Check descriptions without registering them.
    Validate(validate::Arguments),
    /// Register descriptions: create them or replace them.
    Register(register::Arguments),
    /// Make Thing Descriptions of documents in other formats, without a registry.
    Td(td::Arguments),
    /// Print an agent in another format: what it was imported from, or what comes near to it.
    Export(export::Arguments),
    /// Print the description of an agent.
    #[command(visible_alias = "find")]
    Get(get::Arguments),
    /// List the agents.
    List(list::Arguments),
    /// Find agents by what they can do.
    Search(search::Arguments),
    /// Find an agent, ask it, and print the answer.
    Ask(ask::Arguments),
    /// Talk with an agent.
    Chat(chat::Arguments),
    /// Invoke an action of an agent.
    Call(call::Arguments),
    /// Run a chain of agents, or an Agent Spec Flow.
    Run(run::Arguments),
    /// Change a part of a description.
    Patch(patch::Arguments),
    /// Remove agents.
    #[command(visible_alias = "delete")]
    Remove(remove::Arguments),
    /// List what changed about an agent, as far as the log still has it.
    History(history::OfAgent),
    /// List what changed about all agents.
    Changes(history::OfAll),
    /// Print whether the registry is ready, and what it holds.
    Status(status::Arguments),
    /// List the URLs that agents were imported from and that are polled.
    Imports(imports::Arguments),
    /// Poll the sources of agents now.
    Refresh(refresh::Arguments),
    /// Stop tracking the sources of agents; the agents stay.
    Untrack(untrack::Arguments),
    /// Print or change whose an agent is, and who sees it.
    Access(access::Arguments),
    /// Claim and list namespaces: agents that several owners share.
    Namespaces(namespaces::Arguments),
    /// Print who changed what, and what was denied.
    Audit(audit::Arguments),
    /// Create, list and revoke API keys.
    Keys(keys::Arguments),
    /// Print what changes, as it changes.
    #[command(visible_alias = "subscribe")]
    Watch(watch::Arguments),
    /// Write all that a registry has to one file.
    Backup(backup::Take),
    /// Make a data directory from a backup.
    Restore(backup::Restore),
    /// Move all agents to another registry, or to another program, as lines of JSON.
    Records(records::Arguments),
    /// Check whether what a data directory has fits together.
    Check(check::Arguments),
    /// Maintain the topics on an existing MQTT broker.
    Mqtt(mqtt::Arguments),
    /// Read and prompt for responses in the Standard Agent Communication Protocol
    Sacp(sacp::Arguments),
    /// Print the OpenAPI description of the REST API.
    Openapi,
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
}

impl Command {
    /// Where the registry is that the command talks to; none where it talks to none.
    fn remote(&mut self) -> Option<&mut Remote> {
        Some(match self {
            Command::Register(arguments) => &mut arguments.remote,
            Command::Export(arguments) => &mut arguments.remote,
            Command::Get(arguments) => &mut arguments.remote,
            Command::List(arguments) => &mut arguments.remote,
            Command::Search(arguments) => &mut arguments.remote,
            Command::Ask(arguments) => &mut arguments.calling.remote,
            Command::Chat(arguments) => &mut arguments.calling.remote,
            Command::Call(arguments) => &mut arguments.calling.remote,
            Command::Run(arguments) => &mut arguments.calling.remote,
            Command::Patch(arguments) => &mut arguments.remote,
            Command::Remove(arguments) => &mut arguments.remote,
            Command::History(arguments) => &mut arguments.remote,
            Command::Changes(arguments) => &mut arguments.remote,
            Command::Status(arguments) => &mut arguments.remote,
            Command::Imports(arguments) => &mut arguments.remote,
            Command::Refresh(arguments) => &mut arguments.remote,
            Command::Untrack(arguments) => &mut arguments.remote,
            Command::Access(arguments) => &mut arguments.remote,
            Command::Namespaces(arguments) => arguments.remote(),
            Command::Audit(arguments) => &mut arguments.remote,
            Command::Keys(arguments) => arguments.remote(),
            Command::Watch(arguments) => &mut arguments.remote,
            Command::Backup(arguments) => &mut arguments.remote,
            Command::Records(arguments) => arguments.remote(),
            Command::Sacp(arguments) => return arguments.remote(),
            Command::Serve(_)
            | Command::Validate(_)
            | Command::Td(_)
            | Command::Mqtt(_)
            | Command::Restore(_)
            | Command::Check(_)
            | Command::Openapi
            | Command::Completions(_) => return None,
        })
    }
}

/// Runs the command that the process was called with.
pub fn run() -> ExitCode {
    let Cli { url, api_key, ca, mut command } = Cli::parse();
    let given = [("--url", url.is_some()), ("--api-key", api_key.is_some()), ("--ca", ca.is_some())];
    if let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        let Some(remote) = command.remote() else {
            return report(&anyhow::anyhow!("{flag} is for commands that talk to a registry, and this one doesn't"));
        };
        // What stands behind the command is nearer to it.
        remote.url = remote.url.take().or(url);
        remote.api_key = remote.api_key.take().or(api_key);
        remote.ca = remote.ca.take().or(ca);
    }
    let outcome = match command {
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Validate(arguments) => validate::run(&arguments),
        Command::Register(arguments) => register::run(&arguments),
        Command::Td(arguments) => td::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Get(arguments) => get::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
        Command::Ask(arguments) => ask::run(&arguments),
        Command::Chat(arguments) => chat::run(&arguments),
        Command::Call(arguments) => call::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Patch(arguments) => patch::run(&arguments),
        Command::Remove(arguments) => remove::run(&arguments),
        Command::History(arguments) => arguments.run(),
        Command::Changes(arguments) => arguments.run(),
        Command::Status(arguments) => status::run(&arguments),
        Command::Imports(arguments) => imports::run(&arguments),
        Command::Refresh(arguments) => refresh::run(&arguments),
        Command::Untrack(arguments) => untrack::run(&arguments),
        Command::Access(arguments) => access::run(&arguments),
        Command::Namespaces(arguments) => namespaces::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Keys(arguments) => keys::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Backup(arguments) => backup::take(&arguments),
        Command::Restore(arguments) => backup::restore(&arguments),
        Command::Records(arguments) => records::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Mqtt(arguments) => mqtt::run(arguments),
        Command::Sacp(arguments) => sacp::run(&arguments),
        Command::Openapi => openapi::run(),
        Command::Completions(arguments) => completions::run(&arguments, &mut Cli::command()),
    };
    outcome.unwrap_or_else(|error| report(&error))
}

/// Says what went wrong; a reader that has gone (`agentdex list | head`) is no failure.
fn report(error: &anyhow::Error) -> ExitCode {
    let is_broken_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.downcast_ref::<io::Error>().is_some_and(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr(), "{} {}", output::red_on_stderr("error:"), output::causes(error));
    ExitCode::FAILURE
}
