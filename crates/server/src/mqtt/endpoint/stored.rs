//! Sessions as they are in the store: the state of each apart from its subscriptions.
//!
//! | name | value |
//! |---|---|
//! | `{client id}` | how far the session has come, and when it ends: [`StoredState`] |
//! | `{client id}` NUL `{filter}` | one subscription: [`StoredSubscription`] |
//! | NUL `{filter}` | the position of the group that shares it: [`StoredGroup`] |
//!
//! A client id has no NUL and isn't empty. To save a position writes the first alone.

use serde::{Deserialize, Serialize};

use super::{
    group::Positions,
    session::{Progress, Subscription},
};
use crate::change::{Epoch, Seq, Timestamp};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredState {
    pub expiry: u32,
    /// When the client went away; none while it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_since: Option<Timestamp>,
    pub progress: Progress,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredSubscription {
    qos: u8,
    retain_as_published: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identifier: Option<u32>,
    pub since: Seq,
    retained_pending: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredGroup {
    pub epoch: Epoch,
    pub seq: Seq,
    /// The position from which members who see everything go on; none where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    everything: Option<Seq>,
    /// The position from which the other members go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owners_view: Option<Seq>,
}

impl StoredGroup {
    pub fn of(epoch: Epoch, positions: Positions) -> StoredGroup {
        let Positions { seq, everything, owners_view } = positions;
        StoredGroup { epoch, seq, everything, owners_view }
    }

    pub fn positions(&self) -> Positions {
        Positions { seq: self.seq, everything: self.everything, owners_view: self.owners_view }
    }
}

impl StoredSubscription {
    pub fn of(subscription: &Subscription) -> StoredSubscription {
        StoredSubscription {
            qos: u8::from(subscription.at_least_once),
            retain_as_published: subscription.retain_as_published,
            identifier: subscription.identifier,
            since: subscription.since,
            retained_pending: subscription.retained_pending,
        }
    }

    /// Gives a subscription its options back.
    pub fn apply(&self, subscription: &mut Subscription) {
        subscription.at_least_once = self.qos > 0;
        subscription.retain_as_published = self.retain_as_published;
        subscription.identifier = self.identifier;
        subscription.retained_pending = self.retained_pending;
    }
}

/// The name of a subscription.
pub(super) fn subscription_name(client_id: &str, text: &str) -> String {
    format!("{client_id}\0{text}")
}

/// The name of a group's position.
pub(super) fn group_name(text: &str) -> String {
    subscription_name("", text)
}
