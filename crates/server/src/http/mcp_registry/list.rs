//! `GET /servers`: pages of servers, in the order of their ids or of a search.
//!
//! A bounded number of Things is read for each page. If few of them match, the page is short, but still has a cursor.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use agentdex_api::mcp_registry::{ServerEntry, ServerList, ServerListMetadata, ServerStatus};

use super::{
    super::{blocking::blocking, context::Context, parameters::Parameters, problem::Problem},
    cursor::Cursor,
    entry::{Depth, ListedServer, versions_of},
    respond::respond,
};
use crate::{
    Error, Registry, Timestamp,
    search::{FilterField, Filters, MAX_DEPTH, Mode, Search},
};

/// Default and maximum number of entries of a page.
const DEFAULT_LIMIT: usize = 30;
const MAX_LIMIT: usize = 100;
/// Maximum number of Things read for a page.
const MOST_READ: usize = 1000;
/// Number of bytes after which a page ends.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// List the MCP servers
///
/// The API of MCP registries, version 0.1; `/v0` is an alias of `/v0.1`. Lists all agents that can be described as `server.json`, in
/// all their versions. Pages of any origin may read the response to a request without credentials. Unknown parameters are ignored.
/// Problem documents also have the member `error`.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/v0.1/servers",
    operation_id = "list_mcp_servers",
    tag = "search",
    params(
        ("cursor" = Option<String>, Query, description = "The `nextCursor` of the previous page, with the same `search`"),
        ("limit" = Option<u64>, Query, description = "Maximum number of entries, 30 by default", minimum = 1, maximum = 100),
        ("search" = Option<String>, Query, description = "Words of names, titles, and descriptions, the best matches first; the last word may be incomplete"),
        ("updated_since" = Option<String>, Query, description = "Only versions changed after this date-time (RFC 3339), including deleted versions"),
        ("version" = Option<String>, Query, description = "Only the latest version of each server (`latest`), or versions with this name"),
        ("include_deleted" = Option<bool>, Query, description = "Include versions with the status `deleted`"),
        ("If-None-Match" = Option<String>, Header, description = "Only if the page has another entity tag"),
    ),
    responses(
        (status = 200, description = "A page", body = ServerList, headers(("ETag"))),
        (status = 304, description = "Not modified"),
        (status = 412, description = "`If-Match` doesn't hold", body = super::super::schemas::Problem, content_type = "application/problem+json"),
        super::super::schemas::Refusals,
    )
))]
pub(in crate::http) async fn servers(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let known = ["cursor", "limit", "search", "updated_since", "version", "include_deleted"];
    let parameters = Parameters::parse_known(&request, &known)?;
    let registry = context.registry(&request);
    let asked = Asked::of(&parameters, &registry)?;
    registry.ready_to_search_in(asked.mode(), false).await?;
    let page = blocking(move || asked.read(&registry)).await?;
    respond(&request, &page)
}

/// Parameters of a request.
struct Asked {
    cursor: Option<Cursor>,
    limit: usize,
    search: Option<String>,
    updated_since: Option<Timestamp>,
    /// Name of a version; `None` for all versions, or the latest.
    version: Option<String>,
    depth: Depth,
    includes_deleted: bool,
}

impl Asked {
    fn of(parameters: &Parameters, registry: &Registry) -> Result<Asked, Problem> {
        let limit = match parameters.text("limit") {
            None => DEFAULT_LIMIT,
            Some(text) => text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit)).ok_or_else(|| {
                let detail = format!("`limit` must be a whole number from 1 to {MAX_LIMIT}");
                Problem::invalid_parameter("limit", detail)
            })?,
        };
        let search = parameters.text("search").filter(|text| !text.trim().is_empty()).map(words);
        let cursor = parameters.text("cursor").filter(|cursor| !cursor.is_empty());
        let cursor = cursor.map(|token| Cursor::decode(registry.registry_id(), token, search.is_some())).transpose()?;
        let updated_since = parameters.moment("updated_since")?;
        let version = parameters.version("version")?;
        // Generated clients send its default, also where `updated_since` overrides it.
        let includes_deleted = parameters.flag("include_deleted")? || updated_since.is_some();
        Ok(Asked {
            cursor,
            limit,
            search,
            updated_since,
            depth: if version == Some("latest") { Depth::Latest } else { Depth::All },
            version: version.filter(|version| *version != "latest").map(str::to_owned),
            includes_deleted,
        })
    }

    fn mode(&self) -> Mode {
        if self.search.is_some() { Mode::default() } else { Mode::Lexical }
    }

    fn read(&self, registry: &Registry) -> Result<ServerList, Error> {
        let mut page = Page { limit: self.limit, entries: Vec::new(), bytes: 0, last: None };
        let has_more = match &self.search {
            Some(words) => self.read_by_rank(registry, words, &mut page)?,
            None => self.read_by_id(registry, &mut page)?,
        };
        let next_cursor = page.last.filter(|_| has_more).map(|last| last.encode(registry.registry_id()));
        let count = page.entries.len().try_into().unwrap_or(u64::MAX);
        Ok(ServerList { servers: page.entries, metadata: ServerListMetadata { next_cursor, count } })
    }

    /// Fills a page in the order of ids. True if there may be more.
    fn read_by_id(&self, registry: &Registry, page: &mut Page) -> Result<bool, Error> {
        let filters = servers_only();
        let mut after = self.cursor.as_ref().map(|cursor| cursor.id.clone());
        let started = self.cursor.as_ref().filter(|cursor| cursor.version.is_some());
        let mut ids: Vec<String> = started.map(|cursor| cursor.id.clone()).into_iter().collect();
        let mut read = 0;
        loop {
            for id in ids {
                if page.add_all(self.versions(registry, &id)?, (None, &id)) {
                    return Ok(true);
                }
                read += 1;
                after = Some(id);
            }
            if read >= MOST_READ {
                return Ok(true);
            }
            let at_once = if read == 0 { page.room() + 1 } else { MAX_LIMIT };
            ids = registry.ids_as_indexed(None, &filters, after.as_deref(), at_once)?.ids;
            if ids.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Fills a page with the best matches of a search. True if there are more.
    fn read_by_rank(&self, registry: &Registry, words: &str, page: &mut Page) -> Result<bool, Error> {
        let finished = |cursor: &Cursor| usize::from(cursor.version.is_none());
        let start = self.cursor.as_ref().and_then(|cursor| Some(cursor.rank? + finished(cursor)));
        let offset = start.unwrap_or_default();
        let limit = (self.limit + 1).min(MAX_DEPTH.saturating_sub(offset));
        if !words.contains(char::is_alphanumeric) {
            // A query without words matches everything.
            return Ok(false);
        }
        let filters = servers_only();
        let query = Some(words.to_owned());
        let search = Search { query, filters, offset, limit, typing: true, ..Search::default() };
        let found = registry.search_as_indexed(&search)?;
        let count = found.hits.len();
        for (rank, hit) in (offset..).zip(found.hits) {
            if page.add_all(self.versions(registry, &hit.id)?, (Some(rank), &hit.id)) {
                return Ok(true);
            }
        }
        Ok(count == limit && limit > 0)
    }

    /// Returns the requested versions of a Thing after the last version of the previous page.
    fn versions(&self, registry: &Registry, id: &str) -> Result<Vec<ListedServer>, Error> {
        let mut versions = versions_of(registry, id, self.depth)?;
        if let Some(Cursor { id: last, version: Some(version), .. }) = &self.cursor
            && last == id
        {
            let read = versions.iter().position(|listed| listed.version_name() == version);
            versions.drain(..read.map_or(versions.len(), |read| read + 1));
        }
        versions.retain(|listed| {
            let stated = listed.stated();
            let is_present = self.includes_deleted || stated.status != ServerStatus::Deleted;
            let is_new = self.updated_since.is_none_or(|since| stated.updated_at > since);
            is_present && is_new && self.version.as_ref().is_none_or(|version| version == listed.version_name())
        });
        Ok(versions)
    }
}

/// Page under construction.
struct Page {
    limit: usize,
    entries: Vec<ServerEntry>,
    bytes: usize,
    /// Last entry.
    last: Option<Cursor>,
}

impl Page {
    fn room(&self) -> usize {
        self.limit - self.entries.len()
    }

    /// Adds the versions of a Thing. True if there is no room for all of them.
    fn add_all(&mut self, versions: Vec<ListedServer>, (rank, id): (Option<usize>, &str)) -> bool {
        let cursor = |version| Cursor { rank, id: id.to_owned(), version };
        for listed in versions {
            if self.room() == 0 || self.bytes > PAGE_BYTES {
                return true;
            }
            self.bytes += serde_json::to_string(&listed.entry.server).map_or(0, |text| text.len());
            self.last = Some(cursor(Some(listed.version_name().to_owned())));
            self.entries.push(listed.entry);
        }
        // A Thing without more versions needn't be read again.
        if self.room() > 0 {
            self.last = Some(cursor(None));
        }
        false
    }
}

fn servers_only() -> Filters {
    let mut filters = Filters::default();
    filters.add(FilterField::Protocol, "mcp");
    filters
}

/// Returns the words of a text without the operators of queries.
fn words(text: &str) -> String {
    let plain = text.replace(['"', '*', ':'], " ");
    let words = plain.split_whitespace().map(|word| word.trim_start_matches(['+', '-']));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_queries_are_words() {
        assert_eq!(words(" +com.example/a -b \"c d\" title:x e* - % _ "), "com.example/a b c d title x e % _");
        assert_eq!(words("\" * :"), "");
    }
}
