//! Many documents in one input, a JSON object a line, as `agentdex list --json` prints them.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use crate::cli::document::{self, FileDocument};
use agentdex::convert::MAX_SOURCE_BYTES;

/// The lines of a file or of standard input, one at a time.
pub(super) struct Lines {
    input: Box<dyn BufRead>,
    number: usize,
}

/// Content of an input: one document, or a document a line.
pub(super) enum Content {
    One(Result<FileDocument, document::ReadError>),
    Lines(Lines),
}

/// True if a file has a document a line, by its name.
pub(super) fn has_lines(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "ndjson" || ending == "jsonl")
}

/// The number of lines of a file that aren't empty; 0 if it can't be read, which is reported when it is its turn.
pub(super) fn count(path: &Path) -> u64 {
    let Ok(file) = File::open(path) else { return 0 };
    let mut input = BufReader::new(file);
    let (mut lines, mut is_open) = (0, false);
    while let Ok(bytes @ [_, ..]) = input.fill_buf() {
        for byte in bytes {
            lines += u64::from(!is_open && !byte.is_ascii_whitespace());
            is_open = *byte != b'\n' && (is_open || !byte.is_ascii_whitespace());
        }
        let length = bytes.len();
        input.consume(length);
    }
    lines
}

/// Reads a file, or as much of it as says whether it has one document or many.
pub(super) fn read(path: &Path) -> Content {
    if !document::is_standard_input(path) {
        return match File::open(path) {
            Ok(file) if has_lines(path) => Content::Lines(Lines { input: Box::new(BufReader::new(file)), number: 0 }),
            _ => Content::One(FileDocument::read(path)),
        };
    }
    let mut input = BufReader::new(io::stdin());
    match starts_with_lines(&mut input) {
        Ok((true, first)) => Content::Lines(Lines { input: Box::new(io::Cursor::new(first).chain(input)), number: 0 }),
        Ok((false, first)) => Content::One(FileDocument::read_from(io::Cursor::new(first).chain(input), "")),
        Err(error) => Content::One(Err(document::ReadError::File(error))),
    }
}

/// Reads the first line. Returns true if it is a JSON object of its own and something follows, together with what was
/// read.
fn starts_with_lines(input: &mut impl BufRead) -> io::Result<(bool, Vec<u8>)> {
    let mut first = Vec::new();
    input.take(MAX_SOURCE_BYTES as u64 + 1).read_until(b'\n', &mut first)?;
    let is_object =
        first.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(&first).is_ok();
    Ok((is_object && !input.fill_buf()?.is_empty(), first))
}

impl Iterator for Lines {
    /// The number of a line and what is on it.
    type Item = (usize, Result<FileDocument, document::ReadError>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut line = Vec::new();
            self.number += 1;
            let read = self.input.by_ref().take(MAX_SOURCE_BYTES as u64 + 1).read_until(b'\n', &mut line);
            // The rest of a line that is too long is no line of its own.
            let read = match line.len() > MAX_SOURCE_BYTES && !line.ends_with(b"\n") {
                true => self.input.skip_until(b'\n'),
                false => read,
            };
            match read {
                Ok(_) if line.is_empty() => return None,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => return Some((self.number, FileDocument::read_from(line.as_slice(), "json"))),
                Err(error) => {
                    // What can't be read once can't be read further.
                    self.input = Box::new(io::empty());
                    return Some((self.number, Err(document::ReadError::File(error))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_document_over_several_lines_is_told_from_several_documents() {
        let is_lines = |text: &str| starts_with_lines(&mut text.as_bytes()).unwrap().0;
        assert!(is_lines("{\"a\": 1}\n{\"a\": 2}\n"));
        assert!(!is_lines("{\"a\": 1}\n"));
        assert!(!is_lines("{\"a\": 1}"));
        assert!(!is_lines("{\n\"a\": 1}\n"));
        assert!(!is_lines("a: 1\nb: 2\n"));
    }

    #[test]
    fn line_that_is_too_long_is_one_failure() {
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_SOURCE_BYTES));
        let text = format!("{{}}\n\n{long}\n{{}}");
        let lines = Lines { input: Box::new(io::Cursor::new(text)), number: 0 };
        let outcomes: Vec<(usize, bool)> = lines.map(|(number, document)| (number, document.is_ok())).collect();
        assert_eq!(outcomes, [(1, true), (3, false), (4, true)]);
    }

    #[test]
    fn input_that_breaks_ends() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let lines = Lines { input: Box::new(BufReader::new(Broken)), number: 0 };
        assert_eq!(lines.map(|(_, document)| document.is_err()).collect::<Vec<_>>(), [true]);
    }
}
