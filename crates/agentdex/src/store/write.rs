//! Types of a write: operation, precondition, and outcome.

use super::{AuditEntry, named_write::NamedWrite, namespaces::NamespaceWrite};
use crate::{
    access::{Access, AccessRequest, Caller, Visibility},
    change::{DeletionReason, Precondition, Seq, Timestamp},
    td::Losses,
};

/// An operation on a record.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly all operations are puts")]
pub enum Operation {
    /// Creates or replaces the record. If neither the stored text nor the format of the original changes, this is a
    /// renewal without a `Change`.
    Put {
        /// Stored text ([`crate::td::ThingDescription::text`]).
        text: String,
        /// Capability keys of the text.
        capabilities: Vec<String>,
        /// Expiry of the record.
        expiry: Expiry,
        /// Merge patch from the text last read by the writer to this text.
        patch: Option<Patch>,
        /// Document from which the text was converted.
        original: Option<Original>,
        /// Creation time of a record created elsewhere. If `None`, a new record is created now.
        created: Option<Timestamp>,
        /// Declarer of the text.
        declares: Declares,
    },
    /// Moves the expiry only, without a `Change`.
    Renew {
        /// New expiry.
        expiry: Expiry,
    },
    /// Sets or removes the metadata of a record with an original, without a `Change`. Metadata is removed when the
    /// stored text changes, unless it is set again in the same transaction.
    Metadata(Option<Vec<u8>>),
    /// Changes the owner and visibility as requested by the author of the transaction. Adds a `Change` with an empty
    /// patch, unless nothing changes.
    Access,
    /// Removes the record. The reason is recorded in the change.
    Remove(DeletionReason),
    /// Removes a version. Removing the last version removes the record.
    RemoveVersion {
        /// Version to remove.
        version: String,
        /// Precondition on the version.
        expected: Option<Precondition>,
    },
    /// Sets the parts declared by the document of the record in a version. Parts that are no longer declared lose
    /// this declaration, and are removed with their last declaration.
    Parts {
        /// Version of the document.
        version: Option<String>,
        /// Ids of the parts.
        ids: Vec<String>,
    },
    /// Makes the record a part of the documents of these records, as far as they exist and have the same owner. For
    /// records imported from another registry.
    JoinDocuments(Vec<String>),
    /// Makes these records parts of the record's document, under the conditions of [`Operation::JoinDocuments`]. For
    /// records imported from another registry.
    TakeParts(Vec<String>),
    /// Removes the record if it is still due, on behalf of the clock. Adds a `Change` like any removal. The only
    /// precondition is that the record is due.
    Purge,
}

/// Origin of the text in a put: an edit by hand, the record itself, or a document that contains the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declares {
    /// An edit by hand. It changes the served text and no other version. If the record was imported or is part of a
    /// document, the change is stored as an edit on top of its declaration, and the original is kept.
    ByHand {
        /// True if the text replaces all declarations: the original, other versions, and edits.
        replaces: bool,
        /// See [`OwnDeclaration::only_related`].
        only_related: bool,
    },
    /// A declaration of the record by itself.
    Itself(OwnDeclaration),
    /// A declaration as part of another record's document. A record not declared by documents of the same owner is
    /// left unchanged. An author who may write the document may also write this record.
    Document {
        /// Id of the record with the document, which must have been written before or in the same transaction.
        id: String,
        /// Version of the document.
        version: Option<String>,
    },
}

/// A record's declaration of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnDeclaration {
    /// Version, if the record can have several.
    pub version: Option<String>,
    /// Precondition on the version. A position in it refers to the text of the version.
    pub expected: Option<Precondition>,
    /// True if this becomes the only version.
    pub is_sole: bool,
    /// True to refuse the write if it has nothing in common with the existing record ([`crate::Error::Unrelated`]).
    pub only_related: bool,
    /// True to refuse an original in another format that would drop content of the record
    /// ([`crate::Error::LossyImport`]).
    pub only_lossless: bool,
    /// True to refuse wider access to the record if another text remains the served text
    /// ([`crate::Error::VersionNotServed`]).
    pub only_itself_published: bool,
    /// Access to the text and its original, if narrower than the access to the record.
    pub access: Option<Access>,
    /// Edited text to be served instead, if the text was edited elsewhere.
    pub edited: Option<Edited>,
}

/// The result of editing a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// Stored text.
    pub text: String,
    /// Capability keys of the text.
    pub capabilities: Vec<String>,
}

impl OwnDeclaration {
    /// True if everything else that the record has is dropped. A document that is polled keeps edits.
    pub(super) fn replaces_all(&self) -> bool {
        self.is_sole && !self.only_lossless
    }
}

impl Declares {
    pub(super) fn only_related(&self) -> bool {
        match self {
            Declares::ByHand { only_related, .. } => *only_related,
            Declares::Itself(own) => own.only_related,
            Declares::Document { .. } => false,
        }
    }

    fn edited(&self) -> Option<&Edited> {
        match self {
            Declares::Itself(own) => own.edited.as_ref(),
            Declares::ByHand { .. } | Declares::Document { .. } => None,
        }
    }

    /// Creates a declaration of the record by itself, without a version.
    pub fn itself() -> Declares {
        Declares::Itself(OwnDeclaration::default())
    }
}

/// Edits by hand of an imported text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edits {
    /// Access to the record when the edits were made.
    pub access: Access,
    /// Merge patch from the declared text to the served text.
    pub patch: String,
}

/// A merge patch computed before the commit, so that other writers don't have to wait for it. If the record has
/// changed since, the commit computes its own patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Last change of the record read by the writer.
    pub since: Seq,
    /// Merge patch from the stored text to the new text, or `None` if they are equal.
    pub text: Option<String>,
}

/// Expiry of a Thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expiry {
    /// Time to live in seconds, as requested by the client.
    pub ttl: Option<u64>,
    /// Time of expiry, or `None` if the Thing never expires.
    pub expires: Option<Timestamp>,
}

impl Expiry {
    /// True if the Thing has expired.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Document from which a record was converted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Original {
    /// Name of the format, such as `agent-spec`.
    pub format: String,
    /// Media type of `bytes`.
    pub media_type: String,
    /// Document, with secrets replaced by references.
    pub bytes: Vec<u8>,
    /// Options of the conversion as a JSON object, or empty if there are none.
    pub options: String,
}

/// A write to a record.
///
/// An expired record counts as absent. For [`Operation::Renew`], [`Operation::Metadata`], [`Operation::Access`],
/// [`Operation::Remove`], and [`Operation::RemoveVersion`], [`Precondition::Any`] means [`Precondition::Present`].
#[derive(Debug, Clone)]
pub struct Write {
    /// Id of the record.
    pub id: String,
    /// Precondition on the record.
    pub precondition: Precondition,
    /// Operation on the record.
    pub operation: Operation,
    /// Author of the write, as the name of an owner; `None` without authentication.
    pub actor: Option<String>,
}

impl Write {
    /// About how many bytes it stores.
    pub(crate) fn bytes(&self) -> usize {
        match &self.operation {
            Operation::Put { text, patch, original, declares, .. } => {
                text.len()
                    + declares.edited().map_or(0, |edited| edited.text.len())
                    + patch.as_ref().and_then(|patch| patch.text.as_ref()).map_or(0, String::len)
                    + original.as_ref().map_or(0, |original| original.bytes.len())
            }
            Operation::Metadata(metadata) => metadata.as_ref().map_or(0, Vec::len),
            Operation::Parts { ids, .. } | Operation::JoinDocuments(ids) | Operation::TakeParts(ids) => {
                ids.iter().map(String::len).sum()
            }
            Operation::Renew { .. }
            | Operation::Access
            | Operation::Remove(_)
            | Operation::RemoveVersion { .. }
            | Operation::Purge => 0,
        }
    }
}

/// Author of a transaction, with the access requested for the Things it puts. The default author has all permissions
/// and requests no access.
#[derive(Debug, Clone)]
pub struct Author {
    /// Caller that writes. Things can be changed by their owner and by admins.
    pub caller: Caller,
    /// Requested access.
    pub access: AccessRequest,
    /// Access to new Things, unless requested otherwise.
    pub to_new: Access,
    /// Time of the last change, if it was made elsewhere. If `None`, the current time.
    pub modified: Option<Timestamp>,
    /// Network address of the caller.
    pub address: Option<String>,
    /// Entries of the audit trail in addition to those for the writes.
    pub notes: Vec<AuditEntry>,
}

impl Author {
    /// Creates an author who becomes the owner of new Things.
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
#[derive(Debug, Clone)]
pub(super) struct Transaction {
    pub author: Author,
    pub writes: Vec<Write>,
    /// Change of a namespace, if any.
    pub namespace: Option<NamespaceWrite>,
    /// Write of a saved query or an API key, if any.
    pub named: Option<NamedWrite>,
    /// True if the writes are applied and then rolled back, so only their outcomes are returned.
    pub dry_run: bool,
    /// True if the transaction revokes an API key.
    pub revokes_key: bool,
}

impl Transaction {
    /// Creates a transaction that writes only records and is not rolled back.
    pub fn new(author: Author, writes: Vec<Write>) -> Transaction {
        Transaction { author, writes, namespace: None, named: None, dry_run: false, revokes_key: false }
    }

    /// Creates a transaction that writes only an audit entry and pending local state.
    pub fn noting(note: Option<AuditEntry>) -> Transaction {
        Transaction::new(Author { notes: Vec::from_iter(note), ..Author::default() }, Vec::new())
    }

    /// True if the transaction only removes data or restricts access. It may free disk space, or must not be delayed
    /// by a lack of it.
    pub fn takes_away(&self) -> bool {
        let is_removal = |write: &Write| {
            let operation = &write.operation;
            matches!(
                operation,
                Operation::Remove(_) | Operation::RemoveVersion { .. } | Operation::Purge | Operation::Access
            )
        };
        let of_namespace = self.namespace.as_ref().is_some_and(|namespace| namespace.number.is_some());
        self.revokes_key || of_namespace || (!self.writes.is_empty() && self.writes.iter().all(is_removal))
    }
}

impl From<Vec<Write>> for Transaction {
    fn from(writes: Vec<Write>) -> Transaction {
        Transaction::new(Author::default(), writes)
    }
}

/// Result of a transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Outcomes, in the order of the writes.
    pub outcomes: Vec<Outcome>,
    /// Remarks on the writes.
    pub remarks: Vec<Remark>,
}

impl std::ops::Deref for Applied {
    type Target = [Outcome];

    fn deref(&self) -> &[Outcome] {
        &self.outcomes
    }
}

impl<const N: usize> PartialEq<[Outcome; N]> for Applied {
    fn eq(&self, outcomes: &[Outcome; N]) -> bool {
        self.outcomes == outcomes
    }
}

/// A side effect of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// A part of a document was removed with its last declaration.
    PartRemoved(String, Seq),
    /// A part of a document already existed and belongs to another document or to itself. It is left unchanged.
    PartExists(String),
    /// A document no longer has a part: it was registered on its own, was removed, or now belongs to another
    /// document.
    PartLeft {
        /// Id of the part.
        id: String,
        /// Ids of the documents.
        documents: Vec<String>,
    },
    /// Edits by hand are kept although the import changed the same content.
    EditsKept {
        /// Id of the record.
        id: String,
        /// JSON Pointers to members changed by both.
        pointers: Vec<String>,
    },
    /// The edits are kept but not served: either the record is visible to more callers than when they were made, or
    /// the edited text is no longer valid.
    EditsNotServed(String),
    /// The other declarations of a record ended, since the new text has nothing in common with them.
    DeclarationsEnded(String),
    /// A version is not served because there is a higher version.
    NotServed {
        /// Id of the record.
        id: String,
        /// Served version.
        served: Option<String>,
    },
    /// After a removal, the served text comes from another format and lacks content of the text served before.
    Lossy {
        /// Id of the record.
        id: String,
        /// Version now served.
        version: Option<String>,
        /// Format of the served version.
        format: Option<String>,
        /// Missing content.
        losses: Box<Losses>,
    },
    /// The lowest version was dropped because the maximum number of versions is exceeded.
    VersionDropped(String, Option<String>),
    /// Some versions are visible to fewer callers than the record.
    VersionsHidden {
        /// Id of the record.
        id: String,
        /// Versions that are not served.
        versions: Vec<Option<String>>,
        /// True if edits hide the original.
        has_original: bool,
    },
    /// The record has become visible to fewer callers, since only hidden versions remained to be served.
    AccessNarrowed {
        /// Id of the record.
        id: String,
        /// New visibility of the record.
        visibility: Visibility,
    },
}

/// Result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The record was created.
    Created(Seq),
    /// The record was replaced.
    Updated(Seq),
    /// The stored text is unchanged; at most the expiry or the metadata changed. The position is that of the last
    /// change.
    Renewed(Seq),
    /// Like a renewal, but the original was replaced by another original in the same format.
    OriginalUpdated(Seq),
    /// Like a renewal, but a version that is not served was stored, replaced, or removed.
    VersionsUpdated(Seq),
    /// The record was removed.
    Removed(Seq),
    /// A purge found that the record is not due. Later writes of the same transaction are not applied either.
    NotDue,
}

impl Outcome {
    /// Returns the outcome with another position.
    pub(super) fn at(self, seq: Seq) -> Outcome {
        match self {
            Outcome::Created(_) => Outcome::Created(seq),
            Outcome::Updated(_) => Outcome::Updated(seq),
            Outcome::Renewed(_) => Outcome::Renewed(seq),
            Outcome::OriginalUpdated(_) => Outcome::OriginalUpdated(seq),
            Outcome::VersionsUpdated(_) => Outcome::VersionsUpdated(seq),
            Outcome::Removed(_) => Outcome::Removed(seq),
            Outcome::NotDue => Outcome::NotDue,
        }
    }
}
