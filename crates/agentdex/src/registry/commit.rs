//! Writes go to the committer, which applies a dry run like any other and takes it back.

use agentdex_api::Effect;

use super::Registry;
use crate::{
    Error, Result,
    change::{Precondition, Seq},
    store::{self, Author, Outcome, Ticket},
    td::Violation,
};

/// How a write is committed.
#[derive(Debug)]
pub(super) struct Commit {
    pub dry_run: bool,
    pub may_block: bool,
    pub author: Author,
}

impl Registry {
    /// Writes all of it or nothing; what became of the first.
    pub(super) async fn commit(&self, writes: Vec<store::Write>, commit: &Commit) -> Result<(Effect, Seq)> {
        let id = writes.first().map_or_else(String::new, |first| first.id.clone());
        let ticket = self.submit(writes, commit.author.clone(), commit.dry_run);
        let effects = effects(&if commit.may_block { ticket.wait()? } else { ticket.await? });
        effects.first().copied().ok_or(Error::NotFound { id })
    }

    /// Writes all of it or nothing; one effect a write, in their order.
    pub(super) async fn commit_all(
        &self,
        writes: Vec<store::Write>,
        author: Author,
        dry_run: bool,
    ) -> Result<Vec<(Effect, Seq)>> {
        Ok(effects(&self.submit(writes, author, dry_run).await?))
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
        Outcome::Removed(seq) => Some((Effect::Removed, *seq)),
        Outcome::NotDue => None,
    };
    outcomes.iter().filter_map(effect).collect()
}

/// The warning where a description that was imported by URL is no longer what its source says.
pub(super) fn tracking_stopped(was_tracked: bool, effect: Effect) -> Option<Violation> {
    let message = "the description was changed by hand: the URL that it was imported from is no longer tracked";
    (was_tracked && effect == Effect::Updated).then(|| Violation::new("", "tracking-stopped", message))
}

/// Whether a precondition holds of a record whose last change is `found`.
pub(super) fn check(id: &str, expected: Precondition, found: Option<Seq>) -> Result<()> {
    let holds = match expected {
        Precondition::Any => true,
        Precondition::Absent => found.is_none(),
        Precondition::Present => found.is_some(),
        Precondition::Seq(seq) => found == Some(seq),
    };
    if holds { Ok(()) } else { Err(Error::PreconditionFailed { id: id.into(), expected, found }) }
}
