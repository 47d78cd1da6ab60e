//! Backpressure for whoever writes faster than searches can follow, while others wait for what they wrote: its requests
//! aren't read on until searches have caught up. Nothing is refused.

use actix_web::{
    HttpRequest,
    web::{Data, Payload},
};

use super::{body, context::Context, problem::Problem, stop::Stopped};
use crate::Registry;

/// The pace of a request's writes.
pub(super) struct Pacer {
    context: Data<Context>,
    registry: Registry,
    stopped: Stopped,
}

impl Pacer {
    /// The pacer of a request.
    pub fn new(context: &Data<Context>, request: &HttpRequest) -> Pacer {
        let (registry, stopped) = (context.registry(request), Context::stopped(context, request));
        Pacer { context: context.clone(), registry, stopped }
    }

    /// Waits until the caller may write more, or the server stops.
    pub async fn wait(&mut self) {
        let Some(owner) = self.registry.caller().owner() else { return };
        tokio::select! {
            () = self.context.pace.wait(owner, || self.registry.holds_up_searches()) => {}
            () = self.stopped.wait() => {}
        }
    }
}

/// Reads the body of a write once its owner isn't slowed, and waits again if the owner is slowed by the time it is read.
pub(super) async fn read_body(
    context: &Data<Context>,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Vec<u8>, Problem> {
    let mut pacer = Pacer::new(context, request);
    pacer.wait().await;
    let body = body::read(request, payload, context.options.body_limit).await?;
    pacer.wait().await;
    Ok(body)
}
