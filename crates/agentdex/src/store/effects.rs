//! `Effects`: changes of a commit to the state in memory. All of them follow from the keys and values of the commit, and
//! from the values that they replace. The applier collects them as it decides.

use agentdex_api::AuditChain;
use sled::IVec;

use super::{
    audit,
    clock::LogClock,
    database::Database,
    layout,
    log::Start,
    namespaces::NamespaceRecord,
    overlay::{Pairs, Sealed},
    recent::RecentEntry,
    tree::{Tree, reading},
    value::{self, Body, Content, Entry, State, StoredRecord},
    view::View,
};
use crate::{
    Result,
    access::{Access, NamespaceNumber},
    change::{Seq, Timestamp},
};

/// Changes of a commit to the state in memory.
pub(super) struct Effects {
    /// New entries of the log.
    pub entries: Vec<RecentEntry>,
    /// Added (true) and removed expiries, by key.
    pub expiries: Vec<(IVec, bool)>,
    /// Access to Things that are or were restricted.
    pub restricted: Vec<(String, Access)>,
    /// Changed namespaces; `None` removes a namespace.
    pub namespaces: Vec<(NamespaceNumber, Option<NamespaceRecord>)>,
    /// End of the audit trail.
    pub audited: audit::End,
    /// True if any caller sees less afterwards.
    pub narrows: bool,
    /// Start of the log, if its oldest entries are dropped.
    pub log_start: Option<Start>,
    /// Ids that were last restricted at a dropped entry.
    pub no_longer_restricted: Vec<(String, Seq)>,
    /// Change of the time of the log, if it was not made by the decision itself.
    pub time: Option<LogTime>,
    /// Begin (since a moment) or end of an extension of all expiries.
    pub grace: Option<Option<Timestamp>>,
}

/// Change of the time of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogTime {
    /// The time of a new entry.
    Advanced(Timestamp),
    /// A reset by hand.
    Set(Timestamp),
}

/// Effects collected so far.
#[derive(Clone, Copy)]
pub(super) struct Savepoint {
    entries: usize,
    expiries: usize,
    restricted: usize,
    namespaces: usize,
    audited: audit::End,
    narrows: bool,
}

impl Effects {
    /// Creates the effects of an empty commit. `audited` is the end of the audit trail.
    pub fn none(audited: audit::End) -> Effects {
        let (entries, expiries, restricted, namespaces, no_longer_restricted) = Default::default();
        let (narrows, log_start, time, grace) = (false, None, None, None);
        Effects {
            entries,
            expiries,
            restricted,
            namespaces,
            audited,
            narrows,
            log_start,
            no_longer_restricted,
            time,
            grace,
        }
    }

    /// Returns a savepoint for [`Effects::roll_back`].
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            entries: self.entries.len(),
            expiries: self.expiries.len(),
            restricted: self.restricted.len(),
            namespaces: self.namespaces.len(),
            audited: self.audited,
            narrows: self.narrows,
        }
    }

    /// Discards the effects of an applier that were collected since a savepoint.
    pub fn roll_back(&mut self, to: Savepoint) {
        self.entries.truncate(to.entries);
        self.expiries.truncate(to.expiries);
        self.restricted.truncate(to.restricted);
        self.namespaces.truncate(to.namespaces);
        (self.audited, self.narrows) = (to.audited, to.narrows);
    }

    /// Makes a written commit visible to readers. `state` is the state of the store after the commit.
    pub fn publish(mut self, view: &View, state: State, time: &LogClock) {
        match self.time {
            Some(LogTime::Advanced(at)) => drop(time.advance(at)),
            Some(LogTime::Set(at)) => time.set(at),
            None => {}
        }
        view.past.publish(self.entries.iter_mut().filter_map(RecentEntry::stored_change));
        view.past.forget(&self.no_longer_restricted);
        view.log.cache(self.entries);
        view.audit.publish(self.audited);
        view.namespaces.publish(self.namespaces);
        view.publish(state, self.expiries, &self.restricted);
        if let Some(since) = self.grace {
            view.expiries.set_grace(since);
        }
    }
}

/// A commit ready to be written.
pub(super) struct Staged {
    pub sealed: Sealed,
    pub effects: Effects,
    /// True if the commit restricts access or revokes a key.
    pub revokes: bool,
}

impl Staged {
    pub fn new(sealed: Sealed, effects: Effects) -> Staged {
        Staged { revokes: sealed.revokes || effects.narrows, sealed, effects }
    }

    /// Derives the effects of a sealed commit from its pairs, ascending by key. The tree doesn't contain the commit
    /// yet.
    pub fn of(view: &View, db: &Database, sealed: Sealed) -> Result<Staged> {
        let Sealed { pairs, before, state, .. } = &sealed;
        let former = |key: &IVec| match before.get(key) {
            Some(former) => Ok(former.clone()),
            None => db.get(key).map_err(reading),
        };
        let mut effects = Effects::none(view.audit.last());
        let mut dropped_to = None;
        for (key, value) in pairs {
            match (Family::of(key), value) {
                (Family::Log, Some(value)) => {
                    let (seq, entry) = entry(pairs, key, value)?;
                    effects.time = Some(LogTime::Advanced(entry.at));
                    effects.entries.push(RecentEntry::new(seq, entry));
                }
                (Family::Log, None) => dropped_to = Some(layout::seq_of_key(key)?),
                (Family::Due, value) => effects.expiries.push((key.clone(), value.is_some())),
                (Family::Record, value) => {
                    let former = former(key)?;
                    let (was, is) = (access(former.as_ref())?, access(value.as_ref())?);
                    effects.narrows |= former.is_some() && value.is_some() && was != is && !is.is_public();
                    if !was.is_public() || !is.is_public() {
                        effects.restricted.push((layout::name_of(key, layout::RECORDS)?, is));
                    }
                }
                (Family::Restricted, None) => {
                    let id = layout::name_of(key, layout::RESTRICTED)?;
                    let seq = former(key)?.and_then(|seq| value::decode_seq(&seq).ok());
                    effects.no_longer_restricted.extend(seq.map(|seq| (id, seq)));
                }
                (Family::Namespace, value) => {
                    let number = NamespaceNumber(layout::seq_of_key(key)?.0);
                    let record = value.as_ref().map(|value| NamespaceRecord::decode(value)).transpose()?;
                    effects.namespaces.push((number, record));
                }
                (Family::Audit(chain), Some(entry)) => {
                    effects.audited.advance(chain, layout::seq_of_key(key)?.0, entry);
                }
                (Family::Grace, since) => {
                    effects.grace = Some(since.as_ref().map(|since| value::decode_moment(since)).transpose()?);
                }
                (Family::Restricted | Family::Other, _) | (Family::Audit(_), None) => {}
            }
        }
        if let Some(set) = value_of(pairs, layout::CLOCK_KEY) {
            effects.time = Some(LogTime::Set(value::decode_clock(set)?.1));
        }
        effects.log_start = dropped_to.map(|seq| start_after(&view.tree, db, pairs, (seq, state.last))).transpose()?;
        Ok(Staged::new(sealed, effects))
    }
}

/// Families of keys with a state in memory.
enum Family {
    Log,
    Due,
    Record,
    Restricted,
    Namespace,
    Audit(AuditChain),
    Grace,
    Other,
}

impl Family {
    fn of(key: &[u8]) -> Family {
        let families = [
            (layout::LOG, Family::Log),
            (layout::DUE, Family::Due),
            (layout::RECORDS, Family::Record),
            (layout::RESTRICTED, Family::Restricted),
            (layout::NAMESPACES, Family::Namespace),
            (layout::GRACE_KEY, Family::Grace),
        ];
        let family = families.into_iter().find(|(prefix, _)| key.starts_with(prefix)).map(|(_, family)| family);
        let chain = || AuditChain::ALL.into_iter().find(|chain| key.starts_with(layout::audit_prefix(*chain)));
        family.or_else(|| chain().map(Family::Audit)).unwrap_or(Family::Other)
    }
}

/// Returns the new value of a key.
pub(super) fn value_of<'p>(pairs: &'p Pairs, key: &[u8]) -> Option<&'p IVec> {
    let found = pairs.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
    pairs[found].1.as_ref()
}

/// Returns the access in a record; without a record, nothing is restricted.
fn access(record: Option<&IVec>) -> Result<Access> {
    record.map_or(Ok(Access::default()), |record| StoredRecord::decode(record)?.access())
}

/// Returns a log entry with the text that the commit stores apart.
fn entry(pairs: &Pairs, key: &[u8], value: &[u8]) -> Result<(Seq, Entry)> {
    let seq = layout::seq_of_key(key)?;
    let mut entry = Entry::decode(seq, value)?;
    if let Content::Change(change) = &mut entry.content
        && change.body == Body::Apart
    {
        let text = value_of(pairs, &layout::text_key(seq)).ok_or_else(layout::corrupt)?;
        change.body = Body::Text(value::text(text)?.to_owned());
    }
    Ok((seq, entry))
}

/// Returns the start of a log whose entries up to a position are dropped.
fn start_after(tree: &Tree, db: &Database, pairs: &Pairs, (dropped_to, last): (Seq, Seq)) -> Result<Start> {
    let next = layout::log_key(dropped_to.next());
    let kept = tree.pairs(db, &next, &layout::log_key(last.next())).next().transpose()?;
    let new = pairs.iter().find(|(key, value)| key.starts_with(layout::LOG) && *key >= next && value.is_some());
    let oldest = kept.map(|(key, _)| key).into_iter().chain(new.map(|(key, _)| key.clone())).min();
    let oldest = oldest.map_or(Ok(last.next()), |key| layout::seq_of_key(&key))?;
    Ok(Start { trimmed_to: dropped_to, oldest })
}
