//! Writing declarations: by hand, by the record itself in its versions, and the end of declarations.
//!
//! Nothing is stored for a record that declares itself with the served text. All other records are
//! [served](super::serving) from their declarations, their edits, and the access of the documents of which they are
//! [parts](super::parts).

use serde_json::{Map, Value};

use super::{
    applier::{Applier, Description, Found, Particulars},
    declaration::{Declaration, Declarations, Declarer, MOST_VERSIONS},
    layout,
    parts::part_of_document,
    serving::{Brought, Next, UNSTORED, is_within},
    text_access::TextAccess,
    value::{self, StoredRecord},
    write::{Declares, Edited, Edits, Expiry, Outcome, OwnDeclaration, Remark},
};
use crate::{
    Error, Result,
    access::Access,
    change::{DeletionReason, Precondition, Seq},
    td::merge_patch,
};

impl Applier<'_> {
    /// Returns the encoded declarations of a new record. Empty if it declares itself without a version.
    pub(super) fn declarations_of_new(
        &self,
        record: &StoredRecord<'_>,
        declarer: Option<(Declarer, Option<String>)>,
    ) -> Vec<u8> {
        let Some((by, version)) = declarer else { return Vec::new() };
        let format = record.format.map(str::to_owned);
        let (base, text, original) = (record.seq, record.text, record.original);
        let (access, unknown) = (None, Vec::new());
        Declarations(vec![Declaration { by, version, base, format, text, original, access, unknown }]).encode()
    }

    /// Creates a record that declares itself.
    pub(super) fn create_declared(
        &mut self,
        particulars: Particulars<'_>,
        declares: Declares,
        description: Description,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let access = self.author.access.applied_to(&self.author.to_new);
        self.check_member(particulars.id, &access)?;
        let Declares::Itself(own) = declares else {
            return self.create(particulars, (None, access), description.text, description.capabilities, actor);
        };
        check_version(particulars.id, own.expected, None)?;
        if let Some(Edited { text, capabilities }) = own.edited.clone() {
            let plain = Particulars { original: None, ..particulars };
            let created = self.create(plain, (None, access), text, capabilities, actor.clone())?;
            let stored = self.overlay.get(&layout::record_key(particulars.id))?.ok_or_else(layout::corrupt)?;
            let live = self.found(particulars.id, &stored)?;
            let own = OwnDeclaration { is_sole: true, expected: None, ..own };
            self.declare_itself(particulars, &live, own, description, actor)?;
            return Ok(created);
        }
        // That of an import is in its text.
        let version = own.version.filter(|_| particulars.original.is_none());
        let declarer = version.map(|version| (Declarer::Itself, Some(version)));
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
        let (mut declarations, mut edits) = self.declared(id, live)?;
        let (served, was_part) = (declarations.0.first().cloned(), declarations.is_part());
        let format = particulars.original.map(|original| original.format.as_str());
        let is_import = format.is_some();
        if !was_part {
            self.name_versions(&mut declarations)?;
        }
        let replaces_all = own.replaces_all();
        if replaces_all {
            let version = own.version.clone().or_else(|| version_of(&description.text));
            let is_kept = |one: &Declaration| one.version == version && one.format.as_deref() == format;
            if edits.take().is_some() || !declarations.0.iter().all(is_kept) {
                self.remarks.push(Remark::DeclarationsEnded(id.to_owned()));
            }
        }
        let is_in_version = own.version.is_some() && !is_import && !replaces_all;
        if is_in_version && self.is_text_of_version(&declarations, &own, &description.text)? {
            let access = self.author.access.applied_to(&live.access);
            if own.access.is_none() && access == live.access {
                check_version(id, own.expected, base_of(&declarations, &own))?;
                return self.renew(particulars, live);
            }
        }
        let version = settle_versions(id, &mut declarations, &own, is_import)?;
        let lossless_in = format.filter(|_| own.only_lossless);
        let is_plain = edits.is_none() && old.declarations.is_empty() && own.edited.is_none();
        if declarations.0.is_empty() && version.is_none() && is_plain {
            if let Some(format) = lossless_in {
                self.check_lossless(id, live, (format, &[]), &description.text)?;
            }
            return self.replace(particulars, live, description, actor);
        }
        if was_part {
            self.say_left(id, &declarations);
            self.leave_documents(id, &declarations)?;
            declarations.0.clear();
        }
        let access = self.author.access.applied_to(&live.access);
        self.check_member(id, &access)?;
        let kept: Vec<Seq> = declarations.0.iter().map(|declaration| declaration.base).collect();
        // A text without a version comes in the place of whatever is served, as far as its author knows.
        let unversioned = lossless_in.filter(|_| version.is_none()).map(|_| description.text.clone());
        let mut brought = Some(Brought::new(Declarer::Itself, version, description, particulars.original));
        let inherited = match served.filter(|_| edits.is_some() && is_import) {
            Some(served) => self.inherited(&served, live, &access)?,
            None => None,
        };
        let follows = inherited.is_some() && own.access.is_none();
        declarations.0.extend(brought.as_ref().map(|brought| Declaration {
            access: own.access.map(TextAccess::from).or(inherited),
            ..brought.declaration()
        }));
        self.choose(&mut declarations, (live, &access), follows)?;
        if self.drop_lowest(id, &mut declarations) {
            brought = None;
        }
        if let Some(served) = declarations.0.first().filter(|served| served.base != UNSTORED) {
            let (id, served) = (id.to_owned(), served.version.clone());
            let publishes_served = !self.author.access.all_versions && !is_within(&access, &live.access);
            if own.only_itself_published && publishes_served {
                return Err(Error::VersionNotServed { id, served });
            }
            self.remarks.push(Remark::NotServed { id, served });
        }
        let unserved = unversioned.filter(|_| declarations.0.first().is_some_and(|served| served.base != UNSTORED));
        let expiry = particulars.expiry;
        let next = match (own.edited, brought) {
            (Some(edited), Some(brought)) => {
                self.edited((id, live), (access, expiry), declarations, edited, brought)?
            }
            (_, brought) => self.rendered((id, live), (access, expiry), declarations, edits, brought)?,
        };
        if let Some(format) = lossless_in {
            let (kept, text) = unserved.as_deref().map_or((&*kept, &*next.text), |text| (&[], text));
            self.check_lossless(id, live, (format, kept), text)?;
        }
        let outcome = self.serve(id, live, next, actor)?;
        if replaces_all || matches!(outcome, Outcome::Updated(_)) {
            // It was of what was imported before. An import by URL has its own written afterwards.
            self.overwrite(layout::metadata_key(id), None)?;
        }
        Ok(outcome)
    }

    /// True for the text of a version that was imported: sent back by hand, it doesn't end the original.
    fn is_text_of_version(&mut self, declarations: &Declarations, own: &OwnDeclaration, text: &str) -> Result<bool> {
        let before = declarations.find(&Declarer::Itself, own.version.as_deref());
        let Some(before) = before.filter(|before| before.format.is_some() && own.edited.is_none()) else {
            return Ok(false);
        };
        let stored = self.overlay.get(&layout::text_key(before.base))?.ok_or_else(layout::corrupt)?;
        Ok(merge_patch::diff(value::text(&stored)?, text).is_none())
    }

    /// Creates a record from a new text together with its edited text.
    fn edited(
        &mut self,
        (id, live): (&str, &Found<'_>),
        (access, expiry): (Access, Expiry),
        declarations: Declarations,
        edited: Edited,
        brought: Brought,
    ) -> Result<Next> {
        let is_hidden = declarations.0.iter().any(|one| one.base == UNSTORED && one.access.is_some());
        let patch = merge_patch::diff(&brought.text, &edited.text).or_else(|| is_hidden.then(|| "{}".to_owned()));
        let edits = patch.map(|patch| Edits { access: access.clone(), patch });
        if declarations.0.first().is_none_or(|served| served.base != UNSTORED) || !declarations.take_edits() {
            return self.rendered((id, live), (access, expiry), declarations, edits, Some(brought));
        }
        let (Edited { text, capabilities }, brought) = (edited, Some(brought));
        Ok(Next { text, capabilities, access, expiry, declarations, edits, brought })
    }

    /// Returns the access of a text that replaces a text with edits: hidden if that was hidden.
    fn inherited(&self, served: &Declaration, live: &Found<'_>, access: &Access) -> Result<Option<TextAccess>> {
        let own = served.access(&live.access);
        let is_hidden = served.original.is_some() && own.access.owner == access.owner;
        Ok(if is_hidden && !self.is_shown_to_all(served, live, access)? { Some(own.narrowed(access)) } else { None })
    }

    /// Drops the lowest versions beyond the maximum number. Returns true if the new text is among them.
    fn drop_lowest(&mut self, id: &str, declarations: &mut Declarations) -> bool {
        let mut has_brought = false;
        while declarations.0.len() > MOST_VERSIONS {
            let others = declarations.0.iter().enumerate().skip(1);
            let lowest = others.min_by(|(_, one), (_, other)| one.compare(other)).map_or(0, |(number, _)| number);
            let dropped = declarations.0.remove(lowest);
            has_brought |= dropped.base == UNSTORED;
            self.remarks.push(Remark::VersionDropped(id.to_owned(), dropped.version));
        }
        has_brought
    }

    /// Names declarations without a version after the version in their text. Only the text imported as the only
    /// version can be such a declaration.
    pub(super) fn name_versions(&mut self, declarations: &mut Declarations) -> Result<()> {
        for number in 0..declarations.0.len() {
            let Some(one) = declarations.0.get(number).filter(|one| one.version.is_none()) else { continue };
            let text = self.overlay.get(&layout::text_key(one.base))?.ok_or_else(layout::corrupt)?;
            let named = version_of(value::text(&text)?);
            let is_taken = named.is_none() || declarations.find(&Declarer::Itself, named.as_deref()).is_some();
            if let Some(one) = declarations.0.get_mut(number).filter(|_| !is_taken) {
                one.version = named;
            }
        }
        Ok(())
    }

    /// Puts a description written by hand. It changes the served text and no other version.
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
        let (mut declarations, edits) = self.declared(id, live)?;
        let access = self.author.access.applied_to(&live.access);
        let (is_part, takes_edits) = (declarations.is_part(), declarations.take_edits());
        if is_part && access != live.access && !replaces {
            return Err(part_of_document(id, &declarations));
        }
        self.check_member(id, &access)?;
        if replaces || !takes_edits {
            let version = declarations.0.first().and_then(|served| served.version.clone()).filter(|_| !replaces);
            let brought = Brought::new(Declarer::Itself, version, description, None);
            if replaces {
                self.end_declarations(id, live, &declarations)?;
                declarations.0.clear();
            } else if !declarations.0.is_empty() {
                declarations.0.remove(0);
            }
            declarations.0.insert(0, brought.declaration());
            let edits = edits.filter(|_| !replaces);
            let next = self.rendered((id, live), (access, particulars.expiry), declarations, edits, Some(brought))?;
            return self.serve(id, live, next, actor);
        }
        let expiry = if is_part { live.expiry } else { particulars.expiry };
        let served = declarations.0.first().ok_or_else(layout::corrupt)?;
        let base = self.overlay.get(&layout::text_key(served.base))?.ok_or_else(layout::corrupt)?;
        let patch = merge_patch::diff(value::text(&base)?, &description.text);
        // What the document says beside that stays hidden.
        let is_hidden = served.access.is_some() && !self.is_shown_to_all(served, live, &access)?;
        let patch = patch.or_else(|| is_hidden.then(|| "{}".to_owned()));
        let edits = patch.map(|patch| Edits { access: access.clone(), patch });
        let Description { text, capabilities, .. } = description;
        self.serve(id, live, Next { text, capabilities, access, expiry, declarations, edits, brought: None }, actor)
    }

    /// Ends the declarations of an import and of all versions, since they are replaced.
    fn end_declarations(&mut self, id: &str, live: &Found<'_>, declarations: &Declarations) -> Result<()> {
        let is_more = live.record.has_original() || live.record.edits.is_some() || declarations.0.len() > 1;
        if is_more || declarations.is_part() {
            self.remarks.push(Remark::DeclarationsEnded(id.to_owned()));
        }
        self.overwrite(layout::metadata_key(id), None)?;
        if declarations.is_part() {
            self.say_left(id, declarations);
            self.leave_documents(id, declarations)?;
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
        let (mut declarations, edits) = self.declared(id, live)?;
        if declarations.is_part() {
            return Err(part_of_document(id, &declarations));
        }
        self.name_versions(&mut declarations)?;
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
        self.choose(&mut declarations, (live, &live.access), false)?;
        let next = self.rendered((id, live), (live.access.clone(), live.expiry), declarations, edits, None)?;
        self.remark_on_losses(id, live, &next)?;
        self.serve(id, live, next, actor)
    }
}

/// Determines the version under which a record declares itself. Removes the previous declaration of that version, and
/// all others if this becomes the only one.
fn settle_versions(
    id: &str,
    declarations: &mut Declarations,
    own: &OwnDeclaration,
    is_import: bool,
) -> Result<Option<String>> {
    let version = own.version.clone();
    if declarations.is_part() {
        check_version(id, own.expected, None)?;
        return Ok(version.filter(|_| !is_import));
    }
    check_version(id, own.expected, base_of(declarations, own))?;
    match own.is_sole {
        true => declarations.0.clear(),
        false => drop(declarations.release(&Declarer::Itself, Some(version.as_deref()))),
    }
    // An import that is the only version has it in its text.
    let is_in_text = is_import && declarations.0.is_empty();
    Ok(version.filter(|_| !is_in_text))
}

/// Returns the version named by a description.
pub fn version_of(text: &str) -> Option<String> {
    let thing = serde_json::from_str::<Map<String, Value>>(text).ok()?;
    thing.get("version")?.get("instance")?.as_str().map(str::to_owned)
}

/// Returns the position of the stored version with the name given in a declaration.
fn base_of(declarations: &Declarations, own: &OwnDeclaration) -> Option<Seq> {
    declarations.find(&Declarer::Itself, own.version.as_deref()).map(|declaration| declaration.base)
}

fn check_version(id: &str, expected: Option<Precondition>, found: Option<Seq>) -> Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    if expected.holds(found) { Ok(()) } else { Err(Error::PreconditionFailed { id: id.to_owned(), expected, found }) }
}
