//! Tokens of an authorization server that somebody else wrote (oidc-provider): over HTTP, over MQTT, on the command line,
//! and while its keys change or it isn't there.

mod command_line;
mod http;
mod keys;
mod mqtt;
mod page;

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use agentdex::{fetch::Fetcher, registry::IssuerOptions};
use agentdex_server::http::Options;
use serde_json::Value;

use crate::support::{Call, TestRegistry, skipped};

/// An authorization server; ends when it is dropped.
struct Provider {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    issuer: String,
}

impl Provider {
    /// Starts one that signs in this algorithm; none where it isn't installed.
    fn start(algorithm: &str) -> Option<Provider> {
        let Some(folder) = env::var_os("AGENTDEX_OIDC_PROVIDER") else {
            skipped("oidc-provider", "node, and AGENTDEX_OIDC_PROVIDER that names a folder with oidc-provider");
            return None;
        };
        let mut process = Command::new("node")
            .args(["--input-type=module", "--eval", include_str!("provider.mjs"), algorithm])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut provider = Provider { process, input, output, issuer: String::new() };
        provider.issuer = provider.line();
        Some(provider)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the authorization server has ended");
        line.trim().to_owned()
    }

    fn command(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
        assert_eq!(self.line(), "done");
    }

    /// A token for a client with these scopes.
    fn token(&self, client: &str, scope: &str) -> String {
        self.token_for(client, scope, "urn:example:agentdex")
    }

    /// A token for a client with these scopes, for a resource.
    fn token_for(&self, client: &str, scope: &str, resource: &str) -> String {
        let form = format!(
            "grant_type=client_credentials&client_id={client}&client_secret=secret&scope={scope}&resource={resource}"
        );
        let request = Call::new("POST", &format!("{}/token", self.issuer));
        let answer = request.body("application/x-www-form-urlencoded", form).send().expect(200).json();
        answer["access_token"].as_str().unwrap().to_owned()
    }

    fn options(&self, fetcher: Fetcher) -> IssuerOptions {
        IssuerOptions::new(&self.issuer, "agentdex", fetcher).min_refresh_interval(Duration::from_millis(10))
    }

    /// A registry that takes its tokens.
    fn registry(&self) -> TestRegistry {
        TestRegistry::with_issuer(|fetcher| self.options(fetcher), Options::default())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A request with a token.
fn call(registry: &TestRegistry, token: &str, method: &str, path: &str) -> Call {
    registry.call(method, path).header("authorization", &format!("Bearer {token}"))
}

/// What a token says, without a check.
fn claims(token: &str) -> Value {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}
