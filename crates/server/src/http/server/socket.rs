//! The socket of a connection, plain or under TLS: it can be moved to the runtime of another thread.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::access::Caller;

/// A TCP socket that can be moved to another runtime, also inside of what encrypts it.
pub(super) enum Movable {
    Here(TcpStream),
    Moving(std::net::TcpStream),
    /// It couldn't be moved.
    Lost,
}

impl Movable {
    fn detach(&mut self) -> io::Result<()> {
        if let Movable::Here(stream) = std::mem::replace(self, Movable::Lost) {
            *self = Movable::Moving(stream.into_std()?);
        }
        Ok(())
    }

    fn attach(&mut self) -> io::Result<()> {
        if let Movable::Moving(stream) = std::mem::replace(self, Movable::Lost) {
            *self = Movable::Here(TcpStream::from_std(stream)?);
        }
        Ok(())
    }

    fn stream(self: Pin<&mut Self>) -> io::Result<Pin<&mut TcpStream>> {
        match self.get_mut() {
            Movable::Here(stream) => Ok(Pin::new(stream)),
            Movable::Moving(_) | Movable::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl AsyncRead for Movable {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Movable {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }
}

/// The socket of a connection.
pub(super) enum Socket {
    Plain(Movable),
    Encrypted(Box<crate::tls::Stream<Movable>>),
}

impl Socket {
    /// Takes it off this runtime; nothing can be read or written until it is on another one.
    pub(super) fn detach(&mut self) -> io::Result<()> {
        self.movable().detach()
    }

    /// Puts it on this runtime.
    pub(super) fn attach(&mut self) -> io::Result<()> {
        self.movable().attach()
    }

    fn movable(&mut self) -> &mut Movable {
        match self {
            Socket::Plain(stream) => stream,
            Socket::Encrypted(stream) => stream.get_mut().0,
        }
    }

    /// The stream without or under encryption.
    fn stream(self: Pin<&mut Self>) -> Pin<&mut dyn Stream> {
        let stream: &mut dyn Stream = match self.get_mut() {
            Socket::Plain(stream) => stream,
            Socket::Encrypted(stream) => stream.as_mut(),
        };
        Pin::new(stream)
    }
}

/// The interface of both kinds of sockets.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }
}

/// A connection whose first bytes were read, to see where it belongs.
pub(super) struct Opened {
    pub socket: Socket,
    /// The bytes that were read: they come before what is read from the socket.
    pub first: Vec<u8>,
    /// The caller that proved its identity with a certificate.
    pub client: Option<Caller>,
}

impl Opened {
    /// A connection without TLS, of which nothing was read.
    pub(super) fn plain(stream: TcpStream) -> Opened {
        Opened { socket: Socket::Plain(Movable::Here(stream)), first: Vec::new(), client: None }
    }
}
