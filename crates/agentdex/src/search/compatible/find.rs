//! Compatible search: capabilities that accept the caller's data and produce the wanted data.

use std::{cmp::Ordering, collections::HashSet, time::Instant};

use serde::Serialize;

use super::{
    CompatibleHit, Link, Relevance, Side,
    fit::{Fit, Matcher},
    index::{Capability, ShapeIndex, ShapeNo},
    port::{Data, Port},
};
use crate::{Error, Result};

/// Number of shapes compared between readings of the clock.
const COMPARED_AT_ONCE: usize = 256;

/// A request for compatible capabilities.
#[derive(Debug)]
pub struct Request<'r> {
    /// Data available to the caller. If `None`, the inputs of capabilities are ignored.
    pub have: Option<&'r Data>,
    /// Data wanted by the caller. If `None`, the outputs of capabilities are ignored.
    pub want: Option<&'r Data>,
    /// Relevance of Things, as a tiebreaker between equally good matches.
    pub relevance: &'r Relevance,
    /// True if capabilities with a single missing input or output are included.
    pub near_misses: bool,
    /// Ids of Things to exclude.
    pub hidden: &'r HashSet<&'r str>,
    /// Maximum number of hits.
    pub limit: usize,
    /// Number of hits to skip.
    pub offset: usize,
    /// Time at which the search is aborted.
    pub deadline: Instant,
}

/// A page of compatible capabilities, with their total.
#[derive(Debug, Default, Serialize)]
pub struct Found {
    /// Number of matches on all pages.
    pub total: usize,
    /// Matches on this page, best fit first. Near misses come last.
    pub hits: Vec<CompatibleHit>,
}

/// A matching capability, before its texts are created.
struct Candidate<'i> {
    shape: ShapeNo,
    capability: Capability<'i>,
    is_near_miss: bool,
    fit: f32,
    relevance: f32,
}

impl Candidate<'_> {
    fn order(&self, other: &Self) -> Ordering {
        let key = |candidate: &Self| (candidate.is_near_miss, -candidate.fit, -candidate.relevance);
        let [one, two] = [key(self), key(other)];
        one.0
            .cmp(&two.0)
            .then(one.1.total_cmp(&two.1))
            .then(one.2.total_cmp(&two.2))
            .then_with(|| (self.capability.id, self.capability.key).cmp(&(other.capability.id, other.capability.key)))
    }
}

impl ShapeIndex {
    /// Finds compatible capabilities.
    ///
    /// # Errors
    /// [`Error::QueryTooCostly`] if the deadline is exceeded.
    pub fn find(&self, request: &Request<'_>) -> Result<Found> {
        let [have, want] = [request.have, request.want].map(|data| data.map(|data| &*data.ports));
        let matcher = Matcher::default();
        let mut found = Vec::new();
        for (n, shape) in self.candidates(have, want, request.near_misses).into_iter().enumerate() {
            if n.is_multiple_of(COMPARED_AT_ONCE) && Instant::now() > request.deadline {
                let message = "it takes too long; add members to `want`, or use less common names".to_owned();
                return Err(Error::QueryTooCostly { message });
            }
            let Some(ports) = self.get(shape) else { continue };
            let Some(Fit { fit, missing }) = matcher.fit(have, want, ports) else { continue };
            if missing > usize::from(request.near_misses) {
                continue;
            }
            found.extend(self.members(shape).filter(|capability| !request.hidden.contains(capability.id)).map(
                |capability| {
                    let relevance = request.relevance.get(capability.id).copied().unwrap_or_default();
                    Candidate { shape, capability, is_near_miss: missing > 0, fit, relevance }
                },
            ));
        }
        let total = found.len();
        let end = request.offset.saturating_add(request.limit).min(total);
        if end > 0 && end < total {
            found.select_nth_unstable_by(end - 1, Candidate::order);
            found.truncate(end);
        }
        found.sort_unstable_by(Candidate::order);
        let page = found.iter().skip(request.offset);
        let hits = page.filter_map(|candidate| self.hit(&matcher, have, want, candidate)).collect();
        Ok(Found { total, hits })
    }

    /// Returns distinct candidate shapes, a superset of the matching shapes.
    fn candidates(&self, have: Option<&[Port]>, want: Option<&[Port]>, near_misses: bool) -> Vec<ShapeNo> {
        let wanted: Vec<&Port> = want.unwrap_or_default().iter().filter(|port| port.is_required).collect();
        // Where nothing has to be given, or the one thing may be missing, something else that is wanted is.
        let is_any = |want: &&[Port]| wanted.len() <= usize::from(near_misses) && !want.iter().any(Port::is_unnamed);
        if let Some(want) = want.filter(is_any) {
            return merged(want.iter().flat_map(|port| self.posted(port, Self::giving)));
        }
        if !wanted.is_empty() && wanted.iter().all(|port| !port.is_unnamed()) {
            // One that gives everything gives the rarest; one that lacks something gives one of the two rarest.
            let mut postings: Vec<Vec<ShapeNo>> = wanted.iter().map(|port| self.posted(port, Self::giving)).collect();
            postings.sort_by_key(Vec::len);
            let taken = if near_misses { 2 } else { 1 };
            return merged(postings.into_iter().take(taken).flatten());
        }
        match have {
            Some(have) if want.is_none() && !have.iter().any(Port::is_unnamed) => {
                self.usable(have, usize::from(near_misses))
            }
            _ => self.all().collect(),
        }
    }

    /// Returns shapes that accept at least one of the ports, and whose required inputs are named like ports except
    /// for `lacking` of them.
    fn usable(&self, have: &[Port], lacking: usize) -> Vec<ShapeNo> {
        let mut counts = vec![0u16; self.end() as usize];
        for shape in have.iter().flat_map(|port| port.names.all()).flat_map(|key| self.needing(key)) {
            if let Some(count) = counts.get_mut(*shape as usize) {
                *count = count.saturating_add(1);
            }
        }
        let is_usable = |shape: ShapeNo, count: u16| {
            self.get(shape).is_some_and(|shape| usize::from(count) + lacking >= shape.required().count())
        };
        let needing = (0..).zip(counts).filter(|(shape, count)| *count > 0 && is_usable(*shape, *count));
        let taking = have.iter().flat_map(|port| self.posted(port, Self::taking)).filter(|shape| is_usable(*shape, 0));
        merged(needing.map(|(shape, _)| shape).chain(taking))
    }

    /// Returns the shapes posted under any name of a port, ascending and without duplicates.
    fn posted<'i>(&'i self, port: &Port, postings: impl Fn(&'i Self, &str) -> &'i [ShapeNo]) -> Vec<ShapeNo> {
        merged(port.names.all().flat_map(|key| postings(self, key)).copied())
    }

    fn hit(
        &self,
        matcher: &Matcher,
        have: Option<&[Port]>,
        want: Option<&[Port]>,
        candidate: &Candidate<'_>,
    ) -> Option<CompatibleHit> {
        let shape = self.get(candidate.shape)?;
        let (input, no_input) = have.map(|have| matcher.links(have, &shape.inputs, Side::Input)).unwrap_or_default();
        let (output, no_output) =
            want.map(|want| matcher.links(&shape.outputs, want, Side::Output)).unwrap_or_default();
        let missing = no_input.or(no_output);
        let why = missing.as_ref().map_or_else(|| why(have, &input, &output), |missing| missing.message.clone());
        Some(CompatibleHit {
            id: candidate.capability.id.to_owned(),
            title: candidate.capability.title.map(str::to_owned),
            capability: candidate.capability.key.to_owned(),
            fit: candidate.fit,
            relevance: candidate.relevance,
            input,
            output,
            why,
            missing,
            links: Vec::new(),
        })
    }
}

/// Numbers in their order, each once.
fn merged(shapes: impl IntoIterator<Item = ShapeNo>) -> Vec<ShapeNo> {
    let mut shapes: Vec<ShapeNo> = shapes.into_iter().collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

/// Explains why a capability matches, including doubts.
fn why(have: Option<&[Port]>, input: &[Link], output: &[Link]) -> String {
    const SHOWN: usize = 8;
    let list = |links: &[Link]| {
        let name = |name: &str| if name.is_empty() { "the data".to_owned() } else { format!("`{name}`") };
        let link = |link: &Link| {
            let conversion = if link.converted { " (converted)" } else { "" };
            match link.from == link.to {
                true => format!("{}{conversion}", name(&link.to)),
                false => format!("{} as {}{conversion}", name(&link.from), name(&link.to)),
            }
        };
        let mut listed: Vec<String> = links.iter().take(SHOWN).map(link).collect();
        if links.len() > SHOWN {
            listed.push(format!("{} more", links.len() - SHOWN));
        }
        listed.join(", ")
    };
    let takes = match (have, input) {
        (None, _) => None,
        (Some(_), []) => Some("needs nothing".to_owned()),
        (Some(_), links) => Some(format!("takes {}", list(links))),
    };
    let gives = (!output.is_empty()).then(|| format!("gives {}", list(output)));
    let doubts: Vec<&str> = input.iter().chain(output).flat_map(|link| &link.doubts).map(String::as_str).collect();
    let but = (!doubts.is_empty()).then(|| format!("but {}", doubts[..doubts.len().min(SHOWN)].join(", ")));
    takes.into_iter().chain(gives).chain(but).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::{super::shape::shapes, *};

    /// Data of a few names and types, also without a name.
    fn data() -> impl Strategy<Value = Value> {
        let type_ = || prop::sample::select(&["string", "integer", "boolean", "array"][..]);
        let member = (type_(), prop::option::of(prop::sample::select(&["A", "b b", "C"][..])), any::<bool>());
        let members = prop::collection::btree_map("[a-d]", member, 0..4).prop_map(|members| {
            let required: Vec<_> =
                members.iter().filter(|(_, (.., is_required))| *is_required).map(|(name, _)| name).collect();
            let properties: Map<String, Value> = members
                .iter()
                .map(|(name, (type_, title, _))| match title {
                    Some(title) => (name.clone(), json!({"type": type_, "title": title})),
                    None => (name.clone(), json!({"type": type_})),
                })
                .collect();
            json!({"type": "object", "properties": properties, "required": required})
        });
        prop_oneof![4 => members, 1 => type_().prop_map(|type_| json!({"type": type_}))]
    }

    proptest! {
        #[test]
        fn candidates_by_name_are_all_that_fit(
            things in prop::collection::vec((data(), data()), 1..12),
            have in prop::option::of(data()),
            want in prop::option::of(data()),
            near_misses in any::<bool>(),
        ) {
            let mut index = ShapeIndex::default();
            for (n, (input, output)) in things.iter().enumerate() {
                let thing = json!({"title": "T", "actions": {"a": {"input": input, "output": output}}});
                index.put(&format!("urn:{n}"), shapes(&thing.to_string()).unwrap());
            }
            let [have, want] = [have, want].map(|schema| schema.map(|schema| Data::parse(&schema, "have").unwrap()));
            let [had, wanted] = [&have, &want].map(|data| data.as_ref().map(|data| &*data.ports));
            let fits = |shape: &ShapeNo| {
                let fit = Matcher::default().fit(had, wanted, index.get(*shape).unwrap());
                fit.is_some_and(|fit| fit.missing <= usize::from(near_misses))
            };
            let expected: Vec<ShapeNo> = index.all().filter(fits).collect();
            let found: Vec<ShapeNo> = index.candidates(had, wanted, near_misses).into_iter().filter(fits).collect();
            prop_assert_eq!(found, expected);
            let request = Request {
                have: have.as_ref(), want: want.as_ref(), relevance: &Relevance::new(), near_misses,
                hidden: &HashSet::new(), limit: 100, offset: 0, deadline: Instant::now() + Duration::from_secs(60),
            };
            for hit in index.find(&request).unwrap().hits {
                prop_assert!((0.0..=1.0).contains(&hit.fit) && !hit.why.is_empty(), "{hit:?}");
                prop_assert!(hit.missing.is_none() || near_misses, "{hit:?}");
            }
        }
    }
}
