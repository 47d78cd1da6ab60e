//! The pages at `/docs/guide/`: what they show, what they are served with, and where their links lead.

#[path = "../../crates/server/build/markdown.rs"]
mod rendering;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;
use reqwest::Url;

use self::rendering::{Page, render};
use super::markdown::{Document, chapters};
use crate::support::{Answer, TestRegistry};

const GUIDE: &str = "/docs/guide/";

/// The targets of links and sources of pictures, styles and scripts in HTML.
fn links(html: &str) -> Vec<String> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#" (?:href|src|srcset)="([^"]*)""#).unwrap());
    LINK.captures_iter(html).map(|link| link[1].replace("&amp;", "&")).collect()
}

fn has_anchor(html: &str, name: &str) -> bool {
    html.contains(&format!(" id=\"{name}\""))
}

fn is_page(answer: &Answer) -> bool {
    answer.header("content-type").starts_with("text/html")
}

/// All that can be reached from the index, by path, and the links that lead nowhere.
fn crawl(registry: &TestRegistry) -> (BTreeMap<String, Answer>, Vec<String>) {
    let root = Url::parse(&registry.url("/")).unwrap();
    let (mut found, mut broken) = (BTreeMap::<String, Answer>::new(), Vec::new());
    let (mut waiting, mut anchors) = (vec![(String::new(), GUIDE.to_owned())], BTreeSet::new());
    while let Some((from, path)) = waiting.pop() {
        if found.contains_key(&path) {
            continue;
        }
        let answer = registry.get(&path);
        if answer.status != 200 {
            broken.push(format!("{from}: {path}: {}", answer.status));
        } else if is_page(&answer) && path.starts_with(GUIDE) {
            for link in links(answer.text()) {
                let target = root.join(&path).unwrap().join(&link).unwrap();
                if target.origin() != root.origin() {
                    assert!(link.starts_with("http"), "{path}: {link}");
                    continue;
                }
                if let Some(anchor) = target.fragment().filter(|_| target.path().starts_with(GUIDE)) {
                    anchors.insert((path.clone(), target.path().to_owned(), anchor.to_owned()));
                }
                waiting.push((path.clone(), target.path().to_owned()));
            }
        }
        found.insert(path, answer);
    }
    for (from, to, anchor) in anchors {
        if found.get(&to).is_some_and(|page| !has_anchor(page.text(), &anchor)) {
            broken.push(format!("{from}: {to}#{anchor}"));
        }
    }
    (found, broken)
}

/// The chapters in the order of the table of contents, by their paths below the guide.
fn listed() -> Vec<String> {
    let links = Document::read("docs/SUMMARY.md").links();
    links.iter().map(|link| format!("{GUIDE}{}", link.trim_end_matches(".md").trim_end_matches("README"))).collect()
}

#[test]
fn links_of_served_pages_lead_somewhere() {
    let registry = TestRegistry::start();
    let (found, broken) = crawl(&registry);
    assert!(broken.is_empty(), "{broken:#?}");
    let pages = found.keys().filter(|path| path.starts_with(GUIDE)).count();
    assert!(pages > chapters().len() && listed().iter().all(|path| found.contains_key(path)), "{pages}");
    for (path, kind) in [
        ("/docs/guide/security", "text/html; charset=utf-8"),
        ("/docs/guide/examples/embed.rs", "text/plain; charset=utf-8"),
        ("/docs/guide/images/find-light.png", "image/png"),
        ("/docs/guide/images/find-dark.png", "image/png"),
        ("/openapi.json", "application/json"),
        ("/docs/", "text/html; charset=utf-8"),
    ] {
        assert_eq!(found.get(path).map(|answer| answer.header("content-type")).as_deref(), Some(kind), "{path}");
    }
}

#[test]
fn served_pages_are_small_and_have_the_policy_of_the_page() {
    let registry = TestRegistry::start();
    let (found, _) = crawl(&registry);
    let own = registry.call("GET", "/").header("accept", "text/html").send().expect(200);
    let policy = own.header("content-security-policy");
    let mut transferred = 0;
    for (path, plain) in found.iter().filter(|(path, _)| path.starts_with(GUIDE)) {
        let coded = registry.call("GET", path).header("accept-encoding", "gzip").send().expect(200);
        assert_eq!((coded.header("content-encoding").as_str(), plain.header("content-encoding")), ("gzip", "".into()));
        transferred += coded.body.len();
        assert_eq!(coded.header("content-security-policy"), policy, "{path}");
        assert!(plain.header("vary").contains("accept-encoding") && plain.header("cache-control") == "no-cache");
        for (accepted, tag) in [("gzip", coded.header("etag")), ("identity", plain.header("etag"))] {
            let known = registry.call("GET", path).header("accept-encoding", accepted).header("if-none-match", &tag);
            assert!(known.send().expect(304).body.is_empty(), "{path}");
        }
        assert_ne!(coded.header("etag"), plain.header("etag"), "{path}");
        if is_page(plain) {
            for forbidden in ["<script", " style=", "<style", " onclick="] {
                assert!(!plain.text().contains(forbidden), "{path} has {forbidden}");
            }
            assert_eq!(plain.text().matches("<h1").count(), 1, "{path}");
        }
    }
    println!("the documentation has {transferred} bytes, compressed");
    assert!((100_000..=1 << 20).contains(&transferred), "{transferred}");
}

#[test]
fn table_of_contents_is_that_of_the_summary() {
    let registry = TestRegistry::start();
    let listed = listed();
    let contents = |page: &Answer| page.text().split_once("id=\"contents\"").unwrap().1.to_owned();
    let absolute =
        |from: &str, link: &str| Url::parse(&registry.url(from)).unwrap().join(link).unwrap().path().to_owned();
    for (place, path) in listed.iter().enumerate() {
        let page = registry.get(path).expect(200);
        let shown: Vec<String> = links(&contents(&page)).iter().map(|link| absolute(path, link)).collect();
        assert_eq!(shown[..listed.len()], listed, "{path}");
        assert!(shown.contains(&"/docs/guide/security".to_owned()), "{path}");
        let (_, current) = page.text().split_once("aria-current=\"page\">").unwrap();
        let title = Document::read("docs/SUMMARY.md")
            .text()
            .lines()
            .filter(|line| line.contains("]("))
            .nth(place)
            .unwrap()
            .to_owned();
        assert!(title.contains(&format!("[{}]", current.split_once('<').unwrap().0)), "{path}: {title}");
        let (_, turn) = page.text().split_once("class=\"turn\"").unwrap();
        let turn = links(turn.split_once("</nav>").unwrap().0);
        let expected: Vec<String> =
            place.checked_sub(1).into_iter().chain([place + 1]).filter_map(|at| listed.get(at).cloned()).collect();
        let turn: Vec<String> = turn.iter().map(|link| absolute(path, link)).collect();
        assert!(turn.starts_with(&expected), "{path}: {turn:?}");
    }
}

#[test]
fn guide_is_found_from_the_page_the_api_and_the_reference() {
    let registry = TestRegistry::start();
    assert_eq!(registry.get("/").expect(200).json()["links"]["guide"], GUIDE);
    let page = registry.call("GET", "/").header("accept", "text/html").send().expect(200);
    assert!(links(page.text()).contains(&"docs/guide/".to_owned()), "{}", page.text());
    assert!(links(registry.get("/docs/").expect(200).text()).contains(&"guide/".to_owned()));
    // Relative links need the slash.
    assert!(registry.get("/docs/guide").expect(200).text().contains("href=\"tutorial\""));
    for path in ["/docs/guide/none", "/docs/guide/guide", "/docs/guide/tutorial.md", "/docs/guide/../../Cargo.toml"] {
        registry.get(path).problem(404, "unknown-path");
    }
    registry.get("/docs/guide/tutorial?x=1").problem(400, "invalid-parameter");
    registry.call("POST", "/docs/guide/tutorial").send().problem(405, "method-not-allowed");
    assert_eq!(registry.head("/docs/guide/tutorial").status, 200);
}

fn rendered(text: &str) -> Page {
    render(text, |link| if link == "broken" { Err("broken") } else { Ok(format!("to/{link}")) }).unwrap()
}

#[test]
fn raw_html_is_text_and_comments_are_left_out() {
    for (text, html) in [
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("<!-- not run: a moon -->\n\nText", "<p>Text</p>\n"),
        ("a <b onclick=\"x()\">c</b> <!-- d --> e", "<p>a &lt;b onclick=\"x()\"&gt;c&lt;/b&gt;  e</p>\n"),
        ("<!-- a --><img src=x onerror=alert(1)>", "<p>&lt;!-- a --&gt;&lt;img src=x onerror=alert(1)&gt;</p>\n"),
        (
            "`<b>` & <https://a.example/?b&c>",
            "<p><code>&lt;b&gt;</code> &amp; <a href=\"to/https://a.example/?b&amp;c\">https://a.example/?b&amp;c</a></p>\n",
        ),
        ("[a](b.md#c \"d\")", "<p><a href=\"to/b.md#c\" title=\"d\">a</a></p>\n"),
        (
            "| | a |\n|---|--:|\n| b | c |",
            concat!(
                "<div class=\"scrolled\" role=\"group\" tabindex=\"0\" aria-label=\"Table\">\n",
                "<table><thead><tr><td></td><th>a</th></tr></thead><tbody>\n<tr><td>b</td><td>c</td></tr>\n",
                "</tbody></table>\n</div>\n"
            ),
        ),
    ] {
        assert_eq!(rendered(text).html, html, "{text}");
    }
    let picture = rendered("![All & more](a-light.png)").html;
    let source = "<source media=\"(prefers-color-scheme: dark)\" srcset=\"to/a-dark.png\">";
    assert_eq!(
        picture,
        format!("<p><picture>{source}<img src=\"to/a-light.png\" alt=\"All &amp; more\" /></picture></p>\n")
    );
    assert!(render("[a](broken)", |_| Err::<String, _>("broken")).is_err());
}

#[test]
fn headings_have_the_anchors_that_links_name() {
    let text = "# A `b`, c!\n\n## Twice\n\n## Twice\n\n### Über *uns*: [x](y)\n";
    let page = rendered(text);
    assert_eq!(page.title, "A b, c!");
    for anchor in Document::new("x.md", &text.replace("[x](y)", "x").replace('*', "")).anchors() {
        assert!(has_anchor(&page.html, &anchor), "{anchor}: {}", page.html);
    }
    assert!(page.html.contains("<a class=\"anchor\" href=\"#twice-1\" aria-label=\"Link to this section\">#</a></h2>"));
}

/// mdBook ignores or refuses everything else in a table of contents.
#[test]
fn mdbook_reads_the_table_of_contents() {
    let book: toml::Table = Document::read("docs/book.toml").text().parse().unwrap();
    assert_eq!(
        (book["book"]["src"].as_str(), book["build"]["build-dir"].as_str()),
        (Some("."), Some("../target/book"))
    );
    let summary = Document::read("docs/SUMMARY.md");
    let mut lines = summary.text().lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next(), Some("# Summary"));
    let (chapter, part) = (Regex::new(r"^- \[[^\]]+\]\([\w/-]+\.md\)$").unwrap(), Regex::new("^# .+$").unwrap());
    let prefix = lines.next().unwrap();
    assert!(prefix.starts_with('[') && chapter.is_match(&format!("- {prefix}")), "{prefix}");
    for line in lines {
        assert!(chapter.is_match(line) || part.is_match(line), "{line}");
    }
}
