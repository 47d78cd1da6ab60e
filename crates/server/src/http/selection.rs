//! Selection and order of the Things in a list.
//!
//! By id, Things are read as they are sent, and a page starts where a token says. Any other order has to
//! read all of them first; it remembers no more of them than the page needs, and so asks for a page of
//! limited depth. What filters choose is read from the index in parts, so that no list of ids grows with
//! the registry.

use std::{cmp::Ordering, collections::BinaryHeap, vec};

use serde::Deserialize;

use super::{blocking::blocking, page_token, parameters::Parameters, problem::Problem};
use crate::{
    Error, Registry, Seq, Timestamp,
    registry::Thing,
    search::{Filters, MAX_DEPTH, MAX_LIMIT},
};

/// Maximum number of ids that are read from the index at once.
const IDS_AT_ONCE: usize = 8 * 1024;
/// Number of bytes of a page that are held in memory while its end is searched; the rest is read again.
const PAGE_BYTES: usize = 1024 * 1024;

/// The page, query, filters and order of a list that a client requests.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
    /// The id that the page before ended with.
    after: Option<String>,
    query: Option<String>,
    filters: Filters,
    consistent: bool,
    sorting: Option<Sorting>,
}

/// An order that isn't that of ascending ids.
#[derive(Debug, Clone, Copy)]
struct Sorting {
    field: Field,
    descending: bool,
    /// Number of Things up to the end of the page: `offset` plus `limit`.
    depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Id,
    Title,
    Created,
    Modified,
}

/// The Things of a list, and the log position from before it was read.
pub(super) struct Found {
    pub(super) seq: Seq,
    /// Total number of Things on all pages.
    pub(super) total: usize,
    /// Those of this page.
    pub(super) things: BoxedThings,
    /// Start of the next page; none after the last.
    pub(super) next: Option<Start>,
}

/// The start of a page.
pub(super) enum Start {
    /// After this id.
    After(String),
    Offset(usize),
}

type BoxedThings = Box<dyn Iterator<Item = Result<Thing, Error>> + Send>;

impl Selection {
    pub(super) fn of(parameters: &Parameters, registry: &Registry) -> Result<Selection, Problem> {
        let limit = parameters.number("limit", 1)?.map(|limit| usize::try_from(limit).unwrap_or(MAX_LIMIT));
        let offset = parameters.number("offset", 0)?.map(|offset| usize::try_from(offset).unwrap_or(usize::MAX));
        let decode = |token| {
            page_token::decode(registry.registry_id(), token).ok_or_else(|| {
                let detail = "`after` is not a page token of this registry; follow the `next` links of `GET /things`";
                Problem::invalid_parameter("after", detail)
            })
        };
        let after = parameters.text("after").map(decode).transpose()?;
        if offset.is_some_and(|offset| offset > MAX_DEPTH) {
            let problem = Problem::from(Error::LimitExceeded { what: "offset", maximum: MAX_DEPTH as u64 });
            let detail = format!(
                "`offset` can be at most {MAX_DEPTH}; to read on, follow the `next` links, which have no such limit"
            );
            return Err(problem.with_detail(detail));
        }
        if offset.is_some() && after.is_some() {
            return Err(Problem::invalid_parameter("after", "`after` and `offset` can't be combined"));
        }
        let mut selection = Selection {
            limit: limit.map(|limit| limit.min(MAX_LIMIT)),
            offset: offset.unwrap_or_default(),
            after,
            query: parameters.text("q").map(str::to_owned).filter(|query| !query.trim().is_empty()),
            filters: parameters.filters("source_format")?,
            consistent: parameters.flag("consistent")?,
            sorting: None,
        };
        selection.sorting = selection.sorting(parameters)?;
        Ok(selection)
    }

    /// True if only some Things are asked for.
    pub(super) fn is_filtered(&self) -> bool {
        self.query.is_some() || !self.filters.is_empty()
    }

    fn sorting(&self, parameters: &Parameters) -> Result<Option<Sorting>, Problem> {
        let fields =
            [("id", Field::Id), ("title", Field::Title), ("created", Field::Created), ("modified", Field::Modified)];
        let field = parameters.choice("sort_by", &fields)?.unwrap_or(Field::Id);
        let descending = parameters.choice("sort_order", &[("asc", false), ("desc", true)])?.unwrap_or_default();
        if field == Field::Id && !descending {
            return Ok(None);
        }
        if self.after.is_some() {
            return Err(Problem::invalid_parameter(
                "after",
                "`after` is only possible in ascending order of ids; use `offset` instead",
            ));
        }
        match self.limit.map(|limit| self.offset + limit).filter(|end| *end <= MAX_DEPTH) {
            Some(depth) => Ok(Some(Sorting { field, descending, depth })),
            None => {
                let detail = format!(
                    "only a list in ascending order of ids is unlimited; other orders require a `limit`, and `offset` \
                     plus `limit` can be at most {MAX_DEPTH}"
                );
                Err(Problem::invalid_parameter("sort_by", detail))
            }
        }
    }

    /// Returns the number of ids to read from the index at once: no more than the page needs.
    fn ids_at_once(&self) -> usize {
        match (self.sorting, self.limit) {
            (None, Some(limit)) => IDS_AT_ONCE.min(self.offset + limit + 1),
            _ => IDS_AT_ONCE,
        }
    }

    /// Finds the page.
    pub(super) async fn find(self, registry: Registry) -> Result<Found, Error> {
        if self.is_filtered() {
            registry.ready_to_search(self.consistent).await?;
        }
        blocking(move || self.find_as_indexed(&registry)).await
    }

    fn find_as_indexed(self, registry: &Registry) -> Result<Found, Error> {
        if !self.is_filtered() {
            let (seq, total) = (registry.last_seq(), usize::try_from(registry.len()).unwrap_or(usize::MAX));
            let things = match &self.after {
                Some(after) => things_after(registry, after.clone()),
                None => Box::new(registry.list()),
            };
            return self.page(registry, seq, total, things);
        }
        let matching = Matching::new(registry, &self)?;
        let seq = matching.seq;
        let total = usize::try_from(matching.total).unwrap_or(usize::MAX);
        self.page(registry, seq, total, Box::new(matching))
    }

    fn page(self, registry: &Registry, seq: Seq, total: usize, things: BoxedThings) -> Result<Found, Error> {
        if let Some(sorting) = self.sorting {
            let ids = sorting.first(things)?.into_iter().skip(self.offset);
            let registry = registry.clone();
            let things = ids.filter_map(move |id| registry.find(&id).transpose());
            let next = (sorting.depth < total).then_some(Start::Offset(sorting.depth));
            return Ok(Found { seq, total, things: Box::new(things), next });
        }
        let things = things.skip(self.offset);
        let Some(limit) = self.limit else { return Ok(Found { seq, total, things: Box::new(things), next: None }) };
        let (things, next) = first(registry, things, limit)?;
        Ok(Found { seq, total, things, next: next.map(Start::After) })
    }
}

/// The first Things, and the id of the last of them if there are more.
fn first(
    registry: &Registry,
    mut things: impl Iterator<Item = Result<Thing, Error>> + Send + 'static,
    limit: usize,
) -> Result<(BoxedThings, Option<String>), Error> {
    let (mut held, mut bytes, mut ids) = (Vec::new(), 0, Vec::new());
    while ids.len() < limit {
        let Some(thing) = things.next().transpose()? else { break };
        if bytes < PAGE_BYTES {
            bytes += thing.text().len();
            held.push(thing);
            ids.push(None);
        } else {
            ids.push(Some(thing.id().to_owned()));
        }
    }
    let has_more = ids.len() == limit && things.next().transpose()?.is_some();
    let last = ids.last().and_then(Option::as_deref).or_else(|| held.last().map(Thing::id)).map(str::to_owned);
    let registry = registry.clone();
    let rest = ids.into_iter().flatten().filter_map(move |id| registry.find(&id).transpose());
    Ok((Box::new(held.into_iter().map(Ok).chain(rest)), last.filter(|_| has_more)))
}

/// All Things after an id.
fn things_after(registry: &Registry, id: String) -> BoxedThings {
    let things = registry.list_from(Some(&id));
    Box::new(things.skip_while(move |thing| thing.as_ref().is_ok_and(|thing| thing.id() <= id.as_str())))
}

/// The Things that match, in the order of their ids.
struct Matching {
    registry: Registry,
    query: Option<String>,
    filters: Filters,
    total: u64,
    seq: Seq,
    ids: vec::IntoIter<String>,
    /// The last of the ids that were read, if there may be more.
    last: Option<String>,
    at_once: usize,
}

impl Matching {
    fn new(registry: &Registry, selection: &Selection) -> Result<Matching, Error> {
        let mut matching = Matching {
            registry: registry.clone(),
            query: selection.query.clone(),
            filters: selection.filters.clone(),
            total: 0,
            seq: Seq::ZERO,
            ids: Vec::new().into_iter(),
            last: None,
            at_once: selection.ids_at_once(),
        };
        matching.read(selection.after.as_deref())?;
        Ok(matching)
    }

    fn read(&mut self, after: Option<&str>) -> Result<(), Error> {
        let query = self.query.as_deref();
        let page = self.registry.ids_as_indexed(query, &self.filters, after, self.at_once)?;
        (self.total, self.seq) = (page.total, page.seq);
        let ids = page.ids;
        self.last = ids.last().filter(|_| ids.len() == self.at_once).cloned();
        self.ids = ids.into_iter();
        Ok(())
    }
}

impl Iterator for Matching {
    type Item = Result<Thing, Error>;

    fn next(&mut self) -> Option<Result<Thing, Error>> {
        loop {
            for id in self.ids.by_ref() {
                // What was removed since is left out.
                if let Some(thing) = self.registry.find(&id).transpose() {
                    return Some(thing);
                }
            }
            let last = self.last.take()?;
            if let Err(error) = self.read(Some(&last)) {
                return Some(Err(error));
            }
        }
    }
}

impl Sorting {
    /// The ids of the first Things in this order, as many as the page is deep.
    fn first(self, things: impl Iterator<Item = Result<Thing, Error>>) -> Result<Vec<String>, Error> {
        let mut first = BinaryHeap::new();
        for thing in things {
            let thing = thing?;
            first.push(Ranked { key: self.key(&thing), id: thing.id().to_owned(), descending: self.descending });
            if first.len() > self.depth {
                first.pop();
            }
        }
        Ok(first.into_sorted_vec().into_iter().map(|ranked| ranked.id).collect())
    }

    fn key(self, thing: &Thing) -> Key {
        match self.field {
            Field::Id => Key::Text(thing.id().to_owned()),
            Field::Title => Key::Text(title(thing.text()).to_lowercase()),
            Field::Created => Key::Moment(thing.registration(Timestamp(0)).created),
            Field::Modified => Key::Moment(thing.modified()),
        }
    }
}

fn title(text: &str) -> String {
    #[derive(Deserialize)]
    struct Titled {
        #[serde(default)]
        title: String,
    }
    serde_json::from_str::<Titled>(text).map(|titled| titled.title).unwrap_or_default()
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Text(String),
    Moment(Timestamp),
}

/// A Thing in a sorted list; those with the same key are in ascending order of id.
#[derive(Debug, PartialEq, Eq)]
struct Ranked {
    key: Key,
    id: String,
    descending: bool,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        let by_key = self.key.cmp(&other.key);
        let by_key = if self.descending { by_key.reverse() } else { by_key };
        by_key.then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
