//! TLS of both listeners, with clients that others wrote: certificates that change, certificates of clients, and
//! handshakes that don't end.

mod authority;
mod clients;
mod command_line;
mod http;
mod mqtt;
mod reload;
mod unfinished;

use std::{fs, path::PathBuf, time::Duration};

use agentdex::access::RoleMapping;
use agentdex_server::tls::{Options, ServerTls};
use tempfile::TempDir;

use self::authority::{Authority, Issued};
use crate::support::TestRegistry;

/// An authority, and the files of a server that has a certificate of it.
struct Files {
    authority: Authority,
    directory: TempDir,
}

impl Files {
    fn new() -> Files {
        let files = Files { authority: Authority::new("Test authority"), directory: tempfile::tempdir().unwrap() };
        fs::write(files.path("ca.pem"), files.authority.pem()).unwrap();
        files.write(&files.authority.server());
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes the certificate of the server and its key.
    fn write(&self, issued: &Issued) {
        fs::write(self.path("server.pem"), &issued.certificate).unwrap();
        fs::write(self.path("server.key"), &issued.key).unwrap();
    }

    /// Writes a client certificate with its key, as one file.
    fn write_client(&self, name: &str, issued: &Issued) -> String {
        fs::write(self.path(name), format!("{}{}", issued.certificate, issued.key)).unwrap();
        self.text(name)
    }

    fn options(&self) -> Options {
        Options {
            certificate: self.path("server.pem"),
            key: self.path("server.key"),
            client_ca: None,
            client_roles: RoleMapping::default(),
        }
    }

    fn tls(&self) -> ServerTls {
        ServerTls::open(self.options()).unwrap()
    }

    /// A server with these options and the certificate.
    fn serve(&self, options: agentdex_server::http::Options) -> (TestRegistry, ServerTls) {
        let tls = options.tls.clone().unwrap_or_else(|| self.tls());
        let options = agentdex_server::http::Options { tls: Some(tls.clone()), ..options };
        (TestRegistry::start_with(Default::default(), options), tls)
    }

    /// A client that trusts the authority.
    fn client(&self) -> Client {
        self.client_with(None)
    }

    /// The same with a certificate of its own.
    fn client_with(&self, issued: Option<&Issued>) -> Client {
        crate::support::client();
        let authority = reqwest::Certificate::from_pem(self.authority.pem().as_bytes()).unwrap();
        let mut builder = reqwest::Client::builder().no_proxy().tls_certs_only([authority]).tls_info(true);
        if let Some(issued) = issued {
            let pem = format!("{}{}", issued.certificate, issued.key);
            builder = builder.identity(reqwest::Identity::from_pem(pem.as_bytes()).unwrap());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Client { http: builder.build().unwrap(), runtime }
    }
}

/// Sends requests over TLS.
struct Client {
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    fn send(&self, request: reqwest::RequestBuilder) -> reqwest::Result<reqwest::Response> {
        self.runtime.block_on(async { request.timeout(Duration::from_secs(60)).send().await })
    }

    fn try_get(&self, url: &str) -> reqwest::Result<reqwest::Response> {
        self.send(self.http.get(url))
    }

    fn get(&self, url: &str) -> (u16, String) {
        let response = self.try_get(url).unwrap();
        (response.status().as_u16(), self.runtime.block_on(response.text()).unwrap())
    }

    fn json(&self, url: &str) -> serde_json::Value {
        let (status, text) = self.get(url);
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The certificate that the server shows.
    fn certificate(&self, url: &str) -> Vec<u8> {
        let response = self.try_get(url).unwrap();
        let info = response.extensions().get::<reqwest::tls::TlsInfo>().unwrap();
        info.peer_certificate().unwrap().to_vec()
    }
}

/// The value of a metric without labels.
fn metric(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}
