//! The members of `server.json` and of Server Cards.

use crate::convert::shape::{Kind, Member};

pub(super) const SERVER: &[Member] = &[
    Member::optional("$schema", Kind::Text),
    Member::required("name", Kind::Text),
    Member::required("description", Kind::Text),
    Member::required("version", Kind::Text),
    Member::optional("title", Kind::Text),
    Member::optional("websiteUrl", Kind::Text),
    Member::optional("repository", Kind::Object(REPOSITORY)),
    Member::optional("icons", Kind::Objects(ICON)),
    Member::optional("packages", Kind::Objects(PACKAGE)),
    Member::optional("remotes", Kind::Objects(TRANSPORT)),
    Member::optional("tools", Kind::Objects(&[])),
    Member::optional("_meta", Kind::Object(&[])),
];

const REPOSITORY: &[Member] = &[
    Member::optional("url", Kind::Text),
    Member::optional("source", Kind::Text),
    Member::optional("id", Kind::Text),
    Member::optional("subfolder", Kind::Text),
];

const ICON: &[Member] = &[
    Member::required("src", Kind::Text),
    Member::optional("mimeType", Kind::Text),
    Member::optional("sizes", Kind::Texts),
    Member::optional("theme", Kind::Text),
];

const PACKAGE: &[Member] = &[
    Member::required("registryType", Kind::Text),
    Member::required("identifier", Kind::Text),
    Member::optional("version", Kind::Text),
    Member::optional("registryBaseUrl", Kind::Text),
    Member::optional("fileSha256", Kind::Text),
    Member::optional("runtimeHint", Kind::Text),
    Member::optional("transport", Kind::Object(TRANSPORT)),
    Member::optional("runtimeArguments", Kind::Objects(INPUT)),
    Member::optional("packageArguments", Kind::Objects(INPUT)),
    Member::optional("environmentVariables", Kind::Objects(INPUT)),
];

const TRANSPORT: &[Member] = &[
    Member::optional("type", Kind::Text),
    Member::optional("url", Kind::Text),
    Member::optional("headers", Kind::Objects(INPUT)),
    Member::optional("variables", Kind::Named(INPUT)),
];

const INPUT: &[Member] = &[
    Member::optional("name", Kind::Text),
    Member::optional("type", Kind::Text),
    Member::optional("description", Kind::Text),
    Member::optional("isRequired", Kind::Flag),
    Member::optional("isSecret", Kind::Flag),
    Member::optional("isRepeated", Kind::Flag),
    Member::optional("value", Kind::Text),
    Member::optional("valueHint", Kind::Text),
    Member::optional("default", Kind::Text),
    Member::optional("choices", Kind::Texts),
    Member::optional("format", Kind::Text),
    Member::optional("placeholder", Kind::Text),
    Member::optional("variables", Kind::Named(VARIABLE)),
];

/// What stands for a part of the value of an input.
const VARIABLE: &[Member] = &[
    Member::optional("description", Kind::Text),
    Member::optional("isRequired", Kind::Flag),
    Member::optional("isSecret", Kind::Flag),
    Member::optional("value", Kind::Text),
    Member::optional("default", Kind::Text),
    Member::optional("choices", Kind::Texts),
    Member::optional("format", Kind::Text),
    Member::optional("placeholder", Kind::Text),
];
