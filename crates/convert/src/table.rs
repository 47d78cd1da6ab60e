//! The table of formats: everything that is done with a format is driven by its [`Descriptor`].

use std::sync::LazyLock;

use super::{Descriptor, Export, Format, Import, Tracking, format::list_formats};
use crate::SearchTerm;

macro_rules! define_table {
    ($($(#[$doc:meta])* $variant:ident = $folder:ident,)+) => {
        impl Format {
            /// Returns the entry of the format in the table of formats.
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
    /// The name in parameters, flags, filters, paths, and records.
    pub fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// Returns the import of its documents as Things; none for Thing Descriptions, which are Things.
    pub fn import(self) -> Option<&'static Import> {
        self.descriptor().import.as_ref()
    }

    /// Returns the export of Things as its documents; none for Thing Descriptions.
    pub fn export(self) -> Option<&'static Export> {
        self.descriptor().export.as_ref()
    }

    /// Returns the settings for polling the URL of a document, if agents serve it themselves.
    pub fn tracking(self) -> Option<&'static Tracking> {
        self.import()?.tracking.as_ref()
    }

    /// True if its documents may be signed.
    pub fn is_signed(self) -> bool {
        self.tracking().is_some_and(|tracking| tracking.is_signed)
    }

    /// Returns the searched members of descriptions of all formats, in addition to those of every Thing.
    pub fn search_terms() -> &'static [SearchTerm] {
        static TERMS: LazyLock<Vec<SearchTerm>> =
            LazyLock::new(|| Format::ALL.iter().flat_map(|format| format.descriptor().search_terms).copied().collect());
        &TERMS
    }

    /// The formats with imports, each with its import.
    pub fn imports() -> impl Iterator<Item = (Format, &'static Import)> {
        Format::ALL.iter().filter_map(|&format| Some((format, format.import()?)))
    }

    /// The formats with exports, each with its export.
    pub fn exports() -> impl Iterator<Item = (Format, &'static Export)> {
        Format::ALL.iter().filter_map(|&format| Some((format, format.export()?)))
    }

    /// The names of formats, as a list in a sentence.
    pub fn names(formats: impl Iterator<Item = Format>) -> String {
        let names: Vec<&str> = formats.map(Format::name).collect();
        match names.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            names => names.concat(),
        }
    }
}
