//! Warnings about options of connections that calls don't use, such as timeouts.

use serde_json::{Map, Value};

use super::{
    authentication,
    schema::{DECLARED, SERVER, SPELLINGS, TYPE},
};
use crate::{
    shape::{self, Findings},
    td::internal::Path,
};

type Object = Map<String, Value>;

/// Parts of the names of options, in lower case and without separators.
const OPTIONS: [&str; 9] =
    ["timeout", "verify", "insecure", "rejectunauthorized", "proxy", "cacert", "cafile", "clientcert", "keyfile"];
/// Starts or ends of the names of options.
const AFFIXES: [&str; 2] = ["ssl", "tls"];
/// Settings of a client that don't change how it calls a server.
const OF_CLIENT: [&str; 6] = ["disabled", "enabled", "autoApprove", "alwaysAllow", "trust", "gallery"];

/// Warns of options of an endpoint, or of a document with one.
pub(super) fn warn_of_options(owner: &Object, path: &Path<'_>, findings: &mut Findings) {
    warn(owner, path, findings, is_option);
}

/// Warns of unused members in the configuration of a server.
pub(super) fn warn_of_unused(configured: &Object, path: &Path<'_>, findings: &mut Findings) {
    let is_spelling = |name: &str| SPELLINGS.iter().any(|(_, others)| others.contains(&name));
    let is_used = |name: &str| {
        shape::knows(SERVER, name)
            || is_spelling(name)
            || authentication::is_read(name)
            || [&OF_CLIENT[..], &DECLARED, &TYPE].iter().any(|names| names.contains(&name))
    };
    warn(configured, path, findings, |name| !is_used(name));
}

fn warn(owner: &Object, path: &Path<'_>, findings: &mut Findings, is_unused: impl Fn(&str) -> bool) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    for (name, _) in owner.iter().filter(|(name, value)| !is_empty(value) && is_unused(name)) {
        findings.add(&path.member(name), "option-unused", || format!("`{name}` is not used when the server is called"));
    }
}

fn is_option(name: &str) -> bool {
    let plain = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    let plain: String = plain.take(64).collect();
    OPTIONS.iter().any(|option| plain.contains(option))
        || AFFIXES.iter().any(|name| plain.starts_with(name) || plain.ends_with(name))
}
