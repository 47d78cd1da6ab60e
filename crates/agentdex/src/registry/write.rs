//! What is asked of a registry that changes it, with what must hold for it; patches are computed again when other
//! writers are faster.

use uuid::Uuid;

use agentdex_api::Effect;

use super::{
    Registry,
    commit::{Commit, check, tracking_stopped},
    parts,
    prepare::Prepared,
};
use crate::{
    Error, Result,
    access::{Access, AccessRequest},
    change::{DeletionReason, Precondition, Seq},
    store::{self, Author, Operation},
    td::{self, Document, Identity, Json, Violation},
};

/// How often a merge patch is computed again when other writers are faster.
const PATCH_ATTEMPTS: u32 = 5;

/// Something to write, with what must hold for it.
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
    /// Whether the thread that writes may block, and so commit itself.
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
    /// Creates a Thing whose document has no id; it gets `urn:uuid:<v4>`.
    pub fn create(document: impl Into<Json>) -> Write {
        Write::from(Verb::Create { json: document.into() })
    }

    /// Creates a Thing, and refuses one whose id is taken ([`Error::AlreadyExists`]). A document
    /// without an id gets one.
    pub fn register(document: impl Into<Json>) -> Write {
        Write::from(Verb::Register { json: document.into() })
    }

    /// Creates or replaces the Thing with the id that the document has. A description that changes by
    /// hand, by this or a patch, is no longer what an original says: the original of an import is dropped.
    pub fn put(document: impl Into<Json>) -> Write {
        Write::from(Verb::Put { id: None, json: document.into() })
    }

    /// Creates or replaces the Thing `id`; the document must have that id.
    pub fn put_at(id: impl Into<String>, document: impl Into<Json>) -> Write {
        Write::from(Verb::Put { id: Some(id.into()), json: document.into() })
    }

    /// Changes a Thing by an RFC 7396 merge patch; `{}` renews its expiry.
    pub fn patch(id: impl Into<String>, patch: impl Into<Json>) -> Write {
        Write::from(Verb::Patch { id: id.into(), patch: patch.into() })
    }

    /// Removes a Thing, and with it those of parts of its document (`agentdex:partOf`), which a warning names.
    pub fn remove(id: impl Into<String>) -> Write {
        Write::from(Verb::Remove { id: id.into() })
    }

    /// Changes whose a Thing is, and who sees it.
    pub fn access(id: impl Into<String>, access: AccessRequest) -> Write {
        Write { access, ..Write::from(Verb::Access { id: id.into() }) }
    }

    /// Asks for an access to the Thing that is put.
    pub fn with_access(mut self, access: AccessRequest) -> Write {
        self.access = access;
        self
    }

    /// Writes only if this holds ([`Error::PreconditionFailed`]).
    pub fn when(mut self, precondition: Precondition) -> Write {
        self.precondition = Some(precondition);
        self
    }

    /// Checks everything and writes nothing.
    pub fn dry_run(mut self, dry_run: bool) -> Write {
        self.dry_run = dry_run;
        self
    }

    /// Notes who writes in the change.
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
            may_block: false,
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The Thing.
    pub id: String,
    /// What was done.
    pub effect: Effect,
    /// The last change of the Thing; in a dry run the one it has.
    pub seq: Seq,
    /// What was fixed or is odd.
    pub warnings: Vec<Violation>,
}

impl Registry {
    /// Writes, and is done when that is durable.
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
    /// What is wrong with the document: [`Error::MalformedJson`], [`Error::LimitExceeded`],
    /// [`Error::Invalid`], [`Error::InvalidPatch`], [`Error::InvalidId`], [`Error::MissingId`],
    /// [`Error::UnexpectedId`], [`Error::IdMismatch`]. What is there already or isn't:
    /// [`Error::AlreadyExists`], [`Error::NotFound`], [`Error::PreconditionFailed`],
    /// [`Error::Contended`]. The store: [`Error::WritesClosed`], [`Error::ShuttingDown`], [`Error::Store`].
    pub async fn write(&self, write: Write) -> Result<Written> {
        let Write { verb, precondition, dry_run, actor, access, may_block } = write;
        let commit = Commit { dry_run, may_block, author: self.author(access)? };
        let prepared = match verb {
            Verb::Patch { id, patch } => {
                return self.patch_thing(&id, patch.as_bytes(), precondition, &commit, actor).await;
            }
            Verb::Remove { id } => return self.remove_thing(&id, precondition, &commit, actor).await,
            Verb::Access { id } => return self.change_access(&id, precondition, commit, actor).await,
            Verb::Create { json } => {
                self.prepare(Document::parse(json.as_bytes())?, Identity::Assigned(&new_id()), Precondition::Absent)?
            }
            Verb::Register { json } => {
                let document = Document::parse(json.as_bytes())?;
                let new_id = document.value().get("id").is_none().then(new_id);
                let identity = new_id.as_deref().map_or(Identity::Own, Identity::Assigned);
                self.prepare(document, identity, Precondition::Absent)?
            }
            Verb::Put { id, json } => {
                let id = id.as_deref().map(td::normalize_id).transpose()?;
                let identity = id.as_deref().map_or(Identity::Own, Identity::Addressed);
                self.prepare(Document::parse(json.as_bytes())?, identity, Precondition::Any)?
            }
        };
        let Prepared { mut write, mut warnings, .. } = self.without_foreign_members(prepared)?;
        write.actor = actor;
        let unconditional = write.precondition;
        let id = write.id.clone();
        write.precondition = match (unconditional, precondition) {
            (Precondition::Seq(seq), Some(expected)) => {
                check(&id, expected, Some(seq))?;
                unconditional
            }
            (_, expected) => expected.unwrap_or(unconditional),
        };
        let was_tracked = self.is_tracked(&id)?;
        let (effect, seq) =
            self.commit_with_parts(write, &commit).await.map_err(|error| match (error, precondition) {
                (Error::PreconditionFailed { id, .. }, None) if unconditional == Precondition::Absent => {
                    Error::AlreadyExists { id }
                }
                (Error::PreconditionFailed { id, .. }, None) if matches!(unconditional, Precondition::Seq(_)) => {
                    Error::Contended { id, attempts: 1 }
                }
                (Error::PreconditionFailed { id, .. }, None) => Error::NotFound { id },
                (error, _) => error,
            })?;
        if was_tracked {
            self.0.network.reschedule(&self.0.store, &id).await;
        }
        warnings.extend(tracking_stopped(was_tracked, effect));
        Ok(Written { id, effect, seq, warnings })
    }

    /// [`Registry::write`] for threads that may block: such a thread commits itself, which saves the hand-off
    /// to another one and back.
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
    /// As [`Registry::write`].
    pub fn write_blocking(&self, write: Write) -> Result<Written> {
        pollster::block_on(self.write(Write { may_block: true, ..write }))
    }

    /// [`Write::register`], waiting until it is durable. Blocks: in asynchronous code use [`Registry::write`].
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
    /// As [`Registry::write`].
    pub fn register(&self, document: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::register(document))
    }

    /// [`Write::put`], waiting until it is durable. Blocks.
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
    /// As [`Registry::write`].
    pub fn put(&self, document: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::put(document))
    }

    /// Replaces a Thing that is there, waiting until that is durable. Blocks.
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
    /// [`Error::NotFound`], else as [`Registry::write`].
    pub fn replace(&self, document: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::put(document).when(Precondition::Present)).map_err(|error| match error {
            Error::PreconditionFailed { id, .. } => Error::NotFound { id },
            error => error,
        })
    }

    /// [`Write::patch`], waiting until it is durable. Blocks.
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
    /// As [`Registry::write`].
    pub fn patch(&self, id: &str, patch: impl Into<Json>) -> Result<Written> {
        self.write_blocking(Write::patch(id, patch))
    }

    /// [`Write::remove`], waiting until it is durable. Blocks.
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
    /// As [`Registry::write`].
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
            let prepared = self.without_foreign_members(self.prepare_patch(&record, &patch)?)?;
            let Prepared { mut write, mut warnings, .. } = prepared;
            write.actor = actor.clone();
            let was_tracked = self.is_tracked(&id)?;
            match self.commit_with_parts(write, commit).await {
                Ok((effect, seq)) => {
                    if was_tracked {
                        self.0.network.reschedule(&self.0.store, &id).await;
                    }
                    warnings.extend(tracking_stopped(was_tracked, effect));
                    return Ok(Written { id: id.into(), effect, seq, warnings });
                }
                Err(Error::PreconditionFailed { .. }) if precondition.is_none() => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended { id: id.into(), attempts: PATCH_ATTEMPTS })
    }

    /// Removes a Thing, and in the same batch the Things of parts of its document.
    async fn remove_thing(
        &self,
        id: &str,
        precondition: Option<Precondition>,
        commit: &Commit,
        actor: Option<String>,
    ) -> Result<Written> {
        let id = td::normalize_id(id)?.into_owned();
        let was_tracked = self.is_tracked(&id)?;
        for _ in 0..PATCH_ATTEMPTS {
            let record = self.find_record(&id)?;
            if record.is_none() && !self.sees(&id) {
                return Err(Error::NotFound { id });
            }
            let parts = record.as_ref().map(|record| parts::removals(&self.0.store, record, |_| false));
            let parts = parts.transpose()?.unwrap_or_default();
            let mut expected = precondition.unwrap_or(Precondition::Present);
            if let (Some(record), false) = (&record, parts.is_empty()) {
                // Another description may have other parts.
                check(&id, expected, Some(record.seq))?;
                expected = Precondition::Seq(record.seq);
            }
            let warnings: Vec<Violation> = parts::removed_with_owner(&parts).into_iter().collect();
            let operation = Operation::Remove(DeletionReason::Removed);
            let removal = store::Write { id: id.clone(), precondition: expected, operation, actor: None };
            let has_parts = !parts.is_empty();
            let mut writes = [vec![removal], parts].concat();
            writes.iter_mut().for_each(|write| write.actor = actor.clone());
            match self.commit(writes, commit).await {
                Ok((effect, seq)) => {
                    if was_tracked {
                        self.0.network.reschedule(&self.0.store, &id).await;
                    }
                    if let (Some(parts), false) = (warnings.first(), commit.dry_run) {
                        tracing::info!(id, "{}", parts.message);
                    }
                    return Ok(Written { id, effect, seq, warnings });
                }
                Err(Error::PreconditionFailed { .. }) if has_parts => {}
                Err(Error::PreconditionFailed { id, .. }) if precondition.is_none() => {
                    return Err(Error::NotFound { id });
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended { id, attempts: PATCH_ATTEMPTS })
    }

    /// Changes whose a Thing is, and who sees it, and in the same batch that of the Things of parts of its document.
    async fn change_access(
        &self,
        id: &str,
        precondition: Option<Precondition>,
        commit: Commit,
        actor: Option<String>,
    ) -> Result<Written> {
        let id = td::normalize_id(id)?.into_owned();
        if self.find_record(&id)?.is_none() {
            return Err(Error::NotFound { id });
        }
        let expected = precondition.unwrap_or(Precondition::Present);
        let write = store::Write { id: id.clone(), precondition: expected, operation: Operation::Access, actor };
        let (effect, seq) = self.commit_with_parts(write, &commit).await?;
        Ok(Written { id, effect, seq, warnings: Vec::new() })
    }

    /// Commits the write of a Thing, and where it asks for an access, in the same batch that the Things of parts of its
    /// document have that access too.
    async fn commit_with_parts(&self, write: store::Write, commit: &Commit) -> Result<(Effect, Seq)> {
        let asked = &commit.author.access;
        if *asked == AccessRequest::default() || !matches!(write.operation, Operation::Put { .. } | Operation::Access) {
            return self.commit(vec![write], commit).await;
        }
        for _ in 0..PATCH_ATTEMPTS {
            let record = self.0.store.find(&write.id)?;
            let parts = record.as_ref().map(|record| parts::changes_of_access(&self.0.store, record)).transpose()?;
            let (Some(record), Some(parts)) = (record, parts.filter(|parts| !parts.is_empty())) else {
                return self.commit(vec![write], commit).await;
            };
            // Another description may have other parts, and parts get the access that the document has then.
            check(&write.id, write.precondition, Some(record.seq))?;
            let Access { owner, visibility, namespace, number } = asked.applied_to(&record.access);
            let access = AccessRequest { owner, visibility: Some(visibility), namespace: Some(namespace), number };
            let author = Author { access, ..commit.author.clone() };
            let first = store::Write { precondition: Precondition::Seq(record.seq), ..write.clone() };
            let parts = parts.into_iter().map(|part| store::Write { actor: write.actor.clone(), ..part });
            let writes = std::iter::once(first).chain(parts).collect();
            match self.commit(writes, &Commit { author, ..*commit }).await {
                Err(Error::PreconditionFailed { .. }) => {}
                committed => return committed,
            }
        }
        Err(Error::Contended { id: write.id, attempts: PATCH_ATTEMPTS })
    }
}

fn new_id() -> String {
    format!("urn:uuid:{}", Uuid::new_v4())
}
