//! Login with user and password.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;

use crate::{
    connection::{Connection, Token},
    error::{Error, Refusal, Result},
    message::AuthenticateRequest,
    options::User,
};

/// Message of etcd to a login while it has no authentication (`rpctypes/error.go`).
const NOT_ENABLED: &str = "etcdserver: authentication is not enabled";

/// The login of a client. It happens with the first call, and again when the token has died: etcd drops tokens that were
/// not used for 300 s, and a restart drops all of them.
///
/// A token may also die without an answer: etcd lets a request with a token of its future wait. A token has such a place in
/// the history of etcd, and after a loss of all data the history is shorter. So after a call without an answer, the user is
/// logged in again.
pub(crate) struct Login {
    user: User,
    session: Mutex<Session>,
    /// True if the last answer of etcd is followed by a call without an answer.
    is_doubtful: AtomicBool,
}

/// Result of a login.
#[derive(Clone, Default)]
pub(crate) struct Session {
    /// Number of the login, from 1.
    pub number: u64,
    /// Token, or `None` if etcd has no authentication.
    pub token: Option<Token>,
}

impl Login {
    pub fn new(user: User) -> Login {
        Login { user, session: Mutex::default(), is_doubtful: AtomicBool::new(false) }
    }

    /// Returns the session. Logs in if that hasn't happened yet, or if the present session is `dead`. Concurrent callers
    /// share a login.
    pub async fn session(&self, connection: &Connection, dead: Option<u64>) -> Result<Session> {
        let mut session = self.session.lock().await;
        let is_doubtful = self.is_doubtful.load(Ordering::Relaxed);
        if session.number == 0 || dead == Some(session.number) || is_doubtful {
            let token = self.authenticate(connection).await?;
            *session = Session { number: session.number + 1, token };
            self.is_doubtful.store(false, Ordering::Relaxed);
        }
        Ok(session.clone())
    }

    /// Records that a call had no answer.
    pub fn doubt(&self) {
        self.is_doubtful.store(true, Ordering::Relaxed);
    }

    async fn authenticate(&self, connection: &Connection) -> Result<Option<Token>> {
        let request = AuthenticateRequest { name: self.user.name.clone(), password: self.user.password.clone() };
        match connection.unary(request, None).await {
            Ok(answer) => match answer.body.token.parse::<Token>() {
                Ok(mut token) => {
                    token.set_sensitive(true);
                    Ok(Some(token))
                }
                Err(_) => Err(connection.no_answer("the login token is not valid gRPC metadata")),
            },
            Err(Error::Refused { message, .. }) if message == NOT_ENABLED => Ok(None),
            Err(Error::Refused { endpoint, refusal: Refusal::InvalidArgument | Refusal::Other, message }) => {
                Err(Error::Unauthenticated { endpoint, message })
            }
            Err(error) => Err(error),
        }
    }
}
