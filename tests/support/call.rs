//! One request and its answer.

use std::time::Duration;

use reqwest::{Method, header::HeaderMap};
use serde_json::Value;

/// A client for servers without TLS, for use in one runtime.
pub fn client() -> reqwest::Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    // Reading the certificates of the system takes longer than a test's requests.
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

/// A request that isn't sent yet.
pub struct Call {
    pub(super) request: reqwest::RequestBuilder,
}

impl Call {
    /// A request for a URL.
    pub fn new(method: &str, url: &str) -> Call {
        Call { request: client().request(Method::from_bytes(method.as_bytes()).unwrap(), url) }
    }

    /// With a header.
    pub fn header(self, name: &str, value: &str) -> Call {
        Call { request: self.request.header(name, value) }
    }

    /// With a body.
    pub fn body(self, media_type: &str, body: impl Into<Vec<u8>>) -> Call {
        self.header("content-type", media_type).bare_body(body)
    }

    /// With a body whose type isn't said.
    pub fn bare_body(self, body: impl Into<Vec<u8>>) -> Call {
        Call { request: self.request.body(body.into()) }
    }

    /// Sends it and reads the whole answer.
    pub fn send(self) -> Answer {
        self.try_send().unwrap()
    }

    /// Sends it and returns the status, without reading the body.
    pub fn send_head(self) -> u16 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { self.request.send().await.unwrap().status().as_u16() })
    }

    /// The same to a server that may close the connection.
    pub fn try_send(self) -> reqwest::Result<Answer> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let response = self.request.timeout(Duration::from_secs(90)).send().await?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Ok(Answer { status, headers, body: response.bytes().await?.to_vec() })
        })
    }
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    /// The values of a header, joined by commas; empty where it is missing.
    pub fn header(&self, name: &str) -> String {
        let values: Vec<_> = self.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        values.join(", ")
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.text()))
    }

    /// The answer, if it has that status.
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// The problem document, if the answer is one of that status and code.
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let document = self.json();
        assert_eq!(document["status"], status);
        assert_eq!(document["code"], code, "{document}");
        let phrase = reqwest::StatusCode::from_u16(status).unwrap().canonical_reason().unwrap();
        assert_eq!(document["title"], phrase, "{document}");
        assert_eq!(document["type"], format!("urn:agentdex:problem:{code}"), "{document}");
        assert!(document["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{document}");
        document
    }
}
