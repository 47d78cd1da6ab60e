//! The page as it is served: to browsers only, cacheable, with a strict policy.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use crate::support::{Answer, TestRegistry};

/// What Chromium and Firefox accept of a document.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

fn browse(registry: &TestRegistry, path: &str) -> Answer {
    registry.call("GET", path).header("accept", BROWSER).send()
}

/// The addresses of the files in the document.
fn files(page: &str) -> Vec<String> {
    let parts = page.split('"').filter(|part| part.starts_with("page/"));
    parts.map(|part| format!("/{part}")).collect()
}

#[test]
fn browsers_get_the_page_and_programs_the_json() {
    let registry = TestRegistry::start();
    let page = browse(&registry, "/?utm_source=x").expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("vary").contains("accept"), "{}", page.header("vary"));
    assert!(page.text().starts_with("<!doctype html>"));
    for accept in ["*/*", "application/json", "application/json, text/html;q=0.5", ""] {
        let answer = registry.call("GET", "/").header("accept", accept).send().expect(200);
        assert_eq!(answer.json()["name"], "agentdex", "{accept}");
        assert!(answer.header("vary").contains("accept"), "{accept}");
    }
    assert_eq!(registry.get("/").expect(200).json()["formats"][0]["import"], "/things");
}

#[test]
fn addresses_of_views_lead_browsers_to_the_page() {
    let registry = TestRegistry::start();
    for (path, location) in [
        ("/agent/urn:example:a", "../#/agent/urn:example:a"),
        ("/agent/urn%3Aexample%3Aa%2Fb?open=json", "../#/agent/urn%3Aexample%3Aa%2Fb?open=json"),
        ("/agent/a/b", "../../#/agent/a/b"),
        ("/live", "./#/live"),
    ] {
        let mut stream = TcpStream::connect(registry.address()).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: {BROWSER}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 307") && answer.contains(&format!("location: {location}\r\n")),
            "{answer}"
        );
        assert!(answer.contains("vary: accept"), "{answer}");
        registry.get(path).problem(404, "unknown-path");
        registry.call("POST", path).header("accept", BROWSER).send().problem(404, "unknown-path");
    }
    for path in ["/agents/urn:example:a", "/lively", "/agent.html", "/x/live"] {
        browse(&registry, path).problem(404, "unknown-path");
    }
}

#[test]
fn policy_allows_no_script_but_the_files_of_the_page() {
    let registry = TestRegistry::start();
    let page = browse(&registry, "/").expect(200);
    let policy = page.header("content-security-policy");
    for part in
        ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let text = page.text();
    assert!(!text.contains("style=") && !text.contains("onclick") && !text.contains("<style"), "{text}");
    for script in text.split("<script").skip(1) {
        assert!(script.contains("src=") && script.contains("></script>"), "{script}");
    }
}

#[test]
fn files_are_stored_for_good_and_the_document_is_revalidated() {
    let registry = TestRegistry::start();
    let page = browse(&registry, "/").expect(200);
    assert_eq!(page.header("cache-control"), "no-cache");
    let again = registry.call("GET", "/").header("accept", BROWSER).header("if-none-match", &page.header("etag"));
    assert!(again.send().expect(304).body.is_empty());

    let files = files(page.text());
    assert!(files.len() > 4, "{files:?}");
    for path in &files {
        let file = registry.get(path).expect(200);
        assert!(file.header("cache-control").contains("immutable"), "{path}");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        let known = registry.call("GET", path).header("if-none-match", &file.header("etag")).send();
        known.expect(304);
    }
    let style = files.iter().find(|path| path.ends_with("style.css")).unwrap();
    let coded = registry.call("GET", style).header("accept-encoding", "gzip").send().expect(200);
    assert_eq!(coded.header("content-encoding"), "gzip");
    let (folder, _) = style.rsplit_once('/').unwrap();
    registry.get(&format!("{folder}/mod.rs")).problem(404, "unknown-path");
    registry.get("/page/0000000000000000/style.css").problem(404, "unknown-path");
}

/// A body behind a 304 would be read as the response to the next request of the connection.
#[test]
fn what_is_not_modified_has_no_body() {
    let registry = TestRegistry::start();
    let page = browse(&registry, "/").expect(200);
    let style = files(page.text()).into_iter().find(|path| path.ends_with("style.css")).unwrap();
    let tag = registry.get(&style).header("etag");
    for (path, tag) in [("/", page.header("etag")), (style.as_str(), tag)] {
        let mut stream = TcpStream::connect(registry.address()).unwrap();
        let request = |end: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: text/html\r\n{end}\r\n");
        let condition = format!("if-none-match: {tag}\r\n");
        let both = request(&condition) + &request(&format!("{condition}connection: close\r\n"));
        stream.write_all(both.as_bytes()).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        let heads: Vec<&str> = answers.split("\r\n\r\n").collect();
        assert!(heads.len() == 3 && heads[2].is_empty(), "{path}: {answers}");
        assert!(heads[..2].iter().all(|head| head.starts_with("HTTP/1.1 304")), "{path}: {answers}");
    }
}

/// The files of the folder of the page, by name.
fn sources() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/server/src/http/page");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending != "rs"));
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn every_file_of_the_folder_is_served() {
    let registry = TestRegistry::start();
    let page = browse(&registry, "/").expect(200);
    let folder = files(page.text())[0].rsplit_once('/').unwrap().0.to_owned();
    for (name, text) in sources().into_iter().filter(|(name, _)| name != "index.html") {
        let served = registry.get(&format!("{folder}/{name}")).expect(200);
        assert_eq!(served.text(), text, "{name}");
    }
}

/// A module, and all that it imports as it is loaded.
fn with_imports<'m>(name: &'m str, modules: &'m HashMap<String, String>, found: &mut BTreeSet<&'m str>) {
    if !found.insert(name) {
        return;
    }
    for line in modules[name].lines().filter(|line| line.starts_with("import {")) {
        let (_, from) = line.split_once(" from \"./").unwrap();
        with_imports(from.trim_end_matches("\";"), modules, found);
    }
}

/// A view loads the document, what that has, and its module with the imports of that: views that aren't opened cost nothing.
/// Files are transferred compressed.
#[test]
fn views_are_small_and_never_write_html() {
    let registry = TestRegistry::start();
    let page = browse(&registry, "/").expect(200);
    let folder = files(page.text())[0].rsplit_once('/').unwrap().0.to_owned();
    let sources = sources();
    let transferred = |path: &str| {
        let file =
            registry.call("GET", path).header("accept", BROWSER).header("accept-encoding", "gzip").send().expect(200);
        assert_eq!(file.header("content-encoding"), "gzip", "{path}");
        file.body.len()
    };
    let names = sources.iter().map(|(name, _)| name.as_str()).filter(|name| *name != "index.html");
    let lengths: BTreeMap<&str, usize> = names.map(|name| (name, transferred(&format!("{folder}/{name}")))).collect();
    let document = transferred("/");
    let modules: HashMap<String, String> = sources.iter().cloned().collect();
    let views = lengths.keys().filter(|name| modules[**name].contains("customElements.define(\"view-"));
    let sizes: BTreeMap<&str, usize> = views
        .map(|view| {
            let mut loaded = BTreeSet::from(["style.css", "icon.svg"]);
            if *view != "find.js" {
                loaded.insert("views.css");
            }
            with_imports("app.js", &modules, &mut loaded);
            with_imports(view, &modules, &mut loaded);
            assert!(loaded.contains("dom.js") && loaded.contains("live.js"), "{view}: {loaded:?}");
            (*view, document + loaded.iter().map(|name| lengths[name]).sum::<usize>())
        })
        .collect();
    let all = document + lengths.values().sum::<usize>();
    println!("all files have {all} bytes, compressed; with a view the page has {sizes:#?}");
    assert!(all <= 100 * 1024, "{all} bytes in all");
    assert!(sizes["find.js"] <= 32 * 1024, "{sizes:#?}");
    assert!(sizes.len() > 7 && sizes.values().all(|size| *size <= 50 * 1024), "{sizes:#?}");
    for (name, text) in sources {
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval("] {
            assert!(!text.contains(word), "{name} has {word}");
        }
    }
}
