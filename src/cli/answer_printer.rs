//! How commands show what agents answer: results on standard output, everything else on standard error.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use super::{
    error_message::rejected_answer_of,
    output::{complain, complain_foreign, indented, red_on_stderr, visible},
    terminal::stdout,
};
use agentdex_consumer::{Artifact, Content, Error, Event, Message, Part, Repair, Reply, State, Status};
use serde_json::Value;

/// Stands on standard error for an answer without content.
pub(super) const NO_ANSWER: &str = "(no answer)";
/// Stands on standard error for a question without content.
const NO_QUESTION: &str = "(the agent needs input, but sent no question)";

/// Exit status of a command in which an agent asks, and nobody is there to answer.
const NEEDS_INPUT: u8 = 2;

/// Prints answers, as they come or whole. Text is printed as the agent wrote it; data and media have lines of their own.
#[derive(Debug, Default)]
pub(super) struct AnswerPrinter {
    /// True if questions are a part of what is printed on standard output.
    converses: bool,
    /// True if the last line has no end yet.
    is_open: bool,
    /// The artifact that the last text belongs to.
    artifact: Option<String>,
    /// True if something of the answer was printed.
    is_answered: bool,
}

impl AnswerPrinter {
    /// Prints questions on standard output, as the agent's part of a conversation.
    pub(super) fn of_conversation() -> AnswerPrinter {
        AnswerPrinter { converses: true, ..AnswerPrinter::default() }
    }

    /// Prints an answer that is whole.
    pub(super) fn reply(&mut self, mut reply: Reply) -> io::Result<()> {
        if reply.state.is_failure() || reply.state.needs_input() {
            let (results, rest): (Vec<Part>, Vec<Part>) = reply.message.parts.into_iter().partition(is_result);
            self.content(Message::agent(results))?;
            reply.message = Message { parts: rest, ..Message::agent([]) };
        }
        if reply.state.is_failure() {
            self.failure(reply.state, std::mem::take(&mut reply.message))?;
        }
        reply.events().iter().try_for_each(|event| self.event(event))
    }

    /// Prints a message without an end of the turn.
    fn content(&mut self, message: Message) -> io::Result<()> {
        let events = Reply::message(message).events();
        events.iter().filter(|event| !event.is_last()).try_for_each(|event| self.event(event))
    }

    /// Prints an event.
    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Text(text) => self.text(None, text),
            Event::Data(data) => self.lines(&serde_json::to_string_pretty(data)?),
            Event::Artifact(artifact) => self.artifact(artifact),
            Event::Media(part) => self.media(part),
            Event::Notification(notification) => self.lines(&notification.data.to_string()),
            Event::Status(Status { state, message, .. }) if state.is_failure() => {
                self.failure(*state, message.clone().unwrap_or_default())
            }
            Event::Status(status) => {
                self.close()?;
                let said = status.message.as_ref().map(Message::text).filter(|said| !said.is_empty());
                let said = said.map(|said| format!(": {}", visible(&said))).unwrap_or_default();
                complain(&format!("({}{said})", status.state.name()));
                Ok(())
            }
            Event::InputRequired(question) => self.question(&question.message),
            Event::Done(reply) => {
                self.close()?;
                report_coercions(&reply.repairs);
                if !self.is_answered && !reply.state.is_failure() {
                    complain(NO_ANSWER);
                }
                self.is_answered = false;
                Ok(())
            }
            // For people who debug agents; `--json` has all of it.
            _ => Ok(()),
        }
    }

    /// Ends the line.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.artifact = None;
        if std::mem::take(&mut self.is_open) {
            writeln!(stdout())?;
        }
        Ok(())
    }

    fn text(&mut self, artifact: Option<&str>, text: &str) -> io::Result<()> {
        if self.artifact.as_deref() != artifact {
            self.close()?;
            self.artifact = artifact.map(str::to_owned);
        }
        if text.is_empty() {
            return Ok(());
        }
        self.is_answered = true;
        self.is_open = !text.ends_with('\n');
        let mut out = stdout();
        out.write_foreign(text)?;
        out.flush()
    }

    /// Prints lines of their own.
    fn lines(&mut self, lines: &str) -> io::Result<()> {
        self.close()?;
        self.is_answered = true;
        writeln!(stdout(), "{lines}")
    }

    fn artifact(&mut self, artifact: &Artifact) -> io::Result<()> {
        let goes_on = artifact.append && self.artifact.as_ref() == Some(&artifact.id);
        if !goes_on {
            self.close()?;
            if let Some(name) = artifact.name.as_deref().filter(|name| !name.is_empty()) {
                complain(&format!("[{}]", visible(name)));
            }
        }
        for part in &artifact.parts {
            match part {
                Part::Text { text } => self.text(Some(&artifact.id), text)?,
                part => self.event(&Event::of_part(part.clone()))?,
            }
        }
        Ok(())
    }

    fn media(&mut self, part: &Part) -> io::Result<()> {
        let Some(media) = part.media() else { return Ok(()) };
        let kind = visible(media.media_type.as_deref().unwrap_or("content"));
        match (&media.content, media.text()) {
            (_, Some(text)) => {
                self.close()?;
                self.text(None, text)?;
                self.close()
            }
            (Content::Url(url), None) => self.lines(&format!("[{kind} at {}]", visible(url))),
            (Content::Bytes(bytes), None) => self.lines(&format!("[{kind} of {} bytes]", bytes.len())),
        }
    }

    fn question(&mut self, message: &Message) -> io::Result<()> {
        if self.converses && !message.parts.is_empty() {
            self.content(message.clone())?;
            return self.close();
        }
        self.close()?;
        match message.parts.is_empty() {
            true => complain(NO_QUESTION),
            false => aside(message)?,
        }
        Ok(())
    }

    fn failure(&mut self, state: State, message: Message) -> io::Result<()> {
        self.close()?;
        let text = Reply { state, ..Reply::message(Message::agent([Part::text(message.text())])) }.into_result();
        if let Err(error) = text {
            complain(&format!("{} {}", red_on_stderr("error:"), without_colors(&error)));
        }
        print_aside(&message, &|part| matches!(part, Part::Data { .. }))
    }
}

/// Prints what an agent says beside its result, on standard error.
pub(super) fn aside(message: &Message) -> io::Result<()> {
    print_aside(message, &|_| true)
}

/// Prints what an agent says beside its data, on standard error.
pub(super) fn aside_of_data(message: &Message) -> io::Result<()> {
    print_aside(message, &|part| !matches!(part, Part::Data { .. }))
}

/// Prints an error of a turn, and the answer that can't be used, on standard error.
pub(super) fn complain_of(error: &Error) {
    complain(&format!("{} {}", red_on_stderr("error:"), without_colors(error)));
    if let Some(answer) = rejected_answer_of(error) {
        complain_of_answer(answer);
    }
}

/// Prints an answer that can't be used on standard error.
pub(super) fn complain_of_answer(answer: &Value) {
    complain("the agent answered:");
    match answer {
        Value::String(text) => complain_foreign(text.trim_end_matches('\n')),
        data => complain(&indented(&data.to_string())),
    }
}

/// An error in which others may have written, without what would color a terminal.
fn without_colors(error: &Error) -> String {
    error.to_string().replace('\u{1b}', "\u{fffd}")
}

fn print_aside(message: &Message, is_printed: &dyn Fn(&Part) -> bool) -> io::Result<()> {
    for part in message.parts.iter().filter(|part| is_printed(part)) {
        match part {
            Part::Text { text } => complain_foreign(text.trim_end_matches('\n')),
            Part::Data { data } => complain(&serde_json::to_string_pretty(data)?),
            Part::Artifact(artifact) => print_aside(&Message::agent(artifact.parts.clone()), is_printed)?,
            part => {
                if let Some(Content::Url(url)) = part.media().map(|media| &media.content) {
                    complain(&visible(url));
                }
            }
        }
    }
    Ok(())
}

/// Exit status of a command whose turn ended so: 0 with a result, 1 without success, 2 with a question.
pub(super) fn exit_of(state: State) -> ExitCode {
    match state {
        state if state.needs_input() => ExitCode::from(NEEDS_INPUT),
        state if state.is_failure() => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// Reports values of an answer that are not as the agent wrote them. Repairs of its form change no value.
pub(super) fn report_coercions(repairs: &[Repair]) {
    for repair in repairs.iter().filter(|repair| repair.rule == "sacp/coerced") {
        complain(&format!("({})", visible(&repair.to_string())));
    }
}

/// True for what was achieved before a failure.
fn is_result(part: &Part) -> bool {
    part.media().is_some() || matches!(part, Part::Artifact(_))
}
