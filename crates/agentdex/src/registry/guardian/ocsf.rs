//! File with decisions as events of the Open Cybersecurity Schema Framework, an event per line.

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    Error, Result,
    policy::{Entry, ocsf::event},
};

/// File to which events are appended.
pub(super) struct OcsfFile {
    path: PathBuf,
    writer: Mutex<BufWriter<File>>,
}

impl OcsfFile {
    pub(super) fn open(path: &Path) -> Result<OcsfFile> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|source| Error::Io { doing: format!("opening {}", path.display()), source })?;
        Ok(OcsfFile { path: path.to_owned(), writer: Mutex::new(BufWriter::new(file)) })
    }

    pub(super) fn append(&self, entry: &Entry) {
        let mut line = event(entry).to_string().into_bytes();
        line.push(b'\n');
        self.report(self.lock().write_all(&line));
    }

    pub(super) fn flush(&self) {
        self.report(self.lock().flush());
    }

    fn report(&self, written: std::io::Result<()>) {
        if let Err(error) = written {
            tracing::warn!(%error, path = %self.path.display(), "events of the guardian can't be written");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BufWriter<File>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn events_are_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.ndjson");
        let entry: Entry = serde_json::from_value(json!({
            "seq": 7, "at": "2026-11-22T10:00:00Z", "method": "steps/message", "decision": "allow", "microseconds": 2000,
            "hash": "sha256:00",
        }))
        .unwrap();
        let file = OcsfFile::open(&path).unwrap();
        file.append(&entry);
        file.append(&entry);
        file.flush();
        let text = std::fs::read_to_string(path).unwrap();
        let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((events.len(), &events[1]["metadata"]["uid"]), (2, &json!("7")));
    }
}
