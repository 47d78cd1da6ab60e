//! Two-way conversations: answers are streamed, and messages can be sent at any time.

use std::{collections::VecDeque, fmt, sync::Arc};

use futures_util::{Stream, future::BoxFuture, stream};
use tokio::sync::mpsc;

use super::{Agent, Control, Conversation, Error, Event, Message, Result, turn::Turn};

/// Commands that a writer may be ahead by.
const MAX_COMMANDS: usize = 64;

/// A two-way conversation with streamed answers. Created by [`Agent::stream`](super::Agent::stream).
///
/// ```no_run
/// # async fn example(agent: agentdex_consumer::Agent) -> agentdex_consumer::Result<()> {
/// use agentdex_consumer::Event;
///
/// let mut stream = agent.stream();
/// stream.send("Will it rain in Bonn?");
/// while let Some(event) = stream.next().await {
///     match event? {
///         Event::Thinking(text) => eprintln!("thinking: {text}"),
///         Event::Text(text) => print!("{text}"),
///         Event::InputRequired(question) => {
///             eprintln!("{}", question.message);
///             stream.send("Tomorrow.");
///         }
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// [`Dialogue::writer`] returns a handle for sending messages from another task.
pub struct Dialogue {
    conversation: Conversation,
    inbox: mpsc::Receiver<Command>,
    sender: mpsc::WeakSender<Command>,
    waiting: VecDeque<Message>,
    phase: Phase,
    is_paused: bool,
    /// True if a writer may still send something.
    has_writers: bool,
}

/// Handle for sending messages into a [`Dialogue`] that is read by another task. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Writer(mpsc::Sender<Command>);

#[derive(Debug)]
enum Command {
    Message(Message),
    Pause,
    Resume,
    Cancel,
}

enum Phase {
    Idle,
    Running { message: Message, turn: Box<Turn> },
}

/// The result of waiting during a call: an event, or a command of a writer.
enum Next {
    Event(Option<Result<Event>>),
    Command(Option<Command>),
}

impl Agent {
    /// Starts a conversation with streamed answers; messages can be sent at any time.
    pub fn stream(&self) -> Dialogue {
        Dialogue::new(Conversation::new(self.clone()))
    }
}

impl Conversation {
    /// Continues the conversation with streamed answers. See [`Agent::stream`].
    pub fn stream(&self) -> Dialogue {
        Dialogue::new(self.clone())
    }
}

impl Writer {
    /// Sends a message. If a call is running and its protocol accepts no further messages, the message is sent after
    /// the call has ended.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the [`Dialogue`] has been dropped.
    pub async fn send(&self, message: impl Into<Message>) -> Result<()> {
        self.command(Command::Message(message.into())).await
    }

    /// Holds back further events, and asks the agent to pause if its protocol supports that.
    ///
    /// # Errors
    /// Same as [`Writer::send`].
    pub async fn pause(&self) -> Result<()> {
        self.command(Command::Pause).await
    }

    /// Resumes the events after [`Writer::pause`], and asks the agent to continue if its protocol supports that.
    ///
    /// # Errors
    /// Same as [`Writer::send`].
    pub async fn resume(&self) -> Result<()> {
        self.command(Command::Resume).await
    }

    /// Cancels the running call. [`Dialogue::next`] returns [`Error::Cancelled`], or the agent's error if the agent
    /// refuses to cancel. The conversation can continue afterwards.
    ///
    /// # Errors
    /// Same as [`Writer::send`].
    pub async fn cancel(&self) -> Result<()> {
        self.command(Command::Cancel).await
    }

    async fn command(&self, command: Command) -> Result<()> {
        self.0.send(command).await.map_err(|_| Error::Cancelled)
    }
}

impl Dialogue {
    fn new(conversation: Conversation) -> Dialogue {
        let (sender, inbox) = mpsc::channel(MAX_COMMANDS);
        Dialogue {
            conversation,
            inbox,
            sender: sender.downgrade(),
            waiting: VecDeque::new(),
            phase: Phase::Idle,
            is_paused: false,
            has_writers: false,
        }
    }

    /// Returns a handle for sending messages from another task. While a writer exists, [`Dialogue::next`] waits for
    /// its messages.
    pub fn writer(&mut self) -> Writer {
        self.has_writers = true;
        if let Some(sender) = self.sender.upgrade() {
            return Writer(sender);
        }
        let (sender, inbox) = mpsc::channel(MAX_COMMANDS);
        // What the writers before sent is in the old one.
        while let Ok(command) = self.inbox.try_recv() {
            if let Command::Message(message) = command {
                self.waiting.push_back(message);
            }
        }
        (self.inbox, self.sender) = (inbox, sender.downgrade());
        Writer(sender)
    }

    /// Queues a message. [`Dialogue::next`] sends it and returns the resulting events.
    pub fn send(&mut self, message: impl Into<Message>) {
        self.waiting.push_back(message.into());
    }

    /// Returns the conversation up to the last answer.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Returns the next event, or `None` if no call is running, no message is queued, and no writer exists. Canceling
    /// the future loses no event.
    ///
    /// A turn ends with [`Event::InputRequired`] or [`Event::Done`], even if the turn failed. An error ends only the
    /// current call; the conversation can continue.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        loop {
            if matches!(self.phase, Phase::Idle) {
                match self.start().await {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(error) => return Some(Err(error)),
                }
            }
            match self.wait().await {
                Next::Command(None) => self.has_writers = false,
                Next::Command(Some(command)) => {
                    if let Some(error) = self.obey(command).await {
                        return Some(Err(error));
                    }
                }
                Next::Event(event) => {
                    if let Some(event) = self.take(event) {
                        return Some(event);
                    }
                }
            }
        }
    }

    /// Converts the dialogue into a stream of its events.
    pub fn events(self) -> impl Stream<Item = Result<Event>> + Send {
        stream::unfold(self, |mut dialogue| async move { Some((dialogue.next().await?, dialogue)) })
    }

    /// Starts the next message. Waits for a message if there is a writer.
    async fn start(&mut self) -> Result<bool> {
        while self.waiting.is_empty() && self.has_writers {
            match self.inbox.recv().await {
                Some(Command::Message(message)) => self.waiting.push_back(message),
                Some(Command::Pause) => self.is_paused = true,
                Some(Command::Resume) => self.is_paused = false,
                // There is nothing to cancel.
                Some(Command::Cancel) => {}
                None => self.has_writers = false,
            }
        }
        let Some(message) = self.waiting.pop_front() else { return Ok(false) };
        let intent = self.conversation.intent(&message, None, true);
        let agent = self.conversation.agent();
        let (affordance, _) = agent.message_action(agent.settings())?;
        let turn = Box::new(Turn::new(agent, affordance, intent, true));
        self.phase = Phase::Running { message, turn };
        Ok(true)
    }

    async fn wait(&mut self) -> Next {
        let (inbox, is_paused, has_writers) = (&mut self.inbox, self.is_paused, self.has_writers);
        match &mut self.phase {
            Phase::Running { turn, .. } => tokio::select! {
                biased;
                command = inbox.recv(), if has_writers => Next::Command(command),
                // Without a writer, nobody could let them go on.
                event = turn.next(), if !is_paused || !has_writers => Next::Event(event),
            },
            Phase::Idle => Next::Command(None),
        }
    }

    async fn obey(&mut self, command: Command) -> Option<Error> {
        let control = match &self.phase {
            Phase::Running { turn, .. } => turn.control(),
            _ => None,
        };
        match (command, control) {
            (Command::Message(message), Some(control)) => match control.send(message.clone()).await {
                Ok(()) => None,
                Err(Error::Unsupported { .. }) => {
                    self.waiting.push_back(message);
                    None
                }
                Err(error) => Some(error),
            },
            (Command::Message(message), None) => {
                self.waiting.push_back(message);
                None
            }
            (Command::Pause, control) => {
                self.is_paused = true;
                refused(control, |control| Box::pin(async move { control.pause().await })).await
            }
            (Command::Resume, control) => {
                self.is_paused = false;
                refused(control, |control| Box::pin(async move { control.resume().await })).await
            }
            (Command::Cancel, control) => {
                let refusal = refused(control, |control| Box::pin(async move { control.cancel().await })).await;
                // The request is dropped in any case.
                self.phase = Phase::Idle;
                Some(refusal.unwrap_or(Error::Cancelled))
            }
        }
    }

    /// Processes an event of the turn. The last event adds the turn to the conversation. Returns `None` if the turn
    /// is already over.
    fn take(&mut self, event: Option<Result<Event>>) -> Option<Result<Event>> {
        let is_last = event.as_ref().is_none_or(|event| event.as_ref().map_or(true, Event::is_last));
        if is_last
            && let Phase::Running { message, mut turn } = std::mem::replace(&mut self.phase, Phase::Idle)
            && let (Some(Ok(_)), Some(end)) = (&event, turn.take_end())
        {
            self.conversation = self.conversation.with_turn(message, end.reply, &turn);
        }
        event
    }
}

/// Applies a command to the call if its protocol supports it. Otherwise the command takes effect on this side only.
async fn refused(
    control: Option<Arc<dyn Control>>,
    act: impl FnOnce(Arc<dyn Control>) -> BoxFuture<'static, Result<()>>,
) -> Option<Error> {
    match act(control?).await {
        Ok(()) | Err(Error::Unsupported { .. }) => None,
        Err(error) => Some(error),
    }
}

impl fmt::Debug for Dialogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogue").field("conversation", &self.conversation).finish_non_exhaustive()
    }
}
