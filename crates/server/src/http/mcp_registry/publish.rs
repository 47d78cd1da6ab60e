//! `POST /publish`: adds a version of a server, in a namespace of the caller.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Data},
};
use agentdex_api::mcp_registry::ServerEntry;
use serde_json::{Map, Value, json};

use super::{
    super::{backpressure::read_body, blocking::blocking, body, context::Context, problem::Problem},
    entry::{Depth, find},
    name::namespace,
};
use crate::{
    Error, Precondition, Registry, Timestamp,
    convert::{
        Format,
        mcp_server::{self, Options, Server, with_registry_metadata},
    },
    registry::{Holding, Import, domain_of},
    td::{Report, Violation},
};

/// Member of `_meta` for the metadata of publishers.
const PUBLISHER: &str = "io.modelcontextprotocol.registry/publisher-provided";
/// Rules whose violation is a warning of an import, but an error here.
const STRICT: [&str; 2] = ["member-type", "member-missing"];
/// Maximum number of versions of a Thing.
const MOST_VERSIONS: u64 = 20;

/// Publish a version of an MCP server
///
/// The body is a `server.json` that satisfies the schema of 2025-12-11. The caller must be a member of the namespace of the domain
/// in the name: `example.com` for `com.example/weather`; `PUT /namespaces/{name}` claims it. Of `_meta`, only the metadata of the
/// publisher is kept. A new server is public.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/v0.1/publish",
    operation_id = "publish_mcp_server",
    tag = "import",
    request_body(content((super::super::schemas::McpServerDocument = "application/json"))),
    responses(
        (status = 200, description = "Published", body = ServerEntry),
        super::super::schemas::Refusals,
        super::super::schemas::ConflictRefusals,
        super::super::schemas::WriteRefusals,
        super::super::schemas::BodyRefusals,
    )
))]
pub(in crate::http) async fn server(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    body::check_type(&request, &["application/json"])?;
    let json = read_body(&context, &request, payload).await?;
    let registry = context.registry(&request);
    let published = blocking(move || Ok(publish(&registry, &json))).await?;
    Ok(HttpResponse::Ok().json(published?))
}

fn publish(registry: &Registry, json: &[u8]) -> Result<ServerEntry, Problem> {
    let publication = Publication::read(json)?;
    check_namespace(registry, &publication.name)?;
    let Publication { name, version, document } = publication;
    let now = Timestamp::now();
    let block = json!({"status": "active", "statusChangedAt": now, "publishedAt": now});
    let block = block.as_object().cloned().unwrap_or_default();
    let document = with_registry_metadata(&document, &Value::Null, &block).unwrap_or(document);
    let options = Options { id: Some(mcp_server::id_of(&name)) };
    let conversion = Server::parse(document.as_bytes())?.to_thing(&options)?;
    let imported = registry.import_blocking(Import::new(conversion).when_version(Precondition::Absent));
    imported.map_err(|error| match error {
        Error::PreconditionFailed { .. } => {
            let detail = format!(
                "invalid version: cannot publish duplicate version {version:?} of {name:?}; publish another version"
            );
            // As the API has it, which knows no 409.
            Problem::new(StatusCode::BAD_REQUEST, "duplicate-version", detail)
        }
        error => error.into(),
    })?;
    let found = find(registry, &name, Depth::All)?.into_iter().find(|listed| listed.version_name() == version);
    let dropped = || Error::LimitExceeded { what: "number of versions", maximum: MOST_VERSIONS };
    Ok(found.ok_or_else(dropped)?.entry)
}

/// Document to be published.
struct Publication {
    name: String,
    version: String,
    document: String,
}

impl Publication {
    /// Reads and validates a document.
    fn read(json: &[u8]) -> Result<Publication, Error> {
        let server = Server::parse(json)?;
        let mut members: Map<String, Value> = serde_json::from_slice(json).unwrap_or_default();
        let (strict, mut violations) = server.to_server_json();
        let is_known = |pointer: &str| violations.iter().any(|known| known.pointer == pointer);
        let others: Vec<Violation> = server
            .warnings()
            .iter()
            .filter(|it| STRICT.contains(&&*it.rule) && !is_known(&it.pointer))
            .cloned()
            .collect();
        violations.extend(others);
        let text = |name: &str| strict.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("name");
        if !members.get("name").is_some_and(Value::is_string) {
            let message =
                "the body is not a server.json, or wraps it in another object; send the server.json itself".to_owned();
            violations.push(Violation::new("/name", "member-missing", message));
        } else if violations.is_empty() && namespace(&name).is_none() {
            let message = "the namespace `agentdex` is reserved; use the namespace of your domain".to_owned();
            violations.push(Violation::new("/name", "server-name", message));
        }
        if !violations.is_empty() {
            let report = Report { violations, ..Report::default() };
            return Err(Error::InvalidSource { format: Format::McpServer.name(), report });
        }
        let is_foreign = |member: &String| member != PUBLISHER;
        let document = match members.get_mut("_meta") {
            Some(Value::Object(meta)) if meta.keys().any(is_foreign) => {
                meta.retain(|member, _| !is_foreign(&member.to_owned()));
                Value::Object(members).to_string()
            }
            _ => String::from_utf8_lossy(json).into_owned(),
        };
        Ok(Publication { name, version: text("version"), document })
    }
}

/// Refuses callers outside of the namespace of a name. An encoded id has no namespace; the owner of the Thing may change it.
pub(super) fn check_namespace(registry: &Registry, name: &str) -> Result<(), Error> {
    let Some(namespace) = namespace(name) else { return Ok(()) };
    if registry.holding_of(namespace) == Holding::Held {
        return Ok(());
    }
    let domain = domain_of(namespace);
    let message = format!(
        "you are not a member of the namespace for {namespace:?}; claim it with PUT \
         /namespaces/{domain}, or ask its owner to add you"
    );
    Err(Error::AccessRefused { message })
}
