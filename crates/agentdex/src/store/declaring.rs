//! Declarations as they are written: by hand, by a record itself in its versions, and the end of one.
//!
//! A record that declares itself, with what is served, has none of this stored. All others are [served](super::serving) from their
//! declarations, their edits and the accesses of the documents that they are [parts](super::parts) of.

use serde_json::{Map, Value};

use super::{
    applier::{Applier, Description, Found, Particulars},
    declaration::{Declaration, Declarations, Declarer, MOST_VERSIONS},
    layout,
    parts::part_of_document,
    serving::{Brought, Next, UNSTORED},
    sum::Digest,
    value::{self, StoredRecord},
    write::{Declares, Edits, Outcome, OwnDeclaration, Remark},
};
use crate::{
    Error, Result,
    change::{DeletionReason, Precondition, Seq},
    td::merge_patch,
};

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
}

/// The version that a description names.
pub fn version_of(text: &str) -> Option<String> {
    let thing = serde_json::from_str::<Map<String, Value>>(text).ok()?;
    thing.get("version")?.get("instance")?.as_str().map(str::to_owned)
}

fn check_version(id: &str, expected: Option<Precondition>, found: Option<Seq>) -> Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    if expected.holds(found) { Ok(()) } else { Err(Error::PreconditionFailed { id: id.to_owned(), expected, found }) }
}
