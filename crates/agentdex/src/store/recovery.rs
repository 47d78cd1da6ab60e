//! `Undo`: data overwritten by sled's recovery, preserved until the store is verified.
//!
//! sled treats the first unreadable message of its log as the end, overwrites everything after it, and removes the
//! corresponding large pages. So a single wrong bit in the middle destroys all later writes. Therefore the end that
//! sled will find is first determined here in the same way, and the data behind it is preserved in a folder. A store
//! that falls short of its witness is restored to its previous state.
//!
//! Nothing of this outlives the process. If the process is killed at this moment, the store is as left by the
//! recovery, and the witness still refuses it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

use crc32fast::Hasher;

use super::directory::{SEGMENT_BYTES, STORE};

/// Folder of the preserved data, within the data directory.
const FOLDER: &str = "store.undo";
pub(super) const SEGMENT: u64 = SEGMENT_BYTES as u64;
/// The bytes of the head of a segment, and the most of that of a message.
pub(super) const SEGMENT_HEAD: u64 = 20;
const MESSAGE_HEAD: u64 = 32;

/// Relevant kinds of messages; all other kinds carry a page or a part of a page.
const CORRUPTED: u8 = 0;
const CAP: u8 = 2;
const MANIFEST: u8 = 3;
const BLOBS: [u8; 3] = [7, 9, 11];
pub(super) const LAST_KIND: u8 = 11;

/// Number of bytes read by sled for a head.
const READ_AT_ONCE: usize = 128;

/// Parts of a store that a recovery overwrites.
pub(super) struct Undo {
    store: PathBuf,
    kept: PathBuf,
    /// The number of the log's file, and its length.
    inode: u64,
    length: u64,
    /// Preserved parts, with their places in a separate file.
    parts: Vec<(u64, u64)>,
    snapshots: BTreeSet<String>,
    blobs: Vec<String>,
    /// Marks of messages after the truncated end of the log: offsets and lengths.
    behind: Vec<(u64, u64)>,
    /// Possible ends of the complete part of the log, if it doesn't end at the end found by a recovery; the most
    /// likely end comes first.
    pub ends: Vec<i64>,
}

impl Undo {
    /// Preserves the data that the recovery of a store would overwrite if the log ended at `end`, or at its current
    /// end.
    pub fn keep(directory: &Path, end: Option<i64>) -> io::Result<Undo> {
        let kept = Undo::keep_in(directory, end);
        if kept.is_err()
            && let Err(error) = clean(directory)
        {
            tracing::warn!(%error, "files saved before the recovery of the store can't be removed");
        }
        kept
    }

    fn keep_in(directory: &Path, end: Option<i64>) -> io::Result<Undo> {
        let (store, kept) = (directory.join(STORE), directory.join(FOLDER));
        clean(directory)?;
        fs::create_dir(&kept)?;
        let log = File::open(store.join("db"))?;
        let (inode, length) = (log.metadata()?.ino(), log.metadata()?.len());
        let snapshots = names(&store)?.into_iter().filter(|name| lsn_of_snapshot(name).is_some()).collect();
        let (parts, blobs, behind) = (Vec::new(), Vec::new(), Vec::new());
        let mut undo = Undo { store, kept, inode, length, parts, snapshots, blobs, behind, ends: Vec::new() };
        for name in &undo.snapshots {
            copy(&undo.store.join(name), &undo.kept.join(name))?;
        }
        let begin = undo.snapshots.iter().filter_map(|name| lsn_of_snapshot(name)).max().unwrap_or_default();
        let end = Log { file: &log, length, blobs: undo.store.join("blobs") }.end(begin, end)?;
        (undo.behind, undo.ends) = (end.behind, end.ends);
        let copy_of_log = File::create(undo.kept.join("db"))?;
        for (start, length) in end.overwritten {
            if copy_part(&log, &copy_of_log, start, length.min(undo.length.saturating_sub(start)))? {
                undo.parts.push((start, length));
            }
        }
        for name in names(&undo.store.join("blobs"))? {
            if name.parse::<i64>().is_ok_and(|lsn| lsn >= end.lsn) {
                copy(&undo.store.join("blobs").join(&name), &undo.kept.join(&name))?;
                undo.blobs.push(name);
            }
        }
        Ok(undo)
    }

    /// Truncates the log at the given end, by overwriting the marks of later messages.
    pub fn end_log(&self) -> io::Result<()> {
        let log = File::options().write(true).open(self.store.join("db"))?;
        for (start, length) in &self.behind {
            log.write_all_at(&vec![0; *length as usize], *start)?;
        }
        log.sync_all()
    }

    /// Restores all preserved data. The store must not be open.
    pub fn put_back(self) -> io::Result<()> {
        let log = File::options().write(true).open(self.store.join("db"))?;
        if log.metadata()?.ino() != self.inode {
            // It was upgraded: there is another one in its place, which is whole.
            return self.forget();
        }
        let kept = File::open(self.kept.join("db"))?;
        for (start, length) in &self.parts {
            copy_part(&kept, &log, *start, (*length).min(self.length.saturating_sub(*start)))?;
        }
        log.set_len(self.length)?;
        log.sync_all()?;
        for name in names(&self.store)? {
            if name.starts_with("snap.") && !self.snapshots.contains(&name) {
                fs::remove_file(self.store.join(name))?;
            }
        }
        for name in &self.snapshots {
            put(&self.kept.join(name), &self.store.join(name))?;
        }
        for name in &self.blobs {
            put(&self.kept.join(name), &self.store.join("blobs").join(name))?;
        }
        File::open(&self.store)?.sync_all()?;
        self.forget()
    }

    /// Deletes the preserved data.
    pub fn forget(self) -> io::Result<()> {
        fs::remove_dir_all(&self.kept)
    }
}

/// Removes leftovers of a process that was killed while opening the store.
pub(super) fn clean(directory: &Path) -> io::Result<()> {
    remove_folder(&directory.join(FOLDER))
}

/// Removes a folder, if it is there.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Position at which a recovery will end.
struct End {
    /// Position after the last byte accepted by the recovery.
    lsn: i64,
    /// Overwritten parts of the file: start and length.
    overwritten: Vec<(u64, u64)>,
    /// Marks of messages after the given end: offsets and lengths.
    behind: Vec<(u64, u64)>,
    /// Possible ends of the complete part of the log.
    ends: Vec<i64>,
}

/// sled's log, as its recovery reads it.
pub(super) struct Log<'f> {
    pub file: &'f File,
    pub length: u64,
    pub blobs: PathBuf,
}

/// A message of the log, as far as a recovery cares.
pub(super) enum Message {
    /// A readable message, with its length in bytes.
    Whole(u64),
    /// A readable message whose large page has no file.
    WithoutPage(u64),
    /// Last position of a batch that begins here, and the length of the message in bytes.
    Manifest(i64, u64),
    /// The segment ends here.
    Cap,
    /// Something that can't be read.
    Bad,
    /// Something at which the whole recovery ends.
    Fatal,
}

/// The segments of a log.
struct Segments {
    /// File offsets of the segments used by a recovery, by their positions.
    taken: BTreeMap<i64, u64>,
    /// The heads of those behind the end: place and length.
    heads_behind: Vec<(u64, u64)>,
    /// Highest position recorded as stable by a segment.
    stable: i64,
}

/// A segment being read.
struct Segment {
    offset: u64,
    bytes: Vec<u8>,
}

/// The way of a recovery through segments by their positions.
struct Walk {
    segments: BTreeMap<i64, u64>,
    current: Option<Segment>,
    lsn: Option<i64>,
    last: Option<i64>,
    /// True to continue with the next segment after unreadable data.
    passes_over_bad: bool,
    /// Last two batches, and missing parts since their beginning.
    before: Batch,
    batch: Batch,
}

/// A batch of writes: those of a commit.
#[derive(Debug, Clone, Copy, Default)]
struct Batch {
    /// First and last position.
    first: i64,
    last: i64,
    /// First missing position since the batch began, and since it ended.
    missing: Option<i64>,
    missing_behind: Option<i64>,
}

impl Walk {
    fn new(segments: BTreeMap<i64, u64>, last: Option<i64>, passes_over_bad: bool) -> Walk {
        let (before, batch) = (Batch::default(), Batch::default());
        Walk { segments, current: None, lsn: None, last, passes_over_bad, before, batch }
    }

    /// Returns the possible ends of the complete part of the log.
    fn ends(&self) -> Vec<i64> {
        let Batch { first, missing, .. } = self.batch;
        let without_last = missing.and(Some(first)).filter(|first| *first > 0);
        [missing, without_last, self.before.missing_behind].into_iter().flatten().collect()
    }
}

impl Batch {
    /// Notes that something is missing at a position.
    fn miss(&mut self, lsn: i64) {
        self.missing.get_or_insert(lsn);
        if lsn > self.last {
            self.missing_behind.get_or_insert(lsn);
        }
    }
}

impl Log<'_> {
    /// Returns the end of a recovery that continues from a snapshot, for a log that ends at `end`, if given.
    fn end(&self, begin: i64, end: Option<i64>) -> io::Result<End> {
        let size = i64::try_from(SEGMENT).unwrap_or(i64::MAX);
        let begin = begin / size * size;
        let found = self.segments(begin, end.unwrap_or(i64::MAX))?;
        let Segments { taken: segments, heads_behind: mut behind, stable } = found;
        let lowest = (stable / size * size).max(0);
        let (mut expected, mut missing) = (lowest, None);
        let mut tail = BTreeMap::new();
        for (lsn, offset) in segments.range(lowest..) {
            if *lsn != expected {
                missing = Some(expected);
                break;
            }
            tail.insert(*lsn, *offset);
            expected += size;
        }
        let last = [missing, end.map(|end| end - 1)].into_iter().flatten().min();
        let last = self.walk(Walk::new(tail, last, false))?.lsn.unwrap_or(0) - 1;
        let walk = self.walk(Walk::new(segments, Some(last), true))?;
        let lsn = walk.lsn.unwrap_or(begin);
        let ends = walk.ends();
        let not_taken = walk.segments.into_values().map(|offset| (offset, SEGMENT));
        let mut overwritten: Vec<(u64, u64)> =
            not_taken.chain(behind.iter().map(|(offset, _)| (*offset, SEGMENT))).collect();
        let progress = lsn.rem_euclid(size) as u64;
        if let Some(segment) = walk.current.filter(|_| progress + MESSAGE_HEAD <= SEGMENT) {
            overwritten.push((segment.offset + progress, SEGMENT - progress));
            if end == Some(lsn) {
                behind.push((segment.offset + progress, MESSAGE_HEAD));
            }
        }
        Ok(End { lsn, overwritten, behind, ends })
    }

    /// The segments from a position on, up to an end.
    fn segments(&self, begin: i64, end: i64) -> io::Result<Segments> {
        let mut found = Segments { taken: BTreeMap::new(), heads_behind: Vec::new(), stable: begin };
        let mut offset = 0;
        while self.length.saturating_sub(offset) >= SEGMENT_HEAD {
            let mut head = [0; SEGMENT_HEAD as usize];
            self.file.read_exact_at(&mut head, offset)?;
            if let Some((lsn, known)) = head_of_segment(&head).filter(|(lsn, _)| *lsn >= begin) {
                if lsn >= end {
                    found.heads_behind.push((offset, SEGMENT_HEAD));
                } else {
                    found.stable = found.stable.max(known);
                    found.taken.insert(lsn, offset);
                }
            }
            offset += SEGMENT;
        }
        Ok(found)
    }

    fn walk(&self, mut walk: Walk) -> io::Result<Walk> {
        let size = i64::try_from(SEGMENT).unwrap_or(i64::MAX);
        loop {
            let place = walk.lsn.unwrap_or(0).rem_euclid(size) as u64;
            if !(SEGMENT_HEAD..=SEGMENT - MESSAGE_HEAD).contains(&place) {
                walk.current = None;
            }
            if walk.current.is_none() {
                let next = walk.segments.first_key_value().map(|(lsn, offset)| (*lsn, *offset));
                let Some((lsn, offset)) = next.filter(|(lsn, _)| walk.last.is_none_or(|last| *lsn <= last)) else {
                    return Ok(walk);
                };
                let length = SEGMENT.min(self.length.saturating_sub(offset));
                let mut bytes = vec![0; length as usize];
                self.file.read_exact_at(&mut bytes, offset)?;
                if let Some(gap) = walk.lsn.filter(|before| (before - 1) / size * size + size != lsn) {
                    walk.batch.miss(gap);
                }
                walk.lsn = Some(lsn + SEGMENT_HEAD as i64);
                walk.current = Some(Segment { offset, bytes });
                walk.segments.remove(&lsn);
            }
            let (Some(segment), Some(lsn)) = (&walk.current, walk.lsn) else { return Ok(walk) };
            if walk.last.is_some_and(|last| lsn > last) {
                return Ok(walk);
            }
            let (place, number) = (lsn.rem_euclid(size) as usize, lsn / size);
            match self.message(&segment.bytes, place, number as u64) {
                Message::Whole(length) => walk.lsn = Some(lsn + length as i64),
                Message::WithoutPage(length) => {
                    walk.batch.miss(lsn);
                    walk.lsn = Some(lsn + length as i64);
                }
                Message::Manifest(last, length) => {
                    if walk.last.is_some_and(|end| last > end) {
                        return Ok(walk);
                    }
                    walk.before = walk.batch;
                    walk.batch = Batch { first: lsn, last, ..Batch::default() };
                    walk.lsn = Some(lsn + length as i64);
                }
                Message::Cap => walk.current = None,
                Message::Bad if walk.passes_over_bad => {
                    walk.current = None;
                    walk.batch.miss(lsn);
                }
                Message::Bad | Message::Fatal => return Ok(walk),
            }
        }
    }

    /// Returns the message at an offset of a segment.
    pub fn message(&self, segment: &[u8], place: usize, number: u64) -> Message {
        let rest = segment.get(place..).unwrap_or_default();
        // sled reads zeros where a file ends too early.
        let mut padded = [0; READ_AT_ONCE];
        padded.iter_mut().zip(rest).for_each(|(byte, read)| *byte = *read);
        let Some((head, crc)) = Head::read(&padded) else { return Message::Fatal };
        let room = SEGMENT_BYTES.saturating_sub(place + head.bytes);
        let is_known = head.kind != CORRUPTED && head.kind <= LAST_KIND;
        if head.length > room as u64 || !is_known || head.segment != number {
            return Message::Bad;
        }
        let end = head.bytes + head.length as usize;
        let rest = if end <= READ_AT_ONCE { &padded[..] } else { rest };
        let Some(body) = rest.get(head.bytes..end) else { return Message::Fatal };
        let mut hasher = Hasher::new();
        hasher.update(body);
        hasher.update(rest.get(4..head.bytes).unwrap_or_default());
        if hasher.finalize() ^ u32::MAX != crc {
            return Message::Bad;
        }
        let whole = end as u64;
        match head.kind {
            CAP => Message::Cap,
            MANIFEST => {
                body.first_chunk().map_or(Message::Fatal, |lsn| Message::Manifest(i64::from_le_bytes(*lsn), whole))
            }
            kind if BLOBS.contains(&kind) => match body.first_chunk().map(|lsn| self.blob(i64::from_le_bytes(*lsn))) {
                Some(Ok(())) => Message::Whole(whole),
                Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Message::WithoutPage(whole),
                _ => Message::Fatal,
            },
            _ => Message::Whole(whole),
        }
    }

    /// Returns the number of a segment, as stored in its first message.
    pub fn number_of(&self, segment: &[u8]) -> Option<u64> {
        let place = SEGMENT_HEAD as usize;
        let (head, _) = Head::read(segment.get(place..)?)?;
        match self.message(segment, place, head.segment) {
            Message::Whole(_) | Message::WithoutPage(_) | Message::Manifest(..) | Message::Cap => Some(head.segment),
            Message::Bad | Message::Fatal => None,
        }
    }

    /// Fails for a large page that can't be read.
    fn blob(&self, lsn: i64) -> io::Result<()> {
        let mut bytes = Vec::new();
        File::open(self.blobs.join(lsn.to_string()))?.read_to_end(&mut bytes)?;
        let Some((crc, rest)) = bytes.split_first_chunk() else { return Err(io::ErrorKind::InvalidData.into()) };
        match crc32fast::hash(rest) == u32::from_le_bytes(*crc) {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The head of a message.
struct Head {
    kind: u8,
    length: u64,
    segment: u64,
    /// Length of the payload in bytes.
    bytes: usize,
}

impl Head {
    /// Returns the head and the checksum of a message, or `None` if the data is too short.
    fn read(bytes: &[u8]) -> Option<(Head, u32)> {
        let crc = u32::from_le_bytes(*bytes.first_chunk()?);
        let kind = *bytes.get(4)?;
        let mut place = 5;
        let mut next = || {
            let (number, length) = number(bytes.get(place..)?)?;
            place += length;
            Some(number)
        };
        let (length, segment, _page) = (next()?, next()?, next()?);
        Some((Head { kind, length, segment, bytes: place }, crc))
    }
}

/// An integer of variable length, and how many bytes it takes.
pub(super) fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let (first, second, third) = (*bytes.first()?, bytes.get(1).copied(), bytes.get(2).copied());
    match first {
        0..=240 => Some((u64::from(first), 1)),
        241..=248 => Some((240 + 256 * (u64::from(first) - 241) + u64::from(second?), 2)),
        249 => Some((2288 + 256 * u64::from(second?) + u64::from(third?), 3)),
        250.. => {
            let length = usize::from(first) - 247;
            let mut number = [0; 8];
            number.get_mut(..length)?.copy_from_slice(bytes.get(1..=length)?);
            Some((u64::from_le_bytes(number), length + 1))
        }
    }
}

/// Returns the position of a segment and the position it records as stable, or `None` for an invalid head.
pub(super) fn head_of_segment(head: &[u8; SEGMENT_HEAD as usize]) -> Option<(i64, i64)> {
    let (crc, rest) = head.split_first_chunk()?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*crc) ^ u32::MAX {
        return None;
    }
    let lsn = |at: usize| Some(i64::from_le_bytes(*rest.get(at..)?.first_chunk()?) ^ i64::MAX);
    Some((lsn(0)?, lsn(8)?))
}

/// The position in the name of a snapshot.
pub(super) fn lsn_of_snapshot(name: &str) -> Option<i64> {
    let digits = name.strip_prefix("snap.")?;
    i64::from_str_radix(digits, 16).ok()
}

/// Returns the names of the files in a folder, or an empty list if the folder doesn't exist.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

/// Keeps a file that is never written again, but removed.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
}

/// Copies a file unless it already exists.
pub(super) fn put(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() { Ok(()) } else { copy(from, to) }
}

/// Copies a part of a file to the same place of another, and says if it isn't all zeros.
fn copy_part(from: &File, to: &File, start: u64, length: u64) -> io::Result<bool> {
    let (mut part, mut done, mut is_used) = (vec![0; SEGMENT_BYTES], 0, false);
    while done < length {
        let bytes = part.get_mut(..(length - done).min(SEGMENT) as usize).unwrap_or_default();
        from.read_exact_at(bytes, start + done)?;
        if bytes.iter().any(|byte| *byte != 0) {
            is_used = true;
            to.write_all_at(bytes, start + done)?;
        }
        done += bytes.len() as u64;
    }
    Ok(is_used)
}
