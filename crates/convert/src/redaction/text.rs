//! Detection of credentials within any text.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use memchr::{memchr, memchr_iter};

use super::{
    names::{SHORTEST, Secrecy, is_secret_word, secrecy_of_parameter},
    providers::{Charset, PROVIDERS, Provider},
    rule::Rule,
    words::{is_mixed, is_placeholder, is_random},
};

/// Replacement for a credential in a text. In a URL it is [`REDACTED_IN_URL`], as URLs can't have brackets there.
pub(crate) const REDACTED: &str = "[redacted]";
pub(super) const REDACTED_IN_URL: &str = "redacted";

/// A credential in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) stand_in: &'static str,
    pub(super) rule: Rule,
}

/// By the first byte of a word, which providers' keys may begin there.
static BY_FIRST: LazyLock<Vec<Vec<&'static Provider>>> = LazyLock::new(|| {
    let mut table: Vec<Vec<&'static Provider>> = (0..256).map(|_| Vec::new()).collect();
    for provider in PROVIDERS {
        if let Some(first) = provider.prefix.bytes().next() {
            table[usize::from(first)].push(provider);
        }
    }
    table
});

/// The first two bytes of the words that may be keys or tokens: one bit for each pair.
static BEGINNINGS: [u64; 1024] = {
    let mut bits = [0; 1024];
    let mut pair = 0;
    while pair < 65536 {
        let is_telling = match ((pair / 256) as u8, (pair % 256) as u8) {
            (b'e', b'y') | (b'b', b'o') | (b'B' | b'b', b'A' | b'a' | b'E' | b'e') => true,
            (b'0'..=b'9', second) => second.is_ascii_digit(),
            (b'M' | b'N' | b'O', second) => second.is_ascii_alphanumeric() || matches!(second, b'_' | b'-'),
            _ => false,
        };
        if is_telling {
            bits[pair / 64] |= 1 << (pair % 64);
        }
        pair += 1;
    }
    let mut index = 0;
    while index < PROVIDERS.len() {
        let prefix = PROVIDERS[index].prefix.as_bytes();
        let pair = prefix[0] as usize * 256 + prefix[1] as usize;
        bits[pair / 64] |= 1 << (pair % 64);
        index += 1;
    }
    bits
};

/// A byte is part of a word.
const IN_WORD: u8 = 1;
/// Beside or behind a byte may be a password, a token or a key.
const SIGN: u8 = 2;

/// Roles of each byte in a scan, as a set of bits. Most of a text is nothing but the middle of words.
static ROLES: [u8; 256] = {
    let mut roles = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        if letter.is_ascii_alphanumeric() || letter == b'_' {
            roles[byte] |= IN_WORD;
        }
        if matches!(letter, b'=' | b':' | b'/' | b'-') {
            roles[byte] |= SIGN;
        }
        byte += 1;
    }
    roles
};

fn may_be_key(first: u8, second: u8) -> bool {
    let pair = usize::from(first) * 256 + usize::from(second);
    BEGINNINGS[pair / 64] >> (pair % 64) & 1 == 1
}

/// A text without its credentials.
pub(crate) fn without_credentials(text: &str) -> Cow<'_, str> {
    let found = credentials(text);
    if found.is_empty() { text.into() } else { replaced(text, &found).into() }
}

/// The text with something else in the place of what was found.
pub(super) fn replaced(text: &str, found: &[Found]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for Found { range, stand_in, .. } in found {
        out.push_str(&text[end..range.start]);
        out.push_str(stand_in);
        end = range.end;
    }
    out.push_str(&text[end..]);
    out
}

/// All credentials in a text, in its order, also those that are percent-encoded.
pub(super) fn credentials(text: &str) -> Vec<Found> {
    if text.len() < 8 || text.len() < SHORTEST_TOKEN && !has_separator(text) {
        return Vec::new();
    }
    let found = literal_credentials(text);
    let Some(decoded) = Decoded::of(text) else { return found };
    let encoded = literal_credentials(&decoded.text).into_iter().map(|found| decoded.in_original(found));
    let mut all: Vec<Found> = found.into_iter().chain(encoded).collect();
    all.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
    let mut merged: Vec<Found> = Vec::with_capacity(all.len());
    for found in all {
        match merged.last_mut() {
            Some(last) if found.range.start < last.range.end => last.range.end = last.range.end.max(found.range.end),
            _ => merged.push(found),
        }
    }
    merged
}

/// The shortest credential without a name or a scheme before it, a JSON Web Token.
const SHORTEST_TOKEN: usize = 17;

/// True for a text that may have a name or a scheme in it with what follows them.
fn has_separator(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b':' | b'=' | b' ' | b'%'))
}

/// A text with its percent-encoded ASCII characters decoded (RFC 3986, section 2.1).
struct Decoded {
    text: String,
    /// Positions of the decoded characters.
    decoded: Vec<usize>,
}

impl Decoded {
    /// `None` for a text in which nothing is encoded.
    fn of(text: &str) -> Option<Decoded> {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let code = |at: usize| {
            let [high, low] = text.as_bytes().get(at + 1..at + 3)? else { return None };
            char::from_u32(digit(high)? * 16 + digit(low)?).filter(char::is_ascii)
        };
        let (mut out, mut decoded, mut end) = (String::new(), Vec::new(), 0);
        for at in memchr_iter(b'%', text.as_bytes()) {
            let Some(code) = code(at) else { continue };
            out.push_str(&text[end..at]);
            decoded.push(out.len());
            out.push(code);
            end = at + 3;
        }
        if decoded.is_empty() {
            return None;
        }
        out.push_str(&text[end..]);
        Some(Decoded { text: out, decoded })
    }

    /// The same finding by its range in the original.
    fn in_original(&self, found: Found) -> Found {
        let original = |position: usize| position + 2 * self.decoded.partition_point(|decoded| *decoded < position);
        Found { range: original(found.range.start)..original(found.range.end), ..found }
    }
}

/// The credentials in a text as it is written.
fn literal_credentials(text: &str) -> Vec<Found> {
    let mut finder = Finder { text, found: Vec::new(), end_of_keys: 0, runs: [0; Charset::COUNT], end_of_value: 0 };
    finder.scan();
    let mut found = finder.found;
    if found.is_empty() {
        return found;
    }
    found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
    let mut end = 0;
    found.retain(|found| {
        let is_new = found.range.start >= end;
        end = if is_new { found.range.end } else { end };
        is_new
    });
    found
}

/// Nothing is searched further than that: a long text must not be searched again from each of its words.
const LONGEST_WORD: usize = 512;
/// So much of a value tells whether it is a secret.
const TELLING: usize = 256;

struct Finder<'t> {
    text: &'t str,
    found: Vec<Found>,
    /// End of the last private key.
    end_of_keys: usize,
    /// End of the last run of characters, for each set of them.
    runs: [usize; Charset::COUNT],
    /// End of the last value.
    end_of_value: usize,
}

impl Finder<'_> {
    fn scan(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut position, mut was_word, mut has_colon) = (0, false, false);
        while let Some(byte) = bytes.get(position).copied() {
            let role = ROLES[usize::from(byte)];
            if !was_word && may_be_key(byte, bytes.get(position + 1).copied().unwrap_or_default()) {
                self.word(position, byte);
            }
            if role & SIGN != 0 {
                has_colon |= byte == b':';
                self.sign(position, byte, was_word);
            }
            was_word = role & IN_WORD != 0 || (byte == b'-' && was_word);
            position += 1;
            if was_word {
                // Nothing begins in the middle of a word.
                let rest = bytes[position..].iter();
                position += rest.take_while(|byte| ROLES[usize::from(**byte)] == IN_WORD).count();
            }
        }
        if has_colon {
            self.oracle_login();
        }
    }

    fn sign(&mut self, position: usize, sign: u8, was_word: bool) {
        let bytes = self.text.as_bytes();
        match sign {
            b'=' => self.assignment(position),
            b':' if bytes[position..].starts_with(b"://") => self.user_info(position + 3),
            b':' => self.header(position),
            b'/' if position == 0 && bytes.starts_with(b"//") => self.user_info(2),
            b'-' if !was_word && position >= self.end_of_keys => self.private_key(position),
            _ => {}
        }
    }

    /// Hides a credential that begins here: a key of a provider, a JSON Web Token, the token of a bot, or what follows
    /// the name of a scheme.
    fn word(&mut self, position: usize, first: u8) {
        let rest = &self.text.as_bytes()[position..];
        for provider in &BY_FIRST[usize::from(first)] {
            if !rest.starts_with(provider.prefix.as_bytes()) {
                continue;
            }
            let start = position + provider.prefix.len();
            let length = self.length(start, provider.tail);
            let tail = &self.text[start..start + length.min(TELLING)];
            if length >= provider.min && (!provider.is_ambiguous || is_random(tail)) && !is_placeholder(tail) {
                // What a URL is, stays.
                let start =
                    if provider.prefix.contains('/') && provider.prefix.contains('.') { start } else { position };
                return self.hide(start..position + provider.prefix.len() + length, Rule::Value);
            }
        }
        match first {
            b'e' if rest.starts_with(b"eyJ") => self.web_token(position),
            b'b' if rest.starts_with(b"bot") => self.bot_token(position + 3),
            b'B' | b'b' => self.scheme(position),
            b'0'..=b'9' => self.bot_token(position),
            b'M' | b'N' | b'O' => self.chat_token(position),
            _ => {}
        }
    }

    /// A JSON Web Token: three or five parts (RFC 7519, RFC 7516). Without a second part, three are a signature of something
    /// else (RFC 7515, appendix F).
    fn web_token(&mut self, position: usize) {
        let length = self.length(position, Charset::Dotted);
        let token = self.text[position..position + length].trim_end_matches('.');
        let parts: Vec<&str> = token.splitn(6, '.').collect();
        let is_detached = matches!(parts[..], [_, "", _]);
        let is_token = matches!(parts.len(), 3 | 5)
            && !is_detached
            && parts.first().is_some_and(|header| header.len() >= 10)
            && parts.last().is_some_and(|signature| signature.len() >= 4);
        if is_token {
            self.hide(position..position + token.len(), Rule::Value);
        }
    }

    /// `Bearer` or `Basic` with what looks like a token (RFC 6750, RFC 7617).
    fn scheme(&mut self, position: usize) {
        let begins = |scheme: &str| {
            self.text.get(position..position + scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        let (length, is_basic) = match () {
            () if begins("bearer ") => (7, false),
            () if begins("basic ") => (6, true),
            () => return,
        };
        let start = position + length;
        let length = self.length(start, Charset::Base64);
        let token = &self.text[start..start + length.min(TELLING)];
        let is_token = match is_basic {
            true => is_login_in_base64(token),
            false => token.len() >= 10 && (is_random(token) || token.len() >= 16 && digits(token) >= 3),
        };
        if is_token && !is_placeholder(token) {
            self.hide(start..start + length, Rule::Value);
        }
    }

    /// A token of a Telegram bot: `<number>:AA…`.
    fn bot_token(&mut self, position: usize) {
        let rest = &self.text.as_bytes()[position..];
        let number = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(8..=10).contains(&number) || !rest[number..].starts_with(b":AA") {
            return;
        }
        let length = self.length(position + number + 1, Charset::Word);
        if (33..=40).contains(&length) {
            self.hide(position..position + number + 1 + length, Rule::Value);
        }
    }

    /// A token of a Discord bot: three parts of 24 and more, 6, and 27 and more.
    fn chat_token(&mut self, position: usize) {
        let length = self.length(position, Charset::Dotted);
        let token = &self.text[position..position + length];
        if let [id, time, proof] = token.splitn(4, '.').collect::<Vec<_>>().as_slice()
            && (23..=28).contains(&id.len())
            && time.len() == 6
            && proof.len() >= 27
        {
            self.hide(position..position + length, Rule::Value);
        }
    }

    /// A private key in PEM (RFC 7468).
    fn private_key(&mut self, position: usize) {
        let rest = &self.text[position..];
        let Some(label) = rest.strip_prefix("-----BEGIN ") else { return };
        let Some(end) = label.find("-----").filter(|end| label[..*end].contains("PRIVATE KEY")) else { return };
        let behind = &label[end + 5..];
        let end = behind.find("-----END ").and_then(|start| {
            let label = &behind[start + 9..];
            label.find("-----").map(|end| behind.len() - label.len() + end + 5)
        });
        let end = self.text.len() - behind.len() + end.unwrap_or(behind.len());
        self.end_of_keys = end;
        self.hide(position..end, Rule::Value);
    }

    /// `user:password@` after the slashes of a URL, or a token in the place of the user.
    fn user_info(&mut self, start: usize) {
        let rest = self.beginning(start);
        if memchr(b'@', rest.as_bytes()).is_none() {
            return;
        }
        let ends = |character: char| character.is_whitespace() || "\"<>`\\,".contains(character);
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let authority = &word[..word.find(['/', '?', '#']).unwrap_or(word.len())];
        // A password may have in it what ends an authority, but no port does.
        let is_cut =
            || authority.split_once(':').is_some_and(|(_, port)| port.bytes().any(|byte| !byte.is_ascii_digit()));
        let at = authority.rfind('@').or_else(|| word.find('@').filter(|_| !authority.contains('@') && is_cut()));
        let Some(at) = at else { return };
        let user_info = &word[..at];
        let is_secret = match user_info.split_once(':') {
            Some((_, password)) => {
                let password = percent_encoding::percent_decode_str(password).decode_utf8_lossy();
                !password.is_empty() && !is_placeholder(&password)
            }
            None => user_info.len() >= 16 && is_random(user_info),
        };
        if is_secret {
            self.found.push(Found { range: start..start + at + 1, stand_in: "", rule: Rule::UserInfo });
        }
    }

    /// `user/password@` in an address for Oracle's driver.
    fn oracle_login(&mut self) {
        for (position, scheme) in self.text.match_indices("jdbc:oracle:") {
            let rest = self.beginning(position + scheme.len());
            let Some(login) = rest.split_once('@').map(|(login, _)| login) else { continue };
            let Some((driver, login)) = login.split_once(':').filter(|(_, login)| login.contains('/')) else {
                continue;
            };
            let start = position + scheme.len() + driver.len() + 1;
            if !login.contains(char::is_whitespace) && !is_placeholder(login) {
                let range = start..start + login.len() + 1;
                self.found.push(Found { range, stand_in: "", rule: Rule::UserInfo });
            }
        }
    }

    /// `name=value`, in a query, a connection string or the arguments of a command.
    fn assignment(&mut self, position: usize) {
        // In a program or a settings file, where more than values are assigned.
        if self.text[position + 1..].starts_with(' ') {
            return self.header(position);
        }
        let Some(secrecy) = self.name_before(position).and_then(secrecy_of_parameter) else { return };
        let start = position + 1;
        let start = start + usize::from(self.text[start..].starts_with(['"', '\'']));
        let (value, end) = self.value_at(start);
        let decoded = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
        if is_secret_word(&decoded, secrecy) {
            self.hide(start..end, Rule::Parameter);
        }
    }

    /// `name: value` in a header or in JSON, also in a text of JSON, or `name = value`: prose has colons too, so that the
    /// value has to look random.
    fn header(&mut self, position: usize) {
        if self.text.len() - position <= SHORTEST {
            return;
        }
        let Some(secrecy) = self.name_before(position).and_then(secrecy_of_parameter) else { return };
        let rest = &self.text[position + 1..];
        let start = self.text.len() - rest.trim_start_matches([' ', '"', '\'', '\\']).len();
        let (value, end) = self.value_at(start);
        if is_secret_word(value, secrecy) && is_mixed(value) && (is_random(value) || secrecy == Secrecy::Strong) {
            self.hide(start..end, Rule::Parameter);
        }
    }

    fn name_before(&self, position: usize) -> Option<&str> {
        let before = self.text[..position].trim_end_matches(['"', '\'', ' ', '\\']);
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.%".contains(byte);
        // Longer ones are no names.
        let length = before.bytes().rev().take(100).take_while(is_name).count();
        before.get(before.len() - length..).filter(|name| !name.is_empty())
    }

    /// Returns the beginning of a value, as much as is needed to judge it, and the position of its end.
    fn value_at(&mut self, start: usize) -> (&str, usize) {
        if self.end_of_value <= start {
            let ends = |character: char| character.is_whitespace() || "\"'`&;,<>#)]|".contains(character);
            let rest = &self.text[start..];
            let value = &rest[..rest.find(ends).unwrap_or(rest.len())];
            self.end_of_value = start + value.trim_end_matches(['.', '!', '\\']).len();
        }
        let end = self.end_of_value.max(start);
        (&self.text[start..self.text.floor_char_boundary(end.min(start + TELLING))], end)
    }

    /// Returns the length of the run of characters of this set that begins, or goes on, at a position.
    fn length(&mut self, position: usize, charset: Charset) -> usize {
        let end = &mut self.runs[charset as usize];
        if *end <= position {
            let rest = &self.text.as_bytes()[position..];
            *end = position + rest.iter().take_while(|byte| charset.has(**byte)).count();
        }
        *end - position
    }

    fn beginning(&self, start: usize) -> &str {
        &self.text[start..self.text.floor_char_boundary((start + LONGEST_WORD).min(self.text.len()))]
    }

    fn hide(&mut self, range: Range<usize>, rule: Rule) {
        let before = &self.text[self.text.floor_char_boundary(range.start.saturating_sub(LONGEST_WORD))..range.start];
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_in_url = word.contains("://") || word.contains('?') || word.starts_with('/');
        let stand_in = if is_in_url { REDACTED_IN_URL } else { REDACTED };
        self.found.push(Found { range, stand_in, rule });
    }
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// True if a text is `user:password` in base64.
fn is_login_in_base64(text: &str) -> bool {
    let text = text.trim_end_matches('=');
    let mut login = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            login.push((bits >> count & 0xff) as u8);
        }
    }
    let is_login = |login: &str| login.contains(':') && !login.contains(char::is_control);
    text.len() >= 6 && str::from_utf8(&login).is_ok_and(is_login)
}
