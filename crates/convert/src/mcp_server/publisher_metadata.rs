//! Metadata added by the publisher of a document, in its `_meta`.

use serde_json::{Map, Value};

use super::THING_ID;

type Object = Map<String, Value>;

/// The member of `_meta` that publishers put their own data in.
pub(super) const PUBLISHER: &str = "io.modelcontextprotocol.registry/publisher-provided";

/// Adds a member to what the publisher says.
pub(super) fn note(server: &mut Object, name: &str, value: Value) {
    let empty = || Value::Object(Object::new());
    let meta = server.entry("_meta").or_insert_with(empty).as_object_mut();
    let noted = meta.and_then(|meta| meta.entry(PUBLISHER).or_insert_with(empty).as_object_mut());
    if let Some(noted) = noted {
        noted.insert(name.to_owned(), value);
    }
}

/// The id of the Thing that a document was made of, if it says one.
pub(super) fn thing_id(server: &Object) -> Option<&str> {
    server.get("_meta")?.get(PUBLISHER)?.get(THING_ID)?.as_str()
}
