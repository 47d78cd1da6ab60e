//! Ranges and transactions, as they are written down by callers.

use bytes::Bytes;

use crate::message::{
    self, DeleteRangeRequest, Operator, PutRequest, RangeRequest, RequestOp, Target, TxnRequest, WatchCreateRequest,
};

/// End of a range that has no end (`rpc.proto`, `range_end`).
const NO_END: &[u8] = b"\0";

/// Range of keys: a single key, all keys with a prefix, or all keys between two keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    start: Bytes,
    end: Bytes,
}

impl KeyRange {
    /// Returns the range of a single key.
    pub fn key(key: impl Into<Bytes>) -> KeyRange {
        KeyRange { start: key.into(), end: Bytes::new() }
    }

    /// Returns the range from `start`, included, to `end`, excluded.
    pub fn between(start: impl Into<Bytes>, end: impl Into<Bytes>) -> KeyRange {
        KeyRange { start: start.into(), end: end.into() }
    }

    /// Returns the range of all keys with this prefix. If the prefix is empty, that is all keys.
    ///
    /// ```
    /// use agentdex_etcd::KeyRange;
    ///
    /// assert_eq!(KeyRange::prefix("c/"), KeyRange::between("c/", "c0"));
    /// ```
    pub fn prefix(prefix: impl Into<Bytes>) -> KeyRange {
        let start = prefix.into();
        let end = match start.iter().rposition(|byte| *byte < u8::MAX) {
            Some(last) => {
                let mut end = start[..=last].to_vec();
                end[last] += 1;
                end.into()
            }
            None => Bytes::from_static(NO_END),
        };
        // etcd accepts no empty key; all keys begin at the least one.
        KeyRange { start: if start.is_empty() { Bytes::from_static(NO_END) } else { start }, end }
    }

    pub(crate) fn watch(self, from_revision: i64) -> WatchCreateRequest {
        WatchCreateRequest {
            key: self.start,
            range_end: self.end,
            start_revision: from_revision,
            progress_notify: true,
            fragment: true,
        }
    }

    pub(crate) fn delete(self) -> DeleteRangeRequest {
        DeleteRangeRequest { key: self.start, range_end: self.end }
    }
}

/// A read of a range of keys.
///
/// The cost of a read grows with the number of keys in the range, regardless of the limit. Give the end of the range if
/// it is known.
#[derive(Clone, Debug)]
pub struct Range(pub(crate) RangeRequest);

impl Range {
    /// Creates a linearizable read of a range, with values.
    pub fn new(keys: KeyRange) -> Range {
        Range(RangeRequest { key: keys.start, range_end: keys.end, ..RangeRequest::default() })
    }

    /// Returns at most this number of keys; 0 for no limit.
    pub fn limit(mut self, limit: u32) -> Range {
        self.0.limit = limit.into();
        self
    }

    /// Leaves out values.
    pub fn keys_only(mut self) -> Range {
        self.0.keys_only = true;
        self
    }

    /// Lets the member answer from its own state, which may be stale.
    pub fn serializable(mut self) -> Range {
        self.0.serializable = true;
        self
    }

    /// Returns the message that is sent.
    pub fn message(&self) -> &RangeRequest {
        &self.0
    }
}

/// A condition of a transaction.
#[derive(Clone, Debug)]
pub struct Compare(message::Compare);

impl Compare {
    /// Compares the revision in which a key was created; 0 if it doesn't exist.
    pub fn create_revision(key: impl Into<Bytes>) -> Comparison {
        Comparison { key: key.into(), target: Target::CreateRevision }
    }

    /// Compares the revision in which a key was last changed; 0 if it doesn't exist.
    pub fn mod_revision(key: impl Into<Bytes>) -> Comparison {
        Comparison { key: key.into(), target: Target::ModRevision }
    }

    /// Compares the number of changes since a key was created; 0 if it doesn't exist.
    pub fn version(key: impl Into<Bytes>) -> Comparison {
        Comparison { key: key.into(), target: Target::Version }
    }
}

/// The left side of a comparison.
#[derive(Clone, Debug)]
#[must_use = "a comparison needs an operator"]
pub struct Comparison {
    key: Bytes,
    target: Target,
}

impl Comparison {
    /// Requires that the number of the key is `operand`.
    pub fn equals(self, operand: i64) -> Compare {
        self.with(Operator::Equal, operand)
    }

    /// Requires that the number of the key is greater than `operand`.
    pub fn greater(self, operand: i64) -> Compare {
        self.with(Operator::Greater, operand)
    }

    fn with(self, operator: Operator, operand: i64) -> Compare {
        let of = |target| (self.target == target).then_some(operand);
        Compare(message::Compare {
            result: operator.into(),
            target: self.target.into(),
            version: of(Target::Version),
            create_revision: of(Target::CreateRevision),
            mod_revision: of(Target::ModRevision),
            key: self.key,
        })
    }
}

/// An operation of a transaction.
#[derive(Clone, Debug)]
pub struct Op(RequestOp);

impl Op {
    /// Writes a key.
    pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Op {
        Op::put_with_lease(key, value, 0)
    }

    /// Writes a key and attaches it to a lease, by the id of the lease.
    pub fn put_with_lease(key: impl Into<Bytes>, value: impl Into<Bytes>, lease: i64) -> Op {
        let put = PutRequest { key: key.into(), value: value.into(), lease };
        Op(RequestOp { put: Some(put), ..RequestOp::default() })
    }

    /// Reads a range.
    pub fn range(range: Range) -> Op {
        Op(RequestOp { range: Some(range.0), ..RequestOp::default() })
    }

    /// Deletes a range of keys.
    pub fn delete_range(keys: KeyRange) -> Op {
        Op(RequestOp { delete_range: Some(keys.delete()), ..RequestOp::default() })
    }
}

/// A transaction: if all conditions hold, the operations of `then` are executed, otherwise those of `otherwise`. Without a
/// condition, those of `then`. Each key may be put once.
///
/// ```
/// use agentdex_etcd::{Compare, KeyRange, Op, Range, Txn};
///
/// // Appends entry 2 if it is free, and returns it otherwise.
/// let append = Txn::new()
///     .when([Compare::create_revision("log/2").equals(0), Compare::create_revision("log/1").greater(0)])
///     .then([Op::put("log/2", "entry")])
///     .otherwise([Op::range(Range::new(KeyRange::key("log/2")))]);
/// assert_eq!(append.message().compare.len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Txn(pub(crate) TxnRequest);

impl Txn {
    /// Creates a transaction that does nothing.
    pub fn new() -> Txn {
        Txn::default()
    }

    /// Adds conditions.
    pub fn when(mut self, conditions: impl IntoIterator<Item = Compare>) -> Txn {
        self.0.compare.extend(conditions.into_iter().map(|Compare(message)| message));
        self
    }

    /// Adds operations to execute if all conditions hold.
    pub fn then(mut self, ops: impl IntoIterator<Item = Op>) -> Txn {
        self.0.success.extend(ops.into_iter().map(|Op(message)| message));
        self
    }

    /// Adds operations to execute if a condition doesn't hold.
    pub fn otherwise(mut self, ops: impl IntoIterator<Item = Op>) -> Txn {
        self.0.failure.extend(ops.into_iter().map(|Op(message)| message));
        self
    }

    /// Returns the message that is sent. Clones of it share keys and values.
    pub fn message(&self) -> &TxnRequest {
        &self.0
    }
}
