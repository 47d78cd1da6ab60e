//! A server with etcd's API over HTTP/2, without a library for gRPC, so that it can fail in all the ways that networks and
//! servers do.

mod fault;
mod state;

use std::{
    future::pending,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use agentdex_etcd::{
    Options, ResponseHeader,
    message::{LeaseKeepAliveResponse, WatchResponse},
};
use bytes::{Bytes, BytesMut};
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{HeaderMap, Request, Response};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    time::sleep,
};

pub use self::fault::Fault;
use self::state::{State, frame};

#[derive(Clone)]
pub struct Fake {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    connections: watch::Receiver<usize>,
}

enum End {
    Cut,
    Freeze,
    GoAway(Reason),
}

impl Fake {
    pub async fn start() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (opened, connections) = watch::channel(0);
        let header = ResponseHeader { cluster_id: 7, member_id: 1, revision: 1, raft_term: 2 };
        let state = Arc::new(Mutex::new(State { header, ..State::default() }));
        let fake = Fake { address: listener.local_addr().unwrap(), state, connections };
        let server = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (server, opened) = (server.clone(), opened.clone());
                opened.send_modify(|count| *count += 1);
                tokio::spawn(async move {
                    server.connection(stream).await;
                    opened.send_modify(|count| *count -= 1);
                });
            }
        });
        fake
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Options with deadlines that no busy machine exceeds.
    pub fn options(&self) -> Options {
        let (request_deadline, connect_deadline) = (Duration::from_secs(30), Duration::from_secs(20));
        Options { request_deadline, connect_deadline, ..Options::new([self.url()]) }
    }

    /// Options for calls that are not answered.
    pub fn hasty_options(&self) -> Options {
        Options { request_deadline: Duration::from_secs(3), ..self.options() }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn fail(&self, method: &'static str, fault: Fault) {
        self.state().faults.push_back((method, fault));
    }

    pub fn count(&self, method: &str) -> usize {
        self.state().calls.iter().filter(|path| path.ends_with(method)).count()
    }

    pub fn logins(&self) -> usize {
        self.state().logins
    }

    /// Waits until this many connections are open.
    pub async fn until_connections(&self, count: usize) {
        self.connections.clone().wait_for(|open| *open == count).await.unwrap();
    }

    async fn connection(&self, stream: TcpStream) {
        let mut builder = h2::server::Builder::new();
        let Ok(mut connection) = builder.initial_window_size(4 << 20).handshake::<_, Bytes>(stream).await else {
            return;
        };
        let (end, mut ends) = mpsc::channel(1);
        loop {
            tokio::select! {
                accepted = connection.accept() => {
                    let Some(Ok((request, respond))) = accepted else { return };
                    let (fake, end) = (self.clone(), end.clone());
                    tokio::spawn(async move { fake.call(request, respond, end).await });
                }
                Some(end) = ends.recv() => match end {
                    End::Cut => return,
                    End::Freeze => pending().await,
                    End::GoAway(reason) => connection.abrupt_shutdown(reason),
                }
            }
        }
    }

    async fn call(&self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>, end: mpsc::Sender<End>) {
        let (parts, mut body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        assert_eq!(parts.headers["hasleader"], "true");
        let Some(first) = read_message(&mut body, &mut BytesMut::new()).await else { return };
        let fault = {
            let mut state = self.state();
            state.calls.push(path.clone());
            let planned = state.faults.iter().position(|(method, _)| path.ends_with(method));
            planned.and_then(|index| state.faults.remove(index)).map(|(_, fault)| fault)
        };
        match &fault {
            Some(Fault::Hang) => return pending().await,
            Some(Fault::Freeze) => return end_connection(&end, End::Freeze).await,
            Some(Fault::CutBefore) => return end_connection(&end, End::Cut).await,
            Some(Fault::GoAway(reason)) => return end_connection(&end, End::GoAway(*reason)).await,
            Some(Fault::Status(code, message)) => return send_status(&mut respond, *code, message),
            _ => {}
        }
        let token = parts.headers.get("token").map(|token| token.to_str().unwrap().to_owned());
        let needed = self.state().token.clone();
        if !path.ends_with("Authenticate") && needed.is_some() && needed != token {
            return send_status(&mut respond, 16, "etcdserver: invalid auth token");
        }
        match path.as_str() {
            "/etcdserverpb.Watch/Watch" => self.watch(body, respond, end).await,
            "/etcdserverpb.Lease/LeaseKeepAlive" => self.keep_alive(body, respond).await,
            _ => {
                let answer = self.state().apply(&path, first);
                match fault {
                    Some(Fault::CutAfter) => return end_connection(&end, End::Cut).await,
                    Some(Fault::Late(delay)) => sleep(delay).await,
                    _ => {}
                }
                let mut stream = start(&mut respond);
                for _ in 0..if matches!(fault, Some(Fault::Twice)) { 2 } else { 1 } {
                    let _ = stream.send_data(answer.clone(), false);
                }
                let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
                let _ = stream.send_trailers(trailers);
            }
        }
    }

    /// Sends the planned messages, then empty ones for requests of progress.
    async fn watch(&self, mut body: RecvStream, mut respond: SendResponse<Bytes>, end: mpsc::Sender<End>) {
        let messages = self.state().watch.clone();
        let cuts = self.state().watch_cuts;
        let mut stream = start(&mut respond);
        for message in messages {
            let _ = stream.send_data(frame(&message), false);
        }
        if cuts {
            // What was sent must arrive before.
            sleep(Duration::from_millis(50)).await;
            return end_connection(&end, End::Cut).await;
        }
        let mut buffer = BytesMut::new();
        while read_message(&mut body, &mut buffer).await.is_some() {
            let progress =
                WatchResponse { header: Some(self.state().header), watch_id: -1, ..WatchResponse::default() };
            let _ = stream.send_data(frame(&progress), false);
        }
    }

    async fn keep_alive(&self, mut body: RecvStream, mut respond: SendResponse<Bytes>) {
        let (mut stream, mut buffer) = (None, BytesMut::new());
        loop {
            let header = self.state().header;
            let ttl = self.state().ttls.pop_front();
            let Some(ttl) = ttl else { return pending().await };
            let message = LeaseKeepAliveResponse { header: Some(header), id: 5, ttl };
            let stream = stream.get_or_insert_with(|| start(&mut respond));
            let _ = stream.send_data(frame(&message), false);
            if read_message(&mut body, &mut buffer).await.is_none() {
                return;
            }
        }
    }
}

/// Ends the connection of a call, and never returns: a call that is dropped is reset, and the reset could reach the client
/// before the end of the connection.
async fn end_connection(connection: &mpsc::Sender<End>, end: End) {
    connection.send(end).await.unwrap();
    pending().await
}

/// Reads the next message of a call, or `None` at its end.
async fn read_message(body: &mut RecvStream, buffer: &mut BytesMut) -> Option<Bytes> {
    loop {
        if let Some(length) = buffer.get(1..5) {
            let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
            if buffer.len() >= 5 + length {
                return Some(buffer.split_to(5 + length).freeze().slice(5..));
            }
        }
        let data = body.data().await?.ok()?;
        let _ = body.flow_control().release_capacity(data.len());
        buffer.extend_from_slice(&data);
    }
}

fn start(respond: &mut SendResponse<Bytes>) -> SendStream<Bytes> {
    let response = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    respond.send_response(response, false).unwrap()
}

fn send_status(respond: &mut SendResponse<Bytes>, code: u8, message: &str) {
    let response = Response::builder().header("content-type", "application/grpc");
    let response = response.header("grpc-status", code.to_string()).header("grpc-message", message).body(()).unwrap();
    let _ = respond.send_response(response, true);
}
