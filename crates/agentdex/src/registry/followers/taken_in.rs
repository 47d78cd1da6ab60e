//! Access to Things at the time a follower indexed them. A follower may still show an older state of a Thing, which
//! callers who see the Thing now were perhaps not allowed to see.

use std::collections::HashMap;

use crate::access::{Access, Grants};

/// Access to restricted Things when they were indexed, by id.
#[derive(Debug, Default)]
pub(in crate::registry) struct TakenIn(HashMap<String, Access>);

impl TakenIn {
    /// Records the access to an indexed Thing, or `None` if the Thing was removed.
    pub fn put(&mut self, id: &str, access: Option<&Access>) {
        match access.filter(|access| !access.is_public()) {
            Some(access) => drop(self.0.insert(id.to_owned(), access.clone())),
            None => drop(self.0.remove(id)),
        }
    }

    /// Returns the ids of indexed Things hidden from a caller with these grants. Without grants, the caller sees
    /// everything and no ids are returned.
    pub fn unseen_by(&self, grants: Option<&Grants>) -> impl Iterator<Item = &str> {
        let unseen = self.0.iter().filter(move |(_, access)| grants.is_some_and(|grants| !grants.see(access)));
        unseen.map(|(id, _)| id.as_str())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::*;
    use crate::{
        access::{AccessRequest, Caller, Visibility},
        change::Precondition,
        store::{Author, Declares, Expiry, Logged, LoggedChange, Operation, Options, Store, Write},
    };

    /// Visibilities of the Thing, each with its text.
    pub const STEPS: [(Visibility, &str); 4] = [
        (Visibility::Public, "public"),
        (Visibility::Private, "private"),
        (Visibility::Public, "public again"),
        (Visibility::Public, "public to the end"),
    ];

    /// A store with a single Thing, whose followers are positioned by the test.
    pub struct Writer {
        pub store: Store,
        _directory: TempDir,
    }

    impl Writer {
        pub fn new() -> Writer {
            let directory = tempfile::tempdir().unwrap();
            Writer { store: Store::open(directory.path(), Options::default()).unwrap(), _directory: directory }
        }

        pub fn owner(&self) -> Grants {
            Grants { owner: Some("alice".parse().unwrap()), ..Grants::default() }
        }

        /// Writes the Thing with another visibility and text, and returns the change.
        pub fn put(&self, visibility: Visibility, text: &str) -> Arc<LoggedChange> {
            let since = *self.store.durable().borrow();
            let owner = Some("alice".parse().unwrap());
            let access = AccessRequest { owner, visibility: Some(visibility), ..AccessRequest::default() };
            let text =
                serde_json::json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:a", "title": text});
            let operation = Operation::Put {
                text: text.to_string(),
                capabilities: Vec::new(),
                expiry: Expiry::default(),
                patch: None,
                original: None,
                created: None,
                declares: Declares::itself(),
            };
            let write = Write { id: "urn:a".to_owned(), precondition: Precondition::Any, operation, actor: None };
            self.store.submit_as(Author::new(Caller::Trusted, access), vec![write]).wait().unwrap();
            let part = self.store.changes(since, 1).unwrap();
            match &part.entries[0] {
                Logged::Change(change) => change.clone(),
                Logged::Membership(_) | Logged::Declaration(_) => unreachable!("no namespace was written"),
            }
        }
    }
}
