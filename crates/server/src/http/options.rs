//! Options of the API, for applications that serve or mount it.

use std::time::Duration;

use actix_web::http::Uri;

use super::{demo::Demo, limits::Limits, stop::Stop};
use crate::{Error, Result, access::Rules, td};

/// Options of the API. The default suits a server on one machine.
#[derive(Debug, Clone)]
pub struct Options {
    /// The origins whose pages may call the API from a browser, such as `https://example.org`; `*`
    /// for every origin. If empty, no CORS headers are sent. [`Options::check`] reports invalid
    /// origins.
    pub cors_origins: Vec<String>,
    /// Names by which clients reach the server, allowed in `Host` in addition to `localhost`, addresses, and
    /// the host of the public URL. `*` allows every name, which lets web pages use the API by DNS rebinding,
    /// unless something else checks the names.
    pub allowed_hosts: Vec<String>,
    /// Authentication of callers, and their permissions. By default, everyone who can reach the API has all
    /// permissions.
    pub access: Rules,
    /// Whether the web page also lets people with the role `admin` stay signed in on their devices.
    pub admin_stays_signed_in: bool,
    /// Limits of the connections, streams, and time that clients can use.
    pub limits: Limits,
    /// TLS of a [`super::Server`]; without it, connections aren't encrypted. An application that mounts the API
    /// provides TLS itself.
    pub tls: Option<crate::tls::ServerTls>,
    /// The largest body of a request in bytes; a batch is limited line by line.
    pub body_limit: usize,
    /// The URL at which clients reach the API, if it differs from `Host`: behind a proxy that
    /// changes the header.
    pub public_url: Option<String>,
    /// Number of threads that serve requests; by default, the number of cores.
    pub workers: Option<usize>,
    /// Time without events after which an event stream sends a heartbeat.
    pub heartbeat: Duration,
    /// Ends event streams and long polls.
    pub stop: Stop,
    /// The endpoint for MQTT over WebSocket at `/mqtt`; without it, that path isn't served.
    pub mqtt: Option<crate::mqtt::EndpointHandle>,
    /// The consumer that calls agents in conversations, for clients with the role `register`; without it, there
    /// are no conversations. It uses its own settings and credentials for all clients.
    pub conversations: Option<crate::consumer::Consumer>,
    /// Returns the number of log lines that could not be written, for `/metrics`; without it, `/metrics` omits the
    /// number.
    pub log_lines_dropped: Option<fn() -> u64>,
    /// The agents of a demo, served below `/demo/agents/`; without it, this is not a demo.
    pub demo: Option<Demo>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cors_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            access: Rules::default(),
            admin_stays_signed_in: false,
            limits: Limits::default(),
            tls: None,
            body_limit: td::MAX_DOCUMENT_BYTES,
            public_url: None,
            workers: None,
            heartbeat: Duration::from_secs(15),
            stop: Stop::new(),
            mqtt: None,
            conversations: None,
            log_lines_dropped: None,
            demo: None,
        }
    }
}

impl Options {
    /// True if a [`super::Server`] encrypts.
    pub(super) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Checks for settings that can't work. [`super::Server`] does that by itself; an application that mounts the API
    /// fails to start with an origin that is none.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] for the first origin or host that isn't one.
    pub fn check(&self) -> Result<()> {
        check_names(&self.allowed_hosts)?;
        let is_origin = |text: &str| text == "*" || is_origin(text);
        match self.cors_origins.iter().find(|origin| !is_origin(origin)) {
            Some(other) => Err(Error::InvalidSetting {
                origin: "CORS origins".to_owned(),
                message: format!(
                    "{other:?} is not an origin; for example https://example.org or https://example.org:8443, or * \
                     for all origins"
                ),
            }),
            None => Ok(()),
        }
    }
}

/// True if a text is what browsers send as `Origin`: scheme, host in small letters, perhaps a port, and
/// no path.
pub(super) fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return false };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_host_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_[]:".contains(&byte);
    !host.is_empty()
        && host.bytes().all(is_host_byte)
        && port.is_none_or(|port| port.parse::<u16>().is_ok())
        && text.parse::<Uri>().is_ok_and(|uri| uri.scheme_str() == Some(scheme))
}

/// Finds what can't be a name of [`Options::allowed_hosts`].
///
/// # Errors
/// [`Error::InvalidSetting`]
fn check_names(names: &[String]) -> Result<()> {
    let is_name = |name: &str| {
        name == "*"
            || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
    };
    match names.iter().find(|name| !is_name(name)) {
        Some(other) => Err(Error::InvalidSetting {
            origin: "allowed hosts".to_owned(),
            message: format!(
                "{other:?} is not a host name; give it without scheme and port, for example registry.example.org, or * for all names"
            ),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_what_browsers_send() {
        for origin in ["https://example.org", "http://localhost:3000", "http://[::1]:80", "http://[::1]", "app://x"] {
            assert!(is_origin(origin), "{origin}");
        }
        for other in ["", "*", "null", "example.org", "https://", "https://a.example/", "https://A.example", "a b://c"]
        {
            assert!(!is_origin(other), "{other}");
        }
    }

    #[test]
    fn names_have_neither_scheme_nor_port() {
        assert!(check_names(&["registry.internal".into(), "*".into()]).is_ok());
        for other in ["", "a:80", "http://a", "a/b", "*.example"] {
            assert!(check_names(&[other.into()]).is_err(), "{other}");
        }
    }
}
