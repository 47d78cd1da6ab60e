//! Component types of LLMs, and of their connections.

use super::{
    super::version::Version,
    definition::{Definition, component, family},
    field::{
        Bound, Field, Kind,
        Trigger::{Is, OtherThan, Present},
        choice, full_text, integer, object, part, record, text,
    },
    records::{GENERATION_PARAMETERS, RETRY_POLICY},
};

pub(super) static TYPES: &[Definition] = &[
    component(
        "LlmConfig",
        "Component",
        fields![
            text("model_id").required(),
            text("provider").or_null(),
            text("api_provider").or_null(),
            text("api_type").or_null(),
            text("url").or_null().address(),
            text("api_key").or_null().secret(),
            object("default_generation_parameters")
                .in_sdk(Kind::Record(&GENERATION_PARAMETERS))
                .or_null()
                .may_hold_secrets(),
            record("retry_policy", &RETRY_POLICY).or_null().since(&[(Version::V26_1_2, Present)]),
        ],
    )
    .since(Version::V26_1_2),
    component(
        "OpenAiCompatibleConfig",
        "LlmConfig",
        fields![
            OPENAI_API,
            text("url").required().address(),
            OPENAI_KEY,
            text("key_file").or_null().secret().since(&[(Version::V26_1_2, Present)]),
            text("cert_file").or_null().secret().since(&[(Version::V26_1_2, Present)]),
            text("ca_file").or_null().secret().since(&[(Version::V26_1_2, Present)]),
        ],
    ),
    component("OllamaConfig", "OpenAiCompatibleConfig", fields![choice("api_provider", &["ollama"])]),
    component("VllmConfig", "OpenAiCompatibleConfig", fields![choice("api_provider", &["vllm"])]),
    component(
        "OpenAiConfig",
        "LlmConfig",
        fields![choice("provider", &["openai"]), choice("api_provider", &["openai"]), OPENAI_API, OPENAI_KEY],
    ),
    component(
        "OciGenAiConfig",
        "LlmConfig",
        fields![
            choice("provider", &["META", "GROK", "XAI", "COHERE", "OTHER"])
                .or_null()
                .since(&[(Version::V26_1_2, Is("XAI"))]),
            choice("api_provider", &["oci"]),
            // The prose of the text names the first three, its class the others.
            choice(
                "api_type",
                &["openai_chat_completions", "openai_responses", "oci", "chat_completions", "responses"]
            )
            .in_sdk(Kind::Choice(&["openai_chat_completions", "openai_responses", "oci"]))
            .since(&[(Version::V25_4_2, OtherThan("oci"))]),
            text("compartment_id").required(),
            choice("serving_mode", &["ON_DEMAND", "DEDICATED"]),
            part("client_config", "OciClientConfig").required(),
            text("conversation_store_id").or_null().since(&[(Version::V25_4_2, Present)]),
        ],
    ),
    component(
        "GeminiConfig",
        "LlmConfig",
        fields![choice("provider", &["google"]), part("auth", "GeminiAuthConfig").required()],
    )
    .since(Version::V26_1_2),
    component(
        "DbmsVectorChainLlmConfig",
        "LlmConfig",
        fields![
            full_text("model_id").required(),
            full_text("provider").required(),
            full_text("url").required().address(),
            choice("host", &["local"]).or_null(),
            full_text("credential_name").or_null(),
            integer("transfer_timeout", Bound::NotNegative).or_null(),
            part("connection_config", "OracleDatabaseConnectionConfig").or_null(),
        ],
    )
    .since(Version::V26_3_1),
    family("GeminiAuthConfig", "Component", fields![]).since(Version::V26_1_2),
    component("GeminiAIStudioAuthConfig", "GeminiAuthConfig", fields![text("api_key").or_null().secret()])
        .since(Version::V26_1_2),
    component(
        "GeminiVertexAIAuthConfig",
        "GeminiAuthConfig",
        fields![
            text("project_id").or_null(),
            text("location"),
            Field::new("credentials", Kind::TextOrObject).or_null().secret(),
        ],
    )
    .since(Version::V26_1_2),
    family(
        "OciClientConfig",
        "Component",
        fields![
            text("service_endpoint").required().address(),
            choice("auth_type", &["SECURITY_TOKEN", "INSTANCE_PRINCIPAL", "RESOURCE_PRINCIPAL", "API_KEY"]).required(),
        ],
    ),
    component(
        "OciClientConfigWithSecurityToken",
        "OciClientConfig",
        fields![
            choice("auth_type", &["SECURITY_TOKEN"]),
            text("auth_profile").required(),
            text("auth_file_location").required().secret(),
        ],
    ),
    component(
        "OciClientConfigWithApiKey",
        "OciClientConfig",
        fields![
            choice("auth_type", &["API_KEY"]),
            text("auth_profile").required(),
            text("auth_file_location").required().secret(),
        ],
    ),
    component(
        "OciClientConfigWithInstancePrincipal",
        "OciClientConfig",
        fields![choice("auth_type", &["INSTANCE_PRINCIPAL"])],
    ),
    component(
        "OciClientConfigWithResourcePrincipal",
        "OciClientConfig",
        fields![choice("auth_type", &["RESOURCE_PRINCIPAL"])],
    ),
];

const OPENAI_API: Field =
    choice("api_type", &["chat_completions", "responses"]).since(&[(Version::V25_4_2, OtherThan("chat_completions"))]);
const OPENAI_KEY: Field = text("api_key").or_null().secret().since(&[(Version::V25_4_2, Present)]);
