//! The operations of the OpenAPI document, and which of them a request is.

use std::{collections::BTreeSet, sync::LazyLock};

use crate::support::openapi;

/// Methods and path templates.
static OPERATIONS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let document = openapi();
    let of_path = |(path, item): (&String, &serde_json::Value)| {
        let methods: Vec<String> = item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        methods.into_iter().map(|method| (method, path.clone())).collect::<Vec<_>>()
    };
    document["paths"].as_object().unwrap().iter().flat_map(of_path).collect()
});

/// All operations, each as `METHOD /template`.
pub fn all() -> BTreeSet<String> {
    OPERATIONS.iter().map(|(method, path)| format!("{method} {path}")).collect()
}

/// The operation that a request is: of several templates the one with the fewest parameters.
pub fn of(method: &str, path: &str) -> Option<String> {
    let path = path.split('?').next().unwrap_or_default();
    let fits = |template: &str| {
        let (template, path) = (template.split('/'), path.split('/'));
        template.clone().count() == path.clone().count()
            && template.zip(path).all(|(part, given)| part == given || part.starts_with('{') && !given.is_empty())
    };
    let fitting = OPERATIONS.iter().filter(|(known, template)| known == method && fits(template));
    let best = fitting.min_by_key(|(_, template)| template.matches('{').count());
    best.map(|(method, template)| format!("{method} {template}"))
}
