//! Descriptions that other people wrote.

use std::fs;

use agentdex::search::Filters;
use serde_json::Value;

use super::{TestIndex, ids, shared};

#[test]
fn every_real_description_is_indexed_and_found_by_its_title() {
    let Some(folder) = shared("corpus/td") else { return };
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let mut index = TestIndex::new();
    let mut titles = Vec::new();
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
        let Ok(mut thing) = serde_json::from_slice::<Value>(&fs::read(&file).expect("read")) else { continue };
        let id = format!("urn:{}", file.file_stem().expect("a name").to_string_lossy());
        thing["id"] = Value::from(id.clone());
        index.put(&thing);
        if let Some(title) =
            thing["title"].as_str().filter(|title| title.chars().filter(|c| c.is_alphabetic()).count() > 3)
        {
            titles.push((id, title.to_owned()));
        }
    }
    index.commit();
    assert!(titles.len() > 200);
    let all = index.index.ids(None, &Filters::default(), &[]).expect("ids");
    assert!(all.is_sorted() && all.len() >= titles.len());
    for (id, title) in titles {
        let query = format!("title:\"{}\"", title.replace('"', " "));
        let listed = index.index.ids(Some(&query), &Filters::default(), &[]).expect("ids");
        assert!(listed.contains(&id), "{id} isn't found by {query}; found were {:?}", ids(&index.query(&query)));
    }
}
