//! `find_compatible`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::foreign_text::{encoded_id, escape_all},
    RegistryTools, page_token, parse, scope_of,
    search::{kinds_of, rounded},
};
use crate::{
    registry::CompatibleQuery,
    search::{DEFAULT_LIMIT, MAX_DEPTH},
};

#[derive(Deserialize)]
struct Arguments {
    have: Option<Value>,
    want: Option<Value>,
    query: Option<String>,
    #[serde(default)]
    near_misses: bool,
    limit: Option<usize>,
    page_token: Option<String>,
    max_bytes: Option<usize>,
}

impl RegistryTools {
    pub(super) async fn find_compatible(&self, arguments: Value) -> Result<Value, String> {
        let (scope, id) = (scope_of("find_compatible", &arguments), self.registry.registry_id());
        let Arguments { have, want, query, near_misses, limit, page_token, max_bytes } = parse(arguments)?;
        let offset = page_token::decode(id, &scope, page_token.as_deref())?;
        let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MAX_DEPTH.saturating_sub(offset));
        let registry = self.registry.clone();
        let query = CompatibleQuery { have, want, query, near_misses, limit, offset };
        let work = move || {
            let found = registry.search_compatible(&query)?.found;
            let hits = found.hits.into_iter().map(|hit| {
                let flags = registry.find(&hit.id)?.map(|thing| kinds_of(thing.flags()));
                Ok(with_flags(escape_all(short(json!(hit), hit.fit)), hit.id, flags))
            });
            Ok(json!({"total": found.total, "hits": hits.collect::<crate::Result<Vec<Value>>>()?}))
        };
        let page = self.read(work).await?;
        Ok(self.page(page, max_bytes, offset, |next| page_token::encode(id, &scope, next)))
    }
}

/// A hit without its links, and without sentences, which have names of third parties in them.
fn short(mut hit: Value, fit: f32) -> Value {
    if let Some(members) = hit.as_object_mut() {
        members.retain(|name, value| !["links", "relevance", "why"].contains(&name.as_str()) && !value.is_null());
        members.insert("fit".to_owned(), rounded(fit));
        for side in ["input", "output"] {
            let links = members.get_mut(side).and_then(Value::as_array_mut).into_iter().flatten();
            for link in links.filter_map(Value::as_object_mut) {
                // Where there are doubts, the fit says so.
                link.remove("doubts");
            }
        }
        if let Some(missing) = members.get_mut("missing").and_then(Value::as_object_mut) {
            missing.remove("message");
        }
    }
    hit
}

fn with_flags(mut hit: Value, id: String, flags: Option<Value>) -> Value {
    hit["id"] = encoded_id(&id).into();
    if let Some(flags) = flags.filter(|flags| flags.as_array().is_some_and(|kinds: &Vec<Value>| !kinds.is_empty())) {
        hit["flags"] = flags;
    }
    hit
}
