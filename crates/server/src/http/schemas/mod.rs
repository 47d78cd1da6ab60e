//! What bodies look like, for the OpenAPI document. These types describe; nothing is made of them.
#![expect(dead_code, reason = "read by utoipa's derives alone")]

mod access;
mod compatible;
mod constraints;
mod formats;
mod guardian;
mod links;
mod parameters;
mod queries;
mod refusals;

use agentdex_api::DryRun;
pub(super) use agentdex_api::Problem;
use utoipa::ToSchema;

pub(super) use self::guardian::*;
pub(super) use self::{
    access::*, compatible::*, constraints::Constraints, formats::*, links::Links, parameters::*, queries::*,
    refusals::*,
};
use crate::td::{Flag, Violation};

/// A W3C Thing Description; an LMOS agent's has the `@type` `lmos:Agent`. Other members are stored as they are.
#[derive(ToSchema)]
#[schema(example = json!({
    "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
    "@type": "lmos:Agent",
    "id": "urn:example:weather",
    "title": "Weather agent",
    "lmos:capabilities": [{"id": "forecast", "name": "Weather forecast"}],
}))]
pub(super) struct ThingDescription {
    /// An absolute URI.
    id: Option<String>,
    title: String,
    description: Option<String>,
    registration: Option<Registration>,
}

/// A Thing Description without an `id`: the registry assigns one.
#[derive(ToSchema)]
#[schema(example = json!({
    "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
    "@type": "lmos:Agent",
    "title": "Weather agent",
    "lmos:capabilities": [{"id": "forecast", "name": "Weather forecast"}],
}))]
pub(super) struct AnonymousThingDescription {
    title: String,
    description: Option<String>,
    registration: Option<Registration>,
}

/// The description, as `Prefer: return=representation` asks, or what a dry run would do.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum RepresentationOrDryRun {
    Representation(ThingDescription),
    DryRun(DryRun),
}

/// What the registry knows of a Thing; clients may set `ttl` or `expires`.
#[derive(ToSchema)]
pub(super) struct Registration {
    /// When it was created (RFC 3339).
    created: Option<String>,
    /// When its description last changed (RFC 3339).
    modified: Option<String>,
    /// When it was read (RFC 3339).
    retrieved: Option<String>,
    /// When it expires (RFC 3339); ignored from clients that give a `ttl`.
    expires: Option<String>,
    /// Time to live in seconds.
    ttl: Option<u64>,
    /// What in the description may be there to deceive; absent if nothing is, ignored from clients.
    #[schema(rename = "agentdex:flags")]
    flags: Option<Vec<Flag>>,
}

/// A list of whole descriptions, or with `view=summary` of summaries.
#[derive(ToSchema)]
#[serde(untagged)]
pub(super) enum ThingList {
    Array(Vec<ThingDescription>),
    Collection(ThingCollection),
}

/// A page with `format=collection`.
#[derive(ToSchema)]
pub(super) struct ThingCollection {
    /// How many Things there are on all pages.
    total: u64,
    members: Vec<ThingDescription>,
    /// The URL of this page.
    #[schema(rename = "@id")]
    id: String,
    /// The URL of the next page.
    next: Option<String>,
}

/// A merge patch (RFC 7396). `{}` changes nothing and renews the expiry.
#[derive(ToSchema)]
pub(super) struct MergePatch {}

/// What an answer in SACP was read as.
#[derive(ToSchema)]
pub(super) struct SacpReading {
    /// Whether there is a response and nothing is wrong with it.
    valid: bool,
    /// The response, or what stands for it: `schemas/sacp-response.json`.
    response: serde_json::Value,
    found: Found,
    /// Whether comments or trailing commas had to be taken out.
    repaired: bool,
    violations: Vec<Violation>,
}

/// Where in the text the response was.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum Found {
    Whole,
    Fenced,
    Embedded,
    Nowhere,
}
