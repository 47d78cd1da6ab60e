//! Differences between nodes: values that should be the same on all of them.

use std::collections::BTreeMap;

/// Named values of a node, such as digests.
pub(super) type Values = BTreeMap<String, String>;

/// Values of a node that differ from the correct values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wrong {
    pub names: Vec<String>,
    /// True if the correct value of any of them is that of the leader, because no value is that of most nodes.
    pub is_by_leader: bool,
}

/// Returns the values of a node that differ from the correct values. A value is correct if more than half of the nodes
/// have it; otherwise, that of the leader is correct. Without a leader, no value is wrong. Nodes that lack a value, such
/// as nodes of another version, don't count.
pub(super) fn wrong(node: &str, all: &BTreeMap<&str, &Values>, leader: Option<&str>) -> Wrong {
    let (own, mut wrong) = (all.get(node), Wrong::default());
    for (name, value) in own.into_iter().flat_map(|own| own.iter()) {
        let values: Vec<&String> = all.values().filter_map(|values| values.get(name)).collect();
        let count = |value: &String| values.iter().filter(|other| **other == value).count();
        let most = values.iter().find(|value| count(value) * 2 > values.len());
        let of_leader = || leader.and_then(|leader| all.get(leader)?.get(name));
        if most.copied().or_else(of_leader).is_some_and(|correct| correct != value) {
            wrong.names.push(name.clone());
            wrong.is_by_leader |= most.is_none();
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the wrong values of each node, `a` to `c`.
    fn wrong_of(nodes: &[&[(&str, &str)]], leader: Option<&str>) -> Vec<Vec<String>> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let values: Vec<Values> = nodes.iter().map(|values| values.iter().map(owned).collect()).collect();
        let all: BTreeMap<&str, &Values> = ["a", "b", "c"].into_iter().zip(&values).collect();
        all.keys().map(|node| wrong(node, &all, leader).names).collect()
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
        // Nodes that lack a value don't count.
        assert_eq!(wrong_of(&[&[], one, &[]], Some("a")), [Vec::<String>::new(), vec![], vec![]]);
        assert_eq!(wrong_of(&[&[], one, two], Some("c")), [vec![], vec!["x"], vec![]]);
        let values =
            [one, two].map(|values| values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect());
        let all: BTreeMap<&str, &Values> = ["a", "b"].into_iter().zip(&values).collect();
        assert_eq!(wrong("a", &all, Some("b")), Wrong { names: vec!["x".into()], is_by_leader: true });
    }
}
