//! Names of secret values, recognized by their last words: `access_token` is one, but `token_limit` is not.

use std::borrow::Cow;

use super::words::{Words, is_choice, is_location, is_mechanism, is_mixed, is_number, is_placeholder, is_random};

/// The strength of a name's hint that its value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// The value is hardly anything else.
    Strong,
    /// The value may as well be something harmless: it has to look like a secret too.
    Weak,
    /// The value is mostly something harmless: it has to look random.
    Vague,
}

/// Last words of names that say it by themselves.
static STRONG: Words = Words::of(
    "\
    passwort kennwort password passwd passphrase passcode pwd secret secrets passwords apikey apikeys authtoken \
    accesstoken refreshtoken bearertoken accesskey secretkey privatekey authkey clientsecret connectionstring \
    apitoken authorization",
);
/// Before `key` or `token` they say it.
static QUALIFIERS: Words = Words::of(
    "\
    api access private secret auth account subscription signing encryption shared master service ssh deploy refresh \
    bearer session security bot webhook license storage admin authentication authorization personal github openai \
    connection aws",
);
/// Last words that may say it.
static WEAK: Words = Words::of(
    "\
    key keys token tokens auth bearer cookie cookies session jwt pat pin credential credentials pass dsn sas",
);
/// Those of them that most other things are called too.
const VAGUE: [&str; 3] = ["key", "keys", "session"];
/// Last words that only say in what form a value is there.
const FORMS: [&str; 4] = ["value", "base64", "b64", "plaintext"];
/// Last words of names that may say it of a parameter: elsewhere signatures are there to be seen.
const OF_PARAMETERS: [&str; 4] = ["sig", "signature", "sid", "hmac"];
/// Before `key`, `token` and the like they say that it is none.
static HARMLESS: Words = Words::of(
    "\
    public primary foreign sort partition cache idempotency object routing group row composite index unique lookup \
    config dictionary json hash map translation eos bos pad unk sep cls mask stop special per max min next page \
    continuation pagination sync answer shortcut hot input output suppress bad thumbnail",
);

/// Last three letters of all words above that the name of a secret may end with. Most names end otherwise and need no
/// further check.
const ENDS: [&[u8; 3]; 33] = [
    b"ort", b"lue", b"ext", b"ord", b"swd", b"ase", b"ode", b"pwd", b"ret", b"ets", b"rds", b"key", b"eys", b"ken",
    b"ens", b"ing", b"ion", b"uth", b"rer", b"kie", b"ies", b"jwt", b"pat", b"pin", b"ial", b"als", b"ass", b"dsn",
    b"sas", b"sig", b"ure", b"sid", b"mac",
];

/// The same as a set: five bits for each letter.
static END_SET: [u64; 512] = {
    let mut bits = [0; 512];
    let mut index = 0;
    while index < ENDS.len() {
        let place = place_of(ENDS[index]);
        bits[place / 64] |= 1 << (place % 64);
        index += 1;
    }
    bits
};

const fn place_of(end: &[u8; 3]) -> usize {
    ((end[0] & 31) as usize) << 10 | ((end[1] & 31) as usize) << 5 | (end[2] & 31) as usize
}

/// True if the last word of a name may be one that says something.
fn may_say_something(name: &str) -> bool {
    let name = name.trim_end_matches(|character: char| !character.is_alphabetic()).as_bytes();
    let Some(end) = name.last_chunk::<3>() else { return false };
    // What isn't plain letters is read as a whole.
    !end.iter().all(u8::is_ascii_alphabetic) || END_SET[place_of(end) / 64] >> (place_of(end) % 64) & 1 == 1
}

/// Returns the secrecy that a name suggests for its value, if any.
pub(crate) fn secrecy_of(name: &str) -> Option<Secrecy> {
    if !may_say_something(name) {
        return None;
    }
    let (before, last) = last_words(without_form(name));
    let last = &*last;
    if STRONG.contain(last)
        || ["password", "passwd", "passphrase", "apikey", "clientsecret"].iter().any(|end| last.ends_with(end))
    {
        return Some(Secrecy::Strong);
    }
    let is_key = matches!(last, "key" | "keys" | "token" | "tokens" | "string");
    let is_qualified = || if last == "string" { before == "connection" } else { QUALIFIERS.contain(&before) };
    if is_key && is_qualified() {
        return Some(Secrecy::Strong);
    }
    let is_weak = WEAK.contain(last) || ["token", "pwd"].iter().any(|end| last.ends_with(end));
    let secrecy = if VAGUE.contains(&last) { Secrecy::Vague } else { Secrecy::Weak };
    (is_weak && !HARMLESS.contain(&before)).then_some(secrecy)
}

/// The name without a last word that only says in what form or version the value is there.
fn without_form(name: &str) -> &str {
    let Some((start, last)) = name.rsplit_once(['_', '-', '.', ' ']) else { return name };
    let is_version =
        last.strip_prefix(['v', 'V']).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    if is_version || FORMS.iter().any(|form| form.eq_ignore_ascii_case(last)) { start } else { name }
}

/// Returns the secrecy that the name of a parameter in a text suggests for its value, if any.
pub(super) fn secrecy_of_parameter(name: &str) -> Option<Secrecy> {
    let is_of_parameter = || may_say_something(name) && OF_PARAMETERS.contains(&&*last_words(name).1);
    secrecy_of(name).or_else(|| is_of_parameter().then_some(Secrecy::Weak))
}

/// The last word of a name and the one before it, in lower case.
fn last_words(name: &str) -> (Cow<'_, str>, Cow<'_, str>) {
    if name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return ("".into(), name.into());
    }
    let (mut before, mut last) = (String::new(), String::new());
    let (mut is_over, mut was_lower, mut was_upper) = (false, false, false);
    let characters: Vec<char> = name.chars().filter(|character| *character != '\u{feff}').collect();
    for (index, character) in characters.iter().copied().enumerate() {
        if !character.is_alphanumeric() {
            is_over = true;
            continue;
        }
        let is_upper = character.is_uppercase();
        let next_is_lower = characters.get(index + 1).is_some_and(|next| next.is_lowercase());
        let begins = is_over || is_upper && (was_lower || was_upper && next_is_lower);
        if begins && !last.is_empty() {
            before = std::mem::take(&mut last);
        }
        // A number at the end counts keys.
        if !character.is_numeric() || !last.is_empty() && !is_over {
            last.extend(character.to_lowercase());
        } else if is_over && last.is_empty() && !before.is_empty() {
            last = std::mem::take(&mut before);
        }
        (is_over, was_lower, was_upper) = (false, !is_upper, is_upper);
    }
    let trimmed = last.trim_end_matches(|character: char| character.is_numeric()).len();
    last.truncate(trimmed);
    (before.into(), last.into())
}

/// The shortest value that counts.
pub(super) const SHORTEST: usize = 8;

/// True if a value under a name that says so is a secret: one word of eight characters or more that is no
/// number, URL, placeholder, path or choice.
pub(crate) fn is_secret_word(word: &str, secrecy: Secrecy) -> bool {
    let word = word.trim();
    if word.len() < SHORTEST || word.contains(char::is_whitespace) {
        return false;
    }
    if is_placeholder(word) || is_number(word) || is_location(word) || is_choice(word) {
        return false;
    }
    let is_login = || word.split_once(':').is_some_and(|(user, password)| !user.is_empty() && password.len() >= 4);
    let is_long = || word.len() >= 24 && !word.contains(['-', '_', '.', ':']);
    match secrecy {
        Secrecy::Strong => true,
        Secrecy::Weak => is_mixed(word) && !is_mechanism(word) || is_login() || is_long(),
        Secrecy::Vague => is_random(word) || is_long(),
    }
}

/// True if a value under a name that says so is a secret behind the name of what it is, as in `ApiKey …`.
pub(super) fn is_named_secret(text: &str) -> bool {
    let named = text.trim().split_once(' ').filter(|(scheme, _)| secrecy_of(scheme).is_some());
    named.is_some_and(|(_, secret)| is_random(secret) && is_secret_word(secret, Secrecy::Strong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_that_says_something_ends_as_one_of_them() {
        let words = STRONG.list.split(' ').chain(WEAK.list.split(' ')).chain(OF_PARAMETERS).chain(["string"]);
        assert!(words.into_iter().all(may_say_something));
        assert!(may_say_something("API_KEY_2") && may_say_something("Schlüssel-key") && may_say_something("k_1ey"));
        assert!(!may_say_something("system_prompt") && !may_say_something("url") && !may_say_something(""));
    }

    #[test]
    fn names_are_known_by_their_last_words() {
        for name in [
            "password",
            "db_password",
            "apiKey",
            "API-KEY",
            "x-api-key",
            "openai_key",
            "openai_api_key",
            "client_secret",
            "githubToken",
            "access_token",
            "AUTHORIZATION",
            "aws_secret_access_key",
            "userPassword",
            "pwd",
            "privateKey",
            "connectionString",
            "APIKey2",
            "token",
            "auth",
            "key",
            "session",
        ] {
            assert!(secrecy_of(name).is_some(), "{name}");
        }
        for name in [
            "max_tokens",
            "token_endpoint",
            "token_limit",
            "author",
            "name",
            "eos_token",
            "password_policy",
            "keywords",
            "monkey",
            "compass",
            "secret_name",
            "path",
            "credentials_provider",
            "public_key",
            "sort_key",
            "token_endpoint_auth_method",
            "next_page_token",
            "cost_per_token",
            "primaryKey",
            "",
        ] {
            assert_eq!(secrecy_of(name), None, "{name}");
        }
        assert_eq!((secrecy_of("signature"), secrecy_of_parameter("X-Amz-Signature")), (None, Some(Secrecy::Weak)));
        assert_eq!(secrecy_of("token"), Some(Secrecy::Weak));
        assert_eq!(secrecy_of("bot_token"), Some(Secrecy::Strong));
    }
}
