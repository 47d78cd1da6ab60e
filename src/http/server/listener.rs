//! The thread that accepts connections, passes them on, and answers health and metrics itself.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    io,
    net::{SocketAddr, TcpListener},
    rc::Rc,
    time::Duration,
};

use actix_http::error::DispatchError;
use actix_service::Service;
use actix_web::http::StatusCode;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc::UnboundedSender,
    task::{AbortHandle, JoinSet, yield_now},
    time::{sleep, timeout},
};

use super::{
    connection::Connection,
    worker::{Accepted, Application, End, Worker, finish},
};
use crate::http::{limits::Place, problem::Problem};

/// What requests begin with that are answered here.
const ANSWERED: [&[u8]; 4] = [b"GET /health/", b"HEAD /health/", b"GET /metrics", b"HEAD /metrics"];
/// The longest of these.
const LONGEST: usize = 14;
/// How many connections beyond the limit are waited for: for what is answered here, and to refuse the rest.
const SPARE: usize = 32;
/// How long the listener rests when it can't accept.
const REST: Duration = Duration::from_millis(100);
/// How soon to check a connection again that has sent a part of what decides.
const AGAIN: Duration = Duration::from_millis(10);
/// How long a client may take to read that it is refused.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// What accepts connections.
pub(super) struct Listener {
    pub worker: Worker,
    pub workers: Vec<UnboundedSender<Accepted>>,
}

impl Listener {
    /// Starts the thread.
    pub(super) fn start(self, listener: TcpListener) -> io::Result<End> {
        self.worker.clone().spawn("agentdex-http", move || self.run(listener))
    }

    async fn run(mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let connections = self.worker.context.connections.clone();
        let front = Rc::new(Front {
            application: self.worker.clone().application(true).await?,
            head_timeout: self.worker.context.options.limits.head_timeout,
            workers: self.workers,
            next: Cell::new(0),
            spare: RefCell::default(),
        });
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let place = connections.take(Some(peer.ip()));
                        let is_spare = place.is_refused();
                        let task = open.spawn_local(front.clone().take(stream, peer, place));
                        if is_spare {
                            front.make_room_for(task);
                            // Else more are accepted before those that have to go are gone.
                            yield_now().await;
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection can't be accepted");
                        sleep(REST).await;
                    }
                },
                _ = open.join_next(), if !open.is_empty() => {}
                _ = self.worker.stopped.wait_for(|stopped| *stopped) => break,
            }
        }
        drop(listener);
        finish(&mut open, self.worker.context.options.limits.stop_timeout).await;
        Ok(())
    }
}

/// What decides where a connection belongs.
struct Front<H> {
    application: Application<H>,
    head_timeout: Duration,
    workers: Vec<UnboundedSender<Accepted>>,
    next: Cell<usize>,
    /// Connections beyond the limit, the oldest first.
    spare: RefCell<VecDeque<AbortHandle>>,
}

/// What the first bytes of a connection say.
enum First {
    /// It asks for what is answered here.
    Health,
    Other,
    Nothing,
}

impl<H> Front<H>
where
    H: Service<(Connection, Option<SocketAddr>), Error = DispatchError>,
{
    async fn take(self: Rc<Self>, stream: TcpStream, peer: SocketAddr, place: Place) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "a connection can't be set to send at once");
        }
        match timeout(self.head_timeout, first(&stream)).await {
            Ok(Ok(First::Health)) => self.application.clone().serve(stream, peer, place).await,
            Ok(Ok(First::Other)) => match place.check("connections") {
                Ok(()) => self.pass_on(stream, peer, place),
                Err(problem) => refuse(stream, &problem, &[("retry-after", "5")]).await,
            },
            Ok(Ok(First::Nothing) | Err(_)) => {}
            Err(_) => {
                let detail = format!("no request came within {:?}", self.head_timeout);
                let problem = Problem::new(StatusCode::REQUEST_TIMEOUT, "request-timeout", detail);
                refuse(stream, &problem, &[]).await;
            }
        }
    }

    /// Gives a connection to the next worker.
    fn pass_on(&self, stream: TcpStream, peer: SocketAddr, place: Place) {
        let number = self.next.replace(self.next.get().wrapping_add(1));
        let (Some(worker), Ok(stream)) = (self.workers.get(number % self.workers.len()), stream.into_std()) else {
            return;
        };
        // Nobody receives once the server stops.
        let _ = worker.send(Accepted { stream, peer, place });
    }

    /// Ends the oldest connection beyond the limit if there are too many: those who ask for what is
    /// answered here do so at once.
    fn make_room_for(&self, task: AbortHandle) {
        let mut spare = self.spare.borrow_mut();
        spare.retain(|task| !task.is_finished());
        if spare.len() >= SPARE
            && let Some(oldest) = spare.pop_front()
        {
            oldest.abort();
        }
        spare.push_back(task);
    }
}

/// Waits for the bytes that say what a connection is for; they stay in the socket.
async fn first(stream: &TcpStream) -> io::Result<First> {
    let mut buffer = [0; LONGEST];
    loop {
        let count = stream.peek(&mut buffer).await?;
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(First::Nothing);
        }
        if ANSWERED.iter().any(|start| bytes.starts_with(start)) {
            return Ok(First::Health);
        }
        if !ANSWERED.iter().any(|start| start.starts_with(bytes)) {
            return Ok(First::Other);
        }
        sleep(AGAIN).await;
    }
}

/// Answers without reading the request, and gives the client time to read that.
async fn refuse(mut stream: TcpStream, problem: &Problem, headers: &[(&str, &str)]) {
    let (status, body) = (problem.status(), problem.document().to_string());
    let mut answer = format!("HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\nconnection: close\r\n");
    for (name, value) in headers {
        answer.push_str(&format!("{name}: {value}\r\n"));
    }
    answer.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    let refusing = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // What is not read would reset the connection, and with it the answer.
        let mut buffer = [0; 1024];
        while stream.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(REFUSAL_TIMEOUT, refusing).await;
}
