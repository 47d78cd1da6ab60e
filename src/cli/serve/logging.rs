//! Log lines on standard error, for people or for programs.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, fmt};

use crate::settings::{LogFormat, LogLevel};

/// The level that libraries log at, unless `RUST_LOG` asks for more. Of actix_http nothing: a line for each request that isn't
/// one would let anybody fill the log.
const LIBRARIES: &str = "actix_server=warn,actix_http=off,tantivy=warn,rustls=warn";

/// Logs as much as `level` says, else as `RUST_LOG` does.
pub(in crate::cli) fn start(format: LogFormat, level: Option<LogLevel>) {
    let of_level = |level: LogLevel| EnvFilter::new(format!("{},{LIBRARIES}", level.as_str()));
    let filter = match level {
        Some(level) => of_level(level),
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| of_level(LogLevel::Info)),
    };
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Json => lines.json().flatten_event(true).init(),
        LogFormat::Text => {
            lines.with_ansi(io::stderr().is_terminal() && super::super::output::colours_are_welcome()).init()
        }
    }
}
