//! `POST /import/agent-spec`: an Open Agent Spec configuration, perhaps in parts.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};

use super::{Terms, answer, convert, register};
use crate::{
    convert::{
        Conversion, Syntax,
        agent_spec::{Configuration, Options, Profile, Protocol},
    },
    http::{
        Context,
        documents::{self, Documents},
        parameters::Parameters,
        problem::Problem,
    },
};

const PATH: &str = "/import/agent-spec";
const PARAMETERS: [&str; 10] =
    ["base", "protocol", "publisher", "nested", "tools", "publish_prompts", "profile", "if_exists", "ttl", "dry_run"];
const TYPES: [(&str, Syntax); 7] = [
    ("application/json", Syntax::Json),
    ("application/yaml", Syntax::Yaml),
    ("application/x-yaml", Syntax::Yaml),
    ("text/yaml", Syntax::Yaml),
    ("text/x-yaml", Syntax::Yaml),
    ("application/vnd.agentspec+json", Syntax::Json),
    ("application/vnd.agentspec+yaml", Syntax::Yaml),
];

/// `POST /import/agent-spec`
#[utoipa::path(
    post,
    path = "/import/agent-spec",
    operation_id = "import_agent_spec",
    tag = "import",
    summary = "Register the agents and tools of an Open Agent Spec configuration",
    params(
        ("base" = Option<String>, Query, description = "The URL of the agent; `{id}` and `{name}` in it are filled in"),
        ("protocol" = Option<String>, Query, description = "How the agent is called there: `http` (a POST of its inputs as JSON, the default) or `a2a`"),
        ("publisher" = Option<String>, Query, description = "The namespace of ids that are no UUID: `urn:agentspec:<publisher>:<id>`; `local` unless given"),
        ("nested" = Option<bool>, Query, description = "Register nested agents as Things of their own"),
        ("tools" = Option<bool>, Query, description = "Register tools that can be reached as Things of their own"),
        ("publish_prompts" = Option<bool>, Query, description = "Keep prompts and index them, instead of replacing them by references"),
        ("profile" = Option<String>, Query, description = "`spec`: what the language demands; `sdk`: what its reference implementation accepts"),
        ("if_exists" = Option<String>, Query, description = "`replace` or `refuse`: 409 if one of the Things is there"),
        ("ttl" = Option<u64>, Query, description = "Time to live in seconds after the last renewal"),
        ("dry_run" = Option<bool>, Query, description = "Check everything and write nothing"),
    ),
    request_body(description = "A configuration, or as `multipart/form-data` a part `document` and parts `component` that it refers to", content((crate::http::schemas::AgentSpec = "application/json"), (String = "application/yaml"), (crate::http::schemas::ImportParts = "multipart/form-data"))),
    responses(
        (status = 201, description = "Registered; some Things are new", body = crate::http::schemas::Imported, headers(("Location" = String, description = "The path of the Thing, if it is one alone"), ("Agentdex-Warnings" = u64, description = "How much is odd or didn't survive"), ("ETag" = String, description = "The entity tag of the Thing, if it is one alone"))),
        (status = 200, description = "Nothing is new; or what a dry run would do", body = crate::http::schemas::Imported),
        crate::http::schemas::Refusals,
        crate::http::schemas::ConflictRefusals,
        crate::http::schemas::FormRefusals,
        crate::http::schemas::BodyRefusals,
    )
)]
pub(in crate::http) async fn import(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &PARAMETERS)?;
    let (terms, options) = (Terms::of(&parameters)?, options(&parameters)?);
    let documents = documents::read(&request, payload, &TYPES, &context.options).await?;
    let conversion = convert(move || read(&documents, &options)).await?;
    let imported = register(&context, terms.import(conversion)).await?;
    Ok(answer(&context, &request, PATH, &imported, terms))
}

fn options(parameters: &Parameters) -> Result<Options, Problem> {
    let profiles = [("spec", Profile::Spec), ("sdk", Profile::Sdk)];
    let protocols = Protocol::ALL.map(|protocol| (protocol.name(), protocol));
    let defaults = Options::default();
    Ok(Options {
        profile: parameters.choice("profile", &profiles)?.unwrap_or(defaults.profile),
        base: parameters.text("base").map(str::to_owned),
        protocol: parameters.choice("protocol", &protocols)?.unwrap_or_default(),
        publisher: parameters.text("publisher").map_or(defaults.publisher, str::to_owned),
        nested: parameters.flag("nested")?,
        tools: parameters.flag("tools")?,
        publish_prompts: parameters.flag("publish_prompts")?,
        thing_model: false,
    })
}

fn read(Documents { main, components }: &Documents, options: &Options) -> crate::Result<Conversion> {
    let components: Vec<(&[u8], Syntax)> =
        components.iter().map(|component| (component.bytes.as_slice(), component.syntax)).collect();
    Configuration::parse(&main.bytes, main.syntax, &components)?.to_things(options)
}
