//! Keys in etcd of the log of a cluster.

use agentdex_etcd::KeyRange;

use super::super::{CommitId, turn::Node};

/// Number of hexadecimal digits of a commit's number in a key. With a fixed number of digits, keys sort like the
/// numbers.
const DIGITS: usize = 16;

/// Names of the keys below `agentdex/<name of the cluster>/`.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub fn new(cluster: &str) -> Keys {
        Keys { prefix: format!("agentdex/{cluster}/") }
    }

    /// Returns the key of the log's identity.
    pub fn meta(&self) -> Vec<u8> {
        self.key("meta")
    }

    /// Returns the key of a commit.
    pub fn commit(&self, number: u64) -> Vec<u8> {
        self.key(&format!("c/{number:016x}"))
    }

    /// Returns the number of the commit stored under a key.
    pub fn commit_number(&self, key: &[u8]) -> Option<u64> {
        let digits = key.strip_prefix(self.prefix.as_bytes())?.strip_prefix(b"c/")?;
        (digits.len() == DIGITS).then(|| u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok())?
    }

    /// Returns the key of an additional value of a large commit.
    pub fn part(&self, number: u64, id: CommitId, part: usize) -> Vec<u8> {
        self.key(&format!("p/{number:016x}/{:016x}{:016x}/{part:04x}", id.run, id.count))
    }

    /// Returns the first key of the additional values of commits from this number on.
    pub fn parts_of(&self, number: u64) -> Vec<u8> {
        self.key(&format!("p/{number:016x}/"))
    }

    /// Returns the key by which a node shows that it waits for its turn.
    pub fn waiting(&self, node: Node) -> Vec<u8> {
        self.key(&format!("w/{node:032x}"))
    }

    /// Returns the range of the keys of all waiting nodes.
    pub fn all_waiting(&self) -> KeyRange {
        KeyRange::prefix(self.key("w/"))
    }

    /// Returns the waiting node to which a key belongs.
    pub fn waiting_node(&self, key: &[u8]) -> Option<Node> {
        let digits = key.strip_prefix(self.prefix.as_bytes())?.strip_prefix(b"w/")?;
        Node::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    }

    /// Returns the key of a running node.
    pub fn node(&self, name: &str) -> Vec<u8> {
        self.key(&format!("nodes/{name}"))
    }

    /// Returns the range of the keys of all running nodes.
    pub fn nodes(&self) -> KeyRange {
        KeyRange::prefix(self.key("nodes/"))
    }

    /// Returns the name of the running node to which a key belongs.
    pub fn node_name(&self, key: &[u8]) -> Option<String> {
        let name = key.strip_prefix(self.prefix.as_bytes())?.strip_prefix(b"nodes/")?;
        Some(str::from_utf8(name).ok()?.to_owned())
    }

    /// Returns the key with the time at which the leader last wrote.
    pub fn alive(&self) -> Vec<u8> {
        self.key("alive")
    }

    /// Returns the key with the positions of the leader's own followers.
    pub fn positions(&self) -> Vec<u8> {
        self.key("positions")
    }

    /// Returns the key of a node of the cluster, whether it is running or not.
    pub fn member(&self, name: &str) -> Vec<u8> {
        self.key(&format!("members/{name}"))
    }

    /// Returns the name of the node to which a key of a member belongs.
    pub fn member_name<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        str::from_utf8(key.strip_prefix(self.prefix.as_bytes())?.strip_prefix(b"members/")?).ok()
    }

    /// Returns the range of the keys of all nodes of the cluster.
    pub fn members(&self) -> KeyRange {
        KeyRange::prefix(self.key("members/"))
    }

    /// Returns the key of the leader.
    pub fn leader(&self) -> Vec<u8> {
        self.key("leader")
    }

    /// Returns the key of the number of the last dropped commit.
    pub fn trimmed(&self) -> Vec<u8> {
        self.key("trimmed")
    }

    /// Returns the range of all keys of the log.
    pub fn all(&self) -> KeyRange {
        KeyRange::prefix(self.prefix.clone())
    }

    fn key(&self, rest: &str) -> Vec<u8> {
        format!("{}{rest}", self.prefix).into_bytes()
    }
}

/// Decodes the number of the last dropped commit.
pub(super) fn trimmed_of(value: &[u8]) -> u64 {
    str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers_and_are_read_again() {
        let keys = Keys::new("zoo");
        assert_eq!(keys.commit(255), b"agentdex/zoo/c/00000000000000ff");
        assert!(keys.commit(9) < keys.commit(10) && keys.commit(15) < keys.commit(16));
        for number in [0, 1, u64::MAX] {
            assert_eq!(keys.commit_number(&keys.commit(number)), Some(number));
        }
        for other in [keys.meta(), keys.waiting(3), Keys::new("zoo2").commit(1), b"agentdex/zoo/c/1".to_vec()] {
            assert_eq!(keys.commit_number(&other), None);
        }
        assert_eq!(keys.waiting_node(&keys.waiting(u128::MAX)), Some(u128::MAX));
        assert_eq!(keys.waiting_node(&keys.commit(1)), None);
    }
}
