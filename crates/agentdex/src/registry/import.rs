//! Import of converted documents: all Things of a document are registered in a single transaction.

use std::{borrow::Cow, collections::HashSet, sync::atomic::Ordering};

use agentdex_api::Effect;

use super::{
    Registry,
    commit::tracking_stopped,
    import_options, own_members,
    prepare::Prepared,
    remarks::named,
    returned::{Recognized, ReturnedThing},
    server_namespaces::is_server,
    write::{Write, Written},
};
use crate::{
    Error, Result,
    access::AccessRequest,
    change::Precondition,
    convert::{Conversion, ConvertedThing, Format, ImportOptions, Source, verification::Verification},
    store::{self, Declares, Expiry, Operation, Original, OwnDeclaration, Record, Remark},
    td::{self, Admission, Document, Identity, Report, Violation},
};

/// Rule for Things that already exist. Things that are declared by other documents, and parts that were registered on
/// their own, are never changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IfExists {
    /// Replaces an existing Thing if it shares its title, description, a capability, or an address with the new
    /// description. Otherwise, nothing is imported ([`Error::Unrelated`]).
    #[default]
    ReplaceRelated,
    /// Replaces existing Things.
    Replace,
    /// Imports nothing if any of the Things already exists ([`Error::AlreadyExists`]).
    Refuse,
}

/// Maximum number of attempts to write edits of an export.
const RETURN_ATTEMPTS: u32 = 5;

/// Maximum number of attempts to import a server whose metadata changes concurrently.
const METADATA_ATTEMPTS: u32 = 20;

/// Registration of the Things of a converted document.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let registry = agentdex::Registry::open(directory.path())?;
/// use agentdex::{
///     Error,
///     convert::{Syntax, agent_spec::{Configuration, Options}},
///     registry::{IfExists, Import},
/// };
///
/// let text = br#"{
///     "component_type": "RemoteTool", "agentspec_version": "25.4.1", "id": "clock", "name": "clock",
///     "url": "https://tools.example/time", "http_method": "GET",
///     "data": {}, "query_params": {}, "headers": {}, "inputs": [], "outputs": []
/// }"#;
/// let conversion = Configuration::parse(text, Syntax::Json, &[])?.to_things(&Options::default())?;
/// let import = Import::new(conversion).if_exists(IfExists::Refuse);
/// let tried = registry.import_blocking(import.clone().dry_run(true))?;
/// assert_eq!((tried.things.len(), registry.len()), (1, 0));
///
/// registry.import_blocking(import.clone())?;
/// assert!(matches!(registry.import_blocking(import), Err(Error::AlreadyExists { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "an import does nothing until Registry::import takes it"]
pub struct Import {
    conversion: Conversion,
    if_exists: IfExists,
    replace: bool,
    ttl: Option<u64>,
    dry_run: bool,
    actor: Option<String>,
    access: AccessRequest,
    verification: Option<Verification>,
    /// Precondition on the version of the document.
    expected: Option<Precondition>,
    /// Expiry of the first Thing if it stays as it is.
    expiry: Option<Expiry>,
}

impl Import {
    /// Creates an import of all Things of a conversion.
    pub fn new(conversion: Conversion) -> Import {
        Import {
            conversion,
            if_exists: IfExists::default(),
            replace: false,
            ttl: None,
            dry_run: false,
            actor: None,
            access: AccessRequest::default(),
            verification: None,
            expected: None,
            expiry: None,
        }
    }

    /// Sets the rule for Things that already exist.
    pub fn if_exists(mut self, if_exists: IfExists) -> Import {
        self.if_exists = if_exists;
        self
    }

    /// Permits the import to drop content of the Thing: an original in another format, affordances, forms, security
    /// definitions, other members, other versions, edits, and the options of its import. By default, an import that
    /// would drop any of these fails with [`Error::LossyImport`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{
    ///     Error,
    ///     convert::{Format, ImportOptions, Input},
    ///     registry::{IfExists, Import},
    /// };
    ///
    /// let of = |format: Format, document: &[u8]| -> agentdex::Result<Import> {
    ///     let import = format.import().expect("it is converted");
    ///     Ok(Import::new(import.to_things(&Input::json(document), &ImportOptions::default())?))
    /// };
    /// let server = br#"{"name": "com.example/clock", "description": "Clock", "version": "1.0.0",
    ///     "remotes": [{"type": "streamable-http", "url": "https://clock.example/mcp"}]}"#;
    /// let id = registry.import_blocking(of(Format::McpServer, server)?)?.things.remove(0).id;
    /// // Its export says less, too, but is known to be that, and changes nothing.
    /// let file = registry.export(&id, Format::LmosCapabilities, None)?;
    /// registry.import_blocking(of(Format::LmosCapabilities, &file.bytes)?)?;
    /// let file = format!(r#"{{"id": "{id}", "capabilities": [{{"name": "time", "version": "2.0.0"}}]}}"#);
    /// let import = of(Format::LmosCapabilities, file.as_bytes())?.if_exists(IfExists::Replace);
    /// assert!(matches!(registry.import_blocking(import.clone()), Err(Error::LossyImport { .. })));
    /// registry.import_blocking(import.replace(true))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace(mut self, replace: bool) -> Import {
        self.replace = replace;
        self
    }

    /// Sets the time to live of the Things, in seconds after their last renewal. If `None`, the document or the
    /// registry determines it.
    pub fn ttl(mut self, seconds: Option<u64>) -> Import {
        self.ttl = seconds;
        self
    }

    /// Performs all checks without writing.
    pub fn dry_run(mut self, dry_run: bool) -> Import {
        self.dry_run = dry_run;
        self
    }

    /// Sets the access of the Things.
    pub fn with_access(mut self, access: AccessRequest) -> Import {
        self.access = access;
        self
    }

    /// Sets a precondition on the version of the document. If it doesn't hold, nothing is imported
    /// ([`Error::PreconditionFailed`]). With [`Precondition::Absent`], an import can add a version, but not replace an
    /// existing version.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{
    ///     Error, Precondition,
    ///     convert::{Format, ImportOptions, Input},
    ///     registry::Import,
    /// };
    ///
    /// let of = |version: &str| -> agentdex::Result<Import> {
    ///     let server = format!(r#"{{"name": "com.example/clock", "description": "Clock", "version": "{version}",
    ///         "remotes": [{{"type": "streamable-http", "url": "https://clock.example/mcp"}}]}}"#);
    ///     let import = Format::McpServer.import().expect("it is converted");
    ///     let conversion = import.to_things(&Input::json(server.as_bytes()), &ImportOptions::default())?;
    ///     Ok(Import::new(conversion).when_version(Precondition::Absent))
    /// };
    /// registry.import_blocking(of("1.0.0")?)?;
    /// registry.import_blocking(of("1.1.0")?)?;
    /// assert!(matches!(registry.import_blocking(of("1.1.0")?), Err(Error::PreconditionFailed { .. })));
    /// assert_eq!(registry.versions("urn:agentdex:mcp:com.example/clock")?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn when_version(mut self, expected: Precondition) -> Import {
        self.expected = Some(expected);
        self
    }

    /// Sets the author recorded in the changes.
    pub fn actor(mut self, actor: Option<String>) -> Import {
        self.actor = actor;
        self
    }
}

impl Import {
    /// Adds the result of a signature check to the first Thing, as `agentdex:signature`. A check with the same result
    /// as the previous check changes nothing.
    pub fn signed(mut self, verification: Option<Verification>) -> Import {
        self.verification = verification;
        self
    }
}

/// Result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Results for all Things. The Thing of the document itself comes first. Removed Things, which only an earlier
    /// version of the document contained, come last.
    pub things: Vec<Written>,
    /// Warnings about the document, and about content that was lost. Pointers refer to the document.
    pub warnings: Vec<Violation>,
    /// With [`Import::dry_run`], the descriptions that the import would store.
    pub descriptions: Vec<String>,
}

impl Imported {
    /// Returns the ids of the Things on which the import had this effect.
    pub fn ids_with(&self, effect: Effect) -> impl Iterator<Item = &str> {
        self.things.iter().filter(move |thing| thing.effect == effect).map(|thing| thing.id.as_str())
    }
}

impl Registry {
    /// Registers all Things of a converted document with their originals, in a single transaction, and returns once the
    /// transaction is durable. Unchanged Things cause no change.
    ///
    /// An unchanged export of the Thing in a format other than that of its original causes no change either. An edit of
    /// such an export is an edit of the Thing, unless [`Import::replace`] is set. Things of parts that the document no
    /// longer contains are removed; the warning `parts-removed` names them.
    ///
    /// ```
    /// use agentdex::{
    ///     convert::{Syntax, agent_spec::{Configuration, Options}},
    ///     registry::{Effect, Import},
    /// };
    ///
    /// # let directory = std::env::temp_dir().join(format!("agentdex-import-{}", std::process::id()));
    /// # let registry = agentdex::Registry::builder(&directory).open()?;
    /// let text = br#"{
    ///     "component_type": "RemoteTool", "agentspec_version": "25.4.1", "id": "clock", "name": "clock",
    ///     "url": "https://tools.example/time", "http_method": "GET",
    ///     "data": {}, "query_params": {}, "headers": {}, "inputs": [], "outputs": []
    /// }"#;
    /// let conversion = Configuration::parse(text, Syntax::Json, &[])?.to_things(&Options::default())?;
    /// let imported = registry.import_blocking(Import::new(conversion))?;
    /// assert_eq!(imported.things[0].effect, Effect::Created);
    /// assert_eq!(imported.things[0].id, "urn:agentspec:local:clock");
    /// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] with [`IfExists::Refuse`]; [`Error::LossyImport`] unless [`Import::replace`] permits
    /// it; [`Error::InvalidSource`] if two of the Things have the same id; otherwise those of [`Registry::write`].
    pub async fn import(&self, import: Import) -> Result<Imported> {
        let is_conditional = import.if_exists == IfExists::Refuse || import.expected.is_some();
        if import.replace || is_conditional || !is_server(&import.conversion.things) {
            return self.import_or_edit(import, is_conditional).await;
        }
        for _ in 0..METADATA_ATTEMPTS {
            match self.import_or_edit(self.with_server_metadata(import.clone())?, false).await {
                // Its status was set in the meantime.
                Err(Error::PreconditionFailed { .. }) => {}
                outcome => return outcome,
            }
        }
        let id = import.conversion.things.into_iter().next().map(|thing| thing.id).unwrap_or_default();
        Err(Error::Contended { id, attempts: METADATA_ATTEMPTS })
    }

    /// Returns an import that keeps this registry's metadata of the server.
    fn with_server_metadata(&self, mut import: Import) -> Result<Import> {
        let Conversion { things, options, .. } = &mut import.conversion;
        let kept = self.keep_server_metadata(things, options)?;
        import.expected = kept.map(Precondition::Seq);
        Ok(import)
    }

    /// Imports a document, or writes the edits of an export.
    async fn import_or_edit(&self, import: Import, is_conditional: bool) -> Result<Imported> {
        let mut inexpressible = Vec::new();
        for _ in 0..RETURN_ATTEMPTS {
            if import.replace || is_conditional {
                break;
            }
            let returned = match self.returned(&import.conversion) {
                // It was removed in the meantime.
                Err(Error::NotFound { .. }) => continue,
                Err(error) => return Err(error),
                Ok(Recognized::Export(returned)) => returned,
                Ok(Recognized::Inexpressible(edits)) => {
                    inexpressible = edits;
                    break;
                }
                Ok(Recognized::Other) => break,
            };
            match self.write_returned(&import, returned).await {
                // Somebody else was faster: what is there now may be something else.
                Err(Error::PreconditionFailed { .. }) => {}
                outcome => return outcome,
            }
        }
        self.import_and_reschedule(import, |_| Ok(None)).await.map_err(|error| match error {
            Error::LossyImport { id, format, original, losses, .. } => {
                Error::LossyImport { id, format, original, losses, edits: inexpressible }
            }
            error => error,
        })
    }

    /// Like [`Registry::import`], but imports an unchanged document as well, and keeps its expiry and the tracking of its source.
    /// For changes of the registry's metadata about a document.
    ///
    /// # Errors
    /// Same as [`Registry::import`].
    pub(super) async fn import_again(&self, mut import: Import) -> Result<Imported> {
        if let Some(first) = import.conversion.things.first() {
            import.expiry = self.0.store.find(&td::normalize_id(&first.id)?)?.map(|record| record.expiry);
        }
        self.import_and_reschedule(import, |id| self.0.store.metadata(id)).await
    }

    async fn import_and_reschedule(
        &self,
        import: Import,
        note: impl FnOnce(&str) -> Result<Option<Vec<u8>>>,
    ) -> Result<Imported> {
        let imported = self.import_with_metadata(import, note).await?;
        for thing in imported.things.iter().filter(|_| self.0.has_tracked_sources.load(Ordering::Relaxed)) {
            self.0.network.reschedule(&self.0.store, &thing.id).await;
        }
        Ok(imported)
    }

    /// Like [`Registry::import`], for threads that may block.
    ///
    /// # Errors
    /// Same as [`Registry::import`].
    pub fn import_blocking(&self, import: Import) -> Result<Imported> {
        pollster::block_on(self.import(import))
    }

    async fn write_returned(&self, import: &Import, returned: ReturnedThing) -> Result<Imported> {
        let ReturnedThing { id, seq, text, warning } = returned;
        let text = match import.ttl {
            Some(ttl) => td::merge_patch::apply(&text, &serde_json::json!({"registration": {"ttl": ttl}}).to_string())?,
            None => text,
        };
        let stored = |text: &str| self.options().redaction.stored_text(&Document::parse(text.as_bytes())?);
        let descriptions = if import.dry_run { vec![stored(&text)?] } else { Vec::new() };
        let write = Write::put_at(&id, text).when(Precondition::Seq(seq)).dry_run(import.dry_run);
        let write = write.actor(import.actor.clone()).with_access(import.access.clone());
        let written = self.write(write).await?;
        let mut warnings = import.conversion.warnings.clone();
        if written.effect == Effect::Unchanged {
            // Of what changes nothing, nothing is odd but an edit that was left out.
            warnings.retain(|warning| warning.rule == "not-in-description");
        }
        warnings.extend(warning);
        Ok(Imported { things: vec![written], warnings, descriptions })
    }

    /// Imports with metadata for the first Thing. `note` returns the metadata, given the Thing's id.
    pub(super) async fn import_with_metadata(
        &self,
        import: Import,
        note: impl FnOnce(&str) -> Result<Option<Vec<u8>>>,
    ) -> Result<Imported> {
        let verification = import.verification;
        let Import {
            conversion: Conversion { mut things, warnings, options },
            if_exists,
            replace,
            ttl,
            dry_run,
            actor,
            access,
            expected,
            expiry,
            ..
        } = import;
        refuse_repeated_ids(&things)?;
        let shared_address = match things.first() {
            Some(first) => self.shared_address(first, &options)?,
            None => None,
        };
        let claims = leave_out_own_members(&mut things)?;
        if !replace && expected.is_none() {
            self.keep_server_metadata(&mut things, &options)?;
        }
        self.add_signature(&mut things, verification.as_ref())?;
        let (mut writes, mut prepared): (Vec<store::Write>, _) = (Vec::new(), Vec::new());
        let mut declared = Declared::of(&things, replace)?.only_lossless(!replace).expecting(expected);
        for (thing, claim) in things.into_iter().zip(claims) {
            let Prepared { mut write, mut warnings, .. } =
                self.prepare_import(thing, &options, if_exists, ttl, None, declared.next(if_exists))?;
            write.actor = actor.clone();
            warnings.extend(claim);
            warnings.extend(self.signature_lost(&write)?);
            prepared.push((write.id.clone(), warnings, self.is_tracked(&write.id)?));
            writes.push(write);
        }
        if let (Some(kept), Some(Operation::Put { expiry, .. })) =
            (expiry, writes.first_mut().map(|write| &mut write.operation))
        {
            *expiry = kept;
        }
        let mut noted = None;
        if let Some((id, _, was_tracked)) = prepared.first_mut()
            && let Some(note) = note(id)?
        {
            let (id, operation) = (id.clone(), Operation::Metadata(Some(note)));
            noted = Some(store::Write { id, precondition: Precondition::Present, operation, actor: None });
            // It stays tracked, if it was.
            *was_tracked = false;
        }
        let texts = writes.iter().filter_map(|write| match &write.operation {
            Operation::Put { text, .. } if dry_run => Some(text.clone()),
            _ => None,
        });
        let descriptions = texts.collect();
        let parts = declared.parts(actor);
        let batch = writes.into_iter().chain(noted).chain(parts).collect();
        let (effects, remarks) =
            self.commit_all(batch, self.author(access)?, dry_run).await.map_err(|error| match error {
                Error::PreconditionFailed { id, .. } if if_exists == IfExists::Refuse => Error::AlreadyExists { id },
                Error::PreconditionFailed { id, .. } if expected.is_none() => self.removed_meanwhile(id),
                error => error,
            })?;
        let (removed, remarks): (Vec<Remark>, Vec<Remark>) =
            remarks.into_iter().partition(|remark| matches!(remark, Remark::PartRemoved(..)));
        if let Some((_, warnings, _)) = prepared.first_mut() {
            warnings.extend(shared_address);
        }
        let mut things = Vec::new();
        for ((id, mut warnings, was_tracked), (effect, seq)) in prepared.into_iter().zip(effects) {
            warnings.extend((was_tracked && effect == Effect::Updated).then(tracking_stopped));
            warnings.extend(match things.is_empty() {
                true => self.warnings_of(&id, &remarks),
                false => self.own_warnings_of(&id, &remarks),
            });
            things.push(Written { id, effect, seq, warnings });
        }
        let gone = removed.into_iter().filter_map(|remark| match remark {
            Remark::PartRemoved(id, seq) => Some(Written { id, effect: Effect::Removed, seq, warnings: Vec::new() }),
            _ => None,
        });
        let gone: Vec<Written> = gone.collect();
        let ids: Vec<&str> = gone.iter().map(|part| part.id.as_str()).collect();
        things.iter_mut().take(1).for_each(|document| document.warnings.extend(removed_by_import(&ids)));
        things.extend(gone);
        Ok(Imported { things, warnings, descriptions })
    }

    /// Adds the result of verifying the card's signature to the first Thing, which is that of the card.
    pub(super) fn add_signature(&self, things: &mut [ConvertedThing], found: Option<&Verification>) -> Result<()> {
        if let (Some(found), Some(first)) = (found, things.first_mut()) {
            let record = self.0.store.find(&td::normalize_id(&first.id)?)?;
            let before = record.map(|record| self.unedited(&record)).transpose()?;
            let marked = own_members::with_signature(first.description.text(), before.as_deref(), found)?;
            first.description = Document::parse(marked.as_bytes())?;
        }
        Ok(())
    }

    /// Returns the text of a record without edits.
    pub(super) fn unedited(&self, record: &Record) -> Result<String> {
        if !record.is_edited {
            return Ok(record.text.clone());
        }
        let declared = self.0.store.declared(&record.id)?;
        let text = declared.and_then(|declared| declared.declarations.into_iter().next()).map(|(_, text, _)| text);
        Ok(text.unwrap_or_else(|| record.text.clone()))
    }

    fn signature_lost(&self, write: &store::Write) -> Result<Option<Violation>> {
        let Operation::Put { text, .. } = &write.operation else { return Ok(None) };
        let before = self.0.store.find(&write.id)?;
        Ok(before.and_then(|before| own_members::lost(&before.text, text)))
    }

    pub(super) fn prepare_import(
        &self,
        thing: ConvertedThing,
        options: &ImportOptions,
        if_exists: IfExists,
        ttl: Option<u64>,
        before: Option<Expiry>,
        says: Declares,
    ) -> Result<Prepared> {
        let mut admission: Admission = td::admit(thing.description, Identity::Own, self.options().strictness)?;
        let must_exist = self.check_new_id(admission.thing.id())?;
        admission.registration.ttl = ttl.or(admission.registration.ttl);
        let precondition = match if_exists {
            IfExists::Refuse if must_exist => return Err(Error::AlreadyExists { id: admission.thing.id().to_owned() }),
            IfExists::Refuse => Precondition::Absent,
            IfExists::ReplaceRelated | IfExists::Replace if must_exist => Precondition::Present,
            IfExists::ReplaceRelated | IfExists::Replace => Precondition::Any,
        };
        let mut prepared = self.prepare_put(admission, before, precondition);
        if let Operation::Put { original, declares, .. } = &mut prepared.write.operation {
            // A part is imported again with its document.
            let options =
                if matches!(says, Declares::Itself(_)) { import_options::stored(options) } else { String::new() };
            *declares = says;
            let Source { format, media_type, bytes } = thing.source;
            *original = Some(Original { format: format.name().to_owned(), media_type, bytes, options });
        }
        Ok(prepared)
    }
}

/// Removes the members that only the registry sets from descriptions, and warns of each.
pub(super) fn leave_out_own_members(things: &mut [ConvertedThing]) -> Result<Vec<Option<Violation>>> {
    let leave_out = |thing: &mut ConvertedThing| {
        if !own_members::are_in(thing.description.value()) {
            return Ok(None);
        }
        let (description, warning) = own_members::leave_out(thing.description.text())?;
        thing.description = Document::parse(description.as_bytes())?;
        Ok(Some(warning))
    };
    things.iter_mut().map(leave_out).collect()
}

/// Declarations of the Things of a document, in order: the first is that of the document itself, the others are those
/// of its parts.
pub(super) struct Declared {
    document: String,
    version: Option<String>,
    /// True if this becomes the only version of the document.
    is_sole: bool,
    parts: Vec<String>,
    /// True to refuse a document in another format that would drop content of its Thing.
    only_lossless: bool,
    /// Precondition on the version of the document.
    expected: Option<Precondition>,
    /// Number of declarations already taken.
    taken: usize,
}

impl Declared {
    /// Creates the declarations for the Things of a document. `is_sole` is true if all other versions are replaced.
    pub(super) fn of(things: &[ConvertedThing], is_sole: bool) -> Result<Declared> {
        let ids = things.iter().map(|thing| td::normalize_id(&thing.id).map(Cow::into_owned));
        let mut parts = ids.collect::<td::Result<Vec<String>>>()?;
        let document = if parts.is_empty() { String::new() } else { parts.remove(0) };
        let instance = |thing: &ConvertedThing| {
            thing.description.value().get("version")?.get("instance")?.as_str().map(str::to_owned)
        };
        let version = things.first().and_then(instance).filter(|_| !is_sole);
        Ok(Declared { document, version, is_sole, parts, only_lossless: true, expected: None, taken: 0 })
    }

    fn only_lossless(self, only_lossless: bool) -> Declared {
        Declared { only_lossless, ..self }
    }

    fn expecting(self, expected: Option<Precondition>) -> Declared {
        Declared { expected, ..self }
    }

    /// Returns the next declaration.
    pub(super) fn next(&mut self, if_exists: IfExists) -> Declares {
        self.taken += 1;
        let version = self.version.clone();
        if self.taken > 1 {
            return Declares::Document { id: self.document.clone(), version };
        }
        Declares::Itself(OwnDeclaration {
            version,
            expected: self.expected,
            is_sole: self.is_sole,
            only_related: if_exists == IfExists::ReplaceRelated,
            only_lossless: self.only_lossless,
            only_itself_published: true,
            ..OwnDeclaration::default()
        })
    }

    /// Returns the write that ends the declarations of parts missing in the document.
    pub(super) fn parts(self, actor: Option<String>) -> Option<store::Write> {
        let Declared { document: id, version, parts: ids, .. } = self;
        let (precondition, operation) = (Precondition::Any, Operation::Parts { version, ids });
        (!id.is_empty()).then_some(store::Write { id, precondition, operation, actor })
    }
}

/// Returns the warning about an import that removes parts. It may name them, since whoever may change a document sees
/// its parts, which have the same owner.
fn removed_by_import(ids: &[&str]) -> Option<Violation> {
    let message = format!(
        "Things from an earlier import of this document are removed, since this import doesn't include them: {}. If \
         the document still contains these parts, import it with the same options as before (`nested` and `tools`, \
         `--nested` and `--tools`)",
        named(ids)
    );
    (!ids.is_empty()).then(|| Violation::new("", "parts-removed", message))
}

/// Fails if two Things have the same id, since the second would silently replace the first.
pub(super) fn refuse_repeated_ids(things: &[ConvertedThing]) -> Result<()> {
    let mut ids = HashSet::new();
    let Some(repeated) = things.iter().find(|thing| !ids.insert(&thing.id)) else { return Ok(()) };
    let message = format!(
        "two parts of the document would become Things with the same id, {:?}; change the id of one of them",
        repeated.id
    );
    let violation = Violation { pointer: String::new(), rule: "thing-id-repeated".into(), message };
    let format = things.first().map_or(Format::ThingDescription, |thing| thing.source.format).name();
    Err(Error::InvalidSource { format, report: Report { violations: vec![violation], ..Report::default() } })
}
