//! The one error type. Foreign errors are boxed, so that no caller depends on the libraries behind.

mod conversions;

use std::{path::PathBuf, time::Duration};

use crate::{
    access::Namespace,
    change::{Precondition, Seq},
    td::{Losses, Report},
};

pub use crate::td::BoxError;

/// Everything that can go wrong in agentdex.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let registry = agentdex::Registry::open(directory.path())?;
/// use agentdex::Error;
///
/// match registry.register(r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": 7}"#) {
///     Err(Error::Invalid(report)) => assert!(report.violations.iter().any(|one| one.pointer == "/title")),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON.
    #[error("malformed JSON at line {line}, column {column}: {message}")]
    MalformedJson {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's description of the mistake.
        message: String,
    },
    /// A value has no form in JSON.
    #[error("the value can't be written as JSON: {source}")]
    NotSerializable {
        /// Why.
        source: BoxError,
    },
    /// The text is no YAML, or none that has a JSON form.
    #[error("malformed YAML at line {line}, column {column}: {message}")]
    MalformedYaml {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The mistake, without any of the text itself.
        message: String,
    },
    /// The document has more bytes than the registry takes.
    #[error("the document exceeds the limit of {maximum} bytes")]
    DocumentTooLarge {
        /// The most bytes that are taken.
        maximum: usize,
    },
    /// Something else is larger, deeper or more than the registry takes.
    #[error("{what} exceeds the limit of {maximum}")]
    LimitExceeded {
        /// The measured quantity, such as `JSON nesting depth` or `length of the id in bytes`.
        what: &'static str,
        /// The largest value that is taken.
        maximum: u64,
    },
    /// The document is not a valid Thing Description.
    #[error("the Thing Description is invalid: {0}")]
    Invalid(Report),
    /// The description has credentials in it, and the registry refuses those
    /// ([`Redaction::Refuse`](crate::registry::Redaction::Refuse)), or can't replace them, as in an id.
    #[error(
        "the description has credentials in it; take them out, revoke them, since they were sent, and say in \
         `securityDefinitions` how to authenticate: {0}"
    )]
    CredentialInDescription(Report),
    /// The document in another format is invalid by the rules of that format, or gives no Thing.
    #[error("the {format} document is invalid: {report}")]
    InvalidSource {
        /// The format's name, such as `agent-spec`.
        format: &'static str,
        /// All that is wrong with it.
        report: Report,
    },
    /// A document that was fetched is in another format than the one that was asked for.
    #[error("the document is {noun} (format {found}): {source}")]
    OtherFormat {
        /// The name of the format that it is in.
        found: &'static str,
        /// The noun for documents of that format, with its article, such as `an A2A agent card`.
        noun: &'static str,
        /// Why it is refused in the format that was asked for.
        source: Box<Error>,
    },
    /// Nobody said which format a document is in, and it doesn't tell by itself.
    #[error("the format of the document is unclear: {message}")]
    UnclearFormat {
        /// The signs of a format that are missing, or those that contradict each other.
        message: String,
    },
    /// A Thing has nothing that could be written in the other format.
    #[error("the Thing can't be exported as {format}: {reason}")]
    NotExpressible {
        /// The format's name, such as `agent-spec`.
        format: &'static str,
        /// The part that the format requires and the Thing lacks, or another obstacle.
        reason: String,
    },
    /// The merge patch is not a JSON object, or touches what a client can't set.
    #[error("invalid merge patch: {message}")]
    InvalidPatch {
        /// The mistake, and what would be right.
        message: String,
    },
    /// The id is not an absolute URI and can't be made one.
    #[error("invalid id {id:?}: {reason}")]
    InvalidId {
        /// The id as given.
        id: String,
        /// The reason, such as `it is empty`.
        reason: String,
    },
    /// A document that is to be created anonymously brings an id.
    #[error("the document has the id {id:?}, but was to be created without one; put it under its id instead")]
    UnexpectedId {
        /// The id in the document.
        id: String,
    },
    /// A document that needs an id has none.
    #[error(
        "the document has no `id`; add one that is an absolute URI, or let the registry assign one when it is created"
    )]
    MissingId,
    /// The id of the document isn't the one it is addressed by.
    #[error("the document has the id {found:?}, but is addressed as {expected:?}")]
    IdMismatch {
        /// The id in the address.
        expected: String,
        /// The id in the document.
        found: String,
    },
    /// There is no such Thing, or it has expired.
    #[error("there is no Thing {id:?}")]
    NotFound {
        /// Its id.
        id: String,
    },
    /// There is no such saved query, or the caller doesn't see it.
    #[error("there is no saved query {name:?}")]
    NoSuchQuery {
        /// Its name.
        name: String,
    },
    /// A Thing has no such action, or the action isn't what is asked for.
    #[error("there is no such action {action:?} of {id:?}: {reason}")]
    NoSuchAction {
        /// The Thing.
        id: String,
        /// The name that was asked for.
        action: String,
        /// The actions of the Thing, or why this one is unsuitable.
        reason: String,
    },
    /// `register` found the id taken.
    #[error("there is a Thing {id:?} already")]
    AlreadyExists {
        /// Its id.
        id: String,
    },
    /// The record isn't in the state that the write asked for.
    #[error("the precondition {expected:?} does not hold for {id:?}")]
    PreconditionFailed {
        /// The Thing.
        id: String,
        /// The precondition of the write.
        expected: Precondition,
        /// Position of the Thing's last change, or `None` if the Thing doesn't exist or is hidden from the caller.
        found: Option<Seq>,
    },
    /// A merge patch was overtaken by other writes again and again.
    #[error("{id:?} was changed by others during each of {attempts} attempts to patch it")]
    Contended {
        /// The Thing.
        id: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// A query can't be understood.
    #[error("invalid query: {message}")]
    InvalidQuery {
        /// The mistake, its position, and what would be right.
        message: String,
    },
    /// A query would take too long, or find too much.
    #[error("the query costs too much: {message}")]
    QueryTooCostly {
        /// The bound that it exceeds, and a cheaper alternative.
        message: String,
    },
    /// It is not switched on here.
    #[error("this registry does not offer {what}: {instead}")]
    Unsupported {
        /// The feature that was requested, such as `SPARQL queries`.
        what: &'static str,
        /// The setting that enables it, and the alternatives.
        instead: &'static str,
    },
    /// So much of this is done at the moment that there was no turn.
    #[error("too much is being done at the moment: {doing}; try again later")]
    Overloaded {
        /// The operation that is at its limit, such as `evaluating SPARQL queries`.
        doing: &'static str,
    },
    /// A file is no backup, or a damaged one.
    #[error("the backup can't be restored: {reason}")]
    InvalidBackup {
        /// The damage, or the sign that it is not a backup.
        reason: String,
    },
    /// The search index is being built.
    #[error("the search index is being rebuilt: {done} of {total}")]
    IndexRebuilding {
        /// Records indexed so far.
        done: u64,
        /// Records to index.
        total: u64,
    },
    /// An index (words, vectors, data, SPARQL), or what decisions read, did not reach the asked position in time.
    #[error("an index did not catch up with the log within {seconds} s")]
    ConsistencyTimeout {
        /// Duration of the wait, in seconds.
        seconds: u64,
    },
    /// The data directory is open already.
    #[error("{} is in use by {}", path.display(), holder(*by_this_process))]
    StoreInUse {
        /// The data directory.
        path: PathBuf,
        /// True if it is this process that has it open.
        by_this_process: bool,
    },
    /// The store is older than it was: what was acknowledged is missing.
    #[error(
        "{}: the store is older than it was: it ends with the position {found}, and had come to {expected}; {} missing",
        path.display(),
        missing(*commits)
    )]
    StoreBehind {
        /// The data directory.
        path: PathBuf,
        /// The number of commits that are missing; 0 where that isn't known.
        commits: u64,
        /// The last position that it has.
        found: Seq,
        /// The last position that it had.
        expected: Seq,
    },
    /// The store is not what was written.
    #[error("{}: the store is damaged: {found}", path.display())]
    StoreDamaged {
        /// The data directory.
        path: PathBuf,
        /// The damage.
        found: String,
    },
    /// The data directory was written by a version that this one doesn't know.
    #[error("{} has the store format {found}, but this version reads format {supported}", path.display())]
    UnsupportedStoreFormat {
        /// The data directory.
        path: PathBuf,
        /// The version found in it.
        found: String,
        /// The version that is read and written.
        supported: u32,
    },
    /// The caller may not ask for this access, or not claim this namespace.
    #[error("{message}")]
    AccessRefused {
        /// The denied action, and what to do instead.
        message: String,
    },
    /// The Thing or saved query belongs to somebody else.
    #[error("{id:?} belongs to somebody else: only its owner or an admin changes or removes it")]
    NotOwner {
        /// The Thing, or the name of the saved query.
        id: String,
    },
    /// The Thing is a part of documents: it has their access.
    #[error("{id:?} is a part of {}: it has the access of that; change that one's", documents_of(documents))]
    PartOfDocument {
        /// The part.
        id: String,
        /// The Things of the documents; of those that the writer doesn't see, none.
        documents: Vec<String>,
    },
    /// The id is that of a Thing with which the one that is imported or registered has nothing in common.
    #[error(
        "{id:?} is taken by {title:?}, which has nothing in common with this one (neither title, description, capability nor \
         address): give this one another id, or replace that one (`if_exists=replace`, `--replace`)"
    )]
    Unrelated {
        /// The Thing.
        id: String,
        /// The title of the one that is there.
        title: String,
    },
    /// All versions that are left are hidden from the owner of the Thing, so that none of them can be served.
    #[error(
        "what would be left of {id:?} are versions of a former owner, which its owner may not read: remove those first, or all of it"
    )]
    HiddenVersions {
        /// The Thing.
        id: String,
    },
    /// A version below the served one was written with a wider access, which would publish the served text.
    #[error(
        "{id:?} is served from {}, which this access would publish although another version is written: leave the access out, \
         or publish all versions with `versions=all`", served_version(served.as_deref())
    )]
    VersionNotServed {
        /// The Thing.
        id: String,
        /// The served version; `None` if it has no name.
        served: Option<String>,
    },
    /// An import in another format would drop what the Thing has.
    #[error(
        "importing {id:?} from this document (format {format}) would drop {}; give the new one another id, or drop that on \
         purpose (`replace=true`, `--replace`)", dropped(original.as_deref(), losses)
    )]
    LossyImport {
        /// The Thing.
        id: String,
        /// Format of the imported document.
        format: String,
        /// Format of the original that the import would drop, if any.
        original: Option<String>,
        /// Content of the Thing that the one of the document lacks.
        losses: Box<Losses>,
    },
    /// The Thing has no such version.
    #[error("{id:?} has no version {version:?}; GET its `versions` lists them")]
    NoSuchVersion {
        /// The Thing.
        id: String,
        /// The version, or the range.
        version: String,
    },
    /// The Thing would be shown to a namespace that the writer is no member of.
    #[error("{id:?} is shown to the namespace {:?}, {}", namespace.as_str(), not_member(*is_given_up))]
    NotMember {
        /// The Thing.
        id: String,
        /// The namespace.
        namespace: Namespace,
        /// True if nobody is a member of it any more.
        is_given_up: bool,
    },
    /// A flush failed; the store takes no writes until it is opened again.
    #[error("the store is closed to writes since a flush failed: {reason}; restart after fixing the cause")]
    WritesClosed {
        /// The error of that flush.
        reason: String,
    },
    /// The disk has too little room for what is to be written. Nothing was written; reads go on, and writes are taken
    /// again as soon as there is room.
    #[error("the disk of {} has {free} bytes left, and the write may need {needed}; nothing was written, free some space", path.display())]
    DiskFull {
        /// The data directory.
        path: PathBuf,
        /// Number of free bytes.
        free: u64,
        /// Number of bytes that must be free.
        needed: u64,
    },
    /// The registry is stopping.
    #[error("the registry is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error("the store failed while {doing}")]
    Store {
        /// The operation that failed, such as `reading a record`.
        doing: &'static str,
        /// Why.
        source: BoxError,
    },
    /// The search index failed.
    #[error("the search index failed while {doing}")]
    Index {
        /// The operation that failed, such as `searching`.
        doing: &'static str,
        /// Why.
        source: BoxError,
    },
    /// A setting isn't known, or can't have that value.
    #[error("{origin}: {message}")]
    InvalidSetting {
        /// The source of the setting, such as a file or a variable.
        origin: String,
        /// The mistake, and what would be right.
        message: String,
    },
    /// An MQTT broker can't be reached, or doesn't do what it should.
    #[error("{doing}: {source}")]
    Broker {
        /// The operation that failed, with the broker's address.
        doing: String,
        /// Why.
        source: BoxError,
    },
    /// A URL isn't fetched: it isn't one of the public web, or leads to a place that isn't; or there is nobody
    /// to fetch it, or to track documents of its format. Here and in the next two the URL is the one that
    /// was asked for, without credentials and what its query says.
    #[error("{url} is not fetched: {reason}")]
    FetchRefused {
        /// The URL that was asked for.
        url: String,
        /// The reason, and the setting by which the operator can allow it.
        reason: String,
    },
    /// A URL was asked for, and no document came back.
    #[error("fetching {url} failed: {reason}")]
    FetchFailed {
        /// The URL that was asked for.
        url: String,
        /// The status of the answer, if there was one.
        status: Option<u16>,
        /// The response or error that came instead of a document.
        reason: String,
        /// The delay that its server asks for (`Retry-After`), if it does.
        retry_after: Option<Duration>,
        /// Why.
        source: Option<BoxError>,
    },
    /// Fetching took longer than it may.
    #[error("fetching {url} took too long while {doing}")]
    FetchTimedOut {
        /// The URL that was asked for.
        url: String,
        /// The phase that took too long, such as `connecting`.
        doing: &'static str,
    },
    /// So much is being fetched that there was no turn.
    #[error("too much is being fetched at the moment, or from {host}; try again later")]
    FetchBusy {
        /// Whom it was to be fetched from.
        host: String,
    },
    /// No source of this Thing is tracked: it wasn't imported by URL, or was changed by hand.
    #[error("no source of {id:?} is tracked: it was not imported by URL, or was changed by hand since")]
    NotTracked {
        /// The Thing.
        id: String,
    },
    /// An agent card must have a valid signature here, and hasn't.
    #[error("the agent card is refused: {}{}", signature(status), reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default())]
    SignatureRequired {
        /// The status of its signature: `invalid`, `untrusted` or `unsigned`.
        status: &'static str,
        /// Why.
        reason: Option<String>,
    },
    /// A file or socket failed.
    #[error("{doing}: {source}")]
    Io {
        /// The operation that failed, with the path or address.
        doing: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    /// Returns the stable name of the error, such as `not-found`. Problem documents of the REST API have the same in
    /// `code`, but for errors inside the registry, of which they say `internal`.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// let error = registry.register(r#"{"title": 7}"#).unwrap_err();
    /// assert_eq!(error.code(), "invalid-thing-description");
    /// assert!(error.is_invalid() && error.report().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Error::MalformedJson { .. } => "malformed-json",
            Error::MalformedYaml { .. } => "malformed-yaml",
            Error::DocumentTooLarge { .. } => "body-too-large",
            Error::LimitExceeded { .. } => "limit-exceeded",
            Error::Invalid(_) => "invalid-thing-description",
            Error::CredentialInDescription(_) => "credential-in-description",
            Error::InvalidSource { .. } | Error::OtherFormat { .. } => "invalid-document",
            Error::UnclearFormat { .. } => "unclear-format",
            Error::NotExpressible { .. } => "not-expressible",
            Error::InvalidPatch { .. } => "invalid-merge-patch",
            Error::InvalidId { .. } => "invalid-id",
            Error::UnexpectedId { .. } => "unexpected-id",
            Error::MissingId => "missing-id",
            Error::IdMismatch { .. } => "id-mismatch",
            Error::NotFound { .. } | Error::NoSuchQuery { .. } => "not-found",
            Error::NoSuchAction { .. } => "no-such-action",
            Error::AlreadyExists { .. } => "already-exists",
            Error::PreconditionFailed { .. } => "precondition-failed",
            Error::AccessRefused { .. } => "access-refused",
            Error::NotOwner { .. } => "not-owner",
            Error::NotMember { .. } => "not-member",
            Error::PartOfDocument { .. } => "part-of-document",
            Error::Unrelated { .. } => "unrelated",
            Error::HiddenVersions { .. } => "hidden-versions",
            Error::VersionNotServed { .. } => "version-not-served",
            Error::LossyImport { .. } => "lossy-import",
            Error::NoSuchVersion { .. } => "no-such-version",
            Error::Contended { .. } => "contended",
            Error::InvalidQuery { .. } => "invalid-query",
            Error::QueryTooCostly { .. } => "query-too-costly",
            Error::Unsupported { .. } => "query-language-not-offered",
            Error::Overloaded { .. } => "overloaded",
            Error::IndexRebuilding { .. } => "index-rebuilding",
            Error::ConsistencyTimeout { .. } => "consistency-timeout",
            Error::WritesClosed { .. } => "writes-closed",
            Error::DiskFull { .. } => "disk-full",
            Error::ShuttingDown => "shutting-down",
            Error::NotTracked { .. } => "not-tracked",
            Error::SignatureRequired { .. } => "signature-required",
            Error::FetchRefused { .. } => "fetch-refused",
            Error::FetchFailed { .. } => "fetch-failed",
            Error::FetchTimedOut { .. } => "fetch-timed-out",
            Error::FetchBusy { .. } => "fetch-busy",
            Error::InvalidSetting { .. } => "invalid-setting",
            Error::NotSerializable { .. } => "not-serializable",
            Error::InvalidBackup { .. } => "invalid-backup",
            Error::StoreInUse { .. } => "store-in-use",
            Error::StoreBehind { .. } => "store-behind",
            Error::StoreDamaged { .. } => "store-damaged",
            Error::UnsupportedStoreFormat { .. } => "unsupported-store-format",
            Error::Store { .. } => "store-failed",
            Error::Index { .. } => "index-failed",
            Error::Broker { .. } => "broker-failed",
            Error::Io { .. } => "io-failed",
        }
    }

    /// True if the Thing, saved query, action or tracked source does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Error::NotFound { .. } | Error::NoSuchQuery { .. } | Error::NoSuchAction { .. } | Error::NotTracked { .. }
        )
    }

    /// True if the record is not in the state that the write needs: it exists, was changed, or was not there.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::AlreadyExists { .. } | Error::PreconditionFailed { .. } | Error::Contended { .. })
    }

    /// True if what the caller gave is invalid: the same call fails again.
    pub fn is_invalid(&self) -> bool {
        matches!(
            self,
            Error::MalformedJson { .. }
                | Error::MalformedYaml { .. }
                | Error::NotSerializable { .. }
                | Error::DocumentTooLarge { .. }
                | Error::LimitExceeded { .. }
                | Error::Invalid(_)
                | Error::CredentialInDescription(_)
                | Error::InvalidSource { .. }
                | Error::OtherFormat { .. }
                | Error::UnclearFormat { .. }
                | Error::InvalidPatch { .. }
                | Error::InvalidId { .. }
                | Error::UnexpectedId { .. }
                | Error::MissingId
                | Error::IdMismatch { .. }
                | Error::InvalidQuery { .. }
                | Error::InvalidSetting { .. }
                | Error::InvalidBackup { .. }
        )
    }

    /// True if the same call may succeed later. Of a fetch: nobody answered, or with 429 or a status from 500 on.
    ///
    /// ```
    /// use agentdex::Error;
    ///
    /// let failed = |status| {
    ///     let (url, reason) = ("https://agents.example/card".into(), "no card".into());
    ///     Error::FetchFailed { url, status, reason, retry_after: None, source: None }
    /// };
    /// assert!([None, Some(429), Some(503)].map(failed).iter().all(Error::is_retryable));
    /// assert!(!failed(Some(404)).is_retryable());
    /// ```
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::FetchFailed { status, retry_after, .. } => {
                retry_after.is_some() || status.is_none_or(|status| status == 429 || status >= 500)
            }
            _ => matches!(
                self,
                Error::Contended { .. }
                    | Error::Overloaded { .. }
                    | Error::IndexRebuilding { .. }
                    | Error::ConsistencyTimeout { .. }
                    | Error::DiskFull { .. }
                    | Error::FetchTimedOut { .. }
                    | Error::FetchBusy { .. }
            ),
        }
    }

    /// The violations and warnings of a document that is refused as invalid.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Error::Invalid(report) | Error::CredentialInDescription(report) | Error::InvalidSource { report, .. } => {
                Some(report)
            }
            Error::OtherFormat { source, .. } => source.report(),
            _ => None,
        }
    }
}

/// Names what an import would drop.
fn dropped(original: Option<&str>, losses: &Losses) -> String {
    match original.map(|format| format!("its original (format {format})")) {
        None => losses.to_string(),
        Some(original) if losses.is_empty() => original,
        Some(original) => format!("{original}, {losses}"),
    }
}

/// Names the version that is served.
fn served_version(version: Option<&str>) -> String {
    version.map_or_else(|| "a text without a version".to_owned(), |version| format!("the version {version:?}"))
}

/// Describes the documents that a part belongs to.
fn documents_of(documents: &[String]) -> String {
    match documents {
        [] => "a document".to_owned(),
        documents => format!("the document of {}", documents.join(", ")),
    }
}

fn not_member(is_given_up: bool) -> &'static str {
    if is_given_up {
        "which was given up: its name stands for another namespace, if it is claimed again; give another visibility or \
         namespace with the write"
    } else {
        "and you are no member of it: give another visibility or namespace with the write, or let its owner add you with \
         PUT /namespaces/{name}"
    }
}

fn missing(commits: u64) -> String {
    match commits {
        0 => "what came in between is".to_owned(),
        1 => "1 commit is".to_owned(),
        commits => format!("{commits} commits are"),
    }
}

/// Names the process that has a data directory open, and says what to do.
fn holder(by_this_process: bool) -> &'static str {
    if by_this_process {
        "this process: clone the Registry that is open, or close it first"
    } else {
        "another agentdex; stop it or choose another data directory"
    }
}

/// Describes the fault of a signature with this status.
fn signature(status: &str) -> &'static str {
    match status {
        "unsigned" => "it has no signature",
        "untrusted" => "its signature is by nobody who is trusted here",
        _ => "its signature is invalid",
    }
}
