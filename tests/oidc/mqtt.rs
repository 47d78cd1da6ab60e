//! Tokens over MQTT: the password of a client.

use agentdex::{
    Registry,
    access::Rules,
    fetch::{Fetcher, Options},
};
use agentdex_server::mqtt::{Endpoint, EndpointOptions};

use super::Provider;
use crate::mqtt::wire::{Client, Hello, Version};

#[test]
fn token_is_the_password_of_a_client() {
    let Some(provider) = Provider::start("EdDSA") else { return };
    let directory = tempfile::tempdir().unwrap();
    let issuer = provider.options(Fetcher::new(Options::default()).unwrap());
    let registry = Registry::builder(directory.path()).issuer(issuer).open().unwrap();
    let access = Rules { authentication: true, ..Rules::default() };
    let options = EndpointOptions { access, ..EndpointOptions::default() };
    let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), options).unwrap();
    let port = endpoint.local_addr().port();
    let connect = |password: &str| {
        let hello = Hello { client_id: "a", credentials: Some(("anything", password)), ..Hello::default() };
        Client::connect(port, Version::V5, &hello).1[1]
    };
    assert_eq!(connect(&provider.token("reader", "read")), 0);
    // Bad user name or password.
    assert_eq!(connect(&provider.token("stranger", "")), 0x86);
    assert_eq!(connect("not.a.token"), 0x86);
    endpoint.stop();
    registry.close();
}
