//! Links of the OpenAPI document: from the response of an operation to the operations that can come next.

use utoipa::{
    Modify,
    openapi::{
        OpenApi, PathItem, RefOr,
        link::Link,
        path::{Operation, ParameterIn},
    },
};

/// Writes the links into the document.
pub(in crate::http) struct Links;

/// Sources of links: a path, its method and status, the path that is linked, and the location of the id in the response
/// or the request.
const SOURCES: [(&str, Method, &str, &str, &str); 6] = [
    ("/things", Method::Post, "201", "/things/{id}", "$response.body#/id"),
    ("/things/{id}", Method::Put, "201", "/things/{id}", "$request.path.id"),
    ("/things/{id}", Method::Put, "204", "/things/{id}", "$request.path.id"),
    ("/imports", Method::Get, "200", "/imports/{id}", "$response.body#/0/id"),
    ("/imports", Method::Get, "200", "/things/{id}/refresh", "$response.body#/0/id"),
    ("/queries/{name}", Method::Put, "201", "/queries/{name}", "$request.path.name"),
];

#[derive(Clone, Copy)]
enum Method {
    Get,
    Post,
    Put,
}

impl Modify for Links {
    fn modify(&self, openapi: &mut OpenApi) {
        for (path, method, status, target, value) in SOURCES {
            let links: Vec<(String, Link)> =
                openapi.paths.paths.iter().flat_map(|(path, item)| links(path, item, target, value)).collect();
            let Some(item) = openapi.paths.paths.get_mut(path) else { continue };
            let operation = match method {
                Method::Get => &mut item.get,
                Method::Post => &mut item.post,
                Method::Put => &mut item.put,
            };
            let responses = operation.as_mut().map(|operation| &mut operation.responses.responses);
            if let Some(RefOr::T(response)) = responses.and_then(|responses| responses.get_mut(status)) {
                response.links.extend(links.into_iter().map(|(name, link)| (name, RefOr::T(link))));
            }
        }
    }
}

/// Links to the operations of a path that is `target` or lies below it, and whose only variable is that of `target`.
fn links(path: &str, item: &PathItem, target: &str, value: &str) -> Vec<(String, Link)> {
    if !path.starts_with(target) || path.matches('{').count() > 1 {
        return Vec::new();
    }
    let operations = [&item.get, &item.post, &item.put, &item.patch, &item.delete].into_iter().flatten();
    operations.filter_map(|operation| link(operation, value)).collect()
}

fn link(operation: &Operation, value: &str) -> Option<(String, Link)> {
    let id = operation.operation_id.as_ref()?;
    let mut parameters = operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Path => Some(&parameter.name),
        _ => None,
    });
    let name = parameters.next()?;
    Some((id.clone(), Link::builder().operation_id(id).parameter(name, value).build()))
}
