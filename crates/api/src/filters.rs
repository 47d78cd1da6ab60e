//! The filters of a search, beside the words of its query.

use serde::{Deserialize, Serialize};

use crate::FacetField;

/// Values that a Thing must have: one of those within a field, and of every field that has some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    /// Ids or names of capabilities. With `@` and a range of versions as npm writes it (`billing@^1.2`),
    /// those that have it in a version that satisfies: its own, or that of the Thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capability: Vec<String>,
    /// Values of `@type`.
    #[serde(rename = "type", skip_serializing_if = "Vec::is_empty")]
    pub type_: Vec<String>,
    /// Tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tag: Vec<String>,
    /// Vendor names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vendor: Vec<String>,
    /// Protocols of the forms: `http`, `mqtt`, `ws`, `coap`, `a2a`, `mcp`…
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocol: Vec<String>,
    /// Names of security schemes: `nosec`, `bearer`…
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<String>,
    /// Formats that descriptions were converted from; `td` for those that came as TDs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub format: Vec<String>,
    /// Tenants that are supported; one that names no tenants supports all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenant: Vec<String>,
    /// Channels that are supported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channel: Vec<String>,
    /// Protocols that actions answer in: `sacp`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub speaks: Vec<String>,
    /// `stale` where the URL that a Thing was imported from is broken, else `current`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<String>,
    /// The states of signatures of agent cards: `valid`, `invalid`, `untrusted`, `unsigned`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signature: Vec<String>,
}

/// A field that Things are filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}

/// Each field with its name.
const NAMES: [(FilterField, &str); 12] = [
    (FilterField::Capability, "capability"),
    (FilterField::Type, "type"),
    (FilterField::Tag, "tag"),
    (FilterField::Vendor, "vendor"),
    (FilterField::Protocol, "protocol"),
    (FilterField::Security, "security"),
    (FilterField::Format, "format"),
    (FilterField::Tenant, "tenant"),
    (FilterField::Channel, "channel"),
    (FilterField::Speaks, "speaks"),
    (FilterField::Status, "status"),
    (FilterField::Signature, "signature"),
];

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

    /// The name of the field, as in `GET /search`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }
}

impl Filters {
    /// Adds a value that a field may have.
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
        let values = match field {
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
        };
        values.push(value.into());
    }

    /// The values that one field is filtered by.
    pub fn values(&self, field: FacetField) -> &[String] {
        match field {
            FacetField::Capability => &self.capability,
            FacetField::Type => &self.type_,
            FacetField::Tag => &self.tag,
            FacetField::Vendor => &self.vendor,
            FacetField::Protocol => &self.protocol,
            FacetField::Security => &self.security,
            FacetField::Format => &self.format,
            FacetField::Status => &self.status,
            FacetField::Signature => &self.signature,
        }
    }

    /// True if everything passes.
    pub fn is_empty(&self) -> bool {
        *self == Filters::default()
    }
}
