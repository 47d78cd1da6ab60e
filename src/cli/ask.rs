//! `agentdex ask`: finds an agent, asks it, and prints the answer.

use std::{io::Write, process::ExitCode};

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};

use super::{
    agent_name::id_of,
    answer_printer::{AnswerPrinter, exit_of, report_coercions},
    calling::Calling,
    output::{Style, complain, visible},
    terminal::stdout,
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Agent, Conversation, Error, Settings};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Capability to look for, and the question; with --agent the question alone
    #[arg(required = true, num_args = 1..=2, value_names = ["CAPABILITY", "QUESTION"])]
    words: Vec<String>,
    /// Ask this agent, named by id or title, rather than the best match
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Send the question to this action, if the agent has several
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// Tell the agent to answer in SACP: the instructions go before the question, as a system prompt (`agentdex sacp prompt`)
    #[arg(long)]
    sacp: bool,
    /// Print the answer in pieces, as it comes
    #[arg(long, conflicts_with = "json")]
    stream: bool,
    /// Print the conversation as JSON
    #[arg(long)]
    json: bool,
    /// Say which agent, action, binding and credentials are used, and why
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    calling: Calling,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let (capability, question) = match (arguments.words.as_slice(), &arguments.agent) {
        ([question], Some(_)) => (None, question),
        ([capability, question], None) => (Some(capability), question),
        ([_], None) => {
            anyhow::bail!(
                "say what the agent should be able to do, and then what to ask, as in `agentdex ask 'convert units' 'How many \
                 miles are 42 km?'`; or name the agent with --agent"
            )
        }
        _ => anyhow::bail!("with --agent, give the question alone"),
    };
    let consumer = arguments.calling.consumer(client).await?;
    let agent = match (&arguments.agent, capability) {
        (Some(name), _) => consumer.agent(&id_of(client, name).await?).await?,
        (None, capability) => consumer.find(capability.map_or("", String::as_str)).await?,
    };
    let mut settings = Settings::new().sacp_instructions(arguments.sacp);
    if let Some(action) = &arguments.action {
        settings = settings.action(action);
    }
    let agent = agent.update(settings);
    if arguments.explain {
        explain(&agent).await?;
    }
    if arguments.stream {
        return stream(&agent, question).await;
    }
    let conversation = agent.process(question.as_str()).await.map_err(|error| with_command(error, &agent))?;
    match arguments.json {
        true => {
            report_coercions(conversation.repairs());
            writeln!(stdout(), "{}", json_of(&conversation))?;
        }
        false => AnswerPrinter::default().reply(conversation.reply())?,
    }
    Ok(exit_of(conversation.state()))
}

/// An error about the input names the command that takes data.
fn with_command(error: Error, agent: &Agent) -> anyhow::Error {
    match error {
        Error::InvalidInput { .. } => {
            anyhow!("{error}; as in `agentdex call {} ACTION --input JSON`", visible(agent.id()))
        }
        Error::Unconfirmed { .. } => anyhow!("{error}; `agentdex call {} ACTION` asks for it", visible(agent.id())),
        error => error.into(),
    }
}

fn json_of(conversation: &Conversation) -> Value {
    json!({
        "agent": conversation.agent().id(),
        "state": conversation.state(),
        "message": conversation.message(),
        "history": conversation.history(),
        "cost": conversation.cost(),
    })
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
        printer.event(&event.map_err(|error| with_command(error, agent))?)?;
    }
    Ok(exit_of(dialogue.conversation().state()))
}
