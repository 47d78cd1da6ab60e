//! The trail: every step with its decision, appended as JSON lines to files.
//!
//! A file is completed when it reaches an eighth of the maximum size of the trail. The oldest files are deleted when
//! the trail exceeds its maximum size or age. Lines reach the operating system within a quarter of a second, and the
//! disk when a file is completed or the registry is closed, so the last lines may be lost in a crash of the machine.
//! An incomplete line at the end is truncated when the trail is opened.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use crate::{Error, Result, policy::Entry};

/// Into how many files the bytes of a trail are divided.
const FILES: u64 = 8;
/// Minimum size of a completed file.
const SMALLEST_FILE: u64 = 64 * 1024;
/// Size of the write buffer, in bytes: entries in it haven't reached the operating system.
const BUFFER: usize = 64 * 1024;
/// Maximum length of a line.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// Limits on the size and age of a trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Maximum size in bytes.
    pub max_bytes: u64,
    /// Maximum age.
    pub max_age: Duration,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { max_bytes: 256 * 1024 * 1024, max_age: Duration::from_secs(30 * 24 * 60 * 60) }
    }
}

/// A trail in a directory.
pub(super) struct Trail {
    directory: PathBuf,
    retention: Retention,
    state: Mutex<State>,
}

struct State {
    /// Open file, or `None` before the first entry of this process.
    file: Option<Open>,
    /// The number of the next entry.
    next: u64,
    /// Ended files, the oldest first.
    ended: Vec<Ended>,
}

struct Open {
    path: PathBuf,
    writer: BufWriter<File>,
    bytes: u64,
}

struct Ended {
    path: PathBuf,
    bytes: u64,
}

impl Trail {
    /// Opens the trail in a directory, creating the directory if it is missing.
    pub(super) fn open(directory: PathBuf, retention: Retention) -> Result<Trail> {
        let failed =
            |source| Error::Io { doing: format!("opening the guardian's trail in {}", directory.display()), source };
        create_private_directory(&directory).map_err(failed)?;
        let mut paths = Vec::new();
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            paths.extend(first_of(&path).map(|first| (first, path)));
        }
        paths.sort();
        let next = match paths.last() {
            Some((first, path)) => cut(path, *first).map_err(failed)?,
            None => 1,
        };
        let mut ended = Vec::with_capacity(paths.len());
        for (_, path) in paths {
            let bytes = fs::metadata(&path).map_err(failed)?.len();
            if bytes == 0 {
                // The next entry has the number that it is named after, and begins a file of that name.
                fs::remove_file(&path).map_err(failed)?;
                continue;
            }
            ended.push(Ended { path, bytes });
        }
        Ok(Trail { directory, retention, state: Mutex::new(State { file: None, next, ended }) })
    }

    /// Appends an entry, which gets the next number.
    pub(super) fn append(&self, entry: &mut Entry) -> std::io::Result<()> {
        let mut state = self.lock();
        entry.seq = state.next;
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        if state.file.is_none() {
            let path = self.directory.join(format!("trail-{:020}.ndjson", state.next));
            let file = private_file().append(true).open(&path)?;
            state.file = Some(Open { path, writer: BufWriter::with_capacity(BUFFER, file), bytes: 0 });
        }
        if let Some(open) = &mut state.file {
            open.writer.write_all(&line)?;
            open.bytes += line.len() as u64;
        }
        state.next += 1;
        let full = (self.retention.max_bytes / FILES).max(SMALLEST_FILE);
        if state.file.as_ref().is_some_and(|open| open.bytes >= full) {
            state.end_file()?;
            self.trim(&mut state, SystemTime::now());
        }
        Ok(())
    }

    /// Lets everything that was appended reach the operating system.
    pub(super) fn flush(&self) -> std::io::Result<()> {
        self.lock().file.as_mut().map_or(Ok(()), |open| open.writer.flush())
    }

    /// Lets everything reach the disk.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        match &mut self.lock().file {
            Some(open) => {
                open.writer.flush()?;
                open.writer.get_ref().sync_data()
            }
            None => Ok(()),
        }
    }

    /// Removes files that are older than they may be.
    pub(super) fn remove_old(&self) {
        let mut state = self.lock();
        self.trim(&mut state, SystemTime::now());
    }

    /// Returns the size of all its files in bytes, with entries that are still buffered.
    pub(super) fn bytes(&self) -> u64 {
        let state = self.lock();
        state.ended.iter().map(|file| file.bytes).sum::<u64>() + state.file.as_ref().map_or(0, |open| open.bytes)
    }

    /// Returns up to `limit` wanted entries with numbers greater than `after`, oldest first. Unreadable lines are
    /// skipped. `line` is a cheap preliminary check of a line.
    pub(super) fn entries(
        &self,
        after: u64,
        limit: usize,
        line: impl Fn(&[u8]) -> bool,
        is_wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>> {
        let failed = |source| Error::Io { doing: "reading the guardian's trail".to_owned(), source };
        let paths: Vec<PathBuf> = {
            let mut state = self.lock();
            if let Some(open) = &mut state.file {
                open.writer.flush().map_err(failed)?;
            }
            let open = state.file.as_ref().map(|open| open.path.clone());
            state.ended.iter().map(|file| file.path.clone()).chain(open).collect()
        };
        let mut found = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            let next = paths.get(index + 1).and_then(|path| first_of(path));
            if next.is_some_and(|next| next <= after.saturating_add(1)) {
                continue;
            }
            // A file may be removed meanwhile.
            let Ok(file) = File::open(path) else { continue };
            let mut reader = BufReader::with_capacity(BUFFER, file);
            let mut text = Vec::new();
            loop {
                text.clear();
                if (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut text).map_err(failed)? == 0 {
                    break;
                }
                if !line(&text) {
                    continue;
                }
                let Ok(entry) = serde_json::from_slice::<Entry>(&text) else { continue };
                if entry.seq > after && is_wanted(&entry) {
                    found.push(entry);
                    if found.len() >= limit {
                        return Ok(found);
                    }
                }
            }
        }
        Ok(found)
    }

    fn trim(&self, state: &mut State, now: SystemTime) {
        let open = state.file.as_ref().map_or(0, |open| open.bytes);
        let mut bytes = open + state.ended.iter().map(|file| file.bytes).sum::<u64>();
        let (max_bytes, max_age) = (self.retention.max_bytes, self.retention.max_age);
        let is_old = |path: &Path| {
            let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
            modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > max_age))
        };
        state.ended.retain(|file| {
            if bytes <= max_bytes && !is_old(&file.path) {
                return true;
            }
            bytes -= file.bytes;
            if let Err(error) = fs::remove_file(&file.path) {
                tracing::warn!(%error, path = %file.path.display(), "a file of the guardian's trail can't be removed");
            }
            false
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end_file(&mut self) -> std::io::Result<()> {
        if let Some(mut open) = self.file.take() {
            open.writer.flush()?;
            open.writer.get_ref().sync_data()?;
            self.ended.push(Ended { path: open.path, bytes: open.bytes });
        }
        Ok(())
    }
}

/// The number of the first entry of a file, which is in its name.
fn first_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("trail-")?.strip_suffix(".ndjson")?.parse().ok()
}

/// Truncates an incomplete line at the end of a file. Returns the number after its last readable entry.
fn cut(path: &Path, first: u64) -> std::io::Result<u64> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    // The last lines are enough.
    let start = length.saturating_sub(LONGEST_LINE);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let end = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    file.set_len(start + end as u64)?;
    let mut lines = tail.get(..end).unwrap_or_default().rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    if let Some(entry) = lines.find_map(|line| serde_json::from_slice::<Entry>(line).ok()) {
        return Ok(entry.seq.saturating_add(1));
    }
    // None can be read: each line had a number.
    file.seek(SeekFrom::Start(0))?;
    Ok(first + BufReader::new(file).split(b'\n').count() as u64)
}

/// Creates a directory that is its owner's alone, unless it is there.
fn create_private_directory(directory: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    match builder.create(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        created => created,
    }
}

/// Returns options for creating a file accessible only to its owner.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Entry {
        serde_json::from_value(json!({
            "seq": 0, "at": "2026-11-22T10:00:00Z", "method": "steps/message", "decision": "allow", "microseconds": 1,
            "hash": "sha256:00",
        }))
        .unwrap()
    }

    fn numbers(trail: &Trail) -> Vec<u64> {
        trail.entries(0, 100, |_| true, |_| true).unwrap().iter().map(|entry| entry.seq).collect()
    }

    #[test]
    fn a_file_that_a_crash_left_empty_is_not_read_twice() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trail-00000000000000000005.ndjson");
        fs::write(&path, "").unwrap();
        let trail = Trail::open(directory.path().to_owned(), Retention::default()).unwrap();
        trail.append(&mut entry()).unwrap();
        assert_eq!(numbers(&trail), [5]);
    }

    #[test]
    fn numbers_go_on_after_lines_that_cannot_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Trail::open(directory.path().to_owned(), Retention::default()).unwrap();
        let trail = open();
        (0..3).for_each(|_| trail.append(&mut entry()).unwrap());
        trail.sync().unwrap();
        let path = directory.path().join("trail-00000000000000000001.ndjson");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"damaged\n").unwrap();
        let trail = open();
        trail.append(&mut entry()).unwrap();
        assert_eq!(numbers(&trail), [1, 2, 3, 4]);
        drop(trail);

        let path = directory.path().join("trail-00000000000000000004.ndjson");
        fs::write(&path, "damaged\ndamaged\n").unwrap();
        let trail = open();
        trail.append(&mut entry()).unwrap();
        assert_eq!(numbers(&trail), [1, 2, 3, 6]);
    }
}
