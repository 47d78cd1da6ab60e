//! Log lines on standard error, for people or for programs.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, fmt};

use crate::config::LogFormat;

/// What is logged where `RUST_LOG` says nothing.
const DEFAULT_FILTER: &str = "info,actix_server=warn,tantivy=warn,rustls=warn";

pub(super) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Json => lines.json().flatten_event(true).init(),
        LogFormat::Text => {
            lines.with_ansi(io::stderr().is_terminal() && super::super::output::colours_are_welcome()).init()
        }
    }
}
