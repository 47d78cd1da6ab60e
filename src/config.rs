//! Settings of the server: flags, then `AGENTDEX_*` variables, then `agentdex.toml`, then defaults.
//!
//! Each source is a [`Layer`] in which everything is optional; [`Settings::load`] lays them over one
//! another. A key of the file is the long flag with `_` for `-`, a variable is the key in capitals.

mod layer;
mod settings;

use std::{path::PathBuf, str::FromStr};

use serde::Deserialize;

pub use self::{
    layer::{Layer, read_toml},
    settings::{OidcSettings, Settings},
};
use agentdex::td::Strictness;

/// The file that is read where no other is named, if it is there.
pub const DEFAULT_FILE: &str = "agentdex.toml";
/// Where the registry stores its data, by default.
pub const DEFAULT_DATA: &str = "./agentdex-data";
/// Where the REST API is served, by default.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8080";
/// Where the MQTT endpoint is served, by default.
pub const DEFAULT_MQTT_LISTEN: &str = "127.0.0.1:1883";
/// The first level of all MQTT topics, by default.
pub const DEFAULT_MQTT_PREFIX: &str = "agentdex";
/// How many seconds a fetch may take, by default.
pub const DEFAULT_FETCH_TIMEOUT: u64 = 15;
/// The default pause between two polls of a tracked source, in seconds.
pub const DEFAULT_REFRESH_INTERVAL: u64 = 60 * 60;
/// How many failures in a row make an import stale, by default.
pub const DEFAULT_STALE_AFTER: u32 = 5;

/// How many seconds a client may take to send the head of a request, by default.
pub const DEFAULT_HEAD_TIMEOUT: u64 = 10;
/// How many seconds a client may send nothing of a body that is waited for, by default.
pub const DEFAULT_BODY_TIMEOUT: u64 = 30;
/// How many seconds an MQTT session waits for a client that asks for no time, by default.
pub const DEFAULT_MQTT_SESSION_EXPIRY: u64 = 24 * 60 * 60;
/// How many seconds a client may take nothing of a response, by default.
pub const DEFAULT_WRITE_TIMEOUT: u64 = 60;

/// Whether documents are fixed or refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validation {
    /// Fixable problems are fixed, with a warning.
    #[default]
    Lenient,
    /// Documents that need a fix are refused.
    Strict,
}

impl FromStr for Validation {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "lenient" => Ok(Validation::Lenient),
            "strict" => Ok(Validation::Strict),
            _ => Err(format!("{text:?} is neither `lenient` nor `strict`")),
        }
    }
}

impl From<Validation> for Strictness {
    fn from(validation: Validation) -> Strictness {
        match validation {
            Validation::Lenient => Strictness::Lenient,
            Validation::Strict => Strictness::Strict,
        }
    }
}

/// What searches compare the meaning of texts with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EmbeddingModel {
    /// The table of words that is part of the program.
    #[default]
    BuiltIn,
    /// Nothing: words alone count.
    None,
    /// The sentence encoder in a directory.
    Directory(PathBuf),
}

impl FromStr for EmbeddingModel {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "" => Err("it is empty; name a directory, or `built-in` or `none`".to_owned()),
            "built-in" => Ok(EmbeddingModel::BuiltIn),
            "none" => Ok(EmbeddingModel::None),
            directory => Ok(EmbeddingModel::Directory(directory.into())),
        }
    }
}

impl<'de> Deserialize<'de> for EmbeddingModel {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(format!("{text:?} is neither `text` nor `json`")),
        }
    }
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// Also what is about to.
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

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let all = [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace];
        let known = all.into_iter().find(|level| level.as_str() == text);
        known.ok_or_else(|| format!("{text:?} is none of `error`, `warn`, `info`, `debug`, `trace`"))
    }
}

/// Where the MQTT endpoint is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MqttListener {
    /// Nowhere.
    Off,
    /// At [`DEFAULT_MQTT_LISTEN`], which nobody asked for: if it is taken the server does without.
    Default,
    /// At this address and port, which somebody asked for: if it is taken the server doesn't start.
    At(String),
}
