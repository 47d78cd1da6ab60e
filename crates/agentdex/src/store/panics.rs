//! Panics of sled about unexpected files. They are caught and converted to errors.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
};

thread_local! {
    /// Number of active calls on this thread that catch panics.
    static CATCHING: Cell<usize> = const { Cell::new(0) };
}

/// Number of stores being opened, during which threads of sled may panic as well.
static OPENING: AtomicUsize = AtomicUsize::new(0);

/// True while a panic of this thread would be caught and reported, so a panic hook need not report it.
pub fn is_caught() -> bool {
    CATCHING.get() > 0 || OPENING.load(Ordering::Acquire) > 0
}

/// The result of a read, or the text of its panic.
pub(super) fn caught<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    CATCHING.set(CATCHING.get() + 1);
    let read = catch_unwind(AssertUnwindSafe(read));
    CATCHING.set(CATCHING.get() - 1);
    read.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        format!("sled panicked: {}", text.unwrap_or("no message"))
    })
}

/// Catches panics while a store is opened, including panics on sled's threads.
pub(super) fn caught_opening<T>(open: impl FnOnce() -> T) -> Result<T, String> {
    OPENING.fetch_add(1, Ordering::AcqRel);
    let opened = caught(open);
    OPENING.fetch_sub(1, Ordering::AcqRel);
    opened
}
