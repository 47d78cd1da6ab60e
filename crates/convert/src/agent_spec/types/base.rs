//! Base component types: the fields of every component, the first families, and OAuth.

use super::{
    super::{Profile, version::Version},
    definition::{Definition, component, family},
    field::{Field, Kind, choice, object, part, properties, record, text},
    records::{OAUTH_ENDPOINTS, PKCE_POLICY},
};

pub(super) static TYPES: &[Definition] = &[
    family(
        "Component",
        "",
        fields![
            text("id"),
            text("name").required(),
            text("description").or_null(),
            object("metadata").or_null(),
            Field::new("min_agentspec_version", Kind::KnownVersion).only(Profile::Sdk),
            Field::new("max_agentspec_version", Kind::KnownVersion).only(Profile::Sdk),
        ],
    ),
    family("ComponentWithIO", "Component", fields![properties("inputs").or_null(), properties("outputs").or_null()]),
    family("AuthConfig", "Component", fields![]),
    component(
        "OAuthConfig",
        "AuthConfig",
        fields![
            text("issuer").or_null().address(),
            record("endpoints", &OAUTH_ENDPOINTS).or_null().may_hold_secrets(),
            part("client", "OAuthClientConfig").required(),
            text("redirect_uri").required().address(),
            Field::new("scopes", Kind::TextOrTexts).or_null(),
            choice("scope_policy", &["use_challenge_or_supported", "fixed"]).or_null(),
            record("pkce", &PKCE_POLICY).or_null(),
            text("resource").or_null().address(),
        ],
    )
    .since(Version::V26_1_2),
    component(
        "OAuthClientConfig",
        "Component",
        fields![
            choice("type", &["pre_registered", "client_id_metadata_document", "dynamic_registration"]).required(),
            text("client_id").or_null().secret(),
            text("client_secret").or_null().secret(),
            text("token_endpoint_auth_method").or_null(),
            text("client_id_metadata_url").or_null().secret(),
            text("registration_endpoint").or_null().address(),
        ],
    )
    .since(Version::V26_1_2),
];
