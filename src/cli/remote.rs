//! The registry that commands talk to.

use std::{env, ffi::OsString, fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;

use super::{
    contexts::{self, Context},
    error_message::{causes, to_json},
    misuse::misuse,
    output::{Results, complain, red_on_stderr},
};
use agentdex_client::{self as client, RegistryClient};

const URL: &str = "AGENTDEX_URL";
const API_KEY: &str = "AGENTDEX_API_KEY";
const CA: &str = "AGENTDEX_CA";
const CLIENT_CERT: &str = "AGENTDEX_CLIENT_CERT";
const CONTEXT: &str = "AGENTDEX_CONTEXT";
/// The variables that stand for these flags.
pub(super) const VARIABLES: [&str; 5] = [URL, API_KEY, CA, CLIENT_CERT, CONTEXT];

/// The URL of a registry on this machine that listens where it does by default.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Flags of all commands that talk to a registry. Their variables are read by the commands that do: to clap, a global flag
/// that has a variable would count as given, and be shown in each usage.
// No Debug: it has a key.
#[derive(Args)]
#[command(next_help_heading = "Registry")]
pub(super) struct Remote {
    /// URL of the registry, or HOST:PORT [env: AGENTDEX_URL] [default: http://127.0.0.1:8080]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// API key, or access token from the registry's token issuer. Prefer the environment variable: other users of this
    /// machine can see command-line flags [env: AGENTDEX_API_KEY]
    #[arg(long, global = true, value_name = "KEY")]
    api_key: Option<String>,
    /// PEM file with additional certificate authorities to trust for https:// URLs [env: AGENTDEX_CA]
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// PEM file with a client certificate and its private key, used instead of an API key [env: AGENTDEX_CLIENT_CERT]
    #[arg(long, global = true, value_name = "FILE")]
    client_cert: Option<PathBuf>,
    /// Name of the saved registry to use; `agentdex context list` shows the names [env: AGENTDEX_CONTEXT] [default: the
    /// context set by `agentdex context use`]
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,
}

/// What flags, variables, and a context say about the registry, each where nothing before it says something.
struct Settings {
    url: Option<String>,
    api_key: Option<String>,
    ca: Option<PathBuf>,
    client_cert: Option<PathBuf>,
}

impl Remote {
    /// A client of the registry.
    pub(super) fn client(&self) -> anyhow::Result<RegistryClient> {
        self.settings()?.client()
    }

    /// Replaces the URL.
    pub(super) fn or_at(self, url: Option<&str>) -> Remote {
        Remote { url: url.map(str::to_owned).or(self.url), ..self }
    }

    /// The registry that flags and variables name, to be saved.
    pub(super) fn to_context(&self) -> anyhow::Result<Context> {
        if self.context.is_some() {
            return Err(misuse("--context selects an existing context; use --url to name the registry to save"));
        }
        let settings = self.given()?;
        // A context that no command could use isn't saved.
        settings.client()?;
        let Settings { url, api_key, ca, client_cert } = settings;
        let Some(url) = url else { return Err(misuse("name the registry to save with --url or AGENTDEX_URL")) };
        let absolute = |path: Option<PathBuf>| path.map(std::path::absolute).transpose();
        Ok(Context { url, api_key, ca: absolute(ca)?, client_cert: absolute(client_cert)? })
    }

    /// Flags come before variables, and both before the current context. A context is used as a whole: its key is for its URL
    /// alone, and `--context` comes before variables.
    fn settings(&self) -> anyhow::Result<Settings> {
        if let Some(name) = &self.context {
            if self.url.is_some() {
                return Err(misuse("--url and --context each name a registry; use only one"));
            }
            return Ok(self.flags().or(contexts::find(name)?));
        }
        let given = self.given()?;
        if given.url.is_some() {
            return Ok(given);
        }
        let context = match text_variable(CONTEXT)? {
            Some(name) => Some(contexts::find(&name)?),
            None => contexts::current()?,
        };
        Ok(match context {
            Some(context) => given.or(context),
            None => given,
        })
    }

    fn flags(&self) -> Settings {
        let Remote { url, api_key, ca, client_cert, .. } = self;
        Settings { url: url.clone(), api_key: api_key.clone(), ca: ca.clone(), client_cert: client_cert.clone() }
    }

    /// Flags, and variables for those that aren't given.
    fn given(&self) -> anyhow::Result<Settings> {
        let Settings { url, api_key, ca, client_cert } = self.flags();
        Ok(Settings {
            url: url.map_or_else(|| text_variable(URL), |url| Ok(Some(url)))?,
            api_key: api_key.map_or_else(|| text_variable(API_KEY), |key| Ok(Some(key)))?,
            ca: ca.or_else(|| variable(CA).map(PathBuf::from)),
            client_cert: client_cert.or_else(|| variable(CLIENT_CERT).map(PathBuf::from)),
        })
    }

    /// Says that the URL names a resource rather than the registry, if a registry has refused a request.
    pub(super) fn explain_path(&self, error: anyhow::Error) -> anyhow::Error {
        let is_refused = error.chain().any(|cause| matches!(cause.downcast_ref(), Some(client::Error::Refused(_))));
        // As it is shown, without a password.
        let client = self.client().ok().filter(|_| is_refused);
        let url = client.map(|client| client.url().to_owned());
        match url.as_deref().and_then(without_resource) {
            Some((base, resource)) => {
                let error = causes(&error);
                misuse(format!(
                    "the URL must not include the path of a resource; remove /{resource}: --url {base}\n  \
                    ({error})"
                ))
            }
            None => error,
        }
    }
}

/// Resources of a registry. A URL with one of them was probably copied from a browser or from an example with curl.
const RESOURCES: [&str; 18] = [
    "things",
    "mcp",
    "search",
    "events",
    "changes",
    "cluster",
    "docs",
    "queries",
    "import",
    "imports",
    "health",
    "records",
    "keys",
    "namespaces",
    "audit",
    "metrics",
    "openapi.json",
    "agent",
];

/// The URL without the resource that it ends in, and that resource.
fn without_resource(url: &str) -> Option<(&str, &str)> {
    let (base, last) = url.trim_end_matches('/').rsplit_once('/')?;
    RESOURCES.contains(&last).then_some((base, last))
}

impl Settings {
    fn or(self, context: Context) -> Settings {
        Settings {
            url: self.url.or(Some(context.url)),
            api_key: self.api_key.or(context.api_key),
            ca: self.ca.or(context.ca),
            client_cert: self.client_cert.or(context.client_cert),
        }
    }

    fn client(&self) -> anyhow::Result<RegistryClient> {
        let pem = |path: &Option<PathBuf>| {
            let read = |path: &PathBuf| fs::read(path).with_context(|| format!("reading {}", path.display()));
            path.as_ref().map(read).transpose()
        };
        let mut client = RegistryClient::new(self.url.as_deref().unwrap_or(DEFAULT_URL))?;
        if let Some(authorities) = pem(&self.ca)? {
            client = client.trusting(&authorities).context("--ca, AGENTDEX_CA")?;
        }
        if let Some(certificate) = pem(&self.client_cert)? {
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

/// The text of a variable.
fn text_variable(name: &str) -> anyhow::Result<Option<String>> {
    variable(name).map(|value| value.into_string().map_err(|_| misuse(format!("{name} is not UTF-8")))).transpose()
}

/// The value of a variable; one that is empty counts as absent.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The result for one agent: a line for people, and its JSON.
pub(super) struct Done {
    pub(super) text: String,
    pub(super) json: Value,
}

/// Does something with one agent after the other, and prints the result for each. What fails with one doesn't stop the
/// others.
pub(super) async fn for_each(
    ids: &[String],
    as_json: bool,
    act: impl AsyncFn(&str) -> anyhow::Result<Done>,
) -> anyhow::Result<ExitCode> {
    let (mut outcome, mut results) = (ExitCode::SUCCESS, Results::default());
    for id in ids {
        match act(id).await {
            Ok(done) if as_json => results.print(&done.json.to_string()),
            Ok(done) => results.print(&done.text),
            Err(error) if as_json => {
                outcome = ExitCode::FAILURE;
                let mut line = to_json(&error);
                line["id"] = id.as_str().into();
                results.print(&line.to_string());
            }
            Err(error) => {
                outcome = ExitCode::FAILURE;
                complain(&format!("{} {id}: {}", red_on_stderr("error:"), causes(&error)));
            }
        }
    }
    Ok(results.finish(outcome)?)
}
