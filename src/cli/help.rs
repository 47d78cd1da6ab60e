//! The help: commands in groups, and examples of each command.

mod examples;

use clap::{Command, builder::Styles};

use self::examples::EXAMPLES;

/// The commands by purpose.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Run", &["serve", "demo", "mcp"]),
    ("Register", &["register", "validate", "td", "edit", "patch", "remove", "imports", "refresh", "untrack"]),
    ("Find", &["search", "list", "get", "diff", "export", "queries"]),
    ("Talk", &["ask", "chat", "call", "read", "write", "events", "run", "sacp"]),
    ("Follow", &["watch", "history", "changes"]),
    (
        "Administer",
        &[
            "status",
            "access",
            "namespaces",
            "keys",
            "audit",
            "backup",
            "restore",
            "records",
            "check",
            "salvage",
            "clock",
            "cluster",
            "mqtt",
        ],
    ),
    ("Set up", &["context", "connect", "version", "completions", "openapi"]),
];

/// Width of the column of command names.
const NAMES: usize = 13;

/// Adds the groups and the examples to the command line.
pub(super) fn with_help(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n{}\n{{options}}\n\n\
         `agentdex COMMAND --help` shows the options of a command, with examples.\n",
        groups(&command),
        heading("Options:"),
    );
    let command = command.help_template(template);
    command.mut_subcommands(|subcommand| with_examples(subcommand, ""))
}

/// Lists the commands under their headings.
fn groups(command: &Command) -> String {
    let line = |name: &&str| {
        let subcommand = command.find_subcommand(name)?;
        let about = subcommand.get_about()?;
        let aliases: Vec<&str> = subcommand.get_visible_aliases().collect();
        let aliases = if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
        let styles = Styles::styled();
        let (style, reset) = (styles.get_literal().render(), styles.get_literal().render_reset());
        Some(format!("  {style}{name}{reset}{:width$}{about}{aliases}\n", "", width = NAMES - name.len()))
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("\n{}\n{}", heading(&format!("{title}:")), names.iter().filter_map(line).collect::<String>())
    };
    GROUPS.iter().map(group).collect()
}

/// Adds examples to a command and its subcommands; `parent` is the path of the command above.
fn with_examples(command: Command, parent: &str) -> Command {
    let path = format!("{parent} {}", command.get_name()).trim_start().to_owned();
    // The examples of a command with subcommands are those of the subcommands.
    let is_below = |of: &&str| *of == path || of.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with(' '));
    let examples: Vec<String> = EXAMPLES
        .iter()
        .filter(|(of, _)| is_below(of))
        .flat_map(|(_, examples)| examples.iter())
        .map(|(what, line)| format!("  # {what}\n  {line}"))
        .collect();
    let before = command.get_after_help().map(|text| format!("{}\n\n", text.ansi())).unwrap_or_default();
    let examples = format!("{before}{}\n{}", heading("Examples:"), examples.join("\n"));
    command.after_help(examples).mut_subcommands(|subcommand| with_examples(subcommand, &path))
}

/// A heading as clap styles them.
fn heading(text: &str) -> String {
    let styles = Styles::styled();
    format!("{}{text}{}", styles.get_header().render(), styles.get_header().render_reset())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ffi::OsString};

    use super::*;
    use crate::cli::{Cli, command, excluded_words};
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let unique: BTreeSet<&str> = grouped.iter().copied().collect();
        let cli = Cli::command();
        let commands: BTreeSet<&str> = cli.get_subcommands().map(Command::get_name).collect();
        assert_eq!(grouped.len(), unique.len());
        assert_eq!(unique, commands);
    }

    #[test]
    fn help_texts_end_with_a_word() {
        fn check(command: &Command) {
            let options = command.get_arguments().filter_map(|arg| arg.get_help()).map(ToString::to_string);
            for text in options.chain(command.get_about().map(ToString::to_string)) {
                let last = text.split_whitespace().next_back().unwrap_or_default();
                let is_word = last.chars().any(char::is_alphanumeric) || last == "*";
                assert!(is_word && !["and", "or", "of", "the"].contains(&last), "{}: {text}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }

    /// Splits a line of an example into words as a shell does; ends at a pipe, a redirection or `&&`.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for character in line.chars() {
            match (character, quote) {
                (_, Some(end)) if character == end => quote = None,
                (_, Some(_)) => word.get_or_insert_default().push(character),
                ('\'' | '"', None) => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                (' ', None) => words.extend(word.take()),
                (_, None) => word.get_or_insert_default().push(character),
            }
        }
        words.extend(word);
        let end = words.iter().position(|word| ["|", "<", ">", "&&"].contains(&word.as_str()));
        words.truncate(end.unwrap_or(words.len()));
        words
    }

    #[test]
    fn examples_are_valid_commands() {
        for (path, examples) in EXAMPLES {
            assert!(!examples.is_empty(), "{path}");
            for (what, line) in *examples {
                assert!(what.starts_with(char::is_uppercase) && !what.ends_with('.'), "{what}");
                // Variables may be before the program.
                let pieces: Vec<&str> =
                    line.split(" | ").filter_map(|piece| Some(&piece[piece.find("agentdex ")?..])).collect();
                let own = pieces.iter().find_map(|piece| piece.strip_prefix(&format!("agentdex {path}")));
                assert!(own.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')), "{path}: {line}");
                for piece in pieces {
                    let arguments = excluded_words::mark(words(piece).into_iter().map(OsString::from));
                    if let Err(error) = command().try_get_matches_from(arguments) {
                        panic!("{line}: {error}");
                    }
                }
            }
        }
    }
}
