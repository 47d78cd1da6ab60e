//! Lines of a body, put together from chunks that end anywhere. Each byte is scanned once, however
//! small the chunks are.

use actix_web::web::{Bytes, BytesMut};

use super::problem::Problem;

/// A line with its number, or why it is not taken.
pub(super) type Line = (u64, Result<Bytes, Problem>);

/// The part of a body that has arrived and is not taken yet.
pub(super) struct LineBuffer {
    bytes: BytesMut,
    /// Number of bytes, from the first, that are known to have no line break.
    scanned: usize,
    maximum: usize,
    number: u64,
    /// True if the rest of a line that is too long is being skipped.
    skipping: bool,
}

impl LineBuffer {
    /// For lines of at most `maximum` bytes.
    pub(super) fn new(maximum: usize) -> LineBuffer {
        LineBuffer { bytes: BytesMut::new(), scanned: 0, maximum, number: 0, skipping: false }
    }

    /// Adds what arrived.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// Forgets what has arrived, and returns the problem in place of the line that it belonged to.
    pub(super) fn fail(&mut self, problem: Problem) -> Line {
        self.bytes.clear();
        (self.scanned, self.number) = (0, self.number + 1);
        (self.number, Err(problem))
    }

    /// The next complete line that isn't blank, or one that is too long.
    pub(super) fn take(&mut self) -> Option<Line> {
        while let Some(end) = self.next_end() {
            let line = self.bytes.split_to(end + 1).freeze();
            self.scanned = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            self.number += 1;
            if line.len() > self.maximum + 1 {
                return Some((self.number, Err(Problem::body_too_large(self.maximum))));
            }
            if !line.trim_ascii().is_empty() {
                return Some((self.number, Ok(line)));
            }
        }
        if self.skipping {
            self.bytes.clear();
            self.scanned = 0;
        } else if self.bytes.len() > self.maximum {
            self.skipping = true;
            return Some(self.fail(Problem::body_too_large(self.maximum)));
        }
        None
    }

    /// Finds the end of the first line. Only what hasn't been scanned is searched.
    fn next_end(&mut self) -> Option<usize> {
        let unscanned = self.bytes.get(self.scanned..).unwrap_or_default();
        match unscanned.iter().position(|byte| *byte == b'\n') {
            Some(end) => Some(self.scanned + end),
            None => {
                self.scanned = self.bytes.len();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a body in chunks of a size, and how many bytes were scanned for them.
    fn read(body: &[u8], chunk: usize, maximum: usize) -> (Vec<(u64, Option<usize>)>, usize) {
        let (mut buffer, mut lines, mut looked_at) = (LineBuffer::new(maximum), Vec::new(), 0);
        for chunk in body.chunks(chunk) {
            buffer.push(chunk);
            loop {
                let before = buffer.scanned;
                let taken = buffer.take();
                looked_at += match &taken {
                    Some((_, Ok(line))) => line.len() - before,
                    _ => buffer.scanned.saturating_sub(before),
                };
                let Some((number, line)) = taken else { break };
                lines.push((number, line.ok().map(|line| line.len())));
            }
        }
        (lines, looked_at)
    }

    #[test]
    fn each_byte_is_looked_at_once_in_one_byte_chunks() {
        let body = [vec![b'a'; 400_000], b"\n".to_vec()].concat();
        let (lines, looked_at) = read(&body, 1, 1024 * 1024);
        assert_eq!((lines, looked_at), (vec![(1, Some(body.len()))], body.len()));
    }

    #[test]
    fn lines_do_not_depend_on_chunks() {
        let body = b"one\n\n  \nfour is too long\nfive\r\nsix is far, far too long\n7\n";
        let expected = vec![(1, Some(4)), (4, None), (5, Some(6)), (6, None), (7, Some(2))];
        for chunk in 1..=body.len() {
            assert_eq!(read(body, chunk, 6).0, expected, "in chunks of {chunk}");
        }
    }
}
