//! Partial parsing of a description: only members required by a query are read, since parsing takes most of the time
//! of a search.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

/// Parses a description with only the given members, or with all members if `members` is `None`.
pub(super) fn read(description: &str, members: Option<&BTreeSet<String>>) -> serde_json::Result<Value> {
    let Some(members) = members else { return serde_json::from_str(description) };
    let mut deserializer = serde_json::Deserializer::from_str(description);
    let read = deserializer.deserialize_map(Members(members))?;
    deserializer.end()?;
    Ok(Value::Object(read))
}

struct Members<'a>(&'a BTreeSet<String>);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a description")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = entries.next_key::<Cow<'de, str>>()? {
            if self.0.contains(name.as_ref()) {
                read.insert(name.into_owned(), entries.next_value()?);
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(read)
    }
}
