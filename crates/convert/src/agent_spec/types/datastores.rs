//! Component types of datastores, their connections, and the transforms that store summaries in
//! them.

use super::{
    super::version::Version,
    definition::{Definition, component, family},
    field::{Bound::Positive, Field, Kind, choice, entities, integer, part, text},
};

pub(super) static TYPES: &[Definition] = &[
    family("Datastore", "Component", fields![]).since(Version::V26_1_2),
    component("InMemoryCollectionDatastore", "Datastore", fields![entities("datastore_schema").required()])
        .since(Version::V26_1_2),
    family("RelationalDatastore", "Datastore", fields![entities("datastore_schema").required()])
        .since(Version::V26_1_2),
    component(
        "OracleDatabaseDatastore",
        "RelationalDatastore",
        fields![part("connection_config", "OracleDatabaseConnectionConfig").required()],
    )
    .since(Version::V26_1_2),
    component(
        "PostgresDatabaseDatastore",
        "RelationalDatastore",
        fields![part("connection_config", "PostgresDatabaseConnectionConfig").required()],
    )
    .since(Version::V26_1_2),
    family("OracleDatabaseConnectionConfig", "Component", fields![]).since(Version::V26_1_2),
    component(
        "TlsOracleDatabaseConnectionConfig",
        "OracleDatabaseConnectionConfig",
        fields![
            text("user").required().secret(),
            text("password").required().secret(),
            text("dsn").required().secret(),
            text("config_dir").or_null(),
            choice("protocol", &["tcp", "tcps"]),
        ],
    )
    .since(Version::V26_1_2),
    component(
        "MTlsOracleDatabaseConnectionConfig",
        "TlsOracleDatabaseConnectionConfig",
        fields![text("wallet_location").required().secret(), text("wallet_password").required().secret()],
    )
    .since(Version::V26_1_2),
    family("PostgresDatabaseConnectionConfig", "Component", fields![]).since(Version::V26_1_2),
    component(
        "TlsPostgresDatabaseConnectionConfig",
        "PostgresDatabaseConnectionConfig",
        fields![
            text("user").required().secret(),
            text("password").required().secret(),
            text("url").required().address(),
            choice("sslmode", &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]),
            text("sslcert").or_null().secret(),
            text("sslkey").or_null().secret(),
            text("sslrootcert").or_null().secret(),
            text("sslcrl").or_null().secret(),
        ],
    )
    .since(Version::V26_1_2),
    family("MessageTransform", "Component", fields![]).since(Version::V26_1_2),
    component(
        "MessageSummarizationTransform",
        "MessageTransform",
        fields![
            part("llm", "LlmConfig").required(),
            Field::new("max_message_size", Kind::ComparedInteger(Positive)),
            text("summarization_instructions").prompt(),
            text("summarized_message_template").prompt(),
            Field::new("max_cache_size", Kind::ComparedInteger(Positive)).or_null(),
            Field::new("max_cache_lifetime", Kind::ComparedInteger(Positive)).or_null(),
            text("cache_collection_name"),
            part("datastore", "Datastore").or_null(),
        ],
    )
    .since(Version::V26_1_2),
    component(
        "ConversationSummarizationTransform",
        "MessageTransform",
        fields![
            part("llm", "LlmConfig").required(),
            integer("max_num_messages", Positive).or_null(),
            integer("max_num_characters", Positive).or_null(),
            integer("min_num_messages", Positive),
            text("summarization_instructions").prompt(),
            text("summarized_conversation_template").prompt(),
            integer("max_cache_size", Positive).or_null(),
            integer("max_cache_lifetime", Positive).or_null(),
            text("cache_collection_name"),
            part("datastore", "Datastore").or_null(),
        ],
    )
    .since(Version::V26_1_2),
];
