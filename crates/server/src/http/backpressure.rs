//! Backpressure for whoever writes faster than searches can follow, while others wait for what they wrote: its requests
//! aren't read on until searches have caught up. Nothing is refused.

use actix_web::{HttpRequest, web::Data};

use super::{context::Context, pace::Turn, stop::Stopped};
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

    /// Waits until the caller may write more, or the server stops. The turn is to be kept until that is written.
    pub async fn turn(&mut self) -> Turn {
        let Some(owner) = self.registry.caller().owner() else { return Turn::free() };
        tokio::select! {
            turn = self.context.pace.turn(owner, || self.registry.holds_up_searches()) => turn,
            () = self.stopped.wait() => Turn::free(),
        }
    }
}
