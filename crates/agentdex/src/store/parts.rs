//! Parts: records declared by documents of other records. They inherit the access, owner, and expiry of these
//! records, and are removed with the last declaration.

use std::collections::BTreeSet;

use sled::IVec;

use super::{
    applier::{Applier, Description, Found, Particulars},
    declaration::{Declaration, Declarations, Declarer},
    layout,
    serving::Brought,
    value::{self, StoredRecord},
    write::{Edits, Expiry, Outcome, Remark},
};
use crate::{
    Error, Result,
    access::{Access, Visibility},
    change::{DeletionReason, Seq},
};

impl Applier<'_> {
    /// Returns the access and the expiry of a document's record, or `None` if it doesn't exist.
    pub(super) fn whole(&mut self, document: &str) -> Result<Option<(Access, Expiry)>> {
        let clock = self.moment.clock;
        Ok(self.whole_unpurged(document)?.filter(|(_, expiry)| !expiry.is_due(clock)))
    }

    /// Like `whole`, but includes an expired document that is not yet purged.
    fn whole_unpurged(&mut self, document: &str) -> Result<Option<(Access, Expiry)>> {
        let Some(bytes) = self.overlay.get(&layout::record_key(document))? else { return Ok(None) };
        let found = self.found(document, &bytes)?;
        Ok(Some((found.access, found.expiry)))
    }

    /// Updates a part according to the documents that declare it. Removes it with the last declaration.
    pub(super) fn settle_part(
        &mut self,
        id: &str,
        live: &Found<'_>,
        (mut declarations, edits): (Declarations, Option<Edits>),
        brought: Option<Brought>,
        actor: Option<String>,
    ) -> Result<Outcome> {
        let mut wholes = Vec::new();
        for document in declarations.documents() {
            if let Some((access, _)) = self.whole(document)? {
                wholes.push((document.to_owned(), access));
            }
        }
        let owner = match wholes.first() {
            Some((_, first)) if wholes.iter().all(|(_, access)| access.owner == first.owner) => first.owner.clone(),
            _ => live.access.owner.clone(),
        };
        wholes.retain(|(_, access)| access.owner == owner);
        let is_there = |declaration: &Declaration| match &declaration.by {
            Declarer::Itself => false,
            Declarer::Document(document) => wholes.iter().any(|(whole, ..)| whole == document),
        };
        let left: Vec<Declaration> = declarations.0.extract_if(.., |one| !is_there(one)).collect();
        let left: BTreeSet<&str> = left.iter().filter_map(|declaration| declaration.document()).collect();
        for document in left {
            self.list_part(document, id, false)?;
        }
        let widest = wholes.iter().max_by_key(|(_, access)| width(access)).map(|(_, access)| access.clone());
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
            let of_widest = |(whole, of_whole): &(String, Access)| {
                Some(whole.as_str()) == declaration.document() && *of_whole == access
            };
            Ok(wholes.iter().any(of_widest) && self.is_shown_to_all(declaration, live, &access)?)
        })?;
        let expiry = self.last_expiry(&declarations)?;
        let next = self.rendered((id, live), (access, expiry), declarations, edits, brought)?;
        self.serve(id, live, next, actor)
    }

    /// The last expiry of the documents of a part.
    fn last_expiry(&mut self, declarations: &Declarations) -> Result<Expiry> {
        let mut last: Option<Expiry> = None;
        let order = |expiry: &Expiry| (expiry.expires.is_none(), expiry.expires, expiry.ttl);
        for document in declarations.documents() {
            if let Some((_, expiry)) = self.whole_unpurged(document)? {
                last = Some(last.map_or(expiry, |last| std::cmp::max_by_key(last, expiry, order)));
            }
        }
        Ok(last.unwrap_or_default())
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
        let Some((whole_access, whole_expiry)) = self.whole(&document)? else {
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
        let brought = Brought::new(by.clone(), version.clone(), description, particulars.original);
        declarations.release(&by, Some(version.as_deref()));
        declarations.0.push(Declaration { access: Some(whole_access.into()), ..brought.declaration() });
        self.settle_part(id, live, (declarations, edits), Some(brought), actor)
    }

    /// Takes a part off the lists of the documents that declare it.
    pub(super) fn leave_documents(&mut self, id: &str, declarations: &Declarations) -> Result<()> {
        for document in declarations.documents() {
            self.list_part(document, id, false)?;
        }
        Ok(())
    }

    /// Returns the ids of the parts declared by a document.
    pub(super) fn listed_parts(&mut self, document: &str) -> Result<BTreeSet<String>> {
        let stored = self.overlay.get(&layout::parts_key(document))?;
        Ok(stored.map(|stored| value::strings_of(&stored)).transpose()?.unwrap_or_default().into_iter().collect())
    }

    /// Puts a part on the list of a document, or takes it off.
    pub(super) fn list_part(&mut self, document: &str, id: &str, is_part: bool) -> Result<()> {
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

    /// Sets the parts declared by the document of a record in a version. Previous parts that are missing lose this
    /// declaration.
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
            let versions = self.versions(live)?;
            for id in self.listed_parts(document)? {
                let Some(bytes) = self.overlay.get(&layout::record_key(&id))? else { continue };
                for declaration in StoredRecord::decode(&bytes)?.declared()?.0 {
                    let is_other = declaration.version != version;
                    let is_superseded = is_other && !versions.contains(&declaration.version);
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

    /// The versions of a document.
    fn versions(&mut self, live: &Found<'_>) -> Result<Vec<Option<String>>> {
        let mut declarations = live.record.declared()?;
        self.name_versions(&mut declarations)?;
        Ok(declarations.0.into_iter().map(|declaration| declaration.version).collect())
    }

    /// Makes a record a part of another record's document, if both exist and have the same owner.
    pub(super) fn join(&mut self, document: &str, id: &str, actor: &Option<String>) -> Result<()> {
        let Some((whole, _)) = self.whole(document)? else { return Ok(()) };
        let Some(bytes) = self.overlay.get(&layout::record_key(id))? else { return Ok(()) };
        let found = self.found(id, &bytes)?;
        let mut declarations = found.record.declared()?;
        let by = Declarer::Document(document.to_owned());
        if found.access.owner != whole.owner || id == document || declarations.find(&by, None).is_some() {
            return Ok(());
        }
        let mut joined = declarations.0.first().ok_or_else(layout::corrupt)?.clone();
        (joined.by, joined.version) = (by, None);
        joined.access.get_or_insert_with(|| whole.into());
        if !declarations.is_part() {
            declarations.0.clear();
        }
        declarations.0.push(joined);
        let edits = self.edits(id, &found.record)?;
        // What comes from elsewhere was changed there when it says so, not when the other of the two was.
        let modified = self.author.modified;
        self.author.modified = modified.map(|_| found.record.modified);
        let done = self.settle_part(id, &found, (declarations, edits), None, actor.clone());
        self.author.modified = modified;
        done?;
        self.list_part(document, id, true)
    }

    /// Ends the declaration of a part by a document: of one of its versions, or of all.
    pub(super) fn release_part(
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

    /// Ends the declarations by the document of a removed record.
    pub(super) fn release_parts(&mut self, document: &str, actor: Option<String>) -> Result<()> {
        let by = Declarer::Document(document.to_owned());
        let parts = self.listed_parts(document)?;
        self.overwrite(layout::parts_key(document), None)?;
        parts.iter().try_for_each(|id| self.release_part(id, &by, None, actor.clone()))
    }

    /// Updates the parts of a document with the access, owner, and expiry of its record.
    pub(super) fn let_parts_follow(&mut self, document: &str, before: &Found<'_>) -> Result<()> {
        let Some((access, expiry)) = self.whole_unpurged(document)? else { return Ok(()) };
        let publishes_all = self.author.access.all_versions;
        if access == before.access && expiry == before.expiry && !publishes_all {
            return Ok(());
        }
        let mut declared = Vec::new();
        for id in self.listed_parts(document)? {
            let Some(bytes) = self.overlay.get(&layout::record_key(&id))? else { continue };
            let found = self.found(&id, &bytes)?;
            let mut declarations = found.record.declared()?;
            if access == before.access && !publishes_all {
                let expiry = self.last_expiry(&declarations)?;
                self.renew(Particulars { id: &id, expiry, original: None, created: None }, &found)?;
                continue;
            }
            let edits = self.edits(&id, &found.record)?;
            self.let_texts_follow((document, &access), &found, &mut declarations)?;
            let actor = self.author.caller.owner().map(ToString::to_string);
            let is_declared = declarations.documents().contains(&document);
            self.settle_part(&id, &found, (declarations, edits), None, actor)?;
            declared.extend(is_declared.then_some(id));
        }
        let listed: BTreeSet<String> = self.listed_parts(document)?.into_iter().collect();
        let left = declared.into_iter().filter(|id| !listed.contains(id));
        let document = || vec![document.to_owned()];
        self.remarks.extend(left.map(|id| Remark::PartLeft { id, documents: document() }));
        Ok(())
    }

    /// Updates the access of a part's texts with that of their document: the text from which the document is served
    /// and the served text follow it. Others keep their access if it is narrower, unless all versions are published.
    fn let_texts_follow(
        &mut self,
        (document, access): (&str, &Access),
        part: &Found<'_>,
        declarations: &mut Declarations,
    ) -> Result<()> {
        let Some(bytes) = self.overlay.get(&layout::record_key(document))? else { return Ok(()) };
        let mut of_document = StoredRecord::decode(&bytes)?.declared()?;
        let is_only = of_document.0.len() == 1;
        self.name_versions(&mut of_document)?;
        let served = of_document.0.first().filter(|served| served.access.is_none());
        for (number, declaration) in declarations.0.iter_mut().enumerate() {
            if declaration.document() != Some(document) {
                continue;
            }
            let is_of_served = served.is_some_and(|served| is_only || served.version == declaration.version);
            let is_served = number == 0 && part.record.edits.is_none();
            let own = declaration.access(&part.access);
            let is_published = self.author.access.all_versions && self.may_publish(&own)?;
            declaration.access = Some(match is_of_served || is_served || is_published {
                true => access.clone().into(),
                false => own.narrowed(access),
            });
        }
        Ok(())
    }

    /// Adds a remark that lists the documents of a part removed by hand.
    pub(super) fn say_who_loses(&mut self, id: &str, live: &Found<'_>) -> Result<()> {
        if !live.record.declarations.is_empty() {
            self.say_left(id, &live.record.declared()?);
        }
        Ok(())
    }

    pub(super) fn say_left(&mut self, id: &str, declarations: &Declarations) {
        let documents: Vec<String> = declarations.documents().into_iter().map(str::to_owned).collect();
        if !documents.is_empty() {
            self.remarks.push(Remark::PartLeft { id: id.to_owned(), documents });
        }
    }

    /// Fails if the access of a part would be changed, since it is that of its documents.
    pub(super) fn check_access_is_its_own(&self, id: &str, live: &Found<'_>) -> Result<()> {
        let declarations = live.record.declared()?;
        let is_other = self.author.access.applied_to(&live.access) != live.access;
        if is_other && declarations.is_part() { Err(part_of_document(id, &declarations)) } else { Ok(()) }
    }
}

/// Returns a rank of an access: the wider, the higher.
fn width(access: &Access) -> u8 {
    match access.visibility {
        Visibility::Private => 0,
        Visibility::Namespace => 1,
        Visibility::Public => 2,
    }
}

pub(super) fn part_of_document(id: &str, declarations: &Declarations) -> Error {
    let documents = declarations.documents().into_iter().map(str::to_owned).collect();
    Error::PartOfDocument { id: id.to_owned(), documents }
}
