//! etcd with TLS.

use std::fs;

use agentdex_etcd::{Client, Error, Identity, KeyRange, Options, Tls};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use super::process::Etcd;

struct Authority(Issuer<'static, KeyPair>, String);

impl Authority {
    fn new() -> Authority {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        Authority(Issuer::new(parameters, key), pem)
    }

    /// Issues a certificate, and returns it with its key.
    fn issue(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        (parameters.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

/// Starts etcd with a certificate for this name. If `verifies_clients`, it accepts those with a certificate of the authority.
fn start(authority: &Authority, name: &str, verifies_clients: bool) -> Option<Etcd> {
    let (certificate, key) = authority.issue(name, ExtendedKeyUsagePurpose::ServerAuth);
    let mut files = vec![("--cert-file", certificate), ("--key-file", key)];
    if verifies_clients {
        files.push(("--trusted-ca-file", authority.1.clone()));
    }
    Etcd::spawn("https", if verifies_clients { &["--client-cert-auth"] } else { &[] }, |directory| {
        let arguments = files.into_iter().flat_map(|(flag, text)| {
            let path = directory.path().join(flag.trim_start_matches('-'));
            fs::write(&path, text).unwrap();
            [flag.to_owned(), path.display().to_string()]
        });
        arguments.collect()
    })
}

fn options(etcd: &Etcd, tls: Tls) -> Options {
    Options { tls: Some(tls), ..etcd.options() }
}

#[tokio::test]
async fn the_server_is_verified() {
    let authority = Authority::new();
    let Some(etcd) = start(&authority, "127.0.0.1", false) else { return };
    let ca = |authority: &Authority| Tls { ca: Some(authority.1.clone().into()), ..Tls::default() };
    let client = etcd.until_ready(options(&etcd, ca(&authority))).await;
    client.put("k", "v", 0).await.unwrap();
    client.watch(&client.endpoint(), KeyRange::key("k"), 1).await.unwrap().next().await.unwrap();

    let other_name = Tls { server_name: Some("etcd.example".into()), ..ca(&authority) };
    let untrusted = [options(&etcd, ca(&Authority::new())), options(&etcd, other_name), etcd.options()];
    for options in untrusted {
        let shown = format!("{:?}", options.tls);
        // A machine without roots can't verify anything.
        let Ok(client) = Client::connect(options) else { continue };
        let error = client.put("k", "w", 0).await.unwrap_err();
        assert!(matches!(error, Error::NotSent { .. }), "{shown}: {error:?}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    let plain =
        Client::connect(Options { endpoints: vec![etcd.url().replace("https", "http")], ..etcd.options() }).unwrap();
    let error = plain.put("k", "w", 0).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}

#[tokio::test]
async fn the_server_may_have_another_name() {
    let authority = Authority::new();
    let Some(etcd) = start(&authority, "etcd.example", false) else { return };
    let tls = Tls { ca: Some(authority.1.clone().into()), server_name: Some("etcd.example".into()), ..Tls::default() };
    etcd.until_ready(options(&etcd, tls)).await;
}

#[tokio::test]
async fn the_client_may_need_a_certificate() {
    let authority = Authority::new();
    let Some(etcd) = start(&authority, "127.0.0.1", true) else { return };
    let with = |authority_of_client: &Authority| {
        let (certificate, key) = authority_of_client.issue("registry", ExtendedKeyUsagePurpose::ClientAuth);
        let identity = Identity { certificate: certificate.into(), key: key.into() };
        Tls { ca: Some(authority.1.clone().into()), identity: Some(identity), ..Tls::default() }
    };
    let client = etcd.until_ready(options(&etcd, with(&authority))).await;
    client.put("k", "v", 0).await.unwrap();
    for tls in [with(&Authority::new()), Tls { identity: None, ..with(&authority) }] {
        let client = Client::connect(options(&etcd, tls)).unwrap();
        // With TLS 1.3 the server refuses after the client has begun to send.
        let error = client.put("k", "w", 0).await.unwrap_err();
        assert!(error.is_transient(), "{error:?}");
    }
    let mut tls = with(&authority);
    tls.identity = tls.identity.map(|identity| Identity { key: b"no key".to_vec(), ..identity });
    assert!(matches!(Client::connect(options(&etcd, tls)), Err(Error::InvalidOption { option: "tls", .. })));
}
