//! Encoded forms of a change, each created by the first reader that needs it and shared with all others.
//!
//! A change doesn't know its encodings: a reader names a slot and provides the rendering. The total size of the
//! renditions of cached changes is limited by a budget of the cache. If the budget is exhausted, a reader doesn't
//! share its rendition.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Number of slots in a change.
const SLOTS: usize = 8;

/// Slot in which each change stores one of its encodings.
#[derive(Debug)]
pub struct Slot<T> {
    index: usize,
    /// About how many bytes of memory a rendition takes.
    bytes: fn(&T) -> usize,
}

impl<T> Slot<T> {
    /// Creates a slot with a number, and a function for the size of its renditions in bytes. Event streams use 0 and
    /// 1, MQTT uses 2 to 7.
    pub const fn numbered(index: usize, bytes: fn(&T) -> usize) -> Slot<T> {
        assert!(index < SLOTS, "there are no more slots");
        Slot { index, bytes }
    }
}

/// The memory budget of a cache: bytes that its changes and their renditions take, and the maximum.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    /// Creates a budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Budget> {
        Arc::new(Budget { limit, used: AtomicUsize::new(0) })
    }

    /// True if less than a quarter is left, so space for the renditions of further changes should be freed.
    pub fn is_short(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit / 4 * 3
    }

    /// Counts bytes without checking the limit.
    pub fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Releases bytes.
    pub fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn reserve(&self, bytes: usize) -> bool {
        let reserved = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserved).is_ok()
    }
}

/// Renditions of a change.
#[derive(Default)]
pub(super) struct Renditions {
    slots: [OnceLock<Arc<dyn Any + Send + Sync>>; SLOTS],
    account: Mutex<Account>,
}

/// Size of the renditions in bytes, with their budget.
#[derive(Default)]
struct Account {
    budget: Option<Arc<Budget>>,
    bytes: usize,
}

impl Renditions {
    /// Starts counting the renditions against the budget of a cache.
    pub fn join(&self, budget: &Arc<Budget>) {
        let mut account = self.account();
        budget.add(account.bytes);
        account.budget = Some(budget.clone());
    }

    /// Stops counting the renditions, since the change has left the cache.
    pub fn leave(&self) {
        let mut account = self.account();
        if let Some(budget) = account.budget.take() {
            budget.release(account.bytes);
        }
    }

    pub fn find<T: Send + Sync + 'static>(&self, slot: &Slot<T>) -> Option<Arc<T>> {
        self.slots.get(slot.index)?.get()?.clone().downcast().ok()
    }

    pub fn get_or_render<T: Send + Sync + 'static>(&self, slot: &Slot<T>, render: impl FnOnce() -> T) -> Arc<T> {
        self.find(slot).unwrap_or_else(|| self.store(slot, Arc::new(render())))
    }

    /// Stores a rendition. Returns the stored one, which may come from a faster reader.
    fn store<T: Send + Sync + 'static>(&self, slot: &Slot<T>, rendition: Arc<T>) -> Arc<T> {
        let mut account = self.account();
        if let Some(stored) = self.find(slot) {
            return stored;
        }
        let bytes = (slot.bytes)(&rendition);
        let has_room = account.budget.as_ref().is_none_or(|budget| budget.reserve(bytes));
        if has_room && let Some(place) = self.slots.get(slot.index) {
            account.bytes += bytes;
            // Nobody else stores while the account is locked.
            let _ = place.set(rendition.clone());
        }
        rendition
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Renditions {
    /// A copy is another change, which no cache counts.
    fn clone(&self) -> Renditions {
        Renditions::default()
    }
}

impl fmt::Debug for Renditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renditions").field("bytes", &self.account().bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Slot<String> = Slot::numbered(0, String::len);
    const LONG: Slot<String> = Slot::numbered(1, String::len);

    #[test]
    fn a_rendition_is_made_once_and_shared() {
        let renditions = Renditions::default();
        let first = renditions.get_or_render(&PLAIN, || "first".into());
        let second = renditions.get_or_render(&PLAIN, || unreachable!("it is there"));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(renditions.find(&LONG).is_none());
    }

    #[test]
    fn without_room_in_the_budget_a_rendition_is_not_stored() {
        let (renditions, budget) = (Renditions::default(), Budget::new(10));
        renditions.join(&budget);
        renditions.get_or_render(&PLAIN, || "12345678".into());
        assert!(budget.is_short());
        assert_eq!(*renditions.get_or_render(&LONG, || "123".into()), "123");
        assert!(renditions.find(&LONG).is_none());
        renditions.leave();
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
        renditions.get_or_render(&LONG, || "123".into());
        assert_eq!(budget.used.load(Ordering::Relaxed), 0, "what only readers hold doesn't count");
    }
}
