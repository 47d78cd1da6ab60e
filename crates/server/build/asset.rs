//! Files to serve, as they are read.

use std::{ffi::OsStr, fs, path::Path};

pub type Error = Box<dyn std::error::Error>;

/// A file to serve.
pub struct Asset {
    /// Path relative to where the files are mounted.
    pub path: String,
    pub media_type: &'static str,
    pub content: Vec<u8>,
}

impl Asset {
    /// Reads a file, and tells Cargo to build again when it changes.
    pub fn read(path: String, file: &Path) -> Result<Asset, Error> {
        println!("cargo::rerun-if-changed={}", file.display());
        let content = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Asset { path, media_type: media_type(file), content })
    }
}

/// Returns the media type of a file by the extension of its name.
fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(OsStr::to_str) {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}
