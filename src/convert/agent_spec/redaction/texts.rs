//! Secrets in texts that no table knows.

use super::{
    names::{is_placeholders, is_secret_name, is_secret_text},
    urls::has_credentials,
};

/// Whether a text is a secret, or assigns one, like a form or a connection string.
pub(super) fn is_secret(text: &str) -> bool {
    let is_assignment = |part: &str| part.split_once('=').is_some_and(|(name, value)| is_assigned_secret(name, value));
    has_credentials(text) || is_secret_text(text) || text.split(['&', ';', '\n']).any(is_assignment)
}

/// Whether a secret is among the arguments of a command.
pub(super) fn holds_secret<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let mut follows_name = false;
    for word in words {
        let is_flag = word.starts_with('-');
        let is_named = word.split_once(['=', ':']).is_some_and(|(name, value)| is_assigned_secret(name, value));
        let is_value = follows_name && !is_flag && says_something(word);
        if is_named || is_value || has_credentials(word) || is_secret_text(word) {
            return true;
        }
        follows_name = is_flag && !word.contains('=') && is_secret_name(word);
    }
    false
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
        for words in [&["--api-key", "x"][..], &["-H", "Authorization: Bearer x"], &["TOKEN=x"], &["https://a:b@h"]] {
            assert!(holds_secret(words.iter().copied()), "{words:?}");
        }
        for words in
            [&["--port", "80"][..], &["--api-key", "--verbose"], &["--token={{t}}"], &["--max-tokens=5"], &["srv"]]
        {
            assert!(!holds_secret(words.iter().copied()), "{words:?}");
        }
    }
}
