//! Entries of servers in the configurations of clients.

use serde_json::{Map, Value, json};

use super::{
    client::McpClient,
    connection::Connection,
    template::{Part, Template, Variable, is_plain},
};

type Object = Map<String, Value>;
type Writing<T> = std::result::Result<T, String>;

/// Maximum size of an entry in bytes.
const MAX_ENTRY_BYTES: usize = 16 * 1024;

/// The entry of a server, and advice for its user.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) inputs: Vec<Value>,
    /// Command of a third party.
    pub(super) command: Option<String>,
    pub(super) variables: Vec<Variable>,
    pub(super) notes: Vec<String>,
}

/// Writes the entry of a server for one client.
#[derive(Debug)]
pub(super) struct EntryWriter<'w> {
    client: McpClient,
    /// Name of the server in the configuration.
    name: &'w str,
    entry: Object,
    variables: Vec<Variable>,
    notes: Vec<String>,
}

impl<'w> EntryWriter<'w> {
    pub(super) fn new(client: McpClient, name: &'w str) -> EntryWriter<'w> {
        EntryWriter { client, name, entry: Object::new(), variables: Vec::new(), notes: Vec::new() }
    }

    /// Returns the entry. A command of a third party is shown to the user.
    pub(super) fn write(
        mut self,
        connection: &Connection,
        notes: Vec<String>,
        is_of_third_party: bool,
    ) -> Writing<Entry> {
        self.notes = notes;
        let mut command = None;
        match connection {
            Connection::Remote { is_sse, url, headers } => self.write_remote(*is_sse, url, headers)?,
            Connection::Program { command: words, environment } => {
                self.write_program(words, environment)?;
                command = is_of_third_party.then(|| self.shell_command());
            }
        }
        let EntryWriter { client, name, entry, variables, notes } = self;
        let is_asked = client == McpClient::VsCode;
        let inputs = variables.iter().filter(|_| is_asked).map(|variable| input(name, variable)).collect();
        let value = Value::from(entry);
        if value.to_string().len() > MAX_ENTRY_BYTES {
            return Err(format!("the configuration would have more than {MAX_ENTRY_BYTES} bytes"));
        }
        Ok(Entry { value, inputs, command, variables, notes })
    }

    fn write_remote(&mut self, is_sse: bool, url: &Template, headers: &[(String, Template)]) -> Writing<()> {
        let transport = if is_sse { "sse" } else { "http" };
        match self.client {
            McpClient::ClaudeDesktop => {
                return Err(format!(
                    "the file of Claude Desktop can only list programs; add {} in the app, under Settings, Connectors",
                    url.render(|variable| format!("<{}>", variable.name))
                ));
            }
            McpClient::Codex if is_sse => return Err("Codex doesn't support the transport SSE".to_owned()),
            McpClient::Codex => return self.write_remote_of_codex(url, headers),
            McpClient::ClaudeCode | McpClient::VsCode | McpClient::Gemini => self.set("type", transport.into()),
            McpClient::Cursor => {}
        }
        let url = self.text(url)?;
        self.set("url", url.into());
        let mut written = Object::new();
        for (name, value) in headers {
            written.insert(name.clone(), self.text(value)?.into());
        }
        self.set_object("headers", written);
        Ok(())
    }

    /// Codex names variables instead of expanding them.
    fn write_remote_of_codex(&mut self, url: &Template, headers: &[(String, Template)]) -> Writing<()> {
        let url = self.text(url)?;
        self.set("url", url.into());
        let (mut fixed, mut named) = (Object::new(), Object::new());
        for (name, value) in headers {
            match value.parts() {
                [Part::Text(before), Part::Variable(variable)]
                    if before == "Bearer " && name.eq_ignore_ascii_case("authorization") =>
                {
                    self.use_variable(variable);
                    self.set("bearer_token_env_var", variable.name.as_str().into());
                }
                [Part::Variable(variable), ..] | [Part::Text(_), Part::Variable(variable), ..] => {
                    self.use_variable(variable);
                    named.insert(name.clone(), variable.name.as_str().into());
                    if value.parts().len() > 1 {
                        let whole = value.render(|_| "…".to_owned());
                        self.check(&whole)?;
                        self.notes.push(format!(
                            "{} must contain the complete value of the header {name}: {whole}",
                            variable.name
                        ));
                    }
                }
                _ => drop(fixed.insert(name.clone(), self.text(value)?.into())),
            }
        }
        self.set_object("http_headers", fixed);
        self.set_object("env_http_headers", named);
        Ok(())
    }

    fn write_program(&mut self, words: &[Template], environment: &[(String, Template)]) -> Writing<()> {
        if self.client == McpClient::VsCode || self.client == McpClient::ClaudeCode {
            self.set("type", "stdio".into());
        }
        let mut words = words.iter().map(|word| self.text(word)).collect::<Writing<Vec<String>>>()?.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        self.set("command", program.ok_or("the package has no command")?.into());
        self.set("args", words.collect::<Vec<String>>().into());
        let (mut values, mut passed) = (Object::new(), Vec::new());
        for (name, value) in environment {
            match (self.client, value.as_literal()) {
                (McpClient::Codex, None) => {
                    self.pass_on(name, value)?;
                    passed.push(Value::from(name.as_str()));
                }
                (McpClient::ClaudeDesktop, None) => self.notes.push(format!(
                    "{name} is left out: Claude Desktop doesn't expand variables. Add it to `env` yourself, or use \
                     another client."
                )),
                _ => drop(values.insert(name.clone(), self.text(value)?.into())),
            }
        }
        self.set_object("env", values);
        if !passed.is_empty() {
            self.set("env_vars", passed.into());
        }
        Ok(())
    }

    /// Uses the variable that Codex passes to a program, under the name that it has there.
    fn pass_on(&mut self, name: &str, value: &Template) -> Writing<()> {
        let is_secret = value.variables().any(|variable| variable.is_secret);
        let description = value.variables().find_map(|variable| variable.description.clone());
        self.use_variable(&Variable { name: name.to_owned(), description, is_secret });
        if value.parts().len() > 1 {
            let whole = value.render(|_| "…".to_owned());
            self.check(&whole)?;
            self.notes.push(format!("{name} must contain the complete value: {whole}"));
        }
        Ok(())
    }

    /// A text with references to its variables, as the client expands them.
    fn text(&mut self, template: &Template) -> Writing<String> {
        for part in template.parts() {
            match part {
                Part::Text(text) => self.check(text)?,
                Part::Variable(variable) => {
                    if matches!(self.client, McpClient::Codex | McpClient::ClaudeDesktop) {
                        let client = self.client.title();
                        let name = &variable.name;
                        return Err(match variable.is_secret {
                            true => {
                                format!(
                                    "the secret {name} would be written to the file, since {client} doesn't expand \
                                     variables in URLs or arguments; use another client"
                                )
                            }
                            false => {
                                format!(
                                    "{name} needs a value, since {client} doesn't expand variables in URLs or \
                                     arguments; set it with `--variable`, under its name in the description of the server"
                                )
                            }
                        });
                    }
                    self.use_variable(variable);
                }
            }
        }
        let (client, name) = (self.client, self.name);
        Ok(template.render(|variable| reference(client, name, variable)))
    }

    /// Fails for a text that the client would expand, or of which people don't see all.
    fn check(&self, text: &str) -> Writing<()> {
        if !is_plain(text) {
            return Err("the configuration would contain control or invisible characters".to_owned());
        }
        let is_expanded = match self.client {
            McpClient::Codex | McpClient::ClaudeDesktop => false,
            McpClient::Gemini => text
                .split('$')
                .skip(1)
                .any(|rest| rest.starts_with(|next: char| next == '{' || next == '_' || next.is_alphanumeric())),
            McpClient::ClaudeCode | McpClient::Cursor | McpClient::VsCode => text.contains("${"),
        };
        match is_expanded {
            true => Err(format!("{} would expand a variable in {text:?}", self.client.title())),
            false => Ok(()),
        }
    }

    fn use_variable(&mut self, variable: &Variable) {
        if !self.variables.iter().any(|known| known.name == variable.name) {
            self.variables.push(variable.clone());
        }
    }

    fn set(&mut self, member: &str, value: Value) {
        self.entry.insert(member.to_owned(), value);
    }

    fn set_object(&mut self, member: &str, members: Object) {
        if !members.is_empty() {
            self.set(member, members.into());
        }
    }

    /// The command with its environment, as words of a POSIX shell.
    fn shell_command(&self) -> String {
        let texts = |member: &str| self.entry.get(member).and_then(Value::as_array).into_iter().flatten();
        let environment = self.entry.get("env").and_then(Value::as_object).into_iter().flatten();
        let assignments =
            environment.map(|(name, value)| format!("{name}={}", quoted(value.as_str().unwrap_or_default())));
        let words = self.entry.get("command").into_iter().chain(texts("args"));
        let words = words.map(|word| quoted(word.as_str().unwrap_or_default()));
        assignments.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// The reference to a variable.
fn reference(client: McpClient, server: &str, variable: &Variable) -> String {
    let name = &variable.name;
    match client {
        McpClient::Cursor => format!("${{env:{name}}}"),
        McpClient::VsCode => format!("${{input:{}}}", input_id(server, variable)),
        _ => format!("${{{name}}}"),
    }
}

/// The id of an input. It begins with the name of the server: VS Code stores values by id, for all servers.
fn input_id(server: &str, variable: &Variable) -> String {
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let (server, variable) = (plain(server), plain(&variable.name));
    let own = variable.strip_prefix("mcp-").unwrap_or(&variable);
    match own.strip_prefix(&server) {
        Some(rest) if rest.starts_with('-') => own.to_owned(),
        _ => format!("{server}-{variable}"),
    }
}

/// The input by which VS Code asks for a value.
fn input(server: &str, variable: &Variable) -> Value {
    let description = variable.description.as_deref().filter(|text| !text.is_empty()).unwrap_or(&variable.name);
    let mut input = json!({"type": "promptString", "id": input_id(server, variable), "description": description});
    if variable.is_secret {
        input["password"] = true.into();
    }
    input
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+,=".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// An entry as a TOML table. Strings of JSON without control characters are basic strings of TOML.
pub(super) fn to_toml(member: &str, name: &str, entry: &Value) -> String {
    const ORDER: [&str; 8] =
        ["url", "bearer_token_env_var", "http_headers", "env_http_headers", "command", "args", "env", "env_vars"];
    let line = |member: &&str| Some(format!("{member} = {}\n", toml_value(entry.get(*member)?)));
    format!("[{member}.{name}]\n{}", ORDER.iter().filter_map(line).collect::<String>())
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let pair =
                |(name, value): (&String, &Value)| format!("{} = {}", Value::from(name.as_str()), toml_value(value));
            format!("{{ {} }}", members.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(toml_value).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string(),
    }
}
