//! Errors of an index, and whether a retry can help.

use std::io;

use tantivy::{
    TantivyError,
    directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError},
};

use crate::{Error, error::BoxError};

/// Returns a converter of errors that names the failed operation.
pub(super) fn index_error<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Error {
    move |source| Error::Index { doing, source: source.into() }
}

/// True if an index couldn't be read for a reason that lies outside of it, such as too many open files:
/// its files may be whole, and must not be thrown away.
pub(super) fn is_outside(error: &TantivyError) -> bool {
    match error {
        TantivyError::LockFailure(..) | TantivyError::SystemError(_) => true,
        TantivyError::IoError(error)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: error, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: error, .. }) => is_outside_io(error),
        _ => false,
    }
}

/// True if the error may be caused by damage: it is a failure of the index itself, not of the system.
pub fn may_be_damage(error: &Error) -> bool {
    let Error::Index { source, .. } = error else { return false };
    !source.downcast_ref::<TantivyError>().is_some_and(is_outside)
}

/// True if an error of a system call has an external cause. A missing or truncated file is damage; other errors of
/// the system are external.
pub(super) fn is_outside_io(error: &io::Error) -> bool {
    error.raw_os_error().is_some() && error.kind() != io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use super::*;

    #[test]
    fn too_many_open_files_are_no_damage() {
        let wrapped = |error: io::Error| {
            TantivyError::from(OpenReadError::IoError { io_error: Arc::new(error), filepath: "x".into() })
        };
        let too_many = io::Error::from_raw_os_error(24);
        assert!(is_outside(&wrapped(too_many)) && is_outside(&TantivyError::from(io::Error::from_raw_os_error(28))));
        assert!(!is_outside(&wrapped(io::ErrorKind::UnexpectedEof.into())));
        assert!(!is_outside(&OpenReadError::FileDoesNotExist(Path::new("x").into()).into()));
    }
}
