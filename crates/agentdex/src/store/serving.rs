//! Serving: deriving the served text of a record from its declarations and edits.

use std::collections::BTreeMap;

use serde_json::Value;
use sled::IVec;

use super::{
    applier::{Applier, Description, Found},
    declaration::{Declaration, Declarations, Declarer},
    layout,
    sum::Digest,
    value::{self, Content, StoredRecord},
    write::{Edits, Expiry, Original, Outcome, Remark},
};
use crate::{
    Result,
    access::{Access, Visibility},
    change::{ChangeKind, Seq},
    td::{self, Document, Identity, Strictness, merge_patch},
};

/// A new text of a declaration.
pub(super) struct Brought {
    pub by: Declarer,
    pub version: Option<String>,
    pub text: String,
    pub capabilities: Vec<String>,
    pub original: Option<(IVec, String)>,
}

/// A record as it is to be.
pub(super) struct Next {
    pub text: String,
    pub capabilities: Vec<String>,
    pub access: Access,
    pub expiry: Expiry,
    /// Declarations, the served one first. The entry of a new text is in `brought`.
    pub declarations: Declarations,
    pub edits: Option<Edits>,
    /// New text of a declaration, which is not yet stored: its base is [`UNSTORED`].
    pub brought: Option<Brought>,
}

/// Base of a text that is not stored yet, later than any position.
pub(super) const UNSTORED: Seq = Seq(u64::MAX);

/// Returns the capability keys of a description. Every change of a Thing repeats them, so keys longer than the limit
/// for ids are left out.
pub fn capability_keys(thing: &Value) -> Vec<String> {
    let capabilities = td::capabilities(thing);
    let keys = capabilities.iter().map(td::Capability::key).filter(|key| key.len() <= td::MAX_ID_BYTES);
    keys.map(str::to_owned).collect()
}

impl Applier<'_> {
    /// Renders declarations, of which the first is the best.
    pub(super) fn rendered(
        &mut self,
        (id, live): (&str, &Found<'_>),
        (access, expiry): (Access, Expiry),
        declarations: Declarations,
        edits: Option<Edits>,
        brought: Option<Brought>,
    ) -> Result<Next> {
        let best = declarations.0.first().ok_or_else(layout::corrupt)?;
        let base = match &brought {
            Some(brought) if best.base == UNSTORED => brought.text.clone(),
            _ => {
                let text = self.overlay.get(&layout::text_key(best.base))?.ok_or_else(layout::corrupt)?;
                value::text(&text)?.to_owned()
            }
        };
        let over = edits.as_ref().filter(|_| declarations.take_edits());
        // What was edited where fewer saw it isn't shown to more. A record of its own has one access for all that it was.
        let is_shown = |edits: &&Edits| !declarations.is_part() || is_within(&access, &edits.access);
        let edited = over.filter(is_shown).and_then(|edits| edited(id, &base, &edits.patch));
        if over.is_some() && edited.is_none() {
            self.remarks.push(Remark::EditsNotServed(id.to_owned()));
        }
        let access = self.access_to_serve((id, live), access, best, edited.is_some())?;
        let (text, capabilities) = match (edited, &brought) {
            (Some(edited), _) => edited,
            (None, Some(brought)) if best.base == UNSTORED => (base, brought.capabilities.clone()),
            (None, _) => {
                let document = Document::parse(base.as_bytes())?;
                let capabilities = capability_keys(document.value());
                (base, capabilities)
            }
        };
        Ok(Next { text, capabilities, access, expiry, declarations, edits, brought })
    }

    /// Stores the new state of a record. Appends a change only if the served text changes.
    pub(super) fn serve(&mut self, id: &str, live: &Found<'_>, next: Next, actor: Option<String>) -> Result<Outcome> {
        self.remark_on_conflicts(id, live, &next)?;
        let Next { text, capabilities, access, expiry, mut declarations, edits, brought } = next;
        let old = &live.record;
        let before = old.declared()?;
        let publishes = self.assign_accesses(live, &access, &mut declarations, edits.is_some())?;
        let shows_more = self.author.access.all_versions || !is_within(&access, &live.access);
        if shows_more || declarations.0.len() < before.0.len() {
            self.remark_on_hidden(id, &declarations, &access)?;
        }
        let held = self.served_text(old)?;
        let patch = merge_patch::diff(value::text(&held)?, &text);
        let format = declarations.0.first().and_then(|served| served.format.clone());
        let is_other = patch.is_some() || access != live.access || format.as_deref() != old.format;
        let changes = is_other || publishes;
        let served = Digest::of(text.as_bytes());
        let mut has_other_original = false;
        if let Some(brought) = brought {
            // A text that is there already keeps its place.
            let digest = Digest::of(brought.text.as_bytes());
            let is_free = |one: &&Declaration| declarations.0.iter().all(|other| other.base != one.base);
            let known = before.0.iter().filter(|one| one.by == brought.by && one.text == digest).find(is_free).cloned();
            let is_served = declarations.0.first().is_some_and(|first| first.base == UNSTORED) && edits.is_none();
            let base = match &known {
                Some(known) => known.base,
                None if is_served && changes => self.next_seq(),
                None => self.append(Content::Declaration(id.to_owned()), actor.clone()),
            };
            if let Some(declaration) = declarations.0.iter_mut().find(|declaration| declaration.base == UNSTORED) {
                declaration.base = base;
            }
            if known.is_none() {
                self.overlay.set(layout::text_key(base), Some(IVec::from(brought.text.as_bytes())));
            }
            let original = brought.original.map(|(original, _)| original);
            if original.is_some() || known.is_some_and(|known| known.original.is_some()) {
                let is_other = self.overwrite(layout::original_key(base), original)?;
                has_other_original = is_other && declarations.0.first().is_some_and(|first| first.base == base);
            }
        }
        let seq = if changes { self.next_seq() } else { old.seq };
        if changes {
            let texts = (Some(&*held), Some(text.as_bytes()));
            self.audit(ChangeKind::Updated, id, texts, (Some(&live.access), Some(&access)));
            // The text that was served moves to the position of the change, if it is served still. Several may declare it,
            // but not with another original: that lies at the same position.
            let brought = declarations.0.iter().find(|one| one.base == seq).map(|one| one.original);
            let moves = |one: &Declaration| brought.is_none_or(|original| original == one.original);
            let mut has_original = false;
            for declaration in &mut declarations.0 {
                if declaration.base == old.seq && declaration.text == served && moves(declaration) {
                    declaration.base = seq;
                    has_original |= declaration.original.is_some();
                }
            }
            if has_original {
                let original = self.overlay.get(&layout::original_key(old.seq))?;
                self.overwrite(layout::original_key(old.seq), None)?;
                self.set(layout::original_key(seq), original);
            }
            self.leave_served(id, old, declarations.0.iter().any(|declaration| declaration.base == old.seq))?;
            self.set(layout::text_key(seq), Some(IVec::from(text.as_bytes())));
        }
        for gone in &before.0 {
            if declarations.0.iter().all(|declaration| declaration.base != gone.base) {
                self.drop_base(gone, old.seq, seq)?;
            }
        }
        let digest = self.set_edits(id, old, edits)?;
        self.move_expiry(id, old.has_expiry, expiry)?;
        let first = declarations.0.first();
        let (original, format) = (first.and_then(|first| first.original), first.and_then(|first| first.format.clone()));
        let are_implied = digest.is_none() && declarations.are_implied(seq);
        let record = StoredRecord {
            has_expiry: expiry != Expiry::default(),
            is_creation: old.is_creation && !changes,
            seq,
            modified: if changes { self.modified(old.created) } else { old.modified },
            // What differs by the order of its members alone isn't written.
            text: if changes { served } else { old.text },
            original,
            format: format.as_deref(),
            capabilities: &value::block_of(&capabilities),
            access: &value::encode_access(&access),
            declarations: &if are_implied { Vec::new() } else { declarations.encode() },
            edits: digest,
            ..*old
        };
        if record != *old {
            self.set(layout::record_key(id), Some(record.encode()));
        }
        if original.is_none() && old.has_original() {
            self.overwrite(layout::metadata_key(id), None)?;
        }
        if changes {
            self.restrict(id, &live.access, &access);
            self.log_update(id, live, (capabilities, access), patch.unwrap_or_else(|| "{}".to_owned()), actor)?;
            return Ok(Outcome::Updated(seq));
        }
        if has_other_original {
            return Ok(Outcome::OriginalUpdated(seq));
        }
        let has_other_versions = unserved(&before) != unserved(&declarations);
        Ok(if has_other_versions { Outcome::VersionsUpdated(seq) } else { Outcome::Renewed(seq) })
    }

    /// Changes the owner and visibility of a record with declarations.
    pub(super) fn serve_to(
        &mut self,
        id: &str,
        live: &Found<'_>,
        access: Access,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let (text, capabilities) = (self.served_text(&live.record)?, live.record.capability_keys()?);
        let (declarations, edits) = self.declared(id, live)?;
        let (text, expiry, brought) = (value::text(&text)?.to_owned(), live.expiry, None);
        let next = Next { text, capabilities, access, expiry, declarations, edits, brought };
        self.serve(id, live, next, actor)
    }

    pub(super) fn served_text(&mut self, record: &StoredRecord<'_>) -> Result<IVec> {
        self.overlay.get(&layout::text_key(record.seq))?.ok_or_else(layout::corrupt)
    }

    fn set_edits(&mut self, id: &str, old: &StoredRecord<'_>, edits: Option<Edits>) -> Result<Option<Digest>> {
        if edits.is_none() && old.edits.is_none() {
            return Ok(None);
        }
        let encoded = edits.as_ref().map(value::encode_edits);
        let digest = encoded.as_deref().map(Digest::of);
        self.overwrite(layout::edits_key(id), encoded)?;
        Ok(digest)
    }

    pub(super) fn edits(&mut self, id: &str, record: &StoredRecord<'_>) -> Result<Option<Edits>> {
        if record.edits.is_none() {
            return Ok(None);
        }
        let stored = self.overlay.get(&layout::edits_key(id))?.ok_or_else(layout::corrupt)?;
        value::decode_edits(&stored).map(Some)
    }

    /// Drops the text and the original of a declaration that ended. The text that is served, or was until this change, is dealt
    /// with apart.
    fn drop_base(&mut self, gone: &Declaration, was_served: Seq, is_served: Seq) -> Result<()> {
        if gone.original.is_some() {
            self.overwrite(layout::original_key(gone.base), None)?;
        }
        if gone.base != was_served && gone.base != is_served && !self.is_creation_logged(gone.base)? {
            self.overwrite(layout::text_key(gone.base), None)?;
        }
        Ok(())
    }

    /// True if the log has a creation at a position, whose text lies there.
    fn is_creation_logged(&mut self, seq: Seq) -> Result<bool> {
        let Some(entry) = self.overlay.get_open(&layout::log_key(seq))? else { return Ok(false) };
        Ok(value::Entry::decode(seq, &entry)?.change().is_some_and(|change| change.kind == ChangeKind::Created))
    }

    /// Releases the text served before, which a declaration may still need.
    fn leave_served(&mut self, id: &str, old: &StoredRecord<'_>, is_needed: bool) -> Result<()> {
        if !is_needed {
            return self.leave_text(id, old);
        }
        if old.is_creation && self.overlay.get_open(&layout::log_key(old.seq))?.is_some() {
            self.set(layout::history_key(id, old.seq), Some(IVec::default()));
        }
        Ok(())
    }

    /// Drops the declarations of a removed record.
    pub(super) fn drop_declarations(&mut self, id: &str, record: &StoredRecord<'_>) -> Result<()> {
        if !record.has_original() && record.declarations.is_empty() {
            return Ok(());
        }
        let declarations = record.declared()?;
        for gone in &declarations.0 {
            self.drop_base(gone, record.seq, record.seq)?;
        }
        if record.edits.is_some() {
            self.overwrite(layout::edits_key(id), None)?;
        }
        self.leave_documents(id, &declarations).map(drop)
    }
}

impl Brought {
    pub fn new(by: Declarer, version: Option<String>, put: Description, original: Option<&Original>) -> Brought {
        let original = original.map(|original| (value::encode_original(original), original.format.clone()));
        Brought { by, version, text: put.text, capabilities: put.capabilities, original }
    }

    pub fn declaration(&self) -> Declaration {
        Declaration {
            by: self.by.clone(),
            version: self.version.clone(),
            base: UNSTORED,
            format: self.original.as_ref().map(|(_, format)| format.clone()),
            text: Digest::of(self.text.as_bytes()),
            original: self.original.as_ref().map(|(original, _)| Digest::of(original)),
            access: None,
            unknown: Vec::new(),
        }
    }
}

/// Returns the versions of a record that aren't served, with the digests of their texts and originals.
fn unserved(declarations: &Declarations) -> BTreeMap<Option<&str>, (Digest, Option<Digest>)> {
    let others = declarations.0.iter().skip(1).filter(|one| one.by == Declarer::Itself);
    others.map(|one| (one.version.as_deref(), (one.text, one.original))).collect()
}

/// Returns the text and the capability keys of a description with edits, or `None` if the result is invalid.
fn edited(id: &str, base: &str, patch: &str) -> Option<(String, Vec<String>)> {
    let document = Document::parse(merge_patch::apply(base, patch).ok()?.as_bytes()).ok()?;
    let admission = td::admit(document, Identity::Addressed(id), Strictness::Lenient).ok()?;
    let capabilities = capability_keys(admission.thing.value());
    Some((admission.thing.into_text(), capabilities))
}

/// True if every caller admitted by one access is also admitted by the other.
pub(super) fn is_within(one: &Access, other: &Access) -> bool {
    match other.visibility {
        Visibility::Public => true,
        Visibility::Namespace if one.visibility == Visibility::Namespace => one.number == other.number,
        Visibility::Namespace | Visibility::Private => one.visibility == Visibility::Private,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_gives_no_valid_description_is_not_served() {
        let base = r#"{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"urn:a","title":"A","securityDefinitions":{"n":{"scheme":"nosec"}},"security":"n"}"#;
        assert!(edited("urn:a", base, r#"{"title": "B"}"#).unwrap().0.contains("\"B\""));
        assert!(edited("urn:a", base, r#"{"actions": {"gone": {"title": "B"}}}"#).is_none());
    }
}
