//! Calls of all endpoints: attempts, reads, and streams, with their deadlines and limits.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{Instant, sleep, timeout},
};
use tonic::Streaming;

use crate::{
    answer::Answer,
    connection::Connection,
    endpoint::Endpoint,
    error::{Error, Result},
    login::{Login, Session},
    method::{Method, StreamMethod},
    options::Options,
    status::classify,
};

/// Pause of a read after a round of endpoints without an answer.
const PAUSE: Duration = Duration::from_millis(100);

/// Calls of all endpoints.
pub(crate) struct Calls {
    connections: Vec<Connection>,
    current: AtomicUsize,
    login: Option<Login>,
    pub request_deadline: Duration,
    read_deadline: Duration,
    max_request_bytes: usize,
    calls: Semaphore,
    streams: Arc<Semaphore>,
    closed: watch::Sender<bool>,
}

impl Calls {
    pub fn new(options: Options) -> Result<Calls> {
        options.check()?;
        if Handle::try_current().is_err() {
            let message = "not inside a Tokio runtime; connect from async code".into();
            return Err(Error::InvalidOption { option: "runtime", message });
        }
        let endpoints = options.endpoints.iter().enumerate().map(|(index, url)| Endpoint::new(index, url));
        let connections = endpoints.map(|endpoint| Connection::new(endpoint, &options)).collect::<Result<_>>()?;
        Ok(Calls {
            connections,
            current: AtomicUsize::new(0),
            request_deadline: options.request_deadline,
            read_deadline: options.read_deadline,
            max_request_bytes: options.max_request_bytes,
            calls: Semaphore::new(options.max_calls),
            streams: Arc::new(Semaphore::new(options.max_streams)),
            login: options.user.map(Login::new),
            closed: watch::Sender::new(false),
        })
    }

    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.connections.iter().map(|connection| &connection.endpoint)
    }

    /// Returns the endpoint that calls go to at present.
    pub fn endpoint(&self) -> Endpoint {
        self.at(self.current.load(Ordering::Relaxed)).endpoint.clone()
    }

    /// Returns the endpoint after the given endpoint.
    pub fn after(&self, endpoint: &Endpoint) -> Endpoint {
        self.at((endpoint.index + 1) % self.connections.len()).endpoint.clone()
    }

    /// Moves on from `failed`, unless calls go elsewhere already.
    pub fn move_on(&self, failed: &Endpoint) -> Endpoint {
        let next = self.after(failed).index;
        let _ = self.current.compare_exchange(failed.index, next, Ordering::Relaxed, Ordering::Relaxed);
        self.endpoint()
    }

    fn at(&self, index: usize) -> &Connection {
        // An endpoint of another client may have a greater index.
        &self.connections[index % self.connections.len()]
    }

    /// Sends a request once, to a single endpoint.
    pub async fn attempt<M: Method>(
        &self,
        endpoint: &Endpoint,
        request: &M,
        deadline: Duration,
    ) -> Result<Answer<M::Response>> {
        self.check_size(request.encoded_len())?;
        let connection = self.at(endpoint.index);
        let is_sent = AtomicBool::new(false);
        let answer = async {
            let _permit = self.calls.acquire().await.map_err(|_| Error::Closed)?;
            let send = async |session: Session| {
                is_sent.store(true, Ordering::Relaxed);
                connection.unary(request.clone(), session.token.as_ref()).await
            };
            let session = self.session(connection, None).await?;
            let number = session.number;
            match send(session).await {
                // It was refused, so repeating it is no second attempt.
                Err(Error::Unauthenticated { .. }) if self.login.is_some() => {
                    is_sent.store(false, Ordering::Relaxed);
                    send(self.session(connection, Some(number)).await?).await
                }
                answer => answer,
            }
        };
        self.within(deadline, connection, &is_sent, answer).await
    }

    /// Sends a request that changes nothing, to each endpoint in turn until it is answered.
    pub async fn read<M: Method>(&self, request: &M) -> Result<Answer<M::Response>> {
        let end = Instant::now() + self.read_deadline;
        let mut endpoint = self.endpoint();
        for tried in 1.. {
            let rest = end.saturating_duration_since(Instant::now());
            let error = match self.attempt(&endpoint, request, self.request_deadline.min(rest)).await {
                Err(error) if error.is_transient() => error,
                answer => return answer,
            };
            endpoint = self.move_on(&endpoint);
            if tried % self.connections.len() == 0 {
                sleep(PAUSE).await;
            }
            if Instant::now() >= end || *self.closed.borrow() {
                return Err(error);
            }
        }
        Err(Error::Closed)
    }

    /// Opens a stream at an endpoint, and waits for the answer to its first message. If the answer `is_refused` for lack
    /// of a valid token, logs in again and repeats the message.
    pub async fn open<M: StreamMethod>(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        first: M,
        deadline: Duration,
        is_refused: fn(&M::Response) -> bool,
    ) -> Result<(Exchange<M>, M::Response)> {
        let connection = self.at(endpoint.index);
        let is_sent = AtomicBool::new(false);
        let opened = async {
            let permit = self.streams.clone().acquire_owned().await.map_err(|_| Error::Closed)?;
            let open = async |session: Session| {
                is_sent.store(true, Ordering::Relaxed);
                let (requests, mut responses) = connection.stream(first.clone(), session.token.as_ref()).await?;
                let response = receive(&mut responses, &connection.endpoint).await?;
                Ok((requests, responses, response))
            };
            let session = self.session(connection, None).await?;
            let number = session.number;
            let (requests, responses, response) = match (open(session).await, &self.login) {
                (Err(Error::Unauthenticated { .. }), Some(_)) => {
                    open(self.session(connection, Some(number)).await?).await?
                }
                (Ok((_, _, response)), Some(_)) if is_refused(&response) => {
                    open(self.session(connection, Some(number)).await?).await?
                }
                (opened, _) => opened?,
            };
            let (calls, endpoint) = (Arc::clone(self), connection.endpoint.clone());
            Ok((Exchange { endpoint, requests, responses, calls, _permit: permit }, response))
        };
        self.within(deadline, connection, &is_sent, opened).await
    }

    /// Ends all calls and streams, and lets go of the connections.
    pub fn close(&self) {
        self.closed.send_replace(true);
        self.connections.iter().for_each(Connection::close);
    }

    /// Completes once the client is closed.
    pub async fn closed(&self) {
        // An error would mean that the sender is gone, which this holds.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    fn check_size(&self, bytes: usize) -> Result<()> {
        match bytes > self.max_request_bytes {
            true => Err(Error::TooLarge { bytes, limit: self.max_request_bytes }),
            false => Ok(()),
        }
    }

    async fn session(&self, connection: &Connection, dead: Option<u64>) -> Result<Session> {
        let Some(login) = &self.login else { return Ok(Session::default()) };
        // A login without an answer means that the call itself was not sent.
        login.session(connection, dead).await.map_err(|error| match error {
            Error::NoAnswer { endpoint, reason } => Error::NotSent { endpoint, reason: format!("login: {reason}") },
            error => error,
        })
    }

    async fn within<T>(
        &self,
        deadline: Duration,
        connection: &Connection,
        is_sent: &AtomicBool,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let generation = connection.generation();
        let ended = |reason: String| match is_sent.load(Ordering::Relaxed) {
            true => Error::NoAnswer { endpoint: connection.endpoint.clone(), reason },
            false => Error::NotSent { endpoint: connection.endpoint.clone(), reason },
        };
        tokio::select! {
            biased;
            () = self.closed() => match is_sent.load(Ordering::Relaxed) {
                true => Err(ended("the client was closed".into())),
                false => Err(Error::Closed),
            },
            done = timeout(deadline, work) => done.unwrap_or_else(|_| {
                connection.renew(generation);
                self.login.iter().filter(|_| is_sent.load(Ordering::Relaxed)).for_each(Login::doubt);
                Err(ended(format!("timed out after {} ms", deadline.as_millis())))
            }),
        }
    }
}

/// An open stream in both directions. It lives on if the client is dropped, but not if that is closed.
pub(crate) struct Exchange<M: StreamMethod> {
    pub endpoint: Endpoint,
    requests: mpsc::Sender<M>,
    responses: Streaming<M::Response>,
    calls: Arc<Calls>,
    _permit: OwnedSemaphorePermit,
}

impl<M: StreamMethod> Exchange<M> {
    /// Sends a message.
    pub async fn send(&self, message: M) -> Result<()> {
        self.requests.send(message).await.map_err(|_| self.no_answer("the stream has ended"))
    }

    /// Receives a message. If the future is dropped, no message is lost.
    pub async fn receive(&mut self) -> Result<M::Response> {
        let closed = self.no_answer("the client was closed");
        tokio::select! {
            biased;
            () = self.calls.closed() => Err(closed),
            received = receive(&mut self.responses, &self.endpoint) => received,
        }
    }

    pub fn no_answer(&self, reason: &str) -> Error {
        Error::NoAnswer { endpoint: self.endpoint.clone(), reason: reason.to_owned() }
    }
}

async fn receive<T>(responses: &mut Streaming<T>, endpoint: &Endpoint) -> Result<T> {
    match responses.message().await {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err(Error::NoAnswer { endpoint: endpoint.clone(), reason: "the stream has ended".into() }),
        Err(status) => Err(classify(&status, endpoint)),
    }
}
