//! Search by capability: what is found, in which order, and what a query may look like.

mod compatible;
mod everyday;
mod facets;
mod index;
mod language;
mod multilingual;
mod names;
mod protocols;
mod ranking;
mod real;
mod relevance;
mod saved;
mod semantic;
mod sorting;
mod tasks;
mod versions;

use std::{env, path::PathBuf};

use agentdex::{
    Epoch, Position, Seq,
    convert::Format,
    search::{Answer, Entry, Filters, Index, IndexWriter, Search},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::skipped;

/// An index in a directory of its own.
struct TestIndex {
    home: TempDir,
    index: Index,
    writer: IndexWriter,
    seq: u64,
}

impl TestIndex {
    fn new() -> TestIndex {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (index, writer) = Index::create(home.path()).expect("a new index");
        TestIndex { home, index, writer, seq: 0 }
    }

    fn with(things: &[Value]) -> TestIndex {
        let mut index = TestIndex::new();
        for thing in things {
            index.put(thing);
        }
        index.commit();
        index
    }

    fn put(&mut self, thing: &Value) {
        let id = thing["id"].as_str().expect("an id");
        self.writer
            .put(Entry {
                id,
                text: &thing.to_string(),
                format: None,
                terms: Format::search_terms(),
                access: None,
                moments: None,
            })
            .expect("the Thing is indexed");
    }

    fn commit(&mut self) -> Position {
        self.seq += 1;
        let cursor = Position { epoch: Epoch(7), seq: Seq(self.seq) };
        self.writer.commit(cursor).expect("a commit");
        cursor
    }

    fn search(&self, request: &Search) -> Answer {
        self.index.search(request, &[]).expect("an answer")
    }

    fn query(&self, query: &str) -> Answer {
        self.search(&request(query))
    }

    /// The ids that a query finds, in the order of rank.
    fn found(&self, query: &str) -> Vec<String> {
        ids(&self.query(query))
    }

    fn filtered(&self, filters: Filters) -> Vec<String> {
        ids(&self.search(&Search { filters, ..request("") }))
    }
}

fn request(query: &str) -> Search {
    Search { query: Some(query.to_owned()), limit: 10, ..Search::default() }
}

fn ids(response: &Answer) -> Vec<String> {
    response.hits.iter().map(|hit| hit.id.clone()).collect()
}

/// A Thing with a title and a description.
fn thing(id: &str, title: &str, description: &str) -> Value {
    json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": id, "title": title, "description": description})
}

/// The Thing with more members.
fn extended(mut thing: Value, members: Value) -> Value {
    let (Value::Object(target), Value::Object(members)) = (&mut thing, members) else { panic!("no objects") };
    target.extend(members);
    thing
}

/// A folder of documents that tests share; none, with a note, where it is missing.
fn shared(name: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = env::var_os("AGENTDEX_SHARED").map_or(beside, PathBuf::from).join(name);
    if !folder.is_dir() {
        skipped(name, &folder.display().to_string());
        return None;
    }
    Some(folder)
}
