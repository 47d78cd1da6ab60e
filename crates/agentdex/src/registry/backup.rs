//! Backups: the complete state of a registry at a single moment in a file, and restoring a data directory from it.
//!
//! | part | content |
//! |---|---|
//! | first line | `agentdex-backup 2` |
//! | second line | a JSON object: `registry`, `epoch`, `seq` (the end of the log), `records`, `at`, `version` of the program |
//! | then | compressed with gzip: for each key and value of the store (see `src/store/layout.rs` for their layout), the length of the key, the length of the value (u32, big endian), the key, and the value; at the end `0xFFFFFFFF`, the number of entries (u64), and the SHA-256 of all preceding bytes |
//! | last | SHA-256 of all preceding bytes of the file: 32 bytes |
//!
//! Earlier versions wrote `agentdex-backup 1`, which lacks the last part: no checksum covers its first two lines.
//!
//! A backup contains descriptions with their originals, expiries, the log, tracked sources, saved queries, and all
//! other content of the store. It contains neither data derived from the store (the search index, vectors) nor the
//! guardian's trail.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use flate2::{Compression, bufread::GzDecoder, bufread::GzEncoder};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::{Registry, keys};
use crate::{
    Error, Result,
    access::ApiKey,
    change::{Epoch, Seq, Timestamp},
    store::{self, Pair, Purpose, Snapshot},
};

/// Media type of a backup.
pub const MEDIA_TYPE: &str = "application/vnd.agentdex.backup";
const FIRST_LINE: &str = "agentdex-backup 2\n";
/// That of earlier versions, whose files have no checksum of all of it.
const FIRST_LINE_BEFORE: &str = "agentdex-backup 1\n";
/// Marker after the last key, in place of a key length.
const END: u32 = u32::MAX;
/// The longest line of the head.
const LONGEST_LINE: u64 = 64 * 1024;
/// The longest value: descriptions and originals are much shorter.
const LONGEST_VALUE: u32 = 256 * 1024 * 1024;
/// Size of the buffers between store, compression and file, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Metadata of a backup: the second line of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupHead {
    /// UUID of the registry.
    pub registry: uuid::Uuid,
    /// Epoch of the store.
    pub epoch: Epoch,
    /// Position of the last change in the backup.
    pub seq: Seq,
    /// Number of descriptions.
    pub records: u64,
    /// Time of the backup.
    pub at: Timestamp,
    /// Version of agentdex that wrote the backup.
    pub version: String,
}

/// The two lines, and the compressed entries.
type HeadAndEntries = io::Chain<io::Cursor<Vec<u8>>, GzEncoder<BufReader<Entries>>>;

/// A backup in progress. Read it to get the bytes of the backup file. The registry accepts writes meanwhile.
pub struct Backup {
    head: BackupHead,
    bytes: Summed<HeadAndEntries>,
}

/// Content of a restored backup, apart from the descriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Metadata of the backup.
    pub head: BackupHead,
    /// Restored API keys, oldest first. They include keys revoked after the backup was taken, which are valid again.
    pub keys: Vec<ApiKey>,
    /// Number of API keys omitted because of [`RestoreOptions::revoke_keys`].
    pub revoked_keys: usize,
    /// Number of descriptions visible only to their owner and admins.
    pub private: u64,
    /// Number of descriptions visible only to members of a namespace.
    pub in_namespaces: u64,
    /// Warning that a backup taken by an earlier version of agentdex has no checksum over its time and version.
    pub warnings: Vec<String>,
}

/// Options of [`restore_with`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Whether to omit all API keys. New keys must then be created, the first one with [`Keys`](super::Keys) or
    /// `agentdex keys create --data`.
    pub revoke_keys: bool,
}

impl Backup {
    /// Returns the metadata at the beginning of the file.
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
    /// Starts a backup. Read it to get the bytes of the backup file. Only one backup can be in progress at a time.
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
    /// [`Error::Overloaded`] while another backup is in progress, [`Error::WritesClosed`], [`Error::Store`].
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
        let bytes = io::Cursor::new(first).chain(GzEncoder::new(entries, Compression::fast()));
        Ok(Backup { head, bytes: Summed::new(bytes) })
    }
}

/// Creates the data directory of a registry from a backup. The directory must be empty or not exist yet. The registry
/// has a new epoch, so resuming subscribers receive a `resync`. After a failure the directory must not be used.
///
/// All changes since the backup are undone, including revocations of keys and restrictions of access. [`Restored`]
/// lists all restored keys, and counts the descriptions that aren't public.
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
/// [`Error::InvalidBackup`], [`Error::UnsupportedStoreFormat`] for a backup of another store format, [`Error::Io`] if
/// the directory is not empty, [`Error::Store`].
pub fn restore(file: impl Read, directory: &Path) -> Result<Restored> {
    restore_with(file, directory, RestoreOptions::default())
}

/// Like [`restore`], with options.
///
/// ```
/// # use agentdex::registry::{RestoreOptions, restore_with};
/// # let directory = tempfile::tempdir()?;
/// # let registry = agentdex::Registry::open(directory.path())?;
/// # let mut file = Vec::new();
/// # std::io::copy(&mut registry.backup()?, &mut file)?;
/// # let elsewhere = tempfile::tempdir()?;
/// let restored = restore_with(file.as_slice(), elsewhere.path(), RestoreOptions { revoke_keys: true })?;
/// assert!(restored.keys.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Same as [`restore`].
pub fn restore_with(file: impl Read, directory: &Path, options: RestoreOptions) -> Result<Restored> {
    let purpose = if options.revoke_keys { Purpose::RegistryWithoutKeys } else { Purpose::Registry };
    restore_for(purpose, file, directory)
}

/// Restores the backup of a node of a cluster into an empty or missing directory, for a further node of the same cluster.
/// The new node continues with the next commit in the log of the cluster.
///
/// # Errors
/// Same as [`restore`]; also [`Error::InvalidBackup`] if the backup isn't that of a node.
pub fn restore_node(file: impl Read, directory: &Path) -> Result<Restored> {
    restore_for(Purpose::Node, file, directory)
}

fn restore_for(purpose: Purpose, file: impl Read, directory: &Path) -> Result<Restored> {
    let mut file = Summing { file: BufReader::with_capacity(BUFFER_BYTES, file), digest: Context::new(&SHA256) };
    let (head, is_summed) = read_head(&mut file)?;
    let bytes = GzDecoder::new(file);
    let mut pairs = Pairs { bytes, digest: Context::new(&SHA256), count: 0, is_summed, is_done: false };
    let content = store::restore(directory, &mut pairs, purpose)?;
    for (what, said, found) in [
        ("the number of descriptions", head.records.to_string(), content.records.to_string()),
        ("the last position in the log", head.seq.to_string(), content.last.to_string()),
        ("the epoch of the store", head.epoch.to_string(), content.epoch.to_string()),
        ("the id of the registry", head.registry.to_string(), content.registry.to_string()),
    ] {
        if said != found {
            return Err(invalid(format!("{what} is {said} in the header, but {found} in the content")));
        }
    }
    let mut warnings = Vec::new();
    if !is_summed {
        warnings.push(
            "the backup was taken by an earlier version of agentdex, so no checksum protects the time and the version \
             in its header"
                .to_owned(),
        );
    }
    let mut keys = content.keys.iter().map(|key| keys::stored_key(key)).collect::<Result<Vec<_>>>()?;
    keys.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
    let is_without_keys = purpose == Purpose::RegistryWithoutKeys;
    let revoked_keys = if is_without_keys { std::mem::take(&mut keys).len() } else { 0 };
    let (private, in_namespaces) = (content.private, content.in_namespaces);
    Ok(Restored { head, keys, revoked_keys, private, in_namespaces, warnings })
}

/// Reads the first two lines, and finds out whether a checksum at the end covers them.
fn read_head(file: &mut impl BufRead) -> Result<(BackupHead, bool)> {
    let mut line = |what: &str| {
        let mut line = Vec::new();
        file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|error| invalid(error.to_string()))?;
        if line.ends_with(b"\n") { Ok(line) } else { Err(invalid(format!("{what} is truncated"))) }
    };
    let first = line("its first line")?;
    let is_summed = first == FIRST_LINE.as_bytes();
    if !is_summed && first != FIRST_LINE_BEFORE.as_bytes() {
        let known = FIRST_LINE.trim_end();
        let is_later = first.starts_with(b"agentdex-backup ");
        return Err(invalid(match is_later {
            true => {
                format!("it was taken by a later version of agentdex; upgrade agentdex (this version reads `{known}`)")
            }
            false => format!("it is not a backup: its first line isn't `{known}`"),
        }));
    }
    let head = serde_json::from_slice(&line("its second line")?);
    Ok((head.map_err(|error| invalid(format!("its second line is invalid: {error}")))?, is_summed))
}

fn invalid(reason: String) -> Error {
    Error::InvalidBackup { reason }
}

/// Bytes, and behind them the SHA-256 of all of them.
struct Summed<R> {
    bytes: R,
    /// Digest of the bytes so far; `None` at the end.
    digest: Option<Context>,
    end: io::Cursor<Vec<u8>>,
}

impl<R> Summed<R> {
    fn new(bytes: R) -> Summed<R> {
        Summed { bytes, digest: Some(Context::new(&SHA256)), end: io::Cursor::default() }
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Some(digest) = &mut self.digest {
            let count = self.bytes.read(buffer)?;
            digest.update(buffer.get(..count).unwrap_or_default());
            if count > 0 {
                return Ok(count);
            }
        }
        if let Some(digest) = self.digest.take() {
            self.end = io::Cursor::new(digest.finish().as_ref().to_vec());
        }
        self.end.read(buffer)
    }
}

/// Reader that computes the checksum of all bytes read.
struct Summing<R> {
    file: R,
    digest: Context,
}

impl<R: BufRead> Summing<R> {
    /// Checks that the file ends here, after its checksum if it has one.
    fn check_end(&mut self, is_summed: bool) -> Result<()> {
        if is_summed {
            let found = self.digest.clone().finish();
            let mut expected = [0; 32];
            self.file.read_exact(&mut expected).map_err(unreadable)?;
            if found.as_ref() != expected {
                return Err(damaged());
            }
        }
        match self.file.fill_buf().map_err(unreadable)? {
            [] => Ok(()),
            _ => Err(invalid("it contains unexpected data after the end of the backup".to_owned())),
        }
    }
}

impl<R: BufRead> Read for Summing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.digest.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Summing<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // What was filled is there without another read.
        if let Ok(filled) = self.file.fill_buf() {
            self.digest.update(filled.get(..count).unwrap_or_default());
        }
        self.file.consume(count);
    }
}

/// Entries of a snapshot as bytes, including the trailer.
struct Entries {
    snapshot: Snapshot,
    digest: Option<Context>,
    count: u64,
    /// Encoded entries of a portion. Bytes from `read` on are still to be read.
    bytes: Vec<u8>,
    read: usize,
}

impl Entries {
    fn new(snapshot: Snapshot) -> Entries {
        Entries { snapshot, digest: Some(Context::new(&SHA256)), count: 0, bytes: Vec::new(), read: 0 }
    }

    /// Encodes further entries. At the end of the snapshot, adds nothing.
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
    bytes: GzDecoder<Summing<R>>,
    digest: Context,
    count: u64,
    /// True if a checksum of the whole file is at its end.
    is_summed: bool,
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
            return Err(invalid("it is damaged: a length is out of range".to_owned()));
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
            return Err(damaged());
        }
        // The end of what is compressed has a checksum and a length of its own, which are checked by reading on.
        let mut more = Vec::new();
        if self.bytes.by_ref().take(1).read_to_end(&mut more).map_err(unreadable)? > 0 {
            return Err(invalid("it contains unexpected data after the last entry".to_owned()));
        }
        self.bytes.get_mut().check_end(self.is_summed)
    }
}

fn damaged() -> Error {
    invalid("it is damaged: the checksum doesn't match the content".to_owned())
}

fn unreadable(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => invalid("it is truncated".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{NewKey, Role};

    /// A backup of a registry with one agent and one key.
    fn small() -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        registry.register(crate::td::Description::new("Weather agent").id("urn:a").capability("forecast")).unwrap();
        registry.keys().create(NewKey { role: Role::Read, owner: "team".parse().unwrap(), ttl: None }).unwrap();
        let mut file = Vec::new();
        registry.backup().unwrap().read_to_end(&mut file).unwrap();
        registry.close();
        file
    }

    /// The same as an earlier version wrote it.
    fn of_the_version_before(file: &[u8]) -> Vec<u8> {
        let rest = &file[FIRST_LINE.len()..file.len() - 32];
        [FIRST_LINE_BEFORE.as_bytes(), rest].concat()
    }

    /// Reads all of a file, without a store.
    fn read(file: &[u8]) -> Result<(BackupHead, Vec<Pair>)> {
        let mut file = Summing { file, digest: Context::new(&SHA256) };
        let (head, is_summed) = read_head(&mut file)?;
        let (bytes, digest) = (GzDecoder::new(file), Context::new(&SHA256));
        let pairs = Pairs { bytes, digest, count: 0, is_summed, is_done: false }.collect::<Result<_>>()?;
        Ok((head, pairs))
    }

    #[test]
    fn a_backup_is_checked_to_its_last_byte() {
        let file = small();
        let before = of_the_version_before(&file);
        let (head, content) = read(&file).unwrap();
        assert_eq!((head.records, read(&before).unwrap()), (1, (head, content.clone())));
        for whole in [&file, &before] {
            for length in 0..whole.len() {
                assert!(read(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
            }
            for more in [&[0][..], b"\n", b"agentdex-backup 2\n", whole] {
                let longer = [whole, more].concat();
                let error = read(&longer).unwrap_err().to_string();
                assert!(error.contains("unexpected data after the end"), "{error}");
            }
        }
        let damaged = |whole: &[u8], place: usize, bit: u32| {
            let mut damaged = whole.to_vec();
            damaged[place] ^= 1 << bit;
            read(&damaged)
        };
        for place in 0..file.len() {
            for bit in 0..8 {
                assert!(damaged(&file, place, bit).is_err(), "bit {bit} of byte {place} of {}", file.len());
            }
        }
        // An earlier version's lacks a checksum of its two lines and of the ten bytes that gzip begins with.
        let lines = before.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
        for place in lines + 10..before.len() {
            for bit in 0..8 {
                // The last bits of what is compressed are read by nobody.
                let is_read = damaged(&before, place, bit).is_ok_and(|(_, read)| read != content);
                assert!(!is_read, "bit {bit} of byte {place} of {}", before.len());
            }
        }
    }

    #[test]
    fn a_head_that_is_not_that_of_the_content_is_refused() {
        let before = of_the_version_before(&small());
        let restore_changed = |from: &str, to: &str| {
            let at = before.windows(from.len()).position(|window| window == from.as_bytes()).expect(from);
            let changed = [&before[..at], to.as_bytes(), &before[at + from.len()..]].concat();
            restore(changed.as_slice(), tempfile::tempdir().unwrap().path())
        };
        let (head, _) = read(&before).unwrap();
        for (from, to, words) in [
            ("\"seq\":1", "\"seq\":9", "the last position in the log is 9 in the header, but 1"),
            ("\"records\":1", "\"records\":2", "the number of descriptions is 2 in the header, but 1 in the content"),
            (&head.epoch.to_string(), &Epoch(1).to_string(), "the epoch of the store is"),
            (&head.registry.to_string(), &uuid::Uuid::nil().to_string(), "the id of the registry is 00000000-"),
        ] {
            let error = restore_changed(from, to).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        // Which time and version are right nobody knows.
        let restored = restore_changed("\"version\":\"", "\"version\":\"9").unwrap();
        assert_eq!(restored.warnings.len(), 1, "{restored:?}");
        assert_eq!(restore(small().as_slice(), tempfile::tempdir().unwrap().path()).unwrap().warnings.len(), 0);
    }

    #[test]
    fn keys_come_back_unless_they_are_to_be_revoked() {
        let file = small();
        let keys = |options: RestoreOptions| {
            let directory = tempfile::tempdir().unwrap();
            let restored = restore_with(file.as_slice(), directory.path(), options).unwrap();
            let registry = Registry::open(directory.path()).unwrap();
            assert_eq!(registry.len(), 1);
            let keys = registry.keys().list();
            registry.close();
            (restored.keys == keys, keys.len(), restored.revoked_keys)
        };
        assert_eq!(keys(RestoreOptions::default()), (true, 1, 0));
        assert_eq!(keys(RestoreOptions { revoke_keys: true }), (true, 0, 1));
    }
}
