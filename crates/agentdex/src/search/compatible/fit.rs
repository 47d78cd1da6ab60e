//! How data goes into ports: which part into which, and how well; or what is missing.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{
    Link, Missing, Side,
    port::{Port, Type},
    shape::Shape,
};
use crate::{
    convert::casting::{Casting, describe, effort::Effort},
    td::internal::push_token,
};

/// How well names correspond: the same, a title, or that there is no other.
const SAME_NAME: f32 = 1.0;
const TITLE: f32 = 0.95;
const ONLY_ONE: f32 = 0.6;
/// How much of that a type is worth that has to be converted.
const CONVERTED: f32 = 0.8;
/// What comparing two types may take.
const EFFORT_OF_A_PAIR: u64 = 20_000;

/// How a port can be supplied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Supply {
    /// The number of the port that it comes from.
    pub from: usize,
    pub quality: f32,
    pub is_converted: bool,
}

/// How some ports are supplied by others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Supplied {
    /// The sum of the qualities of all that are supplied, and of those that are required.
    pub quality: f32,
    pub required_quality: f32,
    pub count: usize,
    pub required: usize,
    /// Required ports that nothing goes into.
    pub missing: usize,
}

/// How well a capability fits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// From 0 to 1.
    pub fit: f32,
    /// How many things are missing.
    pub missing: usize,
}

/// Compares ports; remembers which types go into which.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    casts: RefCell<HashMap<(*const Type, *const Type), bool>>,
}

impl Matcher {
    /// Whether a type goes into another. Types that are too complex to compare don't.
    pub fn casts(&self, from: &Arc<Type>, to: &Arc<Type>) -> bool {
        if from == to {
            return true;
        }
        // Both are borrowed for longer than this lives, so that the addresses stay theirs.
        let pair = (Arc::as_ptr(from), Arc::as_ptr(to));
        if let Some(known) = self.casts.borrow().get(&pair) {
            return *known;
        }
        let casts = casts(&from.schema, &to.schema);
        self.casts.borrow_mut().insert(pair, casts);
        casts
    }

    /// How a port goes into another; `is_by_type` where the names don't matter.
    pub fn supply(&self, from: &Port, to: &Port, is_by_type: bool) -> Option<Supply> {
        let by_name = if from.key.is_some() && from.key == to.key {
            SAME_NAME
        } else if from.keys().any(|key| to.keys().any(|other| key == other)) {
            TITLE
        } else if is_by_type {
            ONLY_ONE
        } else {
            return None;
        };
        let is_converted = from.type_ != to.type_;
        let quality = if is_converted { by_name * CONVERTED } else { by_name };
        self.casts(&from.type_, &to.type_).then_some(Supply { from: 0, quality, is_converted })
    }

    /// The best of some ports for one.
    pub fn best(&self, from: &[Port], to: &Port, is_by_type: bool) -> Option<Supply> {
        let mut best: Option<Supply> = None;
        for (number, port) in from.iter().enumerate() {
            let supply = self.supply(port, to, is_by_type).map(|supply| Supply { from: number, ..supply });
            if let Some(supply) = supply.filter(|supply| best.is_none_or(|best| supply.quality > best.quality)) {
                best = Some(supply);
            }
        }
        best
    }

    /// How ports are supplied: those of an input by what the caller has, or what it wants by those of an output.
    /// What the caller didn't name goes with the only port. `each` is called for each of them.
    pub fn supplied(
        &self,
        from: &[Port],
        to: &[Port],
        side: Side,
        mut each: impl FnMut(&Port, Option<Supply>),
    ) -> Supplied {
        let required = to.iter().filter(|port| port.is_required).count();
        let asked = if side == Side::Input { from } else { to };
        let is_only = from.len() == 1 && (required == 1 || to.len() == 1) && asked.iter().all(Port::is_unnamed);
        let mut supplied = Supplied { required, ..Supplied::default() };
        for port in to {
            let supply = self.best(from, port, is_only && (port.is_required || to.len() == 1));
            match supply {
                Some(Supply { quality, .. }) => {
                    supplied.quality += quality;
                    supplied.count += 1;
                    supplied.required_quality += if port.is_required { quality } else { 0.0 };
                }
                None => supplied.missing += usize::from(port.is_required),
            }
            each(port, supply);
        }
        supplied
    }

    /// The links into some ports, and the first that is missing.
    pub fn links(&self, from: &[Port], to: &[Port], side: Side) -> (Vec<Link>, Option<Missing>) {
        let (mut links, mut missing) = (Vec::new(), None);
        self.supplied(from, to, side, |port, supply| {
            match supply.and_then(|supply| Some((supply, from.get(supply.from)?))) {
                Some((supply, source)) => links.push(Link {
                    from: source.name.to_string(),
                    to: port.name.to_string(),
                    converted: supply.is_converted,
                }),
                None if port.is_required && missing.is_none() => missing = Some(why_missing(from, port, side)),
                None => {}
            }
        });
        (links, missing)
    }

    /// How well a shape fits what there is and what is wanted; none where it has nothing to do with it.
    pub fn fit(&self, have: Option<&[Port]>, want: Option<&[Port]>, shape: &Shape) -> Option<Fit> {
        let input = have.map(|have| self.supplied(have, &shape.inputs, Side::Input, |_, _| {}));
        let output = want.map(|want| self.supplied(&shape.outputs, want, Side::Output, |_, _| {}));
        if output.or(input).is_none_or(|side| side.count == 0) {
            return None;
        }
        let missing = input.map_or(0, |input| input.missing) + output.map_or(0, |output| output.missing);
        let share = |quality: f32, of: usize| if of == 0 { 1.0 } else { quality / of as f32 };
        let output = output.map(|output| share(output.quality, output.count + output.missing));
        let input = input.map(|input| match output {
            // Who wants something special doesn't ask for how much it takes.
            Some(_) => share(input.required_quality, input.required),
            None => share(input.quality, have.map_or(0, <[Port]>::len).max(input.count + input.missing)),
        });
        let fit = match (input, output) {
            (Some(input), Some(output)) => (input + output) / 2.0,
            (one, other) => one.or(other).unwrap_or_default(),
        };
        Some(Fit { fit: rounded(fit), missing })
    }
}

/// Differences that nobody sees don't decide about the order.
pub(super) fn rounded(fit: f32) -> f32 {
    (fit * 100.0).round() / 100.0
}

fn casts(from: &Value, to: &Value) -> bool {
    let effort = Effort::of_steps(EFFORT_OF_A_PAIR);
    Casting { effort: &effort }.casts(from, to).unwrap_or(false)
}

fn why_missing(from: &[Port], port: &Port, side: Side) -> Missing {
    let same = from.iter().find(|other| other.keys().any(|key| port.keys().any(|own| own == key)));
    let mut pointer = match side {
        Side::Input => port.pointer.to_string(),
        Side::Output => format!("/want{}", port.pointer),
    };
    let to = &port.type_.schema;
    let message = match (same, side) {
        (Some(same), _) => {
            let mismatch = mismatch(&same.type_.schema, to);
            pointer.push_str(&mismatch.pointer);
            format!("`{}`: {}", same.label(), mismatch.message)
        }
        (None, Side::Input) => format!("it needs `{}` ({}), which `have` doesn't have", port.label(), describe(to)),
        (None, Side::Output) => format!("it doesn't give `{}` ({})", port.label(), describe(to)),
    };
    Missing { side, name: port.name.to_string(), pointer, message }
}

/// Where a type doesn't go into another, and why.
struct Mismatch {
    pointer: String,
    message: String,
}

/// The first place where `from` doesn't go into `to`, which it doesn't as a whole.
fn mismatch(from: &Value, to: &Value) -> Mismatch {
    let is = |schema: &Value, name: &str| schema.get("type").is_some_and(|known| known == name);
    let inner = if is(from, "array") && is(to, "array") {
        from.get("items").zip(to.get("items")).map(|(from, to)| ("/items".to_owned(), Some(from), to))
    } else if is(from, "object") && is(to, "object") {
        let wanted = to.get("properties").and_then(Value::as_object).into_iter().flatten();
        let known = wanted.map(|(name, to)| (name, from.get("properties").and_then(|known| known.get(name)), to));
        let mut wrong = known.filter(|(_, from, to)| from.is_none_or(|from| !casts(from, to)));
        wrong.next().map(|(name, from, to)| {
            let mut pointer = "/properties".to_owned();
            push_token(&mut pointer, name);
            (pointer, from, to)
        })
    } else {
        None
    };
    match inner {
        Some((pointer, Some(from), to)) => {
            let Mismatch { pointer: rest, message } = mismatch(from, to);
            Mismatch { pointer: pointer + &rest, message }
        }
        Some((pointer, None, to)) => {
            Mismatch { pointer, message: format!("there is no such member; it takes {}", describe(to)) }
        }
        None => Mismatch {
            pointer: String::new(),
            message: format!("{} can't be cast to {}", describe(from), describe(to)),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::Data, *};

    fn links(from: Value, to: Value) -> (Vec<(String, String, bool)>, Option<String>) {
        let [from, to] = [from, to].map(|schema| Data::parse(&schema, "have").unwrap());
        let (links, missing) = Matcher::default().links(&from.ports, &to.ports, Side::Input);
        let links = links.into_iter().map(|link| (link.from, link.to, link.converted)).collect();
        (links, missing.map(|missing| format!("{} {}", missing.pointer, missing.message)))
    }

    #[test]
    fn parts_are_linked_by_name_or_title() {
        let from = json!({"properties": {"city_name": {"type": "string"}, "n": {"type": "integer", "title": "Days"}}});
        let to = json!({"properties": {"cityName": {"type": "string"}, "days": {"type": "string"}}});
        let expected = vec![("city_name".into(), "cityName".into(), false), ("n".into(), "days".into(), true)];
        assert_eq!(links(from, to), (expected, None));
    }

    #[test]
    fn data_without_a_name_goes_into_the_only_port() {
        let text = json!({"type": "string"});
        let titled = json!({"type": "string", "title": "City"});
        let one = json!({"properties": {"city": {"type": "string"}}});
        let two = json!({"properties": {"city": {"type": "string"}, "day": {"type": "string"}}});
        assert_eq!(links(text.clone(), one.clone()), (vec![(String::new(), "city".into(), false)], None));
        assert_eq!(links(titled, one.clone()), (vec![(String::new(), "city".into(), false)], None));
        assert!(links(one, text.clone()).1.is_some(), "what has a name isn't just any text");
        assert!(links(text, two).1.is_some());
    }

    #[test]
    fn the_first_thing_that_is_missing_is_named_with_its_place() {
        let place = |lat: &str| json!({"type": "object", "properties": {"lat": {"type": lat}}});
        let list = |items: Value| json!({"properties": {"where": {"type": "array", "items": items}}});
        let cases = [
            (
                json!({"properties": {}}),
                json!({"properties": {"a/b": {"type": "string"}}}),
                "/properties/a~1b it needs `a/b` (string), which `have` doesn't have",
            ),
            (
                list(place("string")),
                list(place("number")),
                "/properties/where/items/properties/lat `where`: string can't be cast to number",
            ),
            (
                list(json!({"type": "object", "properties": {}})),
                list(place("number")),
                "/properties/where/items/properties/lat `where`: there is no such member; it takes number",
            ),
        ];
        for (from, to, expected) in cases {
            assert_eq!(links(from, to).1.as_deref(), Some(expected));
        }
    }
}
