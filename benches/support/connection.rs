//! HTTP connections.

use std::{
    error::Error,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

/// A connection over which requests are sent one after the other.
pub struct Connection {
    socket: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Result<Connection, Box<dyn Error>> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        Ok(Connection { socket, answer: Vec::new() })
    }

    /// Sends a request, and returns the body of the answer. An answer other than a success is an error.
    pub fn send(&mut self, request: &[u8]) -> Result<&str, Box<dyn Error>> {
        self.socket.write_all(request)?;
        self.answer.clear();
        let mut buffer = [0; 16 * 1024];
        let body = loop {
            let read = self.socket.read(&mut buffer)?;
            if read == 0 {
                return Err("the connection ended".into());
            }
            self.answer.extend_from_slice(&buffer[..read]);
            let Some(end) = self.answer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.answer[..end])?;
            let length = head.split("content-length: ").nth(1).ok_or_else(|| format!("no length: {head}"))?;
            let length: usize = length.split("\r\n").next().unwrap_or_default().parse()?;
            if self.answer.len() >= end + 4 + length {
                break end + 4;
            }
        };
        let (head, body) = self.answer.split_at(body);
        match head.starts_with(b"HTTP/1.1 2") {
            true => Ok(std::str::from_utf8(body)?),
            false => Err(String::from_utf8_lossy(&self.answer).into()),
        }
    }
}
