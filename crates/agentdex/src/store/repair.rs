//! Repair of a copied log, so that sled continues to read after damaged parts.
//!
//! sled's recovery stops at the first unreadable message, or skips the rest of its segment. Therefore such a message
//! is replaced by a canceled message that extends to the next readable one, and the head of a segment is
//! reconstructed from its messages. Parts of the result may be outdated, so texts are then compared with their
//! digests, and the whole store with its witness.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use super::{
    directory::{SEGMENT_BYTES, STORE},
    recovery::{LAST_KIND, Log, Message, SEGMENT, SEGMENT_HEAD, head_of_segment, lsn_of_snapshot, names},
};

/// The place of the kind in a message.
const KIND: usize = 4;
/// Kind of a message to be skipped.
const CANCELED: u8 = 1;

/// Removes files of a copy that sled recreates from its log: its snapshot, which may refer to unreadable pages, and
/// its configuration.
pub(super) fn forget(directory: &Path) -> io::Result<()> {
    let store = directory.join(STORE);
    // sled counts the segments that are there as a whole.
    let log = File::options().write(true).open(store.join("db"))?;
    log.set_len(log.metadata()?.len().next_multiple_of(SEGMENT))?;
    let names = names(&store)?;
    names
        .iter()
        .filter(|name| *name == "conf" || lsn_of_snapshot(name).is_some())
        .try_for_each(|name| fs::remove_file(store.join(name)))
}

/// Repairs the log of a copy.
pub(super) fn repair(directory: &Path) -> io::Result<()> {
    forget(directory)?;
    let store = directory.join(STORE);
    let file = File::options().read(true).write(true).open(store.join("db"))?;
    let length = file.metadata()?.len();
    let log = Log { file: &file, length, blobs: store.join("blobs") };
    let (mut known, mut headless) = (BTreeSet::new(), Vec::new());
    for offset in (0..length).step_by(SEGMENT_BYTES) {
        let mut bytes = vec![0; SEGMENT.min(length - offset) as usize];
        file.read_exact_at(&mut bytes, offset)?;
        let Some(head) = bytes.first_chunk() else { continue };
        match head_of_segment(head).filter(|(lsn, _)| *lsn >= 0 && (*lsn as u64).is_multiple_of(SEGMENT)) {
            Some((lsn, _)) => {
                known.insert(lsn);
                repair_segment(&log, offset, &bytes, lsn as u64 / SEGMENT)?;
            }
            None => headless.push((offset, bytes)),
        }
    }
    for (offset, bytes) in headless {
        let Some(number) = log.number_of(&bytes) else { continue };
        let lsn = i64::try_from(number * SEGMENT).unwrap_or(i64::MAX);
        if known.insert(lsn) {
            file.write_all_at(&made_head(lsn), offset)?;
            repair_segment(&log, offset, &bytes, number)?;
        }
    }
    file.sync_all()
}

/// Covers unreadable data between the messages of a segment.
fn repair_segment(log: &Log<'_>, offset: u64, bytes: &[u8], number: u64) -> io::Result<()> {
    let mut place = SEGMENT_HEAD as usize;
    while let Some(next) = next_place(log, bytes, place, number) {
        match next {
            Next::At(after) => place = after,
            Next::Bad => {
                let found = (place + 1..bytes.len()).find(|place| next_is_whole(log, bytes, *place, number));
                let cover = found.and_then(|found| cover(bytes, place, found, number));
                let (Some(found), Some(cover)) = (found, cover) else { return Ok(()) };
                log.file.write_all_at(&cover, offset + place as u64)?;
                place = found;
            }
        }
    }
    Ok(())
}

enum Next {
    At(usize),
    Bad,
}

/// Returns the place after a message, or `None` at the end of the segment.
fn next_place(log: &Log<'_>, bytes: &[u8], place: usize, number: u64) -> Option<Next> {
    bytes.get(place)?;
    match log.message(bytes, place, number) {
        Message::Whole(length) | Message::WithoutPage(length) | Message::Manifest(_, length) => {
            Some(Next::At(place + length as usize))
        }
        Message::Cap => None,
        Message::Bad | Message::Fatal => Some(Next::Bad),
    }
}

fn next_is_whole(log: &Log<'_>, bytes: &[u8], place: usize, number: u64) -> bool {
    // Most places are excluded by their kind.
    bytes.get(place + KIND).is_some_and(|kind| (CANCELED..=LAST_KIND).contains(kind))
        && matches!(
            log.message(bytes, place, number),
            Message::Whole(_) | Message::WithoutPage(_) | Message::Manifest(..) | Message::Cap
        )
}

/// Returns the head of a canceled message that covers a range of a segment, or `None` if the range is too small.
fn cover(bytes: &[u8], from: usize, to: usize, number: u64) -> Option<Vec<u8>> {
    let hole = to - from;
    // The longer the number of bytes that follow, the fewer there are.
    (1..=9).find_map(|width| {
        let encoded = encoded(number);
        let length = hole.checked_sub(4 + 1 + width + encoded.len() + 1)?;
        let length = self::encoded(length as u64);
        if length.len() != width {
            return None;
        }
        let signed = [&[CANCELED][..], &length, &encoded, &[0]].concat();
        let body = bytes.get(from + 4 + signed.len()..to)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(body);
        hasher.update(&signed);
        Some([&(hasher.finalize() ^ u32::MAX).to_le_bytes()[..], &signed].concat())
    })
}

/// The head of a segment.
fn made_head(lsn: i64) -> Vec<u8> {
    let rest = [lsn ^ i64::MAX, i64::MAX].map(i64::to_le_bytes).concat();
    [&(crc32fast::hash(&rest) ^ u32::MAX).to_le_bytes()[..], &rest].concat()
}

/// An integer in as many bytes as it needs.
fn encoded(number: u64) -> Vec<u8> {
    match number {
        0..=240 => vec![number as u8],
        241..=2287 => vec![((number - 240) / 256 + 241) as u8, ((number - 240) % 256) as u8],
        2288..=67823 => vec![249, ((number - 2288) / 256) as u8, ((number - 2288) % 256) as u8],
        _ => {
            let length = (8 - number.leading_zeros() as usize / 8).max(3);
            let mut bytes = vec![247 + length as u8];
            bytes.extend(number.to_le_bytes().iter().take(length));
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::recovery::number, *};

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for value in [0, 1, 240, 241, 2287, 2288, 67_823, 67_824, 0xff_ffff, 0x100_0000, u64::MAX] {
            let bytes = encoded(value);
            assert_eq!(number(&bytes), Some((value, bytes.len())), "{value}");
        }
    }
}
