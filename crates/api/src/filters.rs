//! Search filters, which restrict the results in addition to the query.

use std::collections::BTreeMap;

use agentdex_td::Timestamp;
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::{Map, Value};

use crate::FacetField;

/// The values of [`Filters::status`]: whether a tracked source still serves its document, and whether a registry of MCP
/// servers marks the server as withdrawn.
pub const STATUSES: [&str; 4] = ["current", "stale", "deprecated", "deleted"];

/// Filters of a search. For each field with values, a Thing must have at least one of them. Further filters list values
/// that must all be present, values that must be absent, and periods of creation and last change.
///
/// In JSON and as query parameters, all filters are members of one object: `tag`, `all_tag`, `not_tag`,
/// `modified_from`…
///
/// ```
/// use agentdex_api::{Condition, FilterField, Filters};
///
/// let mut filters = Filters::default();
/// filters.add(FilterField::Protocol, "a2a");
/// filters.add_to(Condition::NoneOf, FilterField::Tag, "beta");
/// assert_eq!(serde_json::to_string(&filters)?, r#"{"not_tag":["beta"],"protocol":["a2a"]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Filters {
    /// Ids or names of capabilities. With `@` and an npm-style range (`billing@^1.2`), the version
    /// of the capability, or else of the Thing, must be in the range.
    pub capability: Vec<String>,
    /// Values of `@type`.
    pub type_: Vec<String>,
    /// Tags.
    pub tag: Vec<String>,
    /// Vendor names.
    pub vendor: Vec<String>,
    /// Protocols of the forms: `http`, `mqtt`, `ws`, `coap`, `a2a`, `mcp`…
    pub protocol: Vec<String>,
    /// Names of security schemes: `nosec`, `bearer`…
    pub security: Vec<String>,
    /// Formats from which descriptions were converted; `td` for Things registered as Thing Descriptions.
    pub format: Vec<String>,
    /// Supported tenants. A Thing that lists no tenants supports all of them.
    pub tenant: Vec<String>,
    /// Supported channels.
    pub channel: Vec<String>,
    /// Protocols in which actions answer: `sacp`.
    pub speaks: Vec<String>,
    /// `stale` if the URL from which the Thing was imported is unavailable; `deprecated` or `deleted` if the registry
    /// of an MCP server marks it as such; otherwise `current`.
    pub status: Vec<String>,
    /// The states of signatures of agent cards: `valid`, `invalid`, `untrusted`, `unsigned`.
    pub signature: Vec<String>,
    /// Versions of Things, alone or in npm-style ranges: `1.2.0`, `>=1.2 <3`.
    pub version: Vec<String>,
    /// Values that a Thing must all have, by field.
    pub all: BTreeMap<FilterField, Vec<String>>,
    /// Values that a Thing must not have, by field.
    pub not: BTreeMap<FilterField, Vec<String>>,
    /// The period in which the Thing was created.
    pub created: Period,
    /// The period in which the Thing's description was last changed.
    pub modified: Period,
}

/// A field by which Things are filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilterField {
    /// See [`Filters::capability`].
    Capability,
    /// See [`Filters::type_`].
    Type,
    /// See [`Filters::tag`].
    Tag,
    /// See [`Filters::vendor`].
    Vendor,
    /// See [`Filters::protocol`].
    Protocol,
    /// See [`Filters::security`].
    Security,
    /// See [`Filters::format`].
    Format,
    /// See [`Filters::tenant`].
    Tenant,
    /// See [`Filters::channel`].
    Channel,
    /// See [`Filters::speaks`].
    Speaks,
    /// See [`Filters::status`].
    Status,
    /// See [`Filters::signature`].
    Signature,
    /// See [`Filters::version`].
    Version,
}

/// How the values of a filter are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// At least one of the values. The parameter is the name of the field, such as `tag`.
    AnyOf,
    /// All of the values; for example, `all_tag`.
    AllOf,
    /// None of the values; for example, `not_tag`.
    NoneOf,
}

impl Condition {
    /// All conditions.
    pub const ALL: [Condition; 3] = [Condition::AnyOf, Condition::AllOf, Condition::NoneOf];
}

/// A period of time; unlimited if it has no bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    /// Start of the period, included.
    pub from: Option<Timestamp>,
    /// End of the period, excluded.
    pub before: Option<Timestamp>,
}

impl Period {
    /// True if the period has no bounds.
    pub fn is_unbounded(&self) -> bool {
        *self == Period::default()
    }
}

/// Each field with the names of its parameters: any, all, none of the values.
const NAMES: [(FilterField, [&str; 3]); 13] = [
    (FilterField::Capability, ["capability", "all_capability", "not_capability"]),
    (FilterField::Type, ["type", "all_type", "not_type"]),
    (FilterField::Tag, ["tag", "all_tag", "not_tag"]),
    (FilterField::Vendor, ["vendor", "all_vendor", "not_vendor"]),
    (FilterField::Protocol, ["protocol", "all_protocol", "not_protocol"]),
    (FilterField::Security, ["security", "all_security", "not_security"]),
    (FilterField::Format, ["format", "all_format", "not_format"]),
    (FilterField::Tenant, ["tenant", "all_tenant", "not_tenant"]),
    (FilterField::Channel, ["channel", "all_channel", "not_channel"]),
    (FilterField::Speaks, ["speaks", "all_speaks", "not_speaks"]),
    (FilterField::Status, ["status", "all_status", "not_status"]),
    (FilterField::Signature, ["signature", "all_signature", "not_signature"]),
    (FilterField::Version, ["version", "all_version", "not_version"]),
];

/// The names of the bounds of periods.
const BOUNDS: [&str; 4] = ["created_from", "created_before", "modified_from", "modified_before"];

impl FilterField {
    /// All fields.
    pub const ALL: [FilterField; NAMES.len()] = {
        let mut all = [FilterField::Capability; NAMES.len()];
        let mut at = 0;
        while at < all.len() {
            assert!(NAMES[at].0 as usize == at, "in the order of the variants");
            all[at] = NAMES[at].0;
            at += 1;
        }
        all
    };

    /// Returns the name of the field, as in `GET /search`.
    pub fn name(self) -> &'static str {
        self.parameter(Condition::AnyOf)
    }

    /// Returns the name of the parameter for a field and a condition, as in `GET /search`.
    ///
    /// ```
    /// use agentdex_api::{Condition, FilterField};
    ///
    /// assert_eq!(FilterField::Tag.parameter(Condition::NoneOf), "not_tag");
    /// ```
    pub fn parameter(self, condition: Condition) -> &'static str {
        NAMES[self as usize].1[condition as usize]
    }

    /// Returns the field with the given name.
    pub fn from_name(name: &str) -> Option<FilterField> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

impl FacetField {
    /// Returns the filter field with the same name.
    pub fn filter(self) -> FilterField {
        match self {
            FacetField::Capability => FilterField::Capability,
            FacetField::Type => FilterField::Type,
            FacetField::Tag => FilterField::Tag,
            FacetField::Vendor => FilterField::Vendor,
            FacetField::Protocol => FilterField::Protocol,
            FacetField::Security => FilterField::Security,
            FacetField::Format => FilterField::Format,
            FacetField::Status => FilterField::Status,
            FacetField::Signature => FilterField::Signature,
        }
    }
}

impl Filters {
    /// Returns the names of all parameters: three for each field, and the bounds of the periods.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, names)| *names).chain(BOUNDS)
    }

    /// Returns the names of the bounds of periods, each with its value.
    pub fn bounds(&self) -> [(&'static str, Option<Timestamp>); 4] {
        let Filters { created, modified, .. } = self;
        let [a, b, c, d] = BOUNDS;
        [(a, created.from), (b, created.before), (c, modified.from), (d, modified.before)]
    }

    /// Returns the bound with the given name.
    pub fn bound_mut(&mut self, name: &str) -> Option<&mut Option<Timestamp>> {
        Some(match BOUNDS.iter().position(|bound| *bound == name)? {
            0 => &mut self.created.from,
            1 => &mut self.created.before,
            2 => &mut self.modified.from,
            _ => &mut self.modified.before,
        })
    }

    /// Adds a value of a field, of which a Thing must have at least one.
    ///
    /// ```
    /// use agentdex_api::{FilterField, Filters};
    ///
    /// let mut filters = Filters::default();
    /// filters.add(FilterField::Protocol, "a2a");
    /// filters.add(FilterField::Protocol, "mcp");
    /// assert_eq!(filters.protocol, ["a2a", "mcp"]);
    /// ```
    pub fn add(&mut self, field: FilterField, value: impl Into<String>) {
        self.add_to(Condition::AnyOf, field, value);
    }

    /// Adds a value to a field and condition.
    pub fn add_to(&mut self, condition: Condition, field: FilterField, value: impl Into<String>) {
        self.values_mut(condition, field).push(value.into());
    }

    /// Returns the values of a field for a condition.
    pub fn values_of(&self, condition: Condition, field: FilterField) -> &[String] {
        let listed = match condition {
            Condition::AnyOf => return self.any_of(field),
            Condition::AllOf => &self.all,
            Condition::NoneOf => &self.not,
        };
        listed.get(&field).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the values of a field for a condition.
    pub fn values_mut(&mut self, condition: Condition, field: FilterField) -> &mut Vec<String> {
        match condition {
            Condition::AnyOf => match field {
                FilterField::Capability => &mut self.capability,
                FilterField::Type => &mut self.type_,
                FilterField::Tag => &mut self.tag,
                FilterField::Vendor => &mut self.vendor,
                FilterField::Protocol => &mut self.protocol,
                FilterField::Security => &mut self.security,
                FilterField::Format => &mut self.format,
                FilterField::Tenant => &mut self.tenant,
                FilterField::Channel => &mut self.channel,
                FilterField::Speaks => &mut self.speaks,
                FilterField::Status => &mut self.status,
                FilterField::Signature => &mut self.signature,
                FilterField::Version => &mut self.version,
            },
            Condition::AllOf => self.all.entry(field).or_default(),
            Condition::NoneOf => self.not.entry(field).or_default(),
        }
    }

    fn any_of(&self, field: FilterField) -> &[String] {
        match field {
            FilterField::Capability => &self.capability,
            FilterField::Type => &self.type_,
            FilterField::Tag => &self.tag,
            FilterField::Vendor => &self.vendor,
            FilterField::Protocol => &self.protocol,
            FilterField::Security => &self.security,
            FilterField::Format => &self.format,
            FilterField::Tenant => &self.tenant,
            FilterField::Channel => &self.channel,
            FilterField::Speaks => &self.speaks,
            FilterField::Status => &self.status,
            FilterField::Signature => &self.signature,
            FilterField::Version => &self.version,
        }
    }

    /// Returns the fields and conditions that have values.
    pub fn given(&self) -> impl Iterator<Item = (Condition, FilterField, &[String])> {
        let all = Condition::ALL.into_iter().flat_map(|condition| FilterField::ALL.map(|field| (condition, field)));
        let all = all.map(|(condition, field)| (condition, field, self.values_of(condition, field)));
        all.filter(|(.., values)| !values.is_empty())
    }

    /// Returns the values of a field of which a Thing must have at least one.
    pub fn values(&self, field: FacetField) -> &[String] {
        self.any_of(field.filter())
    }

    /// True if there are no filters, so that all Things match.
    pub fn is_empty(&self) -> bool {
        self.given().next().is_none() && !self.has_periods()
    }

    /// True if the time of creation or last change is restricted.
    pub fn has_periods(&self) -> bool {
        !self.created.is_unbounded() || !self.modified.is_unbounded()
    }
}

impl From<Filters> for Map<String, Value> {
    fn from(filters: Filters) -> Map<String, Value> {
        let values =
            filters.given().map(|(condition, field, values)| (field.parameter(condition).to_owned(), values.into()));
        let bounds = filters.bounds().into_iter();
        let bounds = bounds.filter_map(|(name, bound)| Some((name.to_owned(), Value::from(bound?.to_string()))));
        values.chain(bounds).collect()
    }
}

impl TryFrom<Map<String, Value>> for Filters {
    type Error = serde_json::Error;

    fn try_from(members: Map<String, Value>) -> serde_json::Result<Filters> {
        let mut filters = Filters::default();
        for (name, value) in members {
            if let Some(bound) = filters.bound_mut(&name) {
                *bound = Some(serde_json::from_value(value)?);
                continue;
            }
            let all =
                NAMES.iter().flat_map(|(field, names)| names.iter().zip(Condition::ALL).map(|named| (*field, named)));
            let Some((field, (_, condition))) = all.into_iter().find(|(_, (known, _))| **known == name) else {
                return Err(serde_json::Error::custom(format!("there is no filter `{name}`")));
            };
            *filters.values_mut(condition, field) = serde_json::from_value(value)?;
        }
        Ok(filters)
    }
}
