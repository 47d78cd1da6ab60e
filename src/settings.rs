//! Settings of the server: a field each, which is a flag, a variable and a key of `agentdex.toml`.
//!
//! [`Flags::load`] completes flags by variables, the file and defaults, in this order, and [`Settings::validate`]s the
//! result.

mod layers;

use std::{ops::RangeInclusive, path::PathBuf, str::FromStr};

use anyhow::bail;
use clap::{Args, Command, FromArgMatches, ValueEnum};

pub use self::layers::{CLUSTER_PASSWORD, Flags, add_flags, read_toml, unknown_variables};
use agentdex::{access::RoleMapping, registry::Redaction, td::Strictness};

/// The data directory of the registry, by default.
pub const DEFAULT_DATA: &str = "./agentdex-data";
/// The default address of the MQTT endpoint.
pub const DEFAULT_MQTT_LISTEN: &str = "127.0.0.1:1883";

/// An hour in seconds, the longest time that a client may make the server wait.
const HOUR: u64 = 60 * 60;
/// A year in seconds, the longest interval.
const YEAR: u64 = 365 * 24 * 60 * 60;

/// The server's effective settings. The comment of a field is the help of its flag.
// No Debug: URLs may have passwords in them.
#[derive(Clone, Args)]
pub struct Settings {
    /// Data directory of the registry
    #[arg(long, help_heading = "Storage and addresses", value_name = "DIR", default_value = DEFAULT_DATA)]
    pub data: PathBuf,
    /// Address of the web page and the REST API; port 0 selects a free port
    #[arg(long, help_heading = "Storage and addresses", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: String,
    /// URL at which clients reach the REST API, if it differs from --listen
    #[arg(long, help_heading = "Storage and addresses", value_name = "URL")]
    pub public_url: Option<String>,
    /// Register a few example agents
    #[arg(long, help_heading = "Storage and addresses")]
    pub examples: bool,
    /// Settings file [default: agentdex.toml, if it exists]
    #[arg(long, help_heading = "Storage and addresses", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do with descriptions that need a fix: lenient fixes them, strict rejects them
    #[arg(
        long,
        help_heading = "Descriptions",
        value_name = "lenient|strict",
        default_value = "lenient",
        hide_possible_values = true
    )]
    pub validation: Validation,
    /// What to do with credentials in Thing Descriptions: flag stores them and warns, replace stores [redacted] and
    /// warns, refuse rejects the description. Credentials in other formats are never stored
    #[arg(
        long,
        help_heading = "Descriptions",
        value_name = "flag|replace|refuse",
        default_value = "flag",
        hide_possible_values = true
    )]
    pub redact: Redact,
    /// Time to live of agents if the request doesn't specify it [default: unlimited]
    #[arg(long, help_heading = "Descriptions", value_name = "SECONDS")]
    pub default_ttl: Option<u64>,
    /// Minimum time to live; shorter times are raised to it
    #[arg(long, help_heading = "Descriptions", value_name = "SECONDS")]
    pub min_ttl: Option<u64>,
    /// Maximum time to live; longer times are reduced to it
    #[arg(long, help_heading = "Descriptions", value_name = "SECONDS")]
    pub max_ttl: Option<u64>,
    /// Model for search by meaning: the built-in one, none (search by words only), or a directory with a sentence
    /// encoder (model.safetensors, config.json, and vocab.txt or tokenizer.json)
    #[arg(long, help_heading = "Search", value_name = "DIR|built-in|none", default_value = "built-in")]
    pub embedding_model: EmbeddingModel,
    /// Weight of the meaning score relative to the word score (BM25), from 0 to 1000 [default: 40, or 60 for a model in
    /// a directory]
    #[arg(long, help_heading = "Search", value_name = "NUMBER", value_parser = number::<u32>(0..=1000))]
    pub semantic_scale: Option<u32>,
    /// Answer SPARQL queries at /search/sparql. This keeps all descriptions in memory as RDF statements, 4 to 20 KB for
    /// each agent
    #[arg(long, help_heading = "Search")]
    pub sparql: bool,
    /// Require an API key from clients; `agentdex keys create` creates keys
    #[arg(long, help_heading = "Access")]
    pub auth: bool,
    /// With --auth, allow reading without an API key
    #[arg(long, help_heading = "Access")]
    pub public_read: bool,
    /// Let admins stay signed in on the web page, like other users
    #[arg(long, help_heading = "Access")]
    pub admin_stays_signed_in: bool,
    /// Reject all writes
    #[arg(long, help_heading = "Access")]
    pub read_only: bool,
    /// Let clients with the role register talk to agents through the server: call actions, read and write properties,
    /// and subscribe to events. The web page offers this, too
    #[arg(long, help_heading = "Access")]
    pub conversations: bool,
    /// Allow listening on addresses other than loopback without --auth or TLS
    #[arg(long, help_heading = "Access")]
    pub insecure: bool,
    /// Web origin whose pages may call the API, or * for all origins; can be repeated
    #[arg(long, help_heading = "Access", value_name = "ORIGIN")]
    pub cors_origin: Vec<String>,
    /// Host name under which clients reach the server, in addition to localhost and IP addresses; * allows all names; can
    /// be repeated
    #[arg(long, help_heading = "Access", value_name = "HOST")]
    pub allowed_host: Vec<String>,
    /// PEM file with the certificate chain for HTTPS and MQTT over TLS; reloaded when it changes, and on SIGHUP
    #[arg(long, help_heading = "TLS", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, help_heading = "TLS", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// With --auth, also accept client certificates issued by the authorities in this PEM file. The client's owner name
    /// is the first DNS name, URI, or common name in the certificate
    #[arg(long, help_heading = "TLS", value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// Role of clients with a certificate; NAME=ROLE applies only if the certificate contains this name; can be
    /// repeated [default: read]
    #[arg(long, help_heading = "TLS", value_name = "[NAME=]ROLE", value_parser = role_entry)]
    pub tls_client_role: Vec<String>,
    /// With --auth, also accept access tokens of this authorization server (OpenID Connect, OAuth 2.0)
    #[arg(long, help_heading = "OpenID Connect", value_name = "URL")]
    pub oidc_issuer: Option<String>,
    /// Audience that tokens for this server must have
    #[arg(long, help_heading = "OpenID Connect", value_name = "NAME")]
    pub oidc_audience: Option<String>,
    /// URL of the issuer's keys (JWKS) [default: the URL in the issuer's metadata]
    #[arg(long, help_heading = "OpenID Connect", value_name = "URL")]
    pub oidc_jwks: Option<String>,
    /// Name of the claim that contains the owner, or a JSON Pointer to it [default: sub]
    #[arg(long, help_heading = "OpenID Connect", value_name = "CLAIM")]
    pub oidc_owner_claim: Option<String>,
    /// Name of the claim that contains role names, or a JSON Pointer to it, such as /realm_access/roles [default:
    /// scope]
    #[arg(long, help_heading = "OpenID Connect", value_name = "CLAIM")]
    pub oidc_role_claim: Option<String>,
    /// Role of clients with a token; NAME=ROLE applies only if the role claim contains this name; can be repeated
    /// [default: read=read, register=register, admin=admin]
    #[arg(long, help_heading = "OpenID Connect", value_name = "[NAME=]ROLE", value_parser = role_entry)]
    pub oidc_role: Vec<String>,
    /// Client id for signing in on the web page. Register the page at the issuer as a public client, with its URL as
    /// redirect URI
    #[arg(long, help_heading = "OpenID Connect", value_name = "ID")]
    pub oidc_client_id: Option<String>,
    /// Scopes that the web page requests, separated by spaces [default: openid]
    #[arg(long, help_heading = "OpenID Connect", value_name = "SCOPE")]
    pub oidc_scope: Option<String>,
    /// Address of the MQTT endpoint; port 0 selects a free port [default: 127.0.0.1:1883, unless it is in use]
    #[arg(long, help_heading = "MQTT", value_name = "ADDRESS:PORT")]
    pub mqtt_listen: Option<String>,
    /// Disable the MQTT endpoint
    #[arg(long, help_heading = "MQTT")]
    pub no_mqtt: bool,
    /// Also publish to this MQTT 5 broker: mqtt://HOST:PORT or mqtts://HOST:PORT
    #[arg(long, help_heading = "MQTT", value_name = "URL")]
    pub mqtt_url: Option<String>,
    /// PEM file with the certificate authorities of the broker [default: the system's]
    #[arg(long, help_heading = "MQTT", value_name = "FILE")]
    pub mqtt_ca: Option<PathBuf>,
    /// First level, or levels, of all MQTT topics
    #[arg(long, help_heading = "MQTT", value_name = "PREFIX", default_value = "agentdex")]
    pub mqtt_prefix: String,
    /// Session expiry of MQTT clients that don't set it, such as MQTT 3.1.1 clients
    #[arg(long, help_heading = "MQTT", value_name = "SECONDS", default_value_t = 86400, value_parser = number::<u64>(1..=u32::MAX.into()))]
    pub mqtt_session_expiry: u64,
    /// Maximum number of HTTP connections [default: half of the file descriptors, at most 16384]
    #[arg(long, help_heading = "Limits and timeouts", value_name = "NUMBER", value_parser = number::<usize>(1..=u64::MAX))]
    pub max_connections: Option<usize>,
    /// Maximum number of HTTP connections from one address, except loopback [default: half of --max-connections]
    #[arg(long, help_heading = "Limits and timeouts", value_name = "NUMBER", value_parser = number::<usize>(1..=u64::MAX))]
    pub max_connections_per_client: Option<usize>,
    /// Maximum number of event streams, long polls, and WebSockets [default: three quarters of --max-connections]
    #[arg(long, help_heading = "Limits and timeouts", value_name = "NUMBER", value_parser = number::<usize>(1..=u64::MAX))]
    pub max_streams: Option<usize>,
    /// Maximum number of requests per second from one client, identified by its API key or address [default: unlimited]
    #[arg(long, help_heading = "Limits and timeouts", value_name = "NUMBER", value_parser = number::<u32>(1..=1_000_000))]
    pub rate_limit: Option<u32>,
    /// Time allowed for a client to send the head of a request
    #[arg(long, help_heading = "Limits and timeouts", value_name = "SECONDS", default_value_t = 10, value_parser = number::<u64>(1..=HOUR))]
    pub head_timeout: u64,
    /// Time after which a client that stops sending is disconnected
    #[arg(long, help_heading = "Limits and timeouts", value_name = "SECONDS", default_value_t = 30, value_parser = number::<u64>(1..=HOUR))]
    pub body_timeout: u64,
    /// Time after which a client that stops reading is disconnected
    #[arg(long, help_heading = "Limits and timeouts", value_name = "SECONDS", default_value_t = 60, value_parser = number::<u64>(1..=HOUR))]
    pub write_timeout: u64,
    /// Allow requests to this network, address, or host even if it isn't public, such as 10.1.0.0/16 or
    /// cards.internal:8080; can be repeated
    #[arg(long, help_heading = "Outgoing requests", value_name = "CIDR|HOST[:PORT]")]
    pub allow_fetch: Vec<String>,
    /// HTTP proxy for outgoing requests: http://HOST:PORT [default: none; proxy variables are ignored]
    #[arg(long, help_heading = "Outgoing requests", value_name = "URL")]
    pub fetch_proxy: Option<String>,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, help_heading = "Outgoing requests", value_name = "FILE")]
    pub fetch_ca: Option<PathBuf>,
    /// Maximum time for fetching a document
    #[arg(long, help_heading = "Outgoing requests", value_name = "SECONDS", default_value_t = 15, value_parser = number::<u64>(1..=600))]
    pub fetch_timeout: u64,
    /// Seconds between two polls of a tracked source
    #[arg(long, help_heading = "Outgoing requests", value_name = "SECONDS", default_value_t = 3600, value_parser = number::<u64>(1..=YEAR))]
    pub refresh_interval: u64,
    /// Number of consecutive failed polls after which an agent is marked as stale
    #[arg(long, help_heading = "Outgoing requests", value_name = "NUMBER", default_value_t = 5, value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub stale_after: u32,
    /// URLs of the members of etcd, separated by commas. The server then runs as a node of a cluster whose log is in
    /// etcd
    #[arg(long, help_heading = "Cluster", value_name = "URL", value_delimiter = ',')]
    pub cluster: Vec<String>,
    /// Create the cluster with the content of this data directory if etcd has no cluster with this name
    #[arg(long, help_heading = "Cluster")]
    pub cluster_init: bool,
    /// Name of the cluster
    #[arg(long, help_heading = "Cluster", value_name = "NAME", default_value = "agentdex")]
    pub cluster_name: String,
    /// Name of this node [default: the host name and the port]
    #[arg(long, help_heading = "Cluster", value_name = "NAME")]
    pub cluster_node: Option<String>,
    /// URL of this node's REST API, shown to operators [default: that of --public-url]
    #[arg(long, help_heading = "Cluster", value_name = "URL")]
    pub cluster_url: Option<String>,
    /// User of etcd; the variable AGENTDEX_CLUSTER_PASSWORD contains the password
    #[arg(long, help_heading = "Cluster", value_name = "NAME")]
    pub cluster_user: Option<String>,
    /// PEM file with the certificate authorities of etcd [default: the system's]
    #[arg(long, help_heading = "Cluster", value_name = "FILE")]
    pub cluster_ca: Option<PathBuf>,
    /// PEM file with the client certificate for etcd
    #[arg(long, help_heading = "Cluster", value_name = "FILE")]
    pub cluster_cert: Option<PathBuf>,
    /// PEM file with the private key of the client certificate
    #[arg(long, help_heading = "Cluster", value_name = "FILE")]
    pub cluster_key: Option<PathBuf>,
    /// Maximum time for which a node serves clients although it has not kept up with the cluster
    #[arg(long, help_heading = "Cluster", value_name = "SECONDS", default_value_t = 60, value_parser = number::<u64>(5..=HOUR))]
    pub cluster_stale_limit: u64,
    /// File with trusted public keys (JSON Web Key Set) for signed agent cards, or a folder of *.json and *.jwks files
    #[arg(long, help_heading = "Signatures", value_name = "PATH")]
    pub trusted_keys: Option<PathBuf>,
    /// Reject agent cards without a valid signature
    #[arg(long, help_heading = "Signatures")]
    pub require_signature: bool,
    /// Policy file of the guardian, in TOML [default: a built-in policy]
    #[arg(long, help_heading = "Guardian", value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Allow every step, and only report what the policy would deny or modify
    #[arg(long, help_heading = "Guardian")]
    pub dry_run_policy: bool,
    /// Store the content of messages in the guardian's trail, instead of hashes
    #[arg(long, help_heading = "Guardian")]
    pub store_content: bool,
    /// Maximum size of the guardian's trail [default: 268435456]
    #[arg(long, help_heading = "Guardian", value_name = "BYTES", value_parser = number::<u64>(1024 * 1024..=u64::MAX))]
    pub max_trail_bytes: Option<u64>,
    /// Time for which entries of the guardian's trail are kept [default: 2592000]
    #[arg(long, help_heading = "Guardian", value_name = "SECONDS", value_parser = number::<u64>(1..=YEAR))]
    pub trail_retention: Option<u64>,
    /// File to which each decision of the guardian is appended as an OCSF event
    #[arg(long, help_heading = "Guardian", value_name = "FILE")]
    pub ocsf_file: Option<PathBuf>,
    /// OpenTelemetry collector (OTLP over HTTP) that receives the guardian's decisions as spans, such as
    /// http://127.0.0.1:4318
    #[arg(long, help_heading = "Guardian", value_name = "URL")]
    pub otlp_url: Option<String>,
    /// Format of log lines on standard error
    #[arg(
        long,
        help_heading = "Logging",
        value_name = "text|json",
        default_value = "text",
        hide_possible_values = true
    )]
    pub log_format: LogFormat,
    /// Lowest level to log: error, warn, info, debug (each request), or trace [default: RUST_LOG, or info]
    #[arg(long, help_heading = "Logging", value_name = "LEVEL", hide_possible_values = true)]
    pub log_level: Option<LogLevel>,
}

impl Settings {
    /// The defaults, whatever variables and files say.
    ///
    /// # Errors
    /// None: every setting has a default.
    pub fn defaults() -> anyhow::Result<Settings> {
        let command = Settings::augment_args(Command::new("settings").no_binary_name(true));
        Ok(Settings::from_arg_matches(&command.try_get_matches_from::<_, &str>([])?)?)
    }

    /// Checks settings that depend on each other.
    ///
    /// # Errors
    /// The first contradiction, with the setting to change.
    pub fn validate(&self) -> anyhow::Result<()> {
        let (min, max) = (self.min_ttl.unwrap_or(0), self.max_ttl.unwrap_or(u64::MAX));
        if min > max {
            bail!("settings: min_ttl ({min} s) is greater than max_ttl ({max} s)");
        }
        if let Some(ttl) = self.default_ttl.filter(|ttl| !(min..=max).contains(ttl)) {
            bail!("settings: default_ttl ({ttl} s) is not between min_ttl and max_ttl");
        }
        let has_oidc_details = self.oidc_jwks.is_some()
            || self.oidc_owner_claim.is_some()
            || self.oidc_role_claim.is_some()
            || !self.oidc_role.is_empty()
            || self.oidc_client_id.is_some()
            || self.oidc_scope.is_some();
        let (cert, key, client_ca) = (self.tls_cert.is_some(), self.tls_key.is_some(), self.tls_client_ca.is_some());
        let (issuer, audience) = (self.oidc_issuer.is_some(), self.oidc_audience.is_some());
        let contradictions = [
            (self.public_read && !self.auth, "public_read requires authentication: also set auth (--auth)"),
            (cert && !key, "tls_cert requires the certificate's private key: also set tls_key (--tls-key)"),
            (key && !cert, "tls_key requires the key's certificate: also set tls_cert (--tls-cert)"),
            (
                client_ca && !(cert && self.auth),
                "tls_client_ca requires TLS and authentication: also set tls_cert (--tls-cert), tls_key (--tls-key), and \
                 auth (--auth)",
            ),
            (
                !self.tls_client_role.is_empty() && !client_ca,
                "tls_client_role requires client certificates: also set tls_client_ca (--tls-client-ca)",
            ),
            (issuer && !self.auth, "oidc_issuer requires authentication: also set auth (--auth)"),
            (
                issuer && !audience,
                "oidc_issuer requires the audience of this server, so that tokens for other servers are rejected: \
                 also set oidc_audience (--oidc-audience)",
            ),
            (
                !issuer && (audience || has_oidc_details),
                "oidc settings require an issuer: also set oidc_issuer (--oidc-issuer)",
            ),
            (
                self.cluster.is_empty() && self.cluster_init,
                "cluster_init requires the URLs of etcd: also set cluster (--cluster)",
            ),
            (
                self.cluster_cert.is_some() != self.cluster_key.is_some(),
                "cluster_cert and cluster_key (--cluster-cert, --cluster-key) require each other",
            ),
        ];
        match contradictions.iter().find(|(is_contradiction, _)| *is_contradiction) {
            Some((_, message)) => bail!("settings: {message}"),
            None => Ok(()),
        }
    }

    /// True if connections are encrypted.
    pub fn encrypts(&self) -> bool {
        self.tls_cert.is_some()
    }

    /// The MQTT endpoint.
    pub fn mqtt(&self) -> MqttListener<'_> {
        match &self.mqtt_listen {
            _ if self.no_mqtt => MqttListener::Off,
            Some(address) => MqttListener::At(address),
            None => MqttListener::Default,
        }
    }
}

/// The treatment of documents that need a fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Validation {
    /// Fixable problems are fixed, with a warning.
    Lenient,
    /// Documents that need a fix are refused.
    Strict,
}

impl From<Validation> for Strictness {
    fn from(validation: Validation) -> Strictness {
        match validation {
            Validation::Lenient => Strictness::Lenient,
            Validation::Strict => Strictness::Strict,
        }
    }
}

/// The treatment of credentials in Thing Descriptions that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Redact {
    /// They are stored, with a warning and a flag.
    Flag,
    /// They are replaced, with a warning.
    Replace,
    /// Descriptions that have some are refused.
    Refuse,
}

impl From<Redact> for Redaction {
    fn from(redact: Redact) -> Redaction {
        match redact {
            Redact::Flag => Redaction::Flag,
            Redact::Replace => Redaction::Replace,
            Redact::Refuse => Redaction::Refuse,
        }
    }
}

/// The model that searches compare the meaning of texts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingModel {
    /// The table of words that is part of the program.
    BuiltIn,
    /// Nothing: words alone count.
    None,
    /// The sentence encoder in a directory.
    Directory(PathBuf),
}

impl FromStr for EmbeddingModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("it is empty; name a directory, `built-in`, or `none`".to_owned()),
            "built-in" => Ok(EmbeddingModel::BuiltIn),
            "none" => Ok(EmbeddingModel::None),
            directory => Ok(EmbeddingModel::Directory(directory.into())),
        }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// The amount that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Failures.
    Error,
    /// Also what is about to fail.
    Warn,
    /// Also what starts and stops, and the number of requests a minute.
    Info,
    /// Also each request.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// Its name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}

/// The listener of the MQTT endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MqttListener<'a> {
    /// None.
    Off,
    /// At [`DEFAULT_MQTT_LISTEN`], which is not a setting: if it is taken, the server starts without MQTT.
    Default,
    /// At the address and port of a setting: if it is taken, the server doesn't start.
    At(&'a str),
}

/// Reads a whole number.
fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number; for example 60"))
}

/// Reads whole numbers that are within a range.
pub fn number<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = whole_number(text)?;
        let within = Some(number).filter(|number| range.contains(number)).and_then(|number| T::try_from(number).ok());
        within.ok_or_else(|| format!("{number} is not between {} and {}", range.start(), range.end()))
    }
}

/// Reads `ROLE` and `NAME=ROLE`.
fn role_entry(text: &str) -> Result<String, String> {
    RoleMapping::parse([text]).map(|_| text.to_owned())
}
