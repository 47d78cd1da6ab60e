//! Detection of repeated member names.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{path::Path, report::has_room_for_pointers};

/// JSON Pointers of the members whose name is repeated, up to a limit: a second pass over a
/// text that is known to be JSON, only taken when it repeats a name somewhere.
pub(super) fn find_duplicates(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let seed = DuplicateSeed { path: Path::ROOT, found: &mut found };
    // The text was parsed before; what is found until an error is what there is to say.
    let _ = seed.deserialize(&mut serde_json::Deserializer::from_str(text));
    found
}

struct DuplicateSeed<'p, 'f> {
    path: Path<'p>,
    found: &'f mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for DuplicateSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut index = 0;
        while seq.next_element_seed(DuplicateSeed { path: self.path.index(index), found: self.found })?.is_some() {
            index += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            let path = self.path.member(&name);
            map.next_value_seed(DuplicateSeed { path, found: self.found })?;
            if names.contains(&name) {
                self.found.push(path.to_pointer());
                if !has_room_for_pointers(self.found) {
                    return Err(A::Error::custom("enough was found"));
                }
            }
            names.insert(name);
        }
        Ok(())
    }
}
