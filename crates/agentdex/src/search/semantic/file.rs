//! File of vectors: an append-only sequence of records. The last record of a Thing is the valid one.
//!
//! After [`MAGIC`], the hash of the model (8 bytes), and the number of dimensions (4), each record consists of its
//! length (4), a checksum (8), and its content, which begins with a kind (1). All numbers are little-endian. Bytes
//! after the last complete record are truncated. The file is rewritten when more than half of it is obsolete.
//!
//! The file is mapped into memory, so vectors are read in place. Only flushed bytes are read, and a replaced file
//! lives until its last reader is gone.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use tantivy::directory::{Directory, MmapDirectory, OwnedBytes};

use super::{
    scan::Quantized,
    vectors::{Rows, Vectors},
};
use crate::{
    Error, Result,
    change::{Epoch, Position, Seq},
};

const MAGIC: [u8; 8] = *b"ADXVEC01";
/// A longer record is damaged.
const LONGEST_RECORD: usize = 16 * 1024 * 1024;
/// The length and the checksum before each record.
const HEAD_OF_RECORD: u64 = 12;
/// Minimum number of obsolete bytes for rewriting a file.
const FEWEST_OUTDATED: u64 = 4 * 1024 * 1024;

const PUT: u8 = 0;
const REMOVE: u8 = 1;
const POSITION: u8 = 2;
const NO_POSITION: u8 = 3;

/// The hash and the number of dimensions of the model.
type ModelKey = (u64, usize);

/// The file, at its end.
pub(super) struct VectorFile {
    path: PathBuf,
    model: ModelKey,
    file: BufWriter<File>,
    length: u64,
    /// Number of bytes that were certainly flushed to the operating system.
    flushed: u64,
}

impl VectorFile {
    /// Opens the file, and returns it with its vectors and position. Creates an empty file if there is no file of this
    /// model.
    pub fn open(path: PathBuf, model: ModelKey) -> Result<(VectorFile, Vectors, Option<Position>)> {
        Self::read(&path, model).map_err(io_error(&path))
    }

    fn read(path: &Path, model: ModelKey) -> io::Result<(VectorFile, Vectors, Option<Position>)> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        private().append(true).create(true).open(path)?;
        let bytes = mapped(path)?;
        let mut contents = Contents::of(&bytes, model);
        if contents.length < bytes.len() as u64 {
            // A search may still read the file, of which nothing may be cut off then: it gets another.
            let new = path.with_extension("new");
            let mut file = private().write(true).create(true).truncate(true).open(&new)?;
            file.write_all(bytes.get(..contents.length as usize).unwrap_or_default())?;
            fs::rename(&new, path)?;
            contents = Contents::of(&mapped(path)?, model);
        }
        let mut length = contents.length;
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        file.seek(SeekFrom::Start(length))?;
        if length == 0 {
            file.write_all(&header(model))?;
            length = header(model).len() as u64;
        }
        let file =
            VectorFile { path: path.into(), model, file: BufWriter::new(file), length, flushed: contents.length };
        Ok((file, contents.vectors, contents.position))
    }

    /// Appends the vectors of a Thing, and returns their offset in bytes.
    pub fn put(&mut self, id: &str, rows: &Rows) -> Result<u64> {
        let place = self.length + HEAD_OF_RECORD + before_rows(id);
        self.write(&put_record(id, rows))?;
        Ok(place)
    }

    /// Records that a Thing no longer has vectors.
    pub fn remove(&mut self, id: &str) -> Result<()> {
        self.write(&[&[REMOVE], id.as_bytes()].concat())
    }

    /// Marks the file as incomplete.
    pub fn forget_position(&mut self) -> Result<()> {
        self.write(&[NO_POSITION])
    }

    /// Records the position and flushes the buffer to the operating system or, if `durable`, to the disk. `vectors`
    /// contains all vectors. If the file was rewritten, returns its new content.
    pub fn commit(&mut self, position: Position, durable: bool, vectors: &Vectors) -> Result<Option<Vectors>> {
        self.write(&position_record(position))?;
        let path = self.path.clone();
        self.flush(durable).map_err(io_error(&path))?;
        let useful = vectors.used_rows() as u64 * (self.model.1 as u64 + 4) + vectors.len() as u64 * 64;
        if self.length <= 2 * useful + FEWEST_OUTDATED {
            return Ok(None);
        }
        self.write_again(position, vectors).map_err(io_error(&path))?;
        let bytes = self.mapped()?;
        Ok(Some(Contents::of(&bytes, self.model).vectors))
    }

    /// Verifies the checksums of the flushed part of the file.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn is_whole(&self) -> Result<bool> {
        let bytes = self.mapped()?;
        let header = header(self.model);
        let Some(mut rest) = bytes.strip_prefix(header.as_slice()) else { return Ok(self.flushed == 0) };
        while let Some((_, after)) = next_record(rest) {
            rest = after;
        }
        Ok((bytes.len() - rest.len()) as u64 >= self.flushed)
    }

    /// Maps the flushed part of the file into memory.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn mapped(&self) -> Result<OwnedBytes> {
        mapped(&self.path).map_err(io_error(&self.path))
    }

    fn flush(&mut self, durable: bool) -> io::Result<()> {
        self.file.flush()?;
        self.flushed = self.length;
        if durable { self.file.get_ref().sync_data() } else { Ok(()) }
    }

    fn write(&mut self, record: &[u8]) -> Result<()> {
        self.length += write_record(&mut self.file, record).map_err(io_error(&self.path))?;
        Ok(())
    }

    fn write_again(&mut self, position: Position, vectors: &Vectors) -> io::Result<()> {
        let path = self.path.with_extension("new");
        let file = private().write(true).create(true).truncate(true).open(&path)?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&header(self.model))?;
        let mut length = header(self.model).len() as u64;
        for id in vectors.ids() {
            if let Some(rows) = vectors.find(id) {
                length += write_record(&mut file, &put_record(id, &rows))?;
            }
        }
        length += write_record(&mut file, &position_record(position))?;
        file.flush()?;
        file.get_ref().sync_data()?;
        fs::rename(&path, &self.path)?;
        (self.file, self.length, self.flushed) = (file, length, length);
        Ok(())
    }
}

/// Returns options for creating a file accessible only to its owner, even in a directory with wider access.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file as it is now. Each has a directory of its own, since a directory gives the same bytes while someone reads them.
fn mapped(path: &Path) -> io::Result<OwnedBytes> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let directory = MmapDirectory::open(parent).map_err(io::Error::other)?;
    directory.open_read(Path::new(name)).map_err(io::Error::other)?.read_bytes()
}

fn header(model: ModelKey) -> Vec<u8> {
    [MAGIC.as_slice(), &model.0.to_le_bytes(), &(model.1 as u32).to_le_bytes()].concat()
}

/// The bytes of a record of a Thing before its vectors: the kind, the length of the id, the id, the source.
fn before_rows(id: &str) -> u64 {
    (1 + 4 + id.len() + 8) as u64
}

fn put_record(id: &str, rows: &Rows) -> Vec<u8> {
    let mut record = vec![PUT];
    record.extend((id.len() as u32).to_le_bytes());
    record.extend(id.as_bytes());
    record.extend(rows.source.to_le_bytes());
    for row in &rows.rows {
        record.extend(row.scale.to_le_bytes());
        record.extend(row.values.iter().map(|value| value.cast_unsigned()));
    }
    record
}

/// Returns the last position in the file of vectors, or `None` if there is no readable file.
pub fn position_of_vectors(path: &Path) -> Option<Position> {
    let bytes = mapped(path).ok()?;
    let (mut position, mut rest) = (None, bytes.get(header((0, 0)).len()..)?);
    while let Some((record, after)) = next_record(rest) {
        match record.split_first() {
            Some((&POSITION, record)) => position = Some(read_position(record)?),
            Some((&NO_POSITION, _)) => position = None,
            _ => {}
        }
        rest = after;
    }
    position
}

fn read_position(record: &[u8]) -> Option<Position> {
    let (epoch, seq) = record.split_first_chunk::<8>()?;
    let seq = Seq(u64::from_le_bytes(seq.try_into().ok()?));
    Some(Position { epoch: Epoch(u64::from_le_bytes(*epoch)), seq })
}

fn position_record(position: Position) -> Vec<u8> {
    [[POSITION].as_slice(), &position.epoch.0.to_le_bytes(), &position.seq.0.to_le_bytes()].concat()
}

fn write_record(file: &mut impl Write, record: &[u8]) -> io::Result<u64> {
    file.write_all(&(record.len() as u32).to_le_bytes())?;
    file.write_all(&checksum(record).to_le_bytes())?;
    file.write_all(record)?;
    Ok(record.len() as u64 + HEAD_OF_RECORD)
}

/// Returns the next complete record and the bytes after it, or `None` if there is no complete record.
fn next_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let length = Some(u32::from_le_bytes(*length) as usize).filter(|length| *length <= LONGEST_RECORD)?;
    let (record, rest) = rest.split_at_checked(length)?;
    (checksum(record) == u64::from_le_bytes(*sum)).then_some((record, rest))
}

/// Vectors and log position, read from the records of a file.
struct Contents {
    vectors: Vectors,
    position: Option<Position>,
    /// End of the last complete record; 0 for a file of another model.
    length: u64,
}

impl Contents {
    fn of(bytes: &OwnedBytes, model: ModelKey) -> Contents {
        let mut contents = Contents { vectors: Vectors::new(model.1), position: None, length: 0 };
        let header = header(model);
        let Some(mut rest) = bytes.strip_prefix(header.as_slice()) else { return contents };
        contents.length = header.len() as u64;
        contents.vectors.map(bytes.clone());
        while let Some((record, after)) = next_record(rest) {
            if contents.apply(record, model.1).is_none() {
                break;
            }
            contents.length += record.len() as u64 + HEAD_OF_RECORD;
            rest = after;
        }
        contents
    }

    /// Applies the record at [`Contents::length`]. Returns `None` if it is invalid.
    fn apply(&mut self, record: &[u8], dimensions: usize) -> Option<()> {
        let (kind, rest) = record.split_first()?;
        match *kind {
            PUT => {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                let (id, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                let (source, rows) = rest.split_first_chunk::<8>()?;
                let rows = rows.chunks(dimensions + 4).map(|row| {
                    let (scale, values) = row.split_first_chunk::<4>()?;
                    let values: Vec<i8> = values.iter().map(|value| value.cast_signed()).collect();
                    (values.len() == dimensions).then(|| Quantized { values, scale: f32::from_le_bytes(*scale) })
                });
                let rows = Rows { source: u64::from_le_bytes(*source), rows: rows.collect::<Option<_>>()? };
                let id = std::str::from_utf8(id).ok()?;
                self.vectors.put(id, &rows, Some(self.length + HEAD_OF_RECORD + before_rows(id)));
            }
            REMOVE => self.vectors.remove(std::str::from_utf8(rest).ok()?),
            POSITION => self.position = Some(read_position(rest)?),
            NO_POSITION => self.position = None,
            _ => return None,
        }
        Some(())
    }
}

/// Computes a checksum, by which incompletely written records are detected.
fn checksum(record: &[u8]) -> u64 {
    record.chunks(8).fold(record.len() as u64, |sum, chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        (sum.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let doing = format!("writing {}", path.display());
    move |source| Error::Io { doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: ModelKey = (7, 3);

    fn rows(vectors: &[[f32; 3]]) -> Rows {
        Rows { source: 9, rows: vectors.iter().map(|vector| Quantized::new(vector)).collect() }
    }

    fn position(seq: u64) -> Position {
        Position { epoch: Epoch(5), seq: Seq(seq) }
    }

    #[test]
    fn what_was_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vectors/all");
        let (mut file, mut vectors, none) = VectorFile::open(path.clone(), MODEL).unwrap();
        assert_eq!(none, None);
        let two = rows(&[[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]]);
        for id in ["urn:a", "urn:b"] {
            file.put(id, &two).unwrap();
            vectors.put(id, &two, None);
        }
        file.remove("urn:b").unwrap();
        file.commit(position(4), true, &vectors).unwrap();
        drop(file);
        let (mut file, vectors, found) = VectorFile::open(path.clone(), MODEL).unwrap();
        assert_eq!((found, vectors.len(), vectors.find("urn:a")), (Some(position(4)), 1, Some(two)));
        file.forget_position().unwrap();
        drop(file);
        assert_eq!(VectorFile::open(path.clone(), MODEL).unwrap().2, None);
        let (_, vectors, found) = VectorFile::open(path, (8, 3)).unwrap();
        assert_eq!((found, vectors.len()), (None, 0), "another model");
    }

    #[test]
    fn damage_is_found_while_the_file_is_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vectors");
        let (mut file, mut vectors, _) = VectorFile::open(path.clone(), MODEL).unwrap();
        assert!(file.is_whole().unwrap());
        for number in 0..20 {
            let (id, rows) = (format!("urn:{number}"), rows(&[[1.0, number as f32, 0.0]]));
            file.put(&id, &rows).unwrap();
            vectors.put(&id, &rows, None);
        }
        file.commit(position(1), false, &vectors).unwrap();
        // What isn't written yet isn't missing.
        file.put("urn:a", &rows(&[[1.0, 0.0, 0.0]])).unwrap();
        assert!(file.is_whole().unwrap());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&path, damaged).unwrap();
            assert!(!file.is_whole().unwrap(), "{at}");
        }
    }

    #[test]
    fn a_torn_end_is_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vectors");
        let (mut file, vectors, _) = VectorFile::open(path.clone(), MODEL).unwrap();
        file.put("urn:a", &rows(&[[1.0, 0.0, 0.0]])).unwrap();
        file.commit(position(1), false, &vectors).unwrap();
        let whole = fs::metadata(&path).unwrap().len();
        file.put("urn:b", &rows(&[[1.0, 0.0, 0.0]])).unwrap();
        file.commit(position(2), false, &vectors).unwrap();
        drop(file);
        let bytes = fs::read(&path).unwrap();
        for cut in [bytes.len() - 1, whole as usize + 5] {
            fs::write(&path, &bytes[..cut]).unwrap();
            let (file, ..) = VectorFile::open(path.clone(), MODEL).unwrap();
            drop(file);
            let (_, vectors, found) = VectorFile::open(path.clone(), MODEL).unwrap();
            assert!(vectors.find("urn:a").is_some());
            assert_eq!(found, Some(position(1)));
        }
        let mut damaged = bytes;
        damaged[40] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert_eq!(VectorFile::open(path, MODEL).unwrap().2, None);
    }

    #[test]
    fn vectors_are_read_where_the_file_has_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vectors");
        let (mut file, mut vectors, _) = VectorFile::open(path.clone(), MODEL).unwrap();
        let of = |number: u32| rows(&[[number as f32, 1.0, 0.0], [0.0, number as f32, 2.0]]);
        for number in 0..40_000 {
            let id = format!("urn:{}", number % 30_000);
            let place = file.put(&id, &of(number)).unwrap();
            vectors.put(&id, &of(number), Some(place));
        }
        file.commit(position(1), false, &vectors).unwrap();
        assert!(vectors.should_be_mapped());
        vectors.map(file.mapped().unwrap());
        assert!(!vectors.should_be_mapped());
        drop(file);
        let (_, read, _) = VectorFile::open(path.clone(), MODEL).unwrap();
        assert!(!read.should_be_mapped());
        // A reader goes on while a torn end is cut off.
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len() / 2);
        fs::write(path.with_extension("torn"), bytes).unwrap();
        fs::rename(path.with_extension("torn"), &path).unwrap();
        let (_, half, _) = VectorFile::open(path.clone(), MODEL).unwrap();
        fs::write(path.with_extension("torn"), b"ADXVEC01").unwrap();
        fs::rename(path.with_extension("torn"), &path).unwrap();
        let (_, none, _) = VectorFile::open(path, MODEL).unwrap();
        assert_eq!(none.len(), 0);
        for (number, expected) in [(0, 30_000), (9_999, 39_999), (10_000, 10_000), (29_999, 29_999)] {
            let id = format!("urn:{number}");
            assert_eq!(vectors.find(&id), Some(of(expected)), "{id}");
            assert_eq!(read.find(&id), Some(of(expected)), "{id}");
        }
        assert_eq!(half.find("urn:0"), Some(of(0)));
    }

    #[test]
    fn what_is_out_of_date_does_not_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vectors");
        let (mut file, mut vectors, _) = VectorFile::open(path.clone(), MODEL).unwrap();
        let many = rows(&vec![[0.0, 1.0, 0.0]; 100_000]);
        for seq in 1..=20 {
            file.put("urn:a", &many).unwrap();
            vectors.put("urn:a", &many, None);
            file.commit(position(seq), false, &vectors).unwrap();
        }
        assert!(fs::metadata(&path).unwrap().len() < 8 * 1024 * 1024);
        file.put("urn:b", &rows(&[[1.0, 0.0, 0.0]])).unwrap();
        file.commit(position(21), false, &vectors).unwrap();
        drop(file);
        let (_, vectors, found) = VectorFile::open(path, MODEL).unwrap();
        assert_eq!((found, vectors.used_rows()), (Some(position(21)), 100_001));
    }
}
