//! A client that is nothing but packets, for what well-behaved clients never do.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
};

use super::support::PATIENCE;

pub const CONNACK: u8 = 2;
pub const PUBLISH: u8 = 3;
pub const PUBACK: u8 = 4;
pub const PUBCOMP: u8 = 7;
pub const SUBACK: u8 = 9;
pub const UNSUBACK: u8 = 11;
pub const PINGRESP: u8 = 13;
pub const DISCONNECT: u8 = 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V3,
    V5,
}

/// What a client sends when it connects.
pub struct Hello<'a> {
    pub client_id: &'a str,
    pub clean: bool,
    pub keep_alive: u16,
    /// Version 5: properties, encoded.
    pub properties: Vec<u8>,
    /// The QoS of a will.
    pub will: Option<u8>,
    /// User name and password.
    pub credentials: Option<(&'a str, &'a str)>,
}

impl Default for Hello<'_> {
    fn default() -> Self {
        Hello { client_id: "", clean: true, keep_alive: 60, properties: Vec::new(), will: None, credentials: None }
    }
}

#[derive(Debug)]
pub struct Packet {
    pub kind: u8,
    pub flags: u8,
    pub body: Vec<u8>,
}

impl Packet {
    pub fn packet_id(&self) -> u16 {
        u16::from_be_bytes([self.body[0], self.body[1]])
    }

    /// Topic of a PUBLISH.
    pub fn topic(&self) -> &str {
        assert_eq!(self.kind, PUBLISH, "{self:?} is not a PUBLISH");
        let length = usize::from(u16::from_be_bytes([self.body[0], self.body[1]]));
        std::str::from_utf8(&self.body[2..2 + length]).unwrap()
    }

    /// Whether a PUBLISH is marked as a possible repetition.
    pub fn is_duplicate(&self) -> bool {
        self.flags & 8 != 0
    }

    /// Packet id of a PUBLISH at QoS 1.
    pub fn publish_id(&self) -> u16 {
        let at = 2 + self.topic().len();
        u16::from_be_bytes([self.body[at], self.body[at + 1]])
    }
}

pub struct Client {
    stream: TcpStream,
    pub version: Version,
}

impl Client {
    /// Connects, and returns the CONNACK's body too.
    pub fn connect(port: u16, version: Version, hello: &Hello<'_>) -> (Client, Vec<u8>) {
        let mut client = Client::open(port, version);
        client.send(&connect(version, hello));
        let connack = client.receive();
        assert_eq!(connack.kind, CONNACK);
        (client, connack.body)
    }

    /// Connects to the socket and sends nothing.
    pub fn open(port: u16, version: Version) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream, version }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    /// Fails once the server has closed the connection.
    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    pub fn receive(&mut self) -> Packet {
        self.try_receive().expect("the server closed the connection")
    }

    /// The next packet; none once the server has closed the connection.
    pub fn try_receive(&mut self) -> Option<Packet> {
        let first = self.byte()?;
        let (mut length, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some(Packet { kind: first >> 4, flags: first & 15, body })
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(1) => Some(byte[0]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("nothing came from the server")
            }
            _ => None,
        }
    }

    /// Waits until the server has read all that was sent before; nothing else may come meanwhile.
    pub fn ping(&mut self) {
        self.send(&packet(0xc0, &[]));
        assert_eq!(self.receive().kind, PINGRESP);
    }

    /// Asserts that the server has nothing to send: it sends all that it can before it reads on, so that
    /// between its answers to two pings everything would have come that is due.
    pub fn assert_nothing_comes(&mut self) {
        self.ping();
        self.ping();
    }

    /// Subscribes, and returns the reason codes. `options`: the byte after each filter.
    pub fn subscribe(&mut self, filters: &[(&str, u8)]) -> Vec<u8> {
        self.subscribe_with(filters, &[])
    }

    pub fn subscribe_with(&mut self, filters: &[(&str, u8)], properties: &[u8]) -> Vec<u8> {
        let mut body = vec![0, 7];
        self.put_properties(&mut body, properties);
        for (filter, options) in filters {
            put_string(&mut body, filter);
            body.push(*options);
        }
        self.send(&packet(0x82, &body));
        let suback = self.receive();
        assert_eq!((suback.kind, suback.packet_id()), (SUBACK, 7));
        suback.body[self.header_bytes()..].to_vec()
    }

    /// Unsubscribes; version 5 answers with reason codes.
    pub fn unsubscribe(&mut self, filters: &[&str]) -> Vec<u8> {
        let mut body = vec![0, 8];
        self.put_properties(&mut body, &[]);
        for filter in filters {
            put_string(&mut body, filter);
        }
        self.send(&packet(0xa2, &body));
        let unsuback = self.receive();
        assert_eq!((unsuback.kind, unsuback.packet_id()), (UNSUBACK, 8));
        unsuback.body[self.header_bytes()..].to_vec()
    }

    /// Publishes, which no client may.
    pub fn publish(&mut self, qos: u8) {
        let mut body = Vec::new();
        put_string(&mut body, "agentdex/things/urn:forged");
        if qos > 0 {
            body.extend_from_slice(&[0, 9]);
        }
        self.put_properties(&mut body, &[]);
        body.extend_from_slice(b"forged");
        self.send(&packet(0x30 | qos << 1, &body));
    }

    pub fn acknowledge(&mut self, packet_id: u16) {
        self.send(&packet(0x40, &packet_id.to_be_bytes()));
    }

    /// Packet id and, in version 5, no properties.
    fn header_bytes(&self) -> usize {
        if self.version == Version::V5 { 3 } else { 2 }
    }

    fn put_properties(&self, body: &mut Vec<u8>, properties: &[u8]) {
        if self.version == Version::V5 {
            body.push(properties.len().try_into().unwrap());
            body.extend_from_slice(properties);
        }
    }
}

pub fn connect(version: Version, hello: &Hello<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    put_string(&mut body, "MQTT");
    body.push(if version == Version::V5 { 5 } else { 4 });
    let credentials = if hello.credentials.is_some() { 0xc0 } else { 0 };
    body.push(credentials | u8::from(hello.clean) << 1 | hello.will.map_or(0, |qos| 4 | qos << 3));
    body.extend_from_slice(&hello.keep_alive.to_be_bytes());
    if version == Version::V5 {
        body.push(hello.properties.len().try_into().unwrap());
        body.extend_from_slice(&hello.properties);
    }
    put_string(&mut body, hello.client_id);
    if hello.will.is_some() {
        if version == Version::V5 {
            body.push(0);
        }
        put_string(&mut body, "agentdex/things/urn:will");
        put_string(&mut body, "dead");
    }
    if let Some((user_name, password)) = hello.credentials {
        put_string(&mut body, user_name);
        put_string(&mut body, password);
    }
    packet(0x10, &body)
}

pub fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    let mut length = body.len();
    loop {
        let more = length > 0x7f;
        bytes.push((length & 0x7f) as u8 | if more { 0x80 } else { 0 });
        length >>= 7;
        if !more {
            break;
        }
    }
    bytes.extend_from_slice(body);
    bytes
}

fn put_string(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
    body.extend_from_slice(text.as_bytes());
}
