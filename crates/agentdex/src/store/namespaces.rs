//! Namespaces: their owners, and the membership intervals of owners in terms of log positions.
//!
//! All namespaces are held in memory. Numbers are never reused: a name that is claimed again after it was given up
//! denotes a different namespace.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use serde::{Deserialize, Serialize};
use sled::IVec;

use super::{
    layout,
    tree::{Tree, reading},
};
use crate::{
    Result,
    access::{Grants, Namespace, NamespaceNumber, Owner},
    change::{Seq, Timestamp},
};

/// A stored namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceRecord {
    /// Name. Of several namespaces with the same name, all but one were given up.
    pub name: Namespace,
    /// Owner, or `None` for a namespace known to an earlier version only by its name.
    pub owner: Option<Owner>,
    /// Time of the claim.
    pub created: Timestamp,
    /// URL at which the domain confirmed the owner, if a proof was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// Position at which the namespace was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Seq>,
    /// Membership intervals of the owner and other members, earliest first.
    pub members: BTreeMap<Owner, Vec<Interval>>,
}

/// A membership interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// First position of the membership.
    pub since: Seq,
    /// First position after the membership.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Seq>,
}

impl NamespaceRecord {
    /// True if the owner is currently a member. A namespace that was given up has no members.
    pub fn has(&self, owner: &Owner) -> bool {
        self.members.get(owner).is_some_and(|times| times.last().is_some_and(|time| time.until.is_none()))
    }

    /// Returns the current members.
    pub fn present(&self) -> impl Iterator<Item = &Owner> {
        self.members.keys().filter(|owner| self.has(owner))
    }

    /// Sets the members from a position on. Returns who has joined and who has left.
    pub(super) fn set_members(&mut self, members: &BTreeSet<Owner>, at: Seq) -> (Vec<Owner>, Vec<Owner>) {
        let left: Vec<Owner> = self.present().filter(|owner| !members.contains(*owner)).cloned().collect();
        let joined: Vec<Owner> = members.iter().filter(|owner| !self.has(owner)).cloned().collect();
        for owner in &left {
            if let Some(time) = self.members.get_mut(owner).and_then(|times| times.last_mut()) {
                time.until = Some(at);
            }
        }
        for owner in &joined {
            self.members.entry(owner.clone()).or_default().push(Interval { since: at, until: None });
        }
        (joined, left)
    }

    /// Returns the record without intervals that ended before the beginning of the log, or `None` if there are none.
    fn without_times_before(&self, oldest: Seq) -> Option<NamespaceRecord> {
        let has_ended = |time: &Interval| time.until.is_some_and(|until| until < oldest);
        if !self.members.values().flatten().any(has_ended) {
            return None;
        }
        let mut shortened = self.clone();
        shortened.members.values_mut().for_each(|times| times.retain(|time| !has_ended(time)));
        shortened.members.retain(|_, times| !times.is_empty());
        Some(shortened)
    }

    pub(super) fn encode(&self) -> IVec {
        // A struct of texts and numbers is always JSON.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<NamespaceRecord> {
        serde_json::from_slice(bytes).map_err(|_| layout::corrupt())
    }
}

/// A change of a namespace.
#[derive(Debug, Clone)]
pub struct NamespaceWrite {
    /// Number of the namespace, or `None` for a new namespace, whose name must not be claimed.
    pub number: Option<NamespaceNumber>,
    /// New record, except for membership intervals.
    pub record: NamespaceRecord,
    /// New members including the owner, or `None` to give the namespace up.
    pub members: Option<BTreeSet<Owner>>,
}

/// The namespaces of a store.
#[derive(Debug, Default)]
pub(super) struct Namespaces(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    by_number: BTreeMap<NamespaceNumber, Arc<NamespaceRecord>>,
    /// Namespaces that aren't given up, by name.
    by_name: BTreeMap<Namespace, NamespaceNumber>,
    /// Grants of owners who are or were members.
    grants: HashMap<Owner, Arc<Grants>>,
}

impl Known {
    fn put(&mut self, number: NamespaceNumber, record: Arc<NamespaceRecord>) {
        let before = self.by_number.insert(number, record.clone());
        if record.given_up.is_some() {
            if self.by_name.get(&record.name) == Some(&number) {
                self.by_name.remove(&record.name);
            }
        } else {
            self.by_name.insert(record.name.clone(), number);
        }
        let known = before.iter().flat_map(|before| before.members.keys());
        let concerned: BTreeSet<Owner> = known.chain(record.members.keys()).cloned().collect();
        for owner in concerned {
            self.grant(owner, number, &record);
        }
    }

    fn remove(&mut self, number: NamespaceNumber) {
        let Some(record) = self.by_number.remove(&number) else { return };
        let nobody = NamespaceRecord { members: BTreeMap::new(), ..NamespaceRecord::clone(&record) };
        record.members.keys().for_each(|owner| self.grant(owner.clone(), number, &nobody));
    }

    /// Adds a namespace to the grants of an owner.
    fn grant(&mut self, owner: Owner, number: NamespaceNumber, record: &NamespaceRecord) {
        let grants = self.grants.entry(owner.clone()).or_default();
        let grants = Arc::make_mut(grants);
        grants.owner = Some(owner.clone());
        let times = record.members.get(&owner).map_or(&[][..], Vec::as_slice);
        let present = times.last().filter(|time| time.until.is_none() && record.given_up.is_none());
        match present {
            Some(time) => grants.member_since.insert(number, time.since),
            None => grants.member_since.remove(&number),
        };
        let former: Vec<(Seq, Seq)> = times
            .iter()
            .filter_map(|time| Some((time.since, time.until?)))
            .filter(|(since, until)| since < until)
            .collect();
        match former.is_empty() {
            true => grants.formerly.remove(&number),
            false => grants.formerly.insert(number, former),
        };
        if grants.member_since.is_empty() && grants.formerly.is_empty() {
            self.grants.remove(&owner);
        }
    }
}

impl Namespaces {
    /// Loads the namespaces of a store.
    pub fn load(tree: &Tree) -> Result<Namespaces> {
        let (db, mut known) = (tree.db()?, Known::default());
        for pair in db.scan_prefix(layout::NAMESPACES) {
            let (key, value) = pair.map_err(reading)?;
            let number = NamespaceNumber(layout::seq_of_key(&key)?.0);
            known.put(number, Arc::new(NamespaceRecord::decode(&value)?));
        }
        Ok(Namespaces(RwLock::new(known)))
    }

    /// Returns the grants of an owner for Things that aren't public.
    pub fn grants_of(&self, owner: &Owner) -> Arc<Grants> {
        let known = self.read().grants.get(owner).cloned();
        known.unwrap_or_else(|| Arc::new(Grants { owner: Some(owner.clone()), ..Grants::default() }))
    }

    /// Returns the namespace with the given name, unless it was given up.
    pub fn find(&self, name: &Namespace) -> Option<(NamespaceNumber, Arc<NamespaceRecord>)> {
        let known = self.read();
        let number = known.by_name.get(name)?;
        Some((*number, known.by_number.get(number)?.clone()))
    }

    /// Returns the namespace with the given number, even if it was given up.
    pub fn get(&self, number: NamespaceNumber) -> Option<Arc<NamespaceRecord>> {
        self.read().by_number.get(&number).cloned()
    }

    /// Returns the namespaces that are not given up, sorted by name.
    pub fn list(&self) -> Vec<(NamespaceNumber, Arc<NamespaceRecord>)> {
        let known = self.read();
        known.by_name.values().filter_map(|number| Some((*number, known.by_number.get(number)?.clone()))).collect()
    }

    /// Returns the number of namespaces that are not given up.
    pub fn len(&self) -> usize {
        self.read().by_name.len()
    }

    /// True if a namespace exists and is not given up.
    pub fn is_claimed(&self, number: NamespaceNumber) -> bool {
        self.read().by_number.get(&number).is_some_and(|record| record.given_up.is_none())
    }

    /// Returns the namespaces given up before a position.
    pub fn given_up_before(&self, position: Seq) -> Vec<NamespaceNumber> {
        let known = self.read();
        let given_up = known.by_number.iter().filter(|(_, record)| record.given_up.is_some_and(|at| at < position));
        given_up.map(|(number, _)| *number).collect()
    }

    /// Returns the namespaces that contain memberships ended before the beginning of the log, with these memberships
    /// removed.
    pub fn shortened(&self, oldest: Seq) -> Vec<(NamespaceNumber, NamespaceRecord)> {
        let known = self.read();
        let shortened = |(number, record): (&NamespaceNumber, &Arc<NamespaceRecord>)| {
            Some((*number, record.without_times_before(oldest)?))
        };
        known.by_number.iter().filter_map(shortened).collect()
    }

    /// Publishes durable changes; `None` removes a namespace that was given up.
    pub fn publish(&self, written: Vec<(NamespaceNumber, Option<NamespaceRecord>)>) {
        if written.is_empty() {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (number, record) in written {
            match record {
                Some(record) => known.put(number, Arc::new(record)),
                None => known.remove(number),
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(names: &[&str]) -> BTreeSet<Owner> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn record(name: &str) -> NamespaceRecord {
        let (name, owner) = (name.parse().unwrap(), Some("alice".parse().unwrap()));
        let (created, members) = (Timestamp(0), BTreeMap::new());
        NamespaceRecord { name, owner, created, proof: None, given_up: None, members }
    }

    #[test]
    fn members_come_and_go_at_positions() {
        let mut crew = record("crew");
        let bob: Owner = "bob".parse().unwrap();
        assert_eq!(crew.set_members(&owners(&["alice", "bob"]), Seq(5)).0.len(), 2);
        assert_eq!(crew.set_members(&owners(&["alice"]), Seq(20)), (vec![], vec![bob.clone()]));
        assert_eq!(crew.set_members(&owners(&["alice", "bob"]), Seq(40)), (vec![bob.clone()], vec![]));
        let (number, namespaces) = (NamespaceNumber(1), Namespaces::default());
        namespaces.publish(vec![(number, Some(crew.clone()))]);
        let grants = namespaces.grants_of(&bob);
        assert_eq!(grants.member_since.get(&number), Some(&Seq(40)));
        assert_eq!(grants.formerly.get(&number), Some(&vec![(Seq(5), Seq(20))]));
        assert!(namespaces.shortened(Seq(20)).is_empty());
        let shortened = namespaces.shortened(Seq(21)).into_iter();
        namespaces.publish(shortened.map(|(number, record)| (number, Some(record))).collect());
        assert!(namespaces.grants_of(&bob).formerly.is_empty());
    }

    #[test]
    fn name_that_was_given_up_is_another_namespace() {
        let namespaces = Namespaces::default();
        let (alice, bob): (Owner, Owner) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        let mut crew = record("crew");
        crew.set_members(&owners(&["alice"]), Seq(1));
        namespaces.publish(vec![(NamespaceNumber(1), Some(crew.clone()))]);
        crew.set_members(&BTreeSet::new(), Seq(3));
        crew.given_up = Some(Seq(3));
        namespaces.publish(vec![(NamespaceNumber(1), Some(crew.clone()))]);
        assert_eq!((namespaces.find(&crew.name), namespaces.list().len()), (None, 0));
        assert!(namespaces.grants_of(&alice).member_since.is_empty());
        let mut other = NamespaceRecord { owner: Some(bob.clone()), ..record("crew") };
        other.set_members(&owners(&["bob"]), Seq(4));
        namespaces.publish(vec![(NamespaceNumber(2), Some(other))]);
        assert_eq!(namespaces.find(&crew.name).map(|(number, _)| number), Some(NamespaceNumber(2)));
        assert!(!namespaces.grants_of(&bob).member_since.contains_key(&NamespaceNumber(1)));
        assert_eq!(namespaces.given_up_before(Seq(4)), [NamespaceNumber(1)]);
    }
}
