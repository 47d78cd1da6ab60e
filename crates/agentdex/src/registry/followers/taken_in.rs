//! The access to Things as it was when a follower took them in: what a follower shows of a Thing may be older than its
//! present access, and who sees the Thing now may not have seen that.

use std::collections::HashMap;

use crate::access::{Access, Grants};

/// The access to Things that not everybody saw, by id.
#[derive(Debug, Default)]
pub(in crate::registry) struct TakenIn(HashMap<String, Access>);

impl TakenIn {
    /// Notes the access to a Thing that is taken in; none where it is gone.
    pub fn put(&mut self, id: &str, access: Option<&Access>) {
        match access.filter(|access| !access.is_public()) {
            Some(access) => drop(self.0.insert(id.to_owned(), access.clone())),
            None => drop(self.0.remove(id)),
        }
    }

    /// The ids of what somebody with these grants didn't see then; none: it sees everything.
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

    /// Whom a Thing is shown to, with which text.
    pub const STEPS: [(Visibility, &str); 4] = [
        (Visibility::Public, "public"),
        (Visibility::Private, "private"),
        (Visibility::Public, "public again"),
        (Visibility::Public, "public to the end"),
    ];

    /// A store with one Thing, whose followers are where the test has them.
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

        /// Shows the Thing to somebody with another text; returns the change.
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
