//! The operations that import and export other formats, from the table of formats.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::{
    IntoResponses,
    openapi::{self, OpenApi, RefOr},
};

use super::{
    super::documents::media_types,
    super::formats::{EXPORTS, ExportPath, IMPORTS, ImportPath},
    super::import,
    BodyRefusals, ConflictRefusals, FetchRefusals, FormRefusals, Refusals, ThingRefusals, TypeRefusals, WriteRefusals,
    constraints::VERSION,
};
use crate::convert::{Parameter, ParameterKind};

/// Adds the operations of all formats to the OpenAPI document.
pub(super) fn describe(document: &mut OpenApi) {
    let (mut paths, mut schemas) = (BTreeMap::new(), BTreeMap::new());
    for import in IMPORTS.iter() {
        paths.insert(import.path.as_str(), json!({"post": import.operation()}));
        let (name, schema) = import.schema();
        schemas.insert(name, schema);
    }
    paths.insert(import::PATH, json!({"post": import_of_url()}));
    for export in EXPORTS.iter() {
        paths.insert(export.path.as_str(), json!({"get": export.operation()}));
    }
    let formats = json!({
        "openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": paths, "components": {"schemas": schemas},
    });
    match serde_json::from_value(formats) {
        Ok(formats) => document.merge(formats),
        Err(error) => tracing::error!(%error, "import and export operations are missing from the OpenAPI document"),
    }
    let convert = document.paths.paths.get_mut("/convert").and_then(|path| path.post.as_mut());
    if let Some(convert) = convert {
        convert.parameters.get_or_insert_default().extend(of_any_format());
    }
}

/// The parameters of every import.
fn common_parameters() -> Vec<Value> {
    let if_exists = ["related", "replace", "refuse"];
    vec![
        json!({"name": "if_exists", "in": "query", "required": false, "schema": {"type": "string", "enum": if_exists},
            "description": "`related` (the default): replaces an existing Thing if it shares its title, description, \
                a capability, or an address with the new one, otherwise 409 `unrelated`; `replace`: always replaces \
                it; `refuse`: 409 if any of the Things exists. A part of the document (a nested agent or tool) stays \
                unchanged if it was registered on its own, or is declared by a document of another owner"}),
        json!({"name": "replace", "in": "query", "required": false, "schema": {"type": "boolean"},
            "description": "`true`: the document replaces everything stored for its Thing, including originals in other formats, other versions, and edits; the warning `declarations-ended` reports it. Otherwise 409 `lossy-import` if it would drop an original in another format, or if the new Thing lacks an affordance, form, security definition, or other member of the existing one"}),
        json!({"name": "ttl", "in": "query", "required": false, "schema": {"type": "integer", "minimum": 1},
            "description": "Remove the Things this many seconds after their last renewal. The minimum for tracked Things is 60, and tracking renews them even while the source is unavailable"}),
        json!({"name": "dry_run", "in": "query", "required": false, "schema": {"type": "boolean"},
            "description": "Check everything without writing or tracking anything"}),
        json!({"name": "visibility", "in": "query", "required": false, "schema": {"type": "string", "enum": ["public", "namespace", "private"]},
            "description": "Who can see the Things"}),
        json!({"name": "namespace", "in": "query", "required": false, "schema": {"type": "string", "maxLength": 128, "pattern": "^([a-z0-9]+([.-][a-z0-9]+)*)?$"},
            "description": "Namespace of the Things; the caller must be a member of it. An empty value means no \
                namespace"}),
        json!({"name": "versions", "in": "query", "required": false, "schema": {"type": "string", "enum": ["served", "all"]},
            "description": "`all`: `visibility` and `namespace` also apply to versions that aren't served, and to \
                original documents of edited Things"}),
    ]
}

/// The import of whatever is at a URL.
fn import_of_url() -> Value {
    let id = json!({"name": "id", "in": "query", "required": false, "schema": {"type": "string"},
        "description": "Id of the Thing, instead of one derived from the document"});
    let parameters: Vec<Value> = std::iter::once(id).chain(common_parameters()).collect();
    let mut responses = imported();
    refusals::<FetchRefusals>(&mut responses);
    json!({
        "tags": ["import"],
        "operationId": "import_url",
        "summary": "Register the agent at a URL, whatever the format of its description",
        "description": "The registry tries, in this order: the URL itself, the well-known locations of all formats \
            below it, the URL as an MCP server, and the well-known locations at the root of the site. It then polls \
            the document for changes, except for a Thing Description, which is registered once.",
        "parameters": parameters,
        "requestBody": {"required": true, "content": {"application/json": {"schema": reference("DocumentUrl")}}},
        "responses": responses,
    })
}

/// The parameters of imports in all formats but `id`, each once.
fn of_any_format() -> Vec<RefOr<openapi::path::Parameter>> {
    let mut all: BTreeMap<&str, &Parameter> = BTreeMap::new();
    for own in IMPORTS.iter().flat_map(|import| import.import.parameters).filter(|own| own.kind != ParameterKind::Id) {
        all.entry(own.name).or_insert(own);
    }
    all.into_values().filter_map(|own| serde_json::from_value(parameter(own)).ok().map(RefOr::T)).collect()
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn header(description: &str, type_: &str) -> Value {
    json!({"description": description, "schema": {"type": type_}})
}

fn refusals<R: IntoResponses>(responses: &mut Value) {
    for (status, response) in R::responses() {
        responses[status] = serde_json::to_value(response).unwrap_or_default();
    }
}

/// The responses of every import.
fn imported() -> Value {
    let imported = json!({"application/json": {"schema": reference("Imported")}});
    let mut responses = json!({
        "201": {
            "description": "Registered, with new Things",
            "headers": {
                "Location": header("Path of the Thing, if there is only one", "string"),
                "ETag": header("Entity tag of the Thing, if there is only one", "string"),
                "Agentdex-Warnings": header(
                    "Number of warnings, including those about content that was not converted",
                    "integer",
                ),
            },
            "content": imported,
        },
        "200": {"description": "Registered, without new Things; or the result of a dry run", "content": imported},
    });
    refusals::<Refusals>(&mut responses);
    refusals::<WriteRefusals>(&mut responses);
    refusals::<ConflictRefusals>(&mut responses);
    refusals::<BodyRefusals>(&mut responses);
    responses
}

impl ImportPath {
    /// The name of the schema of a document, and the schema.
    fn schema(&self) -> (String, Value) {
        let schema: Value = serde_json::from_str(self.import.schema).unwrap_or_default();
        (schema["title"].as_str().unwrap_or(self.format.name()).to_owned(), schema)
    }

    fn operation(&self) -> Value {
        let own = self.import.parameters.iter().map(parameter);
        json!({
            "tags": ["import"],
            "operationId": format!("import_{}", self.format.name().replace('-', "_")),
            "summary": self.import.summary,
            "description": self.description(),
            "parameters": own.chain(common_parameters()).collect::<Vec<_>>(),
            "requestBody": {"required": true, "content": self.content()},
            "responses": self.responses(),
        })
    }

    fn description(&self) -> String {
        let Some(tracking) = &self.import.tracking else { return self.import.description.to_owned() };
        let places: Vec<String> = tracking.well_known.iter().map(|place| format!("`{place}`")).collect();
        let places = match places.as_slice() {
            [] => String::new(),
            places => format!(
                " The URL can be that of the document or that of the agent; for an agent, the registry tries {}.",
                places.join(" and ")
            ),
        };
        let url = "The body is the document, or `{\"url\": …}` to make the registry fetch the document and poll it for \
            changes.";
        format!("{url}{places} {}", self.import.description).trim_end().to_owned()
    }

    fn content(&self) -> Value {
        let own = reference(&self.schema().0);
        let schema = match &self.import.tracking {
            Some(_) => json!({"oneOf": [own, reference("DocumentUrl")]}),
            None => own,
        };
        let types = media_types(self.import).into_iter().map(|(name, _)| (name.to_owned(), json!({"schema": schema})));
        let mut content: serde_json::Map<String, Value> = types.collect();
        if self.import.takes_components {
            content.insert("multipart/form-data".to_owned(), json!({"schema": reference("ImportParts")}));
        }
        content.into()
    }

    fn responses(&self) -> Value {
        let mut responses = imported();
        if self.import.takes_components {
            refusals::<FormRefusals>(&mut responses);
        }
        if self.import.tracking.is_some() {
            refusals::<FetchRefusals>(&mut responses);
        }
        responses
    }
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        ParameterKind::Text | ParameterKind::Id => json!({"type": "string"}),
        ParameterKind::Source => json!({"type": "string", "format": "uri"}),
        ParameterKind::Flag => json!({"type": "boolean"}),
        ParameterKind::Choice(words) => json!({"type": "string", "enum": words}),
    };
    json!({"name": parameter.name, "in": "query", "required": false, "description": parameter.help, "schema": schema})
}

impl ExportPath {
    fn operation(&self) -> Value {
        let mut parameters = vec![json!({
            "name": "id", "in": "path", "required": true, "schema": {"type": "string"},
            "description": "Percent-encoded id: an absolute URI, or a name that is converted to one",
        })];
        if !self.export.versions.is_empty() {
            parameters.push(json!({
                "name": "version", "in": "query", "required": false, "schema": {"type": "string", "enum": self.export.versions},
                "description": "By default, imported documents are returned in their own version, and all others in the first of these versions",
            }));
        }
        parameters.push(json!({
            "name": "edits", "in": "query", "required": false, "schema": {"type": "boolean"},
            "description": "`false`: the imported document, without later edits",
        }));
        parameters.push(json!({
            "name": "thing_version", "in": "query", "required": false, "schema": {"type": "string", "pattern": VERSION},
            "description": "A version of the Thing, an npm-style version range, or `latest`, instead of the served version",
        }));
        for (name, relation) in [("If-Match", "one"), ("If-None-Match", "none")] {
            let description = format!("Only if the current entity tag is {relation} of these");
            parameters
                .push(json!({"name": name, "in": "header", "required": false, "schema": {"type": "string"}, "description": description}));
        }
        let mut headers = json!({"ETag": header("The entity tag of the document", "string")});
        if self.export.max_age.is_some() {
            headers["Cache-Control"] = header("How long the document can be cached", "string");
        }
        parameters.push(json!({
            "name": "Prefer", "in": "header", "required": false, "schema": {"type": "string"},
            "description": "`return=effect`: respond with a JSON object that contains the warnings, and the document \
                as a string. `Accept` selects the media type of the document",
        }));
        headers["Agentdex-Warnings"] = header(
            "For generated or converted documents: number of warnings about content that the document can't express",
            "integer",
        );
        let schema = match IMPORTS.iter().find(|import| import.format == self.format) {
            Some(import) => reference(&import.schema().0),
            None => json!({}),
        };
        // An original is given as it was sent.
        let sent = self.format.import().map_or(&[][..], |import| import.media_types);
        let media_types =
            self.export.media_types.iter().map(|(name, _)| *name).chain(sent.iter().map(|(name, _)| *name));
        let mut content: BTreeMap<_, _> =
            media_types.map(|media_type| (media_type, json!({"schema": schema}))).collect();
        let with_warnings = content.entry("application/json").or_insert_with(|| json!({"schema": {}}));
        with_warnings["schema"] = json!({"anyOf": [with_warnings["schema"].clone(), reference("ExportedDocument")]});
        let mut responses = json!({
            "200": {"description": self.export.description, "headers": headers, "content": content},
            "304": {"description": "Not modified"},
            "409": {
                "description": "The description contains nothing from which such a document can be generated",
                "content": {"application/problem+json": {"schema": reference("Problem")}},
            },
        });
        refusals::<Refusals>(&mut responses);
        refusals::<ThingRefusals>(&mut responses);
        refusals::<TypeRefusals>(&mut responses);
        json!({
            "tags": ["import"], "operationId": format!("export_{}", self.format.name().replace('-', "_")),
            "summary": self.export.summary, "parameters": parameters, "responses": responses,
        })
    }
}
