//! The keys of the fake server, and the faults that are planned.

use std::collections::{BTreeMap, VecDeque};

use agentdex_etcd::{
    KeyValue, ResponseHeader,
    message::{
        AuthenticateRequest, AuthenticateResponse, Compare, LeaseGrantRequest, LeaseGrantResponse, PutRequest,
        PutResponse, RangeRequest, RangeResponse, RequestOp, ResponseOp, TxnRequest, TxnResponse, WatchResponse,
    },
};
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;

use super::fault::Fault;

#[derive(Default)]
pub struct State {
    pub header: ResponseHeader,
    pub keys: BTreeMap<Bytes, KeyValue>,
    /// Faults of the next calls of a method, by the end of its path.
    pub faults: VecDeque<(&'static str, Fault)>,
    /// Paths of all calls, in order.
    pub calls: Vec<String>,
    /// Messages on a stream of watches, after the one that creates the watch.
    pub watch: Vec<WatchResponse>,
    /// True if a watch that has sent its messages ends the connection.
    pub watch_cuts: bool,
    /// Answers to keepalives; afterwards there are none.
    pub ttls: VecDeque<i64>,
    /// Token that calls need.
    pub token: Option<String>,
    pub logins: usize,
}

impl State {
    pub fn apply(&mut self, path: &str, body: Bytes) -> Bytes {
        match path.rsplit('/').next().unwrap() {
            "Range" => frame(&self.range(&RangeRequest::decode(body).unwrap())),
            "Put" => frame(&self.put(PutRequest::decode(body).unwrap())),
            "Txn" => frame(&self.txn(TxnRequest::decode(body).unwrap())),
            "LeaseGrant" => {
                let ttl = LeaseGrantRequest::decode(body).unwrap().ttl;
                frame(&LeaseGrantResponse { header: Some(self.header), id: 5, ttl })
            }
            "Authenticate" => {
                assert_eq!(AuthenticateRequest::decode(body).unwrap().password, "secret");
                self.logins += 1;
                let token = format!("token-{}", self.logins);
                self.token = Some(token.clone());
                frame(&AuthenticateResponse { header: Some(self.header), token })
            }
            _ => frame(&PutResponse { header: Some(self.header) }),
        }
    }

    fn txn(&mut self, request: TxnRequest) -> TxnResponse {
        let succeeded = request.compare.iter().all(|compare| self.holds(compare));
        let ops = if succeeded { request.success } else { request.failure };
        let responses = ops.into_iter().map(|RequestOp { range, put, .. }| ResponseOp {
            range: range.map(|range| self.range(&range)),
            put: put.map(|put| self.put(put)),
            delete_range: None,
        });
        let responses = responses.collect();
        TxnResponse { header: Some(self.header), succeeded, responses }
    }

    fn holds(&self, compare: &Compare) -> bool {
        let kv = self.keys.get(&compare.key);
        let created = kv.map_or(0, |kv| kv.create_revision);
        let operand = compare.create_revision.expect("an operand of 0 must be sent, too");
        if compare.result == 0 { created == operand } else { created > operand }
    }

    pub fn put(&mut self, PutRequest { key, value, lease }: PutRequest) -> PutResponse {
        self.header.revision += 1;
        let revision = self.header.revision;
        let created = self.keys.get(&key).map_or(revision, |kv| kv.create_revision);
        let kv =
            KeyValue { key: key.clone(), value, create_revision: created, mod_revision: revision, version: 1, lease };
        self.keys.insert(key, kv);
        PutResponse { header: Some(self.header) }
    }

    fn range(&self, request: &RangeRequest) -> RangeResponse {
        let kvs: Vec<KeyValue> = self.keys.get(&request.key).cloned().into_iter().collect();
        RangeResponse { header: Some(self.header), count: kvs.len() as i64, kvs, more: false }
    }
}

/// A message with its prefix.
pub fn frame(message: &impl Message) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.encoded_len()).unwrap());
    message.encode(&mut frame).unwrap();
    frame.freeze()
}
