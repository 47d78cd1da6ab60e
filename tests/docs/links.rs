//! Links of documents lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::markdown::{Document, chapters, guide};

/// Links of a document to what doesn't exist.
fn broken(document: &Document) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let leads_nowhere = |link: &String| {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let Some(name) = from_root(&document.name, path) else { return true };
        if !root.join(&name).exists() {
            return true;
        }
        let is_here = path.is_empty() || name == Path::new(&document.name);
        let anchors = match is_here {
            true => document.anchors(),
            false if anchor.is_empty() => return false,
            false => Document::read(name.to_str().unwrap()).anchors(),
        };
        !anchor.is_empty() && !anchors.contains(anchor)
    };
    let inside = document.links().into_iter().filter(|link| !link.contains("://"));
    inside.filter(leads_nowhere).map(|link| format!("{}: {link}", document.name)).collect()
}

/// The path from the root of the repository, unless it leads out of it.
fn from_root(name: &str, link: &str) -> Option<PathBuf> {
    if link.is_empty() {
        return Some(name.into());
    }
    let mut path = Path::new(name).parent()?.to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => path.pop().then_some(())?,
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut documents = guide();
    documents.extend(
        ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "fuzz/README.md"].map(Document::read),
    );
    for package in crate::layers::source::packages() {
        let readme = package.folder.join("README.md");
        let name = readme.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().to_str().unwrap().to_owned();
        if name != "README.md" && readme.exists() {
            documents.push(Document::read(&name));
        }
    }
    let links: usize = documents.iter().map(|document| document.links().len()).sum();
    assert!(links > 80 && documents.len() > 30, "{links} links in {} documents: are they found?", documents.len());
    let broken: Vec<String> = documents.iter().flat_map(broken).collect();
    assert!(broken.is_empty(), "{} links lead nowhere:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn broken_links_are_found() {
    let text = "# One\n[a](#one) [b](#two) [c](../README.md#why) [d](../README.md#no) [e](none.md) [f](../../x) [g](https://x/)";
    let found = broken(&Document::new("docs/tutorial.md", text));
    assert_eq!(
        found,
        ["#two", "../README.md#no", "none.md", "../../x"].map(|link| format!("docs/tutorial.md: {link}"))
    );
}

#[test]
fn summary_lists_every_chapter_once() {
    let summary = Document::read("docs/SUMMARY.md");
    let mut listed: Vec<String> = summary.links().iter().map(|link| format!("docs/{link}")).collect();
    listed.push(summary.name);
    listed.sort();
    assert_eq!(listed, chapters().into_iter().collect::<Vec<_>>());
}

#[test]
fn files_that_the_guide_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = regex::Regex::new(r"\bexamples/[\w./-]*\w").unwrap();
    let documents = guide();
    let named: Vec<&str> =
        documents.iter().flat_map(|document| names.find_iter(document.text()).map(|name| name.as_str())).collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<&str> = named.into_iter().filter(|name| !root.join(name).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
