//! Rules for the visibility of past changes, as pure functions of the lives of an id and the grants of a reader. A life
//! lasts from the creation of a Thing to its removal.
//!
//! A reader sees a life at a position if the reader's current grants satisfy the access at that position. A membership
//! counts from its current start. If the reader sees the end of a life, it receives the changes from the first position
//! after which it sees the life without interruption. Otherwise, it receives a single deletion, at the last position at
//! which the life became invisible. Thus a text that was ever hidden is not shown again within that life, except to
//! readers who could always see it.

use crate::{
    access::{Access, Grants, Visibility},
    change::Seq,
    store::Life,
};

/// Part of a life visible to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Visible from a position to the end of the life; from 0 if the log doesn't contain the beginning.
    From(Seq),
    /// Not the end. It left the sight of the reader for the last time at this position.
    Left(Seq),
    /// Never visible.
    Nothing,
}

/// Form in which a reader receives a log entry about a Thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    /// The entry as it is.
    Entry,
    /// A creation: it comes into sight here.
    Creation,
    /// A deletion: it leaves the sight of the reader here.
    Deletion,
}

/// Returns the part of a life visible to a reader.
pub(super) fn could_see(life: &Life, grants: &Grants) -> Sight {
    let ends = life.accesses.iter().skip(1).map(|(start, _)| *start).chain([life.ended.unwrap_or(Seq(u64::MAX))]);
    let parts: Vec<(&(Seq, Access), Seq)> = life.accesses.iter().zip(ends).collect();
    let mut from = None;
    for ((start, access), end) in parts.iter().rev() {
        let Some(since) = admitted_since(grants, access).map(|since| since.max(*start)).filter(|since| since < end)
        else {
            break;
        };
        from = Some(since);
        if since > *start {
            break;
        }
    }
    if let Some(from) = from {
        return Sight::From(from);
    }
    let left = parts.iter().filter_map(|((start, access), end)| last_seen_before(grants, access, *start, *end)).max();
    left.map_or(Sight::Nothing, Sight::Left)
}

/// Returns the form in which a reader receives the entry at a position. `log_start` is the position before the oldest
/// entry of the log.
pub(super) fn shown(life: &Life, grants: &Grants, at: Seq, log_start: Seq) -> Shown {
    match could_see(life, grants) {
        Sight::Nothing => Shown::Nothing,
        Sight::Left(left) if left == at => Shown::Deletion,
        Sight::Left(_) => Shown::Nothing,
        // There is nothing left that the text of the creation could be made of.
        Sight::From(from) if from > log_start && life.ended.is_some() && !has_creation(life, log_start) => {
            if life.ended == Some(at) { Shown::Entry } else { Shown::Nothing }
        }
        Sight::From(from) if at < from => Shown::Nothing,
        Sight::From(from) if at == from && life.created != Some(at) => Shown::Creation,
        Sight::From(_) => Shown::Entry,
    }
}

/// True if the log still has the creation of a life.
pub(super) fn has_creation(life: &Life, log_start: Seq) -> bool {
    life.created.is_some_and(|created| created > log_start)
}

/// True if a life was visible to a reader at a position, by its present or its former grants.
pub(super) fn is_seen_at(life: &Life, grants: &Grants, at: Seq) -> bool {
    let admits = |access: &Access| {
        let was_admitted = || formerly(grants, access).any(|(since, until)| (*since..*until).contains(&at));
        admitted_since(grants, access).is_some_and(|since| since <= at) || was_admitted()
    };
    life.ended.is_none_or(|ended| at < ended) && access_at(life, at).is_some_and(admits)
}

/// Returns the access to a life after a position.
pub(super) fn access_at(life: &Life, at: Seq) -> Option<&Access> {
    life.accesses.iter().rev().find(|(start, _)| *start <= at).map(|(_, access)| access)
}

/// Returns the position since which an access admits a reader, by its present grants.
fn admitted_since(grants: &Grants, access: &Access) -> Option<Seq> {
    if access.is_public() || grants.own(access) {
        return Some(Seq::ZERO);
    }
    (access.visibility == Visibility::Namespace).then(|| grants.since(access)).flatten()
}

/// Returns the end of the last interval within a part of a life in which it was visible to a reader.
fn last_seen_before(grants: &Grants, access: &Access, start: Seq, end: Seq) -> Option<Seq> {
    if admitted_since(grants, access).is_some_and(|since| since.max(start) < end) {
        return Some(end);
    }
    let ends = formerly(grants, access).filter(|(since, until)| *since.max(&start) < *until.min(&end));
    ends.map(|(_, until)| *until.min(&end)).max()
}

/// Returns the intervals in which an access admitted a reader because of a former membership.
fn formerly<'g>(grants: &'g Grants, access: &Access) -> impl Iterator<Item = &'g (Seq, Seq)> {
    let number = access.number.filter(|_| access.visibility == Visibility::Namespace);
    number.and_then(|number| grants.formerly.get(&number)).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::NamespaceNumber;

    const TEAM: NamespaceNumber = NamespaceNumber(7);

    fn access(visibility: Visibility) -> Access {
        let namespace = (visibility == Visibility::Namespace).then(|| "team".parse().unwrap());
        let number = namespace.is_some().then_some(TEAM);
        Access { owner: Some("alice".parse().unwrap()), visibility, namespace, number }
    }

    fn life(accesses: &[(u64, Visibility)], ended: Option<u64>) -> Life {
        let accesses: Vec<_> = accesses.iter().map(|(seq, visibility)| (Seq(*seq), access(*visibility))).collect();
        Life { created: accesses.first().map(|(seq, _)| *seq), accesses, ended: ended.map(Seq) }
    }

    fn outsider() -> Grants {
        Grants { owner: Some("outsider".parse().unwrap()), ..Grants::default() }
    }

    fn bob(since: Option<u64>, formerly: &[(u64, u64)]) -> Grants {
        let formerly: Vec<_> = formerly.iter().map(|(since, until)| (Seq(*since), Seq(*until))).collect();
        Grants {
            owner: Some("bob".parse().unwrap()),
            member_since: since.map(|since| (TEAM, Seq(since))).into_iter().collect(),
            formerly: [(TEAM, formerly)].into(),
        }
    }

    fn alice() -> Grants {
        Grants { owner: Some("alice".parse().unwrap()), ..Grants::default() }
    }

    /// The forms in which a reader gets entries.
    fn gets(life: &Life, grants: &Grants, positions: &[u64], log_start: u64) -> Vec<Shown> {
        positions.iter().map(|at| shown(life, grants, Seq(*at), Seq(log_start))).collect()
    }

    use Shown::{Creation, Deletion, Entry, Nothing};
    use Visibility::{Namespace, Private, Public};

    #[test]
    fn what_was_made_private_and_public_again_is_created_there() {
        let life = life(&[(10, Public), (20, Private), (30, Public)], None);
        assert_eq!(gets(&life, &outsider(), &[10, 20, 30, 31], 0), [Nothing, Nothing, Creation, Entry]);
        assert_eq!(gets(&life, &alice(), &[10, 20, 30], 0), [Entry, Entry, Entry]);
    }

    #[test]
    fn history_of_what_was_public_and_is_gone_stays_readable() {
        let life = life(&[(10, Private), (20, Public)], Some(40));
        assert_eq!(gets(&life, &outsider(), &[10, 20, 30, 40], 0), [Nothing, Creation, Entry, Entry]);
        assert_eq!(gets(&life, &outsider(), &[20, 30, 40], 10), [Nothing, Nothing, Entry], "no text to begin with");
    }

    #[test]
    fn former_member_gets_one_deletion_where_it_left() {
        let life = life(&[(10, Namespace)], Some(40));
        let bob = bob(None, &[(5, 20)]);
        assert_eq!((could_see(&life, &bob), shown(&life, &bob, Seq(20), Seq(0))), (Sight::Left(Seq(20)), Deletion));
        assert_eq!(gets(&life, &bob, &[10, 40], 0), [Nothing, Nothing]);
    }

    #[test]
    fn member_that_joined_again_sees_from_there() {
        let life = life(&[(10, Namespace)], None);
        let bob = bob(Some(40), &[(5, 20)]);
        assert_eq!(could_see(&life, &bob), Sight::From(Seq(40)));
        assert_eq!(gets(&life, &bob, &[10, 20, 30, 40, 41], 0), [Nothing, Nothing, Nothing, Creation, Entry]);
    }

    #[test]
    fn member_that_came_after_the_end_sees_nothing() {
        let ended = life(&[(10, Namespace)], Some(30));
        assert_eq!(could_see(&ended, &bob(Some(40), &[])), Sight::Nothing);
        let private = life(&[(10, Namespace), (30, Private)], None);
        assert_eq!(could_see(&private, &bob(Some(40), &[])), Sight::Nothing);
        assert_eq!(could_see(&private, &bob(Some(20), &[])), Sight::Left(Seq(30)));
        assert_eq!(could_see(&private, &bob(None, &[(5, 8), (12, 15)])), Sight::Left(Seq(15)));
    }

    #[test]
    fn what_was_made_private_is_deleted_once_and_its_end_is_not_told() {
        let life = life(&[(10, Public), (20, Private), (30, Public), (40, Private)], Some(50));
        assert_eq!(gets(&life, &outsider(), &[10, 20, 30, 40, 50], 0), [Nothing, Nothing, Nothing, Deletion, Nothing]);
    }

    #[test]
    fn life_whose_creation_the_log_has_no_longer_is_seen_as_far_as_it_goes() {
        let life = Life { created: None, accesses: vec![(Seq::ZERO, access(Public))], ended: Some(Seq(30)) };
        assert_eq!(gets(&life, &outsider(), &[20, 30], 15), [Entry, Entry]);
        let turned = Life {
            created: None,
            accesses: vec![(Seq::ZERO, access(Private)), (Seq(20), access(Public))],
            ended: None,
        };
        assert_eq!(gets(&turned, &outsider(), &[18, 20, 25], 15), [Nothing, Creation, Entry]);
    }
}
