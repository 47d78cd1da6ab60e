//! Configurations by which MCP clients connect to a server: to one that a document describes, or to a registry.
//!
//! Names, commands, URLs, and headers of a document come from a third party. A configuration contains none that its client would
//! expand or a terminal would interpret, and no secrets: those are references to variables.

mod client;
mod connection;
mod entry;
mod template;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use self::{client::McpClient, template::Variable};
use self::{
    connection::{Connection, ServerReader},
    entry::{Entry, EntryWriter},
    template::Template,
};
use super::Server;
use crate::{Error, Result};

/// Maximum length of the name of a server in a configuration. With the name of a tool, it must fit the 63 characters that
/// Gemini accepts.
const MAX_NAME_LENGTH: usize = 32;
/// The variable with the API key of a registry, which the command line reads as well.
const API_KEY: &str = "AGENTDEX_API_KEY";

/// The choices of the user of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigurationOptions {
    /// Name of the server in the configuration; by default, one derived from the server's own name.
    pub name: Option<String>,
    /// Values of the server's variables, headers, arguments, and environment variables, by name. Secrets can't be given.
    pub values: BTreeMap<String, String>,
}

/// The address of a registry, and what its MCP clients need.
#[derive(Debug, Clone, Copy)]
pub struct RegistryAddress<'a> {
    /// URL of the API, without a slash at the end.
    pub url: &'a str,
    /// True if callers need an API key.
    pub needs_key: bool,
    /// The program that clients start if they can't use a URL.
    pub program: &'a str,
    /// The context of that program in which the URL and key are stored.
    pub context: Option<&'a str>,
}

/// The configuration by which a client connects to an MCP server.
///
/// ```
/// use agentdex_convert::mcp_server::{Configuration, ConfigurationOptions, McpClient, Server};
///
/// let server = Server::parse(br#"{
///     "name": "com.example/weather", "description": "Tells the weather", "version": "1.0.0",
///     "remotes": [{"type": "streamable-http", "url": "https://weather.example/mcp"}]
/// }"#)?;
/// let configuration = Configuration::of_server(McpClient::Codex, &server, &ConfigurationOptions::default())?;
/// assert_eq!(configuration.text(), "[mcp_servers.weather]\nurl = \"https://weather.example/mcp\"\n");
/// # Ok::<(), agentdex_convert::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Configuration {
    /// The client.
    pub client: McpClient,
    /// Name of the server in the configuration.
    pub name: String,
    /// The server's entry, as JSON also for clients that read TOML.
    pub entry: Value,
    /// The values for which VS Code asks.
    pub inputs: Vec<Value>,
    /// The command of a third party that the client will start, with its environment, as words of a shell.
    pub command: Option<String>,
    /// The variables that the entry refers to.
    pub variables: Vec<Variable>,
    /// Sentences for the user: what is left out, and what to do about it.
    pub notes: Vec<String>,
}

impl Configuration {
    /// Creates the configuration for a server that a document describes: for its first remote that the client supports, or
    /// else for a package.
    ///
    /// # Errors
    /// [`Error::NotExpressible`] with the name of the client, if it can't connect to the server, if a text in the document could
    /// do harm in a configuration, or if a given value has no place.
    pub fn of_server(client: McpClient, server: &Server, options: &ConfigurationOptions) -> Result<Configuration> {
        let own_name = server.text("name").unwrap_or_default();
        let name = options.name.clone().unwrap_or_else(|| configured_name(own_name));
        let mut failure = None;
        for candidate in connection::candidates(server.members()) {
            let mut reader = ServerReader::new(&name, &options.values);
            let written = reader
                .read(candidate)
                .and_then(|connection| EntryWriter::new(client, &name).write(&connection, reader.take_notes(), true));
            match written.and_then(|entry| reader.check_values().map(|()| entry)) {
                Ok(entry) => return Ok(Configuration::new(client, name, entry)),
                Err(reason) => drop(failure.get_or_insert(reason)),
            }
        }
        let nothing = || "the server has neither a remote nor a package that a client can use".to_owned();
        Err(not_expressible(client, failure.unwrap_or_else(nothing)))
    }

    /// Creates the configuration for the MCP server of a registry.
    ///
    /// # Errors
    /// [`Error::NotExpressible`] with the name of the client, if the URL has credentials or isn't a URL of the web.
    pub fn of_registry(client: McpClient, address: RegistryAddress<'_>, name: Option<&str>) -> Result<Configuration> {
        let name = name.unwrap_or("agentdex");
        let RegistryAddress { url, needs_key, program, context } = address;
        connection::check_own_url(url).map_err(|reason| not_expressible(client, reason))?;
        let mut notes = Vec::new();
        let connection = if client.starts_programs_only() {
            let words: &[&str] = match context {
                Some(context) => &[program, "mcp", "--context", context],
                None => &[program, "mcp"],
            };
            if needs_key && context.is_none() {
                notes.push(format!(
                    "The registry needs an API key, which doesn't belong in this file. With the key in AGENTDEX_API_KEY, \
                     save it with `agentdex context add NAME --url {url}`, and add \"--context\", \"NAME\" to the \
                     arguments."
                ));
            }
            let environment = [("AGENTDEX_URL".to_owned(), Template::literal(url))];
            Connection::Program {
                command: words.iter().map(|word| Template::literal(word)).collect(),
                environment: environment.into_iter().filter(|_| context.is_none()).collect(),
            }
        } else {
            let key = Variable {
                name: API_KEY.to_owned(),
                description: Some("API key of the registry".to_owned()),
                is_secret: true,
            };
            let mut value = Template::literal("Bearer ");
            value.push_variable(key);
            let headers = [("Authorization".to_owned(), value)];
            Connection::Remote {
                is_sse: false,
                url: Template::literal(&format!("{url}/mcp")),
                headers: headers.into_iter().filter(|_| needs_key).collect(),
            }
        };
        let written = EntryWriter::new(client, name).write(&connection, notes, false);
        let entry = written.map_err(|reason| not_expressible(client, reason))?;
        Ok(Configuration::new(client, name.to_owned(), entry))
    }

    fn new(client: McpClient, name: String, entry: Entry) -> Configuration {
        let Entry { value, inputs, command, variables, notes } = entry;
        Configuration { client, name, entry: value, inputs, command, variables, notes }
    }

    /// The configuration as text: a JSON document or a TOML table.
    pub fn text(&self) -> String {
        if self.client.reads_toml() {
            return entry::to_toml(self.client.servers_member(), &self.name, &self.entry);
        }
        let servers = Map::from_iter([(self.name.clone(), self.entry.clone())]);
        let mut document = Map::from_iter([(self.client.servers_member().to_owned(), servers.into())]);
        if !self.inputs.is_empty() {
            document.insert("inputs".to_owned(), json!(self.inputs));
        }
        format!("{:#}\n", Value::from(document))
    }
}

fn not_expressible(client: McpClient, reason: String) -> Error {
    Error::NotExpressible { format: client.name(), reason }
}

/// True for a name that every client accepts: a letter, then letters, digits, `-`, and `_`, at most 32 in all.
pub fn is_configured_name(name: &str) -> bool {
    name.len() <= MAX_NAME_LENGTH
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The name of a server in configurations: the last part of its own name, as far as every client accepts it.
fn configured_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let plain = last.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    let name: String = plain.skip_while(|c| !c.is_ascii_alphabetic()).take(MAX_NAME_LENGTH).collect();
    let name = name.trim_end_matches(['-', '_']);
    if name.is_empty() { "mcp-server".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests;
