//! The rule of who may know what, over a record of what has happened that no code under test has made.

use std::{collections::BTreeSet, fmt};

use super::server::Who;

/// A moment: after an entry of the log, and after so many changes of memberships, which need not have entries.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64, pub u64);

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}.{}", self.0, self.1)
    }
}

/// Who an agent belongs to, and who sees it beside its owner and admins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub owner: Who,
    pub visibility: Visibility,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    Public,
    /// The members of the namespace of that number, which no other namespace ever gets.
    Namespace(u32),
    Private,
}

/// A text, or the access to it, from a moment on.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub at: Moment,
    pub access: Access,
    /// The number of the text.
    pub text: u32,
}

/// A life of an id: from its creation to its deletion.
#[derive(Debug, Clone)]
pub struct Life {
    pub id: String,
    pub steps: Vec<Step>,
    pub end: Option<Moment>,
    /// The texts that were stored as versions and not served, with the number of steps before each.
    pub unserved: Vec<(u32, usize)>,
}

/// That somebody belongs to a namespace from a moment on.
#[derive(Debug, Clone, Copy)]
pub struct Membership {
    pub who: Who,
    pub namespace: u32,
    pub since: Moment,
    pub until: Option<Moment>,
    /// The time in which somebody was a member in any case: when a request was under way, it may have been one or not.
    pub surely: (Moment, Option<Moment>),
}

/// The parts of a text that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Its title and description.
    Body,
    /// The key of its capability, which topics and deletions name.
    Key,
}

/// All that has happened.
#[derive(Default)]
pub struct Record {
    pub lives: Vec<Life>,
    pub memberships: Vec<Membership>,
}

impl Life {
    /// The steps up to a moment, each with its end; none: it goes on.
    fn steps_until(&self, now: Moment) -> impl DoubleEndedIterator<Item = (&Step, Option<Moment>)> {
        let end = self.end.filter(|end| *end <= now);
        let count = self.steps.iter().filter(|step| step.at <= now).count();
        let until = move |index: usize| if index + 1 < count { Some(self.steps[index + 1].at) } else { end };
        self.steps[..count].iter().enumerate().map(move |(index, step)| (step, until(index)))
    }
}

/// The accesses that all have to admit the readers of a text, after the access of its agent became another one.
fn narrowed(mut own: Vec<Access>, by: Access) -> Vec<Access> {
    match (own[0].visibility, by.visibility) {
        (Visibility::Public, _) => vec![by],
        (Visibility::Private, _) | (_, Visibility::Public) => own,
        (Visibility::Namespace(_), Visibility::Private) => vec![Access { visibility: Visibility::Private, ..own[0] }],
        (Visibility::Namespace(_), Visibility::Namespace(_)) => {
            own.push(Access { owner: own[0].owner, ..by });
            own
        }
    }
}

impl Record {
    /// The moment from which somebody who asks now sees a life without interruption to its end.
    pub fn seen_from(&self, who: Who, life: &Life, now: Moment) -> Option<Moment> {
        let mut from = None;
        for (step, until) in life.steps_until(now).rev() {
            let Some(admitted) = self.admitted_since(who, step.access, now) else { break };
            let seen = admitted.max(step.at);
            if until.is_some_and(|until| until <= seen) {
                break;
            }
            from = Some(seen);
            if seen > step.at {
                break;
            }
        }
        from
    }

    /// True if somebody who asks now, from whatever position, may have a part of a text.
    pub fn may_have(&self, who: Who, text: u32, part: Part, now: Moment) -> bool {
        self.lives.iter().any(|life| match self.seen_from(who, life, now) {
            Some(from) => {
                life.steps_until(now).any(|(step, until)| step.text == text && until.is_none_or(|until| until > from))
            }
            // The deletion has the keys of the last text that it saw. Which one that is can depend on a membership that began
            // or ended just then.
            None => {
                let is_last = |surely| self.last_seen(who, life, now, surely) == Some(text);
                part == Part::Key && (is_last(false) || is_last(true))
            }
        })
    }

    /// True if somebody who asks now for the versions of an agent may have a text: it sees the agent, and the access of the text
    /// admits it. That is the last one that the text was served with, or stored under, and narrower ones since have narrowed it.
    pub fn may_have_version(&self, who: Who, text: u32, now: Moment) -> bool {
        self.lives.iter().any(|life| {
            let accesses: Vec<Access> = life.steps_until(now).map(|(step, _)| step.access).collect();
            let served = life.steps_until(now).collect::<Vec<_>>().iter().rposition(|(step, _)| step.text == text);
            let stored =
                life.unserved.iter().filter(|(one, _)| *one == text).map(|(_, steps)| steps.saturating_sub(1)).max();
            let Some((own, later)) = served.max(stored).and_then(|from| accesses.get(from..)?.split_first()) else {
                return false;
            };
            let mut admitting = vec![*own];
            for by in later {
                admitting = narrowed(admitting, *by);
            }
            let is_over = life.end.is_some_and(|end| end <= now);
            let mut all = admitting.iter().chain(accesses.last());
            !is_over && all.all(|access| self.admitted_since(who, *access, now).is_some())
        })
    }

    /// The ids of what somebody sees at a moment.
    pub fn seen_at(&self, who: Who, now: Moment) -> BTreeSet<String> {
        let sees = |life: &&Life| {
            let present = life.steps_until(now).next_back().filter(|(_, until)| until.is_none());
            present.is_some_and(|(step, _)| self.admitted_since(who, step.access, now).is_some())
        };
        self.lives.iter().filter(sees).map(|life| life.id.clone()).collect()
    }

    /// True if a text was there and seen at some moment between two.
    pub fn saw_between(&self, who: Who, text: u32, from: Moment, to: Moment) -> bool {
        self.lives.iter().any(|life| {
            life.steps_until(to).any(|(step, until)| step.text == text && self.saw(who, step, until, (from, to), false))
        })
    }

    /// The last text of a life that somebody saw when it was there.
    fn last_seen(&self, who: Who, life: &Life, now: Moment, surely: bool) -> Option<u32> {
        let seen =
            |(step, until): &(&Step, Option<Moment>)| self.saw(who, step, *until, (Moment::default(), now), surely);
        life.steps_until(now).rev().find(seen).map(|(step, _)| step.text)
    }

    /// True if somebody may know of an id: it saw a life of it once, or would read one now.
    pub fn may_know(&self, who: Who, id: &str, now: Moment) -> bool {
        let of_id = self.lives.iter().filter(|life| life.id == id);
        of_id
            .into_iter()
            .any(|life| self.seen_from(who, life, now).is_some() || self.last_seen(who, life, now, false).is_some())
    }

    /// The moment from which the present grants of somebody admit an access.
    fn admitted_since(&self, who: Who, access: Access, now: Moment) -> Option<Moment> {
        let is_member = |membership: &&Membership| {
            let (since, until) = (membership.since, membership.until);
            membership.who == who && since <= now && until.is_none_or(|until| until > now)
        };
        match access.visibility {
            _ if who == Who::Admin || who == access.owner => Some(Moment::default()),
            Visibility::Public => Some(Moment::default()),
            Visibility::Private => None,
            Visibility::Namespace(number) => {
                let mut memberships = self.memberships.iter().filter(is_member);
                memberships.find(|membership| membership.namespace == number).map(|membership| membership.since)
            }
        }
    }

    /// True if a step was seen at its time, between two moments, by the grants of that time.
    fn saw(&self, who: Who, step: &Step, until: Option<Moment>, (from, to): (Moment, Moment), surely: bool) -> bool {
        let meets = |since: Moment, until: Option<Moment>| since <= to && until.is_none_or(|until| until >= from);
        if !meets(step.at, until) {
            return false;
        }
        match step.access.visibility {
            _ if who == Who::Admin || who == step.access.owner => true,
            Visibility::Public => true,
            Visibility::Private => false,
            Visibility::Namespace(number) => self.memberships.iter().any(|membership| {
                let (since, end) = if surely { membership.surely } else { (membership.since, membership.until) };
                let begins_in_time = until.is_none_or(|until| since < until);
                let ends_in_time = end.is_none_or(|end| end > step.at);
                let is_its = membership.who == who && membership.namespace == number;
                is_its && begins_in_time && ends_in_time && meets(since, end)
            }),
        }
    }

    /// The moments after one, up to another, at which something happened.
    pub fn moments(&self, from: Moment, to: Moment) -> Vec<Moment> {
        let of_lives = self.lives.iter().flat_map(|life| life.steps.iter().map(|step| step.at).chain(life.end));
        let of_members = self.memberships.iter().flat_map(|one| [Some(one.since), one.until]).flatten();
        let mut moments: Vec<_> = of_lives.chain(of_members).filter(|at| (from..=to).contains(at)).collect();
        moments.extend([from, to]);
        moments.sort();
        moments.dedup();
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::server::Who::{Admin, Alice, Bob, Nobody},
        *,
    };

    fn at(seq: u64) -> Moment {
        Moment(seq, 0)
    }

    fn step(seq: u64, visibility: Visibility, text: u32) -> Step {
        Step { at: at(seq), access: Access { owner: Alice, visibility }, text }
    }

    fn record(steps: &[Step], end: Option<u64>, memberships: &[(u64, Option<u64>)]) -> Record {
        let life = Life { id: "a".into(), steps: steps.into(), end: end.map(at), unserved: Vec::new() };
        let of_bob = |(since, until): &(u64, Option<u64>)| Membership {
            who: Bob,
            namespace: 1,
            since: at(*since),
            until: until.map(at),
            surely: (at(*since), until.map(at)),
        };
        Record { lives: vec![life], memberships: memberships.iter().map(of_bob).collect() }
    }

    /// The texts that somebody may have, and the keys.
    fn has(record: &Record, who: Who, now: u64) -> (Vec<u32>, Vec<u32>) {
        let of = |part| (1..=3).filter(|text| record.may_have(who, *text, part, at(now))).collect();
        (of(Part::Body), of(Part::Key))
    }

    const PUBLIC: Visibility = Visibility::Public;
    const PRIVATE: Visibility = Visibility::Private;
    const SHARED: Visibility = Visibility::Namespace(1);

    #[test]
    fn the_five_histories_of_the_rule() {
        let first = record(&[step(10, PUBLIC, 1), step(20, PRIVATE, 2), step(30, PUBLIC, 3)], None, &[]);
        assert_eq!(has(&first, Nobody, 40), (vec![3], vec![3]));
        assert_eq!(first.seen_from(Nobody, &first.lives[0], at(40)), Some(at(30)));
        for who in [Alice, Admin] {
            assert_eq!(has(&first, who, 40), (vec![1, 2, 3], vec![1, 2, 3]));
        }
        // Asked earlier, the answer is that of then.
        assert_eq!(has(&first, Nobody, 15), (vec![1], vec![1]));
        assert_eq!(has(&first, Nobody, 25), (vec![], vec![1]));

        let second = record(&[step(10, PRIVATE, 1), step(20, PUBLIC, 2), step(30, PUBLIC, 3)], Some(40), &[]);
        assert_eq!(has(&second, Nobody, 50), (vec![2, 3], vec![2, 3]));

        let third = record(&[step(10, SHARED, 1)], Some(30), &[(5, Some(20))]);
        assert_eq!(has(&third, Bob, 15), (vec![1], vec![1]));
        assert_eq!(has(&third, Bob, 40), (vec![], vec![1]));
        assert!(third.saw_between(Bob, 1, at(12), at(40)) && !third.saw_between(Bob, 1, at(25), at(40)));
        assert!(third.may_know(Bob, "a", at(40)) && !third.may_know(Nobody, "a", at(40)));

        let seen_at = |record: &Record, seq| record.seen_at(Bob, at(seq)).into_iter().collect::<Vec<_>>();
        assert_eq!([15, 25, 35].map(|seq| seen_at(&third, seq)), [vec!["a"], vec![], vec![]]);

        let fourth = record(&[step(10, PUBLIC, 1)], Some(50), &[]);
        assert_eq!(has(&fourth, Nobody, 30), (vec![1], vec![1]));
        assert_eq!(has(&fourth, Nobody, 60), (vec![1], vec![1]));

        let fifth = record(&[step(10, SHARED, 1)], None, &[(5, Some(20)), (40, None)]);
        assert_eq!(has(&fifth, Bob, 50), (vec![1], vec![1]));
        assert_eq!([15, 30, 50].map(|seq| seen_at(&fifth, seq)), [vec!["a"], vec![], vec!["a"]]);
        assert_eq!(fifth.seen_from(Bob, &fifth.lives[0], at(50)), Some(at(40)));
    }

    #[test]
    fn version_is_for_those_whom_its_own_access_admits() {
        let may = |record: &Record, who: Who, text: u32| record.may_have_version(who, text, at(50));
        let hidden = record(&[step(10, PRIVATE, 1), step(20, PUBLIC, 2)], None, &[]);
        assert_eq!([Nobody, Bob, Alice, Admin].map(|who| may(&hidden, who, 1)), [false, false, true, true]);
        assert!(may(&hidden, Nobody, 2));
        // It is published with what is served.
        let published = record(&[step(10, PRIVATE, 1), step(20, PUBLIC, 1), step(30, PUBLIC, 2)], None, &[]);
        assert!(may(&published, Nobody, 1));
        let taken_back = record(&[step(10, PUBLIC, 1), step(20, PRIVATE, 2), step(30, PUBLIC, 3)], None, &[]);
        assert!(!may(&taken_back, Nobody, 1) && !may(&taken_back, Nobody, 2) && may(&taken_back, Nobody, 3));
        let shared = record(&[step(10, SHARED, 1), step(20, PUBLIC, 2)], None, &[(5, None)]);
        assert_eq!([Nobody, Bob].map(|who| may(&shared, who, 1)), [false, true]);
        let mut unserved = record(&[step(10, PRIVATE, 1), step(20, PUBLIC, 1)], None, &[]);
        unserved.lives[0].unserved = vec![(2, 1), (3, 2)];
        assert!(!may(&unserved, Nobody, 2) && may(&unserved, Nobody, 3));
        let over = record(&[step(10, PUBLIC, 1)], Some(30), &[]);
        assert!(!may(&over, Nobody, 1));
    }

    #[test]
    fn new_member_has_no_text_of_before_and_what_was_private_is_nobody_elses() {
        let record = record(&[step(10, SHARED, 1), step(20, SHARED, 2), step(30, SHARED, 3)], None, &[(25, None)]);
        assert_eq!(has(&record, Bob, 40), (vec![2, 3], vec![2, 3]));
        let hidden = self::record(&[step(10, SHARED, 1), step(20, PRIVATE, 2)], None, &[(25, None)]);
        assert_eq!(has(&hidden, Bob, 40), (vec![], vec![]));
        assert!(!hidden.may_know(Bob, "a", at(40)));
    }
}
