//! `agentdex connect`: configures MCP clients for the registry, or for a registered server.

mod configuration_file;
mod json_configuration;
mod toml_configuration;
mod user_file;

use std::{
    collections::BTreeMap,
    env,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, builder::PossibleValuesParser, builder::TypedValueParser};
use serde_json::{Value, json};

use self::{configuration_file::ConfigurationFile, user_file::UserFile};
use super::{
    agent_name::{id_of, no_agent},
    contexts::Contexts,
    misuse::misuse,
    output::{complain, print_json, visible, yellow_on_stderr},
    terminal::{stderr, stdout},
};
use agentdex::convert::{
    Format, Syntax,
    mcp_server::{
        Configuration, ConfigurationOptions, DocumentKind, McpClient, RegistryAddress, Server, is_configured_name,
    },
};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
#[command(after_help = "Without --write, the configuration is printed. With --write, it is added to the client's \
    configuration file; the rest of the file stays unchanged, and a backup copy is kept next to it. If the file can't \
    be parsed, is a symbolic link, or is changed by another program in the meantime, it isn't written, and the exit \
    status is 1.\n\n\
    Secrets are never written: the configuration refers to environment variables, which are listed on standard error.")]
pub(super) struct Arguments {
    /// Client to configure
    #[arg(value_parser = clients())]
    client: McpClient,
    /// Id of a registered MCP server, or its title if no other agent has it [default: the registry itself]
    id: Option<String>,
    /// Write the client's configuration file instead of printing the configuration
    #[arg(long)]
    write: bool,
    /// Replace a server of the same name in the file
    #[arg(long, requires = "write")]
    replace: bool,
    /// Name of the server in the configuration
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Value of a variable, argument, or header of the server; secrets are not allowed
    #[arg(long = "variable", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// File to write instead of your configuration file, such as .mcp.json in a project
    #[arg(long, requires = "write", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Accept the command that starts the server, without asking for confirmation
    #[arg(long, requires = "write")]
    yes: bool,
    /// Print a JSON object with the configuration, and whether it was only printed, or the file was created, updated,
    /// or left unchanged
    #[arg(long)]
    json: bool,
}

fn clients() -> impl TypedValueParser<Value = McpClient> {
    PossibleValuesParser::new(McpClient::ALL.map(McpClient::name)).try_map(|name| name.parse::<McpClient>())
}

fn name(text: &str) -> Result<String, String> {
    match is_configured_name(text) {
        true => Ok(text.to_owned()),
        false => Err(
            "a name must start with an ASCII letter, and consist of at most 32 ASCII letters, digits, hyphens, and \
                 underscores"
                .into(),
        ),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or("expected NAME=VALUE, such as region=eu")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let configuration = match &arguments.id {
        Some(name) => of_server(arguments, name, client).await?,
        None => of_registry(arguments, client).await?,
    };
    let file = match &arguments.file {
        Some(path) => UserFile::at(path),
        None => UserFile::of(configuration.client),
    };
    if !arguments.write {
        print(arguments, &configuration, file.as_ref().ok(), "printed")?;
        return Ok(ExitCode::SUCCESS);
    }
    match file.and_then(|file| write(arguments, &configuration, &file).map(|effect| (file, effect))) {
        Ok((file, effect)) => report(arguments, &configuration, &file, effect)?,
        Err(error) => {
            print(arguments, &configuration, None, "untouched")?;
            return Err(error.context("no file was changed"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The configuration for the registry itself.
async fn of_registry(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<Configuration> {
    if let Some((name, _)) = arguments.variables.first() {
        return Err(misuse(format!(
            "--variable {name}: the registry has no variables; to set a variable of a server, pass the server's id"
        )));
    }
    let access = client.about().await?.access;
    // Without a key, this caller may read.
    let is_open = access.owner.is_none() && access.role.is_some();
    let program = env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
    let url = client.url().trim_end_matches('/');
    let context = context_of(url)?;
    let address = RegistryAddress {
        url,
        needs_key: access.authentication && !is_open,
        program: program.as_deref().unwrap_or("agentdex"),
        context: context.as_deref(),
    };
    Ok(Configuration::of_registry(arguments.client, address, arguments.name.as_deref())?)
}

/// The name of a saved context for this URL.
fn context_of(url: &str) -> anyhow::Result<Option<String>> {
    let contexts = Contexts::load()?;
    let is_of_url = |name: &&str| {
        let context = contexts.find(name).and_then(|context| RegistryClient::new(&context.url).ok());
        context.is_some_and(|client| client.url().trim_end_matches('/') == url)
    };
    Ok(contexts.names().find(is_of_url).map(str::to_owned))
}

/// The configuration for a registered server.
async fn of_server(arguments: &Arguments, name: &str, client: &RegistryClient) -> anyhow::Result<Configuration> {
    let id = id_of(client, name).await?;
    let (format, media_type) = (Format::McpServer.name(), Some(Syntax::Json.media_type()));
    let version = [("version", DocumentKind::ServerJson.name())];
    let Some(exported) = client.export_with_warnings(&id, format, &version, media_type).await? else {
        return Err(no_agent(client, &id).await);
    };
    let server = Server::parse(exported.document.as_bytes()).context("reading the server.json from the registry")?;
    let values: BTreeMap<String, String> = arguments.variables.iter().cloned().collect();
    let options = ConfigurationOptions { name: arguments.name.clone(), values };
    Configuration::of_server(arguments.client, &server, &options).map_err(|error| match error {
        agentdex::convert::Error::NotExpressible { reason, .. } => {
            anyhow::anyhow!("{} can't connect to {}: {}", arguments.client.title(), visible(&id), visible(&reason))
        }
        error => error.into(),
    })
}

/// The effect of writing a file.
#[derive(Debug)]
enum Effect {
    /// The file has the same entry already.
    Unchanged,
    Created,
    /// The file was replaced; its former content is in the backup.
    Updated {
        backup: PathBuf,
    },
}

/// Adds the configuration to a file.
fn write(arguments: &Arguments, configuration: &Configuration, place: &UserFile) -> anyhow::Result<Effect> {
    place.check_directory(configuration.client)?;
    let shown = place.path.display();
    let file = ConfigurationFile::read(&place.path)?;
    let edited = match file.text()? {
        None => configuration.text(),
        Some(text) => {
            let edited = match configuration.client.reads_toml() {
                true => toml_configuration::with_server(text, configuration, arguments.replace),
                false => json_configuration::with_server(text, configuration, arguments.replace),
            };
            match edited.with_context(|| shown.to_string())? {
                Some(edited) => edited,
                None => return Ok(Effect::Unchanged),
            }
        }
    };
    if let Some(command) = &configuration.command {
        confirm(arguments, configuration, command)?;
    }
    Ok(match file.replace(&edited)? {
        Some(backup) => Effect::Updated { backup },
        None => Effect::Created,
    })
}

/// Shows the command that a client will run, and asks for consent.
fn confirm(arguments: &Arguments, configuration: &Configuration, command: &str) -> anyhow::Result<()> {
    complain(&format!(
        "{} will run this command of a third party:\n  {}",
        configuration.client.title(),
        visible(command)
    ));
    if arguments.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        bail!("the command isn't confirmed; pass --yes to accept it");
    }
    let mut err = stderr();
    write!(err, "Accept it? [y/N] ")?;
    err.flush()?;
    drop(err);
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("the command wasn't accepted"),
    }
}

/// Prints the configuration, and advice for its user.
fn print(
    arguments: &Arguments,
    configuration: &Configuration,
    file: Option<&UserFile>,
    effect: &str,
) -> anyhow::Result<()> {
    if arguments.json {
        return print_json(&to_json(configuration, file, effect));
    }
    if let Some(file) = file {
        complain(&format!("Add this to {}, or use --write:", file.path.display()));
    }
    let mut out = stdout();
    out.write_all(configuration.text().as_bytes())?;
    out.flush()?;
    drop(out);
    if let Some(command) = configuration.command.as_ref().filter(|_| !arguments.write) {
        let title = configuration.client.title();
        complain(&format!("{title} will run this command of a third party:\n  {}", visible(command)));
    }
    advise(configuration);
    Ok(())
}

fn report(arguments: &Arguments, configuration: &Configuration, file: &UserFile, effect: Effect) -> anyhow::Result<()> {
    let path = file.path.display();
    let (effect, text, backup) = match effect {
        Effect::Unchanged => ("unchanged", format!("{path} already has this entry"), None),
        Effect::Created => ("created", format!("created {path}"), None),
        Effect::Updated { backup } => {
            ("updated", format!("updated {path}; the former file was copied to {}", backup.display()), Some(backup))
        }
    };
    if arguments.json {
        let mut json = to_json(configuration, Some(file), effect);
        json["backup"] = backup.map_or(Value::Null, |backup| json!(backup.display().to_string()));
        return print_json(&json);
    }
    writeln!(stdout(), "{text}")?;
    advise(configuration);
    Ok(())
}

/// Lists the variables to set, and notes.
fn advise(configuration: &Configuration) {
    if !configuration.variables.is_empty() {
        let asks = configuration.client == McpClient::VsCode;
        complain(if asks {
            "VS Code asks for these values:"
        } else {
            "Set these environment variables for the client:"
        });
        for variable in &configuration.variables {
            let description = variable.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            complain(&format!("  {}{}", visible(&variable.name), visible(&description)));
        }
    }
    let kind = yellow_on_stderr("note:");
    configuration.notes.iter().for_each(|note| complain(&format!("{kind} {}", visible(note))));
}

fn to_json(configuration: &Configuration, file: Option<&UserFile>, effect: &str) -> Value {
    let variables = configuration.variables.iter().map(
        |variable| json!({"name": variable.name, "description": variable.description, "secret": variable.is_secret}),
    );
    json!({
        "client": configuration.client.name(),
        "name": configuration.name,
        "file": file.map(|file| file.path.display().to_string()),
        "effect": effect,
        "configuration": configuration.text(),
        "command": configuration.command,
        "variables": variables.collect::<Vec<_>>(),
        "notes": configuration.notes,
    })
}
