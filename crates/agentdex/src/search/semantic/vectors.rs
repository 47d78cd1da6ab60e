//! Vectors of all Things, and the scan for the nearest vectors.
//!
//! A Thing has a slot, and the slot has a run of rows: a row for the Thing and a row for each capability. Replaced
//! and removed rows remain until more than half of all rows are unused; then the used rows are compacted, and slots
//! are renumbered.
//!
//! Rows are stored in blocks. The values of full blocks are read from the mapped file of vectors, so they belong to
//! the page cache rather than to the memory of the process. The values of the last block, and rows written since the
//! file was mapped, are in memory. So are 8 bytes of each row.

use std::{collections::HashMap, fmt, ops::Range, thread};

use tantivy::directory::OwnedBytes;
use zerocopy::FromBytes;

use super::scan::{Quantized, product};

/// Number of rows per allocation.
const ROWS_IN_A_BLOCK: usize = 4096;
/// The maximum number of unused rows before the others are moved together.
const FEWEST_UNUSED: usize = 4096;
/// Minimum number of rows for sharing a scan between two threads.
const ROWS_FOR_TWO_THREADS: usize = 16 * 1024;
/// Number of full blocks in memory at which the file is mapped again.
const BLOCKS_IN_MEMORY: usize = 8;
/// A row in the file: its scale in four bytes, then its values.
const BYTES_OF_SCALE: u64 = 4;
/// Marker for an unused row.
const UNUSED: u32 = u32::MAX;

/// Vectors of a Thing.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::search) struct Rows {
    /// Hash of the texts from which the vectors were computed.
    pub source: u64,
    pub rows: Vec<Quantized>,
}

/// The vectors of all Things.
#[derive(Debug, Default)]
pub(in crate::search) struct Vectors {
    dimensions: usize,
    file: Mapped,
    blocks: Vec<Block>,
    rows: usize,
    used: usize,
    slots: Vec<Slot>,
    by_id: HashMap<Box<str>, u32>,
    moves: u64,
}

/// The file of the vectors as it was when it was mapped last.
#[derive(Default)]
struct Mapped(Option<OwnedBytes>);

/// Rows side by side.
#[derive(Debug)]
struct Block {
    values: Values,
    scales: Vec<f32>,
    /// Slot of each row.
    slots: Vec<u32>,
}

/// The values of a block's rows.
#[derive(Debug)]
enum Values {
    /// Rows in memory, one after the other.
    InMemory(Vec<i8>),
    /// In the file, at the place that the slot of each row says.
    InFile,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    source: u64,
    first: u32,
    count: u32,
    /// Offset of the rows in the file, or `None` if they are not in a file.
    place: Option<u64>,
}

/// Number of a Thing's slot, valid until [`Vectors::moves`] changes.
pub(in crate::search) type SlotNumber = u32;

impl Vectors {
    pub fn new(dimensions: usize) -> Vectors {
        Vectors { dimensions, ..Vectors::default() }
    }

    /// Replaces all vectors. Slots are renumbered.
    pub fn replace(&mut self, others: Vectors) {
        *self = Vectors { moves: self.moves.max(others.moves) + 1, ..others };
    }

    /// Returns the number of Things that have vectors.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns the number of vectors in use.
    pub fn used_rows(&self) -> usize {
        self.used
    }

    /// Returns the number of times slots were renumbered.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Returns the number of slots, used or not.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the ids of Things with vectors.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().map(AsRef::as_ref)
    }

    /// Returns the slot of a Thing.
    pub fn slot(&self, id: &str) -> Option<SlotNumber> {
        self.by_id.get(id).copied()
    }

    /// Returns the hash of the texts from which the vectors of a Thing were computed.
    pub fn source(&self, id: &str) -> Option<u64> {
        let slot = self.slot(id)?;
        self.slots.get(slot as usize).map(|slot| slot.source)
    }

    /// Returns a copy of the vectors of a Thing.
    pub fn find(&self, id: &str) -> Option<Rows> {
        let slot = self.slots.get(self.slot(id)? as usize)?;
        let rows = slot.rows().filter_map(|row| {
            let (values, scale) = self.row(row)?;
            Some(Quantized { values: values.to_vec(), scale })
        });
        Some(Rows { source: slot.source, rows: rows.collect() })
    }

    /// Replaces the vectors of a Thing. `place` is their offset in the file.
    pub fn put(&mut self, id: &str, vectors: &Rows, place: Option<u64>) {
        self.remove_rows(id);
        if vectors.rows.is_empty() {
            self.remove(id);
            return;
        }
        let number = self.slot(id).unwrap_or(self.slots.len() as u32);
        let slot = Slot { source: vectors.source, first: self.rows as u32, count: vectors.rows.len() as u32, place };
        match self.slots.get_mut(number as usize) {
            Some(known) => *known = slot,
            None => {
                self.slots.push(slot);
                self.by_id.insert(id.into(), number);
            }
        }
        for row in &vectors.rows {
            self.push(row, number);
        }
        self.used += vectors.rows.len();
        self.move_together();
    }

    /// Removes the vectors of a Thing.
    pub fn remove(&mut self, id: &str) {
        self.remove_rows(id);
        self.by_id.remove(id);
        self.move_together();
    }

    /// Maps a file into memory. From now on, the values of full blocks that it contains are read from the file. All
    /// offsets must refer to this file.
    pub fn map(&mut self, file: OwnedBytes) {
        self.file = Mapped(Some(file));
        (0..self.rows / ROWS_IN_A_BLOCK).for_each(|block| self.leave_memory(block));
    }

    /// True if the file should be mapped again, because many values are in memory.
    pub fn should_be_mapped(&self) -> bool {
        let full = self.blocks.get(..self.rows / ROWS_IN_A_BLOCK).unwrap_or_default();
        full.iter().filter(|block| matches!(block.values, Values::InMemory(_))).count() >= BLOCKS_IN_MEMORY
    }

    /// Releases the values of a full block if the file contains all rows in use.
    fn leave_memory(&mut self, block: usize) {
        let Some(found) = self.blocks.get(block) else { return };
        if let Values::InFile = found.values {
            return;
        }
        let mut rows = (block * ROWS_IN_A_BLOCK..).zip(&found.slots);
        if rows.all(|(row, &slot)| slot == UNUSED || self.in_file(row, slot).is_some())
            && let Some(found) = self.blocks.get_mut(block)
        {
            found.values = Values::InFile;
        }
    }

    fn push(&mut self, row: &Quantized, slot: u32) {
        if self.rows.is_multiple_of(ROWS_IN_A_BLOCK) {
            if let Some(full) = self.blocks.len().checked_sub(1) {
                self.leave_memory(full);
            }
            self.blocks.push(Block { values: Values::InMemory(Vec::new()), scales: Vec::new(), slots: Vec::new() });
        }
        let Some(block) = self.blocks.last_mut() else { return };
        if let Values::InMemory(values) = &mut block.values {
            values.extend_from_slice(&row.values);
            values.resize((block.slots.len() + 1) * self.dimensions, 0);
        }
        block.scales.push(row.scale);
        block.slots.push(slot);
        self.rows += 1;
    }

    fn row(&self, row: usize) -> Option<(&[i8], f32)> {
        let (block, at) = (self.blocks.get(row / ROWS_IN_A_BLOCK)?, row % ROWS_IN_A_BLOCK);
        Some((self.values_of(block, row, *block.slots.get(at)?)?, *block.scales.get(at)?))
    }

    /// The values of a row, which is one of `block` and of `slot`.
    fn values_of<'a>(&'a self, block: &'a Block, row: usize, slot: u32) -> Option<&'a [i8]> {
        let at = row % ROWS_IN_A_BLOCK;
        match &block.values {
            Values::InMemory(values) => values.get(at * self.dimensions..(at + 1) * self.dimensions),
            Values::InFile => self.in_file(row, slot),
        }
    }

    fn in_file(&self, row: usize, slot: u32) -> Option<&[i8]> {
        let start = self.slots.get(slot as usize)?.start_of(row, self.dimensions)?;
        self.file.values(start, self.dimensions)
    }

    fn remove_rows(&mut self, id: &str) {
        let Some(slot) = self.slot(id).and_then(|slot| self.slots.get_mut(slot as usize)) else { return };
        let rows = slot.rows();
        slot.count = 0;
        self.used -= rows.len();
        for row in rows {
            if let Some(slot) =
                self.blocks.get_mut(row / ROWS_IN_A_BLOCK).and_then(|block| block.slots.get_mut(row % ROWS_IN_A_BLOCK))
            {
                *slot = UNUSED;
            }
        }
    }

    fn move_together(&mut self) {
        let unused = (self.rows - self.used).max(self.slots.len() - self.by_id.len());
        if unused <= FEWEST_UNUSED.max(self.used) {
            return;
        }
        let mut together = Vectors { file: Mapped(self.file.0.clone()), ..Vectors::new(self.dimensions) };
        // In the order of rows, so that those that are read together stay together.
        let mut ids: Vec<(u32, &str)> = self.by_id.iter().map(|(id, slot)| (*slot, id.as_ref())).collect();
        ids.sort_unstable();
        for (slot, id) in ids {
            if let Some(rows) = self.find(id) {
                together.put(id, &rows, self.slots.get(slot as usize).and_then(|slot| slot.place));
            }
        }
        together.moves = self.moves + 1;
        *self = together;
    }

    /// Returns the similarity of all Things to each query, by slot: the largest cosine of the Thing's vectors, or -1
    /// for an unused slot. Memory is read only once for all queries.
    pub fn cosines(&self, queries: &[&Quantized]) -> Vec<Vec<f32>> {
        let half = if self.rows >= ROWS_FOR_TWO_THREADS { self.blocks.len() / 2 } else { self.blocks.len() };
        let scan = |blocks: Range<usize>| {
            let mut largest = vec![vec![-1.0; self.slots.len()]; queries.len()];
            blocks.for_each(|block| self.scan(block, queries, &mut largest));
            largest
        };
        let (first, second) = (0..half, half..self.blocks.len());
        if second.is_empty() {
            return scan(first);
        }
        let (mut largest, others) = thread::scope(|scope| {
            let others = scope.spawn(|| scan(second));
            let largest = scan(first);
            (largest, others.join().unwrap_or_default())
        });
        for (largest, other) in largest.iter_mut().flatten().zip(others.into_iter().flatten()) {
            *largest = largest.max(other);
        }
        largest
    }

    fn scan(&self, number: usize, queries: &[&Quantized], largest: &mut [Vec<f32>]) {
        let Some(block) = self.blocks.get(number) else { return };
        for (row, (scale, slot)) in (number * ROWS_IN_A_BLOCK..).zip(block.scales.iter().zip(&block.slots)) {
            if *slot == UNUSED {
                continue;
            }
            let Some(values) = self.values_of(block, row, *slot) else { continue };
            for (query, largest) in queries.iter().zip(largest.iter_mut()) {
                if let Some(largest) = largest.get_mut(*slot as usize) {
                    *largest = largest.max(product(values, &query.values) as f32 * scale * query.scale);
                }
            }
        }
    }
}

impl Slot {
    fn rows(self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Returns the offset in the file of the values of a row.
    fn start_of(self, row: usize, dimensions: usize) -> Option<u64> {
        let before = row.checked_sub(self.first as usize)? as u64;
        Some(self.place? + before * (BYTES_OF_SCALE + dimensions as u64) + BYTES_OF_SCALE)
    }
}

impl Mapped {
    fn values(&self, start: u64, dimensions: usize) -> Option<&[i8]> {
        let start = usize::try_from(start).ok()?;
        <[i8]>::ref_from_bytes(self.0.as_ref()?.get(start..start.checked_add(dimensions)?)?).ok()
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.0.as_ref().map_or(0, |bytes| bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(vectors: &[[f32; 3]]) -> Rows {
        Rows { source: 7, rows: vectors.iter().map(|vector| Quantized::new(vector)).collect() }
    }

    #[test]
    fn the_largest_cosine_of_a_thing_counts() {
        let mut vectors = Vectors::new(3);
        vectors.put("urn:a", &rows(&[[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]]), None);
        vectors.put("urn:b", &rows(&[[0.0, 1.0, 0.0]]), None);
        vectors.put("urn:a", &rows(&[[1.0, 0.0, 0.0], [0.0, 0.8, 0.6]]), None);
        let query = Quantized::new(&[0.0, 0.6, 0.8]);
        let cosines = &vectors.cosines(&[&query])[0];
        let of = |id| cosines[vectors.slot(id).unwrap() as usize];
        assert!((of("urn:a") - 0.96).abs() < 0.01 && (of("urn:b") - 0.6).abs() < 0.01, "{cosines:?}");
        vectors.remove("urn:b");
        assert_eq!((vectors.len(), vectors.used_rows(), vectors.slot("urn:b")), (1, 2, None));
        assert_eq!(vectors.cosines(&[&query])[0][1], -1.0);
    }

    #[test]
    fn unused_rows_are_reclaimed() {
        let mut vectors = Vectors::new(3);
        let vector = rows(&[[1.0, 0.0, 0.0]]);
        for round in 0..3 {
            (0..FEWEST_UNUSED).for_each(|number| vectors.put(&format!("urn:{number}"), &vector, None));
            assert_eq!(vectors.used_rows(), FEWEST_UNUSED, "{round}");
            assert!(vectors.rows <= 2 * FEWEST_UNUSED + 1);
        }
        (1..FEWEST_UNUSED).for_each(|number| vectors.remove(&format!("urn:{number}")));
        (0..FEWEST_UNUSED).for_each(|number| vectors.put(&format!("urn:other:{number}"), &vector, None));
        assert!(vectors.moves() > 0 && vectors.slots() <= 2 * FEWEST_UNUSED + 2);
        let cosines = vectors.cosines(&[&Quantized::new(&[1.0, 0.0, 0.0])]).remove(0);
        assert!((cosines[vectors.slot("urn:0").unwrap() as usize] - 1.0).abs() < 1e-6);
        assert_eq!(vectors.find("urn:0"), Some(vector));
    }

    #[test]
    fn full_blocks_are_read_from_the_file() {
        let vector = |number: usize| rows(&[[(number as f32).sin(), (number as f32).cos(), 0.0], [0.0, 0.6, 0.8]]);
        let (mut vectors, mut in_memory) = (Vectors::new(3), Vectors::new(3));
        let mut file = vec![0; 100];
        let things = (BLOCKS_IN_MEMORY + 1) * ROWS_IN_A_BLOCK / 2;
        for number in 0..things {
            let (id, rows) = (format!("urn:{number}"), vector(number));
            vectors.put(&id, &rows, Some(file.len() as u64));
            in_memory.put(&id, &rows, None);
            for row in &rows.rows {
                file.extend(row.scale.to_le_bytes());
                file.extend(row.values.iter().map(|value| value.cast_unsigned()));
            }
            // What no Thing has any more is in no file.
            if number % 3 == 0 {
                for vectors in [&mut vectors, &mut in_memory] {
                    vectors.put(&format!("urn:{}", number / 2), &vector(number), None);
                    vectors.remove(&format!("urn:{}", number / 2));
                }
            }
        }
        assert!(vectors.should_be_mapped());
        let whole = OwnedBytes::new(file);
        vectors.map(whole.slice(0..whole.len() / 2));
        vectors.map(whole);
        assert!(!vectors.should_be_mapped());
        let last = vectors.blocks.len() - 1;
        let kinds = vectors.blocks.iter().map(|block| matches!(block.values, Values::InFile));
        assert_eq!(kinds.filter(|is_in_file| *is_in_file).count(), last);
        let query = Quantized::new(&[0.6, 0.8, 0.0]);
        assert_eq!(vectors.cosines(&[&query]), in_memory.cosines(&[&query]));
        // What is replaced has its new rows in memory, and none in the file any more.
        for number in (0..things).step_by(7) {
            for vectors in [&mut vectors, &mut in_memory] {
                vectors.put(&format!("urn:{number}"), &vector(number + 1), None);
            }
        }
        assert_eq!(vectors.cosines(&[&query]), in_memory.cosines(&[&query]));
        for number in [0, 5000, things - 1] {
            let id = format!("urn:{number}");
            assert_eq!(vectors.find(&id), in_memory.find(&id));
        }
        in_memory.map(OwnedBytes::new(vec![0; 10_000_000]));
        assert!(in_memory.should_be_mapped(), "what no file has stays in memory");
    }

    #[test]
    fn two_threads_find_what_one_does() {
        let mut vectors = Vectors::new(3);
        for number in 0..ROWS_FOR_TWO_THREADS {
            let angle = number as f32;
            vectors.put(&number.to_string(), &rows(&[[angle.sin(), angle.cos(), 0.0]]), None);
        }
        let query = Quantized::new(&[0.6, 0.8, 0.0]);
        let cosines = vectors.cosines(&[&query]).remove(0);
        assert_eq!(cosines.len(), ROWS_FOR_TWO_THREADS);
        for (number, cosine) in (0..).zip(cosines) {
            let angle = f64::from(number);
            let expected = 0.6 * angle.sin() + 0.8 * angle.cos();
            assert!((f64::from(cosine) - expected).abs() < 0.02, "{number}: {cosine}, not {expected}");
        }
    }
}
