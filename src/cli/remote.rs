//! Commands that talk to a running registry: where it is, and what to say when it isn't there.

use std::{
    env, fs,
    future::Future,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;

use super::output::red_on_stderr;
use agentdex::client::{self, RegistryClient};

#[derive(Debug, Args)]
pub(super) struct Remote {
    /// Where the registry is: a URL, or HOST:PORT [env: AGENTDEX_URL] [default: http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// API key that the registry knows the caller by, or a token of its issuer; the variable doesn't show in lists of processes
    /// [env: AGENTDEX_API_KEY]
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<String>,
    /// PEM file with certificates to trust a registry at https:// by, beside those of the system [env: AGENTDEX_CA]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// PEM file with a client certificate and its key, to prove oneself with in place of an API key
    /// [env: AGENTDEX_CLIENT_CERT]
    #[arg(long, value_name = "FILE")]
    pub client_cert: Option<PathBuf>,
}

/// Where a registry is looked for that nobody named.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

impl Remote {
    pub(super) fn client(&self) -> anyhow::Result<RegistryClient> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let url = self.url.clone().or_else(|| variable("AGENTDEX_URL"));
        let file = |path: Option<PathBuf>, name: &str| {
            let path = path.or_else(|| variable(name).map(PathBuf::from));
            path.map(|path| fs::read(&path).with_context(|| format!("reading {}", path.display()))).transpose()
        };
        let mut client = RegistryClient::new(url.as_deref().unwrap_or(DEFAULT_URL))?;
        if let Some(authorities) = file(self.ca.clone(), "AGENTDEX_CA")? {
            client = client.trusting(&authorities).context("--ca, AGENTDEX_CA")?;
        }
        if let Some(certificate) = file(self.client_cert.clone(), "AGENTDEX_CLIENT_CERT")? {
            client = client.client_certificate(&certificate).context("--client-cert, AGENTDEX_CLIENT_CERT")?;
        }
        match self.api_key.clone().or_else(|| variable("AGENTDEX_API_KEY")) {
            // A token has three parts.
            Some(token) if token.split('.').count() == 3 => Ok(client.access_token(&token)?),
            Some(key) => Ok(client.api_key(&key)?),
            None => Ok(client),
        }
    }

    /// Does something with one agent after the other, and says of each what became of it. What fails with
    /// one doesn't stop the others.
    pub(super) fn for_each(
        &self,
        ids: &[String],
        act: impl AsyncFn(&RegistryClient, &str) -> client::Result<String>,
    ) -> anyhow::Result<ExitCode> {
        let client = self.client()?;
        let mut failed = false;
        block_on(async {
            for id in ids {
                match act(&client, id).await {
                    Ok(done) => writeln!(io::stdout(), "{done}")?,
                    Err(error) => {
                        failed = true;
                        writeln!(io::stderr(), "{} {id}: {:#}", red_on_stderr("error:"), explain(error))?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Runs a conversation with a registry to its end.
pub(super) fn block_on<T>(conversation: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    runtime.block_on(conversation)
}

/// An error of the client with what to do about it.
pub(super) fn explain(error: client::Error) -> anyhow::Error {
    let hint = match &error {
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
    match hint {
        Some(hint) => anyhow::anyhow!("{what}\n  {hint}"),
        None => anyhow::anyhow!(what),
    }
}

fn validation_errors(problem: &client::Problem) -> String {
    problem.validation_errors.iter().map(|error| format!("\n  {}: {}", error.field, error.description)).collect()
}
