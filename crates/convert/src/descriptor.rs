//! Descriptors of formats: name, detection, import, and export.

use serde_json::{Map, Value};

use super::{Conversion, ImportOptions, Parameter, Rendition, Syntax, rounded_integers};
use crate::{
    Result, SearchTerm,
    td::{self, Report, Violation},
};

type Object = Map<String, Value>;

/// The strength of a sign as evidence of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// A document with it is in no other format, whatever else it has.
    Certain,
    /// It says more than what is around the document.
    Strong,
    Likely,
    /// It says something where nothing else does.
    Weak,
}

/// By what documents of a format are known.
#[derive(Debug)]
pub(super) struct Sign {
    pub(super) certainty: Certainty,
    pub(super) is_seen: fn(&Object) -> bool,
}

impl Sign {
    pub(super) const fn certain(is_seen: fn(&Object) -> bool) -> Sign {
        Sign { certainty: Certainty::Certain, is_seen }
    }

    pub(super) const fn strong(is_seen: fn(&Object) -> bool) -> Sign {
        Sign { certainty: Certainty::Strong, is_seen }
    }

    pub(super) const fn likely(is_seen: fn(&Object) -> bool) -> Sign {
        Sign { certainty: Certainty::Likely, is_seen }
    }

    pub(super) const fn weak(is_seen: fn(&Object) -> bool) -> Sign {
        Sign { certainty: Certainty::Weak, is_seen }
    }
}

/// A format: its name, its characteristic members, and the import and export of its documents.
#[derive(Debug)]
pub struct Descriptor {
    /// Name in parameters, flags, filters, paths, and records.
    pub name: &'static str,
    /// Noun phrase for a document in this format, such as `an A2A agent card`.
    pub noun: &'static str,
    /// Description of the members by which a document is detected.
    pub recognized_by: &'static str,
    pub(super) signs: &'static [Sign],
    /// Format-specific members of descriptions to be searched, in addition to the members searched in all Things.
    #[doc(hidden)]
    pub search_terms: &'static [SearchTerm],
    /// Import of documents as Things; `None` for Thing Descriptions, which need no conversion.
    pub import: Option<Import>,
    /// Export of Things as documents; `None` for Thing Descriptions.
    pub export: Option<Export>,
}

/// Import of documents in a format as Things.
#[derive(Debug)]
pub struct Import {
    /// One-line summary.
    pub summary: &'static str,
    /// Details of the conversion, in Markdown.
    pub description: &'static str,
    /// Media types of documents, each with its syntax.
    pub media_types: &'static [(&'static str, Syntax)],
    /// JSON Schema of a document, with an example.
    pub schema: &'static str,
    /// Parameters of the import.
    pub parameters: &'static [Parameter],
    /// True if the document can be accompanied by further documents to which it refers.
    pub takes_components: bool,
    /// Tracking of a document by its URL, if agents publish such documents.
    pub tracking: Option<Tracking>,
    /// False for a document from which no lasting id can be made: an edit gives it another, or it gets none.
    pub(super) has_id: fn(&Input<'_>, &ImportOptions) -> bool,
    pub(super) to_things: fn(&Input<'_>, &ImportOptions) -> Result<Conversion>,
    pub(super) validate: fn(&Input<'_>, &ImportOptions) -> Result<Report>,
}

/// Settings for fetching and polling a document by its URL.
#[derive(Debug)]
pub struct Tracking {
    /// Value of the `Accept` header, if it isn't JSON.
    pub accept: Option<&'static str>,
    /// Paths at which sites publish the document.
    pub well_known: &'static [&'static str],
    /// True if documents may be signed.
    pub is_signed: bool,
}

/// Export of Things as documents in a format.
#[derive(Debug)]
pub struct Export {
    /// Last segment of the export's path, below the path of a Thing.
    pub path: &'static str,
    /// One-line summary.
    pub summary: &'static str,
    /// Description of the exported document, and of the content it omits.
    pub description: &'static str,
    /// Available media types, each with the version that it selects, if any. The first is the default.
    pub media_types: &'static [(&'static str, Option<&'static str>)],
    /// Available versions, the default first; empty if there is only one.
    pub versions: &'static [&'static str],
    pub(super) read_version: fn(&str) -> Option<&'static str>,
    /// Number of seconds for which clients can cache the document.
    pub max_age: Option<u32>,
    pub(super) from_thing: fn(&Value, Option<&str>) -> Result<Rendition>,
    /// The original in another version; none where it is of that version already.
    pub(super) in_version: fn(&[u8], &str) -> Result<Option<Rendition>>,
    /// An original with what was edited in the Thing that it became.
    pub(super) with_edits: fn(&Edit<'_>) -> Result<Rendition>,
    /// Values that an original leaves out and its user has to supply, with an example.
    pub(super) supply: fn(&[u8], Syntax) -> Result<Supply>,
}

/// Values that a document intentionally omits, and that have to be supplied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Supply {
    /// Names of the values.
    pub names: Vec<String>,
    /// Example of how to supply the values.
    pub example: String,
}

/// A document to be converted.
#[derive(Debug, Clone, Copy)]
pub struct Input<'i> {
    /// Bytes of the document.
    pub bytes: &'i [u8],
    /// Syntax of the bytes.
    pub syntax: Syntax,
    /// Further documents to which the document refers.
    pub components: &'i [(&'i [u8], Syntax)],
}

/// An edit of a Thing that was made of a document.
#[derive(Debug)]
pub(crate) struct Edit<'e> {
    /// The document.
    pub(crate) original: &'e Input<'e>,
    /// The options that it was imported with.
    pub(crate) options: &'e ImportOptions,
    /// The Thing Description that it became.
    pub(crate) base: &'e Value,
    /// The Thing Description since.
    pub(crate) edited: &'e Value,
}

impl<'i> Input<'i> {
    /// Creates the input for a JSON document.
    pub fn json(bytes: &'i [u8]) -> Input<'i> {
        Input { bytes, syntax: Syntax::Json, components: &[] }
    }
}

impl Import {
    /// Creates Things from a document.
    ///
    /// # Errors
    /// [`Error::InvalidSource`](crate::Error::InvalidSource) if the document is not in this format; the errors of the
    /// parser.
    pub fn to_things(&self, input: &Input<'_>, options: &ImportOptions) -> Result<Conversion> {
        let conversion = (self.to_things)(input, options)?;
        Ok(Conversion { options: options.clone(), ..conversion })
    }

    /// True if the document or the options determine the id of its Thing, by an id, a name, or a URL that stays the
    /// same when other content is edited. If false, an id should be given for registration. Also true for documents
    /// that aren't in this format.
    pub fn has_id(&self, input: &Input<'_>, options: &ImportOptions) -> bool {
        options.text("id").is_some() || (self.has_id)(input, options)
    }

    /// Returns all faults of a document, and warnings about it.
    ///
    /// # Errors
    /// The errors of the parser.
    pub fn validate(&self, input: &Input<'_>, options: &ImportOptions) -> Result<Report> {
        (self.validate)(input, options)
    }
}

impl Export {
    /// Converts an original to the given version. Returns `None` if it already has this version.
    ///
    /// # Errors
    /// The errors of the parser.
    pub fn in_version(&self, original: &[u8], version: &str) -> Result<Option<Rendition>> {
        let mut rendition = (self.in_version)(original, version)?;
        if let Some(written) = &mut rendition {
            written.warnings.extend(rounded_integers::warnings(td::internal::text_of(original).unwrap_or_default()));
        }
        Ok(rendition)
    }

    /// Applies the edits of a Thing to the original from which it was imported, in the original's version and syntax.
    /// `base` is the Thing Description as imported, and `edited` the edited one. `options` are the known options of the
    /// import. Content not affected by the edits is unchanged, so without edits the result is identical to the
    /// original.
    ///
    /// If the document can't express all of the edits, it contains the others. Each value of the Thing that importing
    /// the document would not restore causes a warning `edit-not-expressed`, with a pointer into the Thing. Members
    /// that only a registry sets are ignored.
    ///
    /// A text that was removed from the Thing must not remain in the document. If it would, the export fails.
    ///
    /// ```
    /// use agentdex_convert::{Format, ImportOptions, Input};
    ///
    /// let file = br#"{"id": "urn:example:billing", "capabilities": [{"name": "view-bill", "version": "1.0"}]}"#;
    /// let (format, input, options) = (Format::LmosCapabilities, Input::json(file), ImportOptions::default());
    /// let things = format.import().unwrap().to_things(&input, &options)?.things;
    /// let base = things[0].description.value();
    /// let mut edited = base.clone();
    /// edited["description"] = "Shows bills.".into();
    /// edited["support"] = "mailto:billing@example.org".into();
    /// let exported = format.export().unwrap().with_edits(&input, &options, base, &edited)?;
    /// let expected = br#"{"id": "urn:example:billing", "capabilities": [{"name": "view-bill", "version": "1.0"}], "description": "Shows bills."}"#;
    /// assert_eq!(exported.bytes, expected);
    /// assert_eq!(exported.warnings[0].pointer, "/support");
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotExpressible`](crate::Error::NotExpressible) if a removed text would remain; the errors of the
    /// parser.
    pub fn with_edits(
        &self,
        original: &Input<'_>,
        options: &ImportOptions,
        base: &Value,
        edited: &Value,
    ) -> Result<Rendition> {
        let (base, edited) = (&without_own_members(base), &without_own_members(edited));
        if base == edited {
            return Ok(Rendition { bytes: original.bytes.to_vec(), warnings: Vec::new() });
        }
        (self.with_edits)(&Edit { original, options, base, edited })
    }

    /// Returns the values omitted from a document, which its user must supply.
    ///
    /// # Errors
    /// The errors of the parser.
    pub fn supply(&self, document: &[u8], media_type: &str) -> Result<Supply> {
        let syntax = if media_type.contains("yaml") { Syntax::Yaml } else { Syntax::Json };
        (self.supply)(document, syntax)
    }

    /// Returns the name of the requested version, such as 1.0 for 1.0.1.
    ///
    /// # Errors
    /// A message that lists the available versions.
    pub fn version(&self, asked: &str) -> std::result::Result<&'static str, String> {
        (self.read_version)(asked).ok_or_else(|| match self.versions {
            [] => "this format has only one version; omit the version".to_owned(),
            known => format!("there is no version {asked:?}; supported versions are {}", known.join(", ")),
        })
    }
}

/// A Thing Description without what a registry says of it.
fn without_own_members(thing: &Value) -> Value {
    let mut thing = thing.clone();
    if let Value::Object(members) = &mut thing {
        members.retain(|name, _| name != "registration" && !name.starts_with("agentdex:"));
    }
    thing
}

/// The version of what has one only.
pub(super) fn no_version(_: &str) -> Option<&'static str> {
    None
}

/// The original of what has one version only.
pub(super) fn as_it_is(_: &[u8], _: &str) -> Result<Option<Rendition>> {
    Ok(None)
}

/// Returns an empty supply, for formats that leave nothing out on purpose.
pub(super) fn nothing_to_supply(_: &[u8], _: Syntax) -> Result<Supply> {
    Ok(Supply::default())
}

/// Turns a successful conversion into a report of its warnings.
pub(super) fn report_on(conversion: Conversion) -> Report {
    Report { warnings: conversion.warnings, ..Report::default() }
}

/// The warning of a name that is there more than once in an object.
pub(super) fn repeated(pointer: String) -> Violation {
    Violation::new(pointer, "duplicate-member", "the member name is repeated; the last value is used")
}
