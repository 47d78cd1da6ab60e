//! The registry that commands talk to: where it is, and what to do about its errors.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;

use super::output::{causes, red_on_stderr};
use agentdex_client::{self as client, RegistryClient};

/// Flags of all commands that talk to a registry.
// No Debug: it has a key.
#[derive(Args)]
#[command(next_help_heading = "Registry")]
pub(super) struct Remote {
    /// Where the registry is: a URL, or HOST:PORT
    #[arg(
        long,
        global = true,
        env = "AGENTDEX_URL",
        hide_env_values = true,
        value_name = "URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: String,
    /// API key that the registry knows the caller by, or a token of its issuer; the variable doesn't show in lists of
    /// processes
    #[arg(long, global = true, env = "AGENTDEX_API_KEY", hide_env_values = true, value_name = "KEY")]
    api_key: Option<String>,
    /// PEM file with certificates to trust a registry at https:// by, beside those of the system
    #[arg(long, global = true, env = "AGENTDEX_CA", hide_env_values = true, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// PEM file with a client certificate and its key, to prove oneself with in place of an API key
    #[arg(long, global = true, env = "AGENTDEX_CLIENT_CERT", hide_env_values = true, value_name = "FILE")]
    client_cert: Option<PathBuf>,
}

impl Remote {
    /// A client of the registry.
    pub(super) fn client(&self) -> anyhow::Result<RegistryClient> {
        let read = |path: &PathBuf| fs::read(path).with_context(|| format!("reading {}", path.display()));
        let mut client = RegistryClient::new(&self.url)?;
        if let Some(authorities) = self.ca.as_ref().map(read).transpose()? {
            client = client.trusting(&authorities).context("--ca, AGENTDEX_CA")?;
        }
        if let Some(certificate) = self.client_cert.as_ref().map(read).transpose()? {
            client = client.client_certificate(&certificate).context("--client-cert, AGENTDEX_CLIENT_CERT")?;
        }
        match &self.api_key {
            // A token has three parts.
            Some(token) if token.split('.').count() == 3 => Ok(client.access_token(token)?),
            Some(key) => Ok(client.api_key(key)?),
            None => Ok(client),
        }
    }
}

/// Does something with one agent after the other, and prints the result for each. What fails with one doesn't stop the
/// others.
pub(super) async fn for_each(
    ids: &[String],
    act: impl AsyncFn(&str) -> client::Result<String>,
) -> anyhow::Result<ExitCode> {
    let mut outcome = ExitCode::SUCCESS;
    for id in ids {
        match act(id).await {
            Ok(done) => writeln!(io::stdout(), "{done}")?,
            Err(error) => {
                outcome = ExitCode::FAILURE;
                writeln!(io::stderr(), "{} {id}: {}", red_on_stderr("error:"), causes(&error.into()))?;
            }
        }
    }
    Ok(outcome)
}

/// An error of the client, and what to do about it.
pub(super) fn explain(error: &client::Error) -> (String, Option<&'static str>) {
    let hint = match error {
        client::Error::Unreachable { reason, .. } if reason.contains("certificate") => {
            Some("if the registry's certificate is of an authority of your own, --ca or AGENTDEX_CA name it")
        }
        client::Error::Unreachable { .. } => {
            Some("is `agentdex serve` running there? --url or AGENTDEX_URL name another place")
        }
        client::Error::Refused(problem) => match problem.status {
            401 if problem.code == "unauthenticated" => {
                Some("AGENTDEX_API_KEY or --api-key gives an API key; an admin of the registry creates them")
            }
            401 | 403
                if ["invalid-credentials", "forbidden", "read-only", "authentication-off"]
                    .contains(&problem.code.as_str()) =>
            {
                None
            }
            401 | 403 => {
                Some("something before the registry asks for credentials; https://USER:PASSWORD@HOST as URL gives them")
            }
            404 if problem.code == "no-such-key" => Some("`agentdex keys list` shows what there is"),
            404 if problem.code == "not-tracked" => Some("`agentdex imports` lists the tracked sources"),
            404 if problem.code == "unknown-path" => {
                Some("--url and AGENTDEX_URL name the registry itself, without the path of a resource")
            }
            404 if !problem.code.is_empty() => Some("`agentdex list` shows what there is"),
            _ if problem.code.is_empty() => {
                Some("is this the registry? --url or AGENTDEX_URL name it, such as http://127.0.0.1:8080")
            }
            503 => Some("the registry is busy or starting: try again in a moment"),
            _ => None,
        },
        _ => None,
    };
    let what = match error.problem().filter(|problem| !problem.validation_errors.is_empty()) {
        Some(problem) => {
            let what = match problem.code.as_str() {
                "invalid-document" => "the document is not valid",
                _ => "the Thing Description is not valid",
            };
            format!("{what} (status {}){}", problem.status, validation_errors(problem))
        }
        None => error.to_string(),
    };
    (what, hint)
}

fn validation_errors(problem: &client::Problem) -> String {
    problem.validation_errors.iter().map(|error| format!("\n  {}: {}", error.field, error.description)).collect()
}
