//! A web server on loopback that says exactly what a test wants, bytes and pauses included.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::Value;

/// A server that runs until the process ends.
pub struct Site {
    address: SocketAddr,
    /// The heads of all requests; an empty one for a connection that asked for nothing.
    heads: Arc<Mutex<Vec<String>>>,
}

/// What is sent, and when.
#[derive(Clone, Default)]
pub struct Reply {
    pieces: Vec<Vec<u8>>,
    /// Before each piece but the first.
    pause: Duration,
}

impl Reply {
    /// An answer with a body and a length.
    pub fn new(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        Reply { pieces: vec![[head.as_bytes(), body].concat()], pause: Duration::ZERO }
    }

    /// A JSON document.
    pub fn json(body: &str) -> Reply {
        Reply::new("200 OK", &[("content-type", "application/json")], body)
    }

    /// A redirect.
    pub fn redirect(location: &str) -> Reply {
        Reply::new("302 Found", &[("location", location)], "")
    }

    /// These bytes, in pieces with a pause between them.
    pub fn raw(pieces: &[&[u8]], pause: Duration) -> Reply {
        Reply { pieces: pieces.iter().map(|piece| piece.to_vec()).collect(), pause }
    }
}

impl Site {
    /// Serves on a free port of 127.0.0.1. The reply is made from the head of the request.
    pub fn start(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Site {
        Site::at("127.0.0.1:0", None, reply).unwrap()
    }

    /// Serves on this address; over TLS with a configuration.
    pub fn at(
        address: &str,
        tls: Option<Arc<ServerConfig>>,
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> std::io::Result<Site> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (reply, noted) = (Arc::new(reply), heads.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), reply, noted, tls) = (stream, reply.clone(), noted.clone(), tls.clone()) else {
                    return;
                };
                thread::spawn(move || match tls {
                    None => serve(stream, &*reply, &noted),
                    Some(tls) => serve(StreamOwned::new(ServerConnection::new(tls).unwrap(), stream), &*reply, &noted),
                });
            }
        });
        Ok(Site { address, heads })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The heads of the requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// A site with one document, at every path, that can be changed.
pub struct Page {
    pub site: Site,
    reply: Arc<Mutex<Reply>>,
}

impl Page {
    pub fn start(document: &Value) -> Page {
        let reply = Arc::new(Mutex::new(Reply::json("")));
        let told = reply.clone();
        let page = Page { site: Site::start(move |_| told.lock().unwrap().clone()), reply };
        page.serve(document);
        page
    }

    pub fn serve(&self, document: &Value) {
        self.answer(Reply::json(&document.to_string()));
    }

    pub fn answer(&self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    pub fn break_down(&self) {
        self.answer(Reply::new("500 Internal Server Error", &[], ""));
    }

    pub fn url(&self) -> String {
        self.site.url("/card.json")
    }
}

fn serve(mut stream: impl Read + Write, reply: &dyn Fn(&str) -> Reply, noted: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    noted.lock().unwrap().push(head.clone());
    let reply = reply(&head);
    for (index, piece) in reply.pieces.iter().enumerate() {
        if index > 0 {
            thread::sleep(reply.pause);
        }
        if stream.write_all(piece).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

/// TLS with a certificate for a name, which is written to `ca`.
pub fn certified(name: &str, ca: &Path) -> Arc<ServerConfig> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).unwrap();
    fs::write(ca, cert.pem()).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![cert.der().clone()], key).unwrap())
}
