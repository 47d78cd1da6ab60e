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
use tokio::time::{Instant, timeout_at};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc::UnboundedSender,
    task::{AbortHandle, JoinSet, yield_now},
    time::{sleep, timeout},
};

use super::socket::{Movable, Socket};
use super::{
    connection::Connection,
    refusal::{response, timed_out},
    socket::Opened,
    worker::{Accepted, Application, End, Worker, finish},
};
use crate::http::{limits::Place, problem::Problem};
use crate::tls::{Protocol, ServerTls};

/// First bytes of the requests that are answered here.
const ANSWERED: [&[u8]; 4] = [b"GET /health/", b"HEAD /health/", b"GET /metrics", b"HEAD /metrics"];
/// The longest of these.
const LONGEST: usize = 14;
/// Maximum number of connections beyond the limit to wait for: for what is answered here, and to refuse the rest.
const SPARE: usize = 32;
/// Pause of the listener when it can't accept.
const REST: Duration = Duration::from_millis(100);
/// Time until the next check of a connection that has sent only a part of the bytes that tell its purpose.
const AGAIN: Duration = Duration::from_millis(10);
/// Maximum time for a client to read that it is refused.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The thread that accepts connections, and the workers that it passes them on to.
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
            tls: self.worker.context.options.tls.clone(),
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

/// Dispatcher of connections: each is answered here, passed on to a worker, or refused.
struct Front<H> {
    application: Application<H>,
    tls: Option<ServerTls>,
    head_timeout: Duration,
    workers: Vec<UnboundedSender<Accepted>>,
    next: Cell<usize>,
    /// Connections beyond the limit, the oldest first.
    spare: RefCell<VecDeque<AbortHandle>>,
}

/// The purpose of a connection, as its first bytes tell.
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
            tracing::debug!(%peer, %error, "TCP_NODELAY can't be set on a connection");
        }
        if let Some(tls) = &self.tls {
            return self.take_encrypted(tls, stream, peer, place).await;
        }
        match timeout(self.head_timeout, first(&stream)).await {
            Ok(Ok(first)) => self.lead(first, Opened::plain(stream), peer, place).await,
            Ok(Err(_)) => {}
            Err(_) => refuse(stream, &timed_out(self.head_timeout), &[]).await,
        }
    }

    /// The same under TLS: one deadline for the handshake and what decides.
    async fn take_encrypted(&self, tls: &ServerTls, stream: TcpStream, peer: SocketAddr, place: Place) {
        let deadline = Instant::now() + self.head_timeout;
        if let Ok(Ok(true)) = timeout_at(deadline, is_plain(&stream)).await {
            let detail = "this port requires TLS; use https://";
            let problem = Problem::new(StatusCode::BAD_REQUEST, "tls-expected", detail);
            return refuse(stream, &problem, &[]).await;
        }
        let patience = deadline.saturating_duration_since(Instant::now());
        let (stream, client) = match tls.accept(Movable::Here(stream), Protocol::Http, patience).await {
            Ok(accepted) => accepted,
            Err(error) => return tracing::debug!(%peer, %error, "a TLS handshake failed"),
        };
        let socket = Socket::Encrypted(Box::new(stream));
        let mut opened = Opened { socket, first: Vec::new(), client };
        if let Ok(Ok(first)) = timeout_at(deadline, read_first(&mut opened)).await {
            self.lead(first, opened, peer, place).await;
        }
    }

    /// Brings a connection where it belongs.
    async fn lead(&self, first: First, opened: Opened, peer: SocketAddr, place: Place) {
        match first {
            First::Health => self.application.clone().serve(opened, peer, place).await,
            First::Other => match place.check("connections") {
                Ok(()) => self.pass_on(opened, peer, place),
                Err(problem) => refuse(opened.socket, &problem, &[("retry-after", "5")]).await,
            },
            First::Nothing => {}
        }
    }

    /// Gives a connection to the next worker.
    fn pass_on(&self, mut opened: Opened, peer: SocketAddr, place: Place) {
        let number = self.next.replace(self.next.get().wrapping_add(1));
        let (Some(worker), Ok(())) = (self.workers.get(number % self.workers.len()), opened.socket.detach()) else {
            return;
        };
        // Nobody receives once the server stops.
        let _ = worker.send(Accepted { opened, peer, place });
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
        if let Some(first) = decide(buffer.get(..count).unwrap_or_default()) {
            return Ok(first);
        }
        sleep(AGAIN).await;
    }
}

/// The same under TLS, where they have to be read.
async fn read_first(opened: &mut Opened) -> io::Result<First> {
    loop {
        let mut buffer = [0; LONGEST];
        let count = opened.socket.read(&mut buffer).await?;
        if count == 0 {
            return Ok(First::Nothing);
        }
        opened.first.extend(buffer.get(..count).unwrap_or_default());
        if let Some(first) = decide(&opened.first) {
            return Ok(first);
        }
    }
}

/// Returns the purpose of a connection that begins with these bytes; none where more are needed.
fn decide(bytes: &[u8]) -> Option<First> {
    if bytes.is_empty() {
        return Some(First::Nothing);
    }
    if ANSWERED.iter().any(|start| bytes.starts_with(start)) {
        return Some(First::Health);
    }
    (!ANSWERED.iter().any(|start| start.starts_with(bytes))).then_some(First::Other)
}

/// True if a client sends a request where a TLS handshake should begin: its method begins with a letter.
async fn is_plain(stream: &TcpStream) -> io::Result<bool> {
    let mut byte = [0];
    Ok(stream.peek(&mut byte).await? > 0 && byte[0].is_ascii_alphabetic())
}

/// Answers without reading the request, and gives the client time to read that.
async fn refuse(mut stream: impl AsyncRead + AsyncWrite + Unpin, problem: &Problem, headers: &[(&str, &str)]) {
    let answer = response(problem, headers);
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
