//! MQTT over WebSocket at `/mqtt`, with frames by hand.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use super::{
    support::{PATIENCE, agent},
    wire::{
        CONNACK, DISCONNECT, Hello, PUBLISH, SUBACK,
        Version::{V3, V5},
        connect, packet,
    },
};
use crate::{process::ServerProcess, support::Call};

const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

struct WebSocket {
    stream: TcpStream,
    /// What came of the byte stream and wasn't looked at yet.
    bytes: Vec<u8>,
}

/// Asks for the upgrade; the status says what came of it.
fn upgrade(server: &ServerProcess, headers: &str) -> (u16, String, WebSocket) {
    let host = server.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET /mqtt HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    )
    .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, WebSocket { stream, bytes: Vec::new() })
}

const SUBPROTOCOL: &str = "Sec-WebSocket-Protocol: mqtt\r\n";

impl WebSocket {
    fn open(server: &ServerProcess) -> WebSocket {
        let (status, head, socket) = upgrade(server, SUBPROTOCOL);
        assert_eq!(status, 101);
        assert!(head.contains("sec-websocket-protocol: mqtt\r\n"), "{head}");
        socket
    }

    fn send(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode, 0x80 | u8::try_from(payload.len()).unwrap(), 1, 2, 3, 4];
        frame.extend(payload.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.write_all(&frame).unwrap();
    }

    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length).unwrap();
                usize::from(u16::from_be_bytes(length))
            }
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).unwrap();
        (head[0] & 15, payload)
    }

    /// The next MQTT packet: first byte and body.
    fn receive(&mut self) -> (u8, Vec<u8>) {
        loop {
            if let Some((header, length)) = complete_packet(&self.bytes) {
                let packet: Vec<u8> = self.bytes.drain(..header + length).collect();
                return (packet[0] >> 4, packet[header..].to_vec());
            }
            let (opcode, payload) = self.frame();
            assert_eq!(opcode, BINARY);
            self.bytes.extend(payload);
        }
    }
}

fn complete_packet(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0;
    for index in 1..5 {
        let byte = *bytes.get(index)?;
        length |= usize::from(byte & 0x7f) << (7 * (index - 1));
        if byte & 0x80 == 0 {
            return (bytes.len() > index + length).then_some((index + 1, length));
        }
    }
    None
}

fn serve(data: &std::path::Path) -> ServerProcess {
    ServerProcess::start(data, &["--mqtt-listen", "127.0.0.1:0"])
}

#[test]
fn client_over_websocket_receives_changes() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path());
    for version in [V3, V5] {
        let mut socket = WebSocket::open(&server);
        // Packets may be cut anywhere.
        let hello = connect(version, &Hello::default());
        socket.send(BINARY, &hello[..5]);
        socket.send(BINARY, &hello[5..]);
        assert_eq!(socket.receive().0, CONNACK);
        let subscribe: &[u8] = if version == V5 {
            b"\x00\x07\x00\x00\x11agentdex/events/#\x01"
        } else {
            b"\x00\x07\x00\x11agentdex/events/#\x01"
        };
        let subscribe = packet(0x82, subscribe);
        subscribe.iter().for_each(|byte| socket.send(BINARY, &[*byte]));
        assert_eq!(socket.receive().0, SUBACK);
        let body = agent(&format!("urn:web:{version:?}"), "A", &[]);
        let url = format!("{}/things/urn:web:{version:?}", server.url());
        assert_eq!(Call::new("PUT", &url).body("application/td+json", body).send().status, 201);
        let (kind, body) = socket.receive();
        assert_eq!(kind, PUBLISH);
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains(&format!("agentdex/events/thing_created/urn:web:{version:?}")), "{text}");
        socket.send(PING, b"still there?");
        assert_eq!(socket.frame(), (PONG, b"still there?".to_vec()));
    }
}

#[test]
fn websocket_closes_when_the_connection_ends() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path());
    let mut socket = WebSocket::open(&server);
    socket.send(BINARY, &connect(V5, &Hello::default()));
    socket.receive();
    socket.send(BINARY, &packet(0x30, b"\x00\x01a\x00forged"));
    let (kind, body) = socket.receive();
    assert_eq!((kind, body[0]), (DISCONNECT, 0x87));
    assert_eq!(socket.frame().0, CLOSE);
}

#[test]
fn stopping_server_disconnects_over_websocket() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path());
    let mut socket = WebSocket::open(&server);
    socket.send(BINARY, &connect(V5, &Hello::default()));
    socket.receive();
    assert!(server.stop().success());
    let (kind, body) = socket.receive();
    assert_eq!((kind, body[0]), (DISCONNECT, 0x8b));
}

#[test]
fn upgrade_needs_the_subprotocol_and_an_allowed_origin() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path());
    assert_eq!(upgrade(&server, "").0, 400);
    assert_eq!(upgrade(&server, "Sec-WebSocket-Protocol: other\r\n").0, 400);
    assert_eq!(upgrade(&server, &format!("{SUBPROTOCOL}Origin: https://example.org\r\n")).0, 403);
    assert_eq!(upgrade(&server, &format!("{SUBPROTOCOL}Origin: {}\r\n", server.url())).0, 101);
}

#[test]
fn there_is_no_websocket_where_mqtt_is_off() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--no-mqtt"]);
    assert_eq!(upgrade(&server, SUBPROTOCOL).0, 404);
}
