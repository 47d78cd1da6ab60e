//! What the server goes by: all layers over one another, over the defaults.

use std::{
    fmt::Display,
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use super::{
    DEFAULT_BODY_TIMEOUT, DEFAULT_DATA, DEFAULT_FETCH_TIMEOUT, DEFAULT_FILE, DEFAULT_HEAD_TIMEOUT, DEFAULT_LISTEN,
    DEFAULT_MQTT_PREFIX, DEFAULT_MQTT_SESSION_EXPIRY, DEFAULT_REFRESH_INTERVAL, DEFAULT_STALE_AFTER,
    DEFAULT_WRITE_TIMEOUT, EmbeddingModel, Layer, LogFormat, LogLevel, MqttListener, Validation,
};
use agentdex::{Error, Result, access::RoleMapping};

/// The longest fetch in seconds.
const MAX_FETCH_TIMEOUT: u64 = 10 * 60;
/// The most that a cosine of 1 counts: words count next to nothing then.
const MAX_SEMANTIC_SCALE: u32 = 1000;
/// The fewest bytes of the guardian's trail.
const MIN_TRAIL_BYTES: u64 = 1024 * 1024;
/// The longest interval in seconds: a year.
const MAX_REFRESH_INTERVAL: u64 = 365 * 24 * 60 * 60;

/// What the server goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The data directory.
    pub data: PathBuf,
    /// Address and port of the REST API.
    pub listen: String,
    /// The MQTT endpoint.
    pub mqtt: MqttListener,
    /// An existing broker that changes are published to as well.
    pub mqtt_url: Option<String>,
    /// A PEM file with the certificates that a `mqtts` broker is trusted by; none: those of the system.
    pub mqtt_ca: Option<PathBuf>,
    /// The first level of all MQTT topics.
    pub mqtt_prefix: String,
    /// How many seconds an MQTT session waits for a client that asks for no time, as those of 3.1.1 can't.
    pub mqtt_session_expiry: u64,
    /// Whether to register the example agents.
    pub examples: bool,
    /// Whether documents are fixed or refused.
    pub validation: Validation,
    /// Time to live in seconds of Things that ask for none.
    pub default_ttl: Option<u64>,
    /// The shortest time to live in seconds.
    pub min_ttl: Option<u64>,
    /// The longest time to live in seconds.
    pub max_ttl: Option<u64>,
    /// What searches compare the meaning of texts with.
    pub embedding_model: EmbeddingModel,
    /// What a cosine of 1 counts beside BM25; none: what suits the model.
    pub semantic_scale: Option<u32>,
    /// Whether clients have to prove who they are.
    pub auth: bool,
    /// Whether clients without credentials may read.
    pub public_read: bool,
    /// Whether no client may change anything.
    pub read_only: bool,
    /// Whether clients may talk with agents through the server.
    pub conversations: bool,
    /// Whether to listen on other addresses than loopback without authentication or TLS.
    pub insecure: bool,
    /// The files that connections are encrypted with; none: they aren't.
    pub tls: Option<TlsFiles>,
    /// A PEM file with the authorities that certificates of clients are from; none: clients aren't asked for any.
    pub tls_client_ca: Option<PathBuf>,
    /// The roles of clients with a certificate.
    pub tls_client_roles: RoleMapping,
    /// Whose tokens are taken; none: nobody's.
    pub oidc: Option<OidcSettings>,
    /// Origins whose pages may call the API; `*` for all; empty for none.
    pub cors_origins: Vec<String>,
    /// Names that requests may have in `Host`, beside those that always may.
    pub allowed_hosts: Vec<String>,
    /// The most HTTP connections at a time; none: what the file descriptors allow.
    pub max_connections: Option<usize>,
    /// The most HTTP connections of one client address; none: half of all.
    pub max_connections_per_client: Option<usize>,
    /// The most event streams, long polls and MQTT connections over WebSocket at a time; none: three quarters
    /// of all connections.
    pub max_streams: Option<usize>,
    /// How many requests a second a client may send; none: as many as it likes.
    pub rate_limit: Option<u32>,
    /// How many seconds a client may take to send the head of a request.
    pub head_timeout: u64,
    /// How many seconds a client may send nothing of a body that is waited for.
    pub body_timeout: u64,
    /// How many seconds a client may take nothing of a response.
    pub write_timeout: u64,
    /// How log lines look.
    pub log_format: LogFormat,
    /// How much is logged; none: what `RUST_LOG` says, else [`LogLevel::Info`].
    pub log_level: Option<LogLevel>,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// The URL that clients reach the REST API by, if it isn't the address it listens on.
    pub public_url: Option<String>,
    /// Networks, addresses and hosts that may be fetched from although they aren't public.
    pub allow_fetch: Vec<String>,
    /// The HTTP proxy that everything is fetched through; none: none, whatever the environment says.
    pub fetch_proxy: Option<String>,
    /// A PEM file with certificates that are trusted in fetching, beside those of the system.
    pub fetch_ca: Option<PathBuf>,
    /// How many seconds a fetch may take.
    pub fetch_timeout: u64,
    /// A file or folder with the public keys that agent cards are trusted by, beside those of their domains.
    pub trusted_keys: Option<PathBuf>,
    /// Whether agent cards without a valid signature are refused.
    pub require_signature: bool,
    /// The pause between two polls of a tracked source, in seconds.
    pub refresh_interval: u64,
    /// How many failures in a row make an import stale.
    pub stale_after: u32,
    /// Whether SPARQL queries are answered.
    pub sparql: bool,
    /// A file with the policy that the guardian decides by; none: the built-in one.
    pub policy: Option<PathBuf>,
    /// Whether what the policy denies is only reported.
    pub dry_run_policy: bool,
    /// Whether the guardian's trail has what agents exchange, and not only hashes of it.
    pub store_content: bool,
    /// The most bytes of the guardian's trail.
    pub max_trail_bytes: Option<u64>,
    /// For how many seconds the guardian's trail is kept.
    pub trail_retention: Option<u64>,
    /// A file that decisions are appended to as events of OCSF.
    pub ocsf_file: Option<PathBuf>,
    /// The collector that decisions are sent to as spans of OpenTelemetry.
    pub otlp_url: Option<String>,
}

/// What the server proves itself with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// A PEM file with its certificate, and those between it and a root.
    pub certificate: PathBuf,
    /// A PEM file with its key.
    pub key: PathBuf,
}

/// Whose tokens prove who clients are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// The URL of the authorization server.
    pub issuer: String,
    /// What tokens for this server have as audience.
    pub audience: String,
    /// Where its keys are; none: where its metadata says.
    pub jwks: Option<String>,
    /// The claim that is the owner; none: `sub`.
    pub owner_claim: Option<String>,
    /// The claim with the names that roles go by; none: `scope`.
    pub role_claim: Option<String>,
    /// The roles of these names; none: those that are called like them.
    pub roles: Option<RoleMapping>,
    /// The client that the web page signs people in as; none: people sign in with keys alone.
    pub client_id: Option<String>,
    /// The scope that the page asks for; none: `openid`.
    pub scope: Option<String>,
}

impl Settings {
    /// Lays `flags` over the variables, over the file, over the defaults. Without `file` it reads
    /// [`DEFAULT_FILE`] in the working directory if there is one.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`]; [`Error::Io`] for a file that can't be read.
    pub fn load(flags: Layer, file: Option<&Path>, variable: &dyn Fn(&str) -> Option<String>) -> Result<Settings> {
        let from_variable = || variable("AGENTDEX_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let named = file.map(Path::to_owned).or_else(from_variable);
        let path = named.clone().unwrap_or_else(|| DEFAULT_FILE.into());
        let is_read = named.is_some() || path.exists();
        let written = if is_read {
            let text = fs::read_to_string(&path)
                .map_err(|source| Error::Io { doing: format!("reading {}", path.display()), source })?;
            Layer::from_toml(&text, &path.display().to_string())?
        } else {
            Layer::default()
        };
        let settings = Settings::from_layer(flags.or(Layer::from_variables(variable)?).or(written))?;
        Ok(Settings { file: is_read.then_some(path), ..settings })
    }

    /// Fills in the defaults.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] where settings contradict each other.
    pub fn from_layer(layer: Layer) -> Result<Settings> {
        let (min, max) = (layer.min_ttl.unwrap_or(0), layer.max_ttl.unwrap_or(u64::MAX));
        if min > max {
            let message = format!("min_ttl ({min} s) is greater than max_ttl ({max} s)");
            return Err(Error::InvalidSetting { origin: "settings".into(), message });
        }
        if let Some(ttl) = layer.default_ttl.filter(|ttl| !(min..=max).contains(ttl)) {
            let message = format!("default_ttl ({ttl} s) is not between min_ttl and max_ttl");
            return Err(Error::InvalidSetting { origin: "settings".into(), message });
        }
        if layer.public_read == Some(true) && layer.auth != Some(true) {
            return Err(contradiction(
                "public_read is for servers that authenticate their clients: set auth (--auth) as well",
            ));
        }
        let tls = match (layer.tls_cert, layer.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
            (None, None) => None,
            (Some(_), None) => {
                return Err(contradiction("tls_cert needs the key of the certificate: set tls_key as well"));
            }
            (None, Some(_)) => {
                return Err(contradiction("tls_key needs the certificate of the key: set tls_cert as well"));
            }
        };
        if layer.tls_client_ca.is_some() && (tls.is_none() || layer.auth != Some(true)) {
            let message = "tls_client_ca is for servers that encrypt and authenticate their clients: set tls_cert, tls_key and auth as well";
            return Err(contradiction(message));
        }
        if layer.tls_client_role.is_some() && layer.tls_client_ca.is_none() {
            return Err(contradiction("tls_client_role is for clients with a certificate: set tls_client_ca as well"));
        }
        let others = layer.oidc_jwks.is_some()
            || layer.oidc_owner_claim.is_some()
            || layer.oidc_role_claim.is_some()
            || layer.oidc_role.is_some()
            || layer.oidc_client_id.is_some()
            || layer.oidc_scope.is_some();
        let oidc = match (layer.oidc_issuer, layer.oidc_audience) {
            (Some(_), _) if layer.auth != Some(true) => {
                return Err(contradiction(
                    "oidc_issuer is for servers that authenticate their clients: set auth (--auth) as well",
                ));
            }
            (Some(issuer), Some(audience)) => Some(OidcSettings {
                issuer,
                audience,
                jwks: layer.oidc_jwks,
                owner_claim: layer.oidc_owner_claim,
                role_claim: layer.oidc_role_claim,
                client_id: layer.oidc_client_id,
                scope: layer.oidc_scope,
                roles: layer.oidc_role.map(|entries| roles("oidc_role", Some(entries))).transpose()?,
            }),
            (Some(_), None) => {
                return Err(contradiction(
                    "oidc_issuer needs the audience of tokens for this server, or those for others would be taken: set oidc_audience as well",
                ));
            }
            (None, audience) if audience.is_some() || others => {
                return Err(contradiction("the other oidc settings are about an issuer: set oidc_issuer as well"));
            }
            (None, _) => None,
        };
        Ok(Settings {
            data: layer.data.unwrap_or_else(|| DEFAULT_DATA.into()),
            listen: layer.listen.unwrap_or_else(|| DEFAULT_LISTEN.into()),
            mqtt: match (layer.no_mqtt, layer.mqtt_listen) {
                (Some(true), _) => MqttListener::Off,
                (_, Some(address)) => MqttListener::At(address),
                (_, None) => MqttListener::Default,
            },
            mqtt_url: layer.mqtt_url,
            mqtt_ca: layer.mqtt_ca,
            mqtt_prefix: layer.mqtt_prefix.unwrap_or_else(|| DEFAULT_MQTT_PREFIX.into()),
            mqtt_session_expiry: between("mqtt_session_expiry", layer.mqtt_session_expiry, 1..=u64::from(u32::MAX))?
                .unwrap_or(DEFAULT_MQTT_SESSION_EXPIRY),
            examples: layer.examples.unwrap_or(false),
            validation: layer.validation.unwrap_or_default(),
            default_ttl: layer.default_ttl,
            min_ttl: layer.min_ttl,
            max_ttl: layer.max_ttl,
            embedding_model: layer.embedding_model.unwrap_or_default(),
            semantic_scale: between("semantic_scale", layer.semantic_scale, 0..=MAX_SEMANTIC_SCALE)?,
            auth: layer.auth.unwrap_or(false),
            public_read: layer.public_read.unwrap_or(false),
            read_only: layer.read_only.unwrap_or(false),
            conversations: layer.conversations.unwrap_or(false),
            insecure: layer.insecure.unwrap_or(false),
            tls,
            tls_client_ca: layer.tls_client_ca,
            tls_client_roles: roles("tls_client_role", layer.tls_client_role)?,
            oidc,
            cors_origins: layer.cors_origin.unwrap_or_default(),
            allowed_hosts: layer.allowed_host.unwrap_or_default(),
            max_connections: between("max_connections", layer.max_connections, 1..=usize::MAX)?,
            max_connections_per_client: between(
                "max_connections_per_client",
                layer.max_connections_per_client,
                1..=usize::MAX,
            )?,
            max_streams: between("max_streams", layer.max_streams, 1..=usize::MAX)?,
            rate_limit: between("rate_limit", layer.rate_limit, 1..=1_000_000)?,
            head_timeout: seconds("head_timeout", layer.head_timeout)?.unwrap_or(DEFAULT_HEAD_TIMEOUT),
            body_timeout: seconds("body_timeout", layer.body_timeout)?.unwrap_or(DEFAULT_BODY_TIMEOUT),
            write_timeout: seconds("write_timeout", layer.write_timeout)?.unwrap_or(DEFAULT_WRITE_TIMEOUT),
            log_format: layer.log_format.unwrap_or_default(),
            public_url: layer.public_url,
            allow_fetch: layer.allow_fetch.unwrap_or_default(),
            fetch_proxy: layer.fetch_proxy,
            fetch_ca: layer.fetch_ca,
            fetch_timeout: between("fetch_timeout", layer.fetch_timeout, 1..=MAX_FETCH_TIMEOUT)?
                .unwrap_or(DEFAULT_FETCH_TIMEOUT),
            trusted_keys: layer.trusted_keys,
            require_signature: layer.require_signature.unwrap_or(false),
            refresh_interval: between("refresh_interval", layer.refresh_interval, 1..=MAX_REFRESH_INTERVAL)?
                .unwrap_or(DEFAULT_REFRESH_INTERVAL),
            sparql: layer.sparql.unwrap_or(false),
            policy: layer.policy,
            dry_run_policy: layer.dry_run_policy.unwrap_or(false),
            store_content: layer.store_content.unwrap_or(false),
            max_trail_bytes: between("max_trail_bytes", layer.max_trail_bytes, MIN_TRAIL_BYTES..=u64::MAX)?,
            trail_retention: between("trail_retention", layer.trail_retention, 1..=MAX_REFRESH_INTERVAL)?,
            log_level: layer.log_level,
            file: None,
            ocsf_file: layer.ocsf_file,
            otlp_url: layer.otlp_url,
            stale_after: between("stale_after", layer.stale_after, 1..=u32::MAX)?.unwrap_or(DEFAULT_STALE_AFTER),
        })
    }
}

fn contradiction(message: &str) -> Error {
    Error::InvalidSetting { origin: "settings".into(), message: message.into() }
}

/// Reads `ROLE` and `NAME=ROLE`.
fn roles(name: &str, entries: Option<Vec<String>>) -> Result<RoleMapping> {
    RoleMapping::parse(entries.unwrap_or_default())
        .map_err(|reason| Error::InvalidSetting { origin: name.into(), message: reason })
}

/// How long a client may make the server wait: an hour at most.
fn seconds(name: &str, value: Option<u64>) -> Result<Option<u64>> {
    between(name, value, 1..=60 * 60)
}

fn between<T: PartialOrd + Display>(name: &str, value: Option<T>, range: RangeInclusive<T>) -> Result<Option<T>> {
    match value {
        Some(value) if !range.contains(&value) => {
            let message = format!("{name} ({value}) is not between {} and {}", range.start(), range.end());
            Err(Error::InvalidSetting { origin: "settings".into(), message })
        }
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(toml: &str) -> Layer {
        Layer::from_toml(toml, DEFAULT_FILE).unwrap()
    }

    #[test]
    fn flags_come_before_variables_before_the_file_before_defaults() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.toml");
        fs::write(&file, "listen = \"file:1\"\ndata = \"from-file\"\nmqtt_prefix = \"file\"").unwrap();
        let variable = |name: &str| match name {
            "AGENTDEX_LISTEN" => Some("variable:1".into()),
            "AGENTDEX_DATA" => Some("from-variable".into()),
            _ => None,
        };
        let flags = Layer { listen: Some("flag:1".into()), ..Layer::default() };
        let settings = Settings::load(flags, Some(&file), &variable).unwrap();
        assert_eq!(settings.listen, "flag:1");
        assert_eq!(settings.data, Path::new("from-variable"));
        assert_eq!(settings.mqtt_prefix, "file");
        assert_eq!(settings.mqtt, MqttListener::Default);
    }

    #[test]
    fn errors_do_not_repeat_a_password() {
        let error = Layer::from_toml("no_mqtt = true\nmqtt_url = \"mqtt://me:secret@broker", DEFAULT_FILE).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("line 2") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn unknown_key_is_refused_and_the_known_ones_named() {
        let error = Layer::from_toml("lisen = \"127.0.0.1:1\"", DEFAULT_FILE).unwrap_err().to_string();
        assert!(error.contains("agentdex.toml") && error.contains("lisen"), "{error}");
        assert!(error.contains("`listen`") && error.contains("`max_ttl`"), "{error}");
    }

    #[test]
    fn named_file_must_exist() {
        let missing = Path::new("there/is/no/such.toml");
        let error = Settings::load(Layer::default(), Some(missing), &|_| None).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
    }

    #[test]
    fn variables_are_read_as_what_they_are() {
        let variable = |name: &str| match name {
            "AGENTDEX_NO_MQTT" => Some("1".into()),
            "AGENTDEX_MAX_TTL" => Some("60".into()),
            "AGENTDEX_CORS_ORIGIN" => Some("https://a.example, https://b.example".into()),
            "AGENTDEX_MQTT_URL" => Some(String::new()),
            "AGENTDEX_ALLOW_FETCH" => Some("10.1.0.0/16,cards.internal:80".into()),
            "AGENTDEX_FETCH_TIMEOUT" => Some("3".into()),
            _ => None,
        };
        let settings = Settings::from_layer(Layer::from_variables(&variable).unwrap()).unwrap();
        assert_eq!(settings.mqtt, MqttListener::Off);
        assert_eq!(settings.max_ttl, Some(60));
        assert_eq!(settings.cors_origins, ["https://a.example", "https://b.example"]);
        assert_eq!(settings.mqtt_url, None);
        assert_eq!(settings.allow_fetch, ["10.1.0.0/16", "cards.internal:80"]);
        assert_eq!((settings.fetch_timeout, settings.fetch_proxy), (3, None));
    }

    #[test]
    fn bad_variable_is_named() {
        let variable = |name: &str| (name == "AGENTDEX_MIN_TTL").then(|| "soon".into());
        let error = Layer::from_variables(&variable).unwrap_err().to_string();
        assert_eq!(error, "AGENTDEX_MIN_TTL: \"soon\" is not a whole number; for example 60");
    }

    #[test]
    fn contradicting_times_to_live_are_refused() {
        assert!(Settings::from_layer(layer("min_ttl = 10\nmax_ttl = 5")).is_err());
        assert!(Settings::from_layer(layer("max_ttl = 5\ndefault_ttl = 6")).is_err());
        assert!(Settings::from_layer(layer("min_ttl = 5\nmax_ttl = 5\ndefault_ttl = 5")).is_ok());
    }

    #[test]
    fn tls_needs_both_files_and_certificates_of_clients_need_authentication() {
        let of = |toml: &str| Settings::from_layer(layer(toml)).map_err(|error| error.to_string());
        let both = "tls_cert = \"a\"\ntls_key = \"b\"\n";
        assert_eq!(of(both).unwrap().tls, Some(TlsFiles { certificate: "a".into(), key: "b".into() }));
        for (toml, missing) in [
            ("tls_cert = \"a\"".to_owned(), "tls_key"),
            ("tls_key = \"b\"".to_owned(), "tls_cert"),
            (format!("{both}tls_client_ca = \"c\""), "auth"),
            ("auth = true\ntls_client_ca = \"c\"".to_owned(), "tls_cert"),
            (format!("{both}auth = true\ntls_client_role = [\"read\"]"), "tls_client_ca"),
            (format!("{both}auth = true\ntls_client_ca = \"c\"\ntls_client_role = [\"root\"]"), "`admin`"),
        ] {
            let error = of(&toml).unwrap_err();
            assert!(error.contains(missing), "{toml}: {error}");
        }
        let roles =
            of(&format!("{both}auth = true\ntls_client_ca = \"c\"\ntls_client_role = [\"read\", \"ops=admin\"]"));
        assert_eq!(roles.unwrap().tls_client_roles, RoleMapping::parse(["read", "ops=admin"]).unwrap());
    }

    #[test]
    fn numbers_without_a_meaning_are_refused_and_the_right_ones_named() {
        for toml in ["fetch_timeout = 0", "refresh_interval = 0", "refresh_interval = 999999999", "stale_after = 0"] {
            let error = Settings::from_layer(layer(toml)).unwrap_err().to_string();
            let name = toml.split(' ').next().unwrap();
            assert!(error.contains(name) && error.contains("between 1 and"), "{error}");
        }
        let settings = Settings::from_layer(layer("refresh_interval = 60\nrequire_signature = true")).unwrap();
        assert_eq!((settings.refresh_interval, settings.stale_after, settings.require_signature), (60, 5, true));
    }
}
