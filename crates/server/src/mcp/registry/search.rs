//! `search_agents` and `explore`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::{
        foreign_text::{encoded_id, escape, escape_all, excerpt, summary},
        size_limit::{DEFAULT_BYTES, fit, size_of},
    },
    ROOM, RegistryTools, note, page_token, parse, scope_of,
};
use crate::{
    convert::Format,
    search::{Condition, DEFAULT_LIMIT, FacetField, FilterField, Filters, MAX_DEPTH, Search},
    signature, td,
};

/// Maximum number of characters of a title.
const TITLE: usize = 120;
/// Maximum number of characters of the name of a protocol.
const PROTOCOL: usize = 40;
/// Number of values that a facet has unless more are asked for.
const VALUES: usize = 20;

/// Maximum number of values of all filters of a search.
const MAX_VALUES: usize = 200;
/// Maximum size of all filters of a search, in bytes of JSON.
const MAX_FILTER_BYTES: usize = 32 * 1024;

#[derive(Deserialize)]
struct Arguments {
    query: Option<String>,
    #[serde(default)]
    filters: Map<String, Value>,
    limit: Option<usize>,
    page_token: Option<String>,
    max_bytes: Option<usize>,
}

#[derive(Deserialize)]
struct Facets {
    facets: Vec<FacetField>,
    query: Option<String>,
    #[serde(default)]
    filters: Map<String, Value>,
    contains: Option<String>,
    limit: Option<usize>,
    max_bytes: Option<usize>,
}

impl RegistryTools {
    pub(super) async fn search_agents(&self, arguments: Value) -> Result<Value, String> {
        let (scope, id) = (scope_of("search_agents", &arguments), self.registry.registry_id());
        let Arguments { query, filters, limit, page_token, max_bytes } = parse(arguments)?;
        let offset = page_token::decode(id, &scope, page_token.as_deref())?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MAX_DEPTH.saturating_sub(offset));
        let search = Search { query, filters: read_filters(filters)?, limit, offset, ..Search::default() };
        let page = self.search(search).await?;
        Ok(self.page(page, max_bytes, offset, |next| page_token::encode(id, &scope, next)))
    }

    pub(super) async fn explore(&self, arguments: Value) -> Result<Value, String> {
        let Facets { mut facets, query, filters, contains, limit, max_bytes } = parse(arguments)?;
        facets.sort_unstable();
        facets.dedup();
        let filters = read_filters(filters)?;
        let facet_query = contains.filter(|text| !text.is_empty());
        let search = Search { query, filters, facets, facet_query, limit: 0, ..Search::default() };
        let mut found = self.search(search).await?;
        let limit = limit.unwrap_or(VALUES);
        let lists = found["facets"].as_object_mut().into_iter().flatten();
        lists.filter_map(|(_, facet)| facet["values"].as_array_mut()).for_each(|values| values.truncate(limit));
        if let Some(members) = found.as_object_mut() {
            members.remove("hits");
        }
        let mut result = found;
        let left_out = fit(&mut result, "hits", max_bytes.unwrap_or(DEFAULT_BYTES) - ROOM);
        note(&mut result, left_out, "");
        Ok(result)
    }

    /// Searches as `GET /search` does, and returns what models need of the answer.
    async fn search(&self, search: Search) -> Result<Value, String> {
        self.registry.ready_to_search_in(search.mode, search.consistent).await.map_err(self.explain)?;
        let registry = self.registry.clone();
        self.read(move || {
            let found = registry.search_as_indexed(&search)?;
            let facets = found.facets.into_iter().map(|(field, values)| {
                let values: Vec<_> =
                    values.into_iter().map(|one| json!({"value": escape(one.value), "count": one.count})).collect();
                let total = found.facet_totals.get(&field).copied().unwrap_or_default();
                (field.name().to_owned(), json!({"total": total, "values": values}))
            });
            let facets: Map<String, Value> = facets.collect();
            let hits: Vec<Value> = found.hits.into_iter().map(hit).collect();
            let mut answer = Map::new();
            answer.insert("total".to_owned(), found.total.into());
            answer.insert("hits".to_owned(), hits.into());
            if !search.facets.is_empty() {
                answer.insert("facets".to_owned(), facets.into());
            }
            Ok(answer.into())
        })
        .await
    }
}

/// The members of a hit that a model chooses by.
fn hit(hit: agentdex_api::Hit) -> Value {
    let mut members = Map::new();
    members.insert("id".to_owned(), encoded_id(&hit.id).into());
    if let Some(title) = hit.title {
        members.insert("title".to_owned(), excerpt(&title, TITLE).into());
    }
    if let Some(description) = hit.description.as_deref().map(summary).filter(|summary| !summary.is_empty()) {
        members.insert("description".to_owned(), description.into());
    }
    if !hit.protocols.is_empty() {
        let protocols: Vec<String> = hit.protocols.iter().map(|protocol| excerpt(protocol, PROTOCOL)).collect();
        members.insert("protocols".to_owned(), protocols.into());
    }
    members.insert("score".to_owned(), rounded(hit.score));
    if !hit.flags.is_empty() {
        members.insert("flags".to_owned(), kinds_of(&hit.flags));
    }
    Value::Object(members)
}

/// A number with three decimals, more than a model compares.
pub(super) fn rounded(number: f32) -> Value {
    json!((f64::from(number) * 1000.0).round() / 1000.0)
}

/// The kinds of some flags, each once.
pub(super) fn kinds_of(flags: &[td::Flag]) -> Value {
    let mut kinds: Vec<&str> = flags.iter().map(|flag| flag.kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    json!(kinds)
}

/// The flags of a description, with their places.
pub(super) fn flags_of(flags: &[td::Flag]) -> Value {
    escape_all(json!(flags))
}

/// Reads filters; a single value may be given without a list.
fn read_filters(filters: Map<String, Value>) -> Result<Filters, String> {
    check_size(&filters)?;
    let as_list = |value: Value| if value.is_string() { json!([value]) } else { value };
    let is_bound = |name: &str| name.ends_with("_from") || name.ends_with("_before");
    let lists = filters.into_iter().map(|(name, value)| match is_bound(&name) {
        true => (name, value),
        false => (name, as_list(value)),
    });
    let lists: Map<String, Value> = lists.collect();
    if let Some(unknown) = lists.keys().find(|name| !Filters::names().any(|known| known == name.as_str())) {
        let unknown = excerpt(unknown, PROTOCOL);
        let fields = FilterField::ALL.map(FilterField::name).join(", ");
        let bounds = Filters::default().bounds().map(|(name, _)| name).join(", ");
        return Err(format!(
            "/filters: there is no filter \"{unknown}\"; known filters are {bounds}, and these fields, \
             optionally prefixed with all_ or not_: {fields}"
        ));
    }
    let filters: Filters = serde_json::from_value(Value::Object(lists.clone())).map_err(|error| {
        let is_wrong = |(name, value): &(String, Value)| {
            serde_json::from_value::<Filters>(json!({name.as_str(): value.clone()})).is_err()
        };
        match lists.into_iter().find(is_wrong) {
            Some((name, _)) if is_bound(&name) => {
                format!("/filters/{name}: must be a date and time with time zone, such as 2026-01-31T00:00:00Z")
            }
            Some((name, _)) => format!("/filters/{name}: must be a string or a list of strings"),
            None => format!("/filters: {error}"),
        }
    })?;
    check_values(&filters)?;
    Ok(filters)
}

/// Refuses more filters than a search is fast with.
fn check_size(filters: &Map<String, Value>) -> Result<(), String> {
    let count: usize = filters.values().map(|value| value.as_array().map_or(1, Vec::len)).sum();
    if count > MAX_VALUES {
        return Err(format!(
            "/filters: {count} values are too many; all filters together can have at most {MAX_VALUES}"
        ));
    }
    let size: usize = filters.iter().map(|(name, value)| name.len() + size_of(value)).sum();
    if size > MAX_FILTER_BYTES {
        return Err(format!(
            "/filters: {size} bytes are too many; all filters together can have at most {MAX_FILTER_BYTES}"
        ));
    }
    Ok(())
}

/// Refuses values of fields that have no others than those that are known.
fn check_values(filters: &Filters) -> Result<(), String> {
    let formats: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    let signatures = signature::Status::ALL.map(signature::Status::name);
    let fields: [(FilterField, &[&str]); 4] = [
        (FilterField::Format, &formats),
        (FilterField::Speaks, &[td::SACP]),
        (FilterField::Status, &agentdex_api::STATUSES),
        (FilterField::Signature, &signatures),
    ];
    for (field, known) in fields {
        let is_unknown = |value: &String| !known.contains(&value.as_str());
        let has_unknown = |condition: &Condition| filters.values_of(*condition, field).iter().any(is_unknown);
        if let Some(condition) = Condition::ALL.into_iter().find(has_unknown) {
            let name = field.parameter(condition);
            return Err(format!("/filters/{name}: unknown value; known values are {}", known.join(", ")));
        }
    }
    Ok(())
}
