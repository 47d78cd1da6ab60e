//! Backups: all that is stored at one moment, as one file, and a directory made of it again.
//!
//! | part | what it is |
//! |---|---|
//! | first line | `agentdex-backup 1` |
//! | second line | a JSON object: `registry`, `epoch`, `seq` (the end of the log), `records`, `at`, `version` of the program |
//! | rest | compressed (gzip): each key and value of the store (its layout is in `src/store/layout.rs`) as length of the key, length of the value (u32, big endian), key, value; at the end `0xFFFFFFFF`, the number of entries (u64), and the SHA-256 of all bytes before it |
//!
//! It has the descriptions with what they were converted from, expiries, the log, tracked sources, saved queries, and
//! what the store has beside: everything but what is made of it again (the search index, vectors) and the guardian's trail.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use flate2::{Compression, bufread::GzDecoder, bufread::GzEncoder};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::Registry;
use crate::{
    Error, Result,
    change::{Epoch, Seq, Timestamp},
    store::{self, Pair, Snapshot},
};

/// The media type of a backup.
pub const MEDIA_TYPE: &str = "application/vnd.agentdex.backup";
const FIRST_LINE: &str = "agentdex-backup 1\n";
/// In place of the length of a key, after the last one.
const END: u32 = u32::MAX;
/// The longest line of the head.
const LONGEST_LINE: u64 = 64 * 1024;
/// The longest value: descriptions and originals are much shorter.
const LONGEST_VALUE: u32 = 256 * 1024 * 1024;
/// How much is compressed at a time.
const BUFFER_BYTES: usize = 64 * 1024;

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupHead {
    /// The uuid of the registry.
    pub registry: uuid::Uuid,
    /// The life of the store that it was taken of.
    pub epoch: Epoch,
    /// The end of the log: later changes aren't in it.
    pub seq: Seq,
    /// How many descriptions there are.
    pub records: u64,
    /// When it was taken.
    pub at: Timestamp,
    /// The version of agentdex that took it.
    pub version: String,
}

/// A backup that is being taken: the bytes of its file. Writes go on meanwhile.
pub struct Backup {
    head: BackupHead,
    bytes: io::Chain<io::Cursor<Vec<u8>>, GzEncoder<BufReader<Entries>>>,
}

impl Backup {
    /// What it says of itself.
    pub fn head(&self) -> &BackupHead {
        &self.head
    }
}

impl Read for Backup {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl Registry {
    /// Takes a backup: reads as the bytes of its file. There is one at a time.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let home = std::env::temp_dir().join(format!("agentdex-backup-{}", std::process::id()));
    /// # let (directory, other) = (home.join("data"), home.join("other"));
    /// let registry = agentdex::Registry::builder(&directory).open()?;
    /// registry.register(r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x", "title": "X",
    ///     "securityDefinitions": {"n": {"scheme": "nosec"}}, "security": "n"}"#)?;
    /// let mut file = Vec::new();
    /// std::io::copy(&mut registry.backup()?, &mut file)?;
    ///
    /// agentdex::registry::restore(file.as_slice(), &other)?;
    /// let restored = agentdex::Registry::builder(&other).open()?;
    /// assert!(restored.find("urn:x")?.is_some());
    /// # restored.close(); registry.close(); drop((registry, restored)); std::fs::remove_dir_all(home).ok();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Overloaded`] while another is being taken, [`Error::WritesClosed`], [`Error::Store`].
    pub fn backup(&self) -> Result<Backup> {
        let snapshot = self.0.store.snapshot()?;
        let head = BackupHead {
            registry: self.registry_id(),
            epoch: self.epoch(),
            seq: snapshot.last_seq(),
            records: snapshot.records(),
            at: Timestamp::now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let encoding = |source: serde_json::Error| Error::Store { doing: "taking a backup", source: source.into() };
        let mut first = FIRST_LINE.as_bytes().to_vec();
        serde_json::to_writer(&mut first, &head).map_err(encoding)?;
        first.push(b'\n');
        let entries = BufReader::with_capacity(BUFFER_BYTES, Entries::new(snapshot));
        Ok(Backup { head, bytes: io::Cursor::new(first).chain(GzEncoder::new(entries, Compression::fast())) })
    }
}

/// Makes the data directory of a registry from a backup. The directory must not exist, or be empty. The registry has a new
/// epoch then: subscribers that resume get a `resync`. A directory in which this failed is of no use.
///
/// ```
/// # use agentdex::{Registry, td::Description};
/// # let directory = tempfile::tempdir()?;
/// # let registry = Registry::open(directory.path())?;
/// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
/// let mut file = Vec::new();
/// std::io::copy(&mut registry.backup()?, &mut file)?;
///
/// let elsewhere = tempfile::tempdir()?;
/// let restored = elsewhere.path().join("restored");
/// agentdex::registry::restore(file.as_slice(), &restored)?;
/// assert_eq!(Registry::open(&restored)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::InvalidBackup`], [`Error::UnsupportedStoreFormat`] for that of another version, [`Error::Io`] where there is
/// something in the directory, [`Error::Store`].
pub fn restore(file: impl Read, directory: &Path) -> Result<BackupHead> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
    let head = read_head(&mut file)?;
    let mut pairs = Pairs { bytes: GzDecoder::new(file), digest: Context::new(&SHA256), count: 0, is_done: false };
    let records = store::restore(directory, &mut pairs)?;
    if records != head.records {
        return Err(invalid(format!("it says that it has {} descriptions, and has {records}", head.records)));
    }
    Ok(head)
}

fn read_head(file: &mut impl BufRead) -> Result<BackupHead> {
    let mut line = |what: &str| {
        let mut line = Vec::new();
        file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|error| invalid(error.to_string()))?;
        if line.ends_with(b"\n") { Ok(line) } else { Err(invalid(format!("{what} has no end"))) }
    };
    let first = line("its first line")?;
    if first != FIRST_LINE.as_bytes() {
        let known = FIRST_LINE.trim_end();
        let is_later = first.starts_with(b"agentdex-backup ");
        return Err(invalid(match is_later {
            true => format!("it was taken by a later version of agentdex; this one reads `{known}`"),
            false => format!("it is no backup: its first line isn't `{known}`"),
        }));
    }
    serde_json::from_slice(&line("its second line")?).map_err(|error| invalid(format!("its second line: {error}")))
}

fn invalid(reason: String) -> Error {
    Error::InvalidBackup { reason }
}

/// The entries of a snapshot as bytes, with what ends them.
struct Entries {
    snapshot: Snapshot,
    digest: Option<Context>,
    count: u64,
    /// What was made and isn't read yet.
    bytes: Vec<u8>,
    read: usize,
}

impl Entries {
    fn new(snapshot: Snapshot) -> Entries {
        Entries { snapshot, digest: Some(Context::new(&SHA256)), count: 0, bytes: Vec::new(), read: 0 }
    }

    /// Makes the bytes of some entries; none are left where it makes none.
    fn make(&mut self) -> Result<()> {
        self.bytes.clear();
        self.read = 0;
        while self.bytes.len() < BUFFER_BYTES {
            let Some(pair) = self.snapshot.next() else {
                let Some(mut digest) = self.digest.take() else { break };
                digest.update(&self.bytes);
                let mut end = END.to_be_bytes().to_vec();
                end.extend(self.count.to_be_bytes());
                digest.update(&end);
                self.bytes.extend(end);
                self.bytes.extend(digest.finish().as_ref());
                return Ok(());
            };
            let (key, value) = pair?;
            self.count += 1;
            for length in [key.len(), value.len()] {
                let length = u32::try_from(length).unwrap_or(LONGEST_VALUE);
                self.bytes.extend(length.to_be_bytes());
            }
            self.bytes.extend_from_slice(&key);
            self.bytes.extend_from_slice(&value);
        }
        if let Some(digest) = &mut self.digest {
            digest.update(&self.bytes);
        }
        Ok(())
    }
}

impl Read for Entries {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.bytes.len() {
            self.make().map_err(io::Error::other)?;
        }
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.read += count;
        Ok(count)
    }
}

/// The entries of a file, checked at its end.
struct Pairs<R> {
    bytes: GzDecoder<R>,
    digest: Context,
    count: u64,
    is_done: bool,
}

impl<R: BufRead> Pairs<R> {
    fn read<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.bytes.read_exact(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    }

    fn read_hashed(&mut self, length: u32) -> Result<Vec<u8>> {
        if length > LONGEST_VALUE {
            return Err(invalid("it is damaged: a length is beyond all bounds".to_owned()));
        }
        let mut bytes = Vec::new();
        let read = self.bytes.by_ref().take(length.into()).read_to_end(&mut bytes).map_err(unreadable)?;
        if read != length as usize {
            return Err(unreadable(io::ErrorKind::UnexpectedEof.into()));
        }
        self.digest.update(&bytes);
        Ok(bytes)
    }

    fn pair(&mut self) -> Result<Option<Pair>> {
        let key_length: [u8; 4] = self.read()?;
        self.digest.update(&key_length);
        if u32::from_be_bytes(key_length) == END {
            return self.check_end().map(|()| None);
        }
        let value_length: [u8; 4] = self.read()?;
        self.digest.update(&value_length);
        let key = self.read_hashed(u32::from_be_bytes(key_length))?;
        let value = self.read_hashed(u32::from_be_bytes(value_length))?;
        self.count += 1;
        Ok(Some((key, value)))
    }

    fn check_end(&mut self) -> Result<()> {
        let count: [u8; 8] = self.read()?;
        self.digest.update(&count);
        let found = self.digest.clone().finish();
        let expected: [u8; 32] = self.read()?;
        if u64::from_be_bytes(count) != self.count || found.as_ref() != expected {
            return Err(invalid("it is damaged: its checksum isn't that of its content".to_owned()));
        }
        Ok(())
    }
}

fn unreadable(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => invalid("it ends too early: a part of it is missing".to_owned()),
        _ => invalid(format!("it can't be read: {error}")),
    }
}

impl<R: BufRead> Iterator for Pairs<R> {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let pair = self.pair().transpose();
        self.is_done = !matches!(pair, Some(Ok(_)));
        pair
    }
}
