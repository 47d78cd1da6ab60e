//! `Proxy`: a connection between a node and etcd that can be cut.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Forwards connections. While it is cut, connections stay open, but nothing arrives; it arrives later.
pub struct Proxy {
    port: u16,
    switch: Arc<Switch>,
}

#[derive(Default)]
struct Switch {
    is_cut: Mutex<bool>,
    changed: Condvar,
}

impl Proxy {
    /// Starts a proxy for a port on loopback. It runs until the process ends.
    pub fn start(target: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, switch) = (listener.local_addr().unwrap().port(), Arc::<Switch>::default());
        let of_proxy = switch.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Without a server, the connection is refused.
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to, switch) = (from.try_clone().unwrap(), to.try_clone().unwrap(), switch.clone());
                    thread::spawn(move || forward(from, to, &switch));
                }
            }
        });
        Proxy { port, switch: of_proxy }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn cut(&self, is_cut: bool) {
        *self.switch.is_cut() = is_cut;
        self.switch.changed.notify_all();
    }
}

impl Switch {
    fn is_cut(&self) -> MutexGuard<'_, bool> {
        self.is_cut.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) {
        drop(self.changed.wait_while(self.is_cut(), |is_cut| *is_cut));
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, switch: &Switch) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).unwrap_or_default();
        switch.wait();
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
