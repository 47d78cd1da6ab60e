//! Metadata of the registry about MCP servers, such as their status. It is imported together with the server's document.

use serde_json::{Map, Value};

use super::{Registry, ThingVersion, import::Import, import_options, write::Write};
use crate::{
    Error, Result,
    change::{Precondition, Seq},
    convert::{
        ConvertedThing, Format, ImportOptions, Input,
        mcp_server::{RegistryMetadata, registry_metadata_patch, with_registry_metadata},
    },
    store::version_of,
    td::{self, Document, merge_patch},
};

impl Registry {
    /// Sets this registry's metadata for a version of an MCP server. `block` contains the `status` (`active`,
    /// `deprecated`, or `deleted`), which is visible in searches, and further members. The server's document stays
    /// unchanged, and a tracked source stays tracked. Blocks.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{convert::{Format, ImportOptions, Input}, registry::Import, search::{FilterField, Search}};
    ///
    /// let server = br#"{"name": "com.example/clock", "description": "Clock", "version": "1.0.0",
    ///     "remotes": [{"type": "streamable-http", "url": "https://clock.example/mcp"}]}"#;
    /// let import = Format::McpServer.import().expect("it is converted");
    /// let conversion = import.to_things(&Input::json(server), &ImportOptions::default())?;
    /// let id = registry.import_blocking(Import::new(conversion))?.things.remove(0).id;
    ///
    /// let block = serde_json::json!({"status": "deprecated"});
    /// let version = registry.versions(&id)?.remove(0);
    /// registry.set_server_metadata(&id, &version, block.as_object().expect("it is an object"))?;
    /// let search = Search::words("clock").filter(FilterField::Status, "deprecated").consistent();
    /// assert_eq!(registry.search(search)?.total, 1);
    /// assert_eq!(registry.export(&id, Format::McpServer, None)?.bytes, server);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PreconditionFailed`] if the version has changed since it was read; [`Error::NotExpressible`] if the version
    /// isn't served and wasn't imported from a `server.json`; otherwise the same as [`Registry::write`].
    pub fn set_server_metadata(&self, id: &str, version: &ThingVersion, block: &Map<String, Value>) -> Result<()> {
        let id = td::normalize_id(id)?;
        let format = Format::McpServer;
        let thing: Value = serde_json::from_str(version.text()).unwrap_or_default();
        let original = version.original().filter(|original| original.format == format.name());
        let document = original.and_then(|original| {
            with_registry_metadata(str::from_utf8(&original.bytes).ok()?, &thing, block).map(|it| (original, it))
        });
        if let (Some((original, document)), Some(import)) = (document, format.import()) {
            let options = import_options::of(original, format, &id);
            let conversion = import.to_things(&Input::json(document.as_bytes()), &options)?;
            let import = Import::new(conversion).when_version(Precondition::Seq(version.seq));
            return pollster::block_on(self.import_again(import)).map(drop);
        }
        if !version.is_served {
            let reason =
                "the status can't be set, since the version isn't served and was not imported from a server.json"
                    .to_owned();
            return Err(Error::NotExpressible { format: format.name(), reason });
        }
        let record = self.find_record(&id)?.ok_or_else(|| Error::NotFound { id: id.clone().into_owned() })?;
        let patch = registry_metadata_patch(block).to_string();
        self.write_blocking(Write::patch(id, patch).when(Precondition::Seq(record.seq))).map(drop)
    }

    /// Adds the stored metadata of this registry about a version of a server to its new description, unless the description has
    /// such metadata. The metadata belongs to the version, not to the document. Returns the position of the stored version.
    pub(super) fn keep_server_metadata(
        &self,
        things: &mut [ConvertedThing],
        options: &ImportOptions,
    ) -> Result<Option<Seq>> {
        let [thing] = things else { return Ok(None) };
        if thing.source.format != Format::McpServer || has_metadata(thing.description.value()) {
            return Ok(None);
        }
        let versions = match self.versions(&thing.id) {
            Err(Error::NotFound { .. }) => return Ok(None),
            versions => versions?,
        };
        let name = version_of(thing.description.text());
        let is_same = |version: &ThingVersion| version.document.is_none() && version.version == name;
        let Some(stored) = versions.into_iter().find(|version| version.is_readable && is_same(version)) else {
            return Ok(None);
        };
        let RegistryMetadata { registry: block, .. } =
            RegistryMetadata::of_thing(&serde_json::from_str(stored.text()).unwrap_or_default());
        if block.is_empty() {
            return Ok(Some(stored.seq));
        }
        let patch = registry_metadata_patch(&block).to_string();
        let description = merge_patch::apply(thing.description.text(), &patch)?;
        // As it was stored: an unchanged document is recognized by its text.
        let stored_form =
            with_block(thing, &block, options).filter(|it| merge_patch::diff(it.text(), &description).is_none());
        thing.description = match stored_form {
            Some(description) => description,
            None => Document::parse(description.as_bytes())?,
        };
        Ok(Some(stored.seq))
    }
}

/// Converts the document of a server together with a block of this registry; `None` if it can't be converted so.
fn with_block(thing: &ConvertedThing, block: &Map<String, Value>, options: &ImportOptions) -> Option<Document> {
    let document = str::from_utf8(&thing.source.bytes).ok()?;
    let document = with_registry_metadata(document, thing.description.value(), block)?;
    let conversion = Format::McpServer.import()?.to_things(&Input::json(document.as_bytes()), options).ok()?;
    conversion.things.into_iter().next().map(|thing| thing.description)
}

fn has_metadata(thing: &Value) -> bool {
    !RegistryMetadata::of_thing(thing).registry.is_empty()
}
