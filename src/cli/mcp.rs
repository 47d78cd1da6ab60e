//! `agentdex mcp`: a registry as an MCP server on standard input and output, for clients that start a program.

use std::{
    collections::HashMap,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::{data_directory::check_has_registry, output::complain, terminal::stdout};
use agentdex::{Registry, access::Rules, registry, search::semantic::Model};
use agentdex_client::{McpMessages, RegistryClient};
use agentdex_server::mcp::LocalServer;

/// Maximum number of requests at a time. Further ones wait in standard input.
const MAX_REQUESTS: usize = 32;
/// Maximum number of bytes of a message.
const MAX_MESSAGE: u64 = 16 * 1024 * 1024;

/// Error codes of JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i32 = -32700;
const INTERNAL_ERROR: i32 = -32603;

/// Method of a request that has no end of its own.
const LISTEN: &str = "subscriptions/listen";
/// Method of the notification that a request is cancelled.
const CANCELLED: &str = "notifications/cancelled";

#[derive(Debug, Args)]
#[command(
    after_help = "Configure your MCP client to start `agentdex mcp` with the environment variables AGENTDEX_URL and \
    AGENTDEX_API_KEY. Messages are read from standard input and written to standard output, one per line, until the \
    input ends. Clients that connect to a URL don't need this command, since every registry serves MCP at /mcp."
)]
pub(super) struct Arguments {
    /// Serve the data directory of a stopped registry instead of a running server
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Omit the tools that register or remove agents
    #[arg(long, requires = "data")]
    pub(super) read_only: bool,
    /// Print startup errors as JSON
    #[arg(long)]
    json: bool,
}

/// Serves the registry in a directory.
pub(super) async fn run_in(directory: &Path, read_only: bool) -> anyhow::Result<ExitCode> {
    check_has_registry(directory)?;
    let options = registry::Options::default().model(Some(Model::BuiltIn));
    let registry = Registry::builder(directory).options(options).open()?;
    let rules = Rules { read_only, ..Rules::default() };
    let served = forward_all(&Endpoint::Local(LocalServer::new(&registry, rules))).await;
    registry.close();
    served
}

/// Serves the MCP server of a registry.
pub(super) async fn run(client: &RegistryClient) -> anyhow::Result<ExitCode> {
    forward_all(&Endpoint::Remote(Box::new(client.clone()))).await
}

/// An MCP server.
#[derive(Clone)]
enum Endpoint {
    Remote(Box<RegistryClient>),
    Local(LocalServer),
}

impl Endpoint {
    async fn answer(&self, message: &str) -> agentdex_client::Result<McpMessages> {
        match self {
            Endpoint::Remote(client) => client.mcp(message).await,
            Endpoint::Local(server) => Ok(Box::pin(server.answer(message).await.map(Ok))),
        }
    }
}

/// Forwards messages to an MCP server, and responses back, until the input ends.
async fn forward_all(endpoint: &Endpoint) -> anyhow::Result<ExitCode> {
    let (answers, mut printed) = mpsc::channel::<String>(MAX_REQUESTS);
    let mut messages = read_messages();
    let mut forwarding = Forwarding { endpoint, answers, tasks: JoinSet::new(), running: HashMap::new() };
    let mut is_open = true;
    while is_open || !forwarding.tasks.is_empty() {
        tokio::select! {
            Some(answer) = printed.recv() => print(&answer)?,
            message = messages.recv(), if is_open && forwarding.tasks.len() < MAX_REQUESTS => match message {
                Some(message) => forwarding.take(&message?)?,
                None => {
                    is_open = false;
                    forwarding.end_subscriptions();
                }
            },
            Some(ended) = forwarding.tasks.join_next() => forwarding.forget(ended.ok()),
        }
    }
    while let Ok(answer) = printed.try_recv() {
        print(&answer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Requests that are being forwarded.
struct Forwarding<'e> {
    endpoint: &'e Endpoint,
    answers: mpsc::Sender<String>,
    /// Each ends with the id of its request.
    tasks: JoinSet<String>,
    /// By id as JSON, with the method.
    running: HashMap<String, (String, AbortHandle)>,
}

impl Forwarding<'_> {
    /// Forwards a message, or cancels an earlier one.
    fn take(&mut self, text: &str) -> std::io::Result<()> {
        let message: Value = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(error) => return print(&error_message(&Value::Null, PARSE_ERROR, &error.to_string())),
        };
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if method == CANCELLED {
            if let Some((_, task)) = self.running.remove(&message["params"]["requestId"].to_string()) {
                task.abort();
            }
            return Ok(());
        }
        let (id, is_request) = (message["id"].clone(), message.get("id").is_some());
        let (endpoint, answers) = (self.endpoint.clone(), self.answers.clone());
        let (text, key) = (text.to_owned(), id.to_string());
        let ended = key.clone();
        let task = self.tasks.spawn(async move {
            if let Err(error) = forward(&endpoint, &text, &answers).await {
                match is_request {
                    true => drop(answers.send(error_message(&id, INTERNAL_ERROR, &error.to_string())).await),
                    false => complain(&error.to_string()),
                }
            }
            ended
        });
        if is_request {
            self.running.insert(key, (method, task));
        }
        Ok(())
    }

    fn forget(&mut self, ended: Option<String>) {
        ended.iter().for_each(|id| drop(self.running.remove(id)));
    }

    /// Cancels requests that have no end of their own.
    fn end_subscriptions(&mut self) {
        self.running.values().filter(|(method, _)| method == LISTEN).for_each(|(_, task)| task.abort());
    }
}

/// Sends a message to the server, and passes on the response messages.
async fn forward(endpoint: &Endpoint, message: &str, answers: &mpsc::Sender<String>) -> agentdex_client::Result<()> {
    let mut found = endpoint.answer(message).await?;
    while let Some(answer) = found.next().await {
        if answers.send(answer?).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn error_message(id: &Value, code: i32, reason: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": reason}}).to_string()
}

/// Prints a message as a line. JSON needs no other line breaks.
fn print(message: &str) -> std::io::Result<()> {
    let mut out = stdout();
    writeln!(out, "{}", message.replace(['\n', '\r'], " "))?;
    out.flush()
}

/// Reads lines of standard input, and pauses until each is taken.
fn read_messages() -> mpsc::Receiver<anyhow::Result<String>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut input = BufReader::new(tokio::io::stdin());
        loop {
            let line = next_line(&mut input).await;
            let is_over = !matches!(line, Ok(Some(_)));
            let Some(line) = line.transpose() else { break };
            if line.as_ref().is_ok_and(|line| line.trim().is_empty()) {
                continue;
            }
            if sender.send(line).await.is_err() || is_over {
                break;
            }
        }
    });
    receiver
}

async fn next_line(input: &mut BufReader<tokio::io::Stdin>) -> anyhow::Result<Option<String>> {
    let mut line = Vec::new();
    let length = input.take(MAX_MESSAGE + 1).read_until(b'\n', &mut line).await.context("reading standard input")?;
    if length as u64 > MAX_MESSAGE {
        anyhow::bail!("a message on standard input has more than {MAX_MESSAGE} bytes");
    }
    Ok((length > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}
