//! Past changes as visible to the caller of a registry: log entries are filtered by [`visibility`].

use std::{sync::Arc, vec};

use serde_json::value::RawValue;

use super::{
    Registry,
    presence::Presence,
    visibility::{self, Shown, Sight},
};
use crate::{
    Result,
    access::Access,
    change::{Change, ChangeKind, DeletionReason, Seq},
    store::{ChangeOrigin, Life, Lives, Logged, LoggedChange, Membership},
    td::{self, merge_patch},
};

/// Number of changes of a Thing read at once.
const CHANGES_AT_ONCE: usize = 64;

/// Changes in a single log entry that are visible to a caller. A change of a Thing yields at most one visible change. A
/// change of the members of a namespace yields a visible change for each Thing that becomes visible or invisible, in
/// ascending order of id. All these changes have the position of the entry.
pub struct Seen(Content);

enum Content {
    Change(Option<Result<Arc<LoggedChange>>>),
    Membership { registry: Registry, membership: Arc<Membership>, presence: Presence, ids: vec::IntoIter<String> },
}

impl Seen {
    /// Keeps only changes of Things with ids greater than `id`.
    pub fn after(mut self, id: &str) -> Seen {
        if let Content::Membership { ids, .. } = &mut self.0 {
            while ids.as_slice().first().is_some_and(|next| next.as_str() <= id) {
                ids.next();
            }
        }
        self
    }
}

impl Seen {
    /// Keeps only the change of the Thing `id`.
    pub fn of(mut self, id: &str) -> Seen {
        match &mut self.0 {
            Content::Change(Some(Ok(change))) if change.id != id => self.0 = Content::Change(None),
            Content::Change(_) => {}
            Content::Membership { ids, .. } => {
                *ids = ids
                    .as_slice()
                    .binary_search_by(|other| other.as_str().cmp(id))
                    .map_or_else(|_| Vec::new().into_iter(), |_| vec![id.to_owned()].into_iter());
            }
        }
        self
    }
}

impl Iterator for Seen {
    type Item = Result<Arc<LoggedChange>>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Content::Change(change) => change.take(),
            Content::Membership { registry, membership, presence, ids } => {
                ids.find_map(|id| registry.seen_by_membership(membership, &id, *presence).transpose())
            }
        }
    }
}

impl Registry {
    /// Returns the changes in a log entry, as seen by the caller. A Thing that becomes visible is reported as created,
    /// a Thing that becomes invisible as deleted. The content of a deletion depends on the `presence` of the reader.
    #[doc(hidden)]
    pub fn seen(&self, entry: &Logged, presence: Presence) -> Seen {
        match entry {
            Logged::Change(change) => Seen(Content::Change(self.seen_change(change, presence).transpose())),
            Logged::Declaration(_) => Seen(Content::Change(None)),
            Logged::Membership(membership) => {
                let owner = if self.sees_all() { None } else { self.caller().owner() };
                let ids = owner.filter(|owner| membership.concerns(owner)).map(|_| self.ids_concerned(membership));
                let (registry, membership) = (self.clone(), membership.clone());
                let ids = ids.unwrap_or_default().into_iter();
                Seen(Content::Membership { registry, membership, presence, ids })
            }
        }
    }

    /// Returns a change as visible to the caller, or `None` if it is hidden.
    fn seen_change(&self, change: &Arc<LoggedChange>, presence: Presence) -> Result<Option<Arc<LoggedChange>>> {
        if self.sees_all() {
            return Ok(Some(change.clone()));
        }
        let is_public = change.access_before.is_public() && change.access_after.is_public();
        let Some(lives) = self.0.store.lives_unseen(&change.id)? else {
            return Ok(is_public.then(|| change.clone()));
        };
        let (Some(life), Some(grants)) = (lives.at(change.seq), self.grants()) else { return Ok(None) };
        let log_start = self.0.store.log_start();
        Ok(match visibility::shown(life, &grants, change.seq, log_start) {
            Shown::Nothing => None,
            Shown::Entry => Some(change.clone()),
            Shown::Creation => self.comes_into_sight(change, life)?.map(of_update),
            Shown::Deletion if presence.saw(life, &grants, change.seq, log_start) => {
                Some(of_update(leaves_sight(change)))
            }
            Shown::Deletion => Some(Arc::new(id_alone(leaves_sight(change), false))),
        })
    }

    /// True if nothing is hidden from its caller.
    fn sees_all(&self) -> bool {
        self.grants().is_none()
    }

    /// Returns the Things that may become visible or invisible by a change of membership.
    fn ids_concerned(&self, membership: &Membership) -> Vec<String> {
        let store = &self.0.store;
        let mut ids = store.ids_in_namespace(membership.number);
        ids.extend(store.ids_unseen_since(membership.seq));
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the change of a Thing caused by a change of membership, as visible to the caller.
    fn seen_by_membership(
        &self,
        membership: &Membership,
        id: &str,
        presence: Presence,
    ) -> Result<Option<Arc<LoggedChange>>> {
        let (Some(grants), lives) = (self.grants(), self.lives(id)?) else { return Ok(None) };
        let log_start = self.0.store.log_start();
        for life in lives.iter() {
            let change = match visibility::could_see(life, &grants) {
                Sight::From(from) if from == membership.seq => self.joins(membership, id, life)?,
                Sight::Left(left) if left == membership.seq && !presence.saw(life, &grants, left, log_start) => {
                    Some(id_alone(self.by_membership(membership, id, ChangeKind::Deleted), true))
                }
                Sight::Left(left) if left == membership.seq => Some(self.leaves(membership, id, life)?),
                _ => None,
            };
            if change.is_some() {
                return Ok(change.map(Arc::new));
            }
        }
        Ok(None)
    }

    /// Returns up to `limit` visible changes of a Thing after a position.
    pub(super) fn seen_history(
        &self,
        id: &str,
        since: Seq,
        limit: usize,
        presence: Presence,
    ) -> Result<Vec<Arc<LoggedChange>>> {
        let mut by_membership = self.changes_by_membership(id, since, presence)?.into_iter().peekable();
        let (mut seen, mut position) = (Vec::new(), since);
        while seen.len() < limit {
            let changes = self.0.store.history(id, position, CHANGES_AT_ONCE)?;
            let Some(last) = changes.last().map(|change| change.seq) else { break };
            for change in changes {
                while let Some(earlier) = by_membership.next_if(|other| other.seq < change.seq) {
                    seen.push(earlier);
                }
                seen.extend(self.seen_change(&Arc::new(change.into()), presence)?);
            }
            position = last;
        }
        seen.extend(by_membership);
        seen.truncate(limit);
        Ok(seen)
    }

    /// Returns the changes after `since` that the caller sees only because it joined or left a namespace.
    fn changes_by_membership(&self, id: &str, since: Seq, presence: Presence) -> Result<Vec<Arc<LoggedChange>>> {
        let Some(grants) = self.grants().filter(|grants| grants.has_namespaces()) else { return Ok(Vec::new()) };
        let (mut changes, lives) = (Vec::new(), self.lives(id)?);
        for life in lives.iter() {
            let (Sight::From(at) | Sight::Left(at)) = visibility::could_see(life, &grants) else { continue };
            if at > since
                && let Some(Logged::Membership(membership)) = self.0.store.entry(at)?
            {
                changes.extend(self.seen_by_membership(&membership, id, presence)?);
            }
        }
        Ok(changes)
    }

    /// The lives of an id; of one of which the log has nothing any more, as its record is.
    fn lives(&self, id: &str) -> Result<Arc<Lives>> {
        let lives = self.0.store.lives(id)?;
        if lives.iter().any(|life| life.ended.is_none()) {
            return Ok(lives);
        }
        let Some(record) = self.0.store.find_unpurged(id)? else { return Ok(lives) };
        Ok(Arc::new(Lives::clone(&lives).with_present(record.access)))
    }

    /// Returns a creation, for a caller to whom the Thing was invisible before.
    fn comes_into_sight(&self, change: &Change, life: &Life) -> Result<Option<Change>> {
        let Some(text) = self.text_at(&change.id, life, change.seq)? else { return Ok(None) };
        let capabilities_after = capability_keys(&text);
        Ok(Some(Change {
            kind: ChangeKind::Created,
            td: RawValue::from_string(text).ok(),
            patch: None,
            capabilities_before: Vec::new(),
            capabilities_after,
            access_before: Access::default(),
            ..change.clone()
        }))
    }

    /// Returns a creation, for a caller who has joined the namespace.
    fn joins(&self, membership: &Membership, id: &str, life: &Life) -> Result<Option<LoggedChange>> {
        let Some(text) = self.text_at(id, life, membership.seq)? else { return Ok(None) };
        let change = self.by_membership(membership, id, ChangeKind::Created);
        let access_after = visibility::access_at(life, membership.seq).cloned().unwrap_or_default();
        let capabilities_after = capability_keys(&text);
        let change = Change { td: RawValue::from_string(text).ok(), capabilities_after, access_after, ..change };
        Ok(Some(LoggedChange::in_place_of(ChangeOrigin::Membership(None), change)))
    }

    /// Returns a deletion, for a caller who has left the namespace.
    fn leaves(&self, membership: &Membership, id: &str, life: &Life) -> Result<LoggedChange> {
        let change = self.by_membership(membership, id, ChangeKind::Deleted);
        let access_before = visibility::access_at(life, membership.seq).cloned().unwrap_or_default();
        let last = self.text_left(id, life, membership.seq)?;
        let capabilities_before = match &last {
            Some(text) => capability_keys(text),
            // The next change says what there was before.
            None => {
                let next = self.0.store.history(id, membership.seq, 1)?.into_iter().next();
                next.map(|next| next.capabilities_before).unwrap_or_default()
            }
        };
        let change = Change { reason: Some(DeletionReason::Removed), capabilities_before, access_before, ..change };
        Ok(LoggedChange::in_place_of(ChangeOrigin::Membership(last.map(String::into_boxed_str)), change))
    }

    /// Returns the description of a Thing at a position, for a caller who must not see later descriptions, or `None`
    /// if it can't be reconstructed from the log.
    fn text_left(&self, id: &str, life: &Life, position: Seq) -> Result<Option<String>> {
        let store = &self.0.store;
        if visibility::has_creation(life, store.log_start()) {
            return self.text_at(id, life, position);
        }
        let record = if life.ended.is_none() { store.find_unpurged(id)? } else { None };
        Ok(record.filter(|record| record.seq < position).map(|record| record.text))
    }

    fn by_membership(&self, membership: &Membership, id: &str, kind: ChangeKind) -> Change {
        let Membership { seq, previous, at, actor, .. } = membership.clone();
        let (access_before, access_after, capabilities_before, capabilities_after) = Default::default();
        Change {
            epoch: self.epoch(),
            seq,
            previous,
            kind,
            reason: None,
            id: id.to_owned(),
            at,
            actor,
            td: None,
            patch: None,
            capabilities_before,
            capabilities_after,
            access_before,
            access_after,
        }
    }

    /// Returns the description of a Thing after a position of a life, reconstructed from its creation and patches. If
    /// the log no longer contains the creation, returns the present description, provided that the life continues.
    pub(super) fn text_at(&self, id: &str, life: &Life, position: Seq) -> Result<Option<String>> {
        let store = &self.0.store;
        let created = life.created.filter(|_| visibility::has_creation(life, store.log_start()));
        let Some(created) = created else {
            let record = if life.ended.is_none() { store.find_unpurged(id)? } else { None };
            return Ok(record.map(|record| record.text));
        };
        let (mut text, mut since): (Option<String>, Seq) = (None, Seq(created.0.saturating_sub(1)));
        loop {
            let changes = store.history(id, since, CHANGES_AT_ONCE)?;
            let Some(last) = changes.last().map(|change| change.seq) else { return Ok(text) };
            for change in changes {
                if change.seq > position {
                    return Ok(text);
                }
                text = match (change.td, change.patch, text) {
                    (Some(td), ..) => Some(td.get().to_owned()),
                    (_, Some(patch), Some(before)) => Some(merge_patch::apply(&before, patch.get())?),
                    (.., text) => text,
                };
            }
            since = last;
        }
    }
}

fn capability_keys(text: &str) -> Vec<String> {
    let thing: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    td::capabilities(&thing).into_iter().map(|capability| capability.key().to_owned()).collect()
}

fn of_update(change: Change) -> Arc<LoggedChange> {
    Arc::new(LoggedChange::in_place_of(ChangeOrigin::Update, change))
}

/// Returns a deletion, for a caller to whom the Thing has become invisible.
fn leaves_sight(change: &Change) -> Change {
    Change {
        kind: ChangeKind::Deleted,
        reason: Some(DeletionReason::Removed),
        td: None,
        patch: None,
        capabilities_after: Vec::new(),
        access_after: Access::default(),
        ..change.clone()
    }
}

/// Reduces a deletion to the id, for a caller that was never connected while it could see the Thing.
fn id_alone(deletion: Change, by_membership: bool) -> LoggedChange {
    let change = Change {
        reason: Some(DeletionReason::Removed),
        actor: None,
        capabilities_before: Vec::new(),
        access_before: Access::default(),
        ..deletion
    };
    LoggedChange::in_place_of(ChangeOrigin::Unseen { by_membership }, change)
}
