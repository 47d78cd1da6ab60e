//! `Witness`: a small file beside the store that records its durable state.
//!
//! When a file is damaged, sled opens the part that it can read and reports no error: a single wrong bit may yield an
//! older store. Therefore the position and checksum of the last synced commit are recorded outside of the store, in
//! two slots that are written alternately. They are written once per second if there were commits, at the end, and
//! before acknowledging a commit that restricts access. A slot never claims more than is on disk, so a power failure
//! can't make an intact store look damaged.
//!
//! | bytes of a slot | content |
//! |---|---|
//! | 8 | `agentdx1` |
//! | 8 | number of the write; the greater number is the later write |
//! | 8, 16 | epoch, id of the registry |
//! | 8, 8, 16 | number of the commit, last position of the log, checksum |
//! | 1 | 1 if the store was closed after that commit |
//! | 16 | digest of the preceding bytes |

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use uuid::Uuid;

use super::{
    sum::{Digest, Sum},
    value::{State, UpgradeState},
};
use crate::{
    Error, Result,
    change::{Epoch, Seq},
};

/// The file, in the data directory.
pub(super) const FILE: &str = "witness";
/// Size of a slot, which disks write at once.
const SLOT_BYTES: usize = 4096;
const MAGIC: &[u8; 8] = b"agentdx1";
/// Number of bytes of a slot covered by the digest.
const SIGNED: usize = 73;
/// Maximum delay of recording a commit.
const INTERVAL: Duration = Duration::from_secs(1);

/// Last durable commit at the time of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub epoch: Epoch,
    pub registry: Uuid,
    pub commit: u64,
    pub last: Seq,
    pub sum: Sum,
    /// True if the store was closed after this commit.
    pub is_closed: bool,
}

impl Slot {
    /// Creates the slot for a state of a store.
    pub fn of(epoch: Epoch, registry: Uuid, state: &State) -> Slot {
        Slot { epoch, registry, commit: state.commit, last: state.last, sum: state.sum, is_closed: false }
    }

    fn encode(&self, write: u64) -> [u8; SLOT_BYTES] {
        let mut signed = Vec::with_capacity(SIGNED);
        signed.extend(MAGIC);
        signed.extend(write.to_be_bytes());
        signed.extend(self.epoch.0.to_be_bytes());
        signed.extend(self.registry.as_bytes());
        signed.extend(self.commit.to_be_bytes());
        signed.extend(self.last.0.to_be_bytes());
        signed.extend(self.sum.0.to_be_bytes());
        signed.push(u8::from(self.is_closed));
        let digest = Digest::of(&signed);
        let mut bytes = [0; SLOT_BYTES];
        let parts = signed.into_iter().chain(digest.0);
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    /// Decodes a slot with the number of its write. Returns `None` for an invalid or damaged slot.
    fn decode(bytes: &[u8]) -> Option<(u64, Slot)> {
        let (signed, rest) = bytes.split_at_checked(SIGNED)?;
        if !signed.starts_with(MAGIC) || !rest.starts_with(&Digest::of(signed).0) {
            return None;
        }
        let number = |at: usize| Some(u64::from_be_bytes(*signed.get(at..)?.first_chunk()?));
        let slot = Slot {
            epoch: Epoch(number(16)?),
            registry: Uuid::from_slice(signed.get(24..40)?).ok()?,
            commit: number(40)?,
            last: Seq(number(48)?),
            sum: Sum(u128::from_be_bytes(*signed.get(56..)?.first_chunk()?)),
            is_closed: signed.get(72) == Some(&1),
        };
        Some((number(8)?, slot))
    }

    /// Returns the slot written last, with the number of its write and its index.
    fn last(bytes: &[u8]) -> Option<(u64, Slot, u64)> {
        let slots = bytes.chunks(SLOT_BYTES).zip(0..2);
        let slots = slots.filter_map(|(bytes, place)| Slot::decode(bytes).map(|(write, slot)| (write, slot, place)));
        slots.max_by_key(|(write, ..)| *write)
    }
}

/// The content of a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// There is no such file.
    Missing,
    /// All slots are unreadable.
    Damaged,
    Slot(Slot),
}

impl Seen {
    /// Reads the witness of a directory.
    pub fn read(directory: &Path) -> io::Result<Seen> {
        let bytes = match std::fs::read(directory.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Seen::Missing),
            Err(error) => return Err(error),
        };
        Ok(Slot::last(&bytes).map_or(Seen::Damaged, |(_, slot, _)| Seen::Slot(slot)))
    }

    /// Returns the last valid slot, or `None` if the witness is missing or damaged.
    pub fn slot(&self) -> Option<&Slot> {
        match self {
            Seen::Slot(slot) => Some(slot),
            Seen::Missing | Seen::Damaged => None,
        }
    }
}

/// Fails if a store doesn't match its witness or its own state. `sum` computes the checksum of its content. The
/// witness may have been written before an upgrade.
pub(super) fn judge(
    directory: &Path,
    seen: &Seen,
    found: &Slot,
    upgraded: Option<UpgradeState>,
    sum: impl FnOnce() -> Result<Sum>,
) -> Result<()> {
    let damaged = |found: String| Err(Error::StoreDamaged { path: directory.to_owned(), found });
    if let Some(slot) = seen.slot() {
        if (slot.epoch, slot.registry) != (found.epoch, found.registry) {
            return damaged("it is not the store that was in this directory before".into());
        }
        if slot.commit > found.commit {
            return Err(behind(directory, slot, found.commit, found.last));
        }
        let is_of_before = upgraded.is_some_and(|before| (before.commit, before.sum) == (slot.commit, slot.sum));
        if slot.commit == found.commit && slot.sum != found.sum && !is_of_before {
            return damaged("its checksum differs from the last recorded checksum".into());
        }
    }
    if sum()? != found.sum {
        return damaged("some of its records, keys, or namespaces are missing, or older than the rest".into());
    }
    Ok(())
}

/// Returns the error for a store that ends before the state recorded by its witness.
pub(super) fn behind(directory: &Path, slot: &Slot, commit: u64, last: Seq) -> Error {
    Error::StoreBehind {
        path: directory.to_owned(),
        commits: slot.commit.saturating_sub(commit),
        found: last,
        expected: slot.last,
    }
}

/// Witness of an open store.
#[derive(Debug)]
pub(super) struct Witness {
    path: PathBuf,
    /// Last durable commit that is not yet written.
    durable: Mutex<Durable>,
    wakes: Condvar,
    /// Held while a slot is written. Taken after the lock of the committer, never before.
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Durable {
    slot: Option<Slot>,
    is_ending: bool,
}

#[derive(Debug)]
struct Written {
    file: File,
    /// Index of the slot written last: 0 or 1.
    place: u64,
    /// Number of that write.
    write: u64,
}

impl Witness {
    /// Opens or creates the witness of a directory, writes the durable state, and syncs the file.
    pub fn open(directory: &Path, seen: &Seen, durable: Slot) -> io::Result<Witness> {
        let path = directory.join(FILE);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path)?;
        file.set_len(2 * SLOT_BYTES as u64)?;
        let mut bytes = vec![0; 2 * SLOT_BYTES];
        file.read_exact_at(&mut bytes, 0)?;
        let (write, place) = match Slot::last(&bytes).filter(|_| seen.slot().is_some()) {
            Some((write, _, place)) => (write, place),
            None => {
                // Nothing of a former one may come back.
                file.write_all_at(&[0; 2 * SLOT_BYTES], 0)?;
                (0, 1)
            }
        };
        let mut written = Written { file, place, write };
        written.write(&durable)?;
        File::open(directory)?.sync_all()?;
        let (durable, wakes) = Default::default();
        Ok(Witness { path, durable: Mutex::new(durable), wakes, written: Mutex::new(written) })
    }

    /// Records a durable commit, to be written within a second.
    pub fn note(&self, slot: Slot) {
        let mut durable = self.durable();
        if durable.slot.replace(slot).is_none() {
            self.wakes.notify_one();
        }
    }

    /// Writes the last recorded commit, and waits until it is on disk.
    pub fn write(&self) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        // After the lock: what is noted ascends, and so does what is written.
        let Some(slot) = self.durable().slot.take() else { return Ok(()) };
        written.write(&slot)
    }

    /// Records that the store is closed after a commit.
    pub fn close(&self, slot: Slot) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        self.durable().slot = None;
        written.write(&Slot { is_closed: true, ..slot })
    }

    /// Writes recorded commits once per second, until [`Witness::end`] or an error.
    pub fn run(&self) -> io::Result<()> {
        loop {
            let mut durable = self.durable();
            while durable.slot.is_none() && !durable.is_ending {
                durable = self.wakes.wait(durable).unwrap_or_else(PoisonError::into_inner);
            }
            let (durable, _) = self
                .wakes
                .wait_timeout_while(durable, INTERVAL, |durable| !durable.is_ending)
                .unwrap_or_else(PoisonError::into_inner);
            if durable.is_ending {
                return Ok(());
            }
            drop(durable);
            self.write()?;
        }
    }

    /// Stops [`Witness::run`].
    pub fn end(&self) {
        self.durable().is_ending = true;
        self.wakes.notify_one();
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn durable(&self) -> MutexGuard<'_, Durable> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    fn write(&mut self, slot: &Slot) -> io::Result<()> {
        let (place, write) = (1 - self.place, self.write + 1);
        self.file.write_all_at(&slot.encode(write), place * SLOT_BYTES as u64)?;
        self.file.sync_data()?;
        (self.place, self.write) = (place, write);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(commit: u64) -> Slot {
        let (epoch, registry) = (Epoch(7), Uuid::from_u128(9));
        Slot { epoch, registry, commit, last: Seq(commit * 2), sum: Sum(u128::from(commit) << 70), is_closed: false }
    }

    #[test]
    fn the_last_slot_counts_and_the_one_before_where_that_is_torn() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        assert_eq!(Seen::read(directory.path())?, Seen::Missing);
        let witness = Witness::open(directory.path(), &Seen::Missing, slot(1))?;
        for commit in 2..6 {
            witness.note(slot(commit));
            witness.write()?;
            assert_eq!(Seen::read(directory.path())?, Seen::Slot(slot(commit)));
        }
        drop(witness);
        let path = directory.path().join(FILE);
        let whole = std::fs::read(&path)?;
        for byte in (0..SIGNED + 16).chain(SLOT_BYTES..SLOT_BYTES + SIGNED + 16) {
            let mut bytes = whole.clone();
            bytes[byte] ^= 4;
            std::fs::write(&path, &bytes)?;
            let of_last = (byte / SLOT_BYTES) as u64 == (5 + 1) % 2;
            assert_eq!(Seen::read(directory.path())?, Seen::Slot(slot(if of_last { 4 } else { 5 })), "byte {byte}");
        }
        std::fs::write(&path, [7; 100])?;
        assert_eq!(Seen::read(directory.path())?, Seen::Damaged);
        // It goes on from where it was, and over the older one.
        std::fs::write(&path, &whole)?;
        let witness = Witness::open(directory.path(), &Seen::Slot(slot(5)), slot(6))?;
        assert_eq!(Seen::read(directory.path())?, Seen::Slot(slot(6)));
        witness.close(slot(6))?;
        assert_eq!(Seen::read(directory.path())?, Seen::Slot(Slot { is_closed: true, ..slot(6) }));
        Ok(())
    }

    #[test]
    fn a_store_is_refused_that_is_another_one_or_has_come_less_far() {
        let judge =
            |seen: Slot, found: Slot, sum: Sum| judge(Path::new("d"), &Seen::Slot(seen), &found, None, || Ok(sum));
        let found = slot(5);
        assert!(judge(slot(5), found, found.sum).is_ok() && judge(slot(4), found, found.sum).is_ok());
        assert!(matches!(
            judge(slot(7), found, found.sum),
            Err(Error::StoreBehind { commits: 2, found: Seq(10), expected: Seq(14), .. })
        ));
        let other = Slot { epoch: Epoch(8), ..found };
        for (seen, found, sum) in
            [(other, found, found.sum), (found, Slot { sum: Sum(1), ..found }, Sum(1)), (slot(4), found, Sum(1))]
        {
            assert!(matches!(judge(seen, found, sum), Err(Error::StoreDamaged { .. })));
        }
    }
}
