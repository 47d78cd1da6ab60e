//! `agentdex openapi`: prints the OpenAPI description of the REST API.

use std::{
    io::{self, Write},
    process::ExitCode,
};

pub(super) fn run() -> anyhow::Result<ExitCode> {
    io::stdout().write_all(agentdex_server::http::openapi_document()?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
