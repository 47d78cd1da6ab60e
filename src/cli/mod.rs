//! The command line: one file a command, one enum, one match.

mod access;
mod affordance_input;
mod agent_name;
mod answer_printer;
mod ask;
mod audit;
mod backup;
mod call;
mod calling;
mod chat;
mod check;
mod clock;
mod cluster;
mod completions;
mod conflicts;
mod connect;
mod context;
mod contexts;
mod damaged_store;
mod data_directory;
mod demo;
mod diff;
mod document;
mod edit;
mod error_message;
mod events;
mod examples;
mod excluded_words;
mod export;
mod get;
mod help;
mod history;
mod imports;
mod keys;
mod line_editor;
mod list;
mod mapping;
mod mcp;
mod misuse;
mod moments;
mod mqtt;
mod namespaces;
mod openapi;
mod output;
mod patch;
mod progress;
mod queries;
mod read;
mod records;
mod refresh;
mod register;
mod remote;
mod remove;
mod run;
mod sacp;
mod salvage;
mod search;
mod serve;
mod status;
mod stop;
mod td;
mod terminal;
mod untrack;
mod usage;
mod validate;
mod version;
mod watch;
mod write;

use std::{env, io, panic, process::ExitCode};

use anyhow::Context;
use clap::{
    Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::{OsStr, Resettable},
    parser::ValueSource,
};

use self::{misuse::misuse, remote::Remote};
use agentdex_client::RegistryClient;

/// A discovery registry for software agents: agents register what they can do, clients find them and follow changes.
#[derive(Parser)]
#[command(name = "agentdex", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a registry server: REST, search, events, MQTT.
    Serve(serve::Arguments),
    /// Run a demo registry with agents that you can talk to.
    Demo(demo::Arguments),
    /// Check descriptions without registering them.
    Validate(validate::Arguments),
    /// Convert documents to Thing Descriptions, without a registry.
    Td(td::Arguments),
    #[command(flatten)]
    OfRegistry(Box<RegistryCommand>),
    /// Create a data directory from a backup.
    Restore(backup::Restore),
    /// Check a data directory for damage.
    Check(check::Arguments),
    /// Recover the readable part of a damaged data directory.
    Salvage(salvage::Arguments),
    /// Maintain the topics on an external MQTT broker.
    Mqtt(mqtt::Arguments),
    /// Save registries by name, and select the registry to use.
    Context(context::Arguments),
    /// Print the OpenAPI document of the REST API.
    Openapi(openapi::Arguments),
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
}

/// Commands that talk to a registry. All other commands hide and reject the flags for selecting a registry.
#[derive(Subcommand)]
enum RegistryCommand {
    /// Register agents, or update them.
    Register(register::Arguments),
    /// Print an agent in another format.
    #[command(override_usage = "agentdex export [OPTIONS] --format <FORMAT> <ID>")]
    Export(export::Arguments),
    /// Print the description of an agent.
    Get(get::Arguments),
    /// Compare two agents, versions, or files.
    Diff(diff::Arguments),
    /// List agents.
    List(list::Arguments),
    /// Find agents by what they can do.
    #[command(visible_alias = "find")]
    Search(search::Arguments),
    /// Manage saved queries.
    Queries(queries::Arguments),
    /// Find an agent for a question, and print its answer.
    Ask(ask::Arguments),
    /// Talk with an agent.
    Chat(chat::Arguments),
    /// Call an action of an agent.
    Call(call::Arguments),
    /// Print the value of a property.
    Read(read::Arguments),
    /// Set the value of a property.
    Write(write::Arguments),
    /// Print events and property changes of an agent as they happen.
    Events(events::Arguments),
    /// Run a chain of agents or an Agent Spec Flow.
    Run(run::Arguments),
    /// Change a description in an editor.
    Edit(edit::Arguments),
    /// Change parts of a description.
    Patch(patch::Arguments),
    /// Remove agents.
    #[command(visible_alias = "delete")]
    Remove(remove::Arguments),
    /// List the changes to one agent.
    History(history::OfAgent),
    /// List the changes to all agents.
    Changes(history::OfAll),
    /// Print the version of this program and of the registry.
    Version(version::Arguments),
    /// Show whether the registry is ready.
    Status(status::Arguments),
    /// List the URLs that the registry polls for changes of agents.
    Imports(imports::Arguments),
    /// Poll the sources of agents now.
    Refresh(refresh::Arguments),
    /// Stop polling the sources of agents; the agents stay registered.
    Untrack(untrack::Arguments),
    /// Show or change who owns an agent and who can see it.
    Access(access::Arguments),
    /// Manage namespaces, in which owners share agents.
    Namespaces(namespaces::Arguments),
    /// Print who changed what, and which requests were denied.
    Audit(audit::Arguments),
    /// Create, list, and revoke API keys.
    Keys(keys::Arguments),
    /// Reset the log's time after the system clock ran ahead.
    Clock(clock::Arguments),
    /// Show the nodes of a cluster, or create the data directory of a node.
    Cluster(cluster::Arguments),
    /// Print changes as they happen.
    #[command(visible_alias = "subscribe")]
    Watch(watch::Arguments),
    /// Back up a registry to a file.
    Backup(backup::Take),
    /// Export agents to a file, or import them, as lines of JSON.
    Records(records::Arguments),
    /// Run an MCP server for a registry, on standard input and output.
    Mcp(mcp::Arguments),
    /// Connect an MCP client, such as Claude Code, to a registry or to a registered MCP server.
    Connect(connect::Arguments),
    /// Work with the Standard Agent Communication Protocol (SACP).
    Sacp(sacp::Arguments),
}

impl Cli {
    async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Serve(arguments) => serve::run(arguments, &variables()).await,
            Command::Demo(arguments) => demo::run(&arguments).await,
            Command::Validate(arguments) => validate::run(&arguments),
            Command::Td(arguments) => td::run(&arguments),
            Command::OfRegistry(command) => {
                let remote = self.remote.or_at(command.url());
                command.run(|| remote.client()).await.map_err(|error| remote.explain_path(error))
            }
            Command::Restore(arguments) => backup::restore(&arguments),
            Command::Check(arguments) => check::run(&arguments),
            Command::Salvage(arguments) => salvage::run(&arguments),
            Command::Mqtt(arguments) => mqtt::run(arguments).await,
            Command::Context(arguments) => context::run(&arguments, &self.remote),
            Command::Openapi(arguments) => openapi::run(&arguments),
            Command::Completions(arguments) => completions::run(&arguments),
        }
    }
}

impl RegistryCommand {
    /// Returns the URL of the registry, if the command has an option of its own for it.
    fn url(&self) -> Option<&str> {
        match self {
            Self::Cluster(arguments) => arguments.url(),
            _ => None,
        }
    }

    /// Runs the command; `registry` creates the client.
    async fn run(self, registry: impl Fn() -> anyhow::Result<RegistryClient>) -> anyhow::Result<ExitCode> {
        match self {
            Self::Register(arguments) => register::run(&arguments, &registry()?).await,
            Self::Export(arguments) => export::run(&arguments, &registry()?).await,
            Self::Get(arguments) => get::run(&arguments, &registry()?).await,
            Self::List(arguments) => list::run(&arguments, &registry()?).await,
            Self::Search(arguments) => search::run(&arguments, &registry()?).await,
            Self::Ask(arguments) => ask::run(&arguments, &registry()?).await,
            Self::Chat(arguments) => chat::run(&arguments, &registry()?).await,
            Self::Call(arguments) => call::run(&arguments, &registry()?).await,
            Self::Read(arguments) => read::run(&arguments, &registry()?).await,
            Self::Write(arguments) => write::run(&arguments, &registry()?).await,
            Self::Events(arguments) => events::run(&arguments, &registry()?).await,
            Self::Run(arguments) => run::run(&arguments, &registry()?).await,
            Self::Edit(arguments) => edit::run(&arguments, &registry()?).await,
            Self::Diff(arguments) => diff::run(&arguments, registry).await,
            Self::Queries(arguments) => queries::run(&arguments, &registry()?).await,
            Self::Version(arguments) => version::run(&arguments, registry).await,
            Self::Patch(arguments) => patch::run(&arguments, &registry()?).await,
            Self::Remove(arguments) => remove::run(&arguments, &registry()?).await,
            Self::History(arguments) => history::of_agent(&arguments, &registry()?).await,
            Self::Changes(arguments) => history::of_all(&arguments, &registry()?).await,
            Self::Status(arguments) => status::run(&arguments, &registry()?).await,
            Self::Imports(arguments) => imports::run(&arguments, &registry()?).await,
            Self::Refresh(arguments) => refresh::run(&arguments, &registry()?).await,
            Self::Untrack(arguments) => untrack::run(&arguments, &registry()?).await,
            Self::Access(arguments) => access::run(&arguments, &registry()?).await,
            Self::Namespaces(arguments) => namespaces::run(&arguments, &registry()?).await,
            Self::Audit(arguments) => audit::run(&arguments, &registry()?).await,
            Self::Keys(keys::Arguments { data: Some(directory), action }) => keys::run_in(&directory, &action),
            Self::Keys(keys::Arguments { action, .. }) => keys::run(&action, &registry()?).await,
            Self::Clock(clock::Arguments { data: Some(directory), action }) => clock::run_in(&directory, &action),
            Self::Clock(clock::Arguments { action, .. }) => clock::run(&action, &registry()?).await,
            Self::Cluster(arguments) => cluster::run(&arguments, registry).await,
            Self::Watch(arguments) => watch::run(&arguments, &registry()?).await,
            Self::Backup(backup::Take { data: Some(directory), target }) => backup::take_of(&directory, &target),
            Self::Backup(backup::Take { target, .. }) => backup::take(&target, &registry()?).await,
            Self::Records(arguments) => records::run(&arguments, &registry()?).await,
            Self::Mcp(mcp::Arguments { data: Some(directory), read_only, .. }) => {
                mcp::run_in(&directory, read_only).await
            }
            Self::Mcp(_) => mcp::run(&registry()?).await,
            Self::Connect(arguments) => connect::run(&arguments, &registry()?).await,
            Self::Sacp(arguments) => sacp::run(&arguments, registry).await,
        }
    }
}

/// True if a command has nothing to do with a registry. `context` stores the flags that name one.
fn is_local(name: &str) -> bool {
    !RegistryCommand::has_subcommand(name) && name != "context"
}

/// The command line. Variables that are empty count as absent.
fn command() -> clap::Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    let command = Cli::command().mut_args(|arg| match is_empty(&arg) {
        true => arg.env(Resettable::<OsStr>::Reset),
        false => arg,
    });
    let hidden: Vec<Arg> = command.get_arguments().map(|arg| arg.clone().hide(true)).collect();
    with_negative_numbers(help::with_help(command.mut_subcommands(|subcommand| {
        match is_local(subcommand.get_name()) {
            true => subcommand.args(hidden.clone()),
            false => subcommand,
        }
    })))
}

/// Lets options have values such as `-1`, for which an option may have a better message than clap.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_value = |arg: &Arg| arg.get_long().is_some() && arg.get_action().takes_values();
    let command = command.mut_args(|arg| if takes_value(&arg) { arg.allow_negative_numbers(true) } else { arg });
    command.mut_subcommands(with_negative_numbers)
}

/// The command line in which flags that name a registry stand only where one is asked, for completions.
fn without_unused() -> clap::Command {
    fn with(command: clap::Command, flags: &[Arg]) -> clap::Command {
        command.args(flags).mut_subcommands(|subcommand| with(subcommand, flags))
    }
    let command = Cli::command().mut_args(|arg| arg.global(false));
    let flags: Vec<Arg> = command.get_arguments().cloned().collect();
    command.mut_subcommands(|subcommand| match is_local(subcommand.get_name()) {
        true => subcommand,
        false => with(subcommand, &flags),
    })
}

/// The variables of all flags but the settings of the server.
fn variables() -> Vec<String> {
    fn of(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()));
        own.chain(command.get_subcommands().flat_map(of)).collect()
    }
    remote::VARIABLES.into_iter().map(str::to_owned).chain(of(&Cli::command())).collect()
}

/// Runs the command that the process was called with.
pub fn run() -> ExitCode {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !agentdex::store::is_panic_caught() {
            hook(info);
        }
    }));
    match completions::answer(without_unused) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return report(&error, false),
    }
    let as_json = env::args_os().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json");
    let parsed = command()
        .try_get_matches_from(excluded_words::mark(env::args_os()))
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage::report(error, as_json),
    };
    let outcome = refuse_unused(&matches).and_then(|()| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.context("starting the runtime")?.block_on(cli.run())
    });
    outcome.unwrap_or_else(|error| report(&error, as_json))
}

/// Refuses flags that name a registry where the command talks to none.
fn refuse_unused(matches: &ArgMatches) -> anyhow::Result<()> {
    let is_local = matches.subcommand_name().is_some_and(is_local) || is_in_directory(matches);
    let flags = Remote::augment_args(clap::Command::new("registry"));
    let is_given = |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    match flags.get_arguments().find(is_given).and_then(Arg::get_long) {
        Some(flag) if is_local => {
            Err(misuse(format!("--{flag} is for commands that connect to a registry; omit it for this command")))
        }
        _ => Ok(()),
    }
}

/// True if the command works in the directory of a registry that is stopped, or with files alone.
fn is_in_directory(matches: &ArgMatches) -> bool {
    let contains = |id: &str| matches.try_contains_id(id).unwrap_or(false);
    // `cluster join --from` reads from a registry into a new directory.
    contains("data") && !contains("from") || matches.subcommand().is_some_and(|(_, matches)| is_in_directory(matches))
}

/// Says what went wrong; a reader that has gone (`agentdex list | head`) is no failure.
fn report(error: &anyhow::Error, as_json: bool) -> ExitCode {
    let is_broken_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.downcast_ref::<io::Error>().is_some_and(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let damaged = damaged_store::of(error);
    if as_json {
        let mut object = error_message::to_json(error);
        if let Some((_, text)) = damaged.as_ref().filter(|(_, text)| !text.is_empty()) {
            object["hint"] = text.trim().into();
        }
        output::complain_json(&object);
    } else {
        output::complain(&format!("{} {}", output::red_on_stderr("error:"), error_message::causes(error)));
        if let Some(answer) = error.chain().find_map(error_message::rejected_answer_of) {
            answer_printer::complain_of_answer(answer);
        }
        if let Some((_, text)) = damaged.as_ref().filter(|(_, text)| !text.is_empty()) {
            output::complain(text.trim_end());
        }
    }
    match damaged {
        Some((status, _)) => status,
        None if misuse::is_misuse(error) => ExitCode::from(misuse::STATUS),
        None => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_fits_together() {
        let mut command = command();
        command.build();
        command.debug_assert();
    }

    #[test]
    fn flags_that_name_a_registry_stand_before_and_behind_the_command() {
        // What stands behind the command is nearer to it.
        for arguments in ["--url a status", "status --url a", "--url b status --url a", "keys --url b list --url a"] {
            let matches = command().get_matches_from(["agentdex"].into_iter().chain(arguments.split(' ')));
            assert!(refuse_unused(&matches).is_ok(), "{arguments}");
            assert_eq!(matches.get_one::<String>("url").map(String::as_str), Some("a"), "{arguments}");
        }
        let offered = without_unused();
        let has_url = |name: &str| {
            let subcommand = offered.find_subcommand(name).expect("a command");
            subcommand.get_arguments().any(|arg| arg.get_id() == "url")
        };
        assert!(has_url("list") && has_url("keys") && !has_url("serve") && !has_url("openapi"));
        for arguments in [
            "--url a openapi",
            "openapi --url a",
            "--api-key k mqtt resync",
            "serve --ca f",
            "keys --url a list --data d",
            "backup f --data d --client-cert f",
        ] {
            let matches = command().get_matches_from(["agentdex"].into_iter().chain(arguments.split(' ')));
            let error = refuse_unused(&matches).unwrap_err().to_string();
            assert!(
                error.starts_with("--") && error.ends_with("connect to a registry; omit it for this command"),
                "{error}"
            );
        }
    }
}
