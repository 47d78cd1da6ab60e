//! Metadata of the registry about MCP servers, such as their status. It is imported together with the server's document.

use serde_json::{Map, Value};

use super::{Registry, ThingVersion, import::Import, import_options, write::Write};
use crate::{
    Error, Result,
    change::Precondition,
    convert::{
        Format, Input,
        mcp_server::{registry_metadata_patch, with_registry_metadata},
    },
    td,
};

impl Registry {
    /// Sets this registry's metadata for a version of an MCP server: the `status` (`active`, `deprecated`, or `deleted`), which
    /// is visible in searches, and further members. The server's document stays unchanged, and a tracked source stays tracked.
    /// Blocks.
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
            let reason = "the version isn't served, and was not imported from a server.json".to_owned();
            return Err(Error::NotExpressible { format: format.name(), reason });
        }
        let record = self.find_record(&id)?.ok_or_else(|| Error::NotFound { id: id.clone().into_owned() })?;
        let patch = registry_metadata_patch(block).to_string();
        self.write_blocking(Write::patch(id, patch).when(Precondition::Seq(record.seq))).map(drop)
    }
}
