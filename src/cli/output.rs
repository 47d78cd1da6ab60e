//! Output for people: tables, colours where there is a terminal, indented JSON.

use std::{
    borrow::Cow,
    env,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;
use serde_json::Value;

use super::terminal::{acts, stderr, stdout};
use agentdex::td::Violation;

/// Colours and bold type, or the bare text where nobody would see them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    coloured: bool,
}

impl Style {
    /// For standard output.
    pub(super) fn stdout() -> Style {
        Style { coloured: io::stdout().is_terminal() && colours_are_welcome() }
    }

    /// For what is only measured.
    pub(super) fn plain() -> Style {
        Style { coloured: false }
    }

    pub(super) fn green(self, text: &str) -> String {
        self.paint(text, "32")
    }

    pub(super) fn red(self, text: &str) -> String {
        self.paint(text, "31")
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.paint(text, "33")
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint(text, "1")
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint(text, "2")
    }

    fn paint(self, text: &str, code: &str) -> String {
        let text = visible(text);
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into_owned() }
    }
}

/// A number with its noun: `1 agent`, `2 agents`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Red where standard error is a terminal.
pub(super) fn red_on_stderr(text: &str) -> String {
    Style { coloured: io::stderr().is_terminal() && colours_are_welcome() }.red(text)
}

/// Yellow where standard error is a terminal.
pub(super) fn yellow_on_stderr(text: &str) -> String {
    Style { coloured: io::stderr().is_terminal() && colours_are_welcome() }.yellow(text)
}

/// Prints the warnings about a document on standard error, one per line.
pub(super) fn warn(document: &str, warnings: &[Violation]) {
    let kind = yellow_on_stderr("warning:");
    for warning in warnings {
        let (document, rule) = (visible(document), visible(&warning.rule));
        complain(&format!("{kind} {document}: {} [{rule}]", visible(&warning.to_string())));
    }
}

/// Prints a line on standard error, in one piece: standard output may go to the same terminal by another program. A command
/// does the same where nobody reads it, or the disk that it goes to is full.
pub(super) fn complain(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints a text of others on standard error, on lines of its own.
pub(super) fn complain_foreign(text: &str) {
    let _ = stderr().write_foreign(&format!("{text}\n"));
}

/// Prints an object on standard error: on one line, and indented on a terminal.
pub(super) fn complain_json(object: &Value) {
    let json = object.to_string();
    complain(&if io::stderr().is_terminal() { indented(&json) } else { json });
}

/// Standard output of a command that changes something with each line: it goes on where a line can't be printed.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The first error.
    failure: Option<io::Error>,
}

impl Results {
    /// Prints a line.
    pub(super) fn print(&mut self, line: &str) {
        if self.failure.is_none() {
            self.failure = stdout().write_all(format!("{line}\n").as_bytes()).err();
        }
    }

    /// Returns the exit status of a command that is done.
    ///
    /// # Errors
    /// The first error of printing, unless the command itself failed.
    pub(super) fn finish(self, outcome: ExitCode) -> io::Result<ExitCode> {
        match self.failure {
            Some(error) if outcome == ExitCode::SUCCESS => Err(error),
            _ => Ok(outcome),
        }
    }
}

/// Prints a value as JSON: on one line, and indented on a terminal.
pub(super) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string(value)?;
    let mut out = stdout();
    match out.is_terminal() {
        true => writeln!(out, "{}", indented(&json))?,
        false => writeln!(out, "{json}")?,
    }
    Ok(out.flush()?)
}

/// See <https://no-color.org>.
pub(super) fn colours_are_welcome() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Indentation of the lines under the first line of a hit.
pub(super) const INDENT: &str = "        ";
/// Marks of a part that matches.
const MARKS: [&str; 2] = ["<b>", "</b>"];
/// A line under the header and no other.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table that is as wide as the terminal at most.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(PLAIN).set_content_arrangement(ContentArrangement::Dynamic);
    // A terminal that says it has no columns doesn't know how many it has.
    if table.width() == Some(0) {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table.set_header(header);
    table
}

/// The lines of a table, without the spaces that fill its last column.
pub(super) fn lines(table: &Table) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Returns the width of the terminal in columns; none where standard output is not a terminal, so that lines stay as
/// long as they are.
pub(super) fn columns() -> Option<usize> {
    Table::new().width().map(usize::from).filter(|columns| *columns > 0)
}

/// The start of a text, so that it fits a line after this number of columns.
pub(super) fn fit(text: &str, after: usize) -> String {
    shorten(text, columns().map_or(usize::MAX, |columns| columns.saturating_sub(after + 1).max(20)))
}

/// A text of remote clients as one line that a terminal only shows: characters that would tell it to do
/// something, or turn the reading direction, become U+FFFD.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(acts) { Cow::Owned(text.replace(acts, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Returns a text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+@:".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The start of a text, at most `length` characters and one line.
pub(super) fn shorten(text: &str, length: usize) -> String {
    let line = text.split_whitespace().map(visible).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Formats the snippet of a hit, HTML with the matches marked, as one line of at most `length` characters. Matches are
/// bold.
pub(super) fn snippet(style: Style, html: &str, length: usize) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    let plain = |html: &str| entities.iter().fold(html.to_owned(), |text, (entity, plain)| text.replace(entity, plain));
    let (mut line, mut left) = (String::new(), length);
    for (number, part) in html.split(MARKS[0]).enumerate() {
        let (marked, rest) = match part.split_once(MARKS[1]) {
            Some((marked, rest)) if number > 0 => (marked, rest),
            _ => ("", part),
        };
        for (html, is_match) in [(marked, true), (rest, false)] {
            let text = plain(html).replace(['\n', '\r', '\t'], " ");
            let shown: String = text.chars().take(left).collect();
            line += &if is_match && !shown.is_empty() { style.bold(&shown) } else { visible(&shown).into_owned() };
            let length = text.chars().count();
            if length > left {
                return line + "…";
            }
            left -= length;
        }
    }
    line
}

/// Valid JSON with one member a line; order and numbers stay as they are.
pub(super) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 3 / 2);
    let (mut depth, mut in_string, mut escaped, mut opened) = (0_usize, false, false, false);
    for character in json.chars() {
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        if character.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(character, '}' | ']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        // Only what was just opened stays open on its line: `{}`.
        if opened != closes {
            break_line(&mut out, depth);
        }
        opened = matches!(character, '{' | '[');
        depth += usize::from(opened);
        in_string = character == '"';
        out.push(character);
        match character {
            ':' => out.push(' '),
            ',' => break_line(&mut out, depth),
            _ => {}
        }
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_one_word_of_a_shell() {
        assert_eq!(quoted("./target/debug/agentdex"), "./target/debug/agentdex");
        assert_eq!(quoted("/My Files/agentdex"), "'/My Files/agentdex'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn indented_json_keeps_order_and_numbers() {
        let json = r#"{"b": [1.50, {}, []], "a":{"x":"{\"[,:"} }"#;
        let expected = "{\n  \"b\": [\n    1.50,\n    {},\n    []\n  ],\n  \"a\": {\n    \"x\": \"{\\\"[,:\"\n  }\n}";
        assert_eq!(indented(json), expected);
    }

    #[test]
    fn strangers_do_not_command_the_terminal() {
        assert_eq!(visible("a\x1b[31mred\x07\nb\u{202e}c"), "a\u{fffd}[31mred\u{fffd}\u{fffd}b\u{fffd}c");
        assert_eq!(Style { coloured: false }.bold("\x1b]0;title"), "\u{fffd}]0;title");
        assert_eq!(shorten("one\ttwo \x1b[2J", 20), "one two \u{fffd}[2J");
    }

    #[test]
    fn matches_in_snippets_are_bold() {
        let html = "Tells the <b>weather</b> &amp; <b>&lt;rain&gt;</b>\x1b[2J today";
        let style = |coloured| Style { coloured };
        assert_eq!(snippet(style(false), html, 99), "Tells the weather & <rain>\u{fffd}[2J today");
        assert_eq!(
            snippet(style(true), html, 99),
            "Tells the \x1b[1mweather\x1b[0m & \x1b[1m<rain>\x1b[0m\u{fffd}[2J today"
        );
        assert_eq!(snippet(style(true), html, 13), "Tells the \x1b[1mwea\x1b[0m…");
        assert_eq!(snippet(style(false), "a <b", 10), "a <b");
        assert_eq!(snippet(style(false), "abc", 3), "abc");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shorten("äöü\n  xyz", 4), "äöü …");
        assert_eq!(shorten("äöü", 3), "äöü");
    }
}
