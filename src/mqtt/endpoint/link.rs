//! Both directions of a connection, with what was read and what is to be written.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf},
    time::timeout,
};

use super::engine::Engine;

/// How long a client may take for the last bytes of a connection.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(1);
/// What an output buffer may keep once it is empty.
const IDLE_OUTPUT_BYTES: usize = 128 * 1024;

/// A connection's stream and engine.
pub(super) struct Link<S> {
    pub reader: ReadHalf<S>,
    pub writer: WriteHalf<S>,
    pub engine: Engine,
    /// How much of the engine's output is written.
    pub written: usize,
}

impl<S: AsyncRead + AsyncWrite> Link<S> {
    pub fn new(stream: S) -> Link<S> {
        let (reader, writer) = tokio::io::split(stream);
        Link { reader, writer, engine: Engine::new(), written: 0 }
    }

    /// Notes how much was written.
    pub fn advance(&mut self, count: usize) {
        self.written += count;
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

    /// Writes what is left and closes.
    pub async fn finish(mut self) {
        let rest = self.engine.output().split_off(self.written);
        let last = async {
            self.writer.write_all(&rest).await?;
            self.writer.shutdown().await
        };
        // Whoever doesn't take it in time or is gone already isn't waited for.
        let _ = timeout(FAREWELL_TIMEOUT, last).await;
    }
}
