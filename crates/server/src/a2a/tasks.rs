//! The latest tasks, each for the caller who made it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::task::Task;

/// Maximum number of tasks, and maximum number of a caller.
const MAX_TASKS: usize = 1000;
const MAX_PER_CALLER: usize = 50;
/// Maximum number of bytes that tasks take up, and those of a caller.
const MAX_BYTES: usize = 8 * 1024 * 1024;
const MAX_BYTES_PER_CALLER: usize = 512 * 1024;

/// The latest tasks. The oldest are removed first: those of a caller who has too many, then those of others.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<VecDeque<Entry>>);

#[derive(Debug)]
struct Entry {
    caller: String,
    task: Arc<Task>,
}

impl Tasks {
    /// Stores a task of a caller.
    pub(super) fn keep(&self, caller: &str, task: Task) {
        let size = task.size();
        if size > MAX_BYTES_PER_CALLER {
            return;
        }
        let mut entries = self.lock();
        make_room(&mut entries, |entry| entry.caller == caller, size, MAX_PER_CALLER, MAX_BYTES_PER_CALLER);
        make_room(&mut entries, |_| true, size, MAX_TASKS, MAX_BYTES);
        entries.push_back(Entry { caller: caller.to_owned(), task: Arc::new(task) });
    }

    /// Returns the task of a caller with an id.
    pub(super) fn find(&self, caller: &str, id: &str) -> Option<Arc<Task>> {
        let entries = self.lock();
        entries.iter().find(|entry| entry.caller == caller && entry.task.id == id).map(|entry| entry.task.clone())
    }

    /// Returns the tasks of a caller, the latest first.
    pub(super) fn of(&self, caller: &str) -> Vec<Arc<Task>> {
        let entries = self.lock();
        entries.iter().rev().filter(|entry| entry.caller == caller).map(|entry| entry.task.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the oldest of some tasks until there is room for one more of a size among them.
fn make_room(
    entries: &mut VecDeque<Entry>,
    is_counted: impl Fn(&Entry) -> bool,
    size: usize,
    maximum: usize,
    bytes: usize,
) {
    let counted = entries.iter().filter(|entry| is_counted(entry));
    let (mut count, mut taken) = counted.fold((0, 0), |(count, taken), entry| (count + 1, taken + entry.task.size()));
    entries.retain(|entry| {
        let stays = !is_counted(entry) || count < maximum && taken + size <= bytes;
        if !stays {
            count -= 1;
            taken -= entry.task.size();
        }
        stays
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::question::Modes, *};

    fn task(bytes: usize) -> Task {
        Task::new(None, Modes { text: true, json: true }, Ok(json!("x".repeat(bytes))))
    }

    #[test]
    fn the_latest_tasks_of_a_caller_are_found_by_it_alone() {
        let tasks = Tasks::default();
        let ids: Vec<String> = (0..=MAX_PER_CALLER)
            .map(|_| {
                let task = task(10);
                let id = task.id.clone();
                tasks.keep("a", task);
                id
            })
            .collect();
        assert!(tasks.find("a", &ids[0]).is_none() && tasks.find("a", &ids[1]).is_some());
        assert!(tasks.find("b", &ids[1]).is_none() && tasks.of("b").is_empty());
        let listed: Vec<String> = tasks.of("a").iter().map(|task| task.id.clone()).collect();
        assert!(listed.iter().eq(ids[1..].iter().rev()));
    }

    #[test]
    fn tasks_are_bounded_in_number_and_size() {
        let tasks = Tasks::default();
        for number in 0..MAX_TASKS + 10 {
            tasks.keep(&number.to_string(), task(10));
        }
        assert_eq!(tasks.lock().len(), MAX_TASKS);
        for number in 0..40 {
            tasks.keep(&number.to_string(), task(MAX_BYTES_PER_CALLER - 1000));
        }
        assert!(tasks.lock().iter().map(|entry| entry.task.size()).sum::<usize>() <= MAX_BYTES);
        tasks.keep("a", task(MAX_BYTES_PER_CALLER / 2));
        tasks.keep("a", task(MAX_BYTES_PER_CALLER - 1000));
        assert_eq!(tasks.of("a").len(), 1);
        tasks.keep("a", task(MAX_BYTES_PER_CALLER));
        assert_eq!(tasks.of("a").len(), 1, "one that is too large is not stored");
    }
}
