//! `agentdex ask`: finds an agent, asks it, and prints the answer.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::Args;
use serde_json::{Value, json};

use super::{
    agent_name::id_of,
    answer_printer::{AnswerPrinter, exit_of, report_coercions},
    calling::Calling,
    misuse::misuse,
    output::{Style, complain, print_json, visible},
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Agent, Consumer, Conversation, Error, Settings};

/// The share of the best score below which another match isn't asked unless it is named.
const FAR_BEHIND: f32 = 0.5;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Description of a suitable agent, and the question. With --agent, or if the question itself describes the task
    /// well enough, give only the question
    #[arg(required = true, num_args = 1..=2, value_names = ["CAPABILITY", "QUESTION"], value_parser = text)]
    words: Vec<String>,
    /// Ask this agent (id or title) instead of the best match
    #[arg(long, value_name = "ID", value_parser = text)]
    agent: Option<String>,
    /// Action that takes the question, if the agent has several
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// Ask for an answer in SACP: send the text of `agentdex sacp prompt` before the question
    #[arg(long)]
    sacp: bool,
    /// Print the answer as it arrives
    #[arg(long, conflicts_with = "json")]
    stream: bool,
    /// Print the conversation as JSON
    #[arg(long)]
    json: bool,
    /// Explain the choice of agent, action, binding, and credentials
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    calling: Calling,
}

/// A text that says something: a variable that isn't set would search for anything.
fn text(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is empty") } else { Ok(text.to_owned()) }
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let (query, question) = match (arguments.words.as_slice(), &arguments.agent) {
        ([question], None) => (Some(question), question),
        ([question], Some(_)) => (None, question),
        ([query, question], None) => (Some(query), question),
        _ => return Err(misuse("with --agent, give only the question")),
    };
    let consumer = arguments.calling.consumer(client).await?;
    let mut settings = Settings::new().sacp_instructions(arguments.sacp);
    if let Some(action) = &arguments.action {
        settings = settings.action(action);
    }
    let agent = match (&arguments.agent, query) {
        (Some(name), _) => consumer.agent(&id_of(client, name).await?).await?.update(settings),
        (None, query) => best_for(&consumer, query.map_or("", String::as_str), question, &settings).await?,
    };
    if arguments.explain {
        explain(&agent).await?;
    }
    let outcome = match arguments.stream {
        true => stream(&agent, question).await,
        false => whole(&agent, question, arguments.json).await,
    };
    consumer.close().await;
    outcome
}

async fn whole(agent: &Agent, question: &str, is_json: bool) -> anyhow::Result<ExitCode> {
    let conversation = agent.process(question).await.map_err(|error| with_command(error, agent))?;
    match is_json {
        true => {
            report_coercions(conversation.repairs());
            print_json(&json_of(&conversation)?)?;
        }
        false => AnswerPrinter::default().reply(conversation.reply())?,
    }
    Ok(exit_of(conversation.state()))
}

/// The best match that can be asked, unless it is hardly one: the registry doubts it, or better ones can't be asked.
async fn best_for(consumer: &Consumer, query: &str, question: &str, settings: &Settings) -> anyhow::Result<Agent> {
    let found = consumer.find_all(query).await?;
    let Some(best) = found.first() else { return Err(Error::NotFound { query: query.to_owned() }.into()) };
    if best.is_doubtful() {
        bail!(
            "no agent closely matches {query:?}; the closest is {}\n  to ask it anyway, use --agent {}",
            named(best),
            visible(best.id())
        );
    }
    let best_score = best.score();
    let mut reasons: Vec<String> = Vec::new();
    for agent in found {
        let agent = agent.update(settings.clone());
        let is_far_behind = agent.score() < best_score.map(|score| score * FAR_BEHIND);
        match agent.check_message(question) {
            Ok(()) if is_far_behind => {
                bail!(
                    "{}\n  the next best agent, {}, is a much weaker match for {query:?}; to ask it anyway, use \
                     --agent {}",
                    reasons.join("\n  "),
                    named(&agent),
                    visible(agent.id())
                );
            }
            Ok(()) => {
                reasons.iter().for_each(|reason| complain(reason));
                complain(&format!("asking {}", named(&agent)));
                return Ok(agent);
            }
            Err(error) => reasons.push(format!("can't ask {}: {}", named(&agent), reason(error, &agent))),
        }
    }
    bail!("{}", reasons.join("\n  "))
}

/// The title of an agent that was found, with its score.
fn named(agent: &Agent) -> String {
    match agent.score() {
        Some(score) => format!("{} ({score:.1})", visible(agent.title())),
        None => visible(agent.title()).into_owned(),
    }
}

/// The reason of an error without the agent, which is named before it, and the command that takes data.
fn reason(error: Error, agent: &Agent) -> String {
    let text = with_command(error, agent).to_string();
    let reason = text.strip_prefix(&format!("{} can't be called: ", agent.id()));
    visible(reason.unwrap_or(&text)).into_owned()
}

/// An error about the input names the command that takes data.
fn with_command(error: Error, agent: &Agent) -> anyhow::Error {
    match error {
        Error::InvalidInput { .. } => {
            anyhow!("{error}; use `agentdex call {} ACTION --input JSON`", visible(agent.id()))
        }
        Error::Unconfirmed { .. } => {
            anyhow!("{error}; `agentdex call {} ACTION` asks for confirmation", visible(agent.id()))
        }
        error => error.into(),
    }
}

/// The conversation as it is stored, so that `chat --restore` goes on with it, and its last message.
fn json_of(conversation: &Conversation) -> serde_json::Result<Value> {
    let mut stored: Value = serde_json::from_str(&conversation.to_json())?;
    stored["message"] = json!(conversation.message());
    Ok(stored)
}

async fn explain(agent: &Agent) -> anyhow::Result<()> {
    let explanation = agent.explain().await?;
    let credentials = match explanation.credentials.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let style = Style::plain();
    complain(&format!("agent:       {} ({})", style.bold(agent.title()), style.dim(agent.id())));
    for why in &explanation.agent {
        complain(&format!("             {}", style.dim(why)));
    }
    complain(&format!("action:      {}", style.dim(&explanation.affordance)));
    complain(&format!("binding:     {}, {}", explanation.binding, style.dim(&explanation.target)));
    complain(&format!("credentials: {}", style.dim(&credentials)));
    Ok(())
}

async fn stream(agent: &Agent, question: &str) -> anyhow::Result<ExitCode> {
    let mut printer = AnswerPrinter::default();
    let mut dialogue = agent.stream();
    dialogue.send(question);
    while let Some(event) = dialogue.next().await {
        match event {
            Ok(event) => printer.event(&event)?,
            Err(error) => {
                printer.close()?;
                return Err(with_command(error, agent));
            }
        }
    }
    Ok(exit_of(dialogue.conversation().state()))
}
