//! The members of a card, of both generations.

use super::Generation;
use crate::convert::shape::{Kind, Member};

/// The members of a card of this generation.
pub(super) fn of_card(generation: Generation) -> &'static [Member] {
    match generation {
        Generation::V0 => CARD_0,
        Generation::V1 => CARD_1,
    }
}

const CARD_0: &[Member] = &[
    Member::required("name", Kind::Text),
    Member::required("description", Kind::Text),
    Member::required("version", Kind::Text),
    Member::required("url", Kind::Text),
    Member::required("capabilities", Kind::Flags(CAPABILITIES)),
    Member::required("defaultInputModes", Kind::Modes),
    Member::required("defaultOutputModes", Kind::Modes),
    Member::required("skills", Kind::Objects(SKILL)),
    Member::optional("protocolVersion", Kind::Text),
    Member::optional("preferredTransport", Kind::Text),
    Member::optional("additionalInterfaces", Kind::Objects(INTERFACE_0)),
    Member::optional("provider", Kind::Object(PROVIDER)),
    Member::optional("documentationUrl", Kind::Text),
    Member::optional("iconUrl", Kind::Text),
    Member::optional("securitySchemes", Kind::Named(SCHEME)),
    Member::optional("security", Kind::Free),
    Member::optional("securityRequirements", Kind::Free),
    Member::optional("supportsAuthenticatedExtendedCard", Kind::Flag),
    Member::optional("signatures", Kind::Objects(SIGNATURE)),
];

const CARD_1: &[Member] = &[
    Member::required("name", Kind::Text),
    Member::required("description", Kind::Text),
    Member::required("version", Kind::Text),
    Member::required("supportedInterfaces", Kind::Objects(INTERFACE_1)),
    Member::required("capabilities", Kind::Flags(CAPABILITIES)),
    Member::required("defaultInputModes", Kind::Modes),
    Member::required("defaultOutputModes", Kind::Modes),
    Member::required("skills", Kind::Objects(SKILL)),
    Member::optional("provider", Kind::Object(PROVIDER)),
    Member::optional("documentationUrl", Kind::Text),
    Member::optional("iconUrl", Kind::Text),
    Member::optional("securitySchemes", Kind::Named(SCHEME)),
    Member::optional("securityRequirements", Kind::Free),
    Member::optional("signatures", Kind::Objects(SIGNATURE)),
    // What servers of the new generation add for clients of the old one.
    Member::optional("url", Kind::Text),
    Member::optional("protocolVersion", Kind::Text),
    Member::optional("preferredTransport", Kind::Text),
    Member::optional("additionalInterfaces", Kind::Objects(INTERFACE_0)),
    Member::optional("security", Kind::Free),
    Member::optional("supportsAuthenticatedExtendedCard", Kind::Flag),
];

const INTERFACE_0: &[Member] = &[Member::required("url", Kind::Text), Member::required("transport", Kind::Text)];

const INTERFACE_1: &[Member] = &[
    Member::required("url", Kind::Text),
    Member::required("protocolBinding", Kind::Text),
    Member::required("protocolVersion", Kind::Text),
    Member::optional("tenant", Kind::Text),
];

const PROVIDER: &[Member] = &[Member::required("organization", Kind::Text), Member::required("url", Kind::Text)];

const CAPABILITIES: &[Member] = &[
    Member::optional("streaming", Kind::Flag),
    Member::optional("pushNotifications", Kind::Flag),
    Member::optional("stateTransitionHistory", Kind::Flag),
    Member::optional("extendedAgentCard", Kind::Flag),
    Member::optional("extensions", Kind::Objects(EXTENSION)),
];

const EXTENSION: &[Member] = &[
    Member::required("uri", Kind::Text),
    Member::optional("description", Kind::Text),
    Member::optional("required", Kind::Flag),
    Member::optional("params", Kind::Object(&[])),
];

const SKILL: &[Member] = &[
    Member::required("id", Kind::Text),
    Member::required("name", Kind::Text),
    Member::required("description", Kind::Text),
    Member::required("tags", Kind::Texts),
    Member::optional("examples", Kind::Texts),
    Member::optional("inputModes", Kind::Modes),
    Member::optional("outputModes", Kind::Modes),
    Member::optional("security", Kind::Free),
    Member::optional("securityRequirements", Kind::Free),
];

const SIGNATURE: &[Member] = &[
    Member::required("protected", Kind::Text),
    Member::required("signature", Kind::Text),
    Member::optional("header", Kind::Object(&[])),
];

const SCHEME: &[Member] = &[
    Member::optional("apiKeySecurityScheme", Kind::Object(SCHEME_MEMBERS)),
    Member::optional("httpAuthSecurityScheme", Kind::Object(SCHEME_MEMBERS)),
    Member::optional("oauth2SecurityScheme", Kind::Object(SCHEME_MEMBERS)),
    Member::optional("openIdConnectSecurityScheme", Kind::Object(SCHEME_MEMBERS)),
    Member::optional("mtlsSecurityScheme", Kind::Object(SCHEME_MEMBERS)),
    Member::optional("type", Kind::Text),
    Member::optional("description", Kind::Text),
    Member::optional("name", Kind::Text),
    Member::optional("in", Kind::Text),
    Member::optional("location", Kind::Text),
    Member::optional("scheme", Kind::Text),
    Member::optional("bearerFormat", Kind::Text),
    Member::optional("flows", Kind::Object(FLOWS)),
    Member::optional("openIdConnectUrl", Kind::Text),
    Member::optional("oauth2MetadataUrl", Kind::Text),
];

const SCHEME_MEMBERS: &[Member] = &[
    Member::optional("description", Kind::Text),
    Member::optional("name", Kind::Text),
    Member::optional("in", Kind::Text),
    Member::optional("location", Kind::Text),
    Member::optional("scheme", Kind::Text),
    Member::optional("bearerFormat", Kind::Text),
    Member::optional("flows", Kind::Object(FLOWS)),
    Member::optional("openIdConnectUrl", Kind::Text),
    Member::optional("oauth2MetadataUrl", Kind::Text),
];

const FLOWS: &[Member] = &[
    Member::optional("authorizationCode", Kind::Object(FLOW)),
    Member::optional("clientCredentials", Kind::Object(FLOW)),
    Member::optional("deviceCode", Kind::Object(FLOW)),
    Member::optional("implicit", Kind::Object(FLOW)),
    Member::optional("password", Kind::Object(FLOW)),
];

const FLOW: &[Member] = &[
    Member::written("scopes", Kind::Described),
    Member::optional("authorizationUrl", Kind::Text),
    Member::optional("deviceAuthorizationUrl", Kind::Text),
    Member::optional("tokenUrl", Kind::Text),
    Member::optional("refreshUrl", Kind::Text),
    Member::optional("pkceRequired", Kind::Flag),
];
