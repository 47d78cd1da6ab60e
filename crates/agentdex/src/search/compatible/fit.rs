//! Matching of data with ports: which part of the data supplies each port, the quality of the match, and missing
//! inputs.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use super::{
    super::containment::{Certainty, Schema, decide, explain},
    Link, Missing, Side,
    port::Port,
    shape::Shape,
};
use crate::td::internal::push_token;

/// Ways in which two parts of data correspond, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Name,
    Title,
    /// By a name that means the same.
    Meaning,
    /// There is no other part.
    Type,
}

impl By {
    fn quality(self) -> f32 {
        match self {
            By::Name => 1.0,
            By::Title => 0.95,
            By::Meaning => 0.9,
            By::Type => 0.6,
        }
    }
}

/// Returns the factor for a certainty: above one half for a certain or unstated match, below one half for a match
/// that may fail.
pub(super) fn chance(certainty: Certainty) -> f32 {
    match certainty {
        Certainty::Fits => 1.0,
        Certainty::Unstated => 0.9,
        Certainty::MayFail => 0.4,
        Certainty::Cannot => 0.0,
    }
}

/// A source for a port, and the quality of the match.
#[derive(Debug, Clone, Copy)]
pub(super) struct Supply {
    /// Number of the supplying port.
    pub from: usize,
    pub by: By,
    /// Degree to which the names correspond.
    pub quality: f32,
    pub certainty: Certainty,
    pub is_converted: bool,
}

impl Supply {
    /// Returns the quality, weighted by the certainty.
    pub fn score(&self) -> f32 {
        self.quality * chance(self.certainty)
    }

    /// True if the stated schemas don't contradict each other.
    pub fn is_likely(&self) -> bool {
        self.certainty <= Certainty::Unstated
    }
}

/// Totals over ports that are supplied by others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Supplied {
    /// Sum of the qualities over all supplied ports.
    pub quality: f32,
    /// Sum of the qualities over the supplied ports that are required.
    pub required_quality: f32,
    /// Number of supplied ports.
    pub count: usize,
    /// Number of required ports.
    pub required: usize,
    /// Number of required ports without a supply.
    pub missing: usize,
    /// Lowest certainty of all supplies.
    pub certainty: Certainty,
}

/// Score of a capability, with the number of its gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// Quality of the match from 0 to 1.
    pub fit: f32,
    /// Number of required inputs and outputs without a supply.
    pub missing: usize,
}

/// Two schemas, identified by their addresses.
type Pair = (*const Schema, *const Schema);

/// Compares ports; remembers how schemas compare.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    known: RefCell<HashMap<Pair, (Certainty, bool)>>,
}

impl Matcher {
    /// Returns the certainty that values of one schema satisfy the other, and whether they are converted.
    fn certainty(&self, from: &Arc<Schema>, to: &Arc<Schema>) -> (Certainty, bool) {
        // Both are borrowed for longer than this lives, so that the addresses stay theirs.
        let pair = (Arc::as_ptr(from), Arc::as_ptr(to));
        if let Some(known) = self.known.borrow().get(&pair) {
            return *known;
        }
        let verdict = decide(from, to);
        let certainty = (verdict.certainty, verdict.is_converted);
        self.known.borrow_mut().insert(pair, certainty);
        certainty
    }

    /// True if some value of `from` may satisfy `to`.
    pub fn goes(&self, from: &Arc<Schema>, to: &Arc<Schema>) -> bool {
        self.certainty(from, to).0 < Certainty::Cannot
    }

    /// Matches two ports by name or, with `is_by_type`, by type only. Returns `None` if they don't match, or if no
    /// value of `from` can satisfy the schema of `to`.
    pub fn supply(&self, from: &Port, to: &Port, is_by_type: bool) -> Option<Supply> {
        let by = if from.names.key.is_some() && from.names.key == to.names.key {
            By::Name
        } else if from.names.are_same(&to.names) {
            By::Title
        } else if from.names.are_near(&to.names) {
            By::Meaning
        } else if is_by_type {
            By::Type
        } else {
            return None;
        };
        let (certainty, is_converted) = self.certainty(&from.schema, &to.schema);
        let certainty = if may_be_absent(from, to) { certainty.max(Certainty::MayFail) } else { certainty };
        let supply = Supply { from: 0, by, quality: by.quality(), certainty, is_converted };
        (certainty < Certainty::Cannot).then_some(supply)
    }

    /// Returns the best match for a port.
    pub fn best(&self, from: &[Port], to: &Port, is_by_type: bool) -> Option<Supply> {
        self.best_of(from, to, is_by_type, |_| false)
    }

    /// Returns the best match among ports that aren't meant for other targets, except for matches by name.
    fn best_of(
        &self,
        from: &[Port],
        to: &Port,
        is_by_type: bool,
        is_for_others: impl Fn(&Port) -> bool,
    ) -> Option<Supply> {
        let mut best: Option<Supply> = None;
        for (number, port) in from.iter().enumerate() {
            let supply = self.supply(port, to, is_by_type).map(|supply| Supply { from: number, ..supply });
            let is_better = |supply: &Supply| best.is_none_or(|best| supply.score() > best.score());
            if let Some(supply) = supply.filter(is_better)
                && (supply.by != By::Meaning || !is_for_others(port))
            {
                best = Some(supply);
            }
        }
        best
    }

    /// Describes the link between two ports.
    pub fn link(&self, from: &Port, to: &Port, supply: Supply) -> Link {
        let mut doubts = Vec::new();
        let name = if from.name.is_empty() { &to.name } else { &from.name };
        match supply.by {
            By::Meaning => doubts.push(format!("{} might not mean {}", from.label(), to.label())),
            By::Type => doubts.push(format!("{} matches by type only", quoted(name))),
            By::Name | By::Title => {}
        }
        if supply.certainty != Certainty::Fits {
            if may_be_absent(from, to) {
                doubts.push(format!("{} may be absent", quoted(name)));
            }
            doubts.extend(explain(&from.schema, &to.schema).notes.iter().map(|note| note.doubt(name)));
        }
        Link { from: from.name.to_string(), to: to.name.to_string(), converted: supply.is_converted, doubts }
    }

    /// Matches each port of `to` with the best port of `from`. With [`Side::Input`], `from` is the available data, and
    /// `to` the inputs of a capability. With [`Side::Output`], `from` is the outputs of a capability, and `to` the
    /// wanted data. Unnamed data matches the only port. Calls `each` for each port of `to`.
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
        let mut supplied = Supplied {
            quality: 0.0,
            required_quality: 0.0,
            count: 0,
            required,
            missing: 0,
            certainty: Certainty::Fits,
        };
        for port in to {
            // One that is called the same as another part isn't what this one means.
            let is_for_others = |from: &Port| to.iter().any(|other| other.names.are_same(&from.names));
            let supply = self.best_of(from, port, is_only && (port.is_required || to.len() == 1), is_for_others);
            match supply {
                Some(Supply { quality, certainty, .. }) => {
                    supplied.certainty = supplied.certainty.max(certainty);
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

    /// Returns the links into the ports of `to`, and the first missing port.
    pub fn links(&self, from: &[Port], to: &[Port], side: Side) -> (Vec<Link>, Option<Missing>) {
        let (mut links, mut missing) = (Vec::new(), None);
        self.supplied(from, to, side, |port, supply| {
            match supply.and_then(|supply| Some((supply, from.get(supply.from)?))) {
                Some((supply, source)) => links.push(self.link(source, port, supply)),
                None if port.is_required && missing.is_none() => missing = Some(why_missing(from, port, side)),
                None => {}
            }
        });
        (links, missing)
    }

    /// Scores a shape against the available and the wanted data. Returns `None` if the shape produces none of the
    /// wanted data or, if no data is wanted, accepts none of the available data.
    pub fn fit(&self, have: Option<&[Port]>, want: Option<&[Port]>, shape: &Shape) -> Option<Fit> {
        let input = have.map(|have| self.supplied(have, &shape.inputs, Side::Input, |_, _| {}));
        let output = want.map(|want| self.supplied(&shape.outputs, want, Side::Output, |_, _| {}));
        if output.or(input).is_none_or(|side| side.count == 0) {
            return None;
        }
        let missing = input.map_or(0, |input| input.missing) + output.map_or(0, |output| output.missing);
        let certainty = [input, output].iter().flatten().map(|side| side.certainty).max().unwrap_or(Certainty::Fits);
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
        Some(Fit { fit: rounded(fit * chance(certainty)), missing })
    }
}

/// Differences that nobody sees don't decide about the order.
pub(super) fn rounded(fit: f32) -> f32 {
    (fit * 100.0).round() / 100.0
}

/// True if a required port is not guaranteed by its source.
fn may_be_absent(from: &Port, to: &Port) -> bool {
    to.is_certain && !from.is_certain
}

fn quoted(name: &str) -> String {
    if name.is_empty() { "the data".to_owned() } else { format!("`{name}`") }
}

fn why_missing(from: &[Port], port: &Port, side: Side) -> Missing {
    let same = from.iter().find(|other| other.names.are_same(&port.names));
    let same = same.or_else(|| from.iter().find(|other| other.names.are_near(&port.names)));
    let mut pointer = match side {
        Side::Input => port.pointer.to_string(),
        Side::Output => format!("/want{}", port.pointer),
    };
    let reason = same.and_then(|same| Some((same, explain(&same.schema, &port.schema).notes.into_iter().next()?)));
    let type_ = port.schema.describe();
    let message = match (reason, side) {
        (Some((same, note)), _) => {
            note.pointer().iter().for_each(|token| push_token(&mut pointer, token));
            format!("{}: {}", same.label(), note.reason)
        }
        (None, Side::Input) => format!("it needs {} ({type_}), which `have` lacks", port.label()),
        (None, Side::Output) => format!("it doesn't return {} ({type_})", port.label()),
    };
    Missing { side, name: port.name.to_string(), pointer, message }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
        let place = |lat: &str| json!({"type": "object", "properties": {"lat": {"type": lat}}, "required": ["lat"]});
        let list = |items: Value| json!({"properties": {"where": {"type": "array", "items": items}}});
        let cases = [
            (
                json!({"properties": {}}),
                json!({"properties": {"a/b": {"type": "string"}}}),
                "/properties/a~1b it needs `a/b` (string), which `have` lacks",
            ),
            (
                list(place("string")),
                list(place("number")),
                "/properties/where/items/properties/lat `where`: string can't be cast to number",
            ),
            (
                list(json!({"type": "object", "properties": {}})),
                list(place("number")),
                "/properties/where/items/properties/lat `where`: the member `lat` is missing; it must be a number",
            ),
        ];
        for (from, to, expected) in cases {
            assert_eq!(links(from, to).1.as_deref(), Some(expected));
        }
    }
}
