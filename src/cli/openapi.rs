//! `agentdex openapi`: prints the OpenAPI document of the REST API.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Has no effect: the document is always JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(Arguments { json: _ }: &Arguments) -> anyhow::Result<ExitCode> {
    io::stdout().write_all(agentdex_server::http::openapi_document()?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
