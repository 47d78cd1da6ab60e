//! The words of a write: what is asked for, and what became of it.

use super::{AuditEntry, namespaces::NamespaceWrite};
use crate::{
    access::{Access, AccessRequest, Caller},
    change::{DeletionReason, Precondition, Seq, Timestamp},
};

/// What a write does to a record.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Creates or replaces. Where neither the stored form nor the format of the original changes it is
    /// a renewal: no `Change`.
    Put {
        /// The stored form ([`crate::td::ThingDescription::text`]).
        text: String,
        /// Its capability keys.
        capabilities: Vec<String>,
        /// Its expiry.
        expiry: Expiry,
        /// What leads here from the stored form that the writer has read.
        patch: Option<Patch>,
        /// The document it was converted from. A renewal without one keeps the one that is there, one
        /// with another replaces it; a stored form that changes without one loses it.
        original: Option<Original>,
        /// When a record that isn't there was created elsewhere; none: now.
        created: Option<Timestamp>,
    },
    /// Moves the expiry and nothing else; no `Change`.
    Renew {
        /// The new expiry.
        expiry: Expiry,
    },
    /// Sets or removes the metadata of a record that has an original; no `Change`. Metadata is gone once the
    /// stored form changes, unless it is set again in the same transaction.
    Metadata(Option<Vec<u8>>),
    /// Changes whose it is and who sees it, as the author of the transaction asks for; a `Change` with an empty patch,
    /// unless that is so already.
    Access,
    /// Removes, for the reason that the change gives.
    Remove(DeletionReason),
    /// Removes what is still due, as a follower of the clock; a `Change` like any removal. Its
    /// precondition is that alone.
    Purge,
}

/// A merge patch that was made before the commit, so that other writers don't wait for it. A commit that finds
/// another change of the record than `since` makes its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The last change of the record that was read.
    pub since: Seq,
    /// From its stored form to the new one; none: they are the same.
    pub text: Option<String>,
}

/// When a Thing expires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expiry {
    /// Time to live in seconds, as the client gave it.
    pub ttl: Option<u64>,
    /// The moment; none: never.
    pub expires: Option<Timestamp>,
}

impl Expiry {
    /// Whether the moment has come.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// The document that a record was converted from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// The format's name, such as `agent-spec`.
    pub format: String,
    /// The media type of `bytes`.
    pub media_type: String,
    /// The document, with secrets replaced by references.
    pub bytes: Vec<u8>,
}

/// One write to one record.
///
/// A record that has expired counts as absent. [`Operation::Renew`], [`Operation::Metadata`], [`Operation::Access`] and
/// [`Operation::Remove`] ask for [`Precondition::Present`] where they come with [`Precondition::Any`].
#[derive(Debug, Clone)]
pub struct Write {
    /// The record.
    pub id: String,
    /// What must hold of it.
    pub precondition: Precondition,
    /// What is done to it.
    pub operation: Operation,
    /// Who does it; absent without authentication.
    pub actor: Option<String>,
}

impl Write {
    /// About how many bytes it stores.
    pub(super) fn bytes(&self) -> usize {
        match &self.operation {
            Operation::Put { text, patch, original, .. } => {
                text.len()
                    + patch.as_ref().and_then(|patch| patch.text.as_ref()).map_or(0, String::len)
                    + original.as_ref().map_or(0, |original| original.bytes.len())
            }
            Operation::Metadata(metadata) => metadata.as_ref().map_or(0, Vec::len),
            Operation::Renew { .. } | Operation::Access | Operation::Remove(_) | Operation::Purge => 0,
        }
    }
}

/// Who submits a transaction, and what access to the Things that it puts is asked for. The default may do everything
/// and asks for nothing.
#[derive(Debug, Clone)]
pub struct Author {
    /// Who writes: a Thing is changed by its owner and by admins.
    pub caller: Caller,
    /// The access that is asked for.
    pub access: AccessRequest,
    /// The access to a new Thing, but for what is asked for.
    pub to_new: Access,
    /// When what is put was changed last, if that was elsewhere; none: now.
    pub modified: Option<Timestamp>,
    /// The address that it writes from.
    pub address: Option<String>,
    /// What is added to the audit trail beside what is written.
    pub notes: Vec<AuditEntry>,
}

impl Author {
    /// New Things are the caller's.
    pub fn new(caller: Caller, access: AccessRequest) -> Author {
        let to_new = Access { owner: caller.owner().cloned(), ..Access::default() };
        Author { caller, access, to_new, modified: None, address: None, notes: Vec::new() }
    }
}

impl Default for Author {
    fn default() -> Author {
        Author::new(Caller::Trusted, AccessRequest::default())
    }
}

/// Writes that are applied together or not at all.
#[derive(Debug)]
pub(super) struct Transaction {
    pub author: Author,
    pub writes: Vec<Write>,
    /// The change of a namespace, if there is one.
    pub namespace: Option<NamespaceWrite>,
    /// Whether the writes are applied and taken back, so that their outcomes are all that comes of them.
    pub dry_run: bool,
    /// True if it is for an API key that is revoked.
    pub revokes_key: bool,
}

impl Transaction {
    /// One that changes no namespace and isn't taken back.
    pub fn new(author: Author, writes: Vec<Write>) -> Transaction {
        Transaction { author, writes, namespace: None, dry_run: false, revokes_key: false }
    }

    /// One that writes nothing but an entry of the audit trail, and what has moved.
    pub fn noting(note: Option<AuditEntry>) -> Transaction {
        Transaction::new(Author { notes: Vec::from_iter(note), ..Author::default() }, Vec::new())
    }

    /// True if nothing comes of it but that something is gone, or that fewer see it: it may be what makes room, or can't
    /// wait for that.
    pub fn takes_away(&self) -> bool {
        let is_removal =
            |write: &Write| matches!(write.operation, Operation::Remove(_) | Operation::Purge | Operation::Access);
        let of_namespace = self.namespace.as_ref().is_some_and(|namespace| namespace.number.is_some());
        self.revokes_key || of_namespace || (!self.writes.is_empty() && self.writes.iter().all(is_removal))
    }
}

impl From<Vec<Write>> for Transaction {
    fn from(writes: Vec<Write>) -> Transaction {
        Transaction::new(Author::default(), writes)
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The record is new.
    Created(Seq),
    /// The record was replaced.
    Updated(Seq),
    /// The stored form is what it was; at most the expiry moved, or the metadata changed.
    /// The seq is that of its last change.
    Renewed(Seq),
    /// As a renewal, and the original was replaced by one of the same format.
    OriginalUpdated(Seq),
    /// The record is gone.
    Removed(Seq),
    /// A purge found nothing due, so that what comes after it in the same command isn't written either.
    NotDue,
}

impl Outcome {
    /// The same with another seq.
    pub(super) fn at(self, seq: Seq) -> Outcome {
        match self {
            Outcome::Created(_) => Outcome::Created(seq),
            Outcome::Updated(_) => Outcome::Updated(seq),
            Outcome::Renewed(_) => Outcome::Renewed(seq),
            Outcome::OriginalUpdated(_) => Outcome::OriginalUpdated(seq),
            Outcome::Removed(_) => Outcome::Removed(seq),
            Outcome::NotDue => Outcome::NotDue,
        }
    }
}
