//! Errors of the protocol (A2A 1.0, sections 3.3.2, 5.4, and 9.5).

use std::borrow::Cow;

use serde_json::{Value, json};

/// The kind of an error, for which each binding has a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The body is not JSON.
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    VersionNotSupported,
}

impl Kind {
    /// The error code of JSON-RPC.
    fn code(self) -> i32 {
        match self {
            Kind::Parse => -32700,
            Kind::InvalidRequest => -32600,
            Kind::MethodNotFound => -32601,
            Kind::InvalidParams => -32602,
            Kind::Internal => -32603,
            Kind::TaskNotFound => -32001,
            Kind::TaskNotCancelable => -32002,
            Kind::PushNotificationNotSupported => -32003,
            Kind::UnsupportedOperation => -32004,
            Kind::ContentTypeNotSupported => -32005,
            Kind::VersionNotSupported => -32009,
        }
    }

    /// The name of the status in `google.rpc.Code`.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Kind::MethodNotFound | Kind::TaskNotFound => "NOT_FOUND",
            Kind::Parse | Kind::InvalidRequest | Kind::InvalidParams | Kind::ContentTypeNotSupported => {
                "INVALID_ARGUMENT"
            }
            Kind::Internal => "INTERNAL",
            Kind::TaskNotCancelable
            | Kind::PushNotificationNotSupported
            | Kind::UnsupportedOperation
            | Kind::VersionNotSupported => "FAILED_PRECONDITION",
        }
    }

    /// The name of the error without `Error`, in capital letters.
    fn reason(self) -> &'static str {
        match self {
            Kind::Parse => "JSON_PARSE",
            Kind::InvalidRequest => "INVALID_REQUEST",
            Kind::MethodNotFound => "METHOD_NOT_FOUND",
            Kind::InvalidParams => "INVALID_PARAMS",
            Kind::Internal => "INTERNAL_ERROR",
            Kind::TaskNotFound => "TASK_NOT_FOUND",
            Kind::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Kind::PushNotificationNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Kind::UnsupportedOperation => "UNSUPPORTED_OPERATION",
            Kind::ContentTypeNotSupported => "CONTENT_TYPE_NOT_SUPPORTED",
            Kind::VersionNotSupported => "VERSION_NOT_SUPPORTED",
        }
    }
}

/// An error of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: Cow<'static, str>,
    /// The member of the params that is invalid, such as `message.parts`.
    field: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure { kind, message: message.into(), field: None }
    }

    /// Invalid params; `field` is the member that is invalid.
    pub(crate) fn invalid(field: &'static str, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure { field: Some(field), ..Failure::new(Kind::InvalidParams, message) }
    }

    /// The details as messages of `google.rpc`.
    pub(crate) fn details(&self) -> Value {
        let mut details = vec![json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.kind.reason(), "domain": "a2a-protocol.org", "metadata": {},
        })];
        details.extend(self.field.map(|field| {
            json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": field, "description": self.message}],
            })
        }));
        details.into()
    }

    /// The error object of JSON-RPC.
    pub(super) fn rpc_error(&self) -> Value {
        json!({"code": self.kind.code(), "message": self.message, "data": self.details()})
    }
}
