//! Settings of the server: a field each, which is a flag, a variable and a key of `agentdex.toml`.
//!
//! [`Flags::load`] completes flags by variables, the file and defaults, in this order, and [`Settings::validate`]s the
//! result.

mod layers;

use std::{ops::RangeInclusive, path::PathBuf, str::FromStr};

use anyhow::bail;
use clap::{Args, Command, FromArgMatches, ValueEnum};

pub use self::layers::{Flags, add_flags, read_toml, unknown_variables};
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
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    pub data: PathBuf,
    /// Address of the REST API; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: String,
    /// Address of the MQTT endpoint; port 0 takes a free one [default: 127.0.0.1:1883, unless it is taken]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub mqtt_listen: Option<String>,
    /// Serve no MQTT
    #[arg(long)]
    pub no_mqtt: bool,
    /// Also publish to this MQTT 5 broker: mqtt://HOST:PORT or mqtts://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub mqtt_url: Option<String>,
    /// PEM file with the certificates that an mqtts broker is trusted by [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub mqtt_ca: Option<PathBuf>,
    /// First level of all MQTT topics
    #[arg(long, value_name = "PREFIX", default_value = "agentdex")]
    pub mqtt_prefix: String,
    /// Time that an MQTT session waits for a client that requests no interval, as clients of 3.1.1 do
    #[arg(long, value_name = "SECONDS", default_value_t = 86400, value_parser = number::<u64>(1..=u32::MAX.into()))]
    pub mqtt_session_expiry: u64,
    /// Register a few example agents
    #[arg(long)]
    pub examples: bool,
    /// Treatment of descriptions that need a fix: lenient fixes them, strict refuses them
    #[arg(long, value_name = "lenient|strict", default_value = "lenient", hide_possible_values = true)]
    pub validation: Validation,
    /// Treatment of credentials in Thing Descriptions that are sent: flag stores them, with a warning and a flag; replace
    /// stores [redacted] in their place, with a warning; refuse answers 400. Other formats are always stored without
    #[arg(long, value_name = "flag|replace|refuse", default_value = "flag", hide_possible_values = true)]
    pub redact: Redact,
    /// Time to live of agents that request none [default: for ever]
    #[arg(long, value_name = "SECONDS")]
    pub default_ttl: Option<u64>,
    /// Shortest time to live; a shorter one is raised
    #[arg(long, value_name = "SECONDS")]
    pub min_ttl: Option<u64>,
    /// Longest time to live; a longer one is lowered
    #[arg(long, value_name = "SECONDS")]
    pub max_ttl: Option<u64>,
    /// Directory of a sentence encoder (model.safetensors, config.json, vocab.txt or tokenizer.json) that searches
    /// compare meaning by; built-in for the table that is part of the program, none to search by words alone
    #[arg(long, value_name = "DIR|built-in|none", default_value = "built-in")]
    pub embedding_model: EmbeddingModel,
    /// Weight of a cosine of 1 beside the score of the words (BM25), from 0 to 1000 [default: 40, with a directory 60]
    #[arg(long, value_name = "NUMBER", value_parser = number::<u32>(0..=1000))]
    pub semantic_scale: Option<u32>,
    /// Let only clients with an API key in; `agentdex keys create` makes keys
    #[arg(long)]
    pub auth: bool,
    /// With --auth, let everybody read
    #[arg(long)]
    pub public_read: bool,
    /// Let no client register, change or remove anything
    #[arg(long)]
    pub read_only: bool,
    /// Let clients with the role register talk with agents through the server, which calls them, read and write their properties,
    /// and subscribe to their events; also on the web page
    #[arg(long)]
    pub conversations: bool,
    /// Listen on an address that isn't loopback without --auth or without TLS
    #[arg(long)]
    pub insecure: bool,
    /// Encrypt HTTP and MQTT: PEM file with the certificate of the server and those between it and a root; read again
    /// when it changes, and on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the key of that certificate
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// With --auth, also let in clients with a certificate of these authorities (PEM): the owner is its first DNS name,
    /// else its URI, else its common name
    #[arg(long, value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// Role of clients with a certificate, or of those with that name in it; can be repeated [default: read]
    #[arg(long, value_name = "[NAME=]ROLE", value_parser = role_entry)]
    pub tls_client_role: Vec<String>,
    /// With --auth, also let in clients with access tokens of this authorization server (OpenID Connect, OAuth 2.0)
    #[arg(long, value_name = "URL")]
    pub oidc_issuer: Option<String>,
    /// Audience of tokens for this server
    #[arg(long, value_name = "NAME")]
    pub oidc_audience: Option<String>,
    /// URL of the keys of the issuer (JWKS) [default: the one in its metadata]
    #[arg(long, value_name = "URL")]
    pub oidc_jwks: Option<String>,
    /// Claim that is the owner, by name or JSON Pointer [default: sub]
    #[arg(long, value_name = "CLAIM")]
    pub oidc_owner_claim: Option<String>,
    /// Claim with the names that roles go by, such as /realm_access/roles [default: scope]
    #[arg(long, value_name = "CLAIM")]
    pub oidc_role_claim: Option<String>,
    /// Role of tokens, or of those with that name in the claim; can be repeated [default: read=read, register=register,
    /// admin=admin]
    #[arg(long, value_name = "[NAME=]ROLE", value_parser = role_entry)]
    pub oidc_role: Vec<String>,
    /// Client that the web page signs people in as at the issuer: a public one, with the URL of the page as redirect URI
    #[arg(long, value_name = "ID")]
    pub oidc_client_id: Option<String>,
    /// Scope that the page asks for, several with spaces between them [default: openid]
    #[arg(long, value_name = "SCOPE")]
    pub oidc_scope: Option<String>,
    /// Web origin whose pages may call the API, * for all; can be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub cors_origin: Vec<String>,
    /// Name that clients reach the server by, beside localhost and addresses; * for every name; can be repeated
    #[arg(long, value_name = "HOST")]
    pub allowed_host: Vec<String>,
    /// Maximum number of HTTP connections [default: half of the file descriptors, at most 16384]
    #[arg(long, value_name = "NUMBER", value_parser = number::<usize>(1..=u64::MAX))]
    pub max_connections: Option<usize>,
    /// Maximum number of HTTP connections from one address that isn't loopback [default: half of all]
    #[arg(long, value_name = "NUMBER", value_parser = number::<usize>(1..=u64::MAX))]
    pub max_connections_per_client: Option<usize>,
    /// Maximum number of event streams, long polls and WebSockets [default: three quarters of all connections]
    #[arg(long, value_name = "NUMBER", value_parser = number::<usize>(1..=u64::MAX))]
    pub max_streams: Option<usize>,
    /// Maximum number of requests a second of one client: the holder of a key, or else an address [default: no limit]
    #[arg(long, value_name = "NUMBER", value_parser = number::<u32>(1..=1_000_000))]
    pub rate_limit: Option<u32>,
    /// Maximum time for a client to send the head of a request
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = number::<u64>(1..=HOUR))]
    pub head_timeout: u64,
    /// Maximum time that a client may send nothing of a body
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = number::<u64>(1..=HOUR))]
    pub body_timeout: u64,
    /// Maximum time that a client may read nothing of a response
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = number::<u64>(1..=HOUR))]
    pub write_timeout: u64,
    /// Format of log lines on standard error
    #[arg(long, value_name = "text|json", default_value = "text", hide_possible_values = true)]
    pub log_format: LogFormat,
    /// Verbosity of the log: error, warn, info, debug (each request) or trace [default: what RUST_LOG says, else info]
    #[arg(long, value_name = "LEVEL", hide_possible_values = true)]
    pub log_level: Option<LogLevel>,
    /// URL that clients reach the REST API by, if it isn't the address above
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Network, address or host to fetch from although it isn't public, such as 10.1.0.0/16 or cards.internal:8080; can
    /// be repeated
    #[arg(long, value_name = "CIDR|HOST[:PORT]")]
    pub allow_fetch: Vec<String>,
    /// HTTP proxy to fetch through: http://HOST:PORT [default: none, whatever the environment says]
    #[arg(long, value_name = "URL")]
    pub fetch_proxy: Option<String>,
    /// PEM file with certificates to trust in fetching, beside those of the system
    #[arg(long, value_name = "FILE")]
    pub fetch_ca: Option<PathBuf>,
    /// Maximum time to fetch a document
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = number::<u64>(1..=600))]
    pub fetch_timeout: u64,
    /// File, or folder with *.json and *.jwks files, with public keys (JSON Web Key Sets) that signatures of agent cards
    /// are trusted by
    #[arg(long, value_name = "PATH")]
    pub trusted_keys: Option<PathBuf>,
    /// Refuse agent cards without a valid signature
    #[arg(long)]
    pub require_signature: bool,
    /// Seconds between two polls of a tracked source
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = number::<u64>(1..=YEAR))]
    pub refresh_interval: u64,
    /// Number of failed polls in a row that make an agent stale
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub stale_after: u32,
    /// Answer SPARQL queries at /search/sparql: the statements of all descriptions are held in memory, 10 to 20 KB each
    #[arg(long)]
    pub sparql: bool,
    /// File with the policy that the guardian decides by, in TOML [default: a built-in one]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Allow every step of agents, and only report what the policy would deny or modify
    #[arg(long)]
    pub dry_run_policy: bool,
    /// Store what agents exchange in the guardian's trail, instead of hashes of it
    #[arg(long)]
    pub store_content: bool,
    /// Maximum size of the guardian's trail [default: 268435456]
    #[arg(long, value_name = "BYTES", value_parser = number::<u64>(1024 * 1024..=u64::MAX))]
    pub max_trail_bytes: Option<u64>,
    /// Time that the guardian's trail is kept [default: 2592000]
    #[arg(long, value_name = "SECONDS", value_parser = number::<u64>(1..=YEAR))]
    pub trail_retention: Option<u64>,
    /// File that each decision of the guardian is appended to as an event of OCSF
    #[arg(long, value_name = "FILE")]
    pub ocsf_file: Option<PathBuf>,
    /// URL of an OpenTelemetry collector (OTLP over HTTP) that the guardian's decisions are sent to as spans, such as
    /// http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub otlp_url: Option<String>,
    /// File with settings [default: agentdex.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
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
            (
                self.public_read && !self.auth,
                "public_read is for servers that authenticate their clients: set auth (--auth) as well",
            ),
            (cert && !key, "tls_cert needs the key of the certificate: set tls_key as well"),
            (key && !cert, "tls_key needs the certificate of the key: set tls_cert as well"),
            (
                client_ca && !(cert && self.auth),
                "tls_client_ca is for servers that encrypt and authenticate their clients: set tls_cert, tls_key and auth as well",
            ),
            (
                !self.tls_client_role.is_empty() && !client_ca,
                "tls_client_role is for clients with a certificate: set tls_client_ca as well",
            ),
            (
                issuer && !self.auth,
                "oidc_issuer is for servers that authenticate their clients: set auth (--auth) as well",
            ),
            (
                issuer && !audience,
                "oidc_issuer needs the audience of tokens for this server, or those for others would be taken: set oidc_audience as well",
            ),
            (
                !issuer && (audience || has_oidc_details),
                "the other oidc settings are about an issuer: set oidc_issuer as well",
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
            "" => Err("it is empty; name a directory, or `built-in` or `none`".to_owned()),
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
fn number<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
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
