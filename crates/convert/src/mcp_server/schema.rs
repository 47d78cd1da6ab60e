//! Table of the members of `server.json` and of Server Cards, and their other names in cards without a schema.

use crate::shape::{Expected, Member};

/// Other names of members whose value is a text.
pub(super) const SPELLINGS: [(&str, &[&str]); 5] = [
    ("name", &["server_name", "serverName"]),
    ("title", &["displayName", "display_name"]),
    ("version", &["server_version", "serverVersion"]),
    ("description", &["server_description", "serverDescription"]),
    ("websiteUrl", &["homepage", "website", "documentationUrl", "documentation_url", "documentation"]),
];

/// Members of an endpoint that name its transport.
pub(super) const TYPE: [&str; 6] = ["type", "transport", "transportType", "transport_type", "protocol", "kind"];

/// Members of a card that name its transports.
pub(super) const DECLARED: [&str; 6] =
    ["transport", "transports", "transportType", "transport_type", "supportedTransports", "supported_transports"];

pub(super) const SERVER: &[Member] = &[
    Member::optional("$schema", Expected::Text),
    Member::required("name", Expected::Text),
    Member::required("description", Expected::Text),
    Member::required("version", Expected::Text),
    Member::optional("title", Expected::Text),
    Member::optional("websiteUrl", Expected::Text),
    Member::optional("repository", Expected::Object(REPOSITORY)),
    Member::optional("icons", Expected::Objects(ICON)),
    Member::optional("packages", Expected::Objects(PACKAGE)),
    Member::optional("remotes", Expected::Objects(TRANSPORT)),
    Member::optional("tools", Expected::Objects(TOOL)),
    Member::optional("_meta", Expected::Object(&[])),
];

const TOOL: &[Member] =
    &[Member::optional("inputSchema", Expected::Free), Member::optional("outputSchema", Expected::Free)];

const REPOSITORY: &[Member] = &[
    Member::optional("url", Expected::Text),
    Member::optional("source", Expected::Text),
    Member::optional("id", Expected::Text),
    Member::optional("subfolder", Expected::Text),
];

const ICON: &[Member] = &[
    Member::required("src", Expected::Text),
    Member::optional("mimeType", Expected::Text),
    Member::optional("sizes", Expected::Texts),
    Member::optional("theme", Expected::Text),
];

const PACKAGE: &[Member] = &[
    Member::required("registryType", Expected::Text),
    Member::required("identifier", Expected::Text),
    Member::optional("version", Expected::Text),
    Member::optional("registryBaseUrl", Expected::Text),
    Member::optional("fileSha256", Expected::Text),
    Member::optional("runtimeHint", Expected::Text),
    Member::optional("transport", Expected::Object(TRANSPORT)),
    Member::optional("runtimeArguments", Expected::Objects(INPUT)),
    Member::optional("packageArguments", Expected::Objects(INPUT)),
    Member::optional("environmentVariables", Expected::Objects(INPUT)),
];

const TRANSPORT: &[Member] = &[
    Member::optional("type", Expected::Text),
    Member::optional("url", Expected::Text),
    Member::optional("headers", Expected::Objects(INPUT)),
    Member::optional("variables", Expected::Named(INPUT)),
];

const INPUT: &[Member] = &[
    Member::optional("name", Expected::Text),
    Member::optional("type", Expected::Text),
    Member::optional("description", Expected::Text),
    Member::optional("isRequired", Expected::Flag),
    Member::optional("isSecret", Expected::Flag),
    Member::optional("isRepeated", Expected::Flag),
    Member::optional("value", Expected::Text),
    Member::optional("valueHint", Expected::Text),
    Member::optional("default", Expected::Text),
    Member::optional("choices", Expected::Texts),
    Member::optional("format", Expected::Text),
    Member::optional("placeholder", Expected::Text),
    Member::optional("variables", Expected::Named(VARIABLE)),
];

/// Members of a variable, which stands for a part of the value of an input.
const VARIABLE: &[Member] = &[
    Member::optional("description", Expected::Text),
    Member::optional("isRequired", Expected::Flag),
    Member::optional("isSecret", Expected::Flag),
    Member::optional("value", Expected::Text),
    Member::optional("default", Expected::Text),
    Member::optional("choices", Expected::Texts),
    Member::optional("format", Expected::Text),
    Member::optional("placeholder", Expected::Text),
];
