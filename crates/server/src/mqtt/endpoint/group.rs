//! Shared subscriptions: the members of a group share the log, and each message is assigned to the member that asks for
//! it first.
//!
//! The members of a group have one owner, and yet they may see two different things: admins see everything, the others
//! what their owner sees. So a group has two positions in the log. Of a change that both may read, whichever position
//! comes to it first assigns the messages that it sees; the other one assigns what is left: those that the first doesn't
//! see. Nothing is queued for that, and a message that nobody sees is dropped once both have passed it.
//!
//! A subscription that matches messages of saved queries too has a second group for these, which come later.
//!
//! What members were due depends on when they were present; those of one scope are present from the first that connects to
//! the last that is connected.
//!
//! A message that a member leaves unacknowledged is requeued and goes to another. A group lives as long as a session,
//! connected or away, has the subscription; its positions are stored beside the sessions.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::{
    super::feed::{Audience, Feed, Lane, LanePosition, Message, MessageKey, Messages, Next, Part, QueryLevels},
    matcher::Matcher,
    trie::FilterId,
};
use crate::{
    Registry, Result,
    access::{Caller, Principal, Role},
    change::{ChangeKind, Seq},
    registry::Presence,
    store::{Logged, LoggedChange},
};

/// The most changes and messages that are examined to assign one message.
const EXAMINED_AT_ONCE: usize = 64;

/// A message of an entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    seq: Seq,
    /// The Thing: a membership can be a change of many.
    id: Box<str>,
    message: MessageKey,
}

/// The answer to a member that asked for a message.
pub(super) enum Assigned {
    /// A change as the member sees it, its messages and the index among them, and the place to acknowledge.
    Message(Arc<LoggedChange>, Arc<Messages>, usize, Place),
    /// There are more changes to examine.
    Busy,
    Nothing,
}

/// The view of a member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    /// That of its owner.
    OwnersView,
}

impl Scope {
    const BOTH: [Scope; 2] = [Scope::Everything, Scope::OwnersView];

    fn other(self) -> Scope {
        match self {
            Scope::Everything => Scope::OwnersView,
            Scope::OwnersView => Scope::Everything,
        }
    }
}

/// A client as a member of groups.
pub(super) struct Member {
    scope: Scope,
    /// The registry as it sees it.
    registry: Registry,
    /// The registry as members of the other scope see it.
    others: Registry,
}

impl Member {
    /// The member that sees this of the registry.
    pub fn of(registry: &Registry) -> Member {
        let scope = if registry.grants().is_none() { Scope::Everything } else { Scope::OwnersView };
        let others = match (scope, registry.caller().owner()) {
            (Scope::OwnersView, _) => Caller::Trusted,
            (Scope::Everything, None) => Caller::Anonymous,
            (Scope::Everything, Some(owner)) => {
                let (owner, key) = (owner.clone(), String::new());
                Caller::Principal(Arc::new(Principal { owner, role: Role::Read, key, expires: None }))
            }
        };
        Member { scope, others: registry.as_caller(others), registry: registry.clone() }
    }
}

/// The positions of a group, as they are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Positions {
    /// The position up to which everything is acknowledged.
    pub seq: Seq,
    /// The position from which members who see everything go on; none where there are none.
    pub everything: Option<Seq>,
    /// The position from which the other members go on.
    pub owners_view: Option<Seq>,
}

/// A change as a member sees it, its messages, and the index among them.
type FoundMessage = (Arc<LoggedChange>, Arc<Messages>, usize);

/// Messages, with the scope of the members that were due each.
type Places = BTreeMap<Place, Scope>;

/// The members of one shared subscription, as readers of a lane.
pub(super) struct Group {
    text: Arc<str>,
    /// Only what happened later concerns it.
    since: Seq,
    is_of_queries: bool,
    filters: Box<[FilterId]>,
    /// Saved queries whose messages its filters match.
    wanted: QueryLevels,
    state: Mutex<State>,
}

struct State {
    /// Number of sessions that have the subscription.
    sessions: usize,
    /// The scopes of those sessions that have been connected.
    scopes: HashMap<Arc<str>, Scope>,
    everything: Progress,
    owners_view: Progress,
    assigned: Places,
    /// Messages that any member may take.
    requeued: Places,
    /// The positions that the store has.
    saved: Option<Positions>,
}

/// The progress of the members of one scope.
struct Progress {
    /// True if there are such members.
    is_present: bool,
    /// Number of such members that are connected.
    connected: usize,
    /// When any of them was connected, as far as this process knows.
    presence: Presence,
    /// The end of the last part that is examined completely.
    position: LanePosition,
    /// The end of the last part that is examined at all.
    begun: LanePosition,
    /// The part after `position`, while its messages are assigned.
    current: Option<Current>,
    /// Requeued messages that only these members may see.
    requeued: Places,
}

struct Current {
    part: Part,
    /// Messages that aren't assigned yet, each with its index in those of its change.
    left: VecDeque<(Place, usize)>,
    /// The change and its messages, where the part is a single change.
    listed: Option<(ChangeKind, Arc<Messages>)>,
}

/// A connected member of a group.
pub(super) struct Attendance {
    pub group: Arc<Group>,
    /// The change after which it went on.
    pub resumed: Seq,
    scope: Scope,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let mut state = self.group.state();
        let progress = state.progress_mut(self.scope);
        progress.connected = progress.connected.saturating_sub(1);
    }
}

impl Group {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if its messages are those of saved queries.
    pub fn is_of_queries(&self) -> bool {
        self.is_of_queries
    }

    /// Connects a session's client: its scope has members from now on. The log ends at `last`; `resumed` is the position from
    /// which the client goes on in the other group of the subscription, if it has entered that.
    pub fn enter(self: Arc<Group>, session: &str, member: &Member, last: Seq, resumed: Option<Seq>) -> Attendance {
        let mut state = self.state();
        state.scopes.insert(session.into(), member.scope);
        state.begin(member.scope);
        state.end_absent_scopes();
        let progress = state.progress_mut(member.scope);
        let resumed = progress.position.in_log().or(resumed).unwrap_or(last);
        if progress.connected == 0 {
            progress.presence = Presence::new(resumed, last);
        }
        progress.connected += 1;
        drop(state);
        Attendance { group: self, scope: member.scope, resumed }
    }

    /// Goes on where the stored group was.
    pub fn resume(&self, positions: Positions) {
        let mut state = self.state();
        if state.scopes.is_empty() {
            for (scope, position) in Scope::BOTH.into_iter().zip([positions.everything, positions.owners_view]) {
                let position = LanePosition::Log(position.unwrap_or(positions.seq));
                *state.progress_mut(scope) = Progress::at(position);
            }
            state.everything.is_present = positions.everything.is_some();
            state.owners_view.is_present = positions.owners_view.is_some();
        }
    }

    /// Assigns the next message to the member that asks.
    pub fn assign(&self, feed: &Feed, matcher: &Matcher, member: &Member) -> Result<Assigned> {
        let mut state = self.state();
        for _ in 0..EXAMINED_AT_ONCE {
            if let Some((place, due)) = state.first_requeued(member.scope) {
                let entry = feed.find(place.seq)?;
                // What one of its kind was due, a member is due however late it comes.
                let is_due = due == member.scope;
                let presence = if is_due { Presence::ALWAYS } else { state.progress(member.scope).presence };
                let found = match &entry {
                    Some(entry) => self.find(feed, matcher, (&member.registry, presence), entry, &place)?,
                    None => None,
                };
                let is_for_all = state.take_requeued(&place);
                match found {
                    Some(found) => return Ok(state.assign(found, place, member.scope)),
                    None if is_for_all && entry.is_some() => state.leave_to_others(place, member.scope, due),
                    // The log no longer has it, or all have passed it over.
                    None => {}
                }
                continue;
            }
            let progress = state.progress_mut(member.scope);
            if let Some(current) = &mut progress.current {
                let entry = current.part.entry.clone();
                let listed = current.listed.clone();
                let Some((place, index)) = current.left.pop_front() else {
                    progress.position = current.part.end;
                    progress.current = None;
                    continue;
                };
                let view = (&member.registry, Presence::ALWAYS);
                let found = match listed {
                    Some((kind, messages)) => listed_message(view, &entry, kind, messages, index)?,
                    None => None,
                };
                let found = match found {
                    None => self.find(feed, matcher, view, &entry, &place)?,
                    found => found,
                };
                match found {
                    Some(found) => return Ok(state.assign(found, place, member.scope)),
                    // It has left the member's view meanwhile.
                    None => state.leave_to_others(place, member.scope, member.scope),
                }
                continue;
            }
            let audience = Audience { reader: &member.registry, wanted: &self.wanted };
            let part = match feed.after(progress.position, audience)? {
                Next::Part(part) => part,
                Next::Nothing => return Ok(Assigned::Nothing),
                Next::Skipped(end) => {
                    (progress.position, progress.begun) = (end, progress.begun.max(end));
                    continue;
                }
                Next::Lost { resume, .. } => {
                    let group = &*self.text;
                    tracing::warn!(group, "a group of MQTT subscribers missed changes that are no longer in the log");
                    (progress.position, progress.begun) = (resume, progress.begun.max(resume));
                    continue;
                }
            };
            let mut current = self.list(feed, matcher, (&member.registry, progress.presence), &part)?;
            let others = state.progress(member.scope.other());
            if !current.left.is_empty() && others.begun >= part.end {
                let taken = self.list(feed, matcher, (&member.others, others.presence), &part)?;
                let taken: BTreeSet<Place> = taken.left.into_iter().map(|(place, _)| place).collect();
                current.left.retain(|(place, _)| !taken.contains(place));
            }
            state.share_current(member.scope.other(), part.end);
            let progress = state.progress_mut(member.scope);
            progress.begun = progress.begun.max(part.end);
            progress.current = Some(current);
        }
        Ok(Assigned::Busy)
    }

    /// Lists the messages of a part that the group subscribes to, as far as somebody sees it, in order.
    fn list(
        &self,
        feed: &Feed,
        matcher: &Matcher,
        (registry, presence): (&Registry, Presence),
        part: &Part,
    ) -> Result<Current> {
        let mut current = Current { part: part.clone(), left: VecDeque::new(), listed: None };
        if part.entry.seq() <= self.since {
            return Ok(current);
        }
        for change in registry.seen(&part.entry, presence) {
            let change = change?;
            let messages = feed.messages(part, &change, Audience { reader: registry, wanted: &self.wanted });
            let matches = matcher.matches(feed, &change, &messages);
            let indexes: BTreeSet<u32> =
                self.filters.iter().flat_map(|filter| matches.messages(*filter).iter().copied()).collect();
            for index in indexes.into_iter().map(|index| index as usize) {
                let Some(message) = messages.get(index).filter(|message| message.is_seen_by(registry)) else {
                    continue;
                };
                let (id, message) = (change.id.as_str().into(), message.key(feed.topics()));
                let place = Place { seq: change.seq, id, message };
                current.left.push_back((place, index));
            }
            // A membership may be changes of many Things: their messages are made again.
            current.listed = part.entry.change().map(|_| (change.kind, messages));
        }
        Ok(current)
    }

    /// A message of an entry as somebody sees it, if it does and the group subscribes to that.
    fn find(
        &self,
        feed: &Feed,
        matcher: &Matcher,
        (registry, presence): (&Registry, Presence),
        entry: &Logged,
        place: &Place,
    ) -> Result<Option<FoundMessage>> {
        let mut seen = registry.seen(entry, presence).of(&place.id);
        let Some(change) = seen.next().transpose()? else { return Ok(None) };
        let messages = match place.message.query_level() {
            Some(level) => Arc::new(feed.messages_of_query(&change, level)),
            None => feed.plain_messages(&change),
        };
        let matches = matcher.matches(feed, &change, &messages);
        let is_it = |other: &Message| other.has_key(&place.message, feed.topics()) && other.is_seen_by(registry);
        let found = messages.iter().position(is_it);
        let is_matched = |index: &usize| {
            let matches_index = |filter: &FilterId| matches.messages(*filter).binary_search(&(*index as u32)).is_ok();
            self.filters.iter().any(matches_index)
        };
        Ok(found.filter(is_matched).map(|index| (change, messages, index)))
    }

    /// A message needs no other member.
    pub fn acknowledge(&self, place: &Place) {
        self.state().assigned.remove(place);
    }

    /// The positions to go on at after a restart, if the store doesn't have them yet; from now on it has.
    pub fn take_unsaved(&self) -> Option<Positions> {
        let mut state = self.state();
        let positions = state.positions();
        (state.saved.replace(positions) != Some(positions)).then_some(positions)
    }
}

/// A message that was listed of a change; `None` if the change is another one to the reader by now, or it doesn't see it.
fn listed_message(
    (registry, presence): (&Registry, Presence),
    entry: &Logged,
    kind: ChangeKind,
    messages: Arc<Messages>,
    index: usize,
) -> Result<Option<FoundMessage>> {
    let is_seen = messages.get(index).is_some_and(|message| message.is_seen_by(registry));
    let change = registry.seen(entry, presence).next().transpose()?;
    let change = change.filter(|change| is_seen && change.kind == kind);
    Ok(change.map(|change| (change, messages, index)))
}

impl Progress {
    fn at(position: LanePosition) -> Progress {
        Progress {
            is_present: false,
            connected: 0,
            presence: Presence::at(Seq::ZERO),
            position,
            begun: position,
            current: None,
            requeued: Places::new(),
        }
    }
}

impl State {
    fn progress(&self, scope: Scope) -> &Progress {
        match scope {
            Scope::Everything => &self.everything,
            Scope::OwnersView => &self.owners_view,
        }
    }

    fn progress_mut(&mut self, scope: Scope) -> &mut Progress {
        match scope {
            Scope::Everything => &mut self.everything,
            Scope::OwnersView => &mut self.owners_view,
        }
    }

    /// A scope that has its first member begins where the group is.
    fn begin(&mut self, scope: Scope) {
        if self.progress(scope).is_present {
            return;
        }
        let others = Some(self.progress(scope.other())).filter(|others| others.is_present);
        let others = others.map(|others| others.position);
        let progress = self.progress_mut(scope);
        progress.is_present = true;
        progress.position = others.map_or(progress.position, |others| others.max(progress.position));
        progress.begun = progress.begun.max(progress.position);
    }

    /// Drops what waits for members of a scope that has none any more.
    fn end_absent_scopes(&mut self) {
        if self.scopes.len() < self.sessions {
            // Those that weren't connected since the start may be of any.
            return;
        }
        for scope in Scope::BOTH {
            if self.scopes.values().any(|present| *present == scope) {
                continue;
            }
            let progress = self.progress_mut(scope);
            progress.is_present = false;
            progress.requeued.clear();
            if let Some(end) = progress.current.as_ref().map(|current| current.part.end) {
                self.share_current(scope, end);
            }
        }
    }

    /// Lets all members take what those of a scope haven't assigned yet of a part: what is left is for others too.
    fn share_current(&mut self, scope: Scope, end: LanePosition) {
        let current = self.progress_mut(scope).current.as_mut().filter(|current| current.part.end == end);
        let left = current.map(|current| std::mem::take(&mut current.left)).unwrap_or_default();
        self.requeued.extend(left.into_iter().map(|(place, _)| (place, scope)));
    }

    fn first_requeued(&self, scope: Scope) -> Option<(Place, Scope)> {
        let own = self.progress(scope).requeued.first_key_value();
        let first = own.into_iter().chain(self.requeued.first_key_value()).min_by_key(|(place, _)| *place);
        first.map(|(place, due)| (place.clone(), *due))
    }

    /// Takes a message out that was requeued; true if it was for all members.
    fn take_requeued(&mut self, place: &Place) -> bool {
        self.everything.requeued.remove(place);
        self.owners_view.requeued.remove(place);
        self.requeued.remove(place).is_some()
    }

    /// A member passes a message over. Without members of the other scope it is dropped.
    fn leave_to_others(&mut self, place: Place, scope: Scope, due: Scope) {
        let others = self.progress_mut(scope.other());
        if others.is_present {
            others.requeued.insert(place, due);
        }
    }

    fn assign(&mut self, (change, messages, index): FoundMessage, place: Place, scope: Scope) -> Assigned {
        self.assigned.insert(place.clone(), scope);
        Assigned::Message(change, messages, index, place)
    }

    fn positions(&self) -> Positions {
        let places = [&self.assigned, &self.requeued, &self.everything.requeued, &self.owners_view.requeued];
        // Before the first change that has an open message. That may be a number which is not the position of a change.
        let open = places
            .into_iter()
            .filter_map(|places| places.keys().next())
            .map(|place| place.seq.0.saturating_sub(1))
            .min();
        let before_open = |seq: Seq| Seq(open.map_or(seq.0, |open| open.min(seq.0)));
        let in_log = |progress: &Progress| progress.position.in_log().unwrap_or_default();
        let position = |scope| {
            let progress = self.progress(scope);
            progress.is_present.then(|| before_open(in_log(progress)))
        };
        let (everything, owners_view) = (position(Scope::Everything), position(Scope::OwnersView));
        let none_is_present = || before_open(in_log(&self.everything).max(in_log(&self.owners_view)));
        let seq = everything.into_iter().chain(owners_view).min().unwrap_or_else(none_is_present);
        Positions { seq, everything, owners_view }
    }
}

/// Name of the second group of a subscription, which reads the messages of saved queries. No filter has a NUL.
fn name_in(lane: Lane, text: &str) -> Arc<str> {
    match lane {
        Lane::Plain => text.into(),
        Lane::Queries => format!("{text}\0queries").into(),
    }
}

/// All groups.
pub(super) struct Groups {
    groups: Mutex<HashMap<Arc<str>, Arc<Group>>>,
    /// Those without members whose position is still in the store.
    abandoned: Mutex<Vec<Arc<str>>>,
    requeued: watch::Sender<()>,
}

impl Groups {
    pub fn new() -> Groups {
        Groups { groups: Mutex::default(), abandoned: Mutex::default(), requeued: watch::Sender::new(()) }
    }

    fn groups(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies of messages that were requeued.
    pub fn requeued(&self) -> watch::Receiver<()> {
        self.requeued.subscribe()
    }

    /// Another session has the subscription; a new group starts at a position in its lane, with changes after `since`. A
    /// session that `is_stored` comes from the store, as does the position then.
    pub fn join(
        &self,
        text: &Arc<str>,
        filters: &[FilterId],
        wanted: QueryLevels,
        start: LanePosition,
        since: Seq,
        is_stored: bool,
    ) {
        let is_of_queries = start.in_log().is_none();
        let lane = if is_of_queries { Lane::Queries } else { Lane::Plain };
        let mut groups = self.groups();
        let group = groups.entry(name_in(lane, text)).or_insert_with(|| {
            let saved = is_stored.then_some(Positions { seq: since, ..Positions::default() });
            let state = State {
                sessions: 0,
                scopes: HashMap::new(),
                everything: Progress::at(start),
                owners_view: Progress::at(start),
                assigned: Places::new(),
                requeued: Places::new(),
                saved,
            };
            let (text, filters) = (text.clone(), filters.into());
            Arc::new(Group { text, since, is_of_queries, filters, wanted, state: Mutex::new(state) })
        });
        group.state().sessions += 1;
    }

    /// The group whose position is stored, if there is one.
    pub fn find(&self, text: &str) -> Option<Arc<Group>> {
        self.groups().get(text).cloned()
    }

    /// The groups of a subscription, one a lane.
    pub fn find_all(&self, text: &str) -> Vec<Arc<Group>> {
        let groups = self.groups();
        [Lane::Plain, Lane::Queries].into_iter().filter_map(|lane| groups.get(&name_in(lane, text)).cloned()).collect()
    }

    /// A session no longer has the subscription.
    pub fn leave(&self, text: &str, session: &str) {
        let mut groups = self.groups();
        for name in [Lane::Plain, Lane::Queries].map(|lane| name_in(lane, text)) {
            let Some(group) = groups.get(&name) else { continue };
            let mut state = group.state();
            state.sessions = state.sessions.saturating_sub(1);
            state.scopes.remove(session);
            state.end_absent_scopes();
            let (is_abandoned, is_stored) = (state.sessions == 0, state.saved.is_some());
            drop(state);
            if is_abandoned && groups.remove(&name).is_some() && is_stored {
                self.abandoned().push(name);
            }
        }
        drop(groups);
        self.requeued.send_replace(());
    }

    fn abandoned(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The groups without members whose position the store still has; from now on they count as removed.
    pub fn take_abandoned(&self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.abandoned())
    }

    /// A member has left without acknowledging this.
    pub fn requeue(&self, group: &Group, place: Place) {
        let mut state = group.state();
        if let Some(due) = state.assigned.remove(&place) {
            state.requeued.insert(place, due);
        }
        drop(state);
        self.requeued.send_replace(());
    }
}
