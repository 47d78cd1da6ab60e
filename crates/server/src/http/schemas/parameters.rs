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

/// The filters of searches, lists, and event streams. A Thing must satisfy every filter, with at least one of
/// its values. The filter for formats has a different name in each resource.
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
    /// Tenants; agents without tenants support all
    tenant: Option<Vec<String>>,
    /// Supported channels
    channel: Option<Vec<String>>,
    /// Protocols of the answers of actions: `sacp`
    speaks: Option<Vec<String>>,
    /// `stale` if the URL from which a description was imported is unavailable; `deprecated` or `deleted` if the
    /// registry of an MCP server marks it as such; otherwise `current`
    status: Option<Vec<String>>,
    /// Verification status of the signature of the agent card: `valid`, `invalid`, `untrusted`, `unsigned`
    signature: Option<Vec<String>>,
    /// Versions of descriptions, each alone or as an npm-style range: `1.2.0`, `>=1.2 <3`
    version: Option<Vec<String>>,
}

/// The same filters with other conditions: all of the values must hold, or none of them.
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

/// The periods in which Things were created and changed. A bound is an RFC 3339 date-time, or a date in
/// UTC.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct PeriodParameters {
    /// Only Things created at this moment (a date-time or a date) or later
    #[param(format = DateTime)]
    created_from: Option<String>,
    /// Only Things created before this moment
    #[param(format = DateTime)]
    created_before: Option<String>,
    /// Only Things last changed at this moment or later
    #[param(format = DateTime)]
    modified_from: Option<String>,
    /// Only Things last changed before this moment
    #[param(format = DateTime)]
    modified_before: Option<String>,
}

/// Filters of the changes that an event stream sends.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct QueryOfEvents {
    /// As in `/search`, with all its filters: only changes of Things that match, and `thing_matched` or
    /// `thing_unmatched` if a Thing starts or stops matching. With `capability` alone: changes of Things that have, or
    /// had, one of these
    q: Option<String>,
    /// Mode of the search for `q`: by words, by meaning, or both (default)
    mode: Option<agentdex_api::Mode>,
    /// Minimum cosine of a Thing that matches by its meaning, from 0 to 1; by default, it is computed from the results
    /// when the stream begins
    threshold: Option<f32>,
    /// Formats from which descriptions were converted
    format: Option<Vec<String>>,
}

/// Form of the changes in an event stream, and its start.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct StreamParameters {
    /// Include the description of a created Thing, and the merge patch of an update
    diff: Option<bool>,
    /// Same as `Last-Event-ID`, for clients that cannot set headers
    last_event_id: Option<String>,
}

/// The access to the Things of a request. By default, new Things are public, and existing Things keep their
/// access.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct AccessParameters {
    /// The callers who can see it, in addition to its owner and admins
    #[param(inline)]
    visibility: Option<Visibility>,
    /// Namespace, of which the caller must be a member; empty for none
    #[param(pattern = "^([a-z0-9]+([.-][a-z0-9]+)*)?$", max_length = 128)]
    namespace: Option<String>,
    /// `all`: `visibility` and `namespace` also apply to versions that aren't served, and to original documents of
    /// edited Things. Otherwise, versions and originals stored with narrower access stay hidden (warning
    /// `versions-hidden`)
    versions: Option<String>,
}

/// The owner of the saved query in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct QueryOwner {
    /// The owner of the query; empty for the query without an owner. By default, the caller's own query, or else the
    /// query without an owner
    #[param(pattern = "^[!-~]*$", max_length = 128)]
    owner: Option<String>,
}

/// The access to a saved query.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct QueryAccess {
    /// The callers who can see it, in addition to its owner and admins. By default, a new query of an owner is
    /// `private`
    #[param(inline)]
    visibility: Option<Visibility>,
    /// Namespace, of which the caller must be a member; empty for none
    #[param(pattern = "^([a-z0-9]+([.-][a-z0-9]+)*)?$", max_length = 128)]
    namespace: Option<String>,
}

/// The Thing in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(in crate::http) struct ThingId {
    /// The id, percent-encoded: an absolute URI, or a name, which is turned into a URI
    id: String,
}

/// Conditions of requests for one Thing.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct ConditionParameters {
    /// Only if the current entity tag is one of these
    #[param(rename = "If-Match")]
    if_match: Option<String>,
    /// Only if the current entity tag is none of these; `*`: only if the Thing doesn't exist
    #[param(rename = "If-None-Match")]
    if_none_match: Option<String>,
}
