//! Recognition of documents that were exported by this registry and are imported again, either unchanged or edited.
//!
//! A document is compared with several exports of its Thing: the served description, the description without edits,
//! other versions, and earlier states. Only if it is most similar to the served description does it count as an edit of
//! the Thing.

use std::{cell::LazyCell, collections::HashSet};

use serde_json::Value;

use super::{Registry, export::ExportOptions, own_members};
use crate::{
    Result,
    change::{ChangeKind, Seq},
    convert::{Conversion, ConvertedThing, Export, Returned, mcp_server::RegistryMetadata},
    store::{Declarer, Record},
    td::{self, Document, Losses, Violation, merge_patch},
};

/// Maximum number of changes of a Thing that are read to determine the exported state.
const MOST_CHANGES: usize = 256;
/// Maximum number of earlier descriptions that a document is compared with.
const MOST_EARLIER: usize = 32;

/// Maximum number of Things with the same title whose originals are compared with a document.
const MOST_NAMESAKES: usize = 8;

/// A Thing with the edits made in its export.
pub(super) struct ReturnedThing {
    pub id: String,
    /// Position of the change at which the description was read.
    pub seq: Seq,
    /// Description with the edits applied, if there are any.
    pub text: String,
    /// Reason why the document changes nothing; `None` for an export of the served description.
    pub warning: Option<Violation>,
}

/// Origin of a document, found by comparing it with exports.
pub(super) enum Recognized {
    /// An export, possibly edited.
    Export(ReturnedThing),
    /// Edits without a counterpart in the Thing, by JSON Pointer.
    Inexpressible(Vec<String>),
    /// Any other document.
    Other,
}

impl From<Option<ReturnedThing>> for Recognized {
    fn from(returned: Option<ReturnedThing>) -> Recognized {
        returned.map_or(Recognized::Other, Recognized::Export)
    }
}

impl Registry {
    /// Finds the Thing that a document was exported from. A document with several Things is no export.
    pub(super) fn returned(&self, conversion: &Conversion) -> Result<Recognized> {
        let [thing] = conversion.things.as_slice() else { return Ok(Recognized::Other) };
        let Some(export) = thing.source.format.export() else { return Ok(Recognized::Other) };
        // What nobody may know of isn't compared.
        let record = self.find_record(&td::normalize_id(&thing.id)?)?;
        let names_id = ["id", "base", "publisher"].iter().any(|name| conversion.options.text(name).is_some());
        if !names_id && let Some(other) = self.same_document(thing, record.as_ref())? {
            let message = format!(
                "the document is already registered as {:?}, so nothing was changed; to register it again, give \
                 another id (`id`, `--id`)",
                other.id
            );
            return Ok(Recognized::Export(unchanged(other, Some(Violation::new("", "options-kept", message)))));
        }
        let Some(record) = record else { return Ok(Recognized::Other) };
        match record.format.as_deref() == Some(thing.source.format.name()) {
            true => self.returned_in_own_format(export, conversion, thing, record).map(Recognized::from),
            false => self.returned_in_another_format(export, thing, record),
        }
    }

    /// Finds the Thing with another id as which a document was imported, if the id was only given in the options of
    /// that import. `own` is the Thing with the document's own id.
    fn same_document(&self, thing: &ConvertedThing, own: Option<&Record>) -> Result<Option<Record>> {
        let content = LazyCell::new(|| thing.source.content());
        let is_original = |record: &Record| -> Result<bool> {
            if record.format.as_deref() != Some(thing.source.format.name()) {
                return Ok(false);
            }
            let original = self.unedited_source(record)?.and_then(|(_, original)| original);
            Ok(original.is_some_and(|it| content.is_that_of(&it.media_type, &it.bytes)))
        };
        if own.map(is_original).transpose()? == Some(true) {
            return Ok(None);
        }
        let text = |name| thing.description.value().get(name).and_then(Value::as_str);
        let namesakes = self.0.flags.find_by_texts(text("title").unwrap_or_default(), text("description"));
        for id in namesakes.into_iter().take(MOST_NAMESAKES) {
            let record = self.find_record(&id)?.filter(|record| own.is_none_or(|own| own.id != record.id));
            if let Some(record) = record.filter(|record| record.access.lets_change(self.caller()))
                && is_original(&record)?
            {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Finds the Thing of a document in the format of its original. The original in another version of the format, or with the
    /// edits, changes nothing; nor does the original itself if something would be lost without options of its import that were not stored.
    fn returned_in_own_format(
        &self,
        export: &Export,
        conversion: &Conversion,
        thing: &ConvertedThing,
        record: Record,
    ) -> Result<Option<ReturnedThing>> {
        let format = thing.source.format;
        let Some(declared) = self.0.store.declared(&record.id)? else { return Ok(None) };
        let Some((declaration, unedited, original)) = declared.declarations.into_iter().next() else {
            return Ok(None);
        };
        let is_part = matches!(declaration.by, Declarer::Document(_));
        let is_original = original.is_some_and(|it| thing.source.is_same_document(&it.media_type, &it.bytes));
        if is_original && !is_part {
            let (before, after) = (Document::parse(unedited.as_bytes())?, thing.description.value());
            let is_withdrawn = |thing: &Value| thing.get(WITHDRAWN).is_some();
            // The response of a registry, which tells the status.
            let has_status = RegistryMetadata::of_thing(after).official.is_some();
            let names_parts = ["nested", "tools"].iter().any(|name| conversion.options.text(name).is_some());
            // Links lead to parts, too.
            let losses = Losses { members: Vec::new(), ..Losses::between(before.value(), after) };
            let is_lossy = !losses.is_empty() || record.has_parts && !names_parts;
            if !is_lossy && (has_status || is_withdrawn(before.value()) <= is_withdrawn(after)) {
                return Ok(None);
            }
            let message = "the Thing was imported from this document with other options, which still apply; to discard them, \
                 set `replace=true` (`--replace`)";
            return Ok(Some(unchanged(record, Some(Violation::new("", "options-kept", message)))));
        }
        let versions = export.versions.iter().map(|version| Some(*version));
        let is_exported = |format_version: Option<&str>| {
            let options = ExportOptions { format_version, ..ExportOptions::default() };
            // What can't be exported isn't what came.
            let exported = self.export_with(&record.id, format, options).ok();
            exported.is_some_and(|it| thing.source.is_same_document(&it.media_type, &it.bytes))
        };
        let is_same = is_original || std::iter::once(None).chain(versions).any(is_exported);
        Ok(is_same.then(|| unchanged(record, None)))
    }

    fn returned_in_another_format(
        &self,
        export: &Export,
        thing: &ConvertedThing,
        record: Record,
    ) -> Result<Recognized> {
        let served = own_members::without(&record.text)?;
        let Some(distance) = export.distance(served.value(), thing) else { return Ok(Recognized::Other) };
        if distance == 0 {
            return Ok(Recognized::Export(unchanged(record, None)));
        }
        for text in self.other_texts(&record)? {
            let other = own_members::without(&text)?;
            match export.distance(other.value(), thing) {
                Some(0) => {
                    let message = "the document is an export of another version or an earlier state of the Thing, so \
                                   nothing was changed; to replace the Thing with it, set `replace=true` (`--replace`)";
                    let warning = Violation::new("", "not-current", message);
                    return Ok(Recognized::Export(unchanged(record, Some(warning))));
                }
                // Edits of what isn't served are none of what is.
                Some(nearer) if nearer < distance => return Ok(Recognized::Other),
                _ => {}
            }
        }
        Ok(match export.returned(served.value(), thing) {
            Returned::Unchanged => Recognized::Export(unchanged(record, None)),
            Returned::Edited(edited) => {
                // An export has none of them.
                let text = own_members::with_those_of(&record.text, edited.text())?;
                Recognized::Export(ReturnedThing { text, ..unchanged(record, None) })
            }
            Returned::Inexpressible(edits) => Recognized::Inexpressible(edits),
            Returned::Other => Recognized::Other,
        })
    }

    /// Returns the descriptions of a Thing that the caller may read, except for the served one: without edits, in
    /// other versions, and earlier states.
    fn other_texts(&self, record: &Record) -> Result<Vec<String>> {
        let versions = self.versions(&record.id)?.into_iter().filter(|version| version.is_readable);
        let mut texts: Vec<String> = versions.map(|version| version.text).collect();
        if record.is_edited {
            texts.extend(self.unedited_source(record)?.map(|(text, _)| text));
        }
        texts.extend(self.earlier_texts(&record.id)?);
        let mut known = HashSet::from([record.text.clone()]);
        texts.retain(|text| known.insert(text.clone()));
        Ok(texts)
    }

    /// Earlier descriptions of a Thing; empty if it was changed very often.
    fn earlier_texts(&self, id: &str) -> Result<Vec<String>> {
        let changes = self.history(id, Seq::ZERO, MOST_CHANGES)?;
        if changes.len() == MOST_CHANGES {
            return Ok(Vec::new());
        }
        let mut texts: Vec<String> = Vec::new();
        for change in changes {
            match (change.kind, change.td, change.patch) {
                (ChangeKind::Deleted, ..) => texts.clear(),
                (_, Some(td), _) => texts.push(td.get().to_owned()),
                (_, None, Some(patch)) => {
                    let before = texts.last().map(String::as_str).unwrap_or("{}");
                    texts.push(merge_patch::apply(before, patch.get())?);
                }
                _ => {}
            }
        }
        Ok(texts.split_off(texts.len().saturating_sub(MOST_EARLIER)))
    }
}

/// Member of an MCP server that was withdrawn by its registry. The server's own document doesn't contain it.
const WITHDRAWN: &str = "mcp:withdrawn";

fn unchanged(record: Record, warning: Option<Violation>) -> ReturnedThing {
    ReturnedThing { id: record.id, seq: record.seq, text: record.text, warning }
}
