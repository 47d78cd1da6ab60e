//! A connection that is watched: one whose client doesn't go on for too long is cut.

use std::{
    fmt::Debug,
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use actix_http::{
    Extensions,
    body::{BodySize, BoxBody, MessageBody},
};
use actix_web::web::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::sleep,
};

use super::{
    refusal::{of_head, response},
    socket::{Opened, Socket},
};
use crate::{
    access::Caller,
    http::{
        caller::ByConnection,
        limits::Limits,
        progress::{Progress, Serving},
    },
};

/// Serves a connection until it ends or its client doesn't go on.
pub(super) async fn serve<E: Debug>(
    serving: impl Future<Output = Result<impl Sized, E>>,
    peer: SocketAddr,
    progress: &Progress,
    limits: &Limits,
    keep_alive: Duration,
) {
    let tick = limits.write_timeout.min(limits.head_timeout) / 4;
    let tick = tick.clamp(Duration::from_millis(10), Duration::from_secs(10));
    let mut serving = pin!(serving);
    loop {
        let mut pause = pin!(sleep(tick));
        let mut ended = None;
        let is_paused = poll_fn(|context| {
            if let Poll::Ready(result) = serving.as_mut().poll(context) {
                ended = Some(result);
                return Poll::Ready(());
            }
            pause.as_mut().poll(context)
        });
        is_paused.await;
        if let Some(result) = ended {
            if let Err(error) = result {
                tracing::debug!(%peer, ?error, "a connection ended early");
            }
            return;
        }
        if let Some(reason) = progress.stalled(limits.write_timeout, keep_alive + limits.head_timeout) {
            tracing::debug!(%peer, reason, "a connection was aborted");
            return;
        }
    }
}

/// The body of a response, which says when it has been sent.
pub(super) struct SentBody {
    body: BoxBody,
    _serving: Serving,
}

impl SentBody {
    pub(super) fn new(body: BoxBody, serving: Serving) -> SentBody {
        SentBody { body, _serving: serving }
    }
}

impl MessageBody for SentBody {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

/// A connection as actix serves it.
pub(super) struct Connection {
    socket: Socket,
    /// Bytes that were already read from the socket, and come before the rest.
    first: Vec<u8>,
    client: Option<Caller>,
    progress: Rc<Progress>,
    head_timeout: Duration,
    /// The rest of the last response, where it is about a head that can't be read.
    refusal: Option<Vec<u8>>,
}

impl Connection {
    pub(super) fn new(opened: Opened, progress: Rc<Progress>, head_timeout: Duration) -> Connection {
        let Opened { socket, first, client } = opened;
        Connection { socket, first, client, progress, head_timeout, refusal: None }
    }

    /// Lets the requests of the connection find its progress, and who its client is.
    pub(super) fn register(&self, data: &mut Extensions) {
        data.insert(self.progress.clone());
        if let Some(client) = &self.client {
            data.insert(ByConnection(client.clone()));
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            let count = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first[..count]);
            self.first.drain(..count);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        let is_closed = matches!(read, Poll::Ready(Ok(()))) && buffer.filled().len() == before;
        if is_closed && buffer.remaining() > 0 && self.progress.expects_client() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        read
    }
}

impl AsyncWrite for Connection {
    /// What is written between two requests is about a head that can't be read: actix answers with a status alone, and a
    /// problem document takes its place.
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Connection { socket, progress, head_timeout, refusal, .. } = &mut *self;
        if refusal.is_none() && progress.is_between_requests() {
            *refusal = of_head(bytes, *head_timeout).map(|problem| response(&problem, &[]).into_bytes());
        }
        let Some(rest) = refusal else {
            let written = Pin::new(socket).poll_write(context, bytes);
            progress.wrote(&written);
            return written;
        };
        while !rest.is_empty() {
            let written = Pin::new(&mut *socket).poll_write(context, rest);
            progress.wrote(&written);
            match ready!(written)? {
                0 => return Poll::Ready(Ok(0)),
                count => drop(rest.drain(..count)),
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        if flushed.is_ready() {
            self.progress.sent();
        }
        // What is encrypted waits in a buffer of its own.
        self.progress.wrote(&flushed);
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
