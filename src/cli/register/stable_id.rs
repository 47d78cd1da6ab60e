//! The id of a document that has none: the same each time the same file is registered.

use std::{fs, path::Path};

use uuid::Uuid;

use crate::cli::document;

/// A UUID (RFC 9562, version 5) of the file's URL with the name of this computer; none for standard input, and where
/// the path can't be told.
pub(super) fn of_file(path: &Path) -> Option<String> {
    if document::is_standard_input(path) {
        return None;
    }
    let path = fs::canonicalize(path).ok()?;
    let computer = rustix::system::uname();
    let url = format!("file://{}{}", computer.nodename().to_string_lossy(), path.display());
    Some(Uuid::new_v5(&Uuid::NAMESPACE_URL, url.as_bytes()).urn().to_string())
}

/// An id that nothing has.
pub(super) fn another() -> String {
    Uuid::new_v4().urn().to_string()
}
