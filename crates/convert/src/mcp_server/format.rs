//! Descriptor of documents about MCP servers in the table of formats.

use serde_json::{Map, Value};

use super::{
    DocumentKind, Options, Server,
    envelope::{is_answer, is_envelope},
    export::{self, LONGEST_TITLE},
    from_thing,
};
use crate::{
    Conversion, Descriptor, Error, Export, Format, Import, ImportOptions, Input, Parameter, Rendition, Result,
    SearchContent, SearchTerm, Syntax, Tracking,
    descriptor::{Edit, Sign, nothing_to_supply, report_on},
    edits::through_export,
    signs,
};

/// A server that is only run where it is installed has no forms.
const SEARCH_TERMS: &[SearchTerm] = &[
    SearchTerm { path: &["mcp:name"], content: SearchContent::Protocol("mcp") },
    SearchTerm { path: &["mcp:name"], content: SearchContent::Text },
    SearchTerm { path: &["mcp:packages"], content: SearchContent::Protocol("mcp") },
    SearchTerm { path: &["mcp:withdrawn"], content: SearchContent::Withdrawal },
];

pub(crate) const FORMAT: Descriptor = Descriptor {
    name: "mcp-server",
    noun: "a description of an MCP server",
    recognized_by: "`name`, and `remotes` or `packages`",
    signs: &[
        Sign::certain(names_schema),
        Sign::strong(is_envelope),
        Sign::likely(is_server),
        Sign::likely(signs::is_mcp),
    ],
    search_terms: SEARCH_TERMS,
    import: Some(Import {
        summary: "Register an MCP server from its server.json or Server Card, or track the document's URL",
        description: "Accepts `server.json` of the MCP registry (schema 2025-12-11; older schemas with a warning), and \
                      Server Cards, including cards that were published before the schema existed. Both can also be \
                      contained in the response of a registry, in a server's response to `initialize`, or in a client \
                      configuration with one server.",
        media_types: &[("application/json", Syntax::Json), ("application/mcp-server-card+json", Syntax::Json)],
        schema: include_str!("schema.json"),
        parameters: &[
            Parameter::id("Id of the Thing, instead of one derived from the name of the server"),
            Parameter::source("URL of the card in the body; relative endpoints in the card are resolved against it"),
        ],
        takes_components: false,
        tracking: Some(Tracking {
            accept: Some("application/mcp-server-card+json, application/json;q=0.9"),
            well_known: &[
                "/server-card",
                "/mcp/server-card",
                "/.well-known/mcp/server-card.json",
                "/.well-known/mcp-server-card.json",
                "/.well-known/mcp-server-card",
                "/.well-known/mcp.json",
            ],
            is_signed: false,
        }),
        has_id: |_, _| true,
        to_things,
        validate: |input, options| Ok(report_on(to_things(input, options)?)),
    }),
    export: Some(Export {
        path: "mcp-server",
        summary: "Read a Thing as the server.json or Server Card of an MCP server",
        description: "The imported document, without secrets. For Things registered in another format, a document is \
            generated from their forms with the subprotocol `mcp`.",
        media_types: &[
            ("application/json", None),
            ("application/mcp-server-card+json", Some(DocumentKind::ServerCard.name())),
        ],
        versions: &[DocumentKind::ServerJson.name(), DocumentKind::ServerCard.name()],
        read_version: |asked| DocumentKind::named(asked).map(DocumentKind::name),
        max_age: Some(60),
        from_thing: |thing, version| from_thing(thing, kind(version)),
        in_version: |original, version| in_kind(original, kind(Some(version))),
        with_edits,
        supply: nothing_to_supply,
    }),
};

fn names_schema(document: &Map<String, Value>) -> bool {
    let of_mcp = |schema: &str| schema.contains("modelcontextprotocol") && schema.contains("server");
    document.get("$schema").and_then(Value::as_str).is_some_and(of_mcp)
        || is_answer(document)
            && document.get("server").is_some_and(|server| server.as_object().is_some_and(is_like_server))
}

fn is_like_server(server: &Map<String, Value>) -> bool {
    names_schema(server) || is_server(server)
}

fn is_server(document: &Map<String, Value>) -> bool {
    document.contains_key("name")
        && ["remotes", "packages"].iter().any(|name| document.get(*name).is_some_and(Value::is_array))
}

fn kind(version: Option<&str>) -> DocumentKind {
    version.and_then(DocumentKind::named).unwrap_or(DocumentKind::ServerJson)
}

fn to_things(input: &Input<'_>, options: &ImportOptions) -> Result<Conversion> {
    let json = input.syntax.to_json(input.bytes)?;
    let server = Server::parse_at(json.as_bytes(), options.text("base"))?;
    server.to_thing(&Options { id: options.text("id").map(str::to_owned) })
}

/// A document with what was edited since, as far as registries take it.
fn with_edits(edit: &Edit<'_>) -> Result<Rendition> {
    through_export(Format::McpServer, edit, &[], |thing, original| {
        let title = |thing: &Value| thing.get("title").and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
        let is = title(thing);
        if is != title(edit.base) && is.chars().count() > LONGEST_TITLE {
            let reason = format!("/title: it has more than {LONGEST_TITLE} characters");
            return Err(Error::NotExpressible { format: Format::McpServer.name(), reason });
        }
        let kind = Server::parse(original.as_bytes())?.kind();
        Ok(serde_json::from_slice(&from_thing(thing, kind)?.bytes).unwrap_or_default())
    })
}

fn in_kind(original: &[u8], kind: DocumentKind) -> Result<Option<Rendition>> {
    let server = Server::parse(original)?;
    match server.has_kind(kind) {
        true => Ok(None),
        false => export::as_kind(server.members().clone(), kind, "/packages").map(Some),
    }
}
