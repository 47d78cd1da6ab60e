//! Names and values that look like secrets, where no table says what they are.

use std::borrow::Cow;

/// What a name holds whose value is a secret; compared without case and separators.
const SECRET_PARTS: [&str; 25] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "authkey",
    "accountkey",
    "subscriptionkey",
    "signingkey",
    "encryptionkey",
    "sharedkey",
    "masterkey",
    "servicekey",
    "sshkey",
    "authorization",
    "authtoken",
    "bearer",
    "cookie",
    "connectionstring",
    "sessionid",
    "jsonwebtoken",
];
/// How such a name ends.
const SECRET_ENDS: [&str; 4] = ["token", "pwd", "pass", "jwt"];
/// Such names that are too short to be looked for in others, or end like harmless ones.
const SECRET_NAMES: [&str; 3] = ["pat", "pin", "authorizationheader"];
/// How names end of what has secrets by any name.
const SECRET_OBJECTS: [&str; 5] = ["headers", "env", "environment", "envvars", "environmentvariables"];
/// How names begin of tokens that are parts of texts.
const TEXT_TOKENS: [&str; 4] = ["stop", "special", "suppress", "bad"];
/// How a name ends that tells something about a secret and isn't one.
const HARMLESS_ENDS: [&str; 22] = [
    "endpoint",
    "url",
    "uri",
    "type",
    "method",
    "name",
    "policy",
    "scope",
    "scopes",
    "limit",
    "count",
    "length",
    "size",
    "ttl",
    "expiry",
    "required",
    "enabled",
    "header",
    "format",
    "description",
    "bypass",
    "compass",
];
/// Names of query parameters that are no secrets elsewhere.
const SECRET_PARAMETERS: [&str; 10] =
    ["key", "sig", "signature", "auth", "sas", "sid", "session", "code", "hmac", "access"];
/// How keys and tokens of well-known services begin.
const SECRET_PREFIXES: [&str; 20] = [
    "sk-",
    "sk_",
    "pk_live_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "eyJ",
    "Bearer ",
    "Basic ",
];

/// Whether a member of that name holds a secret.
pub(in crate::convert) fn is_secret_name(name: &str) -> bool {
    let name = squashed(name);
    let is_secret =
        SECRET_PARTS.iter().any(|part| name.contains(part)) || SECRET_ENDS.iter().any(|end| name.ends_with(end));
    is_secret && !HARMLESS_ENDS.iter().any(|end| name.ends_with(end)) || SECRET_NAMES.contains(&name.as_ref())
}

/// Whether the members of an object of that name are secrets, whatever they are called: headers or an
/// environment.
pub(in crate::convert) fn is_object_of_secrets(name: &str) -> bool {
    let name = squashed(name);
    SECRET_OBJECTS.iter().any(|end| name.ends_with(end))
}

/// Whether texts in something of that name are secrets. Numbers of tokens are none.
pub(in crate::convert) fn is_secret_list(name: &str) -> bool {
    let name = squashed(name);
    name.ends_with("tokens") && !TEXT_TOKENS.iter().any(|start| name.starts_with(start))
}

/// Whether a query parameter of that name holds a secret.
pub(in crate::convert) fn is_secret_parameter(name: &str) -> bool {
    let squashed = squashed(name);
    // Signed URLs carry the service's prefix: `X-Amz-Signature`.
    is_secret_name(name) || SECRET_PARAMETERS.contains(&squashed.as_ref()) || squashed.ends_with("signature")
}

/// Whether a text is a key or token, whatever it is called.
pub(in crate::convert) fn is_secret_text(text: &str) -> bool {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY") {
        return true;
    }
    // Prose has more spaces than the one behind the name of a scheme.
    let is_token = text.len() >= 20 && !text.split(' ').skip(1).any(|word| word.len() < 8);
    is_token && SECRET_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// A name without case and separators.
fn squashed(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        return name.into();
    }
    let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    letters.collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_those_that_only_mention_them() {
        for name in [
            "password",
            "db_password",
            "apiKey",
            "API-KEY",
            "x-api-key",
            "openai_api_key",
            "client_secret",
            "token",
            "githubToken",
            "access_token",
            "AUTHORIZATION",
            "Cookie",
            "aws_secret_access_key",
            "credentials",
            "pwd",
            "private_key",
            "connectionString",
            "DB_PASS",
            "authorization_header",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "max_tokens",
            "token_endpoint",
            "token_limit",
            "authorization_endpoint",
            "author",
            "key",
            "name",
            "tokens",
            "token_endpoint_auth_method",
            "password_policy",
            "keywords",
            "monkey",
            "compass",
            "secret_name",
            "path",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
        for name in ["headers", "Default-Headers", "extra_headers", "env", "env_vars", "environmentVariables"] {
            assert!(is_object_of_secrets(name), "{name}");
        }
        for name in ["header", "envelope", "environment_name", "event"] {
            assert!(!is_object_of_secrets(name), "{name}");
        }
        assert!(is_secret_list("access_tokens") && !is_secret_list("stop_tokens"));
        assert!(is_secret_parameter("key") && is_secret_parameter("access_token"));
        assert!(
            is_secret_parameter("X-Amz-Signature")
                && is_secret_parameter("X-Goog-Signature")
                && !is_secret_parameter("q")
        );
    }

    #[test]
    fn tokens_are_known_by_how_they_begin() {
        for text in [
            "sk-proj-0123456789abcdef0123",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
            "Bearer 0123456789abcdef",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        ] {
            assert!(is_secret_text(text), "{text}");
        }
        for text in ["sk-short", "Basic weather questions are answered here", "AKIA", "a sentence about keys"] {
            assert!(!is_secret_text(text), "{text}");
        }
    }
}
