//! Finding the log of a store in etcd, or founding it. A store follows a log only if both continue at the same commit.

use std::time::Instant;

use agentdex_etcd::{Answer, Client, Compare, Error, KeyRange, KeyValue, Op, Range, ResponseHeader, Txn};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    super::{Identity, LastCommit, NewStore},
    ask::{Seen, ask},
    encoding::Head,
    keys::{Keys, trimmed_of},
    options::{Limits, PAUSES},
    place::Place,
};
use crate::{change::Epoch, store::layout::FORMAT_VERSION};

/// Version of the layout of keys and values in etcd.
const LAYOUT: u32 = 1;

/// Number of the only commit of a new store.
const OF_NEW_STORE: u64 = 1;

/// Identity of a log, as stored in etcd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    pub layout: u32,
    /// Version of the layout of the stores.
    pub format: u32,
    /// Id of the registry.
    pub registry: Uuid,
    /// Epoch of all positions in the log.
    pub epoch: u64,
    /// Number of the last commit before the first commit in the log.
    pub from: u64,
    /// Checksum of the store after that commit, in hexadecimal digits.
    pub sum: String,
}

/// A log found in etcd.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub meta: Meta,
    /// Revision of the key with the identity, which changes if the log is replaced by another log.
    pub revision: i64,
}

/// Log to be followed by a store, from the store's last commit on.
#[derive(Debug, Clone)]
pub(super) struct Founded {
    /// See [`Found::revision`].
    pub revision: i64,
    /// See [`Meta::from`].
    pub from: u64,
    /// Place of the store in the log at the start.
    pub place: Place,
}

/// Reason why a store wasn't opened with its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// The store can't follow this log.
    Refused(String),
    /// The log can't be reached, or doesn't exist yet.
    Unavailable(String),
}

/// Store in search of its log.
#[derive(Debug, Clone)]
pub(super) struct Follower {
    pub identity: Identity,
    pub number: u64,
    pub sum: u128,
    /// Place of the store in the log, unless the store is new to the log.
    pub place: Option<Place>,
}

impl Follower {
    pub fn of(store: &LastCommit<'_>) -> Result<Follower, NotOpened> {
        let place = store.stamp.map(Place::decode).transpose();
        let place = place.map_err(|error| {
            NotOpened::Refused(format!(
                "its record of the last commit can't be read: {error}; create a data directory with `agentdex \
                 cluster join`"
            ))
        })?;
        Ok(Follower { identity: store.identity, number: store.number, sum: store.sum, place })
    }
}

/// Search for a log.
#[derive(Debug, Clone)]
pub(super) struct Founding {
    pub client: Client,
    pub keys: Keys,
    /// Name of the cluster.
    pub cluster: String,
    pub limits: Limits,
    /// True if the log is founded if it doesn't exist.
    pub is_first: bool,
}

impl Founding {
    /// Returns the identity and place for a new store, or `None` if the new store founds the log.
    pub async fn identity(self) -> Result<Option<NewStore>, NotOpened> {
        let found = match self.find().await? {
            Some(found) => found,
            None if self.is_first => return Ok(None),
            None => self.wait_for_log().await?,
        };
        let Meta { registry, epoch, from, sum, .. } = self.check_version(found)?.meta;
        if from != OF_NEW_STORE || sum != hexadecimal(0) {
            return Err(NotOpened::Refused(
                "the log doesn't contain the data with which the cluster was founded, so a node can't start with \
                 an empty directory; create a data directory with `agentdex cluster join`"
                    .into(),
            ));
        }
        let (header, commit) = self.read_commit(from).await?;
        if commit.is_none() {
            return Err(self.does_not_continue(from).await?);
        }
        let seen = Seen { cluster: header.cluster_id, revision: header.revision };
        // The commit before the first one has no digest.
        let place = Place { cluster: self.cluster, number: from, digest: String::new(), seen };
        let identity = Identity { registry, epoch: Epoch(epoch) };
        Ok(Some(NewStore { identity, stamp: place.encode() }))
    }

    /// Finds or founds the log of a store, and checks that the log continues at the store's last commit.
    pub async fn open(self, store: Follower) -> Result<Founded, NotOpened> {
        let found = match self.find().await? {
            Some(found) => found,
            None if store.place.is_some() => return Err(self.wiped()),
            None if self.is_first => self.found(&store).await?,
            None => self.wait_for_log().await?,
        };
        let Found { meta, revision } = self.check_version(found)?;
        let Meta { registry, epoch, from, sum, .. } = &meta;
        if (*registry, Epoch(*epoch)) != (store.identity.registry, store.identity.epoch) {
            let reason = format!(
                "it contains a different registry, or a different epoch of the registry, than the cluster {:?}; use \
                 the data directory of a node of this cluster, or create a directory with `agentdex cluster join`",
                self.cluster
            );
            return Err(NotOpened::Refused(reason));
        }
        match &store.place {
            Some(place) => self.check_place(&store, place)?,
            None if (store.number, &hexadecimal(store.sum)) != (*from, sum) => {
                let reason = "its content differs from the content with which the cluster was founded; use the data \
                              directory of a node of this cluster, or create a directory with `agentdex cluster \
                              join`";
                return Err(NotOpened::Refused(reason.into()));
            }
            None => {}
        }
        let (header, commit) = self.read_commit(store.number).await?;
        if let Some(place) = &store.place {
            place.check(header).map_err(NotOpened::Refused)?;
        }
        let digest = commit.map(|commit| digest_of(&commit));
        let seen = Seen { cluster: header.cluster_id, revision: header.revision };
        match (digest, &store.place) {
            (None, _) => Err(self.does_not_continue(store.number).await?),
            (Some(found), Some(place)) if found != place.digest => Err(NotOpened::Refused(format!(
                "commit {} in etcd differs from the same commit of this node: etcd was restored from an older copy, or \
                 replaced by a different etcd",
                store.number
            ))),
            (Some(digest), _) => {
                let place = Place { cluster: self.cluster.clone(), number: store.number, digest, seen };
                Ok(Founded { revision, from: *from, place })
            }
        }
    }

    /// Reads the identity of the log. Retries for a while if etcd doesn't respond.
    async fn find(&self) -> Result<Option<Found>, NotOpened> {
        let read = Txn::new().then([Op::range(Range::new(KeyRange::key(self.keys.meta())))]);
        let answer = self.ask(&read).await?;
        answer.body.range(0).and_then(|range| range.kvs.first()).map(found_in).transpose()
    }

    /// Waits for another node to found the log.
    async fn wait_for_log(&self) -> Result<Found, NotOpened> {
        let started = Instant::now();
        loop {
            if let Some(found) = self.find().await? {
                return Ok(found);
            }
            if started.elapsed() >= self.limits.start_wait {
                let reason = format!(
                    "etcd has no cluster named {:?}; to create it, start a single node with --cluster-init once",
                    self.cluster
                );
                return Err(NotOpened::Unavailable(reason));
            }
            tokio::time::sleep(PAUSES.1.min(self.limits.start_wait)).await;
        }
    }

    /// Founds the log, unless another node does so first.
    async fn found(&self, store: &Follower) -> Result<Found, NotOpened> {
        let meta = Meta {
            layout: LAYOUT,
            format: FORMAT_VERSION,
            registry: store.identity.registry,
            epoch: store.identity.epoch.0,
            from: store.number,
            sum: hexadecimal(store.sum),
        };
        let value = serde_json::to_vec(&meta).unwrap_or_default();
        let found = Txn::new()
            .when([Compare::create_revision(self.keys.meta()).equals(0)])
            // The commit before the first one is empty: it is only compared with.
            .then([Op::put(self.keys.meta(), value), Op::put(self.keys.commit(meta.from), "")])
            .otherwise([Op::range(Range::new(KeyRange::key(self.keys.meta())))]);
        let answer = self.ask(&found).await?;
        match answer.body.range(0).and_then(|range| range.kvs.first()) {
            None => Ok(Found { meta, revision: answer.header.revision }),
            // It may also be its own, founded by an attempt without an answer.
            Some(kv) => found_in(kv),
        }
    }

    fn check_version(&self, found: Found) -> Result<Found, NotOpened> {
        let Meta { layout, format, .. } = found.meta;
        if (layout, format) != (LAYOUT, FORMAT_VERSION) {
            return Err(NotOpened::Refused(format!(
                "the log in etcd has layout {layout} and format {format}, but this program supports layout {LAYOUT} \
                 and format {FORMAT_VERSION}"
            )));
        }
        Ok(found)
    }

    fn check_place(&self, store: &Follower, place: &Place) -> Result<(), NotOpened> {
        if place.cluster != self.cluster {
            let reason = format!(
                "it belongs to a node of the cluster {:?}, not of {:?}; check --cluster-name",
                place.cluster, self.cluster
            );
            return Err(NotOpened::Refused(reason));
        }
        if place.number != store.number {
            return Err(NotOpened::Refused(format!(
                "it was changed outside of the cluster: it ends at commit {}, but its last commit from the log of the \
                 cluster is {}; create a data directory with `agentdex cluster join`",
                store.number, place.number
            )));
        }
        Ok(())
    }

    async fn read_commit(&self, number: u64) -> Result<(ResponseHeader, Option<KeyValue>), NotOpened> {
        let read = Txn::new().then([Op::range(Range::new(KeyRange::key(self.keys.commit(number))))]);
        let answer = self.ask(&read).await?;
        Ok((answer.header, answer.body.range(0).and_then(|range| range.kvs.first()).cloned()))
    }

    /// Returns the reason why the log lacks the last commit of a store.
    async fn does_not_continue(&self, number: u64) -> Result<NotOpened, NotOpened> {
        let later = KeyRange::between(self.keys.commit(number.saturating_add(1)), self.keys.commit(u64::MAX));
        let read = Txn::new().then([
            Op::range(Range::new(KeyRange::key(self.keys.trimmed()))),
            Op::range(Range::new(later).keys_only().limit(1)),
        ]);
        let answer = self.ask(&read).await?;
        let found = |index| answer.body.range(index).and_then(|range| range.kvs.first());
        let is_trimmed = found(0).is_some_and(|kv| trimmed_of(&kv.value) >= number) || found(1).is_some();
        let reason = if is_trimmed {
            format!(
                "the log in etcd no longer contains commit {number}, from which this node would continue (for a \
                 stopped node, commits are kept for at most 24 hours); create a data directory with `agentdex \
                 cluster join`"
            )
        } else {
            format!(
                "etcd lacks commit {number}, the last commit of this node: etcd was restored from an older copy, or \
                 replaced by a different etcd; {WAYS_OUT}"
            )
        };
        Ok(NotOpened::Refused(reason))
    }

    fn wiped(&self) -> NotOpened {
        NotOpened::Refused(format!("etcd has lost the cluster {:?}; {WAYS_OUT}", self.cluster))
    }

    /// Sends a transaction until it is answered, but only for a limited time.
    async fn ask(&self, txn: &Txn) -> Result<Answer<agentdex_etcd::message::TxnResponse>, NotOpened> {
        let (started, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            match ask(&self.client, txn).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_transient() && started.elapsed() < self.limits.start_wait => {
                    tracing::debug!(%error, "etcd doesn't respond");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
                Err(error) => return Err(unavailable(&error)),
            }
        }
    }
}

/// Remedies for an etcd without the data of the cluster.
const WAYS_OUT: &str = "restore etcd's data, or create a new cluster: back up the most up-to-date node (`agentdex \
                        backup --data`), restore the backup into a new directory (`agentdex restore`), and start a \
                        node on it (`agentdex serve` with another --cluster-name and --cluster-init)";

pub(super) fn unavailable(error: &Error) -> NotOpened {
    NotOpened::Unavailable(error.to_string())
}

fn found_in(kv: &KeyValue) -> Result<Found, NotOpened> {
    let meta = serde_json::from_slice(&kv.value)
        .map_err(|error| NotOpened::Refused(format!("the identity of the log in etcd can't be read: {error}")))?;
    Ok(Found { meta, revision: kv.mod_revision })
}

fn hexadecimal(sum: u128) -> String {
    format!("{sum:032x}")
}

/// Returns the digest of a stored commit. The commit before the first one has none.
fn digest_of(kv: &KeyValue) -> String {
    Head::read(&kv.value).map_or_else(|_| String::new(), |head| data_encoding::HEXLOWER.encode(&head.digest))
}
