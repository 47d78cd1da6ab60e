//! JSON Merge Patch (RFC 7396) on texts: member order and number tokens are preserved.
//!
//! In a patch, `null` means "remove the member", so that a patch can't set a member to `null`. If the target document
//! contains members that are `null`, a [`diff`] omits them, and they are missing after [`apply`].

use std::{borrow::Cow, collections::HashMap};

use super::{
    MAX_NESTING,
    document::malformed_json,
    members::{Members, is_object},
};
use crate::{Error, Result};

/// Maximum depth of [`diff`]; deeper values are replaced whole.
const MAX_DIFF_DEPTH: usize = 128;

/// Applies `patch` to `target`, and returns the result. Both are JSON texts.
///
/// ```
/// use agentdex_td::merge_patch::apply;
///
/// let patched = apply(r#"{"a": 1.50, "b": {"c": 2, "d": 3}}"#, r#"{"b": {"c": null}, "e": 4}"#)?;
/// assert_eq!(patched, r#"{"a":1.50,"b":{"d":3},"e":4}"#);
/// # Ok::<(), agentdex_td::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidPatch`] if `patch` is not a JSON object; [`Error::MalformedJson`]; [`Error::LimitExceeded`] if
/// `patch` is nested too deeply.
pub fn apply(target: &str, patch: &str) -> Result<String> {
    let patch = patch.strip_prefix('\u{feff}').unwrap_or(patch);
    check_syntax(patch)?;
    check_syntax(target)?;
    if !is_object(patch) {
        let message = "a merge patch must be a JSON object, such as {\"title\": \"new title\"}".into();
        return Err(Error::InvalidPatch { message });
    }
    merge(target, patch, 1).map(Cow::into_owned)
}

fn check_syntax(json: &str) -> Result<()> {
    serde_json::from_str::<serde::de::IgnoredAny>(json).map(drop).map_err(|error| malformed_json(&error))
}

fn merge<'a>(target: &'a str, patch: &'a str, depth: usize) -> Result<Cow<'a, str>> {
    if !is_object(patch) {
        return Ok(patch.into());
    }
    if depth > MAX_NESTING {
        return Err(Error::LimitExceeded { what: "JSON nesting depth", maximum: MAX_NESTING as u64 });
    }
    let mut changes: Vec<_> = Members::of(patch).unwrap_or_default().0.into_iter().map(Some).collect();
    let places: HashMap<String, usize> = changes
        .iter()
        .enumerate()
        .filter_map(|(place, change)| Some((change.as_ref()?.0.to_string(), place)))
        .collect();
    let mut merged = Members::default();
    for (name, value) in Members::of(target).unwrap_or_default().0 {
        let Some(place) = places.get(name.as_ref()) else {
            merged.0.push((name, value));
            continue;
        };
        if let Some((_, change)) = changes.get_mut(*place).and_then(Option::take)
            && change != "null"
        {
            let value = merge(&value, &change, depth + 1)?.into_owned();
            merged.0.push((name, value.into()));
        }
    }
    for (place, change) in changes.into_iter().enumerate() {
        let Some((name, change)) = change else { continue };
        // Of a name that the patch repeats, the last is meant.
        if change != "null" && places.get(name.as_ref()) == Some(&place) {
            let value = merge("{}", &change, depth + 1)?.into_owned();
            merged.0.push((name, value.into()));
        }
    }
    Ok(merged.to_text().into())
}

/// Returns the patch from `before` to `after`, or `None` if they are equal. The order of members is ignored. Numbers
/// are equal only if they are spelled in the same way.
///
/// ```
/// use agentdex_td::merge_patch::diff;
///
/// assert_eq!(diff(r#"{"a": 1, "b": 2}"#, r#"{"b": 3}"#).as_deref(), Some(r#"{"b":3,"a":null}"#));
/// assert_eq!(diff(r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#), None);
/// ```
pub fn diff(before: &str, after: &str) -> Option<String> {
    difference(before, after, 1).map(Cow::into_owned)
}

fn difference<'a>(before: &'a str, after: &'a str, depth: usize) -> Option<Cow<'a, str>> {
    if before == after {
        return None;
    }
    let (Some(old), Some(new)) = (Members::of(before), Members::of(after)) else {
        return (!are_equal(before, after, depth)).then_some(after.into());
    };
    if depth > MAX_DIFF_DEPTH {
        return Some(after.into());
    }
    let old: HashMap<Cow<'_, str>, Cow<'_, str>> = old.0.into_iter().collect();
    let mut patch = Members::default();
    let mut common = std::collections::HashSet::new();
    for (name, value) in &new.0 {
        let change = match old.get(name) {
            Some(before) => difference(before, value, depth + 1).map(Cow::into_owned),
            None => Some(value.to_string()),
        };
        if let Some(change) = change {
            patch.0.push((name.clone(), change.into()));
        }
        common.insert(name);
    }
    let mut gone: Vec<_> = old.keys().filter(|name| !common.contains(name)).collect();
    gone.sort();
    patch.0.extend(gone.into_iter().map(|name| (name.clone(), "null".into())));
    (!patch.0.is_empty()).then(|| patch.to_text().into())
}

/// True if two JSON texts say the same, number tokens compared as written.
fn are_equal(one: &str, other: &str, depth: usize) -> bool {
    if one == other {
        return true;
    }
    if depth > MAX_DIFF_DEPTH {
        return false;
    }
    match (one.trim_ascii_start().as_bytes().first(), other.trim_ascii_start().as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => are_equal_objects(one, other, depth),
        (Some(b'['), Some(b'[')) => are_equal_arrays(one, other, depth),
        (Some(b'"'), Some(b'"')) => {
            match (serde_json::from_str::<String>(one), serde_json::from_str::<String>(other)) {
                (Ok(one), Ok(other)) => one == other,
                _ => false,
            }
        }
        _ => one.trim_ascii() == other.trim_ascii(),
    }
}

fn are_equal_objects(one: &str, other: &str, depth: usize) -> bool {
    let (Some(one), Some(other)) = (Members::of(one), Members::of(other)) else {
        return false;
    };
    let one: HashMap<_, _> = one.0.into_iter().collect();
    let other: HashMap<_, _> = other.0.into_iter().collect();
    one.len() == other.len()
        && one.iter().all(|(name, value)| other.get(name).is_some_and(|same| are_equal(value, same, depth + 1)))
}

fn are_equal_arrays(one: &str, other: &str, depth: usize) -> bool {
    type Elements<'a> = Vec<&'a serde_json::value::RawValue>;
    match (serde_json::from_str::<Elements<'_>>(one), serde_json::from_str::<Elements<'_>>(other)) {
        (Ok(one), Ok(other)) => {
            one.len() == other.len() && one.iter().zip(&other).all(|(a, b)| are_equal(a.get(), b.get(), depth + 1))
        }
        _ => false,
    }
}
