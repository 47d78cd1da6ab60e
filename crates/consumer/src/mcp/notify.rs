//! Notifications of progress that a server sends during a call.

use rmcp::{
    ClientHandler,
    model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam},
    service::{NotificationContext, RoleClient},
};
use tokio::sync::mpsc;

use super::super::{Event, Message, State, Status};

/// Maximum number of unread notifications; further ones are dropped.
pub(super) const BACKLOG: usize = 64;
/// The longest message of a notification in bytes; the rest of a longer one is dropped.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// The side of the client: takes notifications, and grants the server nothing.
#[derive(Debug)]
pub(super) struct Notified {
    events: mpsc::Sender<Event>,
}

impl Notified {
    pub(super) fn new(events: mpsc::Sender<Event>) -> Notified {
        Notified { events }
    }
}

impl ClientHandler for Notified {
    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let share =
            progress.total.filter(|total| *total > 0.0).map(|total| (progress.progress / total).clamp(0.0, 1.0));
        let message = progress.message.map(|mut text| {
            text.truncate(text.floor_char_boundary(MAX_MESSAGE_BYTES));
            Message::agent([text.into()])
        });
        // Full: the caller reads slowly, and progress is no result.
        let _ = self.events.try_send(Event::Status(Status { state: State::Working, message, progress: share }));
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("agentdex", env!("CARGO_PKG_VERSION")))
    }
}
