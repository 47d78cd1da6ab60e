//! Secrets in texts that no table knows.

use super::{
    names::{is_secret_name, is_secret_parameter, is_secret_text},
    urls::has_credentials,
};
use crate::convert::agent_spec::placeholders::is_placeholders;

/// Headers whose values are no secrets.
const HARMLESS_HEADERS: [&str; 5] = ["accept", "accept-language", "accept-encoding", "content-type", "user-agent"];

/// Whether a text is a secret, or assigns one, like a form or a connection string.
pub(super) fn is_secret(text: &str) -> bool {
    let is_assignment = |part: &str| part.split_once('=').is_some_and(|(name, value)| is_assigned_secret(name, value));
    // Blanks around the sign are left to those parts: in prose they are more than an assignment.
    let mut words = text.split_ascii_whitespace().filter(|word| !word.starts_with('='));
    has_credentials(text)
        || is_secret_text(text)
        || text.split(['&', ';', ',', '\n']).any(is_assignment)
        || words.any(is_assignment)
}

/// Whether a secret is among the arguments of a command.
pub(super) fn holds_secret<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let mut flag = "";
    for word in words {
        let is_flag = word.starts_with('-');
        let (name, value) = word.split_once(['=', ':']).unwrap_or((word, ""));
        let is_named = (is_secret_name(name) || is_flag && is_secret_parameter(name)) && says_something(value.trim());
        if is_named || is_secret(word) || !is_flag && is_secret_argument(flag, word) {
            return true;
        }
        flag = if is_flag && !word.contains('=') { word } else { "" };
    }
    false
}

/// Whether what follows a flag is a secret.
fn is_secret_argument(flag: &str, word: &str) -> bool {
    let (name, value) = word.split_once(':').unwrap_or((word, ""));
    match flag {
        "" => false,
        "-u" | "--user" => says_something(value),
        "-H" | "--header" => {
            let is_harmless = HARMLESS_HEADERS.iter().any(|header| name.trim().eq_ignore_ascii_case(header));
            !is_harmless && says_something(value.trim())
        }
        flag => is_secret_parameter(flag) && says_something(word),
    }
}

/// Whether `name=value` gives a secret away.
fn is_assigned_secret(name: &str, value: &str) -> bool {
    is_secret_name(name.trim()) && says_something(value.trim())
}

fn says_something(text: &str) -> bool {
    !text.is_empty() && !is_placeholders(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_among_arguments_are_found() {
        for words in [
            &["--api-key", "x"][..],
            &["-H", "Authorization: Bearer x"],
            &["TOKEN=x"],
            &["https://a:b@h"],
            &["-u", "joe:x"],
            &["--header", "X-Foo: x"],
            &["--key", "x"],
            &["--key=x"],
            &["h", "user=joe;password=x"],
        ] {
            assert!(holds_secret(words.iter().copied()), "{words:?}");
        }
        for words in [
            &["--port", "80"][..],
            &["--api-key", "--verbose"],
            &["--token={{t}}"],
            &["--max-tokens=5"],
            &["srv"],
            &["-H", "Accept: text/plain"],
            &["-H", "X-Foo: {{x}}"],
            &["-u", "joe"],
        ] {
            assert!(!holds_secret(words.iter().copied()), "{words:?}");
        }
    }
}
