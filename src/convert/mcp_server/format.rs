//! What documents about MCP servers are, for the table of formats.

use serde_json::{Map, Value};

use super::{Kind, Options, Server, export, from_thing};
use crate::{
    Result,
    convert::{
        Conversion, Descriptor, Export, Import, ImportOptions, Input, Parameter, Rendition, Syntax, Tracking,
        descriptor::{Sign, report_on},
    },
};

pub(in crate::convert) const FORMAT: Descriptor = Descriptor {
    name: "mcp-server",
    noun: "a description of an MCP server",
    recognized_by: "`name`, and `remotes` or `packages`",
    signs: &[Sign::certain(names_schema), Sign::likely(is_server)],
    import: Some(Import {
        summary: "Register an MCP server by its server.json or Server Card, and track its URL",
        description: "`server.json` of the MCP registry (schema 2025-12-11, and older ones with a warning) and Server \
            Cards are read.",
        media_types: &[("application/json", Syntax::Json), ("application/mcp-server-card+json", Syntax::Json)],
        schema: include_str!("schema.json"),
        parameters: &[Parameter::id("The id of the Thing, instead of one that is made of the name of the server")],
        takes_components: false,
        tracking: Some(Tracking {
            accept: Some("application/mcp-server-card+json, application/json;q=0.9"),
            well_known: &["/server-card", "/mcp/server-card", "/.well-known/mcp/server-card.json"],
            is_signed: false,
        }),
        to_things,
        validate: |input, options| Ok(report_on(to_things(input, options)?)),
    }),
    export: Some(Export {
        path: "mcp-server",
        summary: "Read a Thing as server.json or Server Card of an MCP server",
        description: "What it was imported from, without secrets; of other descriptions one that is made of their \
            forms with the subprotocol `mcp`.",
        media_types: &[("application/json", None), ("application/mcp-server-card+json", Some(Kind::ServerCard.name()))],
        versions: &[Kind::ServerJson.name(), Kind::ServerCard.name()],
        read_version: |asked| Kind::named(asked).map(Kind::name),
        max_age: Some(60),
        from_thing: |thing, version| from_thing(thing, kind(version)),
        in_version: |original, version| in_kind(original, kind(Some(version))),
    }),
};

fn names_schema(document: &Map<String, Value>) -> bool {
    let of_mcp = |schema: &str| schema.contains("modelcontextprotocol") && schema.contains("server");
    document.get("$schema").and_then(Value::as_str).is_some_and(of_mcp)
}

fn is_server(document: &Map<String, Value>) -> bool {
    document.contains_key("name")
        && ["remotes", "packages"].iter().any(|name| document.get(*name).is_some_and(Value::is_array))
}

fn kind(version: Option<&str>) -> Kind {
    version.and_then(Kind::named).unwrap_or(Kind::ServerJson)
}

fn to_things(input: &Input<'_>, options: &ImportOptions) -> Result<Conversion> {
    let json = input.syntax.to_json(input.bytes)?;
    Server::parse(json.as_bytes())?.to_thing(&Options { id: options.text("id").map(str::to_owned) })
}

fn in_kind(original: &[u8], kind: Kind) -> Result<Option<Rendition>> {
    let server = Server::parse(original)?;
    Ok((server.kind() != kind).then(|| export::as_kind(server.members().clone(), kind)))
}
