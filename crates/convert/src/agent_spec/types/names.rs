//! `Names`: lookup of fields by name.

/// The names of fields, found by a few of their bytes: every member of every component is looked up.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<(&'static str, usize)>,
    /// At the slot of a name, or the next that was free, one more than its place in `names`.
    slots: [u8; Names::SLOTS],
}

impl Default for Names {
    fn default() -> Names {
        Names { names: Vec::new(), slots: [0; Names::SLOTS] }
    }
}

impl Names {
    /// Several times what a type can have, so that few names share a slot.
    const SLOTS: usize = 128;

    fn slot(name: &str) -> usize {
        let name = name.as_bytes();
        let byte = |index: usize| name.get(index).copied().map_or(0, usize::from);
        let (first, middle, last) = (byte(0), byte(name.len() / 2), byte(name.len().wrapping_sub(1)));
        name.len() + first * 3 + middle * 7 + last * 31
    }

    /// Adds a name of the field at a position.
    pub(super) fn add(&mut self, name: &'static str, position: usize) {
        self.names.push((name, position));
        let mut slot = Names::slot(name);
        while self.slots[slot % Names::SLOTS] != 0 {
            slot += 1;
        }
        self.slots[slot % Names::SLOTS] = u8::try_from(self.names.len()).unwrap_or(0);
    }

    /// The position of the field of that name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let mut slot = Names::slot(name);
        loop {
            let place = usize::from(self.slots[slot % Names::SLOTS]).checked_sub(1)?;
            let (known, position) = self.names[place];
            if known == name {
                return Some(position);
            }
            slot += 1;
        }
    }
}
