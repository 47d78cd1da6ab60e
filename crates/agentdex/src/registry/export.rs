//! Export of a Thing in its original format, or in another format as closely as possible.

use super::{Registry, import_options, own_members};
use crate::{
    Error, Result,
    convert::{Credentials, Format, Input, Syntax},
    store::{Original, Record},
    td::{Document, Violation},
};

/// The media type of Thing Descriptions.
const TD_JSON: &str = "application/td+json";

/// Document to which a Thing was exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Media type of the document.
    pub media_type: String,
    /// Bytes of the document.
    pub bytes: Vec<u8>,
    /// Warnings about members of the Thing that are missing or changed in the document, and about secrets removed from
    /// an original or an edit. `None` for Thing Descriptions, and for an original exported without losses.
    pub warnings: Option<Vec<Violation>>,
}

impl Exported {
    /// Converts an original in YAML to JSON. The bytes of other documents stay unchanged. In either case, the media
    /// type becomes `application/json`. Blocks.
    ///
    /// # Errors
    /// Same as [`Syntax::to_json`].
    pub fn into_json(self) -> Result<Exported> {
        let bytes = match syntax_of(&self.media_type) {
            Syntax::Json => self.bytes,
            yaml => yaml.to_json(&self.bytes)?.into_owned().into_bytes(),
        };
        Ok(Exported { media_type: Syntax::Json.media_type().to_owned(), bytes, ..self })
    }
}

/// The syntax of an original.
fn syntax_of(media_type: &str) -> Syntax {
    if media_type.contains("yaml") { Syntax::Yaml } else { Syntax::Json }
}

/// Options of an export.
#[derive(Debug, Clone, Copy)]
pub struct ExportOptions<'o> {
    /// Version of the format. Defaults to the version of the original or, without an original, to the default version
    /// of the format, such as `1.0` for agent cards.
    pub format_version: Option<&'o str>,
    /// Version of the Thing, or a version range. Defaults to the served version.
    pub version: Option<&'o str>,
    /// Whether to include edits made since the import. If false, or if `version` is set, the original is exported as it
    /// was imported.
    pub edits: bool,
}

impl Default for ExportOptions<'_> {
    fn default() -> Self {
        ExportOptions { format_version: None, version: None, edits: true }
    }
}

impl Registry {
    /// Exports a Thing in a format, optionally in a given version of that format. If the Thing was imported in this
    /// format, returns its original, with the edits made since. An unedited original is returned byte for byte unless
    /// secrets were removed from it. For other formats, the document is generated from the description. Blocks.
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
    /// [`Error::NotFound`], [`Error::NotExpressible`] if the description lacks content required by the format or if
    /// the format has no such version; [`Error::InvalidId`], [`Error::Store`].
    pub fn export(&self, id: &str, format: Format, version: Option<&str>) -> Result<Exported> {
        self.export_with(id, format, ExportOptions { format_version: version, ..ExportOptions::default() })
    }

    /// Like [`Registry::export`], with options: with or without edits, and in another version of the Thing. Blocks.
    ///
    /// # Errors
    /// Same as [`Registry::export`], and [`Error::NoSuchVersion`].
    pub fn export_with(&self, id: &str, format: Format, options: ExportOptions<'_>) -> Result<Exported> {
        let id = self.stored_id(id)?;
        let source = self.source(&id, options)?;
        let Some(export) = format.export() else {
            let bytes = source.text.into_bytes();
            return Ok(Exported { media_type: TD_JSON.to_owned(), bytes, warnings: None });
        };
        let version = options.format_version.map(|asked| export.version(asked)).transpose();
        let version = version.map_err(|reason| Error::NotExpressible { format: format.name(), reason })?;
        let Some(mut original) = source.original.filter(|original| original.format == format.name()) else {
            let thing = own_members::without(&source.text)?;
            let media_type = export.media_types.first().map_or("application/json", |(name, _)| *name);
            let made = export.from_thing(thing.value(), version)?;
            let warnings = Some(made.warnings);
            return Ok(Exported { media_type: media_type.to_owned(), bytes: made.bytes, warnings });
        };
        let mut lost = Vec::new();
        if let Some(base) = source.unedited {
            let (base, edited) = (Document::parse(base.as_bytes())?, Document::parse(source.text.as_bytes())?);
            // Importing the document would replace them.
            let credentials = Credentials::find(edited.text(), edited.value());
            let edited = credentials.replaced(edited.text())?;
            let syntax = syntax_of(&original.media_type);
            let options = import_options::of(&original, format, &id);
            let input = Input { bytes: &original.bytes, syntax, components: &[] };
            let made = export.with_edits(&input, &options, base.value(), edited.value())?;
            lost = made.warnings.into_iter().chain(credentials.replacements()).collect();
            original.bytes = made.bytes;
        }
        let converted = version.map(|version| export.in_version(&original.bytes, version)).transpose()?;
        let Some(converted) = converted.flatten() else {
            lost.extend(export.supply(&original.bytes, &original.media_type)?.names.iter().map(left_out));
            let warnings = (!lost.is_empty()).then_some(lost);
            return Ok(Exported { media_type: original.media_type, bytes: original.bytes, warnings });
        };
        lost.extend(converted.warnings);
        let warnings = Some(lost);
        Ok(Exported { media_type: original.media_type, bytes: converted.bytes, warnings })
    }

    /// Returns the text and the original for an export.
    fn source(&self, id: &str, options: ExportOptions<'_>) -> Result<Source> {
        if let Some(range) = options.version {
            let version = self.version(id, range)?;
            return Ok(Source { text: version.text, unedited: None, original: version.original });
        }
        let record = self.find_record(id)?.ok_or_else(|| Error::NotFound { id: id.to_owned() })?;
        if !record.is_edited {
            // Both are read apart: what is replaced in between may be exported as the original that it had, as a moment ago.
            return Ok(Source { text: record.text, unedited: None, original: self.0.store.original(id)? });
        }
        let Some((base, original)) = self.unedited_source(&record)? else {
            return Ok(Source { text: record.text, unedited: None, original: None });
        };
        Ok(match options.edits {
            true => Source { text: record.text, unedited: Some(base), original },
            false => Source { text: base, unedited: None, original },
        })
    }

    /// Returns the text of a record without edits, and its original, or `None` if they are hidden from the caller.
    pub(super) fn unedited_source(&self, record: &Record) -> Result<Option<(String, Option<Original>)>> {
        let declared = self.0.store.declared(&record.id)?.ok_or_else(|| Error::NotFound { id: record.id.clone() })?;
        let Some((declaration, text, original)) = declared.declarations.into_iter().next() else { return Ok(None) };
        let is_shown = self.grants().is_none_or(|grants| declaration.access(&declared.access).admits(&grants));
        Ok(is_shown.then_some((text, original)))
    }
}

/// Returns the warning about a value removed from an original. `name` is its placeholder there.
fn left_out(name: &String) -> Violation {
    Violation::new(
        "",
        "value-left-out",
        format!("{name:?} is a placeholder for a value that is not in the document; supply the value"),
    )
}

/// Text to be exported, with its original.
struct Source {
    text: String,
    /// Text to which the original was converted, if it was edited since.
    unedited: Option<String>,
    original: Option<Original>,
}
