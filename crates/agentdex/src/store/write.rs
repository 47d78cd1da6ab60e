//! The words of a write: what is asked for, and what became of it.

use super::{AuditEntry, namespaces::NamespaceWrite};
use crate::{
    access::{Access, AccessRequest, Caller, Visibility},
    change::{DeletionReason, Precondition, Seq, Timestamp},
    td::Losses,
};

/// An operation on a record.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly all operations are puts")]
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
        /// The merge patch from the stored form that the writer has read to this one.
        patch: Option<Patch>,
        /// The document it was converted from.
        original: Option<Original>,
        /// When a record that isn't there was created elsewhere; none: now.
        created: Option<Timestamp>,
        /// The declarer.
        declares: Declares,
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
    /// Removes a version, and the record with its last one.
    RemoveVersion {
        /// The version.
        version: String,
        /// The precondition on it.
        expected: Option<Precondition>,
    },
    /// Says which parts the document of a record declares in a version: what it declared before and no longer does ends, and
    /// a record goes with its last declaration.
    Parts {
        /// The version of the document.
        version: Option<String>,
        /// The ids of its parts.
        ids: Vec<String>,
    },
    /// Makes the record a part of the documents of these records, of those that are there and have its owner: a record that
    /// comes from elsewhere.
    JoinDocuments(Vec<String>),
    /// The same from the other side: makes these records parts of the document of the record.
    TakeParts(Vec<String>),
    /// Removes what is still due, as a follower of the clock; a `Change` like any removal. Its
    /// precondition is that alone.
    Purge,
}

/// The one who says what is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declares {
    /// A hand, which changes what is served and no other version. Of what was imported, and of a part of a document, it becomes
    /// an edit over the text of its declaration, and the original stays.
    ByHand {
        /// True if the text ends all declarations: the original, other versions, and edits.
        replaces: bool,
        /// See [`OwnDeclaration::only_related`].
        only_related: bool,
    },
    /// The record itself.
    Itself(OwnDeclaration),
    /// The document of another record, of which this one is a part. A record that isn't declared by documents of the same
    /// owner stays as it is. Who may write the document is who may write this.
    Document {
        /// The id of that record, which was written in the same transaction or before.
        id: String,
        /// The version of the document.
        version: Option<String>,
    },
}

/// A record's declaration of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnDeclaration {
    /// The version, where there may be others beside it.
    pub version: Option<String>,
    /// The precondition on that version, whose seq is that of its text.
    pub expected: Option<Precondition>,
    /// True if there is no version but this afterwards.
    pub is_sole: bool,
    /// True to refuse what has nothing in common with the record that is there ([`crate::Error::Unrelated`]).
    pub only_related: bool,
    /// True to refuse an original in another format that would drop what the record has ([`crate::Error::LossyImport`]).
    pub only_lossless: bool,
    /// True to refuse a wider access of the record if another text stays served ([`crate::Error::VersionNotServed`]).
    pub only_itself_published: bool,
    /// The access of the text and of its original, where fewer are shown them than see the record.
    pub access: Option<Access>,
    /// The text that is served in its place, which it was edited to elsewhere.
    pub edited: Option<Edited>,
}

/// A text that another one was edited to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The stored form.
    pub text: String,
    /// Its capability keys.
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

    /// A declaration of the record itself, in no version.
    pub fn itself() -> Declares {
        Declares::Itself(OwnDeclaration::default())
    }
}

/// The edits by hand of what was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edits {
    /// The access under which they were made.
    pub access: Access,
    /// The merge patch from the text of the declaration to what is served.
    pub patch: String,
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
    /// True if the moment has come.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// The document that a record was converted from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Original {
    /// The format's name, such as `agent-spec`.
    pub format: String,
    /// The media type of `bytes`.
    pub media_type: String,
    /// The document, with secrets replaced by references.
    pub bytes: Vec<u8>,
    /// The options of its conversion, as a JSON object; empty without options.
    pub options: String,
}

/// One write to one record.
///
/// A record that has expired counts as absent. [`Operation::Renew`], [`Operation::Metadata`], [`Operation::Access`] and
/// [`Operation::Remove`] ask for [`Precondition::Present`] where they come with [`Precondition::Any`].
#[derive(Debug, Clone)]
pub struct Write {
    /// The record.
    pub id: String,
    /// The precondition on the record.
    pub precondition: Precondition,
    /// The operation on the record.
    pub operation: Operation,
    /// The owner who writes; absent without authentication.
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

/// The author of a transaction, and the access requested for the Things that it puts. The default may do everything and
/// requests nothing.
#[derive(Debug, Clone)]
pub struct Author {
    /// The caller that writes. A Thing is changed by its owner and by admins.
    pub caller: Caller,
    /// The access that is asked for.
    pub access: AccessRequest,
    /// The access to a new Thing, but for what is asked for.
    pub to_new: Access,
    /// When what is put was changed last, if that was elsewhere; none: now.
    pub modified: Option<Timestamp>,
    /// The address that it writes from.
    pub address: Option<String>,
    /// Entries of the audit trail in addition to those for the writes.
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
    /// True if the writes are applied and taken back, so that their outcomes are all that comes of them.
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

/// The result of a transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// One outcome a write.
    pub outcomes: Vec<Outcome>,
    /// The remarks on it.
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

/// A remark: what came of a write beside its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// A part of a document went with its last declaration.
    PartRemoved(String, Seq),
    /// A part of a document was there already, and isn't its own: it stays as it is.
    PartExists(String),
    /// A document no longer has a part: it was registered by itself, was removed or is another's now.
    PartLeft {
        /// The part.
        id: String,
        /// The documents.
        documents: Vec<String>,
    },
    /// Edits by hand stay, where an import says something else.
    EditsKept {
        /// The record.
        id: String,
        /// The pointers that both changed.
        pointers: Vec<String>,
    },
    /// The edits are kept and not served: more see the record than when they were made, or what they give is no longer valid.
    EditsNotServed(String),
    /// The other declarations of a record ended, since what was put has nothing in common with them.
    DeclarationsEnded(String),
    /// A version isn't served: there is a higher one.
    NotServed {
        /// The record.
        id: String,
        /// The version that is served.
        served: Option<String>,
    },
    /// What is served after a removal was stored in another format, and lacks what was served before.
    Lossy {
        /// The record.
        id: String,
        /// The version that is served from now on.
        version: Option<String>,
        /// Its format.
        format: Option<String>,
        /// Content that it lacks.
        losses: Box<Losses>,
    },
    /// There were more versions than are kept.
    VersionDropped(String, Option<String>),
    /// Fewer are shown these versions than see the record.
    VersionsHidden {
        /// The record.
        id: String,
        /// The versions that aren't served.
        versions: Vec<Option<String>>,
        /// True if what it was converted from is hidden by edits.
        has_original: bool,
    },
    /// Fewer see a record than before, since what is left to be served was hidden.
    AccessNarrowed {
        /// The record.
        id: String,
        /// Its visibility from now on.
        visibility: Visibility,
    },
}

/// The result of a write.
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
    /// As a renewal, and a version that isn't served was stored, replaced or removed.
    VersionsUpdated(Seq),
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
            Outcome::VersionsUpdated(_) => Outcome::VersionsUpdated(seq),
            Outcome::Removed(_) => Outcome::Removed(seq),
            Outcome::NotDue => Outcome::NotDue,
        }
    }
}
