//! Exporting: a Thing in the format that it was imported in, or as near as that format comes to it.

use super::Registry;
use crate::{
    Error, Result,
    convert::Format,
    td::{self, Document},
};

/// The media type of Thing Descriptions.
const TD_JSON: &str = "application/td+json";

/// A Thing in another format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The media type of the document.
    pub media_type: String,
    /// The document.
    pub bytes: Vec<u8>,
    /// How much could not be said where it was converted, or was left out of the original.
    pub warnings: Option<usize>,
}

impl Registry {
    /// A Thing in a format, in a version of it where one is named: the document that it was imported from, byte for byte
    /// where nothing secret was in it, else one that is made of its description. Blocks.
    ///
    /// ```
    /// use agentdex::{Registry, convert::Format, td::Description};
    ///
    /// # let directory = std::env::temp_dir().join(format!("agentdex-export-{}", std::process::id()));
    /// # let registry = Registry::open(&directory)?;
    /// registry.put(Description::new("Clock").id("urn:example:clock").version("1.0.0").capability("time-of-day"))?;
    /// let file = registry.export("urn:example:clock", Format::LmosCapabilities, None)?;
    /// assert!(String::from_utf8_lossy(&file.bytes).contains("time-of-day"));
    /// # registry.close(); std::fs::remove_dir_all(directory).ok();
    /// # Ok::<(), agentdex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotExpressible`] where the format would need what the description doesn't say, or
    /// has no such version; [`Error::InvalidId`], [`Error::Store`].
    pub fn export(&self, id: &str, format: Format, version: Option<&str>) -> Result<Exported> {
        let id = td::normalize_id(id)?;
        let found = || self.find(&id)?.ok_or_else(|| Error::NotFound { id: id.clone().into_owned() });
        let Some(export) = format.export() else {
            let bytes = found()?.text().to_owned().into_bytes();
            return Ok(Exported { media_type: TD_JSON.to_owned(), bytes, warnings: None });
        };
        let version = version.map(|asked| export.version(asked)).transpose();
        let version = version.map_err(|reason| Error::NotExpressible { format: format.name(), reason })?;
        // Both are read apart: what is replaced in between may be exported as the original that it had, as a moment ago.
        let original = self.original(&id)?.filter(|original| original.format == format.name());
        let (media_type, made) = match original {
            Some(original) => {
                let converted = version.map(|version| export.in_version(&original.bytes, version)).transpose()?;
                let Some(converted) = converted.flatten() else {
                    let supply = export.supply(&original.bytes, &original.media_type)?;
                    let warnings = (!supply.names.is_empty()).then_some(supply.names.len());
                    return Ok(Exported { media_type: original.media_type, bytes: original.bytes, warnings });
                };
                (original.media_type, converted)
            }
            None => {
                let thing = Document::parse(found()?.text().as_bytes())?;
                let media_type = export.media_types.first().map_or("application/json", |(name, _)| *name);
                (media_type.to_owned(), export.from_thing(thing.value(), version)?)
            }
        };
        Ok(Exported { media_type, bytes: made.bytes, warnings: Some(made.warnings.len()) })
    }
}
