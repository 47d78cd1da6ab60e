//! Files as documents: what they are written in, and which format they are in.
//!
//! A file is YAML by its name (`.yaml`, `.yml`), JSON5 by its name (`.json5`), else JSON. What claims
//! to be JSON and is JSON5 (comments, trailing commas) is read too, with a warning. Input without such a
//! name, as standard input, is JSON if it starts like JSON, otherwise YAML. Of YAML and JSON5 the
//! spelling of numbers is lost (`1.50` becomes `1.5`), of JSON nothing.

use std::{
    borrow::Cow,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::de::IgnoredAny;

use agentdex::{
    Error,
    convert::{self, Format, Input, JsonText, MAX_SOURCE_BYTES, Syntax},
    td,
};
use agentdex_client as client;

/// The endings of files that are taken from a folder.
const ENDINGS: [&str; 6] = ["json", "jsonld", "td", "json5", "yaml", "yml"];
/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A document that was read from a file.
#[derive(Debug)]
pub(super) struct FileDocument {
    /// JSON or YAML as it came; JSON5 as JSON.
    pub bytes: Vec<u8>,
    pub syntax: Syntax,
    /// Why the file is not JSON, where its name ends like JSON and it was read as JSON5.
    pub not_json: Option<String>,
}

/// Why a file gives no document.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("can't be read: {0}")]
    File(io::Error),
    #[error(transparent)]
    Document(#[from] Error),
    #[error("neither JSON nor YAML ({0}); pass a description, such as agent.json or agent.yaml")]
    Unknown(String),
}

impl FileDocument {
    /// Reads one document from a file, or from standard input where the path is `-`.
    pub(super) fn read(path: &Path) -> Result<FileDocument, ReadError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if is_standard_input(path) {
            return FileDocument::read_from(io::stdin().lock(), ending);
        }
        FileDocument::read_from(fs::File::open(path).map_err(ReadError::File)?, ending)
    }

    /// Reads one document to the end of `source`, whose name ends like this.
    pub(super) fn read_from(source: impl Read, ending: &str) -> Result<FileDocument, ReadError> {
        let mut bytes = Vec::new();
        take(source, &mut bytes).map_err(ReadError::File)?;
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(Error::DocumentTooLarge { maximum: MAX_SOURCE_BYTES }.into());
        }
        let is_yaml = match ending {
            "yaml" | "yml" => true,
            _ => !ENDINGS.contains(&ending) && !starts_like_json(&bytes),
        };
        if is_yaml && !matches!(ending, "yaml" | "yml" | "") {
            // The name says that it is something else, and any prose is YAML: one text.
            match Syntax::Yaml.to_json(&bytes) {
                Ok(json) if json.starts_with('{') || json.starts_with('[') => {}
                Ok(_) => return Err(ReadError::Unknown("a text".to_owned())),
                Err(error) => return Err(ReadError::Unknown(error.to_string())),
            }
        }
        if is_yaml {
            return Ok(FileDocument { bytes, syntax: Syntax::Yaml, not_json: None });
        }
        if ending == "json5" {
            let bytes = from_json5(&bytes)?.into_bytes();
            return Ok(FileDocument { bytes, syntax: Syntax::Json, not_json: None });
        }
        Ok(from_json(bytes)?)
    }

    /// The document as JSON text.
    pub(super) fn json(&self) -> Result<Cow<'_, str>, Error> {
        Ok(self.syntax.to_json(&self.bytes)?)
    }

    /// The document as a Thing Description.
    pub(super) fn thing_description(&self) -> Result<td::Document, Error> {
        Ok(td::Document::parse(self.json()?.as_bytes())?)
    }

    /// The requested format, else the one that is detected.
    pub(super) fn format(&self, asked: Option<Format>) -> Result<Format, Error> {
        match asked {
            Some(format) => Ok(format),
            None => Ok(convert::detect(&self.json()?)?),
        }
    }

    /// Returns the input of a converter: the document, with the components that it refers to.
    pub(super) fn input<'d>(&'d self, components: &'d [(&'d [u8], Syntax)]) -> Input<'d> {
        Input { bytes: &self.bytes, syntax: self.syntax, components }
    }

    /// A component as it is sent to a registry.
    pub(super) fn to_component(&self) -> client::Document {
        client::Document { media_type: self.syntax.media_type().to_owned(), bytes: self.bytes.clone() }
    }

    /// The document as it is sent to a registry: in YAML where the format is, else as JSON.
    pub(super) fn into_source(self, format: Format) -> Result<client::Document, Error> {
        let taken = format.import().map_or(&[][..], |import| import.media_types);
        let (syntax, bytes) = match taken.iter().any(|(_, syntax)| *syntax == self.syntax) {
            true => (self.syntax, self.bytes),
            false => (Syntax::Json, self.json()?.into_owned().into_bytes()),
        };
        Ok(client::Document { media_type: syntax.media_type().to_owned(), bytes })
    }
}

/// True if a path stands for standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

/// Reads to the end, or a little beyond what is taken at most.
fn take(source: impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    source.take(MAX_SOURCE_BYTES as u64 + 1).read_to_end(bytes).map(drop)
}

/// True if a text can only be JSON or JSON5: it starts with a bracket, or with a comment before one.
fn starts_like_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    matches!(text.first(), Some(b'{' | b'[' | b'/'))
}

fn from_json(bytes: Vec<u8>) -> Result<FileDocument, Error> {
    let malformed = match serde_json::from_str::<IgnoredAny>(td::internal::text_of(&bytes)?) {
        Ok(IgnoredAny) => return Ok(FileDocument { bytes, syntax: Syntax::Json, not_json: None }),
        Err(error) => Error::from(td::internal::malformed_json(&error)),
    };
    match (from_json5(&bytes), malformed) {
        (Ok(json), malformed) => {
            let not_json = Some(malformed.to_string());
            Ok(FileDocument { bytes: json.into_bytes(), syntax: Syntax::Json, not_json })
        }
        // What neither of them reads is the mistake, more often than a comment before it.
        (
            Err(Error::MalformedJson { line: line5, column: column5, message: message5 }),
            Error::MalformedJson { line, column, message },
        ) if (line5, column5) > (line, column) => {
            let message = format!("{message}; as JSON5, the error is at line {line5}, column {column5}: {message5}");
            Err(Error::MalformedJson { line, column, message })
        }
        (Err(_), malformed) => Err(malformed),
    }
}

fn from_json5(bytes: &[u8]) -> Result<String, Error> {
    let json: JsonText = json5::from_str(td::internal::text_of(bytes)?).map_err(|error| {
        let (line, column) = error.position().map_or((1, 1), |at| (at.line + 1, at.column + 1));
        let message = error.code().map_or_else(|| error.to_string(), |code| code.to_string());
        Error::MalformedJson { line, column, message }
    })?;
    Ok(json.into_text())
}

/// The files that the arguments name: files and `-` as they are, folders as what they and the
/// folders in them hold, in order of name.
///
/// # Errors
/// A folder that can't be listed; and an empty result.
pub(super) fn files(arguments: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for argument in arguments {
        if argument.is_dir() {
            files_of_folder(argument, &mut files).with_context(|| format!("listing {}", argument.display()))?;
        } else {
            files.push(argument.clone());
        }
    }
    if files.is_empty() {
        let folders: Vec<String> = arguments.iter().map(|folder| folder.display().to_string()).collect();
        bail!("no .json, .jsonld, .td, .json5, .yaml, or .yml file in {}", folders.join(" or "));
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

/// Components as converters take them.
pub(super) fn component_inputs(components: &[FileDocument]) -> Vec<(&[u8], Syntax)> {
    components.iter().map(|component| (component.bytes.as_slice(), component.syntax)).collect()
}
