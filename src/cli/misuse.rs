//! Wrong use of a command: a value that an option can't have, or options that don't go together. The exit status is 2.

use std::{fmt, io};

use super::error_message::causes;
use agentdex::fetch;
use agentdex_client as client;

/// The exit status of a command that was called wrongly.
pub(super) const STATUS: u8 = 2;

/// Codes of problems that a registry has with a value from the command line.
const CODES: [&str; 2] = ["invalid-parameter", "invalid-query"];

/// An error that another command line would avoid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misuse(String);

/// Creates an error about a value or an option.
pub(super) fn misuse(message: impl fmt::Display) -> anyhow::Error {
    Misuse(message.to_string()).into()
}

/// Marks an error about settings as a wrong use, unless a file couldn't be read.
pub(super) fn of_settings(error: anyhow::Error) -> anyhow::Error {
    match error.chain().any(|cause| cause.is::<io::Error>()) {
        true => error,
        false => misuse(causes(&error)),
    }
}

/// True if an error is about the command line rather than about what the command did.
pub(super) fn is_misuse(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<Misuse>()
            || matches!(
                cause.downcast_ref(),
                Some(
                    client::Error::InvalidUrl { .. }
                        | client::Error::InvalidApiKey
                        | client::Error::InvalidCertificate { .. }
                )
            )
            || matches!(cause.downcast_ref(), Some(client::Error::Refused(problem)) if CODES.contains(&&*problem.code))
            || matches!(cause.downcast_ref(), Some(agentdex::Error::InvalidSetting { .. }))
            || matches!(cause.downcast_ref(), Some(fetch::Error::InvalidSetting { .. }))
    })
}
