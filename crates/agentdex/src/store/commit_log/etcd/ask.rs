//! Requests that may be carried out twice, and the headers of their answers.

use agentdex_etcd::{Answer, Client, Error, Txn, message::TxnResponse};
use serde::{Deserialize, Serialize};

/// State of etcd, according to its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Id of etcd's cluster.
    #[serde(rename = "etcd")]
    pub cluster: u64,
    pub revision: i64,
}

/// Sends a transaction to each endpoint in turn until an endpoint answers. The transaction must be safe to execute
/// twice.
pub(super) async fn ask(client: &Client, txn: &Txn) -> Result<Answer<TxnResponse>, Error> {
    let mut endpoint = client.endpoint();
    let mut left = client.endpoints().len();
    loop {
        left -= 1;
        match client.attempt(&endpoint, txn.message()).await {
            Err(error) if error.is_transient() => {
                endpoint = client.move_on(&endpoint);
                if left == 0 {
                    return Err(error);
                }
            }
            answer => return answer,
        }
    }
}
