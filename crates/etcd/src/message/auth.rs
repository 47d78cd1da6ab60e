//! Messages of the service `Auth`.

use std::fmt;

use prost::Message;

use super::header::ResponseHeader;

/// Logs in (`AuthenticateRequest`).
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct AuthenticateRequest {
    /// Name of the user.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Password of the user.
    #[prost(string, tag = "2")]
    pub password: String,
}

impl fmt::Debug for AuthenticateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticateRequest").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Response to [`AuthenticateRequest`] (`AuthenticateResponse`).
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct AuthenticateResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Token for the metadata field `token` of other calls.
    #[prost(string, tag = "2")]
    pub token: String,
}

impl fmt::Debug for AuthenticateResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticateResponse").field("header", &self.header).finish_non_exhaustive()
    }
}
