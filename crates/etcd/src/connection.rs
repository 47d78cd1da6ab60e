//! Connection to an endpoint.

use std::{
    error::Error as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use http::{
    Uri,
    uri::{PathAndQuery, Scheme},
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Streaming,
    client::Grpc,
    metadata::{Ascii, MetadataValue},
    transport::{self, Certificate, ClientTlsConfig},
};
use tonic_prost::ProstCodec;

use crate::{
    answer::Answer,
    endpoint::Endpoint,
    error::{Error, Result},
    method::{Method, StreamMethod},
    options::{Options, Tls},
    status::{causes, classify},
};

/// Window of a stream. An unread watch holds at most this much of the connection's window.
const STREAM_WINDOW: u32 = 1 << 20;
/// Window of a connection, larger than those of as many streams as may be open by default.
const CONNECTION_WINDOW: u32 = 16 << 20;
/// Messages of a stream that wait to be sent.
const STREAM_QUEUE: usize = 4;

/// Token of a login.
pub(crate) type Token = MetadataValue<Ascii>;

/// Connection to an endpoint. It is established by the first call, and again by the next call after it was lost.
pub(crate) struct Connection {
    pub endpoint: Endpoint,
    transport: transport::Endpoint,
    max_request_bytes: usize,
    max_response_bytes: usize,
    channel: Mutex<Channel>,
}

#[derive(Clone)]
struct Channel {
    generation: u64,
    /// `None` once the client is closed.
    open: Option<transport::Channel>,
}

impl Connection {
    /// Prepares a connection. Must be called within a Tokio runtime.
    pub fn new(endpoint: Endpoint, options: &Options) -> Result<Connection> {
        let transport = transport_of(&endpoint, options)?;
        let open = Some(transport.connect_lazy());
        Ok(Connection {
            endpoint,
            transport,
            max_request_bytes: options.max_request_bytes,
            max_response_bytes: options.max_response_bytes,
            channel: Mutex::new(Channel { generation: 0, open }),
        })
    }

    /// Sends a request once, and waits for its answer without a deadline.
    pub async fn unary<M: Method>(&self, request: M, token: Option<&Token>) -> Result<Answer<M::Response>> {
        let mut grpc = self.grpc().await?;
        let request = with_metadata(request, token);
        let path = PathAndQuery::from_static(M::PATH);
        let response = grpc.unary(request, path, ProstCodec::<M, M::Response>::default()).await;
        let body = response.map_err(|status| classify(&status, &self.endpoint))?.into_inner();
        let header = M::header(&body).ok_or_else(|| self.no_answer("the response has no header; is this etcd?"))?;
        Ok(Answer { endpoint: self.endpoint.clone(), header, body })
    }

    /// Opens a stream and sends its first message. etcd answers to that before it sends headers, so the message must be
    /// in the queue before they are awaited.
    pub async fn stream<M: StreamMethod>(
        &self,
        first: M,
        token: Option<&Token>,
    ) -> Result<(mpsc::Sender<M>, Streaming<M::Response>)> {
        let mut grpc = self.grpc().await?;
        let (sender, receiver) = mpsc::channel(STREAM_QUEUE);
        sender.try_send(first).map_err(|_| self.no_answer("the stream has ended"))?;
        let request = with_metadata(ReceiverStream::new(receiver), token);
        let path = PathAndQuery::from_static(M::PATH);
        let response = grpc.streaming(request, path, ProstCodec::<M, M::Response>::default()).await;
        let responses = response.map_err(|status| classify(&status, &self.endpoint))?.into_inner();
        Ok((sender, responses))
    }

    async fn grpc(&self) -> Result<Grpc<transport::Channel>> {
        let Channel { generation, open } = self.lock().clone();
        let mut grpc = Grpc::new(open.ok_or(Error::Closed)?)
            .max_decoding_message_size(self.max_response_bytes)
            .max_encoding_message_size(self.max_request_bytes);
        match grpc.ready().await {
            Ok(()) => Ok(grpc),
            Err(error) => {
                self.renew(generation);
                Err(Error::NotSent { endpoint: self.endpoint.clone(), reason: error.to_string() })
            }
        }
    }

    /// Returns the number of the present connection, for [`Connection::renew`].
    pub fn generation(&self) -> u64 {
        self.lock().generation
    }

    /// Makes later calls use a new connection, unless they do so already. A stopped peer keeps the old
    /// connection open, and while no stream is open, etcd permits no pings to notice it. Open streams keep the old
    /// connection until they end.
    pub fn renew(&self, generation: u64) {
        let mut channel = self.lock();
        if channel.generation == generation && channel.open.is_some() {
            *channel = Channel { generation: generation + 1, open: Some(self.transport.connect_lazy()) };
        }
    }

    /// Lets go of the connection; it ends with the calls that use it.
    pub fn close(&self) {
        self.lock().open = None;
    }

    pub fn no_answer(&self, reason: &str) -> Error {
        Error::NoAnswer { endpoint: self.endpoint.clone(), reason: reason.to_owned() }
    }

    fn lock(&self) -> MutexGuard<'_, Channel> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the metadata of every call: `hasleader` makes a member that has lost the cluster's leader answer at once.
fn with_metadata<T>(message: T, token: Option<&Token>) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    if let Some(token) = token {
        request.metadata_mut().insert("token", token.clone());
    }
    request
}

fn transport_of(endpoint: &Endpoint, options: &Options) -> Result<transport::Endpoint> {
    let invalid = |reason: &str| {
        let message = format!("{endpoint}: {reason}; for example https://etcd-1:2379");
        Error::InvalidOption { option: "endpoints", message }
    };
    let uri: Uri = endpoint.url().parse().map_err(|_| invalid("not a URL"))?;
    let is_https = uri.scheme() == Some(&Scheme::HTTPS);
    if !is_https && uri.scheme() != Some(&Scheme::HTTP) {
        return Err(invalid("the scheme must be http or https"));
    }
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) || !matches!(uri.path(), "" | "/") {
        return Err(invalid("only a scheme, a host, and a port are allowed"));
    }
    if !is_https && options.tls.is_some() {
        return Err(invalid("TLS settings require https"));
    }
    let transport = transport::Endpoint::from(uri)
        .connect_timeout(options.connect_deadline)
        .http2_keep_alive_interval(options.keepalive_interval)
        .keep_alive_timeout(options.keepalive_deadline)
        // etcd ends connections that are pinged while no stream is open (`PermitWithoutStream: false`).
        .keep_alive_while_idle(false)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .buffer_size(options.max_calls + options.max_streams)
        .tcp_nodelay(true);
    match is_https {
        true => with_tls(transport, &options.tls.clone().unwrap_or_default(), options),
        false => Ok(transport),
    }
}

fn with_tls(transport: transport::Endpoint, tls: &Tls, options: &Options) -> Result<transport::Endpoint> {
    let invalid = |message: String| Error::InvalidOption { option: "tls", message };
    let mut config = ClientTlsConfig::new().timeout(options.connect_deadline);
    config = match &tls.ca {
        Some(pem) if !has_certificate(pem) => return Err(invalid("`ca` contains no certificate in PEM format".into())),
        Some(pem) => config.ca_certificate(Certificate::from_pem(pem)),
        None => config.with_native_roots(),
    };
    if let Some(identity) = &tls.identity {
        config = config.identity(transport::Identity::from_pem(&identity.certificate, &identity.key));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    transport.tls_config(config).map_err(|error| invalid(causes(error.to_string(), error.source())))
}

/// True if the text has a certificate. Unreadable authorities are skipped, so without this check a wrong file would show
/// only as failing connections.
fn has_certificate(pem: &[u8]) -> bool {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    pem.windows(BEGIN.len()).any(|window| window == BEGIN)
}
