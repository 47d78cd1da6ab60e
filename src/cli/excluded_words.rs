//! Words of a query that start with a hyphen, which excludes them: `agentdex search +weather -marine`.
//!
//! To clap they are misspelled options, unless `--` is before them. They are marked before it reads the command line, so that
//! options that are really misspelled are still found.

use std::ffi::OsString;

/// Marks a word. No argument of a process has this character.
const MARK: char = '\0';
/// The commands that take a query, and the subcommand that does.
const COMMANDS: [(&str, Option<&str>); 5] =
    [("search", None), ("find", None), ("watch", None), ("subscribe", None), ("queries", Some("create"))];
/// The options that may be before a command, with a value behind them.
const OPTIONS: [&str; 5] = ["--url", "--api-key", "--ca", "--client-cert", "--context"];

/// Marks the excluded words among the arguments of the process, of which the first is the program.
pub(super) fn mark(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let arguments: Vec<OsString> = arguments.collect();
    let names: Vec<&str> = commands(&arguments);
    let takes_query = COMMANDS.iter().any(|(command, subcommand)| {
        names.first() == Some(command) && subcommand.is_none_or(|subcommand| names.get(1) == Some(&subcommand))
    });
    if !takes_query {
        return arguments;
    }
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let mark = |(index, argument): (usize, OsString)| match argument.to_str() {
        Some(text) if index < end && is_excluded(text) => format!("{MARK}{text}").into(),
        _ => argument,
    };
    arguments.into_iter().enumerate().map(mark).collect()
}

/// The arguments that are neither options nor values of those that all commands have: the command first.
fn commands(arguments: &[OsString]) -> Vec<&str> {
    let (mut names, mut is_value) = (Vec::new(), true);
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        if !std::mem::take(&mut is_value) && !argument.starts_with('-') {
            names.push(argument);
        }
        is_value = OPTIONS.contains(&argument);
    }
    names
}

/// True if an argument is a hyphen with a word, a phrase, or a field behind it; one letter is an option.
fn is_excluded(text: &str) -> bool {
    let Some(word) = text.strip_prefix('-') else { return false };
    word.starts_with(|first: char| first.is_alphabetic() || first == '"') && word.chars().count() > 1
}

/// Reads a word of a query.
pub(super) fn word(text: &str) -> Result<String, String> {
    Ok(text.strip_prefix(MARK).unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str) -> Vec<String> {
        let arguments = mark(line.split(' ').map(OsString::from));
        let marked = arguments.into_iter().map(|argument| argument.into_string().unwrap());
        marked.filter(|argument| argument.starts_with(MARK)).map(|argument| word(&argument).unwrap()).collect()
    }

    #[test]
    fn words_of_queries_are_marked_and_options_are_not() {
        assert_eq!(marked("agentdex search +weather -marine"), ["-marine"]);
        assert_eq!(marked("agentdex search -hotel -\"a -title:x --limit 3 -h"), ["-hotel", "-\"a", "-title:x"]);
        assert_eq!(marked("agentdex --url http://a find x -mäh"), ["-mäh"]);
        assert_eq!(marked("agentdex queries create name x -marine"), ["-marine"]);
        for other in
            ["agentdex list -marine", "agentdex search -- -marine", "agentdex register search -quiet", "agentdex"]
        {
            assert_eq!(marked(other), [""; 0], "{other}");
        }
    }
}
