//! Texts of the built-in table, indexed by hash.

/// A place of [`Lexicon`] without a text.
const EMPTY: u16 = u16::MAX;

/// Texts that lie in the program, by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Lexicon {
    /// End of each text in `texts`, in bytes.
    ends: &'static [[u8; 4]],
    texts: &'static [u8],
    /// Hash table of text indexes, with linear probing. Its size is a power of two.
    places: Vec<u16>,
    /// The bytes of the longest text.
    longest: usize,
}

impl Lexicon {
    /// Reads `count` texts, and returns them with the remaining bytes. Returns `None` if the texts are incomplete or
    /// not distinct.
    pub fn read(bytes: &'static [u8], count: usize) -> Option<(Lexicon, &'static [u8])> {
        let (ends, rest) = bytes.split_at_checked(count.checked_mul(4)?)?;
        let ends = ends.as_chunks::<4>().0;
        let (texts, rest) = rest.split_at_checked(ends.last().map_or(0, |end| u32::from_le_bytes(*end) as usize))?;
        let places = vec![EMPTY; (2 * count).next_power_of_two()];
        let mut lexicon = Lexicon { ends, texts, places, longest: 0 };
        for number in 0..u16::try_from(count).ok().filter(|count| *count < EMPTY)? {
            let text = lexicon.text(number.into())?;
            lexicon.longest = lexicon.longest.max(text.len());
            let Err(place) = lexicon.look_up(fnv(text), text) else { return None };
            *lexicon.places.get_mut(place)? = number;
        }
        Some((lexicon, rest))
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the index of a text.
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        self.look_up(fnv(text), text).ok()
    }

    /// Calls `each` with the length and index of each entry that is a prefix of `text`, shortest first.
    pub fn for_each_prefix(&self, text: &[u8], mut each: impl FnMut(usize, usize)) {
        let mut hash = FNV_START;
        for (length, &byte) in (1..=self.longest).zip(text) {
            hash = fnv_step(hash, byte);
            if let Ok(number) = self.look_up(hash, text.get(..length).unwrap_or_default()) {
                each(length, number);
            }
        }
    }

    fn text(&self, number: usize) -> Option<&'static [u8]> {
        let end = |number: usize| self.ends.get(number).map(|end| u32::from_le_bytes(*end) as usize);
        let start = number.checked_sub(1).map_or(Some(0), end)?;
        self.texts.get(start..end(number)?)
    }

    /// Returns the index of a text, or the free slot for it.
    fn look_up(&self, hash: u64, text: &[u8]) -> Result<usize, usize> {
        let mask = self.places.len().wrapping_sub(1);
        let mut place = (hash ^ (hash >> 32)) as usize & mask;
        while let Some(&number) = self.places.get(place).filter(|number| **number != EMPTY) {
            if self.text(number.into()) == Some(text) {
                return Ok(number.into());
            }
            place = (place + 1) & mask;
        }
        Err(place)
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a with 64 bits.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_START, |hash, &byte| fnv_step(hash, byte))
}

fn fnv_step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(texts: &[&str]) -> &'static [u8] {
        let mut bytes = Vec::new();
        let mut end = 0;
        for text in texts {
            end += text.len() as u32;
            bytes.extend(end.to_le_bytes());
        }
        bytes.extend(texts.concat().into_bytes());
        bytes.push(7);
        bytes.leak()
    }

    #[test]
    fn texts_have_their_numbers() {
        let texts = ["a", "preis", "preise", "strom", "天", "天气"];
        let (lexicon, rest) = Lexicon::read(bytes(&texts), texts.len()).unwrap();
        assert_eq!(rest, [7]);
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(lexicon.find(text.as_bytes()), Some(number), "{text}");
        }
        for other in ["", "pre", "stromp", "气"] {
            assert_eq!(lexicon.find(other.as_bytes()), None, "{other}");
        }
        let mut prefixes = Vec::new();
        lexicon.for_each_prefix("preisen".as_bytes(), |length, number| prefixes.push((length, number)));
        assert_eq!(prefixes, [(5, 1), (6, 2)]);
    }

    #[test]
    fn what_is_cut_off_or_comes_twice_is_no_lexicon() {
        let whole = bytes(&["a", "b"]);
        assert!(Lexicon::read(&whole[..9], 2).is_none());
        assert!(Lexicon::read(bytes(&["a", "a"]), 2).is_none());
        assert_eq!(Lexicon::default().find(b"a"), None);
    }
}
