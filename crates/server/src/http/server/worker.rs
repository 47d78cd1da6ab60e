//! A thread that serves connections: an actix-web application, and the tasks of its connections.

use std::{io, net::SocketAddr, rc::Rc, sync::Arc, thread, time::Duration};

use actix_http::{ConnectionType, HttpService, Request, Response, body::BoxBody, error::DispatchError, h1};
use actix_service::{IntoServiceFactory, Service, ServiceFactory, apply_fn_factory, map_config};
use actix_web::{
    App,
    dev::AppConfig,
    http::header::CONNECTION,
    rt::{self, Runtime},
    web::Data,
};
use tokio::{
    runtime::Builder,
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot, watch,
    },
    task::JoinSet,
    time::timeout,
};

use super::{
    connection::{Connection, SentBody, serve},
    socket::Opened,
};
use crate::http::{
    context::Context,
    limits::Place,
    mount::configure_alone,
    progress::{Progress, Serving},
};

/// The result of a thread of the server, once it has ended.
pub(super) type End = oneshot::Receiver<io::Result<()>>;

/// Maximum time for which a connection stays open without a request.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Maximum time for a client to read the end of a response whose request it didn't send to its end.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of threads that may block, of all server threads together.
const BLOCKING_THREADS: usize = 512;

/// A connection on its way from the listener to a worker.
pub(super) struct Accepted {
    pub opened: Opened,
    pub peer: SocketAddr,
    pub place: Place,
}

/// The state that every thread needs to serve connections.
#[derive(Clone)]
pub(super) struct Worker {
    pub context: Arc<Context>,
    /// Turns true when the server stops.
    pub stopped: watch::Receiver<bool>,
    /// Number of workers.
    pub threads: usize,
}

/// The service that handles the connections of one thread.
pub(super) struct Application<H> {
    handler: Rc<H>,
    context: Arc<Context>,
}

impl<H> Clone for Application<H> {
    fn clone(&self) -> Application<H> {
        Application { handler: self.handler.clone(), context: self.context.clone() }
    }
}

impl<H> Application<H>
where
    H: Service<(Connection, Option<SocketAddr>), Error = DispatchError>,
{
    /// Serves a connection to its end.
    pub(super) async fn serve(self, opened: Opened, peer: SocketAddr, place: Place) {
        let limits = &self.context.options.limits;
        let progress = Rc::new(Progress::new());
        let io = Connection::new(opened, progress.clone(), limits.head_timeout);
        let serving = self.handler.call((io, Some(peer)));
        serve(serving, peer, &progress, limits, KEEP_ALIVE).await;
        drop(place);
    }
}

impl Worker {
    /// Starts a thread; it ends when the server stops, or when nobody sends connections any more.
    pub(super) fn start(self, number: usize) -> io::Result<(UnboundedSender<Accepted>, End)> {
        let (sender, accepted) = unbounded_channel();
        let end = self.clone().spawn(&format!("agentdex-http-{number}"), move || self.run(accepted))?;
        Ok((sender, end))
    }

    /// Runs on a thread with a runtime of its own.
    pub(super) fn spawn<F>(self, name: &str, run: impl FnOnce() -> F + Send + 'static) -> io::Result<End>
    where
        F: Future<Output = io::Result<()>>,
    {
        let (ended, end) = oneshot::channel();
        let blocking = (BLOCKING_THREADS / (self.threads + 1)).max(1);
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(blocking).build();
            let result = runtime.and_then(|runtime| Runtime::from(runtime).block_on(run()));
            // An error is the end of whoever waits.
            let _ = ended.send(result);
        })?;
        Ok(end)
    }

    async fn run(mut self, mut accepted: UnboundedReceiver<Accepted>) -> io::Result<()> {
        let application = self.clone().application(false).await?;
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                next = accepted.recv() => match next {
                    Some(Accepted { mut opened, peer, place }) => match opened.socket.attach() {
                        Ok(()) => drop(open.spawn_local(application.clone().serve(opened, peer, place))),
                        Err(error) => tracing::warn!(%peer, %error, "a connection can't be served"),
                    },
                    None => break,
                },
                _ = open.join_next(), if !open.is_empty() => {}
                _ = self.stopped.wait_for(|stopped| *stopped) => break,
            }
        }
        finish(&mut open, self.context.options.limits.stop_timeout).await;
        Ok(())
    }

    /// Makes an application; one that `closes` ends each connection after its first response.
    pub(super) async fn application(
        self,
        closes: bool,
    ) -> io::Result<Application<impl Service<(Connection, Option<SocketAddr>), Error = DispatchError>>> {
        let api = configure_alone(Data::from(self.context.clone()));
        let application = map_config(App::new().configure(api).into_factory(), |()| AppConfig::default());
        let observed = apply_fn_factory(application, move |request: Request, application| {
            let serving = Serving::of(&request);
            let answering = application.call(request);
            async move {
                let response: Response<BoxBody> = answering.await?.into();
                let mut response = response.map_body(|_, body| SentBody::new(body, serving));
                let is_last = response.headers().get(CONNECTION).is_some_and(|option| option == "close");
                if closes || is_last {
                    response.head_mut().set_connection_type(ConnectionType::Close);
                }
                Ok::<_, actix_web::Error>(response)
            }
        });
        let stopped = self.stopped.clone();
        let service = HttpService::build()
            .keep_alive(KEEP_ALIVE)
            .client_request_timeout(self.context.options.limits.head_timeout)
            .client_disconnect_timeout(DISCONNECT_TIMEOUT)
            .graceful_shutdown_signal(move || {
                let mut stopped = stopped.clone();
                async move { drop(stopped.wait_for(|stopped| *stopped).await) }
            })
            .on_connect_ext(Connection::register);
        let service: h1::H1Service<Connection, _, _> = service.h1(observed);
        let handler = service.new_service(()).await;
        let handler = handler.map_err(|()| io::Error::other("the application can't be created"))?;
        Ok(Application { handler: Rc::new(handler), context: self.context.clone() })
    }
}

/// Lets connections finish what they are doing, but not for ever.
pub(super) async fn finish(open: &mut JoinSet<()>, patience: Duration) {
    let all = async { while open.join_next().await.is_some() {} };
    let _ = timeout(patience, all).await;
    rt::task::yield_now().await;
}
