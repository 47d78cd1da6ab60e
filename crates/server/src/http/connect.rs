//! `/connect` and `/things/{id}/connect`: configurations by which MCP clients connect to the registry, or to a server that it
//! lists.

use actix_web::{HttpRequest, HttpResponse, http::header::VARY, web::Data};
use agentdex_api::{ClientConfiguration, ClientConfigurations, ConfigurationVariable};

use super::{
    address::{base_url, thing_id_before},
    blocking::blocking,
    context::Context,
    parameters::Parameters,
    problem::Problem,
};
use crate::{
    Error,
    convert::{
        self, Format,
        mcp_server::{Configuration, ConfigurationOptions, DocumentKind, McpClient, RegistryAddress, Server, Variable},
    },
    registry::ExportOptions,
};

/// Path of the configurations for the registry.
pub(super) const PATH: &str = "/connect";
/// Path suffix after the id of a Thing.
pub(super) const END: &str = "/connect";

/// Read how MCP clients connect to the registry
///
/// For each client, the text to add to its configuration file. Secrets are references to variables.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/connect",
    operation_id = "connect_to_registry",
    tag = "about",
    responses(
        (status = 200, description = "The configuration of each client", body = ClientConfigurations),
        super::schemas::Refusals,
    )
))]
pub(super) async fn to_registry(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let url = base_url(&request, &context.options, PATH);
    let rules = &context.options.access;
    let needs_key = rules.authentication && !rules.public_read;
    let address = RegistryAddress { url: &url, needs_key, program: "agentdex", context: None };
    let of_client = |client| Configuration::of_registry(client, address, None);
    Ok(HttpResponse::Ok().insert_header((VARY, "host")).json(configurations(of_client)))
}

/// Read how MCP clients connect to an MCP server
///
/// For each client, the text to add to its configuration file, or the reason why it can't connect: a client may support no
/// remote servers, or the server may need a value that the client can't read from a variable. Packages become the commands
/// that start them. Secrets are references to variables.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/connect",
    operation_id = "connect_to_server",
    tag = "things",
    params(super::schemas::ThingId),
    responses(
        (status = 200, description = "The configuration of each client", body = ClientConfigurations),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
        (status = 409, description = "The Thing isn't an MCP server", body = super::schemas::Problem, content_type = "application/problem+json"),
    )
))]
pub(super) async fn to_server(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let id = thing_id_before(&request, &context.options, END)?;
    let registry = context.registry(&request);
    let find = move || {
        let version = Some(DocumentKind::ServerJson.name());
        let options = ExportOptions { format_version: version, version: None, edits: true };
        let exported = registry.export_with(&id, Format::McpServer, options)?;
        let server = Server::parse(&exported.bytes)?;
        let options = ConfigurationOptions::default();
        Ok::<_, Error>(configurations(|client| Configuration::of_server(client, &server, &options)))
    };
    Ok(HttpResponse::Ok().json(blocking(find).await?))
}

fn configurations(of_client: impl Fn(McpClient) -> convert::Result<Configuration>) -> ClientConfigurations {
    ClientConfigurations { clients: McpClient::ALL.map(|client| answer(client, of_client(client))).into() }
}

fn answer(client: McpClient, configuration: convert::Result<Configuration>) -> ClientConfiguration {
    let known = ClientConfiguration {
        client: client.name().to_owned(),
        title: client.title().to_owned(),
        file: client.file().to_owned(),
        ..ClientConfiguration::default()
    };
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(convert::Error::NotExpressible { reason, .. }) => {
            return ClientConfiguration { reason: Some(reason), ..known };
        }
        Err(error) => return ClientConfiguration { reason: Some(error.to_string()), ..known },
    };
    let text = configuration.text();
    let Configuration { name, command, variables, notes, .. } = configuration;
    let variable =
        |Variable { name, description, is_secret, .. }| ConfigurationVariable { name, description, secret: is_secret };
    ClientConfiguration {
        name: Some(name),
        configuration: Some(text),
        command,
        variables: variables.into_iter().map(variable).collect(),
        notes,
        ..known
    }
}
