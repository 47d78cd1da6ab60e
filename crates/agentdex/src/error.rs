//! The error type of this crate. Errors of other libraries are boxed, so that callers don't depend on those libraries.

mod conversions;

use std::{path::PathBuf, time::Duration};

use crate::{
    access::Namespace,
    change::{Precondition, Seq},
    td::{Losses, Report},
};

pub use crate::td::BoxError;

/// Error of an operation of agentdex.
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
    /// The text is not valid JSON.
    #[error("malformed JSON at line {line}, column {column}: {message}")]
    MalformedJson {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
        /// Message of the parser.
        message: String,
    },
    /// The value can't be represented in JSON.
    #[error("the value can't be written as JSON: {source}")]
    NotSerializable {
        /// Underlying error.
        source: BoxError,
    },
    /// The text is not YAML, or can't be represented in JSON.
    #[error("malformed YAML at line {line}, column {column}: {message}")]
    MalformedYaml {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
        /// Description of the mistake, without quoting the text.
        message: String,
    },
    /// The document is larger than the limit.
    #[error("the document exceeds the limit of {maximum} bytes")]
    DocumentTooLarge {
        /// Maximum size in bytes.
        maximum: usize,
    },
    /// A quantity other than the size of the document exceeds its limit.
    #[error("{what} exceeds the limit of {maximum}")]
    LimitExceeded {
        /// Name of the quantity, such as `JSON nesting depth` or `length of the id in bytes`.
        what: &'static str,
        /// Maximum value.
        maximum: u64,
    },
    /// The document is not a valid Thing Description.
    #[error("the Thing Description is invalid: {0}")]
    Invalid(Report),
    /// The description contains credentials, and the registry refuses them
    /// ([`Redaction::Refuse`](crate::registry::Redaction::Refuse)) or can't replace them, for example in an id.
    #[error(
        "the description contains credentials; remove them, and declare the authentication in `securityDefinitions`; \
         also revoke the credentials, since they were transmitted: {0}"
    )]
    CredentialInDescription(Report),
    /// A document in a format other than Thing Description breaks the rules of its format, or can't be converted to a
    /// Thing.
    #[error("the {format} document is invalid: {report}")]
    InvalidSource {
        /// Name of the format, such as `agent-spec`.
        format: &'static str,
        /// Violations found in the document.
        report: Report,
    },
    /// A fetched document is not in the requested format.
    #[error("the document is {noun} (format {found}): {source}")]
    OtherFormat {
        /// Name of the actual format.
        found: &'static str,
        /// Noun for documents of the actual format, with an article, such as `an A2A agent card`.
        noun: &'static str,
        /// Reason why the document is not accepted in the requested format.
        source: Box<Error>,
    },
    /// The document at a URL was fetched, but is not accepted.
    #[error("the document from {url} was rejected: {source}")]
    RejectedDocument {
        /// URL of the document: the requested URL, or a well-known location on the same site.
        url: String,
        /// Reason for the rejection.
        source: Box<Error>,
    },
    /// The format of a document was not given, and can't be detected.
    #[error("the format of the document is unclear: {message}")]
    UnclearFormat {
        /// Missing or contradictory signs of a format.
        message: String,
    },
    /// A Thing can't be expressed in the requested format.
    #[error("the Thing can't be exported as {format}: {reason}")]
    NotExpressible {
        /// Name of the format, such as `agent-spec`.
        format: &'static str,
        /// Part that the format requires and the Thing lacks, or another obstacle.
        reason: String,
    },
    /// The merge patch is not a JSON object, or changes a member that clients can't set.
    #[error("invalid merge patch: {message}")]
    InvalidPatch {
        /// Description of the mistake and its correction.
        message: String,
    },
    /// The id is not an absolute URI, and can't be converted to one.
    #[error("invalid id {id:?}: {reason}")]
    InvalidId {
        /// Id as given.
        id: String,
        /// Reason for the rejection, such as `it is empty`.
        reason: String,
    },
    /// The document contains an id, but was to be created without one.
    #[error(
        "the document has the id {id:?}, but this operation assigns ids itself; register the document under its own \
        id instead"
    )]
    UnexpectedId {
        /// Id in the document.
        id: String,
    },
    /// The document lacks the required id.
    #[error("the document has no `id`; add an absolute URI as its `id`, or let the registry assign an id on creation")]
    MissingId,
    /// The id in the document differs from the id in the address.
    #[error("the document has the id {found:?}, but the request names the id {expected:?}")]
    IdMismatch {
        /// Id in the address.
        expected: String,
        /// Id in the document.
        found: String,
    },
    /// The Thing doesn't exist, has expired, or is hidden from the caller.
    #[error("Thing {id:?} not found")]
    NotFound {
        /// Id of the Thing.
        id: String,
    },
    /// The saved query doesn't exist, or is hidden from the caller.
    #[error("saved query {name:?} not found")]
    NoSuchQuery {
        /// Name of the saved query.
        name: String,
    },
    /// The Thing doesn't have the action, or the action has no valid declaration of its SACP responses.
    #[error("{id:?} has no suitable action {action:?}: {reason}")]
    NoSuchAction {
        /// Id of the Thing.
        id: String,
        /// Requested name.
        action: String,
        /// Up to 20 actions of the Thing, or the reason why the requested action is not suitable.
        reason: String,
    },
    /// The id or name is taken.
    #[error("Thing {id:?} already exists")]
    AlreadyExists {
        /// Id of the Thing, or name of the saved query.
        id: String,
    },
    /// A precondition of a write doesn't hold.
    #[error("{id:?} {}", unmet(*expected, *found))]
    PreconditionFailed {
        /// Id of the Thing.
        id: String,
        /// Precondition of the write.
        expected: Precondition,
        /// Position of the Thing's last change, or `None` if the Thing doesn't exist or is hidden from the caller.
        found: Option<Seq>,
    },
    /// Other writes conflicted with every attempt.
    #[error("writing {id:?} failed after conflicts with other writes (attempts: {attempts}); try again")]
    Contended {
        /// Id of the Thing, name of the saved query or namespace, or URL of the tracked source.
        id: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The query is invalid.
    #[error("invalid query: {message}")]
    InvalidQuery {
        /// Description of the mistake with its position, and the correction.
        message: String,
    },
    /// The query would take too long, or return too much.
    #[error("the query is too expensive: {message}")]
    QueryTooCostly {
        /// Exceeded limit, and a cheaper alternative.
        message: String,
    },
    /// The feature is disabled in this registry.
    #[error("this registry does not offer {what}: {instead}")]
    Unsupported {
        /// Requested feature, such as `SPARQL queries`.
        what: &'static str,
        /// Setting that enables the feature, and alternatives.
        instead: &'static str,
    },
    /// The maximum number of operations of this kind is already running.
    #[error("too many operations at once: {doing}; try again later")]
    Overloaded {
        /// Operation at its limit, such as `evaluating SPARQL queries`.
        doing: &'static str,
    },
    /// The file is not a backup, or is damaged.
    #[error("the backup can't be restored: {reason}")]
    InvalidBackup {
        /// Description of the damage, or the reason why the file is not a backup.
        reason: String,
    },
    /// An index is being rebuilt.
    #[error("an index is being rebuilt ({done} of {total} records done); try again later")]
    IndexRebuilding {
        /// Number of records indexed so far.
        done: u64,
        /// Number of records to index.
        total: u64,
    },
    /// An index (of words, vectors, inputs and outputs, or RDF statements), or the guardian's copy of the agents, did
    /// not reach the requested position in time.
    #[error("an index did not catch up with the log within {seconds} s; try again later")]
    ConsistencyTimeout {
        /// Duration of the wait, in seconds.
        seconds: u64,
    },
    /// The data directory is already open.
    #[error("{} is in use by {}", path.display(), holder(*by_this_process))]
    StoreInUse {
        /// Data directory.
        path: PathBuf,
        /// True if the directory is open in this process.
        by_this_process: bool,
    },
    /// The store is older than its last recorded state: acknowledged writes are missing.
    #[error(
        "{}: the store is older than its last recorded state: it ends at position {found}, expected {expected}; {} \
         missing",
        path.display(),
        missing(*commits)
    )]
    StoreBehind {
        /// Data directory.
        path: PathBuf,
        /// Number of missing commits; 0 if unknown.
        commits: u64,
        /// Last position in the store.
        found: Seq,
        /// Last position recorded in the file `witness` beside the store.
        expected: Seq,
    },
    /// The store is damaged: its content differs from the content that was written.
    #[error("{}: the store is damaged: {found}", path.display())]
    StoreDamaged {
        /// Data directory.
        path: PathBuf,
        /// Description of the damage.
        found: String,
    },
    /// The data directory belongs to a node of a cluster, and was opened without the cluster.
    #[error("{} belongs to a node of a cluster; only `agentdex serve --cluster` can open it", path.display())]
    ClusterDirectory {
        /// Data directory.
        path: PathBuf,
    },
    /// A node of this cluster can't use the data directory.
    #[error("{} can't be used in this cluster: {reason}", path.display())]
    ClusterRefused {
        /// Data directory.
        path: PathBuf,
        /// Reason for the refusal, and what to do.
        reason: String,
    },
    /// The log of the cluster can't be reached, or doesn't exist yet.
    #[error("the log of the cluster is unavailable: {reason}")]
    ClusterUnavailable {
        /// Reason, with the address of etcd.
        reason: String,
    },
    /// The format of the data directory is unknown to this version of agentdex.
    #[error("{} has the store format {found}, but this version reads format {supported}", path.display())]
    UnsupportedStoreFormat {
        /// Data directory.
        path: PathBuf,
        /// Format of the directory.
        found: String,
        /// Format supported by this version of agentdex.
        supported: u32,
    },
    /// The caller may not perform the operation, such as requesting this access, claiming a namespace, or reading
    /// records.
    #[error("{message}")]
    AccessRefused {
        /// Denied action, and alternatives.
        message: String,
    },
    /// The Thing or saved query belongs to another owner.
    #[error("{id:?} belongs to another owner; only its owner or an admin can change or remove it")]
    NotOwner {
        /// Id of the Thing, or name of the saved query.
        id: String,
    },
    /// The access of the Thing can't be changed: the Thing is a part of documents, and inherits their access.
    #[error("{id:?} is a part of {}", documents_of(documents))]
    PartOfDocument {
        /// Id of the part.
        id: String,
        /// Ids of the documents, as far as the writer can see them.
        documents: Vec<String>,
    },
    /// The id belongs to a Thing that has nothing in common with the imported or registered description.
    #[error(
        "{id:?} is taken by {title:?}, which has nothing in common with this Thing (no title, description, \
         capability, or address); use another id, or replace the existing Thing (`if_exists=replace`, `--replace`)"
    )]
    Unrelated {
        /// Id of the Thing.
        id: String,
        /// Title of the existing Thing.
        title: String,
    },
    /// All remaining versions are hidden from the owner of the Thing, so that none can be served.
    #[error(
        "the remaining versions of {id:?} belong to a former owner, and the current owner may not read them; remove \
         them first, or remove the entire Thing"
    )]
    HiddenVersions {
        /// Id of the Thing.
        id: String,
    },
    /// The write stores a version lower than the served version, but the requested access would publish the served
    /// description as well.
    #[error(
        "the requested access would also publish {}, which remains the served description of {id:?}; omit the \
         access, or publish all versions with `versions=all`", served_version(served.as_deref())
    )]
    VersionNotServed {
        /// Id of the Thing.
        id: String,
        /// Served version; `None` if it has no version name.
        served: Option<String>,
    },
    /// The document has another format than the Thing, and importing it would drop some content of the Thing.
    #[error("{}", lossy_import(id, format, &dropped(original.as_deref(), losses), edits))]
    LossyImport {
        /// Id of the Thing.
        id: String,
        /// Format of the imported document.
        format: String,
        /// Format of the original that the import would drop, if any.
        original: Option<String>,
        /// Content of the Thing that is missing from the document.
        losses: Box<Losses>,
        /// JSON Pointers of the edits in the document that have no counterpart in the Thing, if the document is an
        /// edited export of the Thing.
        edits: Vec<String>,
    },
    /// The Thing doesn't have the requested version.
    #[error("{id:?} has no version {version:?}; list its versions to find one")]
    NoSuchVersion {
        /// Id of the Thing.
        id: String,
        /// Requested version or range.
        version: String,
    },
    /// The writer is not a member of the namespace, and can't make the Thing or saved query visible to its members.
    #[error("{id:?} would be visible to the namespace {:?}, {}", namespace.as_str(), not_member(*is_given_up))]
    NotMember {
        /// Id of the Thing, or name of the saved query.
        id: String,
        /// Name of the namespace.
        namespace: Namespace,
        /// True if the namespace was given up.
        is_given_up: bool,
    },
    /// A flush to disk failed, or a node of a cluster can't follow the log of the cluster. The store rejects writes
    /// until it is reopened.
    #[error("the store accepts no more writes: {reason}; fix the cause, then restart")]
    WritesClosed {
        /// Cause.
        reason: String,
    },
    /// The disk doesn't have enough free space for the write. Nothing was written. Reads continue, and writes are
    /// accepted again once there is room.
    #[error("the disk of {} has {free} bytes left, but the write may need {needed}; nothing was written. Free some \
        space", path.display())]
    DiskFull {
        /// Data directory.
        path: PathBuf,
        /// Number of free bytes.
        free: u64,
        /// Number of free bytes required.
        needed: u64,
    },
    /// The log of the cluster has not confirmed the write yet, so the write may or may not happen.
    #[error("the outcome of this write is unknown; read the Thing before you repeat the write")]
    OutcomeUnknown,
    /// The log of the cluster does not respond, so a write or a consistent read was refused. Nothing was written.
    #[error("the log of the cluster does not respond, so writes and consistent reads are refused; try again later")]
    LogUnavailable,
    /// etcd has no space for the log of the cluster. Nothing was written.
    #[error("etcd is out of space; nothing was written. Compact and defragment etcd, and disarm its alarm")]
    LogFull,
    /// The clock of this node of a cluster differs from those of most other nodes. Nothing was written.
    #[error(
        "the clock of this node is {} s {} the clocks of most other nodes; nothing was written. Correct the clock, or \
         send the write to another node",
        ahead.unsigned_abs().div_ceil(1000),
        if *ahead > 0 { "ahead of" } else { "behind" }
    )]
    ClockSkew {
        /// How far the clock is ahead, in milliseconds. Negative if it is behind.
        ahead: i64,
    },
    /// The registry is shutting down.
    #[error("the registry is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error("the store failed while {doing}")]
    Store {
        /// Failed operation, such as `reading a record`.
        doing: &'static str,
        /// Underlying error.
        source: BoxError,
    },
    /// The search index failed.
    #[error("the search index failed while {doing}")]
    Index {
        /// Failed operation, such as `searching`.
        doing: &'static str,
        /// Underlying error.
        source: BoxError,
    },
    /// A setting is unknown, or has an invalid value.
    #[error("{origin}: {message}")]
    InvalidSetting {
        /// Source of the setting, such as a file or a variable.
        origin: String,
        /// Description of the mistake and its correction.
        message: String,
    },
    /// An MQTT broker can't be reached, or violates the protocol.
    #[error("{doing}: {source}")]
    Broker {
        /// Failed operation, with the broker's address.
        doing: String,
        /// Underlying error.
        source: BoxError,
    },
    /// A fetch was refused, for example because the URL is invalid or not public, the registry was opened without a
    /// fetcher, or the document has a format that can be imported, but not tracked. Here, in
    /// [`Error::FetchFailed`], and in [`Error::FetchTimedOut`], `url` is the requested URL without credentials and
    /// query.
    #[error("{url} was not fetched: {reason}")]
    FetchRefused {
        /// Requested URL.
        url: String,
        /// Reason for the refusal, with the setting by which the operator can allow the fetch, if any.
        reason: String,
    },
    /// A fetch returned no document.
    #[error("fetching {url} failed: {reason}")]
    FetchFailed {
        /// Requested URL.
        url: String,
        /// Status of the response, if any.
        status: Option<u16>,
        /// Description of the response or error.
        reason: String,
        /// Delay requested by the server (`Retry-After`), if any.
        retry_after: Option<Duration>,
        /// Underlying error.
        source: Option<BoxError>,
    },
    /// A fetch exceeded its time limit.
    #[error("fetching {url} took too long while {doing}")]
    FetchTimedOut {
        /// Requested URL.
        url: String,
        /// Phase that took too long, such as `connecting`.
        doing: &'static str,
    },
    /// Too many fetches are running, in total or from this host.
    #[error("too many fetches are in progress, in total or from {host}; try again later")]
    FetchBusy {
        /// Host of the URL.
        host: String,
    },
    /// The Thing has no tracked source: it wasn't imported from a URL, or its tracking has ended.
    #[error(
        "{id:?} has no tracked source: it was not imported from a URL, or its tracking has ended; import it by URL"
    )]
    NotTracked {
        /// Id of the Thing.
        id: String,
    },
    /// The registry requires a valid signature by a trusted key, and the agent card has none.
    #[error("the agent card is refused: {}{}", signature(status), reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default())]
    SignatureRequired {
        /// Status of the signature: `invalid`, `untrusted`, or `unsigned`.
        status: &'static str,
        /// Reason for the status, if known.
        reason: Option<String>,
    },
    /// An operation on a file or socket failed.
    #[error("{doing}: {source}")]
    Io {
        /// Failed operation, with the path or address.
        doing: String,
        /// Underlying error.
        source: std::io::Error,
    },
}

impl Error {
    /// Returns the stable name of the error, such as `not-found`. Problem documents of the REST API contain this name
    /// as `code`, except for internal errors: their `code` is `internal`.
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
            Error::RejectedDocument { source, .. } => source.code(),
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
            Error::OutcomeUnknown => "outcome-unknown",
            Error::LogUnavailable => "log-unavailable",
            Error::LogFull => "log-full",
            Error::ClockSkew { .. } => "clock-skew",
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
            Error::ClusterDirectory { .. } => "cluster-directory",
            Error::ClusterRefused { .. } => "cluster-refused",
            Error::ClusterUnavailable { .. } => "cluster-unavailable",
            Error::UnsupportedStoreFormat { .. } => "unsupported-store-format",
            Error::Store { .. } => "store-failed",
            Error::Index { .. } => "index-failed",
            Error::Broker { .. } => "broker-failed",
            Error::Io { .. } => "io-failed",
        }
    }

    /// True if the Thing, saved query, action, or tracked source does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Error::NotFound { .. } | Error::NoSuchQuery { .. } | Error::NoSuchAction { .. } | Error::NotTracked { .. }
        )
    }

    /// True if a write conflicts with concurrent writes, or with the state of its record: the record already exists,
    /// has changed, or doesn't exist.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::AlreadyExists { .. } | Error::PreconditionFailed { .. } | Error::Contended { .. })
    }

    /// True if the input is invalid, so that the same call fails again.
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
                | Error::RejectedDocument { .. }
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

    /// True if the same call may succeed later. A failed fetch may succeed later if there was no response, if the
    /// response has the status 429 or at least 500, or if it has a `Retry-After` header.
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
                    | Error::LogUnavailable
                    | Error::LogFull
                    | Error::ClockSkew { .. }
                    | Error::ClusterUnavailable { .. }
                    | Error::FetchTimedOut { .. }
                    | Error::FetchBusy { .. }
            ),
        }
    }

    /// Returns the violations and warnings of a document that was refused as invalid.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Error::Invalid(report) | Error::CredentialInDescription(report) | Error::InvalidSource { report, .. } => {
                Some(report)
            }
            Error::OtherFormat { source, .. } | Error::RejectedDocument { source, .. } => source.report(),
            _ => None,
        }
    }
}

/// Describes an import that would drop content. If there are edits, they are named instead, since they can't be transferred.
fn lossy_import(id: &str, format: &str, dropped: &str, edits: &[String]) -> String {
    if edits.is_empty() {
        return format!(
            "importing {id:?} from this document (format {format}) would drop {dropped}; use another id, or confirm the \
             loss (`replace=true`, `--replace`)"
        );
    }
    format!(
        "this document is an export of {id:?} (format {format}) with edits that can't be transferred to its \
         Thing Description: {}. Undo these edits, or change the Thing Description instead (`agentdex edit`, PATCH). \
         Importing the document would drop {dropped}; to import it, use another id, or confirm the loss \
         (`replace=true`, `--replace`)",
        edits.join(", ")
    )
}

/// Names the content that an import would drop.
fn dropped(original: Option<&str>, losses: &Losses) -> String {
    match original.map(|format| format!("the stored original document (format {format})")) {
        None => losses.to_string(),
        Some(original) if losses.is_empty() => original,
        Some(original) => format!("{original}, {losses}"),
    }
}

/// Names the version that is served.
fn served_version(version: Option<&str>) -> String {
    version.map_or_else(|| "the description without a version".to_owned(), |version| format!("the version {version:?}"))
}

/// Describes the documents that a part belongs to, and says what to do.
fn documents_of(documents: &[String]) -> String {
    let of_one = "and inherits its access; change the access of the document instead";
    match documents {
        [] => format!("a document, {of_one}"),
        [document] => format!("the document of {document}, {of_one}"),
        several => format!(
            "the documents of {}, and inherits their access; change the access of these documents instead",
            several.join(", ")
        ),
    }
}

fn not_member(is_given_up: bool) -> &'static str {
    if is_given_up {
        "which was given up; a new namespace with the same name is a different namespace. Set another visibility or \
         namespace in the write"
    } else {
        "but you are not a member: set another visibility or namespace in the write, or ask the owner of the \
         namespace to add you with PUT /namespaces/{name}"
    }
}

/// Describes the state of a Thing that violates the precondition of a write.
fn unmet(expected: Precondition, found: Option<Seq>) -> String {
    match (expected, found) {
        (Precondition::Seq(expected), Some(found)) => format!("is at position {found}, expected {expected}"),
        (Precondition::Seq(expected), None) => format!("does not exist, expected position {expected}"),
        (Precondition::Present, None) => "does not exist".to_owned(),
        (Precondition::Absent, Some(_)) => "already exists".to_owned(),
        _ => "is not in the expected state".to_owned(),
    }
}

fn missing(commits: u64) -> String {
    match commits {
        0 => "the changes in between are".to_owned(),
        1 => "1 commit is".to_owned(),
        commits => format!("{commits} commits are"),
    }
}

/// Names the process that has a data directory open, and says what to do.
fn holder(by_this_process: bool) -> &'static str {
    if by_this_process {
        "this process; clone the open Registry, or close it first"
    } else {
        "another agentdex; stop it or choose another data directory"
    }
}

/// Describes the fault of a signature with this status.
fn signature(status: &str) -> &'static str {
    match status {
        "unsigned" => "it has no signature",
        "untrusted" => "it was not signed with a trusted key",
        _ => "its signature is invalid",
    }
}
