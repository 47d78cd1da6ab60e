//! Address of the broker, and the settings of the publisher's connection to it, which speaks MQTT 5.

use std::{sync::Arc, time::Duration};

use fluent_uri::UriRef;
use percent_encoding::percent_decode_str;
use rumqttc::{NetworkOptions, TlsConfiguration, Transport, v5::MqttOptions};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::super::PublisherOptions;
use crate::{Error, Result};

/// The longest time without a packet to the broker.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Maximum size of a packet beyond its description, in bytes.
const PACKET_OVERHEAD_BYTES: usize = 64 * 1024;

/// A broker as its URL names it.
#[derive(Debug, Clone)]
pub(super) struct Broker {
    host: String,
    port: u16,
    is_secured: bool,
    credentials: Option<(String, String)>,
}

impl Broker {
    /// Reads `mqtt://[user[:password]@]host[:port]`, or `mqtts://…`.
    pub fn parse(url: &str) -> Result<Broker> {
        let invalid = |message: &str| Error::InvalidSetting {
            origin: "the URL of the MQTT broker".into(),
            message: format!("{message}; expected mqtt://host:1883 or mqtts://user:password@host:8883"),
        };
        let uri = UriRef::parse(url).map_err(|_| invalid("not a valid URL"))?;
        let scheme = uri.scheme().map(|scheme| scheme.as_str().to_ascii_lowercase());
        let (is_secured, default_port) = match scheme.as_deref() {
            Some("mqtt") => (false, 1883),
            Some("mqtts") => (true, 8883),
            _ => return Err(invalid("the scheme must be mqtt or mqtts")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("the host is missing"))?;
        let port = authority.port_to_u16().map_err(|_| invalid("the port is invalid"))?.unwrap_or(default_port);
        let host = authority.host().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(invalid("the host is missing"));
        }
        if !matches!(uri.path().as_str(), "" | "/") || uri.query().is_some() {
            return Err(invalid("a path or query is not allowed"));
        }
        let decode = |text: &str| percent_decode_str(text).decode_utf8().map(String::from);
        let credentials = authority.userinfo().map(|userinfo| {
            let (user, password) = userinfo.as_str().split_once(':').unwrap_or((userinfo.as_str(), ""));
            Ok((decode(user)?, decode(password)?))
        });
        let credentials =
            credentials.transpose().map_err(|_: std::str::Utf8Error| invalid("the credentials are not UTF-8"))?;
        Ok(Broker { host: host.into(), port, is_secured, credentials })
    }

    /// Its address, without credentials: for logs, and for the name of its position.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns the options with which rumqttc connects to it.
    pub fn client_options(&self, client_id: &str, clean: bool, options: &PublisherOptions) -> Result<MqttOptions> {
        let mut client = MqttOptions::new(client_id, self.host.clone(), self.port);
        // What comes from the broker are our own messages, read during a resync.
        let packet = u32::try_from(options.max_body_bytes + PACKET_OVERHEAD_BYTES).unwrap_or(u32::MAX);
        client.set_keep_alive(KEEP_ALIVE).set_clean_start(clean).set_max_packet_size(Some(packet));
        let mut network = NetworkOptions::new();
        network.set_tcp_nodelay(true);
        client.set_network_options(network);
        if !clean {
            // Without an end: that it is gone says that the broker has lost its state.
            client.set_session_expiry_interval(Some(u32::MAX));
        }
        if let Some((user, password)) = &self.credentials {
            client.set_credentials(user, password);
        }
        if self.is_secured {
            client.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(Arc::new(tls(options)?))));
        }
        Ok(client)
    }
}

/// The ring provider is named, since none is installed for the whole process.
fn tls(options: &PublisherOptions) -> Result<ClientConfig> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| Error::Broker {
        doing: "preparing TLS for the MQTT broker".into(),
        source: error,
    };
    let mut roots = RootCertStore::empty();
    match &options.trusted_certificates {
        Some(path) => {
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(error.into()))? {
                let certificate = certificate.map_err(|error| failed(error.into()))?;
                roots.add(certificate).map_err(|error| failed(error.into()))?;
            }
        }
        None => {
            // Single certificates of the system that can't be read matter only if they are needed.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| failed(error.into()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_names_host_port_and_credentials() {
        let broker = Broker::parse("mqtts://us%40er:pass%3Aword@broker.example.org").unwrap();
        assert_eq!(broker.address(), "broker.example.org:8883");
        assert!(broker.is_secured);
        assert_eq!(broker.credentials, Some(("us@er".into(), "pass:word".into())));
        let broker = Broker::parse("mqtt://[::1]:1999/").unwrap();
        assert_eq!((broker.host.as_str(), broker.port, broker.credentials), ("::1", 1999, None));
    }

    #[test]
    fn url_of_something_else_is_refused() {
        for url in ["", "localhost:1883", "http://localhost", "mqtt://", "mqtt://host:99999", "mqtt://host/path"] {
            let error = Broker::parse(url).unwrap_err().to_string();
            assert!(error.contains("expected mqtt://host:1883"), "{url:?}: {error}");
        }
    }
}
