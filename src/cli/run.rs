//! `agentdex run`: runs a chain of agents, or an Agent Spec Flow, step by step.

use std::{
    fs,
    io::{self, IsTerminal, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Map, Value, json};

use super::{
    affordance_input::check_integers,
    answer_printer::{AnswerPrinter, NO_ANSWER, report_coercions},
    calling::Calling,
    document::FileDocument,
    output::{Style, complain, fit, red_on_stderr, visible},
    terminal::{Screen, stderr, stdout},
};
use crate::settings::number;
use agentdex::{
    convert::{
        Syntax,
        agent_spec::{Configuration, FlowChain, NeededAgent, Options, Profile},
    },
    sacp::{Chain, Outcome, Response, Status},
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Consumer, Error, Event, Message, ReportSteps, Run, RunEvent};

/// Exit status of a run in which an agent needs input that nobody is there to give.
const NEEDS_INPUT: u8 = 2;
/// Exit status of a run that was interrupted, as in shells: 128 + SIGINT.
const INTERRUPTED: u8 = 130;
/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 done, 1 failed, 2 input needed but no terminal to ask on (resume with --state and \
    --answer), 130 interrupted."
)]
pub(super) struct Arguments {
    /// File with a chain or an Agent Spec Flow (YAML or JSON, - for standard input), or id of a registered Flow
    #[arg(value_name = "FILE|ID")]
    what: String,
    /// Input as JSON or plain text; @FILE reads it from a file, and - from standard input
    #[arg(long, value_name = "JSON|@FILE")]
    input: Option<String>,
    /// Save the run to this file after each step; if the file already contains a run, resume it
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Answer to the first open question of the saved run
    #[arg(long, value_name = "TEXT", requires = "state")]
    answer: Option<String>,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
    /// Have each step and each answer checked by the guardian of the registry at this URL; denied steps are not sent,
    /// and denied answers are withheld
    #[arg(long, value_name = "URL")]
    guardian: Option<String>,
    /// Explain which agent, binding, and address each step uses
    #[arg(long)]
    explain: bool,
    /// Maximum number of calls
    #[arg(long, default_value_t = 1000, value_name = "COUNT", value_parser = number::<u32>(0..=u32::MAX.into()))]
    max_calls: u32,
    #[command(flatten)]
    calling: Calling,
}

/// A chain to run, with the agents that it needs.
struct Plan {
    chain: Chain,
    needed: Vec<NeededAgent>,
    /// True if the chain is a Flow, whose outputs have names.
    is_flow: bool,
    /// True if the chain is from the registry, so that somebody else may have written it.
    is_of_others: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let plan = plan(&arguments.what, client).await?;
    let mut consumer = arguments.calling.consumer_of_answers(client).await?;
    if let Some(url) = &arguments.guardian {
        let agent = json!({
            "id": "urn:agentdex:run", "name": "agentdex run", "version": env!("CARGO_PKG_VERSION"),
            "provider": {"name": "agentdex"},
        });
        let session = uuid::Uuid::new_v4().to_string();
        consumer = consumer.with_middleware(ReportSteps::new(RegistryClient::new(url)?, agent, session));
    }
    check_needed(&consumer, &plan.needed).await?;
    let is_flow = plan.is_flow;
    let mut run = begin(arguments, &consumer, plan)?;
    let mut printer = Printer {
        json: arguments.json,
        explain: arguments.explain,
        is_flow,
        said: String::new(),
        answered: String::new(),
        wanted: Map::new(),
    };
    tokio::select! {
        code = follow(arguments, &mut run, &mut printer) => {
            consumer.close().await;
            return code;
        }
        _ = tokio::signal::ctrl_c() => {}
    }
    // Stored as it was: what was under way is done again.
    store(arguments, &run)?;
    run.cancel().await;
    consumer.close().await;
    complain(&format!("interrupted{}", resume_hint(arguments)));
    if run.question().is_some() {
        // A line that is still being read would hold up the end.
        std::process::exit(i32::from(INTERRUPTED));
    }
    Ok(ExitCode::from(INTERRUPTED))
}

/// Reads the chain: of a file, or of a registered Flow.
async fn plan(what: &str, client: &RegistryClient) -> anyhow::Result<Plan> {
    let path = Path::new(what);
    if what == STANDARD_INPUT || path.exists() {
        let document = FileDocument::read(path).with_context(|| format!("reading {what}"))?;
        return plan_of(&document.bytes, document.syntax, false).with_context(|| what.to_owned());
    }
    if !what.contains(':') {
        bail!("{what}: no such file, and not an agent id (a URI)");
    }
    let found = client.export(what, "agent-spec", None).await?;
    let Some(source) = found else {
        bail!("there is no agent {what:?} at {}\n  `agentdex list` lists the agents", client.url());
    };
    let syntax = if source.media_type.contains("yaml") { Syntax::Yaml } else { Syntax::Json };
    plan_of(&source.bytes, syntax, true).with_context(|| what.to_owned())
}

fn plan_of(bytes: &[u8], syntax: Syntax, is_of_others: bool) -> anyhow::Result<Plan> {
    let json = syntax.to_json(bytes)?;
    let value: Value = serde_json::from_str(&json)?;
    if value.get("component_type").is_none() {
        return Ok(Plan { chain: Chain::new(value)?, needed: Vec::new(), is_flow: false, is_of_others });
    }
    let configuration = Configuration::parse(bytes, syntax, &[])?;
    // What the SDK runs is run.
    let options = Options { profile: Profile::Sdk, publish_prompts: true, ..Options::default() };
    let FlowChain { chain, needed } = configuration.to_chain(&options)?;
    Ok(Plan { chain: Chain::new(chain)?, needed, is_flow: true, is_of_others })
}

/// Refuses a Flow whose agents aren't registered, before anything is called.
async fn check_needed(consumer: &Consumer, needed: &[NeededAgent]) -> anyhow::Result<()> {
    let mut missing = Vec::new();
    for NeededAgent { node, component_type, id, .. } in needed {
        let Some(id) = id else { continue };
        match consumer.agent(id).await {
            Ok(_) => {}
            Err(Error::NotFound { .. }) => missing.push(format!(
                "the Flow doesn't say how to call the node {node:?} ({component_type}): register an agent as {id}, or \
                 use an A2AAgent, a RemoteTool, or an MCPTool instead"
            )),
            Err(error) => return Err(error.into()),
        }
    }
    if missing.is_empty() { Ok(()) } else { bail!("{}", missing.join("\n  ")) }
}

fn begin(arguments: &Arguments, consumer: &Consumer, plan: Plan) -> anyhow::Result<Run> {
    let stored = match &arguments.state {
        Some(path) if path.exists() => {
            Some(fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?)
        }
        _ => None,
    };
    let mut run = match stored {
        Some(_) if arguments.input.is_some() => bail!("the run in --state already has its input; omit --input"),
        Some(stored) => consumer.resume(plan.chain, &stored)?,
        None => consumer.run(plan.chain, arguments.input.as_deref().map_or(Ok(json!({})), input)?),
    };
    run = run.max_calls(arguments.max_calls);
    if plan.is_of_others {
        run = run.of_others();
    }
    if let Some(answer) = &arguments.answer
        && !run.answer(answer.as_str())
    {
        bail!("--state contains no run with an open question; omit --answer");
    }
    Ok(run)
}

/// The input: JSON, else the text as it is.
fn input(text: &str) -> anyhow::Result<Value> {
    let mut read = String::new();
    let text = match text.strip_prefix('@') {
        Some(path) => {
            read = fs::read_to_string(path).with_context(|| format!("--input: reading {path}"))?;
            read.trim()
        }
        None if text == STANDARD_INPUT => {
            io::stdin().read_to_string(&mut read)?;
            read.trim()
        }
        None => text,
    };
    match serde_json::from_str(text) {
        Ok(value) => check_integers("--input", text).map(|()| value),
        // What begins like JSON was meant to be it.
        Err(error) if text.starts_with(['{', '[', '"']) => Err(error).context("--input is not valid JSON"),
        Err(_) => Ok(text.into()),
    }
}

async fn follow(arguments: &Arguments, run: &mut Run, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    loop {
        while let Some(event) = run.next().await {
            if !matches!(event, RunEvent::Agent { .. }) {
                store(arguments, run)?;
            }
            printer.print(&event)?;
        }
        match run.outcome() {
            Some(Outcome::Done(_)) => return Ok(ExitCode::SUCCESS),
            Some(Outcome::Failed { .. }) => return Ok(ExitCode::FAILURE),
            None => {}
        }
        if arguments.json || !io::stdin().is_terminal() {
            complain(&format!("the run needs input{}", resume_hint(arguments)));
            return Ok(ExitCode::from(NEEDS_INPUT));
        }
        let answer = tokio::task::spawn_blocking(|| {
            let _ = write!(io::stderr(), "> ");
            let mut line = String::new();
            io::stdin().read_line(&mut line).map(|length| (length > 0).then_some(line))
        });
        let Some(answer) = answer.await.context("reading the answer")?? else {
            return Ok(ExitCode::from(NEEDS_INPUT));
        };
        run.answer(answer.trim());
    }
}

fn resume_hint(arguments: &Arguments) -> String {
    match &arguments.state {
        Some(path) => format!("; continue with --state {} --answer TEXT", path.display()),
        None => "; to resume runs later, start them with --state FILE".into(),
    }
}

/// Stores the run, whole or not at all, for its owner alone.
fn store(arguments: &Arguments, run: &Run) -> anyhow::Result<()> {
    let Some(path) = &arguments.state else { return Ok(()) };
    let mut beside = path.clone().into_os_string();
    beside.push(".new");
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(run.to_json().as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().with_context(|| format!("storing the run in {}", path.display()))
}

/// Prints events: results on standard output, what happens on standard error; with `--json`, all on standard output.
struct Printer {
    json: bool,
    explain: bool,
    is_flow: bool,
    /// The message that a node gave last.
    said: String,
    /// The message that an agent answered last.
    answered: String,
    /// What an agent that asks gives beside its question, such as the values to choose from.
    wanted: Map<String, Value>,
}

impl Printer {
    fn print(&mut self, event: &RunEvent) -> io::Result<()> {
        let (mut out, mut err) = (stdout(), stderr());
        if self.json {
            writeln!(out, "{}", event.to_value())?;
            return out.flush();
        }
        let style = Style::plain();
        match event {
            RunEvent::Started { node, agent, title, affordance, binding, target, why } => {
                writeln!(err, "{}", style.bold(&fit(&visible(&format!("{node}: asking {title}")), 0)))?;
                if self.explain {
                    writeln!(err, "    {agent}")?;
                    writeln!(err, "    {} by {binding}, {}", visible(affordance), visible(target))?;
                    why.iter().try_for_each(|why| writeln!(err, "    {}", style.dim(why)))?;
                }
            }
            RunEvent::Agent { node, event: Event::Status(status) } => {
                let said = status.message.as_ref().map(Message::text).filter(|said| !said.is_empty());
                let said = said.map(|said| format!(": {said}")).unwrap_or_default();
                let line = fit(&format!("{node}: {}{said}", status.state.name()), 4);
                writeln!(err, "    {}", style.dim(&line))?;
            }
            RunEvent::Agent { .. } => {}
            // The question follows.
            RunEvent::Answered { response, .. } if response.status == Status::ClarificationNeeded => {
                self.wanted.clone_from(&response.data);
            }
            RunEvent::Answered { node, response, elapsed, repairs, .. } => {
                let status = format!("{node}: {} after {:.1} s", response.status, elapsed.as_secs_f64());
                writeln!(err, "{}", visible(&status))?;
                writeln!(err, "    {}", style.dim(&fit(&summary(response), 4)))?;
                report_coercions(repairs);
                self.answered.clone_from(&response.message);
            }
            RunEvent::Said { message, .. } => {
                print_text(&mut out, message)?;
                self.said.clone_from(message);
            }
            RunEvent::ErrorHandled { node, to, reason } => {
                writeln!(err, "{}", visible(&format!("{node}: failed, continuing with {to}")))?;
                if *reason != self.answered {
                    writeln!(err, "    {}", style.dim(&fit(reason, 4)))?;
                }
            }
            RunEvent::NeedsInput { node, message } => {
                let message =
                    if message.is_empty() { "(the agent needs input, but sent no question)" } else { message };
                write!(err, "{} ", style.bold(&format!("{}:", visible(node))))?;
                err.write_foreign(message.trim_end_matches('\n'))?;
                writeln!(err)?;
                let wanted = std::mem::take(&mut self.wanted);
                if !wanted.is_empty() {
                    writeln!(err, "{}", serde_json::to_string_pretty(&wanted)?)?;
                }
            }
            RunEvent::Ended(Outcome::Done(response)) => {
                // The last node may have said its message already.
                let is_printed = self.said == response.message;
                print_result(&mut out, response, is_printed, self.is_flow)?;
            }
            RunEvent::Ended(Outcome::Failed { node, reason }) => {
                let at = if node.is_empty() { String::new() } else { format!("{node}: ") };
                let reason = if reason.trim().is_empty() { "failed without giving a reason" } else { reason };
                write!(err, "{} {}", red_on_stderr("error:"), visible(&at))?;
                err.write_foreign(reason)?;
                writeln!(err)?;
            }
            _ => {}
        }
        out.flush()
    }
}

/// A response in a line.
fn summary(response: &Response) -> String {
    let text = if response.message.is_empty() { json!(response.data).to_string() } else { response.message.clone() };
    visible(&text.replace('\n', " ")).into_owned()
}

/// Prints a text as it was written, and ends its last line.
fn print_text(out: &mut Screen<impl Write>, text: &str) -> io::Result<()> {
    out.write_foreign(text)?;
    if text.ends_with('\n') { Ok(()) } else { writeln!(out) }
}

fn print_result(out: &mut Screen<impl Write>, response: &Response, is_printed: bool, is_flow: bool) -> io::Result<()> {
    if !response.message.is_empty() && !is_printed {
        print_text(out, &response.message)?;
    }
    // The value of a tool's only output, which is its text as well.
    let is_repeated =
        !is_flow && response.data.len() == 1 && response.data.values().all(|value| *value == response.message);
    if !response.data.is_empty() && !is_repeated {
        // What an agent answers is shown as it came: a chain gives a value that isn't an object the name `result`.
        let is_named = is_flow || response.data.len() > 1;
        let value = response.data.get("result").filter(|value| !is_named && !value.is_object());
        let data = value.map_or_else(|| serde_json::to_string_pretty(&response.data), serde_json::to_string_pretty)?;
        writeln!(out, "{data}")?;
    }
    let media = response.other.get("media").and_then(Value::as_array);
    for part in media.into_iter().flatten().filter_map(|part| serde_json::from_value(part.clone()).ok()) {
        AnswerPrinter::default().event(&Event::Media(part))?;
    }
    if response.message.is_empty() && response.data.is_empty() && media.is_none() && is_printed {
        complain(NO_ANSWER);
    }
    Ok(())
}
