//! Ranges of numbers.

use serde_json::Value;

use super::{
    schema::{Bound, Numbers, compare, whole},
    values::multiple,
};

/// Maximum number of integers in a range that are compared individually.
const MAX_RANGE: i128 = 64;

/// Compares ends of ranges; of whole numbers an exclusive end is the next number.
pub(super) fn compare_bounds(one: &Bound, two: &Bound, is_least: bool, is_whole: bool) -> std::cmp::Ordering {
    let step = if is_least { 1 } else { -1 };
    let inclusive = |bound: &Bound| {
        let at = whole(&bound.at).filter(|_| is_whole)?;
        Some(if bound.is_exclusive { at.saturating_add(step) } else { at })
    };
    if let (Some(one), Some(two)) = (inclusive(one), inclusive(two)) {
        return one.cmp(&two);
    }
    let exclusive = |bound: &Bound| i8::from(bound.is_exclusive) * if is_least { 1 } else { -1 };
    compare(&one.at, &two.at).then(exclusive(one).cmp(&exclusive(two)))
}

/// The integers of a short range.
pub(super) fn range(numbers: Option<&Numbers>) -> Vec<Value> {
    let end = |bound: &Option<Bound>, step: i128| {
        let bound = bound.as_ref()?;
        Some(if bound.is_exclusive { whole(&bound.at)? + step } else { whole(&bound.at)? })
    };
    let ends = numbers.and_then(|numbers| Some((end(&numbers.least, 1)?, end(&numbers.most, -1)?, &numbers.multiples)));
    let Some((least, most, multiples)) = ends.filter(|(least, most, _)| (0..MAX_RANGE).contains(&(most - least)))
    else {
        return Vec::new();
    };
    let numbers = (least..=most).filter_map(|number| i64::try_from(number).ok());
    let is_one = |number: &i64| multiples.iter().all(|of| multiple(&(*number).into(), of) != Some(false));
    numbers.filter(is_one).map(Value::from).collect()
}
