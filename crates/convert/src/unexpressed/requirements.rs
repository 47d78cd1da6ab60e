//! Security requirements of forms, resolved by the security definitions of their Things.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most schemes, and sets of them, of one form that are compared, and the deepest combination of them.
const MOST_SCHEMES: usize = 64;
const DEEPEST_COMBINATION: usize = 4;

/// The name of a scheme, and where its credential goes.
pub(super) type Scheme<'d> = [Option<&'d str>; 3];

pub(super) fn scheme(definition: &Value) -> Scheme<'_> {
    let text = |name: &str| definition.get(name).and_then(Value::as_str);
    let scheme = text("scheme");
    let is_in_header = matches!(scheme, Some("basic" | "bearer" | "digest"));
    let usual = if is_in_header { Some("header") } else { (scheme == Some("apikey")).then_some("query") };
    [scheme, text("in").or(usual), text("name").filter(|_| scheme == Some("apikey"))]
}

/// Sets of schemes, of which one is enough; each has to be satisfied as a whole.
pub(super) type Requirement<'t> = BTreeSet<BTreeSet<Scheme<'t>>>;

/// What a form requires; `None` if that is too much to be compared.
pub(super) fn requirement<'t>(thing: &'t Value, form: &'t Value) -> Option<Requirement<'t>> {
    let names = form.get("security").or_else(|| thing.get("security")).unwrap_or(&Value::Null);
    all_of(thing, names, DEEPEST_COMBINATION, &mut { MOST_SCHEMES })
}

/// What takes all definitions of these names.
fn all_of<'t>(thing: &'t Value, names: &'t Value, depth: usize, left: &mut usize) -> Option<Requirement<'t>> {
    let names = names.as_array().map_or(std::slice::from_ref(names), Vec::as_slice);
    let mut all = Requirement::from([BTreeSet::new()]);
    for name in names {
        let one = one_of(thing, name, depth, left)?;
        let pairs = all.iter().flat_map(|known| one.iter().map(move |more| known.union(more).copied().collect()));
        all = pairs.take(MOST_SCHEMES + 1).collect();
        *left = left.checked_sub(all.len())?;
    }
    Some(all)
}

/// What takes the definition of a name.
fn one_of<'t>(thing: &'t Value, name: &Value, depth: usize, left: &mut usize) -> Option<Requirement<'t>> {
    *left = left.checked_sub(1)?;
    let depth = depth.checked_sub(1)?;
    let Some(definition) = name.as_str().and_then(|name| thing.get("securityDefinitions")?.get(name)) else {
        return Some(Requirement::from([BTreeSet::new()]));
    };
    match (scheme(definition)[0], definition.get("oneOf").and_then(Value::as_array), definition.get("allOf")) {
        (Some("combo"), Some(names), _) => {
            let mut any = Requirement::new();
            for name in names {
                any.extend(one_of(thing, name, depth, left)?);
            }
            Some(any)
        }
        (Some("combo"), None, Some(names)) => all_of(thing, names, depth, left),
        (None | Some("nosec" | "auto" | "combo"), ..) => Some(Requirement::from([BTreeSet::new()])),
        _ => Some(Requirement::from([BTreeSet::from([scheme(definition)])])),
    }
}
