//! The comparison of two schemas.

use std::collections::HashSet;

use serde_json::{Number, Value};

use super::{
    formats,
    numbers::{compare_bounds, range},
    outcome::{Certainty, Note, Outcome, Step, Verdict},
    schema::{At, Bound, Branches, Count, Kinds, Lists, Node, Numbers, Objects, Schema, Texts, compare, has_value},
    units,
    values::{Admits, Judge, multiple},
    wording::{article, cut, listed, shown},
};

/// The maximum number of steps of a comparison.
const MAX_STEPS: u32 = 20_000;
/// Maximum depth of the comparison, which also bounds recursive schemas.
const MAX_DEPTH: usize = 100;

/// Decides, without words.
pub(in crate::search) fn decide(giver: &Schema, taker: &Schema) -> Verdict {
    compared(giver, taker, false)
}

/// Decides, with doubts or a reason.
pub(in crate::search) fn explain(giver: &Schema, taker: &Schema) -> Verdict {
    compared(giver, taker, true)
}

fn compared(giver: &Schema, taker: &Schema, explains: bool) -> Verdict {
    // Equal schemas allow equal values, if nothing of them is left out.
    if giver == taker && giver.is_complete() {
        return Outcome::FITS.verdict();
    }
    let mut comparison = Comparison { giver, taker, explains, left: MAX_STEPS, open: HashSet::new(), depth: 0 };
    let outcome = comparison.pair(0, 0);
    let outcome = match comparison.left {
        0 => comparison.cannot(|| Note::new("it is too complex to compare".into(), "is too complex to compare".into())),
        _ => outcome,
    };
    outcome.verdict()
}

struct Comparison<'s> {
    giver: &'s Schema,
    taker: &'s Schema,
    explains: bool,
    left: u32,
    /// Pairs that are being compared: they hold unless something else doesn't.
    open: HashSet<(At, At)>,
    depth: usize,
}

impl<'s> Comparison<'s> {
    /// Takes a step, if there are any left.
    fn spend(&mut self, steps: usize) -> bool {
        self.left = self.left.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        self.left > 0
    }

    fn note(&self, certainty: Certainty, note: impl FnOnce() -> Note) -> Outcome {
        Outcome { certainty, notes: if self.explains { vec![note()] } else { Vec::new() }, ..Outcome::FITS }
    }

    fn may_fail(&self, doubt: impl FnOnce() -> String) -> Outcome {
        self.note(Certainty::MayFail, || Note::new(String::new(), doubt()))
    }

    fn unstated(&self, doubt: impl FnOnce() -> String) -> Outcome {
        self.note(Certainty::Unstated, || Note::new(String::new(), doubt()))
    }

    fn cannot(&self, note: impl FnOnce() -> Note) -> Outcome {
        self.note(Certainty::Cannot, note)
    }

    /// Compares the values of a node of the giver with one of the taker.
    fn pair(&mut self, from: At, to: At) -> Outcome {
        if !self.spend(1) || self.depth > MAX_DEPTH {
            self.left = 0;
            return self
                .cannot(|| Note::new("it is too complex to compare".into(), "is too complex to compare".into()));
        }
        let (giver, taker) = (self.giver, self.taker);
        let (given, taken) = (giver.node(from), taker.node(to));
        if taken.is_any() {
            return Outcome::FITS;
        }
        // Only these can refer to themselves.
        let has_parts = given.parts.is_some() && taken.parts.is_some();
        if has_parts && !self.open.insert((from, to)) {
            return Outcome::FITS;
        }
        self.depth += 1;
        let outcome = self.nodes(from, given, to);
        self.depth -= 1;
        if has_parts {
            self.open.remove(&(from, to));
        }
        outcome
    }

    fn nodes(&mut self, from: At, given: &'s Node, to: At) -> Outcome {
        if given.kinds.is_empty() {
            return self
                .cannot(|| Note::new("its schema allows no value".into(), "has a schema that allows no value".into()));
        }
        if let Some(branches) = given.branches() {
            let all = branches.at.iter().map(|branch| self.pair(*branch, to)).collect();
            return Outcome::of_alternatives(all);
        }
        if let Some(values) = given.values() {
            return self.values(from, values, to);
        }
        let kinds = if given.is_typed { given.kinds } else { given.kinds.and(given.implied_kinds()) };
        if kinds.is_empty() {
            let taker = self.taker;
            return self.unstated(|| format!("can be anything, not only {}", article(&taker.describe_at(to, 0))));
        }
        let mut each = Kinds::EACH.into_iter().filter(|kind| kinds.has(*kind)).map(|kind| kinds.and(kind));
        let mut outcome = match (each.next(), each.next()) {
            (Some(only), None) => self.kind(given, only, to),
            (one, two) => {
                let all = one.into_iter().chain(two).chain(each).map(|kind| self.kind(given, kind, to)).collect();
                Outcome::of_alternatives(all)
            }
        };
        if !given.is_typed {
            // It can be of the other types as well.
            outcome = outcome.weakened();
            outcome.and(self.unstated(|| {
                let names: Vec<&str> = kinds.names().collect();
                format!("isn't declared to be {}", article(&names.join(" or ")))
            }));
        }
        outcome
    }

    /// Compares the giver's values of a type with a node of the taker.
    fn kind(&mut self, given: &'s Node, kind: Kinds, to: At) -> Outcome {
        if !self.spend(1) {
            return self
                .cannot(|| Note::new("it is too complex to compare".into(), "is too complex to compare".into()));
        }
        let taker = self.taker;
        let taken = taker.node(to);
        let mut outcome = match taken.branches() {
            Some(branches) => self.one_of(branches, kind, to, |own, branch| own.kind(given, kind, branch)),
            None if !taken.kinds.has(kind) => return self.of_another_type(kind, to),
            None => self.same_type(given, kind, taken),
        };
        self.add_unknown(&mut outcome, taken);
        outcome
    }

    /// Adds a doubt about keywords of the taker that can't be compared.
    fn add_unknown(&self, outcome: &mut Outcome, taken: &Node) {
        if let Some(keyword) = taken.unknown_keyword() {
            outcome.and(self.unstated(|| format!("must satisfy `{keyword}`, which isn't checked")));
        }
    }

    /// The best of some branches of the taker.
    fn one_of(
        &mut self,
        branches: &Branches,
        kind: Kinds,
        to: At,
        mut compare: impl FnMut(&mut Self, At) -> Outcome,
    ) -> Outcome {
        let mut best: Option<Outcome> = None;
        let mut possible = 0;
        for branch in &branches.at {
            let outcome = compare(self, *branch);
            // A number isn't valid as a string that it is converted to; a list may be, if it is empty.
            let is_valid = !outcome.is_converted || kind.has(Kinds::LIST.or(Kinds::OBJECT));
            possible += usize::from(!outcome.is_impossible() && is_valid || outcome.is_loose);
            if best.as_ref().is_none_or(|best| rank(&outcome) < rank(best)) {
                best = Some(outcome);
            }
        }
        let Some(mut best) = best else { return self.of_another_type(kind, to) };
        if best.is_impossible() && branches.at.len() > 1 {
            let is_loose = best.is_loose;
            return Outcome { is_loose, ..self.mismatch(kind, to) };
        }
        if branches.is_one && possible > 1 && !best.is_impossible() {
            best.and(self.unstated(|| "may be valid for more than one alternative of `oneOf`".to_owned()));
        }
        best
    }

    fn mismatch(&self, kind: Kinds, to: At) -> Outcome {
        let name = kind.names().next().unwrap_or("nothing");
        self.cannot(|| {
            let wanted = self.taker.describe_at(to, 0);
            Note::new(format!("{name} can't be cast to {wanted}"), format!("may be {}", article(name)))
        })
    }

    /// Values of a type that the taker doesn't have: some are converted.
    fn of_another_type(&self, kind: Kinds, to: At) -> Outcome {
        let taken = self.taker.node(to);
        let numeric = Kinds::NUMBER.or(Kinds::BOOLEAN);
        let into_text = taken.kinds.has(Kinds::TEXT);
        let is_converted =
            taken.values().is_none() && (into_text || kind.and(numeric) == kind && taken.kinds.has(numeric));
        if !is_converted || taken.branches().is_some() {
            return self.mismatch(kind, to);
        }
        let name = kind.names().next().unwrap_or_default();
        let doubt = || match (into_text, kind == Kinds::NULL) {
            (_, true) => "may be null".to_owned(),
            (true, _) => format!("has to be converted from {name} to string"),
            (false, _) => format!("has to be converted from {name} to {}", self.taker.describe_at(to, 0)),
        };
        Outcome { is_converted: true, ..self.may_fail(doubt) }
    }

    fn same_type(&mut self, given: &'s Node, kind: Kinds, taken: &'s Node) -> Outcome {
        if let Some(values) = taken.values() {
            return self.among_values(given, kind, taken, values);
        }
        let mut outcome = Outcome::FITS;
        if kind == Kinds::TEXT {
            outcome = self.texts(given.texts(), taken.texts());
        } else if kind.has(Kinds::NUMBER) {
            outcome = self.numbers(given.numbers(), kind, taken);
        } else if kind == Kinds::LIST {
            let none = Lists::default();
            if let Some(taken) = taken.lists() {
                outcome = self.lists(given.lists().unwrap_or(&none), taken);
            }
        } else if kind == Kinds::OBJECT {
            let none = Objects::default();
            if let Some(taken) = taken.objects() {
                outcome = self.objects(given.objects().unwrap_or(&none), taken);
            }
        }
        outcome.and(self.annotations(given, kind, taken));
        outcome
    }

    /// Formats, and the units of numbers.
    fn annotations(&self, given: &Node, kind: Kinds, taken: &Node) -> Outcome {
        let mut outcome = Outcome::FITS;
        let is_numeric = kind.has(Kinds::NUMBER);
        if !is_numeric && kind != Kinds::TEXT {
            return outcome;
        }
        for wanted in taken.formats().iter().filter(|wanted| formats::is_telling(wanted)) {
            if formats::is_numeric(wanted) != is_numeric {
                continue;
            }
            let relations: Vec<formats::Relation> =
                given.formats().iter().map(|format| formats::relation(format, wanted)).collect();
            if relations.contains(&formats::Relation::Within) {
                continue;
            }
            let own = given.formats().iter().find(|format| formats::is_telling(format));
            outcome.and(match own.filter(|_| relations.contains(&formats::Relation::Apart)) {
                Some(own) => self.cannot(|| {
                    let doubt = format!("may have the format {own}, not {wanted}");
                    Note::new(format!("a value of the format {own} doesn't have the format {wanted}"), doubt)
                }),
                // That an integer has few digits isn't much of a doubt.
                None if is_numeric => self.unstated(|| format!("has no declared format, but {wanted} is expected")),
                None => self.may_fail(|| format!("might not have the format {wanted}")),
            });
        }
        if let Some(wanted) = taken.unit().filter(|_| is_numeric) {
            outcome.and(self.units(given.unit(), wanted));
        }
        outcome
    }

    fn units(&self, own: Option<&str>, wanted: &str) -> Outcome {
        let Some(own) = own else { return self.unstated(|| format!("has no declared unit, but {wanted} is expected")) };
        match units::relation(own, wanted) {
            units::Relation::Same => Outcome::FITS,
            units::Relation::Convertible => self.may_fail(|| format!("is in {own}, not in {wanted}")),
            units::Relation::Unknown => self.may_fail(|| format!("is in {own}, but {wanted} is expected")),
            units::Relation::Apart => self.cannot(|| {
                Note::new(format!("{own} can't be converted to {wanted}"), format!("may be in {own}, not {wanted}"))
            }),
        }
    }

    /// Compares the values listed by the giver.
    fn values(&mut self, from: At, values: &'s [Value], to: At) -> Outcome {
        let (giver, given) = (self.giver, self.giver.node(from));
        // A number or text may have constraints beside its values, which make fewer of them.
        let is_constrained = given.numbers().is_some() || given.texts().is_some();
        let mut all = Vec::with_capacity(values.len().min(16));
        for value in values {
            if !self.spend(1) {
                break;
            }
            if is_constrained {
                let mut judge = Judge { schema: giver, left: &mut self.left, doubts_content: false };
                if judge.admits(from, value, 0) == Admits::No {
                    continue;
                }
            }
            all.push(self.value(given, value, to));
        }
        match all.is_empty() {
            true => self
                .cannot(|| Note::new("its schema allows no value".into(), "has a schema that allows no value".into())),
            false => Outcome::of_alternatives(all),
        }
    }

    fn value(&mut self, given: &'s Node, value: &Value, to: At) -> Outcome {
        let taker = self.taker;
        let taken = taker.node(to);
        if let Some(branches) = taken.branches() {
            let mut outcome =
                self.one_of(branches, Kinds::of(value), to, |own, branch| own.value(given, value, branch));
            if outcome.is_impossible() {
                outcome = self.refused(value, to);
            }
            self.add_unknown(&mut outcome, taken);
            return outcome;
        }
        if !taken.kinds.has(Kinds::of(value)) {
            let outcome = self.of_another_type(Kinds::of(value), to);
            return if outcome.is_impossible() { self.refused(value, to) } else { outcome };
        }
        let mut judge = Judge { schema: taker, left: &mut self.left, doubts_content: false };
        let mut outcome = match judge.admits(to, value, 0) {
            Admits::Yes => Outcome::FITS,
            Admits::No => self.refused(value, to),
            Admits::Unknown => self.unstated(|| format!("may be {}, which might not be allowed", shown(value))),
        };
        if taken.values().is_none_or(|values| !has_value(values, value)) {
            outcome.and(self.annotations(given, Kinds::of(value), taken));
            if let (Value::String(_), Some(texts)) = (value, taken.texts()) {
                outcome.and(self.content(given.texts(), texts));
            }
        } else if let Some(unit) = taken.unit().filter(|_| value.is_number()) {
            outcome.and(self.units(given.unit(), unit));
        }
        outcome
    }

    fn refused(&self, value: &Value, to: At) -> Outcome {
        self.cannot(|| {
            let value = shown(value);
            let reason = match self.taker.node(to).values() {
                Some(values) => format!("{value} isn't {}", listed(values)),
                None => format!("{value} isn't allowed"),
            };
            Note::new(reason, format!("may be {value}"))
        })
    }

    /// Compares the giver with the values listed by the taker. The giver may have other values.
    fn among_values(&mut self, given: &'s Node, kind: Kinds, taken: &'s Node, values: &[Value]) -> Outcome {
        let own: Vec<Value> = match kind {
            Kinds::NULL => vec![Value::Null],
            Kinds::BOOLEAN => vec![false.into(), true.into()],
            _ if kind == Kinds::INTEGER => range(given.numbers()),
            _ => Vec::new(),
        };
        let mut outcome = if own.is_empty() {
            let giver = self.giver;
            let mut judge = GivenJudge { schema: giver, left: &mut self.left };
            let is_possible =
                values.iter().any(|value| kind.has(Kinds::of(value)) && judge.admits(given, value) != Admits::No);
            match is_possible {
                true => self.may_fail(|| format!("may be something other than {}", listed(values))),
                false => self.cannot(|| {
                    let name = kind.names().next().unwrap_or_default();
                    let name = article(name);
                    Note::new(format!("{name} can't be {}", listed(values)), format!("may be {name}"))
                }),
            }
        } else {
            let refused = |value: &Value| {
                let listed = listed(values);
                let value = shown(value);
                Note::new(format!("{value} isn't {listed}"), format!("may be {value}"))
            };
            let each = own.iter().map(|value| match has_value(values, value) {
                true => Outcome::FITS,
                false => self.cannot(|| refused(value)),
            });
            Outcome::of_alternatives(each.collect())
        };
        if let Some(unit) = taken.unit().filter(|_| kind.has(Kinds::NUMBER)) {
            outcome.and(self.units(given.unit(), unit));
        }
        outcome
    }

    fn texts(&self, given: Option<&Texts>, taken: Option<&Texts>) -> Outcome {
        let Some(taken) = taken else { return Outcome::FITS };
        let length = given.map_or(Count::default(), |texts| texts.length);
        let mut outcome = self.count(length, taken.length, ["is shorter than", "is longer than"], " characters");
        for pattern in &taken.patterns {
            if given.is_none_or(|given| !given.patterns.contains(pattern)) {
                outcome.and(self.may_fail(|| format!("might not match {}", cut(pattern))));
            }
        }
        outcome.and(self.content(given, taken));
        outcome
    }

    /// Media types and encodings.
    fn content(&self, given: Option<&Texts>, taken: &Texts) -> Outcome {
        let mut outcome = Outcome::FITS;
        let own = |part: fn(&Texts) -> Option<&str>| given.and_then(part);
        let is_same: fn(&str, &str) -> bool = |own, wanted| own == wanted;
        let parts = [
            (own(|texts| texts.media.as_deref()), taken.media.as_deref(), is_media as fn(&str, &str) -> bool),
            (own(|texts| texts.encoding.as_deref()), taken.encoding.as_deref(), is_same),
        ];
        for (own, wanted, is_within) in parts {
            outcome.and(match (own, wanted) {
                (Some(own), Some(wanted)) if !is_within(own, wanted) => {
                    self.cannot(|| Note::new(format!("{own} isn't {wanted}"), format!("may be {own}, not {wanted}")))
                }
                (None, Some(wanted)) => self.may_fail(|| format!("might not be {wanted}")),
                _ => Outcome::FITS,
            });
        }
        if let (Some(encoding), None, Some(media)) =
            (own(|texts| texts.encoding.as_deref()), taken.encoding.as_deref(), taken.media.as_deref())
        {
            outcome.and(self.may_fail(|| format!("is encoded as {encoding}, but plain {media} is expected")));
        }
        outcome
    }

    /// Lengths, and numbers of items and members.
    fn count(&self, given: Count, taken: Count, [less, more]: [&str; 2], unit: &str) -> Outcome {
        let mut outcome = Outcome::FITS;
        let note = |is: &str, at: u64| {
            let may = is.replacen("is ", "may be ", 1).replacen("has ", "may have ", 1);
            let unit = if at == 1 { unit.trim_end_matches('s') } else { unit };
            Note::new(format!("it {is} {at}{unit}"), format!("{may} {at}{unit}"))
        };
        if given.least < taken.least {
            outcome.and(match given.most.is_some_and(|most| most < taken.least) {
                true => self.cannot(|| note(less, taken.least)),
                false => self.note(Certainty::MayFail, || note(less, taken.least)),
            });
        }
        if let Some(most) = taken.most.filter(|most| given.most.is_none_or(|own| own > *most)) {
            outcome.and(match given.least > most {
                true => self.cannot(|| note(more, most)),
                false => self.note(Certainty::MayFail, || note(more, most)),
            });
        }
        outcome
    }

    fn numbers(&self, given: Option<&Numbers>, kind: Kinds, taken: &Node) -> Outcome {
        let mut outcome = Outcome::FITS;
        if kind.has(Kinds::FRACTION) && !taken.kinds.has(Kinds::FRACTION) {
            outcome.and(self.may_fail(|| "might not be an integer".to_owned()));
        }
        // Fractions alone aren't a type, so that numbers always have integers.
        let Some(taken) = taken.numbers() else { return outcome };
        let none = Numbers::default();
        let given = given.unwrap_or(&none);
        let is_whole = !kind.has(Kinds::FRACTION);
        let ends = [
            (&given.least, &given.most, &taken.least, "less than"),
            (&given.most, &given.least, &taken.most, "more than"),
        ];
        for ((own, far, wanted, word), is_least) in ends.into_iter().zip([true, false]) {
            let Some(wanted) = wanted else { continue };
            // Turned round, so that the same holds for both ends.
            let is_within = |one: &Bound, two: &Bound| {
                let order = compare_bounds(one, two, is_least, is_whole);
                if is_least { order.is_ge() } else { order.is_le() }
            };
            if own.as_ref().is_some_and(|own| is_within(own, wanted)) {
                continue;
            }
            let note = || {
                let limit = match wanted.is_exclusive {
                    true => format!("{word} or equal to {}", wanted.at),
                    false => format!("{word} {}", wanted.at),
                };
                Note::new(format!("it is {limit}"), format!("may be {limit}"))
            };
            let is_apart = far.as_ref().is_some_and(|far| {
                let order = compare(&far.at, &wanted.at);
                let is_beyond = if is_least { order.is_lt() } else { order.is_gt() };
                is_beyond || order.is_eq() && (far.is_exclusive || wanted.is_exclusive)
            });
            outcome.and(match is_apart {
                true => self.cannot(note),
                false => self.note(Certainty::MayFail, note),
            });
        }
        for of in &taken.multiples {
            let is_multiple = |own: &Number| multiple(own, of) == Some(true);
            let is_one = is_whole && multiple(&1.into(), of) == Some(true);
            if !is_one && !given.multiples.iter().any(is_multiple) {
                outcome.and(self.may_fail(|| format!("might not be a multiple of {of}")));
            }
        }
        outcome
    }

    fn lists(&mut self, given: &Lists, taken: &Lists) -> Outcome {
        let words = ["has fewer than", "has more than"];
        let mut outcome = self.count(given.length, taken.length, words, " items");
        if taken.is_unique && !given.is_unique && given.length.most.is_none_or(|most| most > 1) {
            outcome.and(self.may_fail(|| "may have equal items".to_owned()));
        }
        let places = given.first.len().max(taken.first.len());
        for index in 0..places {
            if given.length.most.is_some_and(|most| index as u64 >= most) || outcome.is_impossible() {
                return outcome;
            }
            let Some(wanted) = taken.item(index) else { continue };
            let own = self.given_or_any(given.item(index), wanted).within(|| Step::Item(index));
            outcome.and(if (index as u64) < given.length.least { own } else { own.weakened() });
        }
        let has_others = given.length.most.is_none_or(|most| most > places as u64);
        if let Some(wanted) = taken.others.filter(|_| has_others && !outcome.is_impossible()) {
            let own = self.given_or_any(given.others, wanted).within(|| Step::Items);
            outcome.and(match given.length.least > places as u64 {
                true => own,
                false if places == 0 => own.loosened_if_impossible(),
                false => own.weakened(),
            });
        }
        outcome
    }

    /// Compares a part that the giver may not describe.
    fn given_or_any(&mut self, given: Option<At>, wanted: At) -> Outcome {
        match given {
            Some(given) => self.pair(given, wanted),
            None if self.taker.node(wanted).is_any() => Outcome::FITS,
            None if self.taker.node(wanted).kinds.is_empty() => self.may_fail(|| "isn't allowed".to_owned()),
            None => {
                self.unstated(|| format!("can be anything, not only {}", article(&self.taker.describe_at(wanted, 0))))
            }
        }
    }

    fn objects(&mut self, given: &Objects, taken: &Objects) -> Outcome {
        let mut outcome = Outcome::FITS;
        for member in &taken.members {
            if outcome.is_impossible() || !self.spend(1) {
                return outcome;
            }
            let (wanted, is_required) = (member.at, member.is_required);
            let absent = || Note::new(String::new(), "may be absent".to_owned());
            let of_member = match given.member(&member.name) {
                Some(own) => {
                    let mut of_member = self.pair(own.at, wanted);
                    if is_required && !own.is_required && !of_member.is_impossible() {
                        of_member.and(self.note(Certainty::MayFail, absent));
                    }
                    let may_lack = !is_required && !own.is_required;
                    if may_lack { of_member.loosened_if_impossible() } else { of_member }
                }
                None => match given.others {
                    Some(others) if !self.giver.node(others).kinds.is_empty() => {
                        let mut of_member = self.pair(others, wanted);
                        if !is_required {
                            of_member = of_member.weakened();
                        } else if !of_member.is_impossible() {
                            of_member.and(self.note(Certainty::MayFail, absent));
                        }
                        of_member
                    }
                    None if is_required && !given.is_listed => self.note(Certainty::MayFail, absent),
                    others if is_required => {
                        let is_loose = others.is_none();
                        let taker = self.taker;
                        let lacking = self.cannot(|| {
                            let (name, expected) = (&member.name, article(&taker.describe_at(wanted, 0)));
                            let reason = format!("the member `{name}` is missing; it must be {expected}");
                            Note::new(reason, "may be absent".to_owned())
                        });
                        Outcome { is_loose, ..lacking }
                    }
                    None if (!given.is_listed || given.is_open) && !self.taker.node(wanted).is_any() => {
                        self.unstated(|| "can be anything".to_owned())
                    }
                    _ => Outcome::FITS,
                },
            };
            outcome.and(of_member.within(|| Step::Member(member.name.clone())));
        }
        if let Some(others) = taken.others.filter(|_| !outcome.is_impossible()) {
            outcome.and(self.others(given, taken, others));
        }
        let listed = given.members.len() as u64;
        let is_closed = given.others.is_some_and(|others| self.giver.node(others).kinds.is_empty());
        let is_complete = is_closed || given.is_listed && given.others.is_none() && !given.is_open;
        let own =
            given.count.and(Count { least: given.required().count() as u64, most: is_complete.then_some(listed) });
        outcome.and(self.count(own, taken.count, ["has fewer than", "has more than"], " members"));
        outcome
    }

    /// Members that the taker doesn't list.
    fn others(&mut self, given: &Objects, taken: &Objects, wanted: At) -> Outcome {
        let mut outcome = Outcome::FITS;
        let is_closed = self.taker.node(wanted).kinds.is_empty();
        for member in given.members.iter().filter(|member| taken.member(&member.name).is_none()) {
            if outcome.is_impossible() || !self.spend(1) {
                return outcome;
            }
            let step = || Step::Member(member.name.clone());
            outcome.and(match (is_closed, member.is_required) {
                (true, true) => self
                    .cannot(|| {
                        let reason = format!("the member `{}` isn't allowed", member.name);
                        Note::new(reason, "isn't allowed".to_owned())
                    })
                    .within(step),
                (true, false) => self.may_fail(|| "isn't allowed".to_owned()).within(step),
                (false, true) => self.pair(member.at, wanted).within(step),
                (false, false) => self.pair(member.at, wanted).within(step).loosened_if_impossible(),
            });
        }
        let of_others = match given.others {
            Some(others) if self.giver.node(others).kinds.is_empty() => Outcome::FITS,
            Some(others) => match is_closed {
                true => self.may_fail(|| "may have other members".to_owned()),
                false => self.pair(others, wanted).within(|| Step::Others).loosened_if_impossible(),
            },
            None if given.is_open && is_closed => self.may_fail(|| "may have other members".to_owned()),
            None if self.taker.node(wanted).is_any() => Outcome::FITS,
            None => self.unstated(|| "doesn't exclude other members".to_owned()),
        };
        outcome.and(of_others);
        outcome
    }
}

impl Outcome {
    fn loosened_if_impossible(self) -> Outcome {
        if self.is_impossible() { self.loosened() } else { self }
    }
}

/// The best first.
fn rank(outcome: &Outcome) -> (Certainty, bool) {
    (outcome.certainty, outcome.is_converted)
}

/// Judges values of the taker by the giver's constraints other than its values.
struct GivenJudge<'s> {
    schema: &'s Schema,
    left: &'s mut u32,
}

impl GivenJudge<'_> {
    fn admits(&mut self, given: &Node, value: &Value) -> Admits {
        let at = self.schema.nodes.iter().position(|node| std::ptr::eq(node, given));
        let mut judge = Judge { schema: self.schema, left: self.left, doubts_content: true };
        at.map_or(Admits::Unknown, |at| judge.admits(at as At, value, 0))
    }
}

fn is_media(own: &str, wanted: &str) -> bool {
    let plain = |media: &'_ str| media.split(';').next().unwrap_or_default().trim().to_owned();
    let (own, wanted) = (plain(own), plain(wanted));
    own == wanted
        || wanted == "*/*"
        || wanted.strip_suffix("/*").is_some_and(|kind| own.split('/').next() == Some(kind))
        || own.rsplit_once('+').is_some_and(|(_, suffix)| wanted == format!("application/{suffix}"))
}
