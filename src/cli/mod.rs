//! The command line: one file a command, one enum, one match.

mod ask;
mod call;
mod calling;
mod chat;
mod completions;
mod document;
mod examples;
mod export;
mod get;
mod imports;
mod list;
mod mapping;
mod mqtt;
mod openapi;
mod output;
mod refresh;
mod register;
mod remote;
mod remove;
mod sacp;
mod search;
mod serve;
mod stop;
mod td;
mod together;
mod untrack;
mod validate;
mod watch;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{CommandFactory, Parser, Subcommand};

/// An agent discovery registry: agents register what they can do, clients find them and subscribe to changes.
#[derive(Debug, Parser)]
#[command(name = "agentdex", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the registry: REST, search, events, MQTT.
    Serve(serve::Arguments),
    /// Check descriptions without registering them.
    Validate(validate::Arguments),
    /// Register descriptions: create them or replace them.
    Register(register::Arguments),
    /// Make Thing Descriptions of documents in other formats, without a registry.
    Td(td::Arguments),
    /// Print an agent in another format: what it was imported from, or what comes near to it.
    Export(export::Arguments),
    /// Print the description of an agent.
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
    /// Remove agents.
    Remove(remove::Arguments),
    /// List the URLs that agents were imported from and that are polled.
    Imports(imports::Arguments),
    /// Poll the sources of agents now.
    Refresh(refresh::Arguments),
    /// Stop tracking the sources of agents; the agents stay.
    Untrack(untrack::Arguments),
    /// Print what changes, as it changes.
    Watch(watch::Arguments),
    /// Maintain the topics on an existing MQTT broker.
    Mqtt(mqtt::Arguments),
    /// Read and prompt for responses in the Standard Agent Communication Protocol
    Sacp(sacp::Arguments),
    /// Print the OpenAPI description of the REST API.
    Openapi,
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
}

/// Runs the command that the process was called with.
pub fn run() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(arguments) => serve::run(arguments),
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
        Command::Remove(arguments) => remove::run(&arguments),
        Command::Imports(arguments) => imports::run(&arguments),
        Command::Refresh(arguments) => refresh::run(&arguments),
        Command::Untrack(arguments) => untrack::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
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
