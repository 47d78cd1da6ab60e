//! Hidden texts: versions and originals with a narrower audience than their record. A hidden text is never published
//! by becoming the served text.

use super::{
    applier::{Applier, Found},
    declaration::{Declaration, Declarations},
    serving::{UNSTORED, is_within},
    text_access::TextAccess,
    value::StoredRecord,
    write::{Edits, Remark},
};
use crate::{
    Error, Result,
    access::{Access, NamespaceNumber, Owner},
};

impl Applier<'_> {
    /// Returns the declarations and the edits of a record. Edits by earlier versions of a text that is changed in
    /// place become part of that text.
    pub(super) fn declared(&mut self, id: &str, live: &Found<'_>) -> Result<(Declarations, Option<Edits>)> {
        let record = &live.record;
        let (mut declarations, edits) = (record.declared()?, self.edits(id, record)?);
        let are_over = !declarations.take_edits();
        match declarations.0.first_mut() {
            Some(served) if edits.is_some() && are_over && served.text != record.text => {
                let (base, text, access) = (record.seq, record.text, None);
                *served = Declaration { base, text, access, ..served.clone() };
                Ok((declarations, None))
            }
            _ => Ok((declarations, edits)),
        }
    }

    /// Moves the declaration to be served to the front: the highest among those visible to all who see the record,
    /// and the one served now. `follows` is true if the new text replaces the latter.
    pub(super) fn choose(
        &self,
        declarations: &mut Declarations,
        (live, access): (&Found<'_>, &Access),
        follows: bool,
    ) -> Result<()> {
        declarations.choose(|one| {
            let goes_on = is_served(one, &live.record)? || (follows && one.base == UNSTORED);
            Ok(goes_on || self.is_shown_to_all(one, live, access)?)
        })
    }

    /// True if all who see a record with an access are shown a declared text.
    pub(super) fn is_shown_to_all(&self, one: &Declaration, live: &Found<'_>, access: &Access) -> Result<bool> {
        if one.base == UNSTORED && one.access.is_none() {
            return Ok(true);
        }
        one.access(&live.access).covers(access, |owner, number| self.is_member(owner, number))
    }

    /// Returns the access of a record served from a declaration. A hidden text narrows it.
    pub(super) fn access_to_serve(
        &mut self,
        (id, live): (&str, &Found<'_>),
        access: Access,
        best: &Declaration,
        is_edited: bool,
    ) -> Result<Access> {
        // What is served goes on to be, unless the edit that hid a part of it is gone. A part is shown to more by its documents alone.
        let is_own = best.document().is_none() || is_within(&access, &live.access);
        let is_known = is_own && is_served(best, &live.record)? && (is_edited || best.text == live.record.text);
        let is_hidden_by_edit = best.base == UNSTORED && is_edited;
        if is_known || is_hidden_by_edit || self.is_shown_to_all(best, live, &access)? {
            return Ok(access);
        }
        let within = best.access(&live.access).within(&access);
        if !self.is_shown_to_all(best, live, &within)? {
            return Err(Error::HiddenVersions { id: id.to_owned() });
        }
        self.remarks.push(Remark::AccessNarrowed { id: id.to_owned(), visibility: within.visibility });
        Ok(within)
    }

    /// Sets the access of declared texts when a record gets a new access. The text served as declared follows it;
    /// others keep their access if it is narrower. Returns whether a text is thereby published.
    pub(super) fn assign_accesses(
        &self,
        live: &Found<'_>,
        access: &Access,
        declarations: &mut Declarations,
        has_edits: bool,
    ) -> Result<bool> {
        let has_edits = has_edits && declarations.take_edits();
        let mut publishes = false;
        for (number, declaration) in declarations.0.iter_mut().enumerate() {
            if number == 0 && !has_edits {
                declaration.access = None;
                continue;
            }
            let own = match (&declaration.access, declaration.base) {
                (None, UNSTORED) => continue,
                (Some(own), UNSTORED) => own.clone(),
                _ => declaration.access(&live.access).narrowed(access),
            };
            declaration.set_access(own, access);
            let Some(own) = &declaration.access else { continue };
            // Texts of documents are published with these.
            let is_own = declaration.document().is_none();
            if is_own && self.author.access.all_versions && self.may_publish(own)? {
                (declaration.access, publishes) = (None, true);
            }
        }
        Ok(publishes)
    }

    /// Remarks the versions that fewer are shown than see the record.
    pub(super) fn remark_on_hidden(&mut self, id: &str, declarations: &Declarations, access: &Access) -> Result<()> {
        let (mut versions, mut has_original) = (Vec::new(), false);
        for (number, declaration) in declarations.0.iter().enumerate() {
            let Some(own) = &declaration.access else { continue };
            if own.covers(access, |owner, number| self.is_member(owner, number))? {
                continue;
            }
            match number {
                0 => has_original = true,
                _ => versions.push(declaration.version.clone()),
            }
        }
        if has_original || !versions.is_empty() {
            self.remarks.push(Remark::VersionsHidden { id: id.to_owned(), versions, has_original });
        }
        Ok(())
    }

    /// True if the author is shown a text, and so may publish it.
    pub(super) fn may_publish(&self, own: &TextAccess) -> Result<bool> {
        own.lets_publish(&self.author.caller, |owner, number| self.is_member(owner, number))
    }

    fn is_member(&self, owner: &Owner, number: NamespaceNumber) -> Result<bool> {
        Ok(self.namespace(number)?.is_some_and(|namespace| namespace.has(owner)))
    }
}

/// True for the declaration that a record is served from now.
fn is_served(one: &Declaration, record: &StoredRecord<'_>) -> Result<bool> {
    Ok(one.base == record.seq || one.base == record.base()?)
}
