//! The documentation as pages: the chapters of `docs/SUMMARY.md` in their order, and every other document and file that
//! they link to. A link to a file that the folder `guide` doesn't have fails the build.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::{
    asset::{Asset, Error},
    markdown::{Page, render},
};

/// Folder with symbolic links to what the documentation consists of; paths in it are those in the repository.
const FOLDER: &str = "guide";
/// The table of contents, which every page has.
const SUMMARY: &str = "docs/SUMMARY.md";
const TEMPLATE: &str = include_str!("guide.html");
/// The file of the repository that the API serves itself, and its path there.
const SERVED: (&str, &str) = ("openapi/agentdex.json", "openapi.json");
/// The path of the application's root from the index of the pages.
const ROOT: &str = "../../";

/// A document, with its page.
struct Document {
    /// Path in the repository.
    path: String,
    /// Title in the table of contents.
    title: String,
    page: Page,
}

/// A part of the table of contents: its title, and the paths of its chapters with their titles.
type Part = (String, Vec<(String, String)>);

/// Returns the pages, and the files that they link to.
pub(super) fn assets() -> Result<Vec<Asset>, Error> {
    let mut parts = parts(&read(SUMMARY)?);
    // mdBook ignores the title of the table of contents.
    parts.first_mut().ok_or("the table of contents is empty")?.0 = "Getting started".to_owned();
    let mut waiting: Vec<(String, String)> = parts.iter().flat_map(|(_, chapters)| chapters).cloned().collect();
    waiting.reverse();
    let (mut documents, mut files) = (Vec::<Document>::new(), BTreeMap::new());
    while let Some((path, title)) = waiting.pop() {
        if documents.iter().any(|document| document.path == path) {
            continue;
        }
        let page = render(&read(&path)?, |link| {
            let target = Target::of(&path, link)?;
            match &target {
                Target::File(file, _) if is_page(file) => waiting.insert(0, (file.clone(), String::new())),
                Target::File(file, _) => {
                    files.insert(file.clone(), Asset::read(address(file), &Path::new(FOLDER).join(file))?);
                }
                Target::Elsewhere(_) => {}
            }
            Ok::<_, Error>(target.relative_to(&path))
        })
        .map_err(|error| format!("{path}: {error}"))?;
        let title = if title.is_empty() { page.title.clone() } else { title };
        documents.push(Document { path, title, page });
    }
    let listed = parts.iter().map(|(_, chapters)| chapters.len()).sum();
    let others = documents[listed..].iter();
    parts.push(("The project".to_owned(), others.map(|one| (one.path.clone(), one.title.clone())).collect()));
    let mut assets: Vec<Asset> = documents.iter().map(|document| document.asset(&parts)).collect::<Result<_, _>>()?;
    assets.extend(files.into_values());
    Ok(assets)
}

fn read(path: &str) -> Result<String, Error> {
    let asset = Asset::read(String::new(), &Path::new(FOLDER).join(path))?;
    Ok(String::from_utf8(asset.content)?)
}

/// Reads the table of contents: headings are titles of parts, links are chapters.
fn parts(summary: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut text, mut target) = (String::new(), String::new());
    for event in Parser::new(summary) {
        match event {
            Event::Start(Tag::Heading { .. }) => text.clear(),
            Event::End(TagEnd::Heading(_)) => parts.push((text.clone(), Vec::new())),
            Event::Start(Tag::Link { dest_url, .. }) => {
                text.clear();
                target = format!("docs/{dest_url}");
            }
            Event::End(TagEnd::Link) => {
                if let Some((_, chapters)) = parts.last_mut() {
                    chapters.push((target.clone(), text.clone()));
                }
            }
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            _ => {}
        }
    }
    parts
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

/// Returns the path at which a file of the repository is served.
fn address(path: &str) -> String {
    let path = path.strip_prefix("docs/").unwrap_or(path);
    match path.strip_suffix(".md") {
        Some("README") => String::new(),
        Some(name) => name.strip_suffix("README").map_or_else(|| name.to_lowercase(), str::to_owned),
        None => path.to_owned(),
    }
}

/// Returns the way from the address of a page up to the index.
fn up(page: &str) -> String {
    "../".repeat(address(page).matches('/').count())
}

/// The target of a link.
enum Target {
    /// A file of the repository, and the fragment behind it.
    File(String, String),
    /// Another address.
    Elsewhere(String),
}

impl Target {
    fn of(page: &str, link: &str) -> Result<Target, Error> {
        if link.starts_with("https://") || link.starts_with("http://") {
            return Ok(Target::Elsewhere(link.to_owned()));
        }
        let (path, fragment) = link.split_at(link.find('#').unwrap_or(link.len()));
        let mut parts: Vec<&str> = page.split('/').collect();
        if !path.is_empty() {
            parts.pop();
        }
        for part in path.split('/').filter(|part| !part.is_empty()) {
            match part {
                "." => {}
                ".." => drop(parts.pop().ok_or_else(|| format!("{link} leads out of the repository"))?),
                part => parts.push(part),
            }
        }
        let file = parts.join("/");
        if file == SUMMARY {
            return Ok(Target::Elsewhere("#contents".to_owned()));
        }
        if file == SERVED.0 {
            return Ok(Target::Elsewhere(format!("{}{ROOT}{}", up(page), SERVED.1)));
        }
        Ok(Target::File(file, fragment.to_owned()))
    }

    fn relative_to(self, page: &str) -> String {
        match self {
            Target::Elsewhere(address) => address,
            Target::File(file, fragment) if file == page && !fragment.is_empty() => fragment,
            Target::File(file, fragment) => relative(page, &file) + &fragment,
        }
    }
}

/// Returns the address of a file, relative to that of a page.
fn relative(page: &str, file: &str) -> String {
    let relative = format!("{}{}", up(page), address(file));
    if relative.is_empty() { "./".to_owned() } else { relative }
}

impl Document {
    fn asset(&self, parts: &[Part]) -> Result<Asset, Error> {
        let up = up(&self.path);
        let link = |to: &str, title: &str, more: &str| {
            format!("<a href=\"{}\"{more}>{}</a>", relative(&self.path, to), escaped(title))
        };
        let mut contents = String::new();
        for (title, chapters) in parts {
            writeln!(contents, "<h2>{}</h2>\n<ul>", escaped(title))?;
            for (path, title) in chapters {
                let current = if *path == self.path { " aria-current=\"page\"" } else { "" };
                writeln!(contents, "<li>{}</li>", link(path, title, current))?;
            }
            writeln!(contents, "</ul>")?;
        }
        let chapters: Vec<_> = parts.iter().flat_map(|(_, chapters)| chapters).collect();
        let place = chapters.iter().position(|(path, _)| *path == self.path);
        let mut neighbors = String::new();
        let previous = place.and_then(|place| chapters.get(place.checked_sub(1)?));
        for (chapter, relation) in [(previous, "prev"), (place.and_then(|place| chapters.get(place + 1)), "next")] {
            if let Some((path, title)) = chapter {
                writeln!(neighbors, "{}", link(path, title, &format!(" rel=\"{relation}\"")))?;
            }
        }
        let values = [
            ("{title}", escaped(&self.page.title)),
            ("{root}", format!("{up}{ROOT}")),
            ("{guide}", if up.is_empty() { "./".to_owned() } else { up }),
            ("{contents}", contents),
            ("{neighbors}", neighbors),
            // Last: its text may have any of these in it.
            ("{content}", self.page.html.clone()),
        ];
        let html = values.iter().fold(TEMPLATE.to_owned(), |html, (name, value)| html.replace(name, value));
        Ok(Asset { path: address(&self.path), media_type: "text/html; charset=utf-8", content: html.into_bytes() })
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
