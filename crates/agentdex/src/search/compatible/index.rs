//! Index of the shapes of all Things, by the names of their inputs and outputs.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    super::containment::Schema,
    names::Names,
    port::Port,
    shape::{Shape, Shapes},
};
use crate::numbered::{ById, HasId, Number, Slots};

/// The number of a shape.
pub(super) type ShapeNo = Number;
/// The number of a Thing.
type ThingNo = Number;

/// Index of the shapes (inputs and outputs) of the capabilities of all Things.
#[derive(Debug, Default)]
pub struct ShapeIndex {
    things: ById<Entry>,
    known: HashMap<Arc<Shape>, ShapeNo>,
    shapes: Slots<Known>,
    /// Shapes by the name of a required input, of an optional input and of an output.
    needing: Postings,
    taking: Postings,
    giving: Postings,
    /// Names and schemas that several ports share.
    texts: HashSet<Arc<str>>,
    names: HashSet<Arc<Names>>,
    schemas: HashSet<Arc<Schema>>,
    capabilities: usize,
}

/// Numbers of shapes by name, in their order.
type Postings = HashMap<Arc<str>, Vec<ShapeNo>>;
/// Maximum number of entries removed from a list individually, which moves the following entries each time. More
/// entries are removed in a single pass.
const ONE_BY_ONE: usize = 16;

/// A Thing: the texts that results show, and its capabilities.
#[derive(Debug)]
struct Entry {
    /// Id, title, and keys of the capabilities, in a single allocation.
    text: Box<str>,
    id_end: u32,
    title_end: u32,
    has_title: bool,
    capabilities: Box<[Held]>,
}

/// A capability of a Thing.
#[derive(Debug)]
struct Held {
    /// End of the key in the text of the Thing, in bytes. The key begins at the end of the previous key.
    key_end: u32,
    shape: ShapeNo,
    /// Index among the members of the shape, for removal without a search.
    place: u32,
}

#[derive(Debug)]
struct Known {
    shape: Arc<Shape>,
    members: Vec<Member>,
}

/// A capability of a shape: the `nth` of its Thing.
#[derive(Debug, Clone, Copy)]
struct Member {
    thing: ThingNo,
    nth: u32,
}

/// A capability found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capability<'i> {
    pub id: &'i str,
    pub title: Option<&'i str>,
    pub key: &'i str,
}

impl ShapeIndex {
    /// Adds a Thing or replaces its shapes.
    pub fn put(&mut self, id: &str, shapes: Shapes) {
        self.remove(id);
        if shapes.capabilities.is_empty() {
            return;
        }
        let mut text = String::from(id);
        let id_end = text.len() as u32;
        let has_title = shapes.title.is_some();
        text.push_str(&shapes.title.unwrap_or_default());
        let title_end = text.len() as u32;
        let held = shapes.capabilities.into_iter().map(|(key, shape)| {
            text.push_str(&key);
            Held { key_end: text.len() as u32, shape: self.shape(shape), place: 0 }
        });
        let capabilities: Box<[Held]> = held.collect();
        self.capabilities += capabilities.len();
        let number = self.things.insert(Entry { text: text.into(), id_end, title_end, has_title, capabilities });
        let Some(entry) = self.things.get_mut(number) else { return };
        for (nth, held) in (0..).zip(&mut entry.capabilities) {
            if let Some(known) = self.shapes.get_mut(held.shape) {
                held.place = known.members.len() as u32;
                known.members.push(Member { thing: number, nth });
            }
        }
    }

    /// Removes a Thing.
    pub fn remove(&mut self, id: &str) {
        let Some(number) = self.things.number(id) else { return };
        let held = self.things.get(number).map_or(0, |entry| entry.capabilities.len());
        self.capabilities -= held;
        let unused: Vec<ShapeNo> = (0..held).filter_map(|nth| self.leave_shape(number, nth)).collect();
        self.forget(unused);
        self.things.take(number);
    }

    /// Takes the `nth` capability of a Thing out of its shape; the shape, if no other has it.
    fn leave_shape(&mut self, thing: ThingNo, nth: usize) -> Option<ShapeNo> {
        let Held { shape, place, .. } = *self.things.get(thing)?.capabilities.get(nth)?;
        let (known, at) = (self.shapes.get_mut(shape)?, place as usize);
        let own = known.members.get(at)?;
        if (own.thing, own.nth as usize) == (thing, nth) {
            known.members.swap_remove(at);
        }
        if known.members.is_empty() {
            return Some(shape);
        }
        // The last one has its place now; it may be one of the same Thing.
        let moved = known.members.get(at)?;
        self.things.get_mut(moved.thing)?.capabilities.get_mut(moved.nth as usize)?.place = place;
        None
    }

    /// Returns the number of capabilities.
    pub fn len(&self) -> usize {
        self.capabilities
    }

    /// True if the index contains no capability.
    pub fn is_empty(&self) -> bool {
        self.capabilities == 0
    }

    /// Returns the number of different shapes among the capabilities.
    pub fn distinct(&self) -> usize {
        self.known.len()
    }

    /// Returns an exclusive upper bound of the shape numbers.
    pub(super) fn end(&self) -> ShapeNo {
        self.shapes.end()
    }

    pub(super) fn get(&self, shape: ShapeNo) -> Option<&Shape> {
        self.shapes.get(shape).map(|known| &*known.shape)
    }

    /// Returns all shapes.
    pub(super) fn all(&self) -> impl Iterator<Item = ShapeNo> {
        (0..self.end()).filter(|shape| self.shapes.get(*shape).is_some())
    }

    /// The capabilities of a shape.
    pub(super) fn members(&self, shape: ShapeNo) -> impl Iterator<Item = Capability<'_>> {
        let members = self.shapes.get(shape).map_or(&[][..], |known| &known.members);
        members.iter().filter_map(|member| {
            let entry = self.things.get(member.thing)?;
            Some(Capability { id: entry.id(), title: entry.title(), key: entry.key(member.nth as usize)? })
        })
    }

    /// Returns the shapes with a required input of that name, repeated for each such input.
    pub(super) fn needing(&self, key: &str) -> &[ShapeNo] {
        self.needing.get(key).map_or(&[], Vec::as_slice)
    }

    /// Returns the shapes with an optional input of that name.
    pub(super) fn taking(&self, key: &str) -> &[ShapeNo] {
        self.taking.get(key).map_or(&[], Vec::as_slice)
    }

    /// Shapes with an output of that name.
    pub(super) fn giving(&self, key: &str) -> &[ShapeNo] {
        self.giving.get(key).map_or(&[], Vec::as_slice)
    }

    fn shape(&mut self, shape: Shape) -> ShapeNo {
        if let Some(number) = self.known.get(&shape) {
            return *number;
        }
        let [inputs, outputs] =
            [shape.inputs, shape.outputs].map(|ports| ports.into_iter().map(|port| self.port(port)).collect());
        let shape = Arc::new(Shape { inputs, outputs });
        // Most shapes are those of one capability.
        let number = self.shapes.insert(Known { shape: shape.clone(), members: Vec::with_capacity(1) });
        for (postings, keys) in [&mut self.needing, &mut self.taking, &mut self.giving].into_iter().zip(keys(&shape)) {
            for key in keys {
                let posted = postings.entry(key.clone()).or_default();
                posted.insert(posted.partition_point(|other| *other <= number), number);
            }
        }
        self.known.insert(shape, number);
        number
    }

    /// Removes shapes in batches, since many shapes may share names with many others.
    fn forget(&mut self, mut numbers: Vec<ShapeNo>) {
        numbers.sort_unstable();
        let shapes: Vec<Known> = numbers.iter().filter_map(|number| self.shapes.take(*number)).collect();
        let mut names: [HashSet<&Arc<str>>; 3] = Default::default();
        for known in &shapes {
            self.known.remove(&known.shape);
            names.iter_mut().zip(keys(&known.shape)).for_each(|(names, keys)| names.extend(keys));
        }
        for (postings, names) in [&mut self.needing, &mut self.taking, &mut self.giving].into_iter().zip(names) {
            for name in names {
                let Some(posted) = postings.get_mut(name) else { continue };
                take_out(posted, &numbers);
                if posted.is_empty() {
                    postings.remove(name);
                }
            }
        }
        shapes.into_iter().filter_map(|known| Arc::into_inner(known.shape)).for_each(|shape| self.release(shape));
    }

    /// Releases the shared data of a shape.
    fn release(&mut self, shape: Shape) {
        for port in shape.inputs.into_iter().chain(shape.outputs) {
            let Port { name, pointer, names, schema, .. } = port;
            [name, pointer].into_iter().for_each(|text| self.release_text(text));
            if Arc::strong_count(&names) == 2 {
                self.names.remove(&names);
            }
            if let Some(Names { key, title, meanings }) = Arc::into_inner(names) {
                key.into_iter().chain(title).chain(meanings).for_each(|text| self.release_text(text));
            }
            if Arc::strong_count(&schema) == 2 {
                self.schemas.remove(&schema);
            }
        }
    }

    fn port(&mut self, port: Port) -> Port {
        let schema = match self.schemas.get(&port.schema) {
            Some(known) => known.clone(),
            None => {
                self.schemas.insert(port.schema.clone());
                port.schema
            }
        };
        let (name, pointer) = (self.text(&port.name), self.text(&port.pointer));
        Port { name, pointer, names: self.names(&port.names), schema, ..port }
    }

    fn names(&mut self, names: &Arc<Names>) -> Arc<Names> {
        if let Some(known) = self.names.get(names) {
            return known.clone();
        }
        let Names { key, title, meanings } = &**names;
        let mut text = |text: &Arc<str>| self.text(text);
        let names = Arc::new(Names {
            key: key.as_ref().map(&mut text),
            title: title.as_ref().map(&mut text),
            meanings: meanings.iter().map(text).collect(),
        });
        self.names.insert(names.clone());
        names
    }

    fn text(&mut self, text: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.texts.get(&**text) {
            return known.clone();
        }
        self.texts.insert(text.clone());
        text.clone()
    }

    /// Releases a use of a text.
    fn release_text(&mut self, text: Arc<str>) {
        if Arc::strong_count(&text) == 2 {
            self.texts.remove(&text);
        }
    }
}

/// Returns the names of a shape's required inputs (one entry per input), of its optional inputs and outputs
/// (distinct), and their meanings.
fn keys(shape: &Shape) -> [Vec<&Arc<str>>; 3] {
    let needed: Vec<_> = shape.required().flat_map(|port| port.names.all()).collect();
    let optional = shape.inputs.iter().filter(|port| !port.is_required);
    let optional = optional.flat_map(|port| port.names.all()).collect();
    let given = shape.outputs.iter().flat_map(|port| port.names.all()).collect();
    let mut keys = [needed, optional, given];
    for keys in keys.iter_mut().skip(1) {
        keys.sort_unstable();
        keys.dedup();
    }
    keys
}

/// Takes numbers out of others. Both are in order.
fn take_out(posted: &mut Vec<ShapeNo>, numbers: &[ShapeNo]) {
    if numbers.len() >= ONE_BY_ONE {
        return posted.retain(|number| numbers.binary_search(number).is_err());
    }
    for number in numbers {
        let first = posted.partition_point(|other| other < number);
        let end = posted.partition_point(|other| other <= number);
        posted.drain(first..end);
    }
}

impl HasId for Entry {
    fn id(&self) -> &str {
        self.part(0, self.id_end).unwrap_or_default()
    }
}

impl Entry {
    /// Returns the title, if there is one.
    fn title(&self) -> Option<&str> {
        self.part(self.id_end, self.title_end).filter(|_| self.has_title)
    }

    /// The key of the `nth` capability.
    fn key(&self, nth: usize) -> Option<&str> {
        let before = nth.checked_sub(1).and_then(|before| self.capabilities.get(before));
        self.part(before.map_or(self.title_end, |before| before.key_end), self.capabilities.get(nth)?.key_end)
    }

    fn part(&self, from: u32, to: u32) -> Option<&str> {
        self.text.get(from as usize..to as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::{super::shape::shapes, *};

    fn thing(input: &str, output: &str) -> Shapes {
        let of = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
        let thing = json!({"title": "T", "actions": {"a": {"input": of(input), "output": of(output)}}});
        shapes(&thing.to_string()).unwrap()
    }

    /// A Thing with an action for each of some names of what goes in.
    fn things() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
        prop::collection::vec((0..6u8, prop::collection::vec(0..3u8, 0..4)), 0..40)
    }

    /// None, an empty one, or one of several letters.
    fn title(id: u8) -> Option<String> {
        (id > 0).then(|| "é".repeat(usize::from(id) - 1))
    }

    proptest! {
        #[test]
        fn members_of_a_shape_are_those_that_were_put_last(things in things()) {
            let mut index = ShapeIndex::default();
            let mut expected: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
            for (id, inputs) in things {
                let actions = inputs.iter().enumerate().map(|(nth, input)| {
                    let data = json!({"properties": {format!("in{input}"): {"type": "string"}}});
                    (format!("ä{nth}"), json!({"input": data}))
                });
                let thing = json!({"title": title(id), "actions": actions.collect::<serde_json::Map<_, _>>()});
                index.put(&id.to_string(), shapes(&thing.to_string()).unwrap());
                expected.insert(id, inputs);
            }
            let mut found = Vec::new();
            for shape in index.all() {
                let input = index.get(shape).unwrap().inputs.first().unwrap().name.to_string();
                found.extend(index.members(shape).map(|one| {
                    (one.id.to_owned(), one.key.to_owned(), one.title.map(str::to_owned), input.clone())
                }));
                prop_assert!(index.taking(&input).contains(&shape) || index.needing(&input).contains(&shape));
            }
            found.sort();
            let expected: Vec<_> = expected.iter().flat_map(|(id, inputs)| {
                let of = move |(nth, input): (usize, &u8)| {
                    (id.to_string(), format!("ä{nth}"), title(*id), format!("in{input}"))
                };
                inputs.iter().enumerate().map(of)
            }).collect();
            prop_assert_eq!(index.len(), expected.len());
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn few_numbers_are_taken_out_as_many_are() {
        let posted = || (0..200).flat_map(|number| vec![number; (number % 3) as usize]).collect::<Vec<ShapeNo>>();
        for step in [3, 7, 19, 50, 300] {
            let numbers: Vec<ShapeNo> = (1..260).step_by(step).collect();
            let (mut found, mut expected) = (posted(), posted());
            take_out(&mut found, &numbers);
            expected.retain(|number| !numbers.contains(number));
            assert_eq!(found, expected, "{step}");
        }
    }

    #[test]
    fn things_that_are_removed_leave_nothing() {
        let mut index = ShapeIndex::default();
        for n in 0..3 {
            index.put("urn:a", thing("city", &format!("out{n}")));
            index.put("urn:b", thing("city", "forecast"));
        }
        index.put("urn:c", thing("City", "forecast"));
        assert_eq!((index.len(), index.distinct(), index.needing("city").len()), (3, 3, 3));
        ["urn:a", "urn:b", "urn:c", "urn:d"].iter().for_each(|id| index.remove(id));
        assert!(index.is_empty() && index.all().next().is_none());
        assert!(index.needing.is_empty() && index.giving.is_empty() && index.known.is_empty());
        assert_eq!((index.names.len(), index.schemas.len(), index.texts.len()), (0, 0, 0), "{:?}", index.texts);
    }
}
