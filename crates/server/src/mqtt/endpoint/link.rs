//! Both directions of a connection, with what was read and what is to be written.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf},
    time::timeout,
};

use super::{counters::Counters, engine::Engine};

/// Maximum time for a client to take the last bytes of a connection.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum capacity in bytes of an output buffer that is empty.
const IDLE_OUTPUT_BYTES: usize = 128 * 1024;

/// Maximum bytes of answers that a client hasn't taken: at this size nothing more is read from it.
const MAX_REPLY_BYTES: usize = 64 * 1024;

/// A connection's stream and engine.
pub(super) struct Link<S> {
    pub reader: ReadHalf<S>,
    pub writer: WriteHalf<S>,
    pub engine: Engine,
    /// Number of bytes of the engine's output that are written.
    pub written: usize,
    /// The answers that wait for the client to read.
    reply_bytes: usize,
    /// Number of bytes to write until the last of those answers is written.
    until_replied: usize,
    counters: Arc<Counters>,
}

impl<S: AsyncRead + AsyncWrite> Link<S> {
    pub fn new(stream: S, counters: Arc<Counters>) -> Link<S> {
        let (reader, writer) = tokio::io::split(stream);
        Link { reader, writer, engine: Engine::new(), written: 0, reply_bytes: 0, until_replied: 0, counters }
    }

    /// Notes how much was read.
    pub fn note_received(&self, count: usize) {
        self.counters.received_bytes.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Notes how much was written.
    pub fn advance(&mut self, count: usize) {
        self.written += count;
        self.counters.sent_bytes.fetch_add(count as u64, Ordering::Relaxed);
        self.until_replied = self.until_replied.saturating_sub(count);
        if self.until_replied == 0 {
            self.reply_bytes = 0;
        }
        let output = self.engine.output();
        if self.written >= output.len() {
            output.clear();
            // One large message must not be paid for as long as the connection lives.
            output.shrink_to(IDLE_OUTPUT_BYTES);
            self.written = 0;
        } else if self.written > output.len() / 2 {
            output.drain(..self.written);
            self.written = 0;
        }
    }

    /// Notes that what the client sent was answered: the output was `before` bytes long.
    pub fn note_replies(&mut self, before: usize) {
        let now = self.engine.output().len();
        if now > before {
            self.reply_bytes += now - before;
            self.until_replied = now - self.written;
        }
    }

    /// True if more may be read: not from a client that sends requests and doesn't read the answers.
    pub fn may_read(&self) -> bool {
        self.reply_bytes < MAX_REPLY_BYTES
    }

    /// Writes what is left and closes.
    pub async fn finish(mut self) {
        let rest = self.engine.output().split_off(self.written);
        let last = async {
            self.writer.write_all(&rest).await?;
            self.writer.shutdown().await
        };
        // Whoever doesn't take it in time or is gone already isn't waited for.
        let _ = timeout(FINISH_TIMEOUT, last).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_that_leaves_its_answers_is_read_no_more_until_it_takes_them() {
        let (near, _far) = tokio::io::duplex(64);
        let mut link = Link::new(near, Arc::default());
        // What it is sent unasked doesn't count.
        link.engine.output().resize(1024 * 1024, 0);
        link.note_replies(1024 * 1024);
        assert!(link.may_read());
        link.engine.output().resize(1024 * 1024 + MAX_REPLY_BYTES, 0);
        link.note_replies(1024 * 1024);
        assert!(!link.may_read());
        link.advance(1024 * 1024);
        assert!(!link.may_read());
        link.advance(MAX_REPLY_BYTES);
        assert!(link.may_read());
    }
}
