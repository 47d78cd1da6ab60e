//! An address where nobody listens.

use std::{net::SocketAddr, sync::LazyLock};

use tokio::net::TcpSocket;

/// An address on loopback that refuses connections. A socket that never listens holds its port, so that nobody else
/// gets it.
pub fn closed_address() -> SocketAddr {
    static SOCKET: LazyLock<TcpSocket> = LazyLock::new(|| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        socket
    });
    SOCKET.local_addr().unwrap()
}

/// The URL of a path there.
pub fn unreachable_url(path: &str) -> String {
    format!("http://{}{path}", closed_address())
}
