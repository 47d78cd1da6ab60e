//! Tables of the members of a card, for both generations.

use super::Generation;
use crate::shape::{Expected, Member};

/// The members of a card of this generation, those of both first.
pub(super) fn of_card(generation: Generation) -> [&'static [Member]; 2] {
    match generation {
        Generation::V0 => [OF_BOTH, OF_0],
        Generation::V1 => [OF_BOTH, OF_1],
    }
}

/// Members that cards of both generations have.
const OF_BOTH: &[Member] = &[
    Member::required("name", Expected::Text),
    Member::required("description", Expected::Text),
    Member::required("version", Expected::Text),
    Member::required("capabilities", Expected::Flags(CAPABILITIES)),
    Member::required("defaultInputModes", Expected::Modes),
    Member::required("defaultOutputModes", Expected::Modes),
    Member::required("skills", Expected::Objects(SKILL)),
    Member::optional("provider", Expected::Object(PROVIDER)),
    Member::optional("documentationUrl", Expected::Text),
    Member::optional("iconUrl", Expected::Text),
    Member::optional("securitySchemes", Expected::Named(&SCHEME)),
    Member::optional("securityRequirements", Expected::Free),
    Member::optional("signatures", Expected::Objects(SIGNATURE)),
    // Servers of 1.0 add these for clients of 0.3.
    Member::optional("protocolVersion", Expected::Text),
    Member::optional("preferredTransport", Expected::Text),
    Member::optional("additionalInterfaces", Expected::Objects(INTERFACE_0)),
    Member::optional("security", Expected::Free),
    Member::optional("supportsAuthenticatedExtendedCard", Expected::Flag),
];

const OF_0: &[Member] = &[Member::required("url", Expected::Text)];

const OF_1: &[Member] =
    &[Member::required("supportedInterfaces", Expected::Objects(INTERFACE_1)), Member::optional("url", Expected::Text)];

const INTERFACE_0: &[Member] =
    &[Member::required("url", Expected::Text), Member::required("transport", Expected::Text)];

const INTERFACE_1: &[Member] = &[
    Member::required("url", Expected::Text),
    Member::required("protocolBinding", Expected::Text),
    Member::required("protocolVersion", Expected::Text),
    Member::optional("tenant", Expected::Text),
];

const PROVIDER: &[Member] =
    &[Member::required("organization", Expected::Text), Member::required("url", Expected::Text)];

const CAPABILITIES: &[Member] = &[
    Member::optional("streaming", Expected::Flag),
    Member::optional("pushNotifications", Expected::Flag),
    Member::optional("stateTransitionHistory", Expected::Flag),
    Member::optional("extendedAgentCard", Expected::Flag),
    Member::optional("extensions", Expected::Objects(EXTENSION)),
];

const EXTENSION: &[Member] = &[
    Member::required("uri", Expected::Text),
    Member::optional("description", Expected::Text),
    Member::optional("required", Expected::Flag),
    Member::optional("params", Expected::Object(&[])),
];

const SKILL: &[Member] = &[
    Member::required("id", Expected::Text),
    Member::required("name", Expected::Text),
    Member::required("description", Expected::Text),
    Member::required("tags", Expected::Texts),
    Member::optional("examples", Expected::Texts),
    Member::optional("inputModes", Expected::Modes),
    Member::optional("outputModes", Expected::Modes),
    Member::optional("security", Expected::Free),
    Member::optional("securityRequirements", Expected::Free),
];

const SIGNATURE: &[Member] = &[
    Member::required("protected", Expected::Text),
    Member::required("signature", Expected::Text),
    Member::optional("header", Expected::Object(&[])),
];

/// The members of a scheme, which 1.0 puts into an object under the name of its kind.
static SCHEME: [Member; 15] = [
    Member::optional("apiKeySecurityScheme", Expected::Object(&SCHEME)),
    Member::optional("httpAuthSecurityScheme", Expected::Object(&SCHEME)),
    Member::optional("oauth2SecurityScheme", Expected::Object(&SCHEME)),
    Member::optional("openIdConnectSecurityScheme", Expected::Object(&SCHEME)),
    Member::optional("mtlsSecurityScheme", Expected::Object(&SCHEME)),
    Member::optional("type", Expected::Text),
    Member::optional("description", Expected::Text),
    Member::optional("name", Expected::Text),
    Member::optional("in", Expected::Text),
    Member::optional("location", Expected::Text),
    Member::optional("scheme", Expected::Text),
    Member::optional("bearerFormat", Expected::Text),
    Member::optional("flows", Expected::Object(FLOWS)),
    Member::optional("openIdConnectUrl", Expected::Text),
    Member::optional("oauth2MetadataUrl", Expected::Text),
];

const FLOWS: &[Member] = &[
    Member::optional("authorizationCode", Expected::Object(AUTHORIZATION_CODE)),
    Member::optional("clientCredentials", Expected::Object(BY_TOKEN)),
    Member::optional("deviceCode", Expected::Object(DEVICE_CODE)),
    Member::optional("implicit", Expected::Object(IMPLICIT)),
    Member::optional("password", Expected::Object(BY_TOKEN)),
];

const AUTHORIZATION_CODE: &[Member] = &[
    Member::written("scopes", Expected::Described),
    Member::written("authorizationUrl", Expected::Text),
    Member::written("tokenUrl", Expected::Text),
    Member::optional("refreshUrl", Expected::Text),
    Member::optional("pkceRequired", Expected::Flag),
];

const BY_TOKEN: &[Member] = &[
    Member::written("scopes", Expected::Described),
    Member::written("tokenUrl", Expected::Text),
    Member::optional("refreshUrl", Expected::Text),
];

const DEVICE_CODE: &[Member] = &[
    Member::written("scopes", Expected::Described),
    Member::written("deviceAuthorizationUrl", Expected::Text),
    Member::written("tokenUrl", Expected::Text),
    Member::optional("refreshUrl", Expected::Text),
];

const IMPLICIT: &[Member] = &[
    Member::written("scopes", Expected::Described),
    Member::written("authorizationUrl", Expected::Text),
    Member::optional("refreshUrl", Expected::Text),
];
