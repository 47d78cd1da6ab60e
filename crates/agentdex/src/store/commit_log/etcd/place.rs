//! `Place`: the last commit of a store in the log of its cluster, kept by the store under `n/c`.

use agentdex_etcd::ResponseHeader;
use serde::{Deserialize, Serialize};
use sled::IVec;

use super::ask::Seen;

/// Place of a store in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Name of the cluster.
    pub cluster: String,
    /// Number of the store's last commit.
    pub number: u64,
    /// Digest of this commit in hexadecimal digits. Empty for the commit before the first one of the log.
    pub digest: String,
    /// Latest known state of etcd.
    #[serde(flatten)]
    pub seen: Seen,
}

impl Place {
    pub fn encode(&self) -> IVec {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub fn decode(bytes: &[u8]) -> serde_json::Result<Place> {
        serde_json::from_slice(bytes)
    }

    /// Checks that etcd hasn't gone back in time since then.
    pub fn check(&self, header: ResponseHeader) -> Result<(), String> {
        if self.seen.cluster == header.cluster_id && self.seen.revision <= header.revision {
            return Ok(());
        }
        Err("etcd was restored from an older copy, or replaced by a different etcd: its revision is lower than before, \
             or its cluster id differs"
            .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_stored_as_json() {
        let seen = Seen { cluster: u64::MAX, revision: 12 };
        let place = Place { cluster: "zoo".into(), number: 7, digest: "00ff".into(), seen };
        let json = r#"{"cluster":"zoo","number":7,"digest":"00ff","etcd":18446744073709551615,"revision":12}"#;
        assert_eq!(place.encode(), json.as_bytes());
        assert_eq!(Place::decode(json.as_bytes()).unwrap(), place);
        let header = |cluster_id, revision| ResponseHeader { cluster_id, revision, ..Default::default() };
        assert_eq!(place.check(header(u64::MAX, 12)), Ok(()));
        assert!(place.check(header(u64::MAX, 11)).is_err() && place.check(header(1, 13)).is_err());
    }
}
