//! Query parameters that several operations share.

use agentdex_api::{Condition, FilterField, access::Visibility};
use utoipa::{
    IntoParams,
    openapi::{
        Required,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::{ArrayBuilder, ObjectBuilder, Type},
    },
};

/// The filters of searches, lists and event streams: one of the values must hold, and each filter. The one for
/// formats has another name in each resource.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct FilterParameters {
    /// Ids or names of capabilities, alone or with `@` and an npm-style range of versions (`billing@^1.2`; a search
    /// shows the highest version first)
    capability: Option<Vec<String>>,
    /// Values of `@type`
    r#type: Option<Vec<String>>,
    /// Tags
    tag: Option<Vec<String>>,
    /// Vendors
    vendor: Option<Vec<String>>,
    /// Protocols of the forms
    protocol: Option<Vec<String>>,
    /// Security schemes
    security: Option<Vec<String>>,
    /// Tenants; agents that name none support all
    tenant: Option<Vec<String>>,
    /// Channels that are supported
    channel: Option<Vec<String>>,
    /// Protocols that actions answer in: `sacp`
    speaks: Option<Vec<String>>,
    /// `stale` where the URL that a description was imported from is broken; `deprecated` or `deleted` where the registry of an MCP server says so; else `current`
    status: Option<Vec<String>>,
    /// Verification status of the signature of the agent card: `valid`, `invalid`, `untrusted`, `unsigned`
    signature: Option<Vec<String>>,
    /// Versions of descriptions, each alone or as an npm-style range: `1.2.0`, `>=1.2 <3`
    version: Option<Vec<String>>,
}

/// The same filters with another condition: each of the values must hold, or none.
pub(in crate::http) struct ConditionsOfFilters;

impl IntoParams for ConditionsOfFilters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let of = |condition, says: &str| {
            let fields = FilterField::ALL.into_iter().filter(|field| *field != FilterField::Format);
            let named = |field: FilterField| {
                ParameterBuilder::new()
                    .name(field.parameter(condition))
                    .parameter_in(ParameterIn::Query)
                    .required(Required::False)
                    .description(Some(format!("Values of `{}` {says}", field.name())))
                    .schema(Some(ArrayBuilder::new().items(text())))
                    .build()
            };
            fields.map(named).collect::<Vec<_>>()
        };
        let all = of(Condition::AllOf, "that must all match");
        all.into_iter().chain(of(Condition::NoneOf, "that must not match")).collect()
    }
}

/// The periods that Things were created and changed in. A bound is an RFC 3339 date-time, or a date in UTC.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct PeriodParameters {
    /// Only what was created at this moment or later, a date-time or a date
    #[param(format = DateTime)]
    created_from: Option<String>,
    /// Only what was created before this moment
    #[param(format = DateTime)]
    created_before: Option<String>,
    /// Only what was last changed at this moment or later
    #[param(format = DateTime)]
    modified_from: Option<String>,
    /// Only what was last changed before this moment
    #[param(format = DateTime)]
    modified_before: Option<String>,
}

/// Filters of the changes that an event stream sends.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct QueryOfEvents {
    /// As in `/search`, like all its filters: only changes of Things that match, with `thing_matched` and
    /// `thing_unmatched` where that changed. With `capability` alone: changes of Things that have, or had, one of these
    q: Option<String>,
    /// Mode of the search for `q`: by words, by meaning, or both unless given
    mode: Option<agentdex_api::Mode>,
    /// The least cosine of a Thing that matches by its meaning, from 0 to 1: unless given, that of what a search finds when
    /// the stream begins
    threshold: Option<f32>,
    /// Formats that descriptions were converted from
    format: Option<Vec<String>>,
}

/// Form of the changes in an event stream, and where it starts.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct StreamParameters {
    /// Include what changed: the description of a created Thing, the merge patch of an update
    diff: Option<bool>,
    /// As `Last-Event-ID`, for clients that cannot set headers
    last_event_id: Option<String>,
}

/// The access to Things that requests put; without it a new Thing is public, and one that is there stays as it is.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct AccessParameters {
    /// The callers that see it, beside its owner and admins
    #[param(inline)]
    visibility: Option<Visibility>,
    /// The namespace that it is in, one that the caller is a member of; empty: in none
    #[param(pattern = "^([a-z0-9]+([.-][a-z0-9]+)*)?$", max_length = 128)]
    namespace: Option<String>,
    /// `all`: the access is also that of the versions that aren't served, and of originals that edits lie over. Without it, those
    /// that were stored when fewer saw it stay hidden (warning `versions-hidden`)
    versions: Option<String>,
}

/// The owner of the saved query that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct QueryOwner {
    /// The owner of the query; empty: the one without an owner. Unless given, the caller's own, else the one without an
    /// owner
    #[param(pattern = "^[!-~]*$", max_length = 128)]
    owner: Option<String>,
}

/// The access to a saved query.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct QueryAccess {
    /// The callers that see it, beside its owner and admins. A new query of an owner is `private` unless asked otherwise
    #[param(inline)]
    visibility: Option<Visibility>,
    /// The namespace that it is in, one that the caller is a member of; empty: in none
    #[param(pattern = "^([a-z0-9]+([.-][a-z0-9]+)*)?$", max_length = 128)]
    namespace: Option<String>,
}

/// The Thing that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(in crate::http) struct ThingId {
    /// The id, percent-encoded: an absolute URI, or a name that is made one
    id: String,
}

/// Conditions of requests for one Thing.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct ConditionParameters {
    /// Only if the current entity tag is one of these
    #[param(rename = "If-Match")]
    if_match: Option<String>,
    /// Only if the current entity tag is none of these; `*`: only if there is nothing
    #[param(rename = "If-None-Match")]
    if_none_match: Option<String>,
}
