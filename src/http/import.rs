//! `/import/{format}`: descriptions in other formats, converted and registered as a whole or not at all.
//!
//! A format is an entry of a few lines: which parameters and media types it has besides the common
//! ones, and how its documents become Things.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ETAG, LOCATION},
    web::{self, Data},
};
use serde_json::json;

use super::{
    Context,
    address::{base_path, thing_path},
    blocking::blocking,
    documents::{self, Documents},
    parameters::Parameters,
    problem::Problem,
    thing,
};
use crate::{
    convert::{
        Conversion, Syntax,
        agent_spec::{self, Configuration, Profile},
    },
    registry::{Effect, IfExists, Import, Imported},
};

/// The parameters of all imports.
const COMMON: [&str; 3] = ["dry_run", "if_exists", "ttl"];

/// What turns the documents of a request into Things, with its parameters in.
type Convert = Box<dyn FnOnce(Documents) -> crate::Result<Conversion> + Send>;

/// What is particular about a format.
struct Importer {
    path: &'static str,
    parameters: &'static [&'static str],
    types: &'static [(&'static str, Syntax)],
    convert: fn(&Parameters) -> Result<Convert, Problem>,
}

const AGENT_SPEC: Importer = Importer {
    path: "/import/agent-spec",
    parameters: &["base", "publisher", "nested", "tools", "publish_prompts", "profile"],
    types: &[
        ("application/json", Syntax::Json),
        ("application/yaml", Syntax::Yaml),
        ("application/x-yaml", Syntax::Yaml),
        ("text/yaml", Syntax::Yaml),
        ("text/x-yaml", Syntax::Yaml),
        ("application/vnd.agentspec+json", Syntax::Json),
        ("application/vnd.agentspec+yaml", Syntax::Yaml),
    ],
    convert: convert_agent_spec,
};

/// `POST /import/agent-spec`
#[utoipa::path(
    post,
    path = "/import/agent-spec",
    operation_id = "import_agent_spec",
    tag = "import",
    summary = "Register the agents and tools of an Open Agent Spec configuration",
    params(
        ("base" = Option<String>, Query, description = "Where the agent is deployed; its forms are made of it"),
        ("publisher" = Option<String>, Query, description = "The namespace of ids that are no UUID: `urn:agentspec:<publisher>:<id>`; `local` unless given"),
        ("nested" = Option<bool>, Query, description = "Register nested agents as Things of their own"),
        ("tools" = Option<bool>, Query, description = "Register tools that can be reached as Things of their own"),
        ("publish_prompts" = Option<bool>, Query, description = "Keep prompts and index them, instead of replacing them by references"),
        ("profile" = Option<String>, Query, description = "`spec`: what the language demands; `sdk`: what its reference implementation accepts"),
        ("if_exists" = Option<String>, Query, description = "`replace` or `refuse`: 409 if one of the Things is there"),
        ("ttl" = Option<u64>, Query, description = "Let the Things expire so many seconds after their last renewal"),
        ("dry_run" = Option<bool>, Query, description = "Check everything and write nothing"),
    ),
    request_body(description = "A configuration, or as `multipart/form-data` a part `document` and parts `component` that it refers to", content((super::schemas::AgentSpec = "application/json"), (String = "application/yaml"), (super::schemas::ImportParts = "multipart/form-data"))),
    responses(
        (status = 201, description = "Registered, some of it anew", body = super::schemas::Imported, headers(("Location" = String, description = "The path of the Thing, if it is one alone"), ("Agentdex-Warnings" = u64, description = "How much is odd or didn't survive"), ("ETag" = String, description = "The entity tag of the Thing, if it is one alone"))),
        (status = 200, description = "Registered, nothing anew; or what a dry run would do", body = super::schemas::Imported),
        super::schemas::Refusals,
        super::schemas::ImportRefusals,
        super::schemas::BodyRefusals,
    )
)]
pub(super) async fn agent_spec(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    import(&context, &request, payload, &AGENT_SPEC).await
}

fn convert_agent_spec(parameters: &Parameters) -> Result<Convert, Problem> {
    let profiles = [("spec", Profile::Spec), ("sdk", Profile::Sdk)];
    let defaults = agent_spec::Options::default();
    let options = agent_spec::Options {
        profile: parameters.choice("profile", &profiles)?.unwrap_or(defaults.profile),
        base: parameters.text("base").map(str::to_owned),
        publisher: parameters.text("publisher").map_or(defaults.publisher, str::to_owned),
        nested: parameters.flag("nested")?,
        tools: parameters.flag("tools")?,
        publish_prompts: parameters.flag("publish_prompts")?,
        thing_model: false,
    };
    Ok(Box::new(move |Documents { main, components }| {
        let components: Vec<(&[u8], Syntax)> =
            components.iter().map(|component| (component.bytes.as_slice(), component.syntax)).collect();
        Configuration::parse(&main.bytes, main.syntax, &components)?.to_things(&options)
    }))
}

async fn import(
    context: &Context,
    request: &HttpRequest,
    payload: web::Payload,
    importer: &Importer,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(request, &[importer.parameters, &COMMON].concat())?;
    let convert = (importer.convert)(&parameters)?;
    let choices = [("replace", IfExists::Replace), ("refuse", IfExists::Refuse)];
    let if_exists = parameters.choice("if_exists", &choices)?.unwrap_or_default();
    let (ttl, dry_run) = (parameters.number("ttl", 0)?, parameters.flag("dry_run")?);
    let documents = documents::read(request, payload, importer.types, &context.options).await?;
    let registry = context.registry.clone();
    let imported = blocking(move || {
        let import = Import::new(convert(documents)?).if_exists(if_exists).ttl(ttl).dry_run(dry_run);
        pollster::block_on(registry.import(import))
    });
    Ok(answer(context, request, importer, &imported.await?, dry_run))
}

fn answer(
    context: &Context,
    request: &HttpRequest,
    importer: &Importer,
    imported: &Imported,
    dry_run: bool,
) -> HttpResponse {
    let of = |effect| imported.ids_with(effect).collect::<Vec<_>>();
    let ids: Vec<&str> = imported.things.iter().map(|thing| thing.id.as_str()).collect();
    let warnings: Vec<_> =
        imported.warnings.iter().chain(imported.things.iter().flat_map(|thing| &thing.warnings)).collect();
    let mut body =
        json!({"ids": ids, "created": of(Effect::Created), "updated": of(Effect::Updated), "warnings": warnings});
    let is_new = !dry_run && !of(Effect::Created).is_empty();
    let mut response = if is_new { HttpResponse::Created() } else { HttpResponse::Ok() };
    response.insert_header((thing::WARNINGS, warnings.len()));
    if dry_run {
        body["dryRun"] = true.into();
    } else if let [thing] = imported.things.as_slice() {
        let base = base_path(request, &context.options, importer.path);
        response.insert_header((LOCATION, thing_path(base, &thing.id)));
        response.insert_header((ETAG, format!("\"{}\"", thing.seq)));
    }
    response.json(body)
}
