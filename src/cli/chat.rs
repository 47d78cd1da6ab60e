//! `agentdex chat`: a conversation with an agent on a terminal.

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::{
    agent_name::id_of,
    answer_printer::{AnswerPrinter, complain_of, exit_of},
    calling::Calling,
    error_message::to_json,
    line_editor::LineEditor,
    output::{Style, complain, red_on_stderr, visible},
    terminal::stdout,
};
use agentdex_client::RegistryClient;
use agentdex_consumer::{Agent, Dialogue, Event, Media, Message, Part};

const HELP: &str = "\
/attach FILE  sends a file with the next message
/history      prints the conversation as JSON
/quit         ends the chat, like Ctrl-D; Ctrl-C cancels a reply";
const COMMANDS: &[&str] = &["/attach", "/help", "/history", "/quit"];
/// The file that the lines of a terminal are stored in.
const HISTORY: &str = "chat_history";

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// File with the conversation to continue, as printed by the chat command /history
    #[arg(long, value_name = "FILE")]
    restore: Option<std::path::PathBuf>,
    /// Action that takes the messages, if the agent has several
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    #[command(flatten)]
    calling: Calling,
    /// Print each answer as a line of JSON, with its state and message
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let consumer = arguments.calling.consumer(client).await?;
    let mut agent = consumer.agent(&id_of(client, &arguments.id).await?).await?;
    if let Some(action) = &arguments.action {
        agent = agent.update(agentdex_consumer::Settings::new().action(action));
    }
    let dialogue = match &arguments.restore {
        Some(file) => agent.restore_conversation(&std::fs::read_to_string(file)?)?.stream(),
        None => agent.stream(),
    };
    let outcome = chat(&agent, dialogue, arguments.json).await;
    consumer.close().await;
    outcome
}

async fn chat(agent: &Agent, mut dialogue: Dialogue, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut editor = LineEditor::new(COMMANDS, HISTORY);
    let is_terminal = editor.is_terminal();
    if is_terminal {
        complain(&format!("Talking with {}.\n{HELP}", Style::plain().bold(&visible(agent.title()))));
    }
    let mut attached: Vec<Part> = Vec::new();
    // The exit status is that of the last turn, for scripts; at a terminal, the user has seen it.
    let mut code = ExitCode::SUCCESS;
    let mut is_silent = true;
    loop {
        // Connections to the agent go on while a line is typed.
        let read = tokio::task::spawn_blocking(move || {
            let line = editor.next();
            (editor, line)
        });
        let (back, line) = read.await.context("reading a line")?;
        editor = back;
        let Some(line) = line? else { break };
        let line = line.trim();
        match line.split_once(' ').unwrap_or((line, "")) {
            ("", _) => {}
            ("/quit" | "/exit", _) => break,
            ("/help", _) => complain(HELP),
            ("/history", _) => writeln!(stdout(), "{}", dialogue.conversation().to_json())?,
            ("/attach", file) => match Media::read(Path::new(file.trim())) {
                Ok(media) => {
                    if is_terminal {
                        let kind = media.media_type.as_deref().unwrap_or("a file").to_owned();
                        complain(&format!("attached: {} ({kind})", visible(file.trim())));
                    }
                    attached.push(Part::of_media(media));
                }
                Err(error) => complain(&format!("{} {file}: {error}", red_on_stderr("error:"))),
            },
            _ => {
                let parts = std::iter::once(Part::text(line)).chain(attached.drain(..));
                is_silent = false;
                dialogue.send(Message::user(parts));
                code = answer(&mut dialogue, is_terminal, as_json).await?;
            }
        }
    }
    if is_silent && !is_terminal {
        complain("note: standard input contains no message; nothing was sent");
    }
    Ok(if is_terminal { ExitCode::SUCCESS } else { code })
}

/// Prints what happens until it is the user's turn, and returns the exit status that it means. An error ends the turn, not the
/// conversation.
async fn answer(dialogue: &mut Dialogue, is_terminal: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut printer = AnswerPrinter::of_conversation();
    let writer = dialogue.writer();
    loop {
        let event = tokio::select! {
            event = dialogue.next() => event,
            // The answer is stopped, and the conversation goes on.
            _ = tokio::signal::ctrl_c(), if is_terminal => {
                writer.cancel().await?;
                continue;
            }
        };
        match event.context("the conversation has ended")? {
            Ok(event) => {
                if !as_json {
                    printer.event(&event)?;
                }
                if let Event::Done(reply) | Event::InputRequired(reply) = &event {
                    if as_json {
                        let answer = json!({"state": reply.state.name(), "message": reply.message});
                        writeln!(stdout(), "{answer}")?;
                    }
                    return Ok(exit_of(reply.state));
                }
            }
            Err(error) => {
                printer.close()?;
                match as_json {
                    true => writeln!(stdout(), "{}", to_json(&error.into()))?,
                    false => complain_of(&error),
                }
                return Ok(ExitCode::FAILURE);
            }
        }
    }
}
