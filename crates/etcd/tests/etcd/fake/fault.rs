//! Faults of calls.

use std::time::Duration;

use h2::Reason;

/// How a call fails.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The call is not applied and never answered.
    Hang,
    /// The connection isn't read anymore, as if the process were stopped.
    Freeze,
    /// The connection is closed before the call is applied.
    CutBefore,
    /// The call is applied, and the connection closed.
    CutAfter,
    /// The connection is ended with an error of HTTP/2.
    GoAway(Reason),
    /// The call is applied at once, and answered later.
    Late(Duration),
    /// The answer is sent twice.
    Twice,
    /// The answer is a status.
    Status(u8, &'static str),
}
