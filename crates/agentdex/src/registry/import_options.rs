//! Options of an import. They are stored with the original and applied again to later documents of the agent.

use std::collections::BTreeMap;

use super::Registry;
use crate::{
    Result,
    convert::{self, Conversion, Format, ImportOptions, Input},
    store::Original,
    td::{self, Violation},
};

impl Registry {
    /// Converts a document to be imported. If the agent was already imported in this format, the options of that
    /// import, such as the address given as `base`, apply unless overridden by `options`; the warning `options-kept`
    /// reports that. Blocks.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{
    ///     convert::{Format, ImportOptions, Input},
    ///     registry::Import,
    /// };
    ///
    /// let card = |description: &str| {
    ///     format!(r#"{{"name": "com.example/clock", "version": "1.0.0", "description": "{description}",
    ///         "remotes": [{{"type": "streamable-http", "url": "/mcp"}}]}}"#)
    /// };
    /// let (format, import) = (Format::McpServer, Format::McpServer.import().expect("it is converted"));
    /// let mut options = ImportOptions::default();
    /// options.set(format, "base", "https://clock.example/.well-known/mcp/server-card.json")?;
    /// let conversion = registry.convert(import, &Input::json(card("Clock").as_bytes()), &options)?;
    /// let id = registry.import_blocking(Import::new(conversion))?.things.remove(0).id;
    ///
    /// let again = registry.convert(import, &Input::json(card("Clocks").as_bytes()), &ImportOptions::default())?;
    /// assert_eq!(again.warnings.last().map(|warning| warning.rule.as_ref()), Some("options-kept"));
    /// assert!(again.things[0].description.text().contains("https://clock.example/mcp"));
    /// # assert_eq!(again.things[0].id, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`convert::Import::to_things`], and [`crate::Error::Store`].
    pub fn convert(&self, import: &convert::Import, input: &Input<'_>, options: &ImportOptions) -> Result<Conversion> {
        let conversion = import.to_things(input, options)?;
        let Some((options, kept)) = self.options_kept(&conversion)? else { return Ok(conversion) };
        let mut again = import.to_things(input, &options)?;
        if again.things == conversion.things {
            return Ok(Conversion { options: again.options, ..conversion });
        }
        let message = format!(
            "options of the previous import still apply: {}; to discard them, set `replace=true` (`--replace`)",
            kept.join(", ")
        );
        again.warnings.push(Violation::new("", "options-kept", message));
        Ok(again)
    }

    /// Merges the options of a conversion with those stored for its agent. Returns them with the names of the stored
    /// options used, or `None` if nothing is stored.
    fn options_kept(&self, conversion: &Conversion) -> Result<Option<(ImportOptions, Vec<String>)>> {
        let Some(thing) = conversion.things.first() else { return Ok(None) };
        let format = thing.source.format;
        let record = self.find_record(&td::normalize_id(&thing.id)?)?;
        let Some(record) = record.filter(|record| record.format.as_deref() == Some(format.name())) else {
            return Ok(None);
        };
        let Some((_, Some(original))) = self.unedited_source(&record)? else { return Ok(None) };
        let mut options = conversion.options.clone();
        let mut kept = Vec::new();
        for (name, value) in from_json(&original.options) {
            // What this version doesn't know any more is none of its options.
            if options.text(&name).is_none() && options.set(format, &name, &value).is_ok() {
                kept.push(format!("`{name}`"));
            }
        }
        if options.text("id").is_none() && options.set(format, "id", &record.id).is_err() {
            return Ok(None);
        }
        Ok((!kept.is_empty()).then_some((options, kept)))
    }
}

/// Serializes the options of an import for storage, without the id, which is that of the record, and without the
/// publication of prompts, which each import has to request.
pub(super) fn stored(options: &ImportOptions) -> String {
    let given = options.iter().filter(|(name, _)| !["id", "publish_prompts"].contains(name));
    to_json(&given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// The stored options of an original, and the id of its Thing as the option `id`.
pub(super) fn of(original: &Original, format: Format, id: &str) -> ImportOptions {
    let mut options = ImportOptions::of_fetched(Some(id), None);
    let known = from_json(&original.options);
    known.iter().for_each(|(name, value)| drop(options.set(format, name, value)));
    options
}

pub(super) fn to_json(options: &BTreeMap<String, String>) -> String {
    if options.is_empty() { String::new() } else { serde_json::json!(options).to_string() }
}

pub(super) fn from_json(options: &str) -> BTreeMap<String, String> {
    serde_json::from_str(options).unwrap_or_default()
}
