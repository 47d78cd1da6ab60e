//! Leases that are kept alive.

use std::{fmt, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::{
    calls::{Calls, Exchange},
    endpoint::Endpoint,
    error::{Error, Refusal, Result},
    message::{LeaseGrantRequest, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest, ResponseHeader},
};

/// Longest pause after a keepalive without an answer.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A lease, kept alive by a task until it is dropped or revoked. If it is dropped, it expires after its time to live.
pub struct Lease {
    id: i64,
    ttl: Duration,
    header: ResponseHeader,
    state: watch::Receiver<LeaseState>,
    calls: Arc<Calls>,
    task: JoinHandle<()>,
}

/// State of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// etcd has confirmed the lease within its time to live.
    Held,
    /// etcd hasn't confirmed the lease within its time to live, so it may have expired. The lease can be held again: its
    /// time to live starts again when etcd gets another leader.
    Unconfirmed,
    /// The lease has expired or was revoked, and its keys are deleted. This is final.
    Lost,
}

impl Lease {
    pub(crate) async fn grant(calls: &Arc<Calls>, ttl: Duration) -> Result<Lease> {
        let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
        let request = LeaseGrantRequest { ttl: i64::try_from(seconds.max(1)).unwrap_or(i64::MAX), id: 0 };
        let granted = Instant::now();
        let endpoint = calls.endpoint();
        let answer = calls.attempt(&endpoint, &request, calls.request_deadline).await.inspect_err(|error| {
            if error.is_transient() {
                calls.move_on(&endpoint);
            }
        })?;
        let (id, ttl) = (answer.body.id, seconds_of(answer.body.ttl));
        let (sender, state) = watch::channel(LeaseState::Held);
        let keeper = Keeper {
            calls: Arc::clone(calls),
            id,
            ttl,
            confirmed: granted,
            endpoint: answer.endpoint,
            exchange: None,
            state: sender,
        };
        let task = tokio::spawn(keeper.run());
        Ok(Lease { id, ttl, header: answer.header, state, calls: Arc::clone(calls), task })
    }

    /// Returns the id, to attach keys to the lease.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Returns the time to live that etcd granted.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Returns the header of the response that granted the lease.
    pub fn header(&self) -> ResponseHeader {
        self.header
    }

    /// Returns the state, with its later changes. The sender is dropped when the client is closed.
    pub fn state(&self) -> watch::Receiver<LeaseState> {
        self.state.clone()
    }

    /// Waits until the lease is lost, or until the client is closed.
    pub async fn lost(&self) {
        // An error means that the task has ended, which it does with the client.
        let _ = self.state.clone().wait_for(|state| *state == LeaseState::Lost).await;
    }

    /// Ends the lease and deletes its keys (`Lease.LeaseRevoke`): a single attempt at the current endpoint. A lease that doesn't
    /// exist anymore is no error. In any case the lease is no longer kept alive.
    ///
    /// # Errors
    ///
    /// As for [`Client::attempt`](crate::Client::attempt).
    pub async fn revoke(self) -> Result<()> {
        self.task.abort();
        let request = LeaseRevokeRequest { id: self.id };
        match self.calls.attempt(&self.calls.endpoint(), &request, self.calls.request_deadline).await {
            Ok(_) | Err(Error::Refused { refusal: Refusal::LeaseNotFound, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("id", &self.id).field("state", &*self.state.borrow()).finish_non_exhaustive()
    }
}

/// Task of a lease.
struct Keeper {
    calls: Arc<Calls>,
    id: i64,
    ttl: Duration,
    /// When the last request was sent that etcd has confirmed.
    confirmed: Instant,
    endpoint: Endpoint,
    exchange: Option<Exchange<LeaseKeepAliveRequest>>,
    state: watch::Sender<LeaseState>,
}

impl Keeper {
    async fn run(mut self) {
        let calls = Arc::clone(&self.calls);
        tokio::select! {
            () = calls.closed() => {}
            () = self.keep_alive() => {}
        }
    }

    /// Keeps the lease alive until it is lost.
    async fn keep_alive(&mut self) {
        sleep(self.ttl / 3).await;
        loop {
            let sent = Instant::now();
            let response = self.confirm(self.patience()).await.ok();
            let pause = match response {
                Some(response) if response.ttl <= 0 => {
                    self.set(LeaseState::Lost);
                    return;
                }
                Some(response) => {
                    self.ttl = seconds_of(response.ttl);
                    self.confirmed = sent;
                    self.set(LeaseState::Held);
                    self.ttl / 3
                }
                None => {
                    self.exchange = None;
                    self.endpoint = self.calls.after(&self.endpoint);
                    (self.ttl / 10).min(LONGEST_PAUSE)
                }
            };
            if self.confirmed.elapsed() >= self.ttl {
                self.set(LeaseState::Unconfirmed);
            }
            sleep(pause).await;
        }
    }

    /// Time to wait for an answer: while the lease is held, at most until it may have expired.
    fn patience(&self) -> Duration {
        let rest = self.ttl.saturating_sub(self.confirmed.elapsed());
        let deadline = self.calls.request_deadline;
        if rest.is_zero() { deadline } else { deadline.min(rest) }
    }

    async fn confirm(&mut self, patience: Duration) -> Result<LeaseKeepAliveResponse> {
        let request = LeaseKeepAliveRequest { id: self.id };
        match &mut self.exchange {
            Some(exchange) => {
                let answered = timeout(patience, async {
                    exchange.send(request).await?;
                    exchange.receive().await
                });
                answered.await.unwrap_or_else(|_| Err(exchange.no_answer("the keepalive timed out")))
            }
            None => {
                let (exchange, response) = self.calls.open(&self.endpoint, request, patience, |_| false).await?;
                self.exchange = Some(exchange);
                Ok(response)
            }
        }
    }

    fn set(&self, new: LeaseState) {
        self.state.send_if_modified(|state| std::mem::replace(state, new) != new);
    }
}

fn seconds_of(ttl: i64) -> Duration {
    Duration::from_secs(u64::try_from(ttl).unwrap_or_default())
}
