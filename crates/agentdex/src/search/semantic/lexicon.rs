//! Texts of the built-in table, with their indexes.

use std::fmt;

use tantivy_fst::raw::{Fst, Output};

/// Distinct texts in the order of their bytes, read in place from a finite state transducer. The index of a text is its
/// position in this order. The default has no texts.
#[derive(Default)]
pub(super) struct Lexicon(Option<Fst<&'static [u8]>>);

impl Lexicon {
    /// Reads the transducer of all texts. Returns `None` if the bytes aren't one.
    pub fn read(bytes: &'static [u8]) -> Option<Lexicon> {
        Some(Lexicon(Some(Fst::new(bytes).ok()?)))
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, Fst::len)
    }

    /// Returns the index of a text.
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        self.0.as_ref()?.get(text).map(index)
    }

    /// Calls `each` with the length and index of each text that is a prefix of `text`, shortest first.
    pub fn for_each_prefix(&self, text: &[u8], mut each: impl FnMut(usize, usize)) {
        let Some(texts) = &self.0 else { return };
        let (mut node, mut output) = (texts.root(), Output::zero());
        for (length, byte) in (1..).zip(text) {
            let Some(transition) = node.find_input(*byte).map(|number| node.transition(number)) else { return };
            output = output.cat(transition.out);
            node = texts.node(transition.addr);
            if node.is_final() {
                each(length, index(output.cat(node.final_output())));
            }
        }
    }
}

impl fmt::Debug for Lexicon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lexicon").field("len", &self.len()).finish()
    }
}

fn index(output: Output) -> usize {
    usize::try_from(output.value()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use tantivy_fst::MapBuilder;

    use super::*;

    #[test]
    fn texts_have_their_indexes() {
        let texts = ["a", "preis", "preise", "strom", "天", "天气"];
        let mut builder = MapBuilder::memory();
        builder.extend_iter(texts.into_iter().zip(0..)).unwrap();
        let lexicon = Lexicon::read(builder.into_inner().unwrap().leak()).unwrap();
        assert_eq!(lexicon.len(), texts.len());
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(lexicon.find(text.as_bytes()), Some(number), "{text}");
        }
        for other in ["", "pre", "stromp", "气"] {
            assert_eq!(lexicon.find(other.as_bytes()), None, "{other}");
        }
        let mut prefixes = Vec::new();
        lexicon.for_each_prefix("preisen".as_bytes(), |length, index| prefixes.push((length, index)));
        assert_eq!(prefixes, [(5, 1), (6, 2)]);
    }

    #[test]
    fn other_bytes_are_no_lexicon() {
        assert!(Lexicon::read(b"a").is_none());
        assert!(Lexicon::read(&[7; 64]).is_none());
        let lexicon = Lexicon::default();
        assert_eq!((lexicon.len(), lexicon.find(b"a")), (0, None));
        lexicon.for_each_prefix(b"a", |_, _| panic!("a prefix"));
    }
}
