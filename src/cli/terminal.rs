//! Standard output and standard error, on which nothing that others wrote can control a terminal.
//!
//! Commands show texts of others by [`visible`](super::output::visible). What is printed as it came, such as a description in
//! JSON, passes through here: on a terminal, characters that would act on it are written as their codes. In JSON that is the same
//! text, and up to U+FFFF in Turtle; in other formats it is only shown that way. Into pipes and files everything goes unchanged.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, StderrLock, StdoutLock, Write},
};

use agentdex::td::internal::is_invisible;

/// Sequences that commands color with.
const STYLES: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];

/// Standard output.
pub(super) fn stdout() -> Screen<StdoutLock<'static>> {
    let out = io::stdout().lock();
    Screen { is_terminal: out.is_terminal(), out, held: Vec::new() }
}

/// Standard error.
pub(super) fn stderr() -> Screen<StderrLock<'static>> {
    let out = io::stderr().lock();
    Screen { is_terminal: out.is_terminal(), out, held: Vec::new() }
}

/// True for characters that act on a terminal rather than being shown: controls, separators of lines, those that change the
/// direction of writing, and invisible characters, which a person doesn't see but a model reads when the text is pasted into it.
pub(super) fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}')
        || is_invisible(character) && !changes_neighbors(character)
}

/// True for invisible characters without which ordinary text would look wrong: the joiners of Persian, Indic scripts and emoji,
/// and the selectors of emoji and of Mongolian letters. They pass everywhere, since a text may be written in pieces. What
/// else selects variants is shown as its code, and so are the letters in the flags of England, Scotland and Wales: as tags, they
/// spell whole sentences that nobody sees.
fn changes_neighbors(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
}

/// True if a text is changed on its way to a terminal.
pub(super) fn is_changed(text: &str) -> bool {
    text.contains(|character: char| acts(character) && !is_layout(character))
}

fn is_layout(character: char) -> bool {
    matches!(character, '\n' | '\t')
}

/// An output. If it is a terminal, characters that act on it are written as JSON escapes them: `\u` and four hexadecimal digits,
/// twice beyond U+FFFF.
#[derive(Debug)]
pub(super) struct Screen<W> {
    out: W,
    is_terminal: bool,
    /// The beginning of a character whose end isn't written yet.
    held: Vec<u8>,
}

impl<W> Screen<W> {
    /// True if it is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }
}

impl<W: Write> Screen<W> {
    /// Writes a text of others, which may not even color.
    pub(super) fn write_foreign(&mut self, text: &str) -> io::Result<()> {
        match self.is_terminal {
            true => self.write_all(text.replace('\u{1b}', "\\u001b").as_bytes()),
            false => self.write_all(text.as_bytes()),
        }
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        let mut text = String::with_capacity(held.len());
        let mut chunks = held.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            escape_into(&mut text, chunk.valid());
            let invalid = chunk.invalid();
            // At the end it may be completed by what is written next.
            if chunks.peek().is_none() && is_beginning(invalid) {
                self.held = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// True if bytes are the beginning of a character.
fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.is_empty() && str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn escape_into(text: &mut String, piece: &str) {
    let mut rest = piece;
    while let Some(index) = rest.find(|character: char| acts(character) && !is_layout(character)) {
        let (before, from) = rest.split_at(index);
        text.push_str(before);
        let style = STYLES.iter().find(|style| from.starts_with(**style));
        let length = match (style, from.chars().next()) {
            (Some(style), _) => {
                text.push_str(style);
                style.len()
            }
            (None, Some('\r')) if from.starts_with("\r\n") => 1,
            (None, Some(character)) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
                character.len_utf8()
            }
            (None, None) => 0,
        };
        rest = from.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_terminal: bool, pieces: &[&[u8]]) -> String {
        let mut screen = Screen { out: Vec::new(), is_terminal, held: Vec::new() };
        pieces.iter().for_each(|piece| screen.write_all(piece).unwrap());
        String::from_utf8(screen.out).unwrap()
    }

    const TEXT: &str = "{\"a\": \"\u{9b}2J \u{7f}\u{202e}\u{2066}\u{200b}\u{200f}\u{feff} \u{1b}[8mä👩\u{200d}💻\\\\\u{85} \
                        a\u{ad}b\u{e0041}\u{e007f}\u{3164}\u{fff9}\u{fe01}\u{e0101}\"}\n";

    #[test]
    fn characters_that_act_are_written_as_their_codes() {
        let shown = written(true, &[TEXT.as_bytes()]);
        let expected = "{\"a\": \"\\u009b2J \\u007f\\u202e\\u2066\\u200b\\u200f\\ufeff \\u001b[8mä👩\u{200d}💻\\\\\\u0085 \
                        a\\u00adb\\udb40\\udc41\\udb40\\udc7f\\u3164\\ufff9\\ufe01\\udb40\\udd01\"}\n";
        assert_eq!(shown, expected);
        assert!(shown.chars().all(|character| character == '\n' || !acts(character)));
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&shown)["a"], value(&TEXT.replace('\u{1b}', "\\u001b").replace('\u{7f}', "\\u007f"))["a"]);
    }

    #[test]
    fn what_scripts_and_emoji_need_stays() {
        for text in [
            "می\u{200c}خواهم क\u{94d}\u{200d}ष",
            "👩\u{200d}🔬 🏳\u{fe0f}\u{200d}🌈 1\u{fe0f}\u{20e3} ☀\u{fe0e}",
            "ᠠ\u{180b}",
            "\u{600}١ \u{6dd}",
            "שלום 天気予報",
        ] {
            assert_eq!(written(true, &[text.as_bytes()]), text);
        }
    }

    #[test]
    fn texts_of_others_have_no_colors() {
        let mut screen = Screen { out: Vec::new(), is_terminal: true, held: Vec::new() };
        screen.write_foreign("a\x1b[31mred\x07\n").unwrap();
        assert_eq!(String::from_utf8(screen.out).unwrap(), "a\\u001b[31mred\\u0007\n");
        let mut pipe = Screen { out: Vec::new(), is_terminal: false, held: Vec::new() };
        pipe.write_foreign("a\x1b[31mred").unwrap();
        assert_eq!(pipe.out, b"a\x1b[31mred");
    }

    #[test]
    fn pipes_get_what_came() {
        assert_eq!(written(false, &[TEXT.as_bytes()]), TEXT);
    }

    #[test]
    fn text_is_the_same_wherever_it_is_cut() {
        let whole = written(true, &[TEXT.as_bytes()]);
        let bytes = TEXT.as_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(written(true, &[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
        }
        assert_eq!(written(true, &[b"a\xff\xc3", b"b"]), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn own_colors_and_ends_of_lines_stay() {
        for text in ["\x1b[1mTitle\x1b[0m \x1b[32mgreen\x1b[0m\n", "a\tb\n"] {
            assert_eq!(written(true, &[text.as_bytes()]), text);
        }
        assert_eq!(written(true, &[b"a: 1\r\nb: \r2\r\n"]), "a: 1\nb: \\u000d2\n");
        assert_eq!(written(true, &[b"\x1b[30;40m"]), "\\u001b[30;40m");
    }
}
