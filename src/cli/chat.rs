//! `agentdex chat`: a conversation with an agent on a terminal.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    process::ExitCode,
};

use clap::Args;

use super::{
    calling::{Calling, print_event},
    output::{Style, red_on_stderr},
    remote::block_on,
};
use crate::consumer::{Agent, Dialogue, Event, Media, Message, Part};

const HELP: &str =
    "/attach FILE sends a file with the next message, /history prints what was said as JSON, /quit ends.";

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The agent
    #[arg(value_name = "ID")]
    id: String,
    /// Go on with a conversation that /history printed
    #[arg(long, value_name = "FILE")]
    restore: Option<std::path::PathBuf>,
    /// Send messages to this action, if the agent has several
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    #[command(flatten)]
    pub(super) calling: Calling,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let consumer = arguments.calling.consumer()?;
    block_on(async {
        let mut agent = consumer.agent(&arguments.id).await?;
        if let Some(action) = &arguments.action {
            agent = agent.update(crate::consumer::Settings::new().action(action));
        }
        let dialogue = match &arguments.restore {
            Some(file) => agent.restore_conversation(&std::fs::read_to_string(file)?)?.stream(),
            None => agent.stream(),
        };
        chat(&agent, dialogue).await
    })
}

async fn chat(agent: &Agent, mut dialogue: Dialogue) -> anyhow::Result<ExitCode> {
    let is_terminal = io::stdin().is_terminal();
    if is_terminal {
        writeln!(io::stderr(), "Talking with {}. {HELP}", Style::plain().bold(agent.title()))?;
    }
    let mut attached: Vec<Part> = Vec::new();
    let mut lines = io::stdin().lines();
    loop {
        if is_terminal {
            write!(io::stderr(), "> ")?;
        }
        let Some(line) = lines.next().transpose()? else { break };
        let line = line.trim();
        match line.split_once(' ').unwrap_or((line, "")) {
            ("", _) => {}
            ("/quit" | "/exit", _) => break,
            ("/help", _) => writeln!(io::stderr(), "{HELP}")?,
            ("/history", _) => writeln!(io::stdout(), "{}", dialogue.conversation().to_json())?,
            ("/attach", file) => match Media::read(Path::new(file.trim())) {
                Ok(media) => attached.push(Part::of_media(media)),
                Err(error) => writeln!(io::stderr(), "{} {file}: {error}", red_on_stderr("error:"))?,
            },
            _ => {
                let parts = std::iter::once(Part::text(line)).chain(attached.drain(..));
                dialogue.send(Message::user(parts));
                answer(&mut dialogue).await?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what happens until it is the user's turn. An error ends the turn, not the conversation.
async fn answer(dialogue: &mut Dialogue) -> anyhow::Result<()> {
    let mut is_open = false;
    while let Some(event) = dialogue.next().await {
        match event {
            Ok(event) => {
                let ends = matches!(event, Event::Done(_) | Event::InputRequired(_));
                let opened = print_event(&event)?;
                if is_open && !opened && ends {
                    writeln!(io::stdout())?;
                }
                is_open = opened;
                if ends {
                    break;
                }
            }
            Err(error) => {
                writeln!(io::stderr(), "{} {error}", red_on_stderr("error:"))?;
                break;
            }
        }
    }
    Ok(())
}
