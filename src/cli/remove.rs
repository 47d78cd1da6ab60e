//! `agentdex remove`: removes agents.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;

use super::{
    output::red_on_stderr,
    remote::{self, Remote},
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Their ids
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let client = arguments.remote.client()?;
    let mut failed = false;
    remote::block_on(async {
        for id in &arguments.ids {
            match client.remove(id).await {
                Ok(()) => writeln!(io::stdout(), "removed {id}")?,
                Err(error) => {
                    failed = true;
                    writeln!(io::stderr(), "{} {id}: {:#}", red_on_stderr("error:"), remote::explain(error))?;
                }
            }
        }
        Ok(())
    })?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
