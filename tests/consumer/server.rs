//! A server that says exactly what a test wants, and remembers what it was sent.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::Value;

/// A request, whole.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// Method and target.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Received {
    /// The value of a header; empty where it is missing.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// What is sent back: bytes, in pieces, and whether the connection then stays open without a word.
#[derive(Debug, Clone, Default)]
pub struct Said {
    pieces: Vec<Vec<u8>>,
    pause: Duration,
    /// How often the last piece is sent again.
    again: usize,
    hangs: bool,
}

impl Said {
    pub fn new(status: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Said {
        let body = body.as_ref();
        let head: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let head = format!("HTTP/1.1 {status}\r\n{head}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        Said { pieces: vec![[head.as_bytes(), body].concat()], ..Said::default() }
    }

    pub fn json(body: impl ToString) -> Said {
        Said::new("200 OK", &["content-type: application/json"], body.to_string())
    }

    /// A body of no stated length, which ends with the connection.
    pub fn stream(media_type: &str, pieces: &[&str]) -> Said {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nconnection: close\r\n\r\n");
        let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec());
        Said { pieces: [head.into_bytes()].into_iter().chain(pieces).collect(), ..Said::default() }
    }

    /// These bytes alone.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Said {
        Said { pieces: vec![bytes.into()], ..Said::default() }
    }

    pub fn every(self, pause: Duration) -> Said {
        Said { pause, ..self }
    }

    /// The last piece so many times more.
    pub fn again(self, times: usize) -> Said {
        Said { again: times, ..self }
    }

    pub fn hanging(self) -> Said {
        Said { hangs: true, ..self }
    }
}

/// A server on loopback, until the process ends.
pub struct Server {
    pub origin: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    pub fn start(answer: impl Fn(&Received) -> Said + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (received, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let noted = received.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, noted) = (answer.clone(), noted.clone());
                thread::spawn(move || drop(serve(stream, &*answer, &noted)));
            }
        });
        Server { origin, received }
    }

    /// What it was sent so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The only request.
    pub fn only(&self) -> Received {
        let mut received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received.remove(0)
    }
}

fn serve(
    stream: TcpStream,
    answer: &(impl Fn(&Received) -> Said + ?Sized),
    noted: &Mutex<Vec<Received>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut received = Received::default();
    let mut line = String::new();
    reader.read_line(&mut line)?;
    received.line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        received.headers.push((name.to_owned(), value.to_owned()));
    }
    let length = received.header("content-length").parse().unwrap_or(0);
    let mut body = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut body)?;
    received.body = String::from_utf8_lossy(&body).into_owned();
    noted.lock().unwrap().push(received.clone());
    let said = answer(&received);
    let mut stream = reader.into_inner();
    for (index, piece) in said.pieces.iter().enumerate() {
        if index > 0 {
            thread::sleep(said.pause);
        }
        stream.write_all(piece)?;
        stream.flush()?;
    }
    for piece in said.pieces.last().into_iter().cycle().take(said.again) {
        stream.write_all(piece)?;
    }
    if said.hangs {
        // Until the other side gives up.
        let _ = stream.read(&mut [0]);
    }
    Ok(())
}
