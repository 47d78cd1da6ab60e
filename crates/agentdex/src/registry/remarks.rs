//! Conversion of the store's remarks on a write to warnings.

use super::Registry;
use crate::{store::Remark, td::Violation};

/// Maximum number of ids in a warning.
const MOST_NAMED: usize = 20;

impl Registry {
    /// The warnings of a write to a Thing, also about its parts.
    pub(super) fn warnings_of(&self, id: &str, remarks: &[Remark]) -> Vec<Violation> {
        let of_parts = |remark: &Remark| match remark {
            Remark::PartLeft { id: part, documents } if part != id => self.part_left(part, documents),
            _ => None,
        };
        let mut warnings = self.own_warnings_of(id, remarks);
        warnings.extend(remarks.iter().filter_map(of_parts));
        let of_parts = |remark: &Remark| match remark {
            Remark::VersionsHidden { id: part, versions, has_original } if part != id => {
                let message = format!("{part}: {}", hidden(versions, *has_original));
                Some(Violation::new("", "versions-hidden", message))
            }
            _ => None,
        };
        warnings.extend(remarks.iter().filter_map(of_parts).take(MOST_NAMED));
        let mut add = |rule: &'static str, ids: Vec<&str>, text: &str| {
            if !ids.is_empty() {
                warnings.push(Violation::new("", rule, format!("{text}: {}", named(&ids))));
            }
        };
        let of_parts = |pick: fn(&Remark) -> Option<&str>| remarks.iter().filter_map(pick).collect::<Vec<&str>>();
        add(
            "parts-removed",
            of_parts(|remark| match remark {
                Remark::PartRemoved(part, _) => Some(part),
                _ => None,
            }),
            "these Things are removed, since no document declares them as parts any more",
        );
        warnings
    }

    /// Returns the warnings about the Thing itself.
    pub(super) fn own_warnings_of(&self, id: &str, remarks: &[Remark]) -> Vec<Violation> {
        remarks.iter().filter_map(|remark| self.warning_of(id, remark)).collect()
    }

    fn part_left(&self, part: &str, documents: &[String]) -> Option<Violation> {
        let seen: Vec<&str> = documents.iter().map(String::as_str).filter(|document| self.sees(document)).collect();
        let message = match seen.as_slice() {
            [document] => format!(
                "{part} is no longer a part of the document of {document}; the document only refers to {part}. If \
                 {part} is removed, the next import of the document declares it again"
            ),
            several => format!(
                "{part} is no longer a part of the documents of {}; the documents only refer to {part}. If {part} is \
                 removed, the next import of any of these documents declares it again",
                named(several)
            ),
        };
        (!seen.is_empty()).then(|| Violation::new("", "part-left", message))
    }

    fn warning_of(&self, id: &str, remark: &Remark) -> Option<Violation> {
        let warning = |rule: &'static str, message: String| Some(Violation::new("", rule, message));
        match remark {
            Remark::PartExists(part) if part == id => warning(
                "part-exists",
                "a Thing with this id already exists, registered on its own or declared by documents of another \
                 owner; it stays unchanged, and this document refers to it"
                    .to_owned(),
            ),
            Remark::PartLeft { id: part, documents } if part == id => self.part_left(part, documents),
            Remark::EditsKept { id: of, pointers } if of == id => {
                let pointers: Vec<&str> = pointers.iter().map(String::as_str).collect();
                let message = format!(
                    "both this document and a manual edit change {}; the edit is served. To undo the edit, `PUT` \
                     the result of `GET /things/{{id}}?version=latest`",
                    named(&pointers)
                );
                warning("edits-kept", message)
            }
            Remark::EditsNotServed(of) if of == id => warning(
                "edits-not-served",
                "manual edits are kept, but not served: the audience is now wider than when the edits were made, or \
                 the edited description would be invalid"
                    .to_owned(),
            ),
            Remark::DeclarationsEnded(of) if of == id => warning(
                "declarations-ended",
                "the description replaces everything stored for the Thing: the original, other versions, and edits are \
                 dropped"
                    .to_owned(),
            ),
            Remark::NotServed { id: of, served } if of == id => {
                let served = served.as_ref().map_or_else(String::new, |served| format!(" {served:?}"));
                warning("not-served", format!("this version is stored, but the higher version{served} is served"))
            }
            Remark::Lossy { id: of, version, format, losses } if of == id => {
                let version = version.as_ref().map_or_else(String::new, |version| format!(" {version:?}"));
                let format = format.as_ref().map_or_else(String::new, |format| format!(" (format {format})"));
                let message = format!(
                    "the newly served version{version}{format} lacks {losses}, unlike the version served before"
                );
                warning("lossy-import", message)
            }
            Remark::VersionDropped(of, version) if of == id => {
                let version = version.as_ref().map_or_else(String::new, |version| format!(" {version:?}"));
                let message = format!("the lowest version{version} is dropped, since at most 20 versions are kept");
                warning("version-dropped", message)
            }
            Remark::VersionsHidden { id: of, versions, has_original } if of == id => {
                warning("versions-hidden", hidden(versions, *has_original))
            }
            Remark::AccessNarrowed { id: of, visibility } if of == id => warning(
                "access-narrowed",
                format!(
                    "the visibility of the Thing is now `{visibility}`, like that of its remaining versions: removing \
                     a version never publishes another version. To publish the Thing, change its access"
                ),
            ),
            Remark::PartRemoved(..)
            | Remark::PartLeft { .. }
            | Remark::PartExists(_)
            | Remark::EditsKept { .. }
            | Remark::EditsNotServed(_)
            | Remark::DeclarationsEnded(_)
            | Remark::NotServed { .. }
            | Remark::Lossy { .. }
            | Remark::VersionDropped(..)
            | Remark::VersionsHidden { .. }
            | Remark::AccessNarrowed { .. } => None,
        }
    }
}

/// Describes the versions hidden from some of those who see a Thing, and how to publish them.
fn hidden(versions: &[Option<String>], has_original: bool) -> String {
    let name =
        |version: &Option<String>| version.clone().unwrap_or_else(|| "the description without a version".to_owned());
    let names: Vec<String> = versions.iter().map(name).collect();
    let original = has_original.then_some("the original document, without edits");
    let names: Vec<&str> = names.iter().map(String::as_str).chain(original).collect();
    format!(
        "these texts stay hidden from some callers who can now see the Thing, because the texts were stored with \
         narrower access: {}. To publish the texts that you can read, change the access with `?versions=all` \
         (`agentdex access --all-versions`)",
        named(&names)
    )
}

/// True if the imported original is dropped, which also ends its tracking.
pub(super) fn ends_tracking(id: &str, remarks: &[Remark]) -> bool {
    remarks.iter().any(|remark| matches!(remark, Remark::DeclarationsEnded(of) if of == id))
}

/// The first of the ids, and how many more there are.
pub(super) fn named(ids: &[&str]) -> String {
    let (first, more) = ids.split_at(ids.len().min(MOST_NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", first.join(", "))
}
