//! Keys of saved queries: a query is found by its owner and its name.

use crate::{Error, Result, access::Owner};

/// The longest name of a query in bytes.
const MAX_NAME_BYTES: usize = 128;

/// The key of a saved query; the order is that of lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::registry) struct Key {
    pub name: String,
    pub owner: Option<Owner>,
}

/// Checks the name of a query that is saved.
///
/// # Errors
/// [`Error::InvalidQuery`]
pub(in crate::registry) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    // A path of dots is another path.
    if name.is_empty() || name.starts_with('.') || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
        let message = format!(
            "the name of a query must consist of 1 to {MAX_NAME_BYTES} ASCII letters, digits, or - _ . ~, and \
             must not start with a dot"
        );
        return Err(Error::InvalidQuery { message });
    }
    Ok(())
}
