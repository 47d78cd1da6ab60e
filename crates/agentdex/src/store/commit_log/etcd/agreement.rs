//! Differences between nodes: values that should be the same on all of them.

use std::collections::{BTreeMap, BTreeSet};

/// Named values of a node, such as digests.
pub(super) type Values = BTreeMap<String, String>;

/// Returns the names of a node's values that differ from the correct ones. A value is correct if more than half of the
/// nodes have it; otherwise, that of the leader is correct. Without a leader, no value is wrong.
pub(super) fn wrong(node: &str, all: &BTreeMap<&str, &Values>, leader: Option<&str>) -> Vec<String> {
    let Some(own) = all.get(node) else { return Vec::new() };
    let names: BTreeSet<&String> = all.values().flat_map(|values| values.keys()).collect();
    let is_wrong = |name: &str| {
        let value = own.get(name);
        let equal = all.values().filter(|values| values.get(name) == value).count();
        match equal * 2 > all.len() {
            true => false,
            false => {
                common(name, all).or_else(|| Some(all.get(leader?)?.get(name))).is_some_and(|correct| correct != value)
            }
        }
    };
    names.into_iter().filter(|name| is_wrong(name)).cloned().collect()
}

/// Returns the value that more than half of the nodes have, if there is such a value. Nodes may also lack it.
fn common<'a>(name: &str, all: &BTreeMap<&str, &'a Values>) -> Option<Option<&'a String>> {
    let mut counts: BTreeMap<Option<&String>, usize> = BTreeMap::new();
    all.values().for_each(|values| *counts.entry(values.get(name)).or_default() += 1);
    counts.into_iter().find(|(_, count)| count * 2 > all.len()).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the wrong values of each node, `a` to `c`.
    fn wrong_of(nodes: &[&[(&str, &str)]], leader: Option<&str>) -> Vec<Vec<String>> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let values: Vec<Values> = nodes.iter().map(|values| values.iter().map(owned).collect()).collect();
        let all: BTreeMap<&str, &Values> = ["a", "b", "c"].into_iter().zip(&values).collect();
        all.keys().map(|node| wrong(node, &all, leader)).collect()
    }

    #[test]
    fn most_nodes_are_right_and_else_the_leader() {
        let (one, two): (&[_], &[_]) = (&[("x", "1"), ("y", "1")], &[("x", "2"), ("y", "1")]);
        assert_eq!(wrong_of(&[one, two, one], Some("b")), [vec![], vec!["x".to_owned()], vec![]]);
        assert_eq!(wrong_of(&[one, two], Some("b")), [vec!["x"], vec![]]);
        assert_eq!(wrong_of(&[one, two], None), [Vec::<String>::new(), vec![]]);
        assert_eq!(wrong_of(&[one, two], Some("gone")), [Vec::<String>::new(), vec![]]);
        assert_eq!(wrong_of(&[one, two, &[("x", "3"), ("y", "1")]], Some("c")), [vec!["x"], vec!["x"], vec![]]);
        assert_eq!(wrong_of(&[one], Some("a")), [Vec::<String>::new()]);
        // A missing value counts, too.
        assert_eq!(wrong_of(&[&[], one, &[]], Some("a")), [vec![], vec!["x", "y"], vec![]]);
        assert_eq!(wrong_of(&[&[], one, one], Some("a")), [vec!["x", "y"], vec![], vec![]]);
    }
}
