//! Declarations as they are written: who says that a record is there, which of its texts is served, and what was edited.
//!
//! A record that declares itself, with what is served, has none of this stored. All others are served by one function: from
//! their declarations, their edits and the accesses of the documents that they are parts of comes what readers get.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sled::IVec;

use super::{
    applier::{Applier, Description, Found, Particulars},
    declaration::{Declaration, Declarations, Declarer, MOST_VERSIONS},
    layout,
    sum::Digest,
    value::{self, Content, StoredRecord},
    write::{Declares, Edits, Expiry, Original, Outcome, OwnDeclaration, Remark},
};
use crate::{
    Error, Result,
    access::{Access, Visibility},
    change::{ChangeKind, DeletionReason, Precondition, Seq},
    td::{self, Document, Identity, Strictness, merge_patch},
};

/// A text that a declaration brings.
struct Brought {
    by: Declarer,
    version: Option<String>,
    text: String,
    capabilities: Vec<String>,
    original: Option<(IVec, String)>,
}

/// What a record is to be.
struct Next {
    text: String,
    capabilities: Vec<String>,
    access: Access,
    expiry: Expiry,
    /// The served one first; without what is brought, if that is new.
    declarations: Declarations,
    edits: Option<Edits>,
    /// A text that a declaration among them brings, and isn't stored yet: its base is [`UNSTORED`].
    brought: Option<Brought>,
}

/// The base of a text that isn't stored yet: the latest.
const UNSTORED: Seq = Seq(u64::MAX);

/// The keys that a description is found by. Every change of a Thing repeats them; one that is longer than an id may be is none.
pub fn capability_keys(thing: &Value) -> Vec<String> {
    let capabilities = td::capabilities(thing);
    let keys = capabilities.iter().map(td::Capability::key).filter(|key| key.len() <= td::MAX_ID_BYTES);
    keys.map(str::to_owned).collect()
}

impl Applier<'_> {
    /// The declarations of a record that is new, encoded; nothing where it declares itself in no version.
    pub(super) fn declarations_of_new(
        &self,
        record: &StoredRecord<'_>,
        declarer: Option<(Declarer, Option<String>)>,
    ) -> Vec<u8> {
        let Some((by, version)) = declarer else { return Vec::new() };
        let format = record.format.map(str::to_owned);
        let declaration =
            Declaration { by, version, base: record.seq, format, text: record.text, original: record.original };
        Declarations(vec![declaration]).encode()
    }

    /// Creates a record that declares itself.
    pub(super) fn create_declared(
        &mut self,
        particulars: Particulars<'_>,
        declares: Declares,
        description: Description,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let mut declarer = None;
        if let Declares::Itself(OwnDeclaration { version, expected, .. }) = declares {
            check_version(particulars.id, expected, None)?;
            // That of an import is in its text.
            declarer = version.filter(|_| particulars.original.is_none()).map(|v| (Declarer::Itself, Some(v)));
        }
        let access = self.author.access.applied_to(&self.author.to_new);
        self.check_member(particulars.id, &access)?;
        self.create(particulars, (declarer, access), description.text, description.capabilities, actor)
    }

    /// Takes the declaration of a record by itself.
    pub(super) fn declare_itself(
        &mut self,
        particulars: Particulars<'_>,
        live: &Found<'_>,
        own: OwnDeclaration,
        description: Description,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let (id, old) = (particulars.id, &live.record);
        let mut declarations = old.declared()?;
        let was_part = declarations.is_part();
        let version =
            self.settle_versions(&mut declarations, own.version.as_deref(), own.is_sole, &description.text)?;
        let before = declarations.find(&Declarer::Itself, version.as_deref()).map(|declaration| declaration.base);
        check_version(id, own.expected, before)?;
        if declarations.0.is_empty() && old.edits.is_none() && old.declarations.is_empty() {
            return self.replace(particulars, live, description, actor);
        }
        if was_part {
            self.say_left(id, &declarations);
            self.leave_documents(id, &declarations)?;
            declarations.0.clear();
        }
        let access = self.author.access.applied_to(&live.access);
        self.check_member(id, &access)?;
        let edits = self.edits(id, old)?;
        self.remark_on_conflicts(id, old, edits.as_ref(), &description.text)?;
        let brought = Brought::new(Declarer::Itself, version.clone(), description, particulars.original);
        declarations.release(&Declarer::Itself, Some(version.as_deref()));
        declarations.0.push(brought.declaration());
        declarations.choose(|_| true);
        while declarations.0.len() > MOST_VERSIONS {
            let lowest = declarations.0.iter().min_by(|one, other| one.compare(other)).map(|lowest| lowest.base);
            let dropped = declarations.0.extract_if(.., |declaration| Some(declaration.base) == lowest);
            for declaration in dropped.collect::<Vec<_>>() {
                self.remarks.push(Remark::VersionDropped(id.to_owned(), declaration.version));
            }
        }
        if let Some(served) = declarations.0.first().filter(|served| served.base != UNSTORED) {
            self.remarks.push(Remark::NotServed { id: id.to_owned(), served: served.version.clone() });
        }
        let next = self.rendered(id, (access, particulars.expiry), declarations, edits, Some(brought))?;
        let outcome = self.serve(id, live, next, actor)?;
        if matches!(outcome, Outcome::Updated(_)) {
            // It was of what was imported before.
            self.overwrite(layout::metadata_key(id), None)?;
        }
        Ok(outcome)
    }

    /// The version under which a record is declared by itself, among others or as the only one. Where it is the only one that
    /// there will be, the others are taken out.
    fn settle_versions(
        &mut self,
        declarations: &mut Declarations,
        version: Option<&str>,
        is_sole: bool,
        text: &str,
    ) -> Result<Option<String>> {
        let Some(version) = version.filter(|_| !is_sole && !declarations.is_part()) else {
            if !declarations.is_part() {
                declarations.0.clear();
            }
            return Ok(None);
        };
        if let [only] = declarations.0.as_slice()
            && only.version.is_none()
            && only.text == Digest::of(text.as_bytes())
        {
            // The same again.
            declarations.0.clear();
            return Ok(None);
        }
        // What was imported as the only one has its version in its text alone.
        for declaration in &mut declarations.0 {
            if declaration.version.is_none() {
                let text = self.overlay.get(&layout::text_key(declaration.base))?.ok_or_else(layout::corrupt)?;
                declaration.version = version_of(value::text(&text)?);
            }
        }
        // What has no version is replaced by what has one.
        declarations.0.retain(|declaration| declaration.version.is_some());
        let is_alone = declarations.0.iter().all(|declaration| declaration.version.as_deref() == Some(version));
        if is_alone {
            declarations.0.clear();
            return Ok(None);
        }
        Ok(Some(version.to_owned()))
    }

    /// Takes a description that somebody wrote by hand.
    pub(super) fn put_by_hand(
        &mut self,
        particulars: Particulars<'_>,
        live: &Found<'_>,
        replaces: bool,
        description: Description,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let (id, old) = (particulars.id, &live.record);
        if old.declarations.is_empty() && !old.has_original() {
            return self.replace(particulars, live, description, actor);
        }
        let declarations = old.declared()?;
        let access = self.author.access.applied_to(&live.access);
        let is_part = declarations.is_part();
        if replaces && !self.is_related(live, &description)? {
            self.remarks.push(Remark::DeclarationsEnded(id.to_owned()));
            self.overwrite(layout::metadata_key(id), None)?;
            if is_part {
                self.say_left(id, &declarations);
                self.leave_documents(id, &declarations)?;
            }
            self.check_member(id, &access)?;
            let brought = Brought::new(Declarer::Itself, None, description, None);
            let declarations = Declarations(vec![brought.declaration()]);
            let next = self.rendered(id, (access, particulars.expiry), declarations, None, Some(brought))?;
            return self.serve(id, live, next, actor);
        }
        let expiry = if is_part { live.expiry } else { particulars.expiry };
        if is_part && access != live.access {
            return Err(part_of_document(id, &declarations));
        }
        self.check_member(id, &access)?;
        let base = declarations.0.first().ok_or_else(layout::corrupt)?.base;
        let base = self.overlay.get(&layout::text_key(base))?.ok_or_else(layout::corrupt)?;
        let patch = merge_patch::diff(value::text(&base)?, &description.text);
        let edits = patch.map(|patch| Edits { access: access.clone(), patch });
        let Description { text, capabilities, .. } = description;
        self.serve(id, live, Next { text, capabilities, access, expiry, declarations, edits, brought: None }, actor)
    }

    /// Fails where the access of a part of documents is to be changed, which is theirs.
    pub(super) fn check_access_is_its_own(&self, id: &str, live: &Found<'_>) -> Result<()> {
        let declarations = live.record.declared()?;
        let is_other = self.author.access.applied_to(&live.access) != live.access;
        if is_other && declarations.is_part() { Err(part_of_document(id, &declarations)) } else { Ok(()) }
    }

    /// Takes the declaration of a part by the document of another record.
    pub(super) fn declare_part(
        &mut self,
        particulars: Particulars<'_>,
        live: Option<&Found<'_>>,
        (document, version): (String, Option<String>),
        description: Description,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let id = particulars.id;
        // One that expires at once has no parts.
        let Some((whole_access, whole_expiry, _)) = self.whole(&document)? else {
            return Ok(Outcome::Renewed(live.map_or(Seq::ZERO, |live| live.record.seq)));
        };
        let by = Declarer::Document(document);
        let Some(live) = live else {
            let particulars = Particulars { expiry: whole_expiry, ..particulars };
            let declarer = Some((by, version));
            return self.create(
                particulars,
                (declarer, whole_access),
                description.text,
                description.capabilities,
                actor,
            );
        };
        let mut declarations = live.record.declared()?;
        if !declarations.is_part() || live.access.owner != whole_access.owner {
            self.remarks.push(Remark::PartExists(id.to_owned()));
            return Ok(Outcome::Renewed(live.record.seq));
        }
        let edits = self.edits(id, &live.record)?;
        self.remark_on_conflicts(id, &live.record, edits.as_ref(), &description.text)?;
        let brought = Brought::new(by.clone(), version.clone(), description, particulars.original);
        declarations.release(&by, Some(version.as_deref()));
        declarations.0.push(brought.declaration());
        self.settle_part(id, live, (declarations, edits), Some(brought), actor)
    }

    /// The access and the expiry of the record of a document, and its parts; none where it isn't there.
    fn whole(&mut self, document: &str) -> Result<Option<(Access, Expiry, bool)>> {
        let Some(bytes) = self.overlay.get(&layout::record_key(document))? else { return Ok(None) };
        let found = self.found(document, &bytes)?;
        let is_gone = found.expiry.is_due(self.moment.clock);
        Ok((!is_gone).then_some((found.access, found.expiry, found.record.has_parts)))
    }

    /// Makes a part what its documents say; it goes with the last of them.
    fn settle_part(
        &mut self,
        id: &str,
        live: &Found<'_>,
        (mut declarations, edits): (Declarations, Option<Edits>),
        brought: Option<Brought>,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let mut wholes = Vec::new();
        for document in declarations.documents() {
            if let Some((access, expiry, _)) = self.whole(document)? {
                wholes.push((document.to_owned(), access, expiry));
            }
        }
        let owner = match wholes.first() {
            Some((_, first, _)) if wholes.iter().all(|(_, access, _)| access.owner == first.owner) => {
                first.owner.clone()
            }
            _ => live.access.owner.clone(),
        };
        wholes.retain(|(_, access, _)| access.owner == owner);
        let is_there = |declaration: &Declaration| match &declaration.by {
            Declarer::Itself => false,
            Declarer::Document(document) => wholes.iter().any(|(whole, ..)| whole == document),
        };
        let left: Vec<Declaration> = declarations.0.extract_if(.., |one| !is_there(one)).collect();
        let left: BTreeSet<&str> = left.iter().filter_map(|declaration| declaration.document()).collect();
        for document in left {
            self.list_part(document, id, false)?;
        }
        let widest = wholes.iter().max_by_key(|(_, access, _)| width(access)).map(|(_, access, _)| access.clone());
        let Some(access) = widest else {
            let reason = match live.expiry.is_due(self.moment.clock) {
                true => DeletionReason::Expired,
                false => DeletionReason::SourceGone,
            };
            let seq = self.delete(id, live, reason, actor)?;
            self.remarks.push(Remark::PartRemoved(id.to_owned(), seq));
            return Ok(Outcome::Removed(seq));
        };
        declarations.choose(|declaration| {
            wholes
                .iter()
                .any(|(whole, of_whole, _)| Some(whole.as_str()) == declaration.document() && *of_whole == access)
        });
        let expiry = self.last_expiry(&declarations)?;
        let next = self.rendered(id, (access, expiry), declarations, edits, brought)?;
        self.serve(id, live, next, actor)
    }

    /// The last expiry of the documents of a part.
    fn last_expiry(&mut self, declarations: &Declarations) -> Result<Expiry> {
        let mut last: Option<Expiry> = None;
        let order = |expiry: &Expiry| (expiry.expires.is_none(), expiry.expires, expiry.ttl);
        for document in declarations.documents() {
            if let Some((_, expiry, _)) = self.whole(document)? {
                last = Some(last.map_or(expiry, |last| std::cmp::max_by_key(last, expiry, order)));
            }
        }
        Ok(last.unwrap_or_default())
    }

    /// What is served of declarations, of which the first is the best.
    fn rendered(
        &mut self,
        id: &str,
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
        // What was edited where fewer saw it isn't shown to more. A record of its own has one access for all that it was.
        let is_shown = |edits: &&Edits| !declarations.is_part() || is_within(&access, &edits.access);
        let edited = edits.as_ref().filter(is_shown).and_then(|edits| edited(id, &base, &edits.patch));
        if edits.is_some() && edited.is_none() {
            self.remarks.push(Remark::EditsNotServed(id.to_owned()));
        }
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

    /// Makes a record what it is to be. There is no change in the log where nothing that is served changes.
    fn serve(&mut self, id: &str, live: &Found<'_>, next: Next, actor: Option<String>) -> Result<Outcome> {
        let Next { text, capabilities, access, expiry, mut declarations, edits, brought } = next;
        let old = &live.record;
        let before = old.declared()?;
        let held = self.served_text(old)?;
        let patch = merge_patch::diff(value::text(&held)?, &text);
        let format = declarations.0.first().and_then(|served| served.format.clone());
        let changes = patch.is_some() || access != live.access || format.as_deref() != old.format;
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
            // The text that was served moves to the position of the change, if it is served still.
            for declaration in &mut declarations.0 {
                if declaration.base == old.seq && declaration.text == served {
                    declaration.base = seq;
                    if declaration.original.is_some() {
                        let original = self.overlay.get(&layout::original_key(old.seq))?;
                        self.overwrite(layout::original_key(old.seq), None)?;
                        self.set(layout::original_key(seq), original);
                    }
                }
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
            text: served,
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
        Ok(if has_other_original { Outcome::OriginalUpdated(seq) } else { Outcome::Renewed(seq) })
    }

    fn served_text(&mut self, record: &StoredRecord<'_>) -> Result<IVec> {
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

    fn edits(&mut self, id: &str, record: &StoredRecord<'_>) -> Result<Option<Edits>> {
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

    /// Leaves the text that was served, which a declaration may still need.
    fn leave_served(&mut self, id: &str, old: &StoredRecord<'_>, is_needed: bool) -> Result<()> {
        if !is_needed {
            return self.leave_text(id, old);
        }
        if old.is_creation && self.overlay.get_open(&layout::log_key(old.seq))?.is_some() {
            self.set(layout::history_key(id, old.seq), Some(IVec::default()));
        }
        Ok(())
    }

    /// Drops what a record that is removed was declared by.
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

    /// Says of a part that is removed by hand which documents have it.
    pub(super) fn say_who_loses(&mut self, id: &str, live: &Found<'_>) -> Result<()> {
        if !live.record.declarations.is_empty() {
            self.say_left(id, &live.record.declared()?);
        }
        Ok(())
    }

    fn say_left(&mut self, id: &str, declarations: &Declarations) {
        let documents: Vec<String> = declarations.documents().into_iter().map(str::to_owned).collect();
        if !documents.is_empty() {
            self.remarks.push(Remark::PartLeft { id: id.to_owned(), documents });
        }
    }

    /// Takes a part off the lists of the documents that declare it.
    fn leave_documents(&mut self, id: &str, declarations: &Declarations) -> Result<()> {
        for document in declarations.documents() {
            self.list_part(document, id, false)?;
        }
        Ok(())
    }

    /// The ids of the parts that a document declares.
    fn listed_parts(&mut self, document: &str) -> Result<BTreeSet<String>> {
        let stored = self.overlay.get(&layout::parts_key(document))?;
        Ok(stored.map(|stored| value::strings_of(&stored)).transpose()?.unwrap_or_default().into_iter().collect())
    }

    /// Puts a part on the list of a document, or takes it off.
    fn list_part(&mut self, document: &str, id: &str, is_part: bool) -> Result<()> {
        let mut ids = self.listed_parts(document)?;
        let is_other = if is_part { ids.insert(id.to_owned()) } else { ids.remove(id) };
        if is_other { self.list_parts(document, ids) } else { Ok(()) }
    }

    fn list_parts(&mut self, document: &str, ids: BTreeSet<String>) -> Result<()> {
        let ids: Vec<String> = ids.into_iter().collect();
        let list = (!ids.is_empty()).then(|| IVec::from(value::block_of(&ids)));
        let has_parts = list.is_some();
        self.overwrite(layout::parts_key(document), list)?;
        let key = layout::record_key(document);
        let Some(bytes) = self.overlay.get(&key)? else { return Ok(()) };
        let record = StoredRecord::decode(&bytes)?;
        if record.has_parts != has_parts {
            let record = StoredRecord { has_parts, ..record };
            self.set(key, Some(record.encode()));
        }
        Ok(())
    }

    /// Sets the parts that the document of a record declares in a version; what it had before and no longer has ends.
    pub(super) fn set_parts(
        &mut self,
        document: &str,
        live: &Found<'_>,
        version: Option<String>,
        ids: Vec<String>,
        actor: Option<String>,
    ) -> Result<Outcome> {
        if ids.is_empty() && !live.record.has_parts {
            return Ok(Outcome::Renewed(live.record.seq));
        }
        let ids: BTreeSet<String> = ids.into_iter().collect();
        let by = Declarer::Document(document.to_owned());
        if live.record.has_parts {
            for id in self.listed_parts(document)? {
                let Some(bytes) = self.overlay.get(&layout::record_key(&id))? else { continue };
                for declaration in StoredRecord::decode(&bytes)?.declared()?.0 {
                    let is_other = declaration.version != version;
                    // A document without versions has this one alone, and one with versions none without.
                    let is_superseded = is_other && (version.is_none() || declaration.version.is_none());
                    if declaration.by == by && (is_superseded || (!is_other && !ids.contains(&id))) {
                        self.release_part(&id, &by, Some(declaration.version.as_deref()), actor.clone())?;
                    }
                }
            }
        }
        let mut listed = self.listed_parts(document)?;
        for id in ids {
            let Some(bytes) = self.overlay.get(&layout::record_key(&id))? else { continue };
            if StoredRecord::decode(&bytes)?.declared()?.find(&by, version.as_deref()).is_some() {
                listed.insert(id);
            }
        }
        self.list_parts(document, listed)?;
        Ok(Outcome::Renewed(live.record.seq))
    }

    /// Makes a record a part of the document of another, where both are there and have one owner.
    pub(super) fn join(&mut self, document: &str, id: &str, actor: &Option<String>) -> Result<()> {
        let Some((whole, ..)) = self.whole(document)? else { return Ok(()) };
        let Some(bytes) = self.overlay.get(&layout::record_key(id))? else { return Ok(()) };
        let found = self.found(id, &bytes)?;
        let mut declarations = found.record.declared()?;
        let by = Declarer::Document(document.to_owned());
        if found.access.owner != whole.owner || id == document || declarations.find(&by, None).is_some() {
            return Ok(());
        }
        match declarations.is_part() {
            true => {
                let first = declarations.0.first().ok_or_else(layout::corrupt)?.clone();
                declarations.0.push(Declaration { by, version: None, ..first });
            }
            false => {
                declarations.0.truncate(1);
                for declaration in &mut declarations.0 {
                    (declaration.by, declaration.version) = (by.clone(), None);
                }
            }
        }
        let edits = self.edits(id, &found.record)?;
        self.settle_part(id, &found, (declarations, edits), None, actor.clone())?;
        self.list_part(document, id, true)
    }

    /// Ends the declaration of a part by a document: of one of its versions, or of all.
    fn release_part(
        &mut self,
        id: &str,
        by: &Declarer,
        version: Option<Option<&str>>,
        actor: Option<String>,
    ) -> Result<()> {
        let Some(bytes) = self.overlay.get(&layout::record_key(id))? else { return Ok(()) };
        let found = self.found(id, &bytes)?;
        let mut declarations = found.record.declared()?;
        if declarations.release(by, version).is_empty() {
            return Ok(());
        }
        if let Declarer::Document(document) = by
            && !declarations.documents().contains(&document.as_str())
        {
            self.list_part(document, id, false)?;
        }
        let edits = self.edits(id, &found.record)?;
        self.settle_part(id, &found, (declarations, edits), None, actor).map(drop)
    }

    /// Ends what the document of a record declared that is removed.
    pub(super) fn release_parts(&mut self, document: &str, actor: Option<String>) -> Result<()> {
        let by = Declarer::Document(document.to_owned());
        let parts = self.listed_parts(document)?;
        self.overwrite(layout::parts_key(document), None)?;
        parts.iter().try_for_each(|id| self.release_part(id, &by, None, actor.clone()))
    }

    /// Gives the parts of a document what its record has now: its access, owner and expiry.
    pub(super) fn let_parts_follow(&mut self, document: &str, before: &Found<'_>) -> Result<()> {
        let Some((access, expiry, _)) = self.whole(document)? else { return Ok(()) };
        if access == before.access && expiry == before.expiry {
            return Ok(());
        }
        for id in self.listed_parts(document)? {
            let Some(bytes) = self.overlay.get(&layout::record_key(&id))? else { continue };
            let found = self.found(&id, &bytes)?;
            let declarations = found.record.declared()?;
            if access == before.access {
                let expiry = self.last_expiry(&declarations)?;
                self.renew(Particulars { id: &id, expiry, original: None, created: None }, &found)?;
                continue;
            }
            let edits = self.edits(&id, &found.record)?;
            let actor = self.author.caller.owner().map(ToString::to_string);
            let documents: Vec<String> = declarations.documents().into_iter().map(str::to_owned).collect();
            self.settle_part(&id, &found, (declarations, edits), None, actor)?;
            let is_listed = self.listed_parts(document)?.contains(&id);
            if !is_listed && documents.iter().any(|other| other == document) {
                self.remarks.push(Remark::PartLeft { id, documents: vec![document.to_owned()] });
            }
        }
        Ok(())
    }

    /// Removes a version of a record, and the record with its last.
    pub(super) fn remove_version(
        &mut self,
        id: &str,
        live: &Found<'_>,
        (version, expected): (&str, Option<Precondition>),
        actor: Option<String>,
    ) -> Result<Outcome> {
        let mut declarations = live.record.declared()?;
        if declarations.is_part() {
            return Err(part_of_document(id, &declarations));
        }
        for declaration in &mut declarations.0 {
            if declaration.version.is_none() {
                let text = self.overlay.get(&layout::text_key(declaration.base))?.ok_or_else(layout::corrupt)?;
                declaration.version = version_of(value::text(&text)?);
            }
        }
        let released = declarations.release(&Declarer::Itself, Some(Some(version)));
        check_version(id, expected, released.first().map(|released| released.base))?;
        if released.is_empty() {
            return Err(Error::NoSuchVersion { id: id.to_owned(), version: version.to_owned() });
        }
        if declarations.0.is_empty() {
            return self.delete(id, live, DeletionReason::Removed, actor).map(Outcome::Removed);
        }
        if live.record.has_parts {
            let by = Declarer::Document(id.to_owned());
            for part in self.listed_parts(id)? {
                self.release_part(&part, &by, Some(Some(version)), actor.clone())?;
            }
        }
        declarations.choose(|_| true);
        let edits = self.edits(id, &live.record)?;
        let next = self.rendered(id, (live.access.clone(), live.expiry), declarations, edits, None)?;
        self.serve(id, live, next, actor)
    }

    /// Changes whose a record with declarations is, and who sees it.
    pub(super) fn serve_to(
        &mut self,
        id: &str,
        live: &Found<'_>,
        access: Access,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let (text, capabilities) = (self.served_text(&live.record)?, live.record.capability_keys()?);
        let next = Next {
            text: value::text(&text)?.to_owned(),
            capabilities,
            access,
            expiry: live.expiry,
            declarations: live.record.declared()?,
            edits: self.edits(id, &live.record)?,
            brought: None,
        };
        self.serve(id, live, next, actor)
    }

    /// Fails where a description has nothing in common with the one that is served.
    pub(super) fn check_related(&mut self, id: &str, live: &Found<'_>, description: &Description) -> Result<()> {
        if self.is_related(live, description)? {
            return Ok(());
        }
        let title = title_of(&self.served_text(&live.record)?).unwrap_or_default();
        Err(Error::Unrelated { id: id.to_owned(), title })
    }

    /// True if a description has something in common with the one that is served: a capability, the title, the description or
    /// the address of a form.
    fn is_related(&mut self, live: &Found<'_>, description: &Description) -> Result<bool> {
        let known = live.record.capability_keys()?;
        let has = |key: &String| known.iter().any(|other| other.eq_ignore_ascii_case(key));
        if description.capabilities.iter().any(has) {
            return Ok(true);
        }
        let held = self.served_text(&live.record)?;
        let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
        let (one, other) = (parse(value::text(&held)?), parse(&description.text));
        let same_text = |member: &str| match (one.get(member), other.get(member)) {
            (Some(Value::String(one)), Some(Value::String(other))) => one.eq_ignore_ascii_case(other),
            _ => false,
        };
        let addresses = addresses(&one);
        let is_known = |address: &String| addresses.contains(address);
        Ok(same_text("title") || same_text("description") || self::addresses(&other).iter().any(is_known))
    }

    /// Remarks what both a person and a new text of a declaration change.
    fn remark_on_conflicts(
        &mut self,
        id: &str,
        old: &StoredRecord<'_>,
        edits: Option<&Edits>,
        text: &str,
    ) -> Result<()> {
        let Some(edits) = edits else { return Ok(()) };
        let base = self.overlay.get(&layout::text_key(old.base()?))?.ok_or_else(layout::corrupt)?;
        let Some(change) = merge_patch::diff(value::text(&base)?, text) else { return Ok(()) };
        let parse = |patch: &str| serde_json::from_str::<Value>(patch).unwrap_or_default();
        let mut pointers = Vec::new();
        add_common(&parse(&edits.patch), &parse(&change), "", &mut pointers);
        if !pointers.is_empty() {
            self.remarks.push(Remark::EditsKept { id: id.to_owned(), pointers });
        }
        Ok(())
    }
}

impl Brought {
    fn new(by: Declarer, version: Option<String>, put: Description, original: Option<&Original>) -> Brought {
        let original = original.map(|original| (value::encode_original(original), original.format.clone()));
        Brought { by, version, text: put.text, capabilities: put.capabilities, original }
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            by: self.by.clone(),
            version: self.version.clone(),
            base: UNSTORED,
            format: self.original.as_ref().map(|(_, format)| format.clone()),
            text: Digest::of(self.text.as_bytes()),
            original: self.original.as_ref().map(|(original, _)| Digest::of(original)),
        }
    }
}

/// The text and the capability keys of a description with edits; none where that would be no valid description.
fn edited(id: &str, base: &str, patch: &str) -> Option<(String, Vec<String>)> {
    let document = Document::parse(merge_patch::apply(base, patch).ok()?.as_bytes()).ok()?;
    let admission = td::admit(document, Identity::Addressed(id), Strictness::Lenient).ok()?;
    let capabilities = capability_keys(admission.thing.value());
    Some((admission.thing.into_text(), capabilities))
}

/// True if all who see a record with one access see it with another, too.
fn is_within(one: &Access, other: &Access) -> bool {
    match other.visibility {
        Visibility::Public => true,
        Visibility::Namespace if one.visibility == Visibility::Namespace => one.number == other.number,
        Visibility::Namespace | Visibility::Private => one.visibility == Visibility::Private,
    }
}

/// The more who see a record, the more.
fn width(access: &Access) -> u8 {
    match access.visibility {
        Visibility::Private => 0,
        Visibility::Namespace => 1,
        Visibility::Public => 2,
    }
}

/// The version that a description names.
pub fn version_of(text: &str) -> Option<String> {
    let thing = serde_json::from_str::<Map<String, Value>>(text).ok()?;
    thing.get("version")?.get("instance")?.as_str().map(str::to_owned)
}

fn title_of(text: &[u8]) -> Option<String> {
    serde_json::from_slice::<Map<String, Value>>(text).ok()?.get("title")?.as_str().map(str::to_owned)
}

fn check_version(id: &str, expected: Option<Precondition>, found: Option<Seq>) -> Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    let holds = match expected {
        Precondition::Any => true,
        Precondition::Absent => found.is_none(),
        Precondition::Present => found.is_some(),
        Precondition::Seq(seq) => found == Some(seq),
    };
    if holds { Ok(()) } else { Err(Error::PreconditionFailed { id: id.to_owned(), expected, found }) }
}

fn part_of_document(id: &str, declarations: &Declarations) -> Error {
    let documents = declarations.documents().into_iter().map(str::to_owned).collect();
    Error::PartOfDocument { id: id.to_owned(), documents }
}

/// The addresses of the forms of a description.
fn addresses(thing: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |owner: &Value| {
        let forms = owner.get("forms").and_then(Value::as_array).into_iter().flatten();
        found.extend(forms.filter_map(|form| form.get("href")?.as_str().map(str::to_owned)));
    };
    for kind in ["actions", "properties", "events"] {
        thing.get(kind).and_then(Value::as_object).into_iter().flatten().for_each(|(_, affordance)| add(affordance));
    }
    let forms = thing.get("forms").and_then(Value::as_array).into_iter().flatten();
    found.extend(forms.filter_map(|form| form.get("href")?.as_str().map(str::to_owned)));
    found
}

/// Adds the pointers that two merge patches both change.
fn add_common(one: &Value, other: &Value, pointer: &str, found: &mut Vec<String>) {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        found.push(pointer.to_owned());
        return;
    };
    for (name, value) in one {
        if let Some(other) = other.get(name) {
            let name = name.replace('~', "~0").replace('/', "~1");
            add_common(value, other, &format!("{pointer}/{name}"), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_that_both_change_are_found() {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let mut found = Vec::new();
        let one = parse(r#"{"title": "a", "actions": {"x/y": {"title": "b"}, "z": null}, "support": "s"}"#);
        let other = parse(r#"{"actions": {"x/y": {"title": "c", "safe": true}, "z": {"a": 1}}, "title": null}"#);
        add_common(&one, &other, "", &mut found);
        found.sort();
        assert_eq!(found, ["/actions/x~1y/title", "/actions/z", "/title"]);
    }

    #[test]
    fn an_edit_that_gives_no_valid_description_is_not_served() {
        let base = r#"{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"urn:a","title":"A","securityDefinitions":{"n":{"scheme":"nosec"}},"security":"n"}"#;
        assert!(edited("urn:a", base, r#"{"title": "B"}"#).unwrap().0.contains("\"B\""));
        assert!(edited("urn:a", base, r#"{"actions": {"gone": {"title": "B"}}}"#).is_none());
    }
}
