//! A pending request with its connection.

use rmcp::{
    model::{CallToolRequest, CallToolRequestParams, ClientRequest},
    service::{PeerRequestOptions, RequestHandle, RoleClient, RunningService},
};

use super::{
    super::{Error, Result},
    answer,
    client::{Client, Received},
    connect::CLOSING,
    sse::Ending,
};

/// A pending request with its connection. Dropping it closes the connection.
pub(super) struct Open {
    pub(super) handle: RequestHandle<RoleClient>,
    service: RunningService<RoleClient, Client>,
    pub(super) received: Received,
    ending: Ending,
}

impl Open {
    /// Sends the request of a tool over a connection.
    pub(super) async fn new(
        service: RunningService<RoleClient, Client>,
        received: Received,
        ending: Ending,
        params: CallToolRequestParams,
        target: &str,
    ) -> Result<Open> {
        let handle = send(&service, params, target).await?;
        Ok(Open { handle, service, received, ending })
    }

    /// Sends another request after the previous request was completed.
    pub(super) async fn send(&mut self, params: CallToolRequestParams, target: &str) -> Result<()> {
        self.handle = send(&self.service, params, target).await?;
        Ok(())
    }

    /// True if the connection is over.
    pub(super) fn is_closed(&self) -> bool {
        self.service.peer().is_transport_closed()
    }

    /// Returns the reason once why the connection ended, if it is known.
    pub(super) fn take_ending(&self) -> Option<Error> {
        self.ending.take()
    }

    /// Cancels the request at the server and closes the connection.
    pub(super) async fn cancel(mut self) {
        // The call is over for its caller, whether the server is notified or not.
        let cancelled = self.handle.cancel(Some("the caller canceled the request".to_owned()));
        let _ = tokio::time::timeout(CLOSING, cancelled).await;
        let _ = self.service.close_with_timeout(CLOSING).await;
    }

    /// Closes the connection and its session, which would cost the server memory. Errors are ignored, since the answer has
    /// been received.
    pub(super) async fn close(mut self) {
        let _ = self.service.close_with_timeout(CLOSING).await;
    }
}

async fn send(
    service: &RunningService<RoleClient, Client>,
    params: CallToolRequestParams,
    target: &str,
) -> Result<RequestHandle<RoleClient>> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = service.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await;
    sent.map_err(|error| answer::failure(target, error))
}
