//! Writes go to the committer, or it is foreseen what they would do.

use agentdex_api::Effect;

use super::Registry;
use crate::{
    Error, Result,
    change::{Precondition, Seq},
    store::{self, Author, Operation, Outcome},
    td::{self, Violation},
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
        let effects = if commit.dry_run {
            writes.iter().map(|write| self.foresee(write, &commit.author)).collect::<Result<_>>()?
        } else {
            let ticket = self.0.store.submit_as(commit.author.clone(), writes);
            effects(&if commit.may_block { ticket.wait()? } else { ticket.await? })
        };
        effects.first().copied().ok_or(Error::NotFound { id })
    }

    /// Writes all of it or nothing; one effect a write, in their order.
    pub(super) async fn commit_all(
        &self,
        writes: Vec<store::Write>,
        author: Author,
        dry_run: bool,
    ) -> Result<Vec<(Effect, Seq)>> {
        if dry_run {
            return writes.iter().map(|write| self.foresee(write, &author)).collect();
        }
        Ok(effects(&self.0.store.submit_as(author, writes).await?))
    }

    /// What a write would do now.
    fn foresee(&self, write: &store::Write, author: &Author) -> Result<(Effect, Seq)> {
        let record = self.0.store.find(&write.id)?;
        let seq = record.as_ref().map(|record| record.seq);
        check(&write.id, write.precondition, seq)?;
        if record.as_ref().is_some_and(|record| !record.access.lets_change(&author.caller)) {
            return Err(Error::NotOwner { id: write.id.clone() });
        }
        let has_other_access =
            record.as_ref().is_some_and(|record| author.access.applied_to(&record.access) != record.access);
        let effect = match (&write.operation, &record) {
            (Operation::Put { .. }, None) => Effect::Created,
            (Operation::Put { text, original, .. }, Some(record)) => {
                let has_other_format = original.as_ref().is_some_and(|new| record.format.as_ref() != Some(&new.format));
                match (td::merge_patch::diff(&record.text, text), original) {
                    (Some(_), _) => Effect::Updated,
                    _ if has_other_format || has_other_access => Effect::Updated,
                    (None, Some(new)) if self.0.store.original(&write.id)?.as_ref() != Some(new) => {
                        Effect::OriginalUpdated
                    }
                    (None, _) => Effect::Unchanged,
                }
            }
            (Operation::Access, _) if has_other_access => Effect::Updated,
            (Operation::Renew { .. } | Operation::Metadata(_) | Operation::Access, _) => Effect::Unchanged,
            (Operation::Remove(_) | Operation::Purge, _) => Effect::Removed,
        };
        Ok((effect, seq.unwrap_or(Seq::ZERO)))
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
