//! Classification of single words: random, a placeholder, a path, a word of some language.

use std::{collections::HashSet, sync::OnceLock};

/// Words, written as a list.
pub(super) struct Words {
    pub(super) list: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Words {
    pub(super) const fn of(list: &'static str) -> Words {
        Words { list, set: OnceLock::new() }
    }

    /// True if a word is one of them.
    pub(super) fn contain(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.list.split(' ').collect()).contains(word)
    }
}

/// True if a word looks like something that a machine made up, not like words with signs between them.
pub(super) fn is_random(word: &str) -> bool {
    let pieces = word.split(|character: char| !character.is_ascii_alphanumeric());
    pieces.into_iter().any(|piece| {
        let count = |is: fn(&u8) -> bool| piece.bytes().filter(is).count();
        let digits = count(u8::is_ascii_digit);
        let letters = piece.len() - digits;
        let capitals = count(u8::is_ascii_uppercase);
        let is_mixed = letters >= 1 && digits >= 2;
        let is_odd_case = capitals >= 2 && letters - capitals >= 2 && changes_of_case(piece) >= 3;
        match piece.len() {
            0..8 => false,
            8..20 => is_mixed || is_odd_case && piece.len() >= 12 && digits >= 1,
            _ => true,
        }
    })
}

fn changes_of_case(word: &str) -> usize {
    let pairs = word.as_bytes().windows(2);
    pairs.filter(|pair| matches!(pair, [a, b] if a.is_ascii_uppercase() && b.is_ascii_lowercase())).count()
}

/// True if a word has letters and digits in it, as somebody's password has and a word of a language hasn't.
pub(super) fn is_mixed(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// True if a text is empty or made of `{{x}}`, `${x}` and the like, with no more than the name of a scheme beside.
pub(crate) fn is_template(text: &str) -> bool {
    let literal = without_templates(text);
    text.is_empty() || literal.len() < text.len() && has_no_secret(&literal)
}

fn has_no_secret(literal: &str) -> bool {
    let is_said = |word: &str| word.len() >= 8 && is_mixed(word);
    !literal.split(|character: char| !character.is_ascii_alphanumeric()).any(is_said)
}

/// True if a text only says where a value goes, or is one that nobody means.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let text = text.trim().trim_matches(['"', '\'']);
    if text.is_empty() {
        return true;
    }
    let literal = without_templates(text);
    if literal.len() < text.len() {
        return has_no_secret(&literal);
    }
    let lower = text.to_ascii_lowercase();
    let is_one_sign = text.bytes().all(|byte| byte.eq_ignore_ascii_case(&text.as_bytes()[0]));
    let is_filler = text.chars().all(|character| "xX*.•-_#?".contains(character));
    const BEGINS: &str = "\
        your my- my_ insert replace change enter example dummy fake sample placeholder todo redacted [redacted < \
        env: env. env/ os.environ process.env vault: secret: secrets. secretref ref: op:// keyring: file: \
        @microsoft.keyvault";
    const HOLDS: &str = "\
        your- your_ -here _here xxxx **** .... placeholder redacted changeme not-needed not_needed no-key \
        none-needed example";
    is_one_sign
        || is_filler
        || BEGINS.split(' ').any(|start| lower.starts_with(start))
        || HOLDS.split(' ').any(|part| lower.contains(part))
        || is_variable(text)
}

/// The text without `{{x}}`, `${x}`, `{x}`, `<x>`, `%x%`, `$X`.
fn without_templates(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['{', '<', '%', '$']) {
        literal.push_str(&rest[..start]);
        let from = &rest[start..];
        let end = match from.as_bytes() {
            [b'$', b'{', ..] | [b'{', ..] => closing(from, '{', '}'),
            [b'<', ..] => from.find('>').map(|end| end + 1),
            [b'$', b'(', ..] => from.find(')').map(|end| end + 1),
            [b'$', next, ..] if next.is_ascii_alphabetic() || *next == b'_' => {
                let name = |character: char| !(character.is_ascii_alphanumeric() || character == '_');
                Some(1 + from[1..].find(name).unwrap_or(from.len() - 1))
            }
            [b'%', ..] => {
                let name = from[1..].find('%').map(|end| (&from[1..=end], end + 2));
                name.filter(|(name, _)| !name.is_empty() && is_variable(name)).map(|(_, end)| end)
            }
            _ => None,
        };
        let Some(end) = end else {
            literal.push_str(&from[..1]);
            rest = &from[1..];
            continue;
        };
        rest = &from[end..];
    }
    literal.push_str(rest);
    literal
}

fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (index, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return Some(index + 1);
            }
        }
    }
    None
}

/// True if this is how variables of an environment are written: `OPENAI_API_KEY`.
fn is_variable(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    text.contains('_')
        && text.bytes().all(is_name)
        && text.split('_').all(|piece| piece.len() < 16 && piece.bytes().filter(u8::is_ascii_digit).count() <= 2)
}

/// True if a word is where something is: a path, a file, an address without a password, a name with a scheme.
pub(super) fn is_location(word: &str) -> bool {
    const SCHEMES: &str = "\
        urn: did: mailto: tel: data: arn: spiffe: file: projects/ acct: sha256: sha256- sha512- sha384-";
    const FILES: [&str; 20] = [
        ".pem", ".key", ".crt", ".cer", ".p12", ".pfx", ".jks", ".json", ".yaml", ".yml", ".toml", ".ini", ".txt",
        ".env", ".pub", ".cfg", ".conf", ".log", ".db", ".gpg",
    ];
    let lower = word.to_ascii_lowercase();
    let is_path = ["/", "./", "../", "~/", "\\\\"].iter().any(|start| word.starts_with(start))
        || word.as_bytes().get(1..3) == Some(b":\\");
    let is_wordy = |piece: &str| !is_random(piece) && piece.len() < 30;
    let is_list_of_words = word.contains('/') && !word.contains(['+', '=']) && word.split('/').all(is_wordy);
    let is_address = word.split_once('@').is_some_and(|(name, host)| {
        !name.contains(':') && host.contains('.') && host.split('.').all(|part| !part.is_empty())
    });
    let is_host = word.contains('.')
        && word.split(['.', ':']).all(|part| !part.is_empty() && !is_mixed(part))
        && !word.contains(|character: char| !(character.is_ascii_alphanumeric() || ".-_:".contains(character)));
    let is_contract = || {
        word.strip_prefix("0x").is_some_and(|hex| hex.len() == 40 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    lower.contains("://")
        || is_contract()
        || SCHEMES.split(' ').any(|scheme| lower.starts_with(scheme))
        || FILES.iter().any(|file| lower.ends_with(file))
        || is_path
        || is_list_of_words
        || is_address
        || is_host
}

/// True if a word is a number, a date or a version.
pub(super) fn is_number(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || b".,:-+_eETZ%/".contains(&byte);
    word.bytes().all(is_part) && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// True if a word names one of a few ways to do something, such as `client_secret_basic`.
pub(super) fn is_choice(word: &str) -> bool {
    static WORDS: Words = Words::of(
        "\
        access account always anonymous api apikey app application assertion auth authenticated authentication \
        authorization auto automatic aws azure basic bearer bot certificate client code configured cookie credential \
        credentials custom default delegated device digest disabled enabled encrypted environment external form gcp \
        hashed header hidden identity implicit include inherited internal jwt key keychain keyring managed manager \
        mtls mutual none not oauth omit optional password post private provided public query required same secret \
        secrets service session token user vault pkce oidc saml ldap kerberos ntlm hmac sha rsa sigv scram totp \
        webauthn",
    );
    let lower = word.to_ascii_lowercase();
    let pieces = || lower.split(|character: char| !character.is_ascii_alphabetic());
    pieces().all(|piece| piece.len() < 3 || WORDS.contain(piece)) && pieces().any(|piece| WORDS.contain(piece))
}

/// True if a word names a way to sign in after whom one signs in with, such as `google-oauth2`.
pub(super) fn is_mechanism(word: &str) -> bool {
    const MECHANISMS: [&str; 10] =
        ["auth", "oauth", "oidc", "saml", "ldap", "kerberos", "ntlm", "scram", "totp", "webauthn"];
    let lower = word.to_ascii_lowercase();
    let is_known = |piece: &str| MECHANISMS.contains(&piece.trim_end_matches(|end: char| end.is_ascii_digit()));
    let mut pieces = lower.split(['-', '_', '.', '+', '/']);
    pieces.clone().any(is_known)
        && pieces.all(|piece| is_known(piece) || piece.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        for word in ["0123456789abcdef", "AbCdEfGhIjKlMnOpQrStUv", "a-b1c2d3e4f5", "abcdefghijklmnopqrstuvw"] {
            assert!(is_random(word), "{word}");
        }
        for word in ["learn-contrib-hdbscan", "gpt-4o-mini-2024-07-18", "weather", "v2-beta"] {
            assert!(!is_random(word), "{word}");
        }
        for text in ["{{x}}", "Bearer {{ token }}", "${API_KEY}", "$TOKEN", "<your-key>", "OPENAI_API_KEY", "********"]
        {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["hunter2hunter2", "A1B2C3D4E5", "{{user}}:s3cr3tpassw0rd"] {
            assert!(!is_placeholder(text), "{text}");
        }
        for word in ["/etc/keys/a.pem", "~/.oci/config", "reports/2025.pdf", "https://h/x", "joe@example.com", "a.b.c"]
        {
            assert!(is_location(word), "{word}");
        }
        assert!(is_number("2025-01-31T10:00:00Z") && is_number("0.00002") && !is_number("e-mail"));
        assert!(is_mechanism("google-oauth2") && is_mechanism("Auth0_Social"));
        assert!(!is_mechanism("google") && !is_mechanism("oauth2:hunter2") && !is_mechanism("oauth2-k1k2k3"));
        assert!(is_choice("client_secret_basic") && !is_choice("correct-horse") && !is_choice("k1k2k3k4"));
    }
}
