//! `agentdex openapi`: prints the OpenAPI description of the REST API.

use std::{
    io::{self, Write},
    process::ExitCode,
};

pub(super) fn run() -> anyhow::Result<ExitCode> {
    writeln!(io::stdout(), "{}", agentdex_server::http::openapi().to_pretty_json()?)?;
    Ok(ExitCode::SUCCESS)
}
