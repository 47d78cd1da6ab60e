//! The table of formats: all operations on a format are driven by its [`Descriptor`].

use std::sync::LazyLock;

use super::{Descriptor, Export, Format, Import, Tracking, format::list_formats};
use crate::SearchTerm;

macro_rules! define_table {
    ($($(#[$doc:meta])* $variant:ident = $folder:ident,)+) => {
        impl Format {
            /// Returns the descriptor of the format.
            pub fn descriptor(self) -> &'static Descriptor {
                match self {
                    $(Format::$variant => &super::$folder::FORMAT,)+
                }
            }
        }
    };
}

list_formats!(define_table);

impl Format {
    /// Returns the name used in parameters, flags, filters, paths, and records.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// Returns the import of documents as Things, or `None` for Thing Descriptions, which need no conversion.
    pub fn import(self) -> Option<&'static Import> {
        self.descriptor().import.as_ref()
    }

    /// Returns the export of Things as documents, or `None` for Thing Descriptions.
    pub fn export(self) -> Option<&'static Export> {
        self.descriptor().export.as_ref()
    }

    /// Returns the settings for polling the URL of a document, if agents publish such documents.
    pub fn tracking(self) -> Option<&'static Tracking> {
        self.import()?.tracking.as_ref()
    }

    /// True if documents in this format may be signed.
    pub fn is_signed(self) -> bool {
        self.tracking().is_some_and(|tracking| tracking.is_signed)
    }

    /// Returns the format-specific members that are searched, for all formats.
    pub fn search_terms() -> &'static [SearchTerm] {
        static TERMS: LazyLock<Vec<SearchTerm>> =
            LazyLock::new(|| Format::ALL.iter().flat_map(|format| format.descriptor().search_terms).copied().collect());
        &TERMS
    }

    /// Returns the formats that can be imported, each with its import.
    pub fn imports() -> impl Iterator<Item = (Format, &'static Import)> {
        Format::ALL.iter().filter_map(|&format| Some((format, format.import()?)))
    }

    /// Returns the formats to which Things can be exported, each with its export.
    pub fn exports() -> impl Iterator<Item = (Format, &'static Export)> {
        Format::ALL.iter().filter_map(|&format| Some((format, format.export()?)))
    }

    /// Returns the names of formats, as a list in a sentence.
    pub fn names(formats: impl Iterator<Item = Format>) -> String {
        let names: Vec<&str> = formats.map(Format::name).collect();
        match names.as_slice() {
            [first, last] => format!("{first} or {last}"),
            [rest @ .., last] if !rest.is_empty() => format!("{}, or {last}", rest.join(", ")),
            names => names.concat(),
        }
    }
}
