//! Submission of writes to the committer. A dry run is applied like any other write, and then rolled back.

use std::time::Instant;

use agentdex_api::Effect;

use super::Registry;
use crate::{
    Error, Result,
    change::{Precondition, Seq},
    store::{self, Author, Outcome, Remark, Ticket},
    td::Violation,
};

/// Options of a commit, and its author.
#[derive(Debug)]
pub(super) struct Commit {
    pub dry_run: bool,
    pub may_block: bool,
    pub author: Author,
}

/// Result of a committed write.
pub(super) struct Committed {
    pub effect: Effect,
    pub seq: Seq,
    pub remarks: Vec<Remark>,
}

impl Registry {
    /// Writes all of it atomically, and returns the result of the first write.
    pub(super) async fn commit(&self, writes: Vec<store::Write>, commit: &Commit) -> Result<Committed> {
        let id = writes.first().map_or_else(String::new, |first| first.id.clone());
        let bytes = writes.iter().map(store::Write::bytes).sum();
        let ticket = self.submit(writes, commit.author.clone(), commit.dry_run);
        let applied = if commit.may_block { ticket.wait() } else { ticket.await };
        let applied = applied.map_err(|error| self.as_seen(error))?;
        self.count(bytes, &applied, commit.dry_run);
        let (effect, seq) = effects(&applied).first().copied().ok_or(Error::NotFound { id })?;
        Ok(Committed { effect, seq, remarks: applied.remarks })
    }

    /// Converts an error to the form visible to the caller. An error about a part names only documents visible to the
    /// caller. An error about a hidden Thing reveals only that the id is taken.
    fn as_seen(&self, error: Error) -> Error {
        match error {
            Error::PreconditionFailed { id, expected, found: Some(_) } if !self.sees(&id) => {
                Error::PreconditionFailed { id, expected, found: None }
            }
            Error::PartOfDocument { id, mut documents } => {
                documents.retain(|document| self.sees(document));
                Error::PartOfDocument { id, documents }
            }
            error => error,
        }
    }

    /// Writes all of it atomically, and returns the effect of each write, in order.
    pub(super) async fn commit_all(
        &self,
        writes: Vec<store::Write>,
        author: Author,
        dry_run: bool,
    ) -> Result<(Vec<(Effect, Seq)>, Vec<Remark>)> {
        let bytes = writes.iter().map(store::Write::bytes).sum();
        let applied = self.submit(writes, author, dry_run).await.map_err(|error| self.as_seen(error))?;
        self.count(bytes, &applied, dry_run);
        Ok((effects(&applied), applied.remarks))
    }

    /// Counts writes that have to be indexed.
    fn count(&self, bytes: usize, applied: &store::Applied, dry_run: bool) {
        let last = effects(applied).iter().map(|(_, seq)| *seq).max();
        if let Some(last) = last.filter(|_| !dry_run) {
            self.0.backlog.add(self.1.owner(), bytes, last, self.0.indexing.applied(), Instant::now());
        }
    }

    /// True if searches lag more than two seconds behind the writes of several owners, and most of these writes are the
    /// caller's. A server then stops reading further writes of the caller.
    #[doc(hidden)]
    pub fn holds_up_searches(&self) -> bool {
        let (Some(owner), Some(indexed)) = (self.1.owner(), self.0.indexing.applied()) else { return false };
        self.0.backlog.is_mostly_of(owner, indexed, Instant::now())
    }

    fn submit(&self, writes: Vec<store::Write>, author: Author, dry_run: bool) -> Ticket {
        let store = &self.0.store;
        if dry_run { store.foretell(author, writes) } else { store.submit_as(author, writes) }
    }
}

fn effects(outcomes: &[Outcome]) -> Vec<(Effect, Seq)> {
    let effect = |outcome: &Outcome| match outcome {
        Outcome::Created(seq) => Some((Effect::Created, *seq)),
        Outcome::Updated(seq) => Some((Effect::Updated, *seq)),
        Outcome::Renewed(seq) => Some((Effect::Unchanged, *seq)),
        Outcome::OriginalUpdated(seq) => Some((Effect::OriginalUpdated, *seq)),
        Outcome::VersionsUpdated(seq) => Some((Effect::VersionsUpdated, *seq)),
        Outcome::Removed(seq) => Some((Effect::Removed, *seq)),
        Outcome::NotDue => None,
    };
    outcomes.iter().filter_map(effect).collect()
}

/// Returns the warning that a Thing no longer corresponds to its source.
pub(super) fn tracking_stopped() -> Violation {
    let message = "the imported original is replaced, and its URL is no longer tracked";
    Violation::new("", "tracking-stopped", message)
}

/// Checks the precondition of a write. `found` is the last change of the record, or `None` if there is no record.
pub(super) fn check(id: &str, expected: Precondition, found: Option<Seq>) -> Result<()> {
    if expected.holds(found) { Ok(()) } else { Err(Error::PreconditionFailed { id: id.into(), expected, found }) }
}
