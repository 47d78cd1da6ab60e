//! Identity of a log: its registry, and the commit before its beginning.

use agentdex_etcd::{Client, Compare, KeyRange, Op, Range, Txn};
use serde::{Deserialize, Serialize};

use super::{super::Broken, ask::ask, keys::Keys};
use crate::store::layout::FORMAT_VERSION;

/// Version of the layout of keys and values in etcd.
const LAYOUT: u32 = 1;

/// Maximum number of attempts at founding a log.
const MAX_ATTEMPTS: usize = 10;

/// Identity of a log, as stored in etcd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    pub layout: u32,
    /// Version of the layout of the stores.
    pub format: u32,
    /// Id of the registry.
    pub registry: String,
    /// Epoch of all positions in the log.
    pub epoch: u64,
    /// Number of the last commit before the first commit in the log.
    pub from: u64,
}

/// Parameters for finding or founding the log of a store.
#[derive(Debug, Clone)]
pub(crate) struct Founding {
    /// Id and epoch of the store.
    pub registry: String,
    pub epoch: u64,
    /// Number of the last commit of the store.
    pub last: u64,
    /// True if this store founds the log when there is no log yet.
    pub is_first: bool,
}

/// A log found in etcd.
#[derive(Debug, Clone)]
pub(super) struct Founded {
    pub meta: Meta,
    /// Revision of the key with the identity, which changes if the log is replaced by another log.
    pub revision: i64,
}

impl Founding {
    /// Finds the log, or founds it.
    pub(super) async fn carry_out(&self, client: &Client, keys: &Keys) -> Result<Founded, Broken> {
        let mut failure = None;
        for _ in 0..MAX_ATTEMPTS {
            match self.attempt(client, keys).await {
                Ok(founded) => return self.check(founded?, keys),
                Err(error) if error.is_transient() => failure = Some(error),
                Err(error) => return Err(Broken(error.to_string())),
            }
        }
        Err(Broken(failure.map_or_else(|| "etcd doesn't respond".into(), |error| error.to_string())))
    }

    async fn attempt(&self, client: &Client, keys: &Keys) -> Result<Result<Founded, Broken>, agentdex_etcd::Error> {
        let read = || Op::range(Range::new(KeyRange::key(keys.meta())));
        let mut txn = Txn::new().when([Compare::create_revision(keys.meta()).equals(0)]).otherwise([read()]);
        let (registry, epoch, from) = (self.registry.clone(), self.epoch, self.last);
        let meta = Meta { layout: LAYOUT, format: FORMAT_VERSION, registry, epoch, from };
        if self.is_first {
            let value = serde_json::to_vec(&meta).unwrap_or_default();
            // The commit before the first one is empty: it is only compared with.
            txn = txn.then([Op::put(keys.meta(), value), Op::put(keys.commit(from), "")]);
        }
        let answer = ask(client, &txn).await?;
        if answer.body.succeeded {
            let none = || {
                Broken("this cluster does not exist in etcd; create it by starting a node with --cluster-init".into())
            };
            return Ok(if self.is_first {
                Ok(Founded { meta, revision: answer.header.revision })
            } else {
                Err(none())
            });
        }
        let found = answer.body.range(0).and_then(|range| range.kvs.first());
        let founded = found.and_then(|found| {
            let meta = serde_json::from_slice(&found.value).ok()?;
            Some(Founded { meta, revision: found.mod_revision })
        });
        Ok(founded.ok_or_else(|| Broken("the identity of the log in etcd can't be read".into())))
    }

    /// Checks that the log belongs to this store.
    fn check(&self, founded: Founded, keys: &Keys) -> Result<Founded, Broken> {
        let Meta { layout, format, registry, epoch, .. } = &founded.meta;
        if *layout != LAYOUT || *format != FORMAT_VERSION {
            let of_program = format!("layout {LAYOUT} and format {FORMAT_VERSION}");
            let reason =
                format!("the log in etcd has layout {layout} and format {format}, but this program uses {of_program}");
            return Err(Broken(reason));
        }
        if *registry != self.registry || *epoch != self.epoch {
            let key = String::from_utf8_lossy(&keys.meta()).into_owned();
            return Err(Broken(format!(
                "the log in etcd ({key}) belongs to another registry, or to another epoch of this registry"
            )));
        }
        Ok(founded)
    }
}
