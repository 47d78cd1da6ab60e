//! The parameter `since` of requests that read the log: a position, and the log that it counts in.

use actix_web::{
    HttpResponseBuilder,
    http::header::{HeaderMap, HeaderName, HeaderValue, WARNING},
};

use super::{body::WARNINGS, context::Context, parameters::Parameters, problem::Problem};
use crate::{Epoch, Position, Seq, change::Cursor};

/// The position that a response shows, as `since` takes it.
pub(super) const POSITION: HeaderName = HeaderName::from_static("agentdex-position");

/// Shows the end of the log in a response.
pub(super) fn show_position(context: &Context, headers: &mut HeaderMap) {
    let position = Position { epoch: context.epoch(), seq: context.last_seq() };
    if let Ok(position) = HeaderValue::from_str(&position.to_string()) {
        headers.insert(POSITION, position);
    }
}

/// The place up to which a reader has read.
pub(super) struct Since {
    /// The log that `seq` counts in; none where the reader doesn't say.
    epoch: Option<Epoch>,
    seq: Seq,
    /// The last Thing of which it has read what came at the next position.
    id: Option<String>,
}

impl Since {
    /// Reads `<epoch>-<seq>`, or a number alone; without the parameter it is the beginning.
    pub fn of(parameters: &Parameters) -> Result<Since, Problem> {
        match parameters.text("since") {
            Some(text) if text.contains('-') => {
                let cursor = text.parse::<Cursor>();
                let Cursor { position: Position { epoch, seq }, id } =
                    cursor.map_err(|error| Problem::invalid_parameter("since", error.to_string()))?;
                let seq = if id.is_some() { Seq(seq.0.saturating_sub(1)) } else { seq };
                Ok(Since { epoch: Some(epoch), seq, id })
            }
            _ => Ok(Since { epoch: None, seq: Seq(parameters.number("since", 0)?.unwrap_or_default()), id: None }),
        }
    }

    /// Refuses a number alone where the log is that of a store which was restored: it may count in the one before.
    pub fn checked(self, context: &Context) -> Result<Since, Problem> {
        let origin = context.origin().filter(|_| self.epoch.is_none() && self.seq != Seq::ZERO);
        let Some(origin) = origin else { return Ok(self) };
        let message = format!(
            "this registry was restored from {origin}, so the position {} is ambiguous: it could refer to the log before \
             or after the restore; use <epoch>-<seq>. The current epoch is {}",
            self.seq,
            context.epoch()
        );
        Err(Problem::invalid_parameter("since", message))
    }

    /// Returns the position, if the reader says in which log it is.
    pub fn position(&self) -> Option<Position> {
        Some(Position { epoch: self.epoch?, seq: self.seq })
    }

    /// The position up to which all was read.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The last Thing of which it has read what came at the next position, where it has read a part of that.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// True if it counts in another log than that of `epoch`.
    pub fn is_foreign(&self, epoch: Epoch) -> bool {
        self.epoch.is_some_and(|own| own != epoch)
    }

    /// Warns who gives a number alone: in a restored registry it means another change.
    pub fn warn(&self, epoch: Epoch, response: &mut HttpResponseBuilder) {
        let Since { epoch: None, seq, .. } = *self else { return };
        if seq == Seq::ZERO {
            return;
        }
        let position = Position { epoch, seq };
        let text = format!("since={seq} doesn't say which log it refers to; use since={position} (epoch-seq)");
        response.insert_header((WARNINGS, 1)).insert_header((WARNING, format!("299 agentdex \"{text}\"")));
    }
}
