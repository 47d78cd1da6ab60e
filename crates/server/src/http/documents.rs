//! Documents of an import request: one as the body, or several as the parts of a multi-part one.
//!
//! `multipart/form-data` is what pages of any origin may send without asking first; those of foreign ones are
//! refused by [`host`](super::host).

use actix_web::{
    HttpRequest,
    http::{StatusCode, header::CONTENT_TYPE},
    web::{self, Bytes},
};
use futures_util::{FutureExt, stream};
use multer::{Field, Multipart};

use super::{Options, body, problem::Problem};
use crate::{
    Error,
    convert::{Import, Syntax},
};

/// The part that is the document itself.
const DOCUMENT: &str = "document";
/// The parts that it refers to.
const COMPONENT: &str = "component";
/// The most parts.
const MAX_PARTS: usize = 100;
/// Media types that say nothing about the syntax of a part: its sender knows only that it is a file, or text.
const NO_TYPES: [&str; 2] = ["application/octet-stream", "text/plain"];

/// A document as it was sent.
#[derive(Debug)]
pub(super) struct Document {
    pub bytes: Vec<u8>,
    pub syntax: Syntax,
}

/// The documents of one import.
#[derive(Debug)]
pub(super) struct Documents {
    pub main: Document,
    /// The documents that the main one refers to.
    pub components: Vec<Document>,
}

/// The media types of YAML, which documents of every format may have.
pub(super) const YAML: [&str; 3] = ["application/yaml", "application/x-yaml", "text/yaml"];

/// The media types that documents of a format may have, and the syntax of each.
pub(super) fn media_types(import: &Import) -> Vec<(&'static str, Syntax)> {
    let yaml = YAML.into_iter().filter(|name| import.media_types.iter().all(|(known, _)| known != name));
    import.media_types.iter().copied().chain(yaml.map(|name| (name, Syntax::Yaml))).collect()
}

/// A document in YAML as JSON, where its format is a JSON format: its original is exported to readers of JSON.
fn in_a_syntax_of(import: &Import, document: Document) -> Result<Document, Problem> {
    if import.media_types.iter().any(|(_, syntax)| *syntax == document.syntax) {
        return Ok(document);
    }
    let json = document.syntax.to_json(&document.bytes).map_err(Error::from)?;
    Ok(Document { bytes: json.into_owned().into_bytes(), syntax: Syntax::Json })
}

/// Reads the documents of a request.
pub(super) async fn read(
    request: &HttpRequest,
    payload: web::Payload,
    import: &Import,
    options: &Options,
) -> Result<Documents, Problem> {
    let types = media_types(import);
    let given = request.headers().get(CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or_default();
    let boundary = multer::parse_boundary(given).ok().filter(|_| import.takes_components);
    let Some(boundary) = boundary else {
        let several = import.takes_components.then_some("multipart/form-data");
        let names: Vec<&str> = types.iter().map(|(name, _)| *name).chain(several).collect();
        body::check_type(request, &names)?;
        let syntax = syntax_of_type(given, &types).ok_or_else(|| malformed("`Content-Type` names no boundary"))?;
        let main = Document { bytes: body::read(request, payload, options.body_limit).await?, syntax };
        return Ok(Documents { main: in_a_syntax_of(import, main)?, components: Vec::new() });
    };
    let bytes = body::read(request, payload, options.body_limit).await?;
    parts(bytes, boundary, &types)
}

/// Takes a body apart that is in memory, so that nothing has to be waited for.
fn parts(bytes: Vec<u8>, boundary: String, types: &[(&str, Syntax)]) -> Result<Documents, Problem> {
    let whole = stream::iter([Ok::<_, std::io::Error>(Bytes::from(bytes))]);
    let mut multipart = Multipart::new(whole, boundary);
    let (mut main, mut components) = (None, Vec::new());
    while let Some(part) = at_once(multipart.next_field())? {
        let name = part.name().unwrap_or_default().to_owned();
        let syntax = syntax_of_part(&part, &name, types)?;
        let document = Document { bytes: at_once(part.bytes())?.to_vec(), syntax };
        match name.as_str() {
            DOCUMENT if main.is_none() => main = Some(document),
            DOCUMENT => return Err(malformed("there are several parts named `document`")),
            COMPONENT => components.push(document),
            _ => return Err(malformed("parts must be named `document` or `component`")),
        }
        if components.len() > MAX_PARTS {
            let what = "number of parts named `component`";
            return Err(Error::LimitExceeded { what, maximum: MAX_PARTS as u64 }.into());
        }
    }
    let main = main.ok_or_else(|| malformed("the part `document` is missing"))?;
    Ok(Documents { main, components })
}

fn at_once<T>(step: impl Future<Output = multer::Result<T>>) -> Result<T, Problem> {
    match step.now_or_never() {
        Some(Ok(done)) => Ok(done),
        Some(Err(error)) => Err(malformed(&error.to_string())),
        None => Err(malformed("it is truncated")),
    }
}

/// Returns the syntax of a part: by its type, else by the name of its file, else JSON.
fn syntax_of_part(part: &Field<'_>, name: &str, types: &[(&str, Syntax)]) -> Result<Syntax, Problem> {
    let given = part.content_type().map(|given| given.essence_str()).filter(|given| !NO_TYPES.contains(given));
    if let Some(given) = given {
        return syntax_of_type(given, types).ok_or_else(|| {
            let names: Vec<&str> = types.iter().map(|(name, _)| *name).collect();
            body::unsupported(format!("the part {name:?} is {given:?}, but must be {}", names.join(" or ")))
        });
    }
    Ok(part.file_name().and_then(Syntax::of_file_name).unwrap_or(Syntax::Json))
}

fn syntax_of_type(given: &str, types: &[(&str, Syntax)]) -> Option<Syntax> {
    let essence = given.split(';').next().unwrap_or_default().trim();
    types.iter().find(|(name, _)| name.eq_ignore_ascii_case(essence)).map(|(_, syntax)| *syntax)
}

fn malformed(detail: &str) -> Problem {
    let detail = format!("malformed multipart body: {detail}");
    Problem::new(StatusCode::BAD_REQUEST, "malformed-multipart", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [(&str, Syntax); 2] = [("application/json", Syntax::Json), ("application/yaml", Syntax::Yaml)];

    fn part(disposition: &str, kind: &str, text: &str) -> String {
        let kind = if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
        format!("--limit\r\nContent-Disposition: form-data; {disposition}\r\n{kind}\r\n{text}\r\n")
    }

    fn read(parts_of_body: &[String]) -> Result<Documents, String> {
        let body = format!("{}--limit--\r\n", parts_of_body.concat());
        parts(body.into_bytes(), "limit".into(), &TYPES).map_err(|problem| problem.to_string())
    }

    #[test]
    fn syntax_is_that_of_the_type_or_of_the_file_name() {
        for (disposition, kind, syntax) in [
            ("name=\"document\"", "", Syntax::Json),
            ("name=\"document\"", "application/yaml; charset=utf-8", Syntax::Yaml),
            ("name=\"document\"; filename=\"a.yaml\"", "application/octet-stream", Syntax::Yaml),
            ("name=\"document\"; filename=\"a.yaml\"", "application/json", Syntax::Json),
            ("name=\"document\"; filename=\"a.json\"", "", Syntax::Json),
        ] {
            let documents = read(&[part("name=\"component\"", "", "b"), part(disposition, kind, "a: 1\r\n")]).unwrap();
            assert_eq!((documents.main.syntax, documents.main.bytes.as_slice()), (syntax, &b"a: 1\r\n"[..]));
            assert_eq!(documents.components.len(), 1);
        }
    }

    #[test]
    fn parts_that_are_not_understood_are_refused() {
        let document = || part("name=\"document\"", "", "{}");
        for (parts, words) in [
            (vec![], "the part `document` is missing"),
            (vec![document(), document()], "several parts"),
            (vec![document(), part("name=\"other\"", "", "{}")], "must be named"),
            (vec![part("name=\"document\"", "text/html", "{}")], "must be application/json"),
            (vec!["--limit\r\nbroken".to_owned()], "malformed multipart"),
            ((0..102).map(|_| part("name=\"component\"", "", "{}")).collect(), "number of parts named `component`"),
        ] {
            let refusal = read(&parts).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }

    #[test]
    fn body_that_ends_early_is_no_wait() {
        let whole = format!("{}--limit--\r\n", part("name=\"document\"", "application/json", "{}"));
        for end in 0..whole.len() - 4 {
            assert!(parts(whole.as_bytes()[..end].to_vec(), "limit".into(), &TYPES).is_err(), "{end}");
        }
    }
}
