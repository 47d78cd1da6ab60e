//! Writes: operation, precondition, options. A patch that loses a race is recomputed.

use uuid::Uuid;

use agentdex_api::Effect;

use super::{
    Registry,
    commit::{Commit, Committed, check, tracking_stopped},
    prepare::Prepared,
    remarks::ends_tracking,
};
use crate::{
    Error, Result,
    access::AccessRequest,
    change::{DeletionReason, Precondition, Seq},
    store::{self, Declares, Operation, OwnDeclaration},
    td::{self, Document, Identity, Json, Violation},
};

/// Maximum number of attempts at a merge patch, which is recomputed when other writers are faster.
const PATCH_ATTEMPTS: u32 = 5;

/// A write operation with its precondition and options.
///
/// ```
/// # use agentdex::{Registry, td::Description};
/// # let directory = tempfile::tempdir()?;
/// # let registry = Registry::open(directory.path())?;
/// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
/// use agentdex::{Error, Precondition, registry::{Effect, Write}};
///
/// // Only if nobody changed it since it was read.
/// let seen = registry.find("urn:example:weather")?.expect("it was registered").seq();
/// let patch = || Write::patch("urn:example:weather", r#"{"title": "Rain agent"}"#).when(Precondition::Seq(seen));
/// let tried = registry.write_blocking(patch().dry_run(true))?;
/// assert_eq!((tried.effect, registry.last_seq()), (Effect::Updated, seen));
///
/// registry.write_blocking(patch())?;
/// assert!(matches!(registry.write_blocking(patch()), Err(Error::PreconditionFailed { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a write does nothing until Registry::write takes it"]
pub struct Write {
    verb: Verb,
    precondition: Option<Precondition>,
    dry_run: bool,
    actor: Option<String>,
    access: AccessRequest,
    version: Option<String>,
    only_related: bool,
    replaces: bool,
    /// True if the thread that writes may block, and so commit itself.
    may_block: bool,
}

#[derive(Debug, Clone)]
enum Verb {
    Create { json: Json },
    Register { json: Json },
    Put { id: Option<String>, json: Json },
    Patch { id: String, patch: Json },
    Remove { id: String },
    Access { id: String },
}

impl Write {
    /// Creates a Thing from a document without an id, and assigns `urn:uuid:<v4>`.
    pub fn create(document: impl Into<Json>) -> Write {
        Write::from(Verb::Create { json: document.into() })
    }

    /// Creates a Thing. A document without an id gets a new id. Fails with [`Error::AlreadyExists`] if the id is taken.
    pub fn register(document: impl Into<Json>) -> Write {
        Write::from(Verb::Register { json: document.into() })
    }

    /// Creates the Thing with the id in the document, or replaces its served description. Other versions don't change.
    /// For an imported Thing, this is an edit: its original stays, and the edit is applied again after the next
    /// import. See [`Write::replacing`].
    pub fn put(document: impl Into<Json>) -> Write {
        Write::from(Verb::Put { id: None, json: document.into() })
    }

    /// Creates or replaces the Thing `id`. The document must contain the same id.
    pub fn put_at(id: impl Into<String>, document: impl Into<Json>) -> Write {
        Write::from(Verb::Put { id: Some(id.into()), json: document.into() })
    }

    /// Applies a merge patch (RFC 7396) to a Thing. The patch `{}` renews its expiry.
    pub fn patch(id: impl Into<String>, patch: impl Into<Json>) -> Write {
        Write::from(Verb::Patch { id: id.into(), patch: patch.into() })
    }

    /// Removes a Thing, and the parts that only its document declares. A warning lists the ids of these parts.
    pub fn remove(id: impl Into<String>) -> Write {
        Write::from(Verb::Remove { id: id.into() })
    }

    /// Changes the owner and visibility of a Thing.
    pub fn access(id: impl Into<String>, access: AccessRequest) -> Write {
        Write { access, ..Write::from(Verb::Access { id: id.into() }) }
    }

    /// Sets the access of the Thing to be created or replaced.
    pub fn with_access(mut self, access: AccessRequest) -> Write {
        self.access = access;
        self
    }

    /// Sets the version to put beside other versions of the Thing, or to remove. A precondition ([`Write::when`]) then
    /// refers to this version. With an empty version, a put changes the served description, and a removal fails with
    /// [`Error::NoSuchVersion`].
    pub fn version(mut self, version: impl Into<String>) -> Write {
        self.version = Some(version.into());
        self
    }

    /// Fails with [`Error::Unrelated`] if the existing Thing has nothing in common with the new description.
    pub fn only_related(mut self, only_related: bool) -> Write {
        self.only_related = only_related;
        self
    }

    /// Replaces the Thing completely: its original, other versions, and edits are dropped, and its source is no longer
    /// tracked. By default, they are kept.
    pub fn replacing(mut self, replaces: bool) -> Write {
        self.replaces = replaces;
        self
    }

    /// Sets a precondition. If it doesn't hold, the write fails with [`Error::PreconditionFailed`].
    pub fn when(mut self, precondition: Precondition) -> Write {
        self.precondition = Some(precondition);
        self
    }

    /// Performs all checks without writing.
    pub fn dry_run(mut self, dry_run: bool) -> Write {
        self.dry_run = dry_run;
        self
    }

    /// Sets the author recorded in the change.
    pub fn actor(mut self, actor: Option<String>) -> Write {
        self.actor = actor;
        self
    }
}

impl From<Verb> for Write {
    fn from(verb: Verb) -> Write {
        Write {
            verb,
            precondition: None,
            dry_run: false,
            actor: None,
            access: AccessRequest::default(),
            version: None,
            only_related: false,
            replaces: false,
            may_block: false,
        }
    }
}

/// Result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Id of the Thing.
    pub id: String,
    /// Effect on the Thing; in a dry run, the effect that the write would have.
    pub effect: Effect,
    /// Position of the last change of the Thing; in a dry run, of its current last change.
    pub seq: Seq,
    /// Applied fixes, other warnings about the document, and side effects of the write.
    pub warnings: Vec<Violation>,
}

impl Registry {
    /// Performs a write, and returns once it is durable.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::registry::Write;
    ///
    /// # let _ =
    /// async {
    ///     let written = registry.write(Write::patch("urn:example:weather", r#"{"version": {"instance": "2.0.0"}}"#)).await?;
    ///     println!("{} is durable since {}", written.id, written.seq);
    ///     agentdex::Result::Ok(())
    /// };
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - Invalid input: [`Error::MalformedJson`], [`Error::LimitExceeded`], [`Error::Invalid`],
    ///   [`Error::InvalidPatch`], [`Error::InvalidId`], [`Error::MissingId`], [`Error::UnexpectedId`],
    ///   [`Error::IdMismatch`], [`Error::CredentialInDescription`].
    /// - Conflicts: [`Error::AlreadyExists`], [`Error::NotFound`], [`Error::NoSuchVersion`], [`Error::Unrelated`],
    ///   [`Error::PreconditionFailed`], [`Error::Contended`].
    /// - Access: [`Error::AccessRefused`], [`Error::NotOwner`], [`Error::NotMember`], [`Error::PartOfDocument`],
    ///   [`Error::HiddenVersions`], [`Error::VersionNotServed`].
    /// - The store: [`Error::WritesClosed`], [`Error::DiskFull`], [`Error::ShuttingDown`], [`Error::Store`]. In a
    ///   cluster also [`Error::OutcomeUnknown`], [`Error::LogUnavailable`], [`Error::LogFull`], [`Error::ClockSkew`].
    pub async fn write(&self, write: Write) -> Result<Written> {
        let Write { verb, mut precondition, dry_run, actor, access, version, only_related, replaces, may_block } =
            write;
        let commit = Commit { dry_run, may_block, author: self.author(access)? };
        let prepared = match verb {
            Verb::Patch { id, patch } => {
                return self.patch_thing(&id, patch.as_bytes(), precondition, &commit, actor).await;
            }
            Verb::Remove { id } => return self.remove_thing((&id, version), precondition, &commit, actor).await,
            Verb::Access { id } => return self.change_access(&id, precondition, commit, actor).await,
            Verb::Create { json } => {
                self.prepare(Document::parse(json.as_bytes())?, Identity::Assigned(&new_id()), Precondition::Absent)?
            }
            Verb::Register { json } => {
                let document = Document::parse(json.as_bytes())?;
                let new_id = document.id().is_none().then(new_id);
                let identity = new_id.as_deref().map_or(Identity::Own, Identity::Assigned);
                self.prepare(document, identity, Precondition::Absent)?
            }
            Verb::Put { id, json } => {
                let id = id.as_deref().map(td::normalize_id).transpose()?;
                let identity = id.as_deref().map_or(Identity::Own, Identity::Addressed);
                self.prepare(Document::parse(json.as_bytes())?, identity, Precondition::Any)?
            }
        };
        let version = version.filter(|version| !version.is_empty());
        let prepared = match &version {
            Some(version) if self.is_text_of_version(&prepared, version)? => prepared,
            Some(_) => prepared.without_own_members()?,
            None => self.without_foreign_members(prepared)?,
        };
        let Prepared { mut write, warnings, must_exist, .. } = prepared;
        write.actor = actor;
        let unconditional = write.precondition;
        let asked = precondition;
        let id = write.id.clone();
        if let Operation::Put { declares, .. } = &mut write.operation {
            *declares = match version {
                Some(version) => {
                    let expected = precondition.take();
                    let version = Some(version);
                    let own = OwnDeclaration { version, expected, is_sole: replaces, ..OwnDeclaration::default() };
                    Declares::Itself(OwnDeclaration { only_related, only_itself_published: true, ..own })
                }
                None => Declares::ByHand { replaces, only_related },
            };
        }
        write.precondition = match (unconditional, precondition) {
            (Precondition::Seq(seq), Some(expected)) => {
                check(&id, expected, Some(seq))?;
                unconditional
            }
            (_, expected) => expected.unwrap_or(unconditional),
        };
        match write.precondition {
            Precondition::Any if must_exist => write.precondition = Precondition::Present,
            Precondition::Absent if must_exist => return Err(Error::AlreadyExists { id }),
            _ => {}
        }
        let was_tracked = self.is_tracked(&id)?;
        let committed = self.commit(vec![write], &commit).await.map_err(|error| match (error, asked) {
            (Error::PreconditionFailed { id, .. }, None) if unconditional == Precondition::Absent => {
                Error::AlreadyExists { id }
            }
            (Error::PreconditionFailed { id, .. }, None) if matches!(unconditional, Precondition::Seq(_)) => {
                Error::Contended { id, attempts: 1 }
            }
            (Error::PreconditionFailed { id, .. }, None) if must_exist => self.removed_meanwhile(id),
            (Error::PreconditionFailed { id, .. }, None) => Error::NotFound { id },
            (error, _) => error,
        })?;
        if was_tracked {
            self.0.network.reschedule(&self.0.store, &id).await;
        }
        Ok(self.written(id, committed, warnings, was_tracked))
    }

    /// Returns the error for a Thing that must exist, but was removed concurrently.
    pub(super) fn removed_meanwhile(&self, id: String) -> Error {
        self.check_new_id(&id).err().unwrap_or(Error::Contended { id, attempts: 1 })
    }

    /// The answer to a write, with the warnings that come of it.
    fn written(&self, id: String, committed: Committed, mut warnings: Vec<Violation>, was_tracked: bool) -> Written {
        let Committed { effect, seq, remarks } = committed;
        warnings.extend((was_tracked && ends_tracking(&id, &remarks)).then(tracking_stopped));
        warnings.extend(self.warnings_of(&id, &remarks));
        Written { id, effect, seq, warnings }
    }

    /// Like [`Registry::write`], for threads that may block. The calling thread commits, which saves a hand-off to
    /// another thread.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::registry::{Effect, Write};
    ///
    /// let renewed = registry.write_blocking(Write::patch("urn:example:weather", "{}"))?;
    /// assert_eq!(renewed.effect, Effect::Unchanged);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Registry::write`].
    pub fn write_blocking(&self, write: Write) -> Result<Written> {
        pollster::block_on(self.write(Write { may_block: true, ..write }))
    }

    /// Creates a Thing like [`Write::register`], and blocks until it is durable. In asynchronous code, use
    /// [`Registry::write`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::Error;
    /// use serde_json::json;
    ///
    /// // What can be fixed is, and told; an LMOS agent without security gets the scheme `auto`.
    /// let agent = json!({
    ///     "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
    ///     "@type": "lmos:Agent", "id": "urn:example:tides", "title": "Tide agent",
    ///     "lmos:capabilities": [{"id": "tide-table"}]
    /// });
    /// let written = registry.register(&agent)?;
    /// assert!(written.warnings.iter().any(|warning| warning.pointer.contains("security")), "{:?}", written.warnings);
    /// assert!(matches!(registry.register(&agent), Err(Error::AlreadyExists { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Registry::write`].
    pub fn register(&self, document: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::register(document))
    }

    /// Creates or replaces a Thing like [`Write::put`], and blocks until the change is durable.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{registry::Effect, td::Description};
    ///
    /// let tides = Description::new("Tide agent").id("urn:example:tides");
    /// let effects = [
    ///     registry.put(tides.clone())?.effect,
    ///     registry.put(tides.clone())?.effect,
    ///     registry.put(tides.version("2.0.0"))?.effect,
    /// ];
    /// assert_eq!(effects, [Effect::Created, Effect::Unchanged, Effect::Updated]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Registry::write`].
    pub fn put(&self, document: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::put(document))
    }

    /// Replaces an existing Thing, and blocks until the change is durable.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{Error, td::Description};
    ///
    /// let tides = Description::new("Tide agent").id("urn:example:tides");
    /// assert!(matches!(registry.replace(tides), Err(Error::NotFound { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if the Thing doesn't exist; otherwise the same as [`Registry::write`].
    pub fn replace(&self, document: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::put(document).when(Precondition::Present)).map_err(|error| match error {
            Error::PreconditionFailed { id, .. } => Error::NotFound { id },
            error => error,
        })
    }

    /// Patches a Thing like [`Write::patch`], and blocks until the change is durable.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// // A merge patch: `null` removes a member.
    /// registry.patch("urn:example:weather", r#"{"description": "Forecasts", "lmos:capabilities": null}"#)?;
    /// let text = registry.find("urn:example:weather")?.expect("it is there").text().to_owned();
    /// assert!(text.contains("Forecasts") && !text.contains("forecast\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Registry::write`].
    pub fn patch(&self, id: &str, patch: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::patch(id, patch))
    }

    /// Removes a Thing like [`Write::remove`], and blocks until the change is durable.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// registry.remove("urn:example:weather")?;
    /// assert!(registry.find("urn:example:weather")?.is_none());
    /// // What happened stays in the log.
    /// assert_eq!(registry.history("urn:example:weather", agentdex::Seq::ZERO, 10)?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Registry::write`].
    pub fn remove(&self, id: &str) -> Result<Written> {
        self.write_blocking(Write::remove(id))
    }

    async fn patch_thing(
        &self,
        id: &str,
        patch: &[u8],
        precondition: Option<Precondition>,
        commit: &Commit,
        actor: Option<String>,
    ) -> Result<Written> {
        let id = td::normalize_id(id)?;
        let patch = Document::parse(patch)?;
        let redaction = Some(self.options().redaction);
        for _ in 0..PATCH_ATTEMPTS {
            let record = self.find_record(&id)?;
            let record = match (record, precondition) {
                (Some(record), _) => record,
                (None, None) => return Err(Error::NotFound { id: id.into() }),
                (None, Some(expected)) => {
                    return Err(Error::PreconditionFailed { id: id.into(), expected, found: None });
                }
            };
            if let Some(expected) = precondition {
                check(&id, expected, Some(record.seq))?;
            }
            let prepared = self.without_foreign_members(self.prepare_patch(&record, &patch, redaction)?)?;
            let Prepared { mut write, warnings, .. } = prepared;
            write.actor = actor.clone();
            let was_tracked = self.is_tracked(&id)?;
            match self.commit(vec![write], commit).await {
                Ok(committed) => {
                    if was_tracked {
                        self.0.network.reschedule(&self.0.store, &id).await;
                    }
                    return Ok(self.written(id.into(), committed, warnings, was_tracked));
                }
                Err(Error::PreconditionFailed { .. }) if precondition.is_none() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended { id: id.into(), attempts: PATCH_ATTEMPTS })
    }

    /// Removes a Thing, or a version of it. Parts of its document go with their last declaration.
    async fn remove_thing(
        &self,
        (id, version): (&str, Option<String>),
        precondition: Option<Precondition>,
        commit: &Commit,
        actor: Option<String>,
    ) -> Result<Written> {
        let id = self.stored_id(id)?.into_owned();
        let was_tracked = self.is_tracked(&id)?;
        if self.find_record(&id)?.is_none() && !self.sees(&id) {
            return Err(Error::NotFound { id });
        }
        let (operation, expected) = match version {
            // It would be the whole Thing.
            Some(version) if version.is_empty() => return Err(Error::NoSuchVersion { id, version }),
            Some(version) => (Operation::RemoveVersion { version, expected: precondition }, Precondition::Present),
            None => (Operation::Remove(DeletionReason::Removed), precondition.unwrap_or(Precondition::Present)),
        };
        let removal = store::Write { id: id.clone(), precondition: expected, operation, actor };
        let committed = self.commit(vec![removal], commit).await.map_err(|error| match error {
            Error::PreconditionFailed { id, .. } if precondition.is_none() => Error::NotFound { id },
            error => error,
        })?;
        if was_tracked {
            self.0.network.reschedule(&self.0.store, &id).await;
        }
        let written = self.written(id, committed, Vec::new(), false);
        if let (Some(parts), false) = (written.warnings.first(), commit.dry_run) {
            tracing::info!(id = written.id, "{}", parts.message);
        }
        Ok(written)
    }

    /// Changes the owner and visibility of a Thing, and of the parts of its document.
    async fn change_access(
        &self,
        id: &str,
        precondition: Option<Precondition>,
        commit: Commit,
        actor: Option<String>,
    ) -> Result<Written> {
        let id = self.stored_id(id)?.into_owned();
        if self.find_record(&id)?.is_none() {
            return Err(Error::NotFound { id });
        }
        let expected = precondition.unwrap_or(Precondition::Present);
        let write = store::Write { id: id.clone(), precondition: expected, operation: Operation::Access, actor };
        let committed = self.commit(vec![write], &commit).await?;
        Ok(self.written(id, committed, Vec::new(), false))
    }
}

fn new_id() -> String {
    format!("urn:uuid:{}", Uuid::new_v4())
}
