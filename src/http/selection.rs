//! Which Things a list shows, and in which order.
//!
//! By id, Things are read as they are sent. Any other order has to read all of them first; it
//! remembers no more of them than the page needs, and so asks for a page of limited depth.

use std::{cmp::Ordering, collections::BinaryHeap};

use actix_web::web::Data;
use serde::Deserialize;

use super::{Context, blocking::blocking, parameters::Parameters, problem::Problem, things::collection_tag};
use crate::{
    Error, Registry, Seq, Timestamp,
    registry::{Matching, Thing},
    search::{Filters, MAX_DEPTH, MAX_LIMIT},
};

/// What a client asks of a list.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
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
    /// How many Things lie before the end of the page.
    depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Id,
    Title,
    Created,
    Modified,
}

/// What the list is made from, and the log position from before it was looked for.
pub(super) struct Found {
    pub(super) seq: Seq,
    /// How many Things there are on all pages.
    pub(super) total: usize,
    /// Those of this page.
    pub(super) things: BoxedThings,
}

type BoxedThings = Box<dyn Iterator<Item = Result<Thing, Error>> + Send>;

impl Selection {
    pub(super) fn of(parameters: &Parameters) -> Result<Selection, Problem> {
        let limit = parameters.number("limit", 1)?.map(|limit| usize::try_from(limit).unwrap_or(MAX_LIMIT));
        let offset = parameters.number("offset", 0)?.unwrap_or_default();
        let mut selection = Selection {
            limit: limit.map(|limit| limit.min(MAX_LIMIT)),
            offset: usize::try_from(offset).unwrap_or(usize::MAX),
            query: parameters.text("q").map(str::to_owned).filter(|query| !query.trim().is_empty()),
            filters: parameters.filters("source_format")?,
            consistent: parameters.flag("consistent")?,
            sorting: None,
        };
        selection.sorting = selection.sorting(parameters)?;
        Ok(selection)
    }

    /// Whether only some Things are asked for.
    pub(super) fn is_filtered(&self) -> bool {
        self.query.is_some() || !self.filters.is_empty()
    }

    /// Where the page ends that was asked for.
    pub(super) fn end(&self) -> Option<usize> {
        self.limit.map(|limit| self.offset.saturating_add(limit))
    }

    fn sorting(&self, parameters: &Parameters) -> Result<Option<Sorting>, Problem> {
        let fields =
            [("id", Field::Id), ("title", Field::Title), ("created", Field::Created), ("modified", Field::Modified)];
        let field = parameters.choice("sort_by", &fields)?.unwrap_or(Field::Id);
        let descending = parameters.choice("sort_order", &[("asc", false), ("desc", true)])?.unwrap_or_default();
        if field == Field::Id && !descending {
            return Ok(None);
        }
        match self.end().filter(|end| *end <= MAX_DEPTH) {
            Some(depth) => Ok(Some(Sorting { field, descending, depth })),
            None => {
                let detail = format!(
                    "only ascending ids can be listed without end: another order needs a `limit`, and `offset` and \
                     `limit` together at most {MAX_DEPTH}"
                );
                Err(Problem::invalid_parameter("sort_by", detail))
            }
        }
    }

    /// Finds the page; `tag` is the entity tag of the collection.
    pub(super) async fn find(self, context: &Data<Context>, tag: &str) -> Result<Found, Error> {
        let registry = context.registry.clone();
        if !self.is_filtered() && self.sorting.is_none() {
            let (seq, total) = (registry.last_seq(), count(&registry));
            return Ok(Found { seq, total, things: self.by_id(context, tag) });
        }
        if self.is_filtered() {
            registry.ready_to_search(self.consistent).await?;
        }
        blocking(move || self.find_by_looking(&registry)).await
    }

    /// The page in ascending order of id, from where the page before it ended if that is known.
    fn by_id(&self, context: &Data<Context>, tag: &str) -> BoxedThings {
        let (offset, limit) = (self.offset, self.limit.unwrap_or(usize::MAX));
        let things: BoxedThings = match context.marks.before(tag, offset) {
            Some(last_id) => {
                let things = context.registry.list_from(Some(&last_id));
                let is_before = move |thing: &Result<Thing, Error>| {
                    thing.as_ref().is_ok_and(|thing| thing.id() <= last_id.as_str())
                };
                Box::new(things.skip_while(is_before))
            }
            None => Box::new(context.registry.list().skip(offset)),
        };
        let (context, tag, mut left) = (context.clone(), tag.to_owned(), limit);
        Box::new(things.take(limit).inspect(move |thing| {
            left -= 1;
            if let (0, Ok(thing)) = (left, thing)
                && collection_tag(&context.registry).is_ok_and(|now| now == tag)
            {
                context.marks.remember(&tag, offset.saturating_add(limit), thing.id());
            }
        }))
    }

    fn find_by_looking(self, registry: &Registry) -> Result<Found, Error> {
        if !self.is_filtered() {
            return self.page(registry, registry.last_seq(), count(registry), registry.list());
        }
        let Matching { ids, seq } = registry.ids_as_indexed(self.query.as_deref(), &self.filters)?;
        let total = ids.len();
        self.page(registry, seq, total, by_ids(registry, ids))
    }

    fn page(
        &self,
        registry: &Registry,
        seq: Seq,
        total: usize,
        things: impl Iterator<Item = Result<Thing, Error>> + Send + 'static,
    ) -> Result<Found, Error> {
        let limit = self.limit.unwrap_or(usize::MAX);
        let things: BoxedThings = match self.sorting {
            None => Box::new(things.skip(self.offset).take(limit)),
            Some(sorting) => Box::new(by_ids(registry, sorting.first(things)?.into_iter().skip(self.offset))),
        };
        Ok(Found { seq, total, things })
    }
}

fn count(registry: &Registry) -> usize {
    usize::try_from(registry.len()).unwrap_or(usize::MAX)
}

/// The Things of these ids that are still there.
fn by_ids(
    registry: &Registry,
    ids: impl IntoIterator<Item = String, IntoIter: Send + 'static>,
) -> impl Iterator<Item = Result<Thing, Error>> + Send + 'static {
    let registry = registry.clone();
    ids.into_iter().filter_map(move |id| registry.find_by_id(&id).transpose())
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
            Field::Title => Key::Text(title(thing.text())),
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
