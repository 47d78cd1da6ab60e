//! Reading a body that may be too long, once it is decompressed.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

/// Takes a body piece by piece and never holds more than it may.
pub(super) struct Body {
    decoder: Decoder,
    /// The most bytes that are taken, on the wire and decompressed.
    maximum: usize,
    received: usize,
}

enum Decoder {
    Identity(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
}

/// Why a body isn't taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It has more bytes than allowed.
    TooLarge,
    /// It isn't what its Content-Encoding says, or ends before its end.
    Malformed(String),
}

impl Body {
    /// A body in this content coding, of at most `limit` bytes; none for unknown codings.
    pub fn new(coding: &str, maximum: usize) -> Option<Body> {
        let bounded = Bounded { bytes: Vec::new(), maximum };
        let decoder = match coding.to_ascii_lowercase().as_str() {
            "" | "identity" => Decoder::Identity(bounded),
            "gzip" | "x-gzip" => Decoder::Gzip(Box::new(MultiGzDecoder::new(bounded))),
            _ => return None,
        };
        Some(Body { decoder, maximum, received: 0 })
    }

    /// Takes a piece.
    pub fn take(&mut self, piece: &[u8]) -> Result<(), BodyError> {
        self.received = self.received.saturating_add(piece.len());
        if self.received > self.maximum {
            return Err(BodyError::TooLarge);
        }
        match &mut self.decoder {
            Decoder::Identity(bytes) => bytes.write_all(piece),
            Decoder::Gzip(decoder) => decoder.write_all(piece),
        }
        .map_err(BodyError::from)
    }

    /// The whole body.
    pub fn finish(self) -> Result<Vec<u8>, BodyError> {
        match self.decoder {
            Decoder::Identity(bounded) => Ok(bounded.bytes),
            Decoder::Gzip(decoder) => Ok(decoder.finish()?.bytes),
        }
    }
}

impl From<io::Error> for BodyError {
    fn from(error: io::Error) -> BodyError {
        match error.kind() {
            io::ErrorKind::FileTooLarge => BodyError::TooLarge,
            _ => BodyError::Malformed(error.to_string()),
        }
    }
}

/// A buffer that refuses to grow beyond its bound.
struct Bounded {
    bytes: Vec<u8>,
    maximum: usize,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + piece.len() > self.maximum {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read(coding: &str, maximum: usize, pieces: &[u8], size: usize) -> Result<Vec<u8>, BodyError> {
        let mut body = Body::new(coding, maximum).unwrap();
        pieces.chunks(size).try_for_each(|piece| body.take(piece))?;
        body.finish()
    }

    #[test]
    fn bodies_up_to_the_limit_are_read_in_any_pieces() {
        let text: Vec<u8> = (0..1000u32).flat_map(|number| number.to_string().into_bytes()).collect();
        for size in [1, 7, 100_000] {
            assert_eq!(read("", text.len(), &text, size).unwrap(), text);
            assert_eq!(read("GZIP", text.len(), &gzip(&text), size).unwrap(), text);
        }
        let twice = [gzip(b"a"), gzip(b"b")].concat();
        assert_eq!(read("gzip", 100, &twice, 3).unwrap(), b"ab");
    }

    #[test]
    fn one_byte_more_is_too_large() {
        assert_eq!(read("identity", 9, &[b'x'; 10], 4), Err(BodyError::TooLarge));
        assert_eq!(read("gzip", 999, &gzip(&[b'x'; 1000]), 8), Err(BodyError::TooLarge));
    }

    #[test]
    fn bomb_is_stopped_at_the_limit() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 60_000);
        assert_eq!(read("gzip", 1 << 20, &bomb, 4096), Err(BodyError::TooLarge));
    }

    #[test]
    fn what_is_cut_off_or_no_gzip_is_malformed() {
        let whole = gzip(b"a document that is long enough to be cut off");
        assert!(matches!(read("gzip", 1000, &whole[..whole.len() - 5], 10), Err(BodyError::Malformed(_))));
        assert!(matches!(read("gzip", 1000, b"{\"no\": \"gzip\"}", 10), Err(BodyError::Malformed(_))));
        assert!(Body::new("br", 10).is_none() && Body::new("gzip, gzip", 10).is_none());
    }
}
