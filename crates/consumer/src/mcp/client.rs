//! Client side of a call: receives progress and questions from the server.

use rmcp::{
    ClientHandler,
    model::{
        ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult,
        ElicitationAction, ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
        ProgressNotificationParam, UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext, RoleClient},
};
use tokio::sync::{mpsc, oneshot};

use super::{
    super::{Event, Message, State, Status},
    elicitation::{self, Question},
};

/// Maximum number of unread notifications. Further notifications are dropped.
const NOTIFICATIONS: usize = 64;
/// Maximum number of queued questions. Further questions are refused.
const QUESTIONS: usize = 16;
/// Maximum length of a notification's message in bytes. Longer messages are truncated.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Reports progress, passes questions on, and grants the server nothing else.
#[derive(Debug)]
pub(super) struct Client {
    progress: mpsc::Sender<Event>,
    /// Channel for questions. `None` if nobody can answer; the client then doesn't declare elicitation.
    questions: Option<mpsc::Sender<Asked>>,
}

/// A question of the server, with the place of its answer. Dropping it dismisses the question.
pub(super) type Asked = (Question, oneshot::Sender<ElicitResult>);

/// Messages of a server during a call.
pub(super) struct Received {
    pub(super) progress: mpsc::Receiver<Event>,
    pub(super) questions: mpsc::Receiver<Asked>,
}

impl Client {
    /// Creates a client that accepts questions.
    pub(super) fn new() -> (Client, Received) {
        let (progress, received_progress) = mpsc::channel(NOTIFICATIONS);
        let (questions, received_questions) = mpsc::channel(QUESTIONS);
        let received = Received { progress: received_progress, questions: received_questions };
        (Client { progress, questions: Some(questions) }, received)
    }

    /// Creates a client that reads only results.
    pub(super) fn of_results() -> Client {
        Client { progress: mpsc::channel(1).0, questions: None }
    }
}

impl ClientHandler for Client {
    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let share =
            progress.total.filter(|total| *total > 0.0).map(|total| (progress.progress / total).clamp(0.0, 1.0));
        let message = progress.message.map(|mut text| {
            text.truncate(text.floor_char_boundary(MAX_MESSAGE_BYTES));
            Message::agent([text.into()])
        });
        // Full: the caller reads slowly, and progress is no result.
        let _ = self.progress.try_send(Event::Status(Status { state: State::Working, message, progress: share }));
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = Question::new(None, params).map_err(|reason| ErrorData::invalid_params(reason, None))?;
        let (sender, answer) = oneshot::channel();
        let sent = self.questions.as_ref().map(|questions| questions.try_send((question, sender)));
        if !matches!(sent, Some(Ok(()))) {
            return Err(ErrorData::invalid_request("too many questions at once", None));
        }
        tokio::select! {
            answer = answer => Ok(answer.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        match request.method.as_str() {
            elicitation::METHOD => Err(ErrorData::invalid_params(elicitation::UNREADABLE, None)),
            method => Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)),
        }
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.questions.is_some() {
            let form = ElicitationCapability::default().with_form(FormElicitationCapability::default());
            capabilities.elicitation = Some(form.with_url(UrlElicitationCapability::default()));
        }
        ClientConfig::new(capabilities, Implementation::new("agentdex", env!("CARGO_PKG_VERSION")))
    }
}
