//! Objects with their own fields that are not components.

use super::field::{
    Bound,
    Bound::{NotNegative, Positive},
    Field, Kind, Record, choice, flag, integer, number, text,
};

/// Retry policy of requests: attempts, timeout, delays, and statuses after which a request is tried again.
pub(super) static RETRY_POLICY: Record = Record {
    name: "retry policies",
    is_open: false,
    in_order: Some([("initial_retry_delay", 1.0), ("max_retry_delay", 8.0)]),
    fields: &[
        integer("max_attempts", NotNegative),
        number("request_timeout", Positive).or_null(),
        number("initial_retry_delay", NotNegative),
        number("max_retry_delay", NotNegative),
        number("backoff_factor", Positive),
        choice("jitter", &["equal", "full", "full_and_equal_for_throttle", "decorrelated"]).or_null(),
        flag("service_error_retry_on_any_5xx"),
        Field::new("recoverable_statuses", Kind::TextsMap),
    ],
};

/// Generation parameters that the SDK knows; the language leaves them open.
pub(super) static GENERATION_PARAMETERS: Record = Record {
    name: "generation parameters",
    is_open: true,
    in_order: None,
    fields: &[
        integer("max_tokens", Bound::None).or_null(),
        number("temperature", Bound::None).or_null(),
        number("top_p", Bound::None).or_null(),
    ],
};

/// Session parameters of MCP that the SDK knows; the language leaves them open.
pub(super) static MCP_SESSION: Record = Record {
    name: "session parameters",
    is_open: false,
    in_order: None,
    fields: &[number("read_timeout_seconds", Bound::None)],
};

/// Session parameters of A2A that the SDK knows.
pub(super) static A2A_SESSION: Record = Record {
    name: "session parameters",
    is_open: false,
    in_order: None,
    fields: &[
        number("timeout", Bound::None),
        number("poll_interval", Bound::None),
        integer("max_retries", Bound::None),
    ],
};

/// The endpoints of an authorization server.
pub(super) static OAUTH_ENDPOINTS: Record = Record {
    name: "OAuth endpoints",
    is_open: false,
    in_order: None,
    fields: &[
        text("authorization_endpoint").required().address(),
        text("token_endpoint").required().address(),
        text("refresh_endpoint").or_null().address(),
        text("revocation_endpoint").or_null().address(),
        text("userinfo_endpoint").or_null().address(),
    ],
};

/// The use of PKCE.
pub(super) static PKCE_POLICY: Record = Record {
    name: "PKCE policies",
    is_open: false,
    in_order: None,
    fields: &[flag("required"), choice("method", &["plain", "S256"])],
};
