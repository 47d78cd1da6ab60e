//! Handshakes that don't come to their end.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use agentdex::Registry;
use agentdex_server::{
    http::{Limits, Options},
    mqtt::{Endpoint, EndpointOptions},
};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

use super::Files;
use crate::support::eventually;

/// The first bytes of a handshake: a record of 512 bytes, of which nothing comes.
const BEGINNING: &[u8] = &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];

/// Reads until the other side closes.
fn wait_for_end(mut stream: TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut buffer = [0; 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => panic!("the server holds the connection: {error}"),
        }
    }
}

fn begin(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

#[test]
fn handshakes_that_stop_free_their_places() {
    let files = Files::new();
    let limits = Limits { max_connections: Some(4), head_timeout: Duration::from_millis(500), ..Limits::default() };
    let (registry, tls) = files.serve(Options { limits, ..Options::default() });
    let stalled = [&b""[..], &BEGINNING[..1], BEGINNING, &[BEGINNING, &[0; 100]].concat()]
        .map(|bytes| begin(registry.address(), bytes));
    // Beyond the limit health is answered all the same.
    assert_eq!(files.client().get(&registry.url("/health/live")).0, 200);
    stalled.into_iter().for_each(wait_for_end);
    eventually("the places are free", || {
        files.client().try_get(&registry.url("/things")).is_ok_and(|answer| answer.status() == 200)
    });
    assert!(tls.status().handshake_failures >= 3, "{:?}", tls.status());
}

#[test]
fn bytes_that_are_no_handshake_end_the_connection_at_once() {
    let files = Files::new();
    let limits = Limits { head_timeout: Duration::from_secs(3600), ..Limits::default() };
    let (registry, _) = files.serve(Options { limits, ..Options::default() });
    for bytes in [&b"\0\0\0\0\0\0\0\0"[..], &[0x16, 9, 9, 9, 9, 9, 9], &[0xff; 4096]] {
        wait_for_end(begin(registry.address(), bytes));
    }
}

#[test]
fn request_that_comes_byte_by_byte_is_served_once_it_is_there() {
    let files = Files::new();
    let (registry, _) = files.serve(Options::default());
    let configuration = trusting(files.authority.pem());
    for path in ["/health/live", "/things"] {
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(configuration.clone(), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(registry.address()).unwrap());
        for byte in format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").bytes() {
            // A record for each byte.
            stream.write_all(&[byte]).unwrap();
            stream.flush().unwrap();
        }
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200", "{path}");
    }
}

/// A client that trusts an authority in PEM.
fn trusting(pem: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

#[test]
fn mqtt_handshakes_that_stop_free_their_places() {
    let files = Files::new();
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::open(directory.path()).unwrap();
    let options = EndpointOptions {
        tls: Some(files.tls()),
        connect_timeout: Duration::from_millis(300),
        ..EndpointOptions::default()
    };
    let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), options).unwrap();
    for bytes in [&b""[..], BEGINNING, b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0"] {
        wait_for_end(begin(endpoint.local_addr(), bytes));
    }
    eventually("the places are free", || endpoint.handle().connections() == 0);
    endpoint.stop();
    registry.close();
}
