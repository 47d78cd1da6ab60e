//! Credentials in URLs: user-info, and secret-looking values of queries and fragments, in a URL that
//! stands alone or in prose.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::{names::is_secret_parameter, texts::is_secret};
use crate::convert::agent_spec::placeholders::{self, is_placeholders};

/// Schemes whose URIs have an `@` that user-info doesn't end at.
const ADDRESS_SCHEMES: [&str; 8] = ["mailto", "acct", "sip", "sips", "xmpp", "urn", "mid", "cid"];

/// What grants access in a URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::convert::agent_spec) struct Credentials {
    /// Whether there is user-info.
    pub user_info: bool,
    /// The names of the parameters whose values are secrets.
    pub parameters: Vec<String>,
    /// Whether any of it isn't just a placeholder.
    pub are_literal: bool,
}

/// A text without the credentials of the URLs in it.
pub(in crate::convert::agent_spec) fn scrubbed(text: &str) -> Cow<'_, str> {
    match may_hold_credentials(text) {
        true => take_credentials(text, &mut Credentials::default()),
        false => text.into(),
    }
}

/// Whether a URL in the text has credentials in it, placeholders aside.
pub(super) fn has_credentials(text: &str) -> bool {
    let mut credentials = Credentials::default();
    if may_hold_credentials(text) {
        take_credentials(text, &mut credentials);
    }
    credentials.are_literal
}

/// Most texts hold none, and this is asked of all of them.
fn may_hold_credentials(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'@' | b'='))
        && text.bytes().any(|byte| matches!(byte, b':' | b'/' | b'?' | b'#' | b'&' | b';'))
}

/// Takes the credentials out of the URLs in a text.
pub(in crate::convert::agent_spec) fn take_credentials<'t>(
    text: &'t str,
    credentials: &mut Credentials,
) -> Cow<'t, str> {
    let mut kept = String::new();
    let mut position = 0;
    let mut places = placeholders::places(text).peekable();
    while position < text.len() {
        let start = position;
        // White space in a placeholder separates no words.
        while let Some(byte) = text.as_bytes().get(position).filter(|byte| !separates_words(**byte)) {
            while places.next_if(|place| place.end <= position).is_some() {}
            position = match places.peek() {
                Some(place) if *byte == b'{' && place.start == position => place.end,
                _ => position + 1,
            };
        }
        kept.push_str(&clean_word(&text[start..position], credentials));
        let gap = text.as_bytes()[position..].iter().take_while(|byte| separates_words(**byte)).count();
        kept.push_str(&text[position..position + gap]);
        position += gap;
    }
    if kept.len() == text.len() { text.into() } else { kept.into() }
}

fn separates_words(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'<' | b'>' | b'`')
}

fn clean_word<'w>(word: &'w str, credentials: &mut Credentials) -> Cow<'w, str> {
    let mut kept = String::new();
    let mut end = 0;
    let begins_authority = |start: usize| start == 0 || word.as_bytes()[start - 1] == b':';
    let mut slashes = word.match_indices("//").map(|(start, _)| start).peekable();
    // The first authority may lack the slashes; others are in its path and parameters, or in a list with it.
    let first = slashes.next_if(|start| begins_authority(*start)).map_or(0, |start| start + 2);
    let further = slashes.filter_map(|slashes| {
        let (from, to) = user_info(word, slashes + 2)?;
        (begins_authority(slashes) || word[from..to].contains(':')).then_some((from, to))
    });
    for (from, to) in user_info(word, first).into_iter().chain(further) {
        if from < end {
            continue;
        }
        credentials.user_info = true;
        credentials.are_literal |= !is_placeholders(&word[from..to - 1]);
        kept.push_str(&word[end..from]);
        end = to;
    }
    if end == 0 {
        return clean_parameters(word, credentials);
    }
    kept.push_str(&word[end..]);
    clean_parameters(&kept, credentials).into_owned().into()
}

/// Where the user-info of the authority at `start` begins and ends, its `@` included.
fn user_info(word: &str, start: usize) -> Option<(usize, usize)> {
    if start == 0
        && let Some(found) = oracle_login(word)
    {
        return Some(found);
    }
    let authority = word[start..].split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let at = authority.rfind('@').filter(|at| *at > 0)?;
    if start == 0 {
        // Without a scheme, only `user:password@host` is taken for it.
        let (scheme, _) = authority[..at].split_once(':')?;
        let is_digest = authority[at + 1..].starts_with("sha");
        let has_no_password = authority[..at].ends_with(':');
        if ADDRESS_SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) || is_digest || has_no_password {
            return None;
        }
    }
    Some((start, start + at + 1))
}

/// Where `user/password@` is in an address of Oracle's: after `jdbc:oracle:thin:`, or before `//host`.
fn oracle_login(word: &str) -> Option<(usize, usize)> {
    let is_jdbc = word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("jdbc:"));
    let at = word.find("@//").or_else(|| word.find('@').filter(|_| is_jdbc))?;
    let login = &word[..at];
    let slash = login.find('/').filter(|slash| !login[*slash..].starts_with("//"))?;
    let start = login[..slash].rfind(':').map_or(0, |colon| colon + 1);
    Some((start, at + 1))
}

fn clean_parameters<'w>(word: &'w str, credentials: &mut Credentials) -> Cow<'w, str> {
    let Some(first) = word.find(['?', '#', '&', ';']) else { return word.into() };
    let mut kept = String::from(&word[..first]);
    let mut rest = &word[first..];
    let mut lost_first = false;
    while let Some(mark) = rest.chars().next() {
        let end = rest[1..].find(['?', '&', '#', ';']).map_or(rest.len(), |next| next + 1);
        let parameter = &rest[1..end];
        rest = &rest[end..];
        if take_parameter(parameter, credentials) {
            lost_first |= mark == '?';
            continue;
        }
        let starts_anew = matches!(mark, '?' | '#');
        kept.push(if lost_first && !starts_anew { '?' } else { mark });
        kept.push_str(parameter);
        lost_first = false;
    }
    if kept.len() == word.len() { word.into() } else { kept.into() }
}

/// Whether the parameter `name=value` is a secret; if so, it is noted.
fn take_parameter(parameter: &str, credentials: &mut Credentials) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    let name = percent_decode_str(name).decode_utf8_lossy();
    let decoded = percent_decode_str(value).decode_utf8_lossy();
    let is_secret = is_secret_value(&name, value) || value.contains('%') && is_secret_value(&name, &decoded);
    if is_secret {
        credentials.are_literal = true;
        credentials.parameters.push(name.into_owned());
    }
    is_secret
}

/// Whether a query parameter has a secret as its value, and no placeholder for one.
pub(in crate::convert::agent_spec) fn is_secret_value(name: &str, value: &str) -> bool {
    !value.is_empty() && !is_placeholders(value) && (is_secret_parameter(name) || is_secret(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out_and_the_rest_stays() {
        for (url, clean) in [
            ("https://joe:pw@host/x", "https://host/x"),
            ("https://joe@host", "https://host"),
            ("https://a@b:pw@host:80/x@y", "https://host:80/x@y"),
            ("//joe:pw@host/x", "//host/x"),
            ("joe:pw@host/x", "host/x"),
            ("pg://joe:pw@h", "pg://h"),
            ("https://host/x?api_key=1&q=2", "https://host/x?q=2"),
            ("https://host/x?q=2&Api%2DKey=1", "https://host/x?q=2"),
            ("https://host/?token=1", "https://host/"),
            ("host/?a=1;token=2&b=3#access_token=4&c=5", "host/?a=1&b=3&c=5"),
            ("https://host/?x=sk-0123456789abcdefghij", "https://host/"),
            ("https://{{ u }}:{{ p }}@host/{{ a b }}", "https://host/{{ a b }}"),
            ("https://host/{{ a }}/x?api_key=1", "https://host/{{ a }}/x"),
            ("https://h/x?next=https://joe:pw@idp/x", "https://h/x?next=https://idp/x"),
            ("https://h/x?next=https%3A%2F%2Fjoe:pw%40idp&q=1", "https://h/x?q=1"),
            ("amqp://h1,amqp://joe:pw@h2/q", "amqp://h1,amqp://h2/q"),
            ("https://proxy/https://joe:pw@host", "https://proxy/https://host"),
            ("jdbc:oracle:thin:joe/pw@//host:1521/x", "jdbc:oracle:thin://host:1521/x"),
            ("jdbc:oracle:thin:joe/pw@name", "jdbc:oracle:thin:name"),
            ("joe/pw@//host/x", "//host/x"),
            ("jdbc:sqlserver://h:1433;user=joe;password=pw;x=1", "jdbc:sqlserver://h:1433;user=joe;x=1"),
            ("https://h/x&password=pw", "https://h/x"),
            ("See https://joe:pw@host/x, or <https://h?sig=9>!", "See https://host/x, or <https://h>!"),
        ] {
            assert_eq!(scrubbed(url), clean);
        }
    }

    #[test]
    fn what_only_looks_like_credentials_stays() {
        for text in [
            "mailto:joe@host",
            "https://host/@joe?q=1&tokens=2",
            "image:tag@sha256:0123",
            "mail joe@host: he knows",
            "a?b=c",
            "{{x}}",
            "ratio = 1:2 @ 3?",
            "https://host/?key=",
            "jdbc:oracle:thin:@//host:1521/x",
            "https://h//@a//b",
            "a;b=c&d",
            "npm i @scope/name@1.2 //x",
        ] {
            assert!(matches!(scrubbed(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn placeholders_for_credentials_are_none() {
        assert!(!has_credentials("https://{{user}}:{{password}}@host/?api_key={{key}}"));
        assert_eq!(scrubbed("https://host/?api_key={{ key }}"), "https://host/?api_key={{ key }}");
        assert!(has_credentials("https://{{user}}:pw@host/"));
        let mut credentials = Credentials::default();
        take_credentials("https://{{u}}@h/?api_key={{k}}&q=1&sig=2", &mut credentials);
        let parameters = vec!["sig".to_owned()];
        assert_eq!(credentials, Credentials { user_info: true, parameters, are_literal: true });
    }
}
