//! State shared by the calls of a consumer: programs that may be started, and calls waiting for an answer.

use std::collections::BTreeMap;

use super::{
    super::{Call, Form, Result},
    asking::Asking,
    client::Client,
    connect,
    held_call::HeldCalls,
    open::Open,
    program::Program,
    request::params,
    sse::Ending,
};
use crate::td::internal::McpTransport;

/// Connects to servers. Cloning it shares the calls that wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Connector {
    pub(super) programs: BTreeMap<String, Program>,
    pub(super) held: HeldCalls,
}

impl Connector {
    /// Returns the program named by a form, if it may be started.
    pub(super) fn program_of(&self, form: &Form) -> Option<&Program> {
        self.programs.get(form.href.strip_prefix("stdio:")?)
    }

    /// Connects to the server and sends the request.
    pub(super) async fn open(&self, call: &Call, asking: &Asking) -> Result<Open> {
        let params = params(call, asking)?;
        let target = &call.form.href;
        let (own, received) = Client::new();
        let ending = Ending::default();
        let service = match (self.program_of(&call.form), McpTransport::of_form(&call.form.members)) {
            (Some(program), _) => connect::to_program(program, target, own).await?,
            (None, Some(McpTransport::Sse)) => connect::over_sse(call, own, &ending).await?,
            (None, _) => connect::over_http(call, own, asking.has_session).await?,
        };
        Open::new(service, received, ending, params, target).await
    }
}
