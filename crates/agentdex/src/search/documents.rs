//! Bit sets of documents.

/// The documents of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Documents(Vec<u64>);

impl Documents {
    /// Creates an empty set for `max_doc` documents.
    pub fn none_of(max_doc: u32) -> Documents {
        Documents(vec![0; max_doc.div_ceil(u64::BITS) as usize])
    }

    /// Adds a document.
    pub fn add(&mut self, doc: u32) {
        if let Some(word) = self.0.get_mut((doc / u64::BITS) as usize) {
            *word |= 1 << (doc % u64::BITS);
        }
    }

    /// True if the set contains a document.
    pub fn contains(&self, doc: u32) -> bool {
        self.0.get((doc / u64::BITS) as usize).is_some_and(|word| word & (1 << (doc % u64::BITS)) != 0)
    }

    /// Removes all documents of another set.
    pub fn remove_all(&mut self, other: &Documents) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    /// Adds all documents of another set.
    pub fn add_all(&mut self, other: &[u64]) {
        self.0.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
    }

    /// Keeps only documents that are also in another set.
    pub fn retain(&mut self, other: &[u64]) {
        let other = other.iter().copied().chain(std::iter::repeat(0));
        self.0.iter_mut().zip(other).for_each(|(word, other)| *word &= other);
    }

    /// Adds all documents of another set for the same segment.
    pub fn join(&mut self, other: &Documents) {
        self.add_all(&other.0);
    }

    /// Returns the number of documents in the set.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Calls `each` with each document, in ascending order.
    pub fn for_each(&self, mut each: impl FnMut(u32)) {
        let mut first = 0;
        for &word in &self.0 {
            let mut left = word;
            while left != 0 {
                each(first + left.trailing_zeros());
                left &= left - 1;
            }
            first += u64::BITS;
        }
    }

    /// Returns the bits of the set.
    pub fn into_bits(self) -> Vec<u64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_in_order() {
        let mut documents = Documents::none_of(130);
        [129, 0, 64, 63, 500].into_iter().for_each(|doc| documents.add(doc));
        let mut found = Vec::new();
        documents.for_each(|doc| found.push(doc));
        assert_eq!((found, documents.len()), (vec![0, 63, 64, 129], 4));
        documents.retain(&[1, 1]);
        assert_eq!(documents.len(), 2);
    }
}
