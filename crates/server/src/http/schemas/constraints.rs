//! Constraints on the values of parameters, and responses that every operation shares: one table for the whole
//! OpenAPI document instead of a line at each operation.

use utoipa::{
    Modify,
    openapi::{
        Content, HeaderBuilder, OpenApi, Ref, RefOr, ResponseBuilder,
        path::{Operation, Parameter, ParameterIn},
        schema::{ArrayBuilder, ObjectBuilder, Schema, Type},
    },
};

use crate::{
    convert::Format,
    http::{parameters::LARGEST_NUMBER, query_languages::NOT_OFFERED},
    registry::MatchKind,
    search::{FacetField, Hit, SortBy},
    signature,
};

/// Writes the constraints into the document.
pub(in crate::http) struct Constraints;

impl Modify for Constraints {
    fn modify(&self, openapi: &mut OpenApi) {
        for (path, item) in &mut openapi.paths.paths {
            // One handler for two methods, and yet each has a name of its own.
            if let (Some(get), Some(post)) = (&item.get, &mut item.post)
                && get.operation_id == post.operation_id
            {
                post.operation_id = get.operation_id.as_ref().map(|id| format!("{id}_by_post"));
            }
            let methods = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
            for operation in methods.into_iter().flatten() {
                constrain(path, operation);
                describe_headers(operation);
                add_method_not_allowed(operation);
            }
        }
    }
}

fn constrain(path: &str, operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter
            && let Some(schema) = schema(path, parameter)
        {
            parameter.schema = Some(schema);
        }
    }
}

/// Headers of responses with what they are, unless an operation says otherwise.
const HEADERS: [(&str, &str); 7] = [
    ("Link", "`next`"),
    ("ETag", "The entity tag"),
    ("Location", "The path of the new resource"),
    ("Agentdex-Effect", "`created`, `updated`, `original-updated`, `versions-updated`, or `unchanged`"),
    ("Agentdex-Warnings", "Number of warnings about the document"),
    ("Agentdex-Seq", "Log position that the response reflects"),
    ("Last-Event-ID", "Position after which the stream starts; absent if the stream starts with `resync`"),
];

fn describe_headers(operation: &mut Operation) {
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else { continue };
        for (name, header) in &mut response.headers {
            let known = HEADERS.iter().find(|(known, _)| known == name);
            if let (RefOr::T(header), Some((_, description))) = (header, known) {
                header.description.get_or_insert_with(|| (*description).to_owned());
            }
        }
    }
}

/// A version of a Thing, or several: not blank.
pub(super) const VERSION: &str = r"\S";

/// The table.
fn schema(path: &str, parameter: &Parameter) -> Option<RefOr<Schema>> {
    Some(match (parameter.name.as_str(), &parameter.parameter_in) {
        ("kind", ParameterIn::Path) => one_of(&MatchKind::ALL.map(MatchKind::as_str)),
        ("language", ParameterIn::Path) => one_of(&NOT_OFFERED.split('|').collect::<Vec<_>>()),
        ("name", ParameterIn::Path) if path.starts_with("/queries") => {
            matching("^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,127}$")
        }
        (_, ParameterIn::Path | ParameterIn::Header | ParameterIn::Cookie) => return None,
        ("limit", _) if path == "/search" => whole_number(0),
        ("limit", _) if path == "/v0.1/servers" => number_between(1, 100),
        ("limit" | "ttl", _) => whole_number(1),
        // With a `limit` of 1 or more it is at most 10,000.
        ("offset", _) if path == "/search" => number_between(0, 9_999),
        ("offset" | "wait", _) => whole_number(0),
        ("since", _) if matches!(path, "/changes" | "/things/{id}/history") => {
            matching("^([0-9a-f]{16}-)?[0-9]{1,15}$")
        }
        ("since", _) => whole_number(0),
        ("format", _) if path == "/things" => one_of(&["array", "collection"]),
        ("view", _) => one_of(&["full", "summary"]),
        ("sort_by", _) if path == "/search" => one_of(&SortBy::ALL.map(SortBy::name)),
        ("sort_by", _) => one_of(&["id", "title", "created", "modified"]),
        ("sort_order", _) => one_of(&["asc", "desc"]),
        ("profile", _) => one_of(&["spec", "sdk"]),
        ("if_exists", _) if path == "/things/{id}" => one_of(&["related", "replace"]),
        ("if_exists", _) => one_of(&["related", "replace", "refuse"]),
        ("version", _) if matches!(path, "/things/{id}" | "/v0.1/servers") => matching(VERSION),
        ("version", _) => one_of(exported_versions(path)?),
        ("status", _) if path == "/imports" => {
            list(one_of(&agentdex_api::SourceStatus::ALL.map(agentdex_api::SourceStatus::name)))
        }
        ("status" | "all_status" | "not_status", _) => list(one_of(&agentdex_api::STATUSES)),
        ("signature" | "all_signature" | "not_signature", _) => {
            list(one_of(&signature::Status::ALL.map(signature::Status::name)))
        }
        ("facets", _) => names_with_commas(&FacetField::ALL.map(FacetField::name)),
        ("fields", _) => names_with_commas(&Hit::MEMBERS),
        _ => return None,
    })
}

/// The versions that a document is exported in under a path.
fn exported_versions(path: &str) -> Option<&'static [&'static str]> {
    let (_, name) = path.rsplit_once('/')?;
    Format::exports().find(|(_, export)| export.path == name).map(|(_, export)| export.versions)
}

fn whole_number(minimum: u64) -> RefOr<Schema> {
    number_between(minimum, LARGEST_NUMBER)
}

fn number_between(minimum: u64, maximum: u64) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    number.minimum(Some(minimum)).maximum(Some(maximum)).into()
}

fn one_of(words: &[&str]) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied())).into()
}

fn matching(pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
}

fn list(items: RefOr<Schema>) -> RefOr<Schema> {
    ArrayBuilder::new().items(items).into()
}

/// Lists of names separated by commas. Empty names are allowed, since a form without a selection sends `fields=`.
fn names_with_commas(names: &[&str]) -> RefOr<Schema> {
    let names = names.join("|");
    list(matching(&format!("^({names})?(,({names})?)*$")))
}

/// Every path refuses methods that it does not have, and names those that it has.
fn add_method_not_allowed(operation: &mut Operation) {
    let allow = HeaderBuilder::new().schema(Some(ObjectBuilder::new().schema_type(Type::String)));
    let response = ResponseBuilder::new()
        .description("The path doesn't support this method")
        .content("application/problem+json", Content::new(Some(Ref::from_schema_name("Problem"))))
        .header("Allow", allow.description(Some("Methods that the path supports")).build());
    operation.responses.responses.insert("405".to_owned(), response.build().into());
}
