//! Files as documents: JSON, and YAML and JSON5 brought into JSON.
//!
//! A file is YAML by its name (`.yaml`, `.yml`), JSON5 by its name (`.json5`), else JSON. What claims
//! to be JSON and is JSON5 (comments, trailing commas) is read too, and said so. Of YAML and JSON5
//! the spelling of numbers is lost (`1.50` becomes `1.5`), of JSON nothing.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::{
    Error,
    convert::{JsonText, Syntax},
    td::{self, Document},
};

/// The endings of files that are taken from a folder.
const ENDINGS: [&str; 6] = ["json", "jsonld", "td", "json5", "yaml", "yml"];
/// The file name that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// A document that was read from a file.
pub(super) struct FileDocument {
    pub document: Document,
    /// Why the file is no JSON, where its name says it is and it was read as JSON5.
    pub not_json: Option<String>,
}

/// Why a file gives no document.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("can't be read: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    Document(#[from] Error),
}

/// Reads one document from a file, or from standard input where the path is `-`.
pub(super) fn read(path: &Path) -> Result<FileDocument, ReadError> {
    let mut bytes = Vec::new();
    if path == Path::new(STANDARD_INPUT) {
        io::stdin().lock().read_to_end(&mut bytes)?;
    } else {
        bytes = fs::read(path)?;
    }
    match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "yaml" | "yml" => Ok(FileDocument { document: from_yaml(&bytes)?, not_json: None }),
        "json5" => Ok(FileDocument { document: from_json5(&bytes)?, not_json: None }),
        _ => from_json(&bytes),
    }
}

fn from_json(bytes: &[u8]) -> Result<FileDocument, ReadError> {
    match Document::parse(bytes) {
        Ok(document) => Ok(FileDocument { document, not_json: None }),
        Err(Error::MalformedJson { line, column, message }) => match from_json5(bytes) {
            Ok(document) => {
                let departure = Error::MalformedJson { line, column, message }.to_string();
                Ok(FileDocument { document, not_json: Some(departure) })
            }
            // What neither of them reads is the mistake, more often than a comment before it.
            Err(ReadError::Document(Error::MalformedJson { line: line5, column: column5, message: message5 }))
                if (line5, column5) > (line, column) =>
            {
                let message = format!("{message}; and as JSON5 at line {line5}, column {column5}: {message5}");
                Err(Error::MalformedJson { line, column, message }.into())
            }
            Err(_) => Err(Error::MalformedJson { line, column, message }.into()),
        },
        Err(error) => Err(error.into()),
    }
}

fn from_json5(bytes: &[u8]) -> Result<Document, ReadError> {
    let json: JsonText = json5::from_str(td::text_of(bytes)?).map_err(|error| {
        let (line, column) = error.position().map_or((1, 1), |at| (at.line + 1, at.column + 1));
        let message = error.code().map_or_else(|| error.to_string(), |code| code.to_string());
        Error::MalformedJson { line, column, message }
    })?;
    Ok(Document::parse(json.into_text().as_bytes())?)
}

fn from_yaml(bytes: &[u8]) -> Result<Document, ReadError> {
    Ok(Document::parse(Syntax::Yaml.to_json(bytes)?.as_bytes())?)
}

/// The files that the arguments name: files and `-` as they are, folders as what they and the
/// folders in them hold, in order of name.
///
/// # Errors
/// A folder that can't be listed.
pub(super) fn files(arguments: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for argument in arguments {
        if argument.is_dir() {
            files_of_folder(argument, &mut files)?;
        } else {
            files.push(argument.clone());
        }
    }
    Ok(files)
}

fn files_of_folder(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files_of_folder(&entry, files)?;
        } else if entry.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| ENDINGS.contains(&ending)) {
            files.push(entry);
        }
    }
    Ok(())
}
