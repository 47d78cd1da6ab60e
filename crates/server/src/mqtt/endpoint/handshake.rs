//! The beginning of a connection: CONNECT, and whether its client is accepted.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    time::timeout,
};

use super::{
    connection::Connection,
    context::Context,
    engine::Refusal,
    link::Link,
    origin::Origin,
    packets::{Connect, Incoming, Welcome},
    session::{self, Session},
    sessions::{Entering, Lease},
};
use crate::access::{Caller, Need, Role, Token, Unauthenticated};

/// The longest client id.
const MAX_CLIENT_ID_BYTES: usize = 1024;

/// Serves one client until it leaves, is cut off, or the endpoint stops. A client that isn't
/// admitted gets a CONNACK that says that the server is full.
pub(super) async fn serve<S>(context: Arc<Context>, stream: S, origin: Origin, admitted: bool)
where
    S: AsyncRead + AsyncWrite + Send,
{
    let Origin { peer, address, holder } = origin;
    let mut link = Link::new(stream, context.counters.clone());
    let mut stop = context.stop.clone();
    let connect = tokio::select! {
        connect = timeout(context.options.connect_timeout, receive_connect(&mut link)) => connect.ok().flatten(),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    let Some((connect, rest)) = connect else {
        tracing::debug!(peer, "an MQTT connection ended without a valid CONNECT");
        return link.finish().await;
    };
    let refused = match (admitted, context.index.feed.registry().cut_off_for()) {
        (false, _) => Some(Refusal::Full),
        (true, Some(_)) => Some(Refusal::CutOff),
        (true, None) => refusal(&connect),
    };
    let authenticated = match refused {
        Some(refusal) => Err(refusal),
        None => authenticate(&context, &connect, holder).await,
    };
    let entered = match authenticated {
        Err(refusal) => Err(refusal),
        Ok(caller) => enter(&context, &connect, &caller).await.map(|entered| (caller, entered)),
    };
    match entered {
        Ok((caller, (lease, session, welcome))) => {
            tracing::debug!(peer, client_id = session.client_id, ?caller, "an MQTT client has connected");
            link.engine.welcome(welcome);
            let asked_expiry = connect.session_expiry.unwrap_or(session.expiry);
            Connection::new(context, link, lease, session, asked_expiry, &caller).run(&rest).await;
        }
        Err(refusal) => {
            context.counters.refused.fetch_add(1, Ordering::Relaxed);
            if matches!(refusal, Refusal::InvalidCredentials | Refusal::Unauthenticated) {
                let nobody = context.index.feed.registry().as_caller(Caller::Anonymous).at_address(address);
                nobody.note_denied("MQTT CONNECT", None);
            }
            tracing::info!(peer, client_id = connect.client_id, ?refusal, "an MQTT client was refused");
            link.engine.refuse(refusal);
            link.finish().await;
        }
    }
}

/// Reads until CONNECT is complete; what came after it is returned with it.
async fn receive_connect<S: AsyncRead + AsyncWrite>(link: &mut Link<S>) -> Option<(Connect, Vec<u8>)> {
    let mut buffer = [0; 1024];
    loop {
        let count = link.reader.read(&mut buffer).await.ok()?;
        link.note_received(count);
        let mut input = buffer.get(..count)?;
        if input.is_empty() {
            return None;
        }
        match link.engine.receive(&mut input) {
            Some(Incoming::Connect(connect)) => return Some((connect, input.to_vec())),
            Some(_) => return None,
            None if link.engine.has_ended() => return None,
            None => {}
        }
    }
}

fn refusal(connect: &Connect) -> Option<Refusal> {
    let is_unnamed_session = connect.client_id.is_empty() && !connect.clean && connect.is_version_3;
    if is_unnamed_session || connect.client_id.len() > MAX_CLIENT_ID_BYTES {
        return Some(Refusal::InvalidClientId);
    }
    if connect.extended_authentication {
        return Some(Refusal::UnsupportedAuthentication);
    }
    // 5.0, section 3.2.2.3.4; version 3.1.1 has no maximum.
    match connect.will_qos {
        Some(2..) if !connect.is_version_3 => Some(Refusal::UnsupportedQos),
        // Nobody may publish here, and a will that is accepted has to be published (5.0, section 3.1.2.5).
        Some(_) => Some(Refusal::WillNotAllowed),
        None => None,
    }
}

/// Authenticates the client and checks that it may read. The user name is the id of an API key, the password the key;
/// or the password is a token, with any user name. Without them the client is the holder of its certificate.
async fn authenticate(context: &Context, connect: &Connect, holder: Option<Caller>) -> Result<Caller, Refusal> {
    let rules = &context.options.access;
    let caller = match (&connect.user_name, &connect.password) {
        _ if !rules.authentication => Caller::Trusted,
        (None, None) => holder.unwrap_or(Caller::Anonymous),
        (user_name, password) => {
            let password = password.as_deref().and_then(|password| std::str::from_utf8(password).ok());
            let is_of_user =
                |password: &&str| Token::parse(password).is_none_or(|token| user_name.as_deref() == Some(token.id));
            let password = password.filter(is_of_user).ok_or(Refusal::InvalidCredentials)?;
            context.index.feed.registry().authenticate(password).await.map_err(|error| match error {
                Unauthenticated::Invalid(_) => Refusal::InvalidCredentials,
                Unauthenticated::Unavailable(_) => Refusal::Busy,
            })?
        }
    };
    rules.decide(&caller, Need::Read(Role::Read)).map_err(|_| Refusal::Unauthenticated)?;
    Ok(caller)
}

/// The name of a session: each owner has client ids of its own, so that none takes over the session of another.
fn session_name(client_id: &str, caller: &Caller) -> String {
    match caller {
        Caller::Trusted => client_id.to_owned(),
        Caller::Anonymous => session::name_of(client_id, ""),
        Caller::Principal(principal) => session::name_of(client_id, principal.owner.as_str()),
    }
}

/// Gives the client its session, and returns what CONNACK states.
async fn enter(context: &Context, connect: &Connect, caller: &Caller) -> Result<(Lease, Session, Welcome), Refusal> {
    let options = &context.options;
    let assigned = connect.client_id.is_empty().then(|| format!("agentdex-{}", uuid::Uuid::new_v4()));
    let client_id = assigned.as_deref().unwrap_or(&connect.client_id);
    let asked = connect.session_expiry.unwrap_or_else(|| seconds(options.default_session_expiry));
    let expiry = asked.min(seconds(options.max_session_expiry));
    let (lease, session, present) =
        match context.sessions.enter(&session_name(client_id, caller), connect.clean, expiry).await {
            Entering::Entered { lease, session, present } => (lease, *session, present),
            Entering::Waiting(_) | Entering::Busy => return Err(Refusal::Busy),
            Entering::Full => return Err(Refusal::Full),
        };
    let longest = u16::try_from(options.max_keep_alive.as_secs()).unwrap_or(u16::MAX);
    let is_too_long = connect.keep_alive == 0 || connect.keep_alive > longest;
    let welcome = Welcome {
        session_present: present,
        keep_alive: (longest > 0 && is_too_long).then_some(longest),
        session_expiry: (expiry != asked).then_some(expiry),
        assigned_client_id: assigned,
    };
    Ok((lease, session, welcome))
}

fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}
