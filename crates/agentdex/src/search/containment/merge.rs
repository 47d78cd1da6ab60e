//! Intersection of two schemas, as required by `allOf`.

use super::{
    nodes::Nodes,
    schema::{
        ANY, At, Bound, Branches, Kinds, Lists, Member, Node, Numbers, Objects, Parts, Texts, compare, has_value,
    },
};

/// Maximum number of pairs of branches that are merged; of more, the second schema isn't compared.
const MAX_PAIRS: usize = 64;

/// The node for values of both nodes.
pub(super) fn both(nodes: &mut Nodes<'_>, one: At, two: At) -> At {
    if one == two {
        return one;
    }
    let (first, second) = match (nodes.get(one), nodes.get(two)) {
        (Some(first), Some(second)) => (first.clone(), second.clone()),
        // One that is being read refers to itself; the other is all that can be compared.
        (Some(known), None) | (None, Some(known)) => {
            let known = with_unknown(known.clone(), "$ref");
            return nodes.add(known);
        }
        (None, None) => return nodes.add(Node::unknown("$ref")),
    };
    if first.is_any() {
        return two;
    }
    if second.is_any() {
        return one;
    }
    if let Some(known) = nodes.merged.get(&(one, two)) {
        return *known;
    }
    if nodes.begin().is_err() {
        return nodes.add(with_unknown(first, "allOf"));
    }
    let at = nodes.reserve();
    nodes.merged.insert((one, two), at);
    let node = match (first.branches().cloned(), second.branches().cloned()) {
        (None, None) => plain(nodes, first, second),
        (Some(branches), None) => with_branches(nodes, &branches, two, first.unknown_keyword()),
        (None, Some(branches)) => with_branches(nodes, &branches, one, second.unknown_keyword()),
        (Some(branches), Some(others)) if branches.at.len() * others.at.len() <= MAX_PAIRS => {
            let mut pairs = Vec::new();
            for branch in &branches.at {
                for other in &others.at {
                    pairs.push(both(nodes, *branch, *other));
                }
            }
            let unknown = first.unknown_keyword().or(second.unknown_keyword());
            union(nodes, pairs, branches.is_one || others.is_one, unknown)
        }
        (Some(_), Some(_)) => with_unknown(first, "allOf"),
    };
    nodes.end();
    nodes.set(at, node);
    at
}

fn with_unknown(mut node: Node, keyword: &'static str) -> Node {
    node.parts.get_or_insert_default().unknown.get_or_insert(keyword);
    node
}

fn with_branches(nodes: &mut Nodes<'_>, branches: &Branches, other: At, unknown: Option<&'static str>) -> Node {
    let merged = branches.at.iter().map(|branch| both(nodes, *branch, other)).collect();
    union(nodes, merged, branches.is_one, unknown)
}

/// Creates a union of the branches that allow at least one value.
fn union(nodes: &mut Nodes<'_>, branches: Vec<At>, is_one: bool, unknown: Option<&'static str>) -> Node {
    let is_possible = |at: &At| nodes.get(*at).is_none_or(|node| !node.kinds.is_empty());
    let branches: Vec<At> = branches.into_iter().filter(is_possible).collect();
    let kinds = branches.iter().map(|at| nodes.get(*at).map_or(Kinds::ALL, |node| node.kinds));
    let kinds = kinds.fold(Kinds::NONE, Kinds::or);
    let parts = Parts { branches: Some(Branches { at: branches.into(), is_one }), unknown, ..Parts::default() };
    Node { kinds, is_typed: true, parts: Some(Box::new(parts)) }
}

fn plain(nodes: &mut Nodes<'_>, one: Node, two: Node) -> Node {
    let mut kinds = one.kinds.and(two.kinds);
    let is_typed = one.is_typed || two.is_typed;
    let [one, two] = [one, two].map(|node| node.parts.map(|parts| *parts).unwrap_or_default());
    let values = match (one.values, two.values) {
        (Some(one), Some(two)) => Some(one.iter().filter(|value| has_value(&two, value)).cloned().collect()),
        (one, two) => one.or(two),
    };
    let values: Option<Box<[_]>> =
        values.map(|values: Box<[_]>| values.iter().filter(|value| kinds.has(Kinds::of(value))).cloned().collect());
    if let Some(values) = &values {
        kinds = values.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
    }
    let mut unknown = one.unknown.or(two.unknown);
    let unit = merged(one.unit, two.unit, |one, two| {
        if one != two {
            unknown.get_or_insert("unit");
        }
        one
    });
    let parts = Parts {
        branches: None,
        values,
        numbers: merged(one.numbers, two.numbers, |one, two| Box::new(numbers(*one, *two))),
        texts: merged(one.texts, two.texts, |one, two| Box::new(texts(*one, *two, &mut unknown))),
        lists: merged(one.lists, two.lists, |one, two| Box::new(lists(nodes, &one, &two))),
        objects: merged(one.objects, two.objects, |one, two| Box::new(objects(nodes, &one, &two))),
        formats: united(one.formats, two.formats),
        unit,
        unknown: None,
    };
    let parts = Parts { unknown, ..parts };
    let parts = (parts != Parts::default()).then(|| Box::new(parts));
    Node { kinds, is_typed, parts }
}

fn merged<T>(one: Option<T>, two: Option<T>, merge: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, two) {
        (Some(one), Some(two)) => Some(merge(one, two)),
        (one, two) => one.or(two),
    }
}

fn united<T: Ord>(mut one: Vec<T>, two: Vec<T>) -> Vec<T> {
    one.extend(two);
    one.sort();
    one.dedup();
    one
}

fn numbers(one: Numbers, two: Numbers) -> Numbers {
    let tighter = |is_tighter: fn(&Bound, &Bound) -> bool| {
        move |one: Bound, two: Bound| match compare(&one.at, &two.at).is_eq() {
            true => Bound { is_exclusive: one.is_exclusive || two.is_exclusive, ..one },
            false if is_tighter(&one, &two) => one,
            false => two,
        }
    };
    let mut multiples = one.multiples;
    for multiple in two.multiples {
        if !multiples.contains(&multiple) {
            multiples.push(multiple);
        }
    }
    multiples.sort_by(compare);
    Numbers {
        least: merged(one.least, two.least, tighter(|one, two| compare(&one.at, &two.at).is_gt())),
        most: merged(one.most, two.most, tighter(|one, two| compare(&one.at, &two.at).is_lt())),
        multiples,
    }
}

fn texts(one: Texts, two: Texts, unknown: &mut Option<&'static str>) -> Texts {
    let mut same = |one: Option<Box<str>>, two: Option<Box<str>>, keyword| {
        merged(one, two, |one, two| {
            if one != two {
                unknown.get_or_insert(keyword);
            }
            one
        })
    };
    Texts {
        length: one.length.and(two.length),
        patterns: united(one.patterns, two.patterns),
        media: same(one.media, two.media, "contentMediaType"),
        encoding: same(one.encoding, two.encoding, "contentEncoding"),
    }
}

fn optional(nodes: &mut Nodes<'_>, one: Option<At>, two: Option<At>) -> Option<At> {
    match (one, two) {
        (Some(one), Some(two)) => Some(both(nodes, one, two)),
        (one, two) => one.or(two),
    }
}

fn lists(nodes: &mut Nodes<'_>, one: &Lists, two: &Lists) -> Lists {
    let mut first = Vec::new();
    for index in 0..one.first.len().max(two.first.len()) {
        let item = optional(nodes, one.item(index), two.item(index));
        first.push(item.unwrap_or_else(|| nodes.add(ANY)));
    }
    Lists {
        length: one.length.and(two.length),
        first: first.into(),
        others: optional(nodes, one.others, two.others),
        is_unique: one.is_unique || two.is_unique,
    }
}

fn objects(nodes: &mut Nodes<'_>, one: &Objects, two: &Objects) -> Objects {
    let names = united(
        one.members.iter().map(|member| member.name.clone()).collect(),
        two.members.iter().map(|member| member.name.clone()).collect(),
    );
    let mut members = Vec::with_capacity(names.len());
    for name in names {
        let [first, second] = [one, two].map(|objects| objects.member(&name));
        let at = |member: Option<&Member>, objects: &Objects| member.map(|member| member.at).or(objects.others);
        let merged = optional(nodes, at(first, one), at(second, two));
        let is_required = [first, second].iter().flatten().any(|member| member.is_required);
        let at = merged.unwrap_or_else(|| nodes.add(ANY));
        members.push(Member { name, at, is_required });
    }
    Objects {
        members: members.into(),
        others: optional(nodes, one.others, two.others),
        is_open: one.is_open && two.is_open,
        is_listed: one.is_listed || two.is_listed,
        count: one.count.and(two.count),
    }
}
