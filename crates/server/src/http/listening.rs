//! Notices that a server that the API is mounted in no longer listens: it is stopping, and waits for its connections.
//!
//! actix-web doesn't tell services that it stops. But it closes its listeners first, and then the address can be bound
//! again.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

/// Interval between checks of an address while a stream is open that came through it.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// The addresses that requests of open streams came through, each with the signal that nobody listens there any more.
#[derive(Default)]
pub(super) struct Listening(Mutex<HashMap<SocketAddr, watch::Sender<bool>>>);

impl Listening {
    /// The signal that nobody listens at an address any more; none where nobody does now, as in tests of an
    /// application.
    pub(super) fn watch(self: &Arc<Listening>, address: SocketAddr) -> Option<watch::Receiver<bool>> {
        let mut watched = self.lock();
        if let Some(gone) = watched.get(&address) {
            return Some(gone.subscribe());
        }
        if !is_listened_at(address) {
            return None;
        }
        let (gone, signal) = watch::channel(false);
        watched.insert(address, gone);
        let listening = self.clone();
        actix_web::rt::spawn(async move {
            while listening.goes_on(address) {
                tokio::time::sleep(CHECK_EVERY).await;
            }
        });
        Some(signal)
    }

    /// True if an address has to be checked again: somebody listens there, and a stream is open.
    fn goes_on(&self, address: SocketAddr) -> bool {
        let mut watched = self.lock();
        let Some(gone) = watched.get(&address) else { return false };
        let is_listened_at = is_listened_at(address);
        if !is_listened_at {
            gone.send_replace(true);
        }
        let goes_on = is_listened_at && gone.receiver_count() > 0;
        if !goes_on {
            watched.remove(&address);
        }
        goes_on
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, watch::Sender<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if a socket listens at an address. A socket that doesn't is no obstacle to binding it, with the option that all
/// servers set.
#[cfg(unix)]
fn is_listened_at(address: SocketAddr) -> bool {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt::set_socket_reuseaddr};

    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let Ok(socket) = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None) else { return true };
    set_socket_reuseaddr(&socket, true).is_ok() && bind(&socket, &address) == Err(rustix::io::Errno::ADDRINUSE)
}

#[cfg(not(unix))]
fn is_listened_at(_: SocketAddr) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_noticed_and_its_end_too() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let address = listener.local_addr().unwrap();
            assert!(is_listened_at(address), "{address}");
            // A connection that is still open doesn't count.
            let client = std::net::TcpStream::connect(("127.0.0.1", address.port())).unwrap();
            let accepted = listener.accept().unwrap();
            drop(listener);
            assert!(!is_listened_at(address), "{address}");
            drop((client, accepted));
        }
    }
}
