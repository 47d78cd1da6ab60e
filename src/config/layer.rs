//! What one source of settings says: flags, variables or a file.

use std::{fmt::Display, path::PathBuf, str::FromStr};

use serde::{Deserialize, de::DeserializeOwned};

use super::{EmbeddingModel, LogFormat, LogLevel, Validation};
use agentdex::{Error, Result};

/// Declares the settings: a key, what it holds, and how a variable is read as that.
macro_rules! layer {
    ($($(#[$documentation:meta])* $key:ident: $type:ty = $read:ident,)*) => {
        /// What one source says; none where it says nothing.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Layer {
            $($(#[$documentation])* pub $key: Option<$type>,)*
        }

        impl Layer {
            /// Reads variables: `variable("AGENTDEX_LISTEN")` and so on. An empty one counts as absent.
            ///
            /// # Errors
            /// [`Error::InvalidSetting`]
            pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Layer> {
                let variables = Variables(variable);
                Ok(Layer { $($key: variables.$read(stringify!($key))?,)* })
            }

            /// This layer, and `lower` where it says nothing.
            pub fn or(self, lower: Layer) -> Layer {
                Layer { $($key: self.$key.or(lower.$key),)* }
            }
        }
    };
}

layer! {
    /// The data directory.
    data: PathBuf = parse,
    /// Address and port of the REST API.
    listen: String = parse,
    /// Address and port of the MQTT endpoint.
    mqtt_listen: String = parse,
    /// Whether to do without the MQTT endpoint.
    no_mqtt: bool = switch,
    /// An existing broker that changes are published to as well.
    mqtt_url: String = parse,
    /// A PEM file with the certificates that a `mqtts` broker is trusted by.
    mqtt_ca: PathBuf = parse,
    /// The first level of all MQTT topics.
    mqtt_prefix: String = parse,
    /// How many seconds an MQTT session waits for a client that asks for no time.
    mqtt_session_expiry: u64 = number,
    /// Whether to register the example agents.
    examples: bool = switch,
    /// Whether documents are fixed or refused.
    validation: Validation = parse,
    /// Time to live in seconds of Things that ask for none.
    default_ttl: u64 = number,
    /// The shortest time to live in seconds.
    min_ttl: u64 = number,
    /// The longest time to live in seconds.
    max_ttl: u64 = number,
    /// What searches compare the meaning of texts with.
    embedding_model: EmbeddingModel = parse,
    /// What likeness of meaning counts beside words.
    semantic_scale: u32 = number,
    /// Whether clients have to prove who they are.
    auth: bool = switch,
    /// Whether clients without credentials may read.
    public_read: bool = switch,
    /// Whether no client may change anything.
    read_only: bool = switch,
    /// Whether to listen on other addresses than loopback without authentication or TLS.
    insecure: bool = switch,
    /// A PEM file with the certificate of the server.
    tls_cert: PathBuf = parse,
    /// A PEM file with the key of that certificate.
    tls_key: PathBuf = parse,
    /// A PEM file with the authorities that certificates of clients are from.
    tls_client_ca: PathBuf = parse,
    /// The roles of clients with a certificate.
    tls_client_role: Vec<String> = list,
    /// The URL of the authorization server whose tokens are taken.
    oidc_issuer: String = parse,
    /// What tokens for this server have as audience.
    oidc_audience: String = parse,
    /// Where the keys of the issuer are, if its metadata doesn't say.
    oidc_jwks: String = parse,
    /// The claim that is the owner.
    oidc_owner_claim: String = parse,
    /// The claim with the names that roles go by.
    oidc_role_claim: String = parse,
    /// The roles of these names.
    oidc_role: Vec<String> = list,
    /// The client that the web page signs people in as.
    oidc_client_id: String = parse,
    /// The scope that the page asks for.
    oidc_scope: String = parse,
    /// Origins whose pages may call the API; `*` for all.
    cors_origin: Vec<String> = list,
    /// Names that requests may have in `Host`.
    allowed_host: Vec<String> = list,
    /// The most HTTP connections at a time.
    max_connections: usize = number,
    /// The most HTTP connections of one client address.
    max_connections_per_client: usize = number,
    /// The most event streams, long polls and MQTT connections over WebSocket at a time.
    max_streams: usize = number,
    /// How many requests a second a client may send.
    rate_limit: u32 = number,
    /// How many seconds a client may take to send the head of a request.
    head_timeout: u64 = number,
    /// How many seconds a client may send nothing of a body that is waited for.
    body_timeout: u64 = number,
    /// How many seconds a client may take nothing of a response.
    write_timeout: u64 = number,
    /// How log lines look.
    log_format: LogFormat = parse,
    /// How much is logged.
    log_level: LogLevel = parse,
    /// The URL that clients reach the REST API by, if it isn't the address it listens on.
    public_url: String = parse,
    /// Whether clients may talk with agents through the server.
    conversations: bool = switch,
    /// Networks, addresses and hosts that may be fetched from although they aren't public.
    allow_fetch: Vec<String> = list,
    /// The HTTP proxy that everything is fetched through.
    fetch_proxy: String = parse,
    /// A PEM file with certificates that are trusted in fetching, beside those of the system.
    fetch_ca: PathBuf = parse,
    /// How many seconds a fetch may take.
    fetch_timeout: u64 = number,
    /// A file or folder with the public keys that agent cards are trusted by.
    trusted_keys: PathBuf = parse,
    /// Whether agent cards without a valid signature are refused.
    require_signature: bool = switch,
    /// The pause between two polls of a tracked source, in seconds.
    refresh_interval: u64 = number,
    /// How many failures in a row make an import stale.
    stale_after: u32 = number,
    /// Whether SPARQL queries are answered.
    sparql: bool = switch,
    /// A file with the policy that the guardian decides by.
    policy: PathBuf = parse,
    /// Whether what the policy denies is only reported.
    dry_run_policy: bool = switch,
    /// Whether the guardian's trail has what agents exchange.
    store_content: bool = switch,
    /// The most bytes of the guardian's trail.
    max_trail_bytes: u64 = number,
    /// For how many seconds the guardian's trail is kept.
    trail_retention: u64 = number,
    /// A file that decisions are appended to as events of OCSF.
    ocsf_file: PathBuf = parse,
    /// The collector that decisions are sent to as spans of OpenTelemetry.
    otlp_url: String = parse,
}

impl Layer {
    /// Reads a TOML text; `origin` is what errors call it.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`]; for an unknown key it names the known ones.
    pub fn from_toml(text: &str, origin: &str) -> Result<Layer> {
        read_toml(text, origin)
    }
}

/// Reads something that is written in TOML; `origin` is what errors call it.
///
/// # Errors
/// [`Error::InvalidSetting`] with the line.
pub fn read_toml<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        // Without the line itself, which may be the one with a broker's password.
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Error::InvalidSetting { origin: origin.into(), message: format!("line {line}: {}", error.message()) }
    })
}

struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// The name of a key's variable, and its value unless that is empty.
    fn find(&self, key: &str) -> Option<(String, String)> {
        let name = format!("AGENTDEX_{}", key.to_ascii_uppercase());
        (self.0)(&name).filter(|value| !value.is_empty()).map(|value| (name, value))
    }

    fn parse<T: FromStr<Err: Display>>(&self, key: &str) -> Result<Option<T>> {
        let Some((origin, value)) = self.find(key) else { return Ok(None) };
        let invalid = |error: T::Err| Error::InvalidSetting { origin, message: format!("{value:?}: {error}") };
        value.parse().map(Some).map_err(invalid)
    }

    fn number<T: FromStr>(&self, key: &str) -> Result<Option<T>> {
        let Some((origin, value)) = self.find(key) else { return Ok(None) };
        let message = || format!("{value:?} is not a whole number; for example 60");
        value.parse().map(Some).map_err(|_| Error::InvalidSetting { origin, message: message() })
    }

    /// Entries with commas between them.
    fn list(&self, key: &str) -> Result<Option<Vec<String>>> {
        let entries = |text: String| {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            entries.map(str::to_owned).collect()
        };
        Ok(self.find(key).map(|(_, text)| entries(text)))
    }

    fn switch(&self, key: &str) -> Result<Option<bool>> {
        let Some((origin, value)) = self.find(key) else { return Ok(None) };
        match value.as_str() {
            "1" | "true" | "yes" | "on" => Ok(Some(true)),
            "0" | "false" | "no" | "off" => Ok(Some(false)),
            other => {
                let message = format!("{other:?} is neither `true` nor `false`");
                Err(Error::InvalidSetting { origin, message })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_fetching_are_read_from_file_and_variables() {
        let pairs = [
            ("allow_fetch", "a:1, b", r#"["a:1", "b"]"#),
            ("fetch_proxy", "http://proxy", r#""http://proxy""#),
            ("fetch_ca", "ca.pem", r#""ca.pem""#),
            ("fetch_timeout", "3", "3"),
            ("trusted_keys", "keys", r#""keys""#),
            ("require_signature", "true", "true"),
            ("refresh_interval", "60", "60"),
            ("stale_after", "2", "2"),
            ("sparql", "true", "true"),
            ("semantic_scale", "20", "20"),
        ];
        let variable = |name: &str| {
            let key = name.strip_prefix("AGENTDEX_")?.to_lowercase();
            pairs.iter().find(|(name, ..)| *name == key).map(|(_, value, _)| (*value).to_owned())
        };
        let toml: String = pairs.iter().map(|(key, _, value)| format!("{key} = {value}\n")).collect();
        let expected = Layer {
            allow_fetch: Some(vec!["a:1".into(), "b".into()]),
            fetch_proxy: Some("http://proxy".into()),
            fetch_ca: Some("ca.pem".into()),
            fetch_timeout: Some(3),
            trusted_keys: Some("keys".into()),
            require_signature: Some(true),
            refresh_interval: Some(60),
            stale_after: Some(2),
            sparql: Some(true),
            semantic_scale: Some(20),
            ..Layer::default()
        };
        assert_eq!(Layer::from_variables(&variable).unwrap(), expected);
        assert_eq!(Layer::from_toml(&toml, "file").unwrap(), expected);
    }
}
