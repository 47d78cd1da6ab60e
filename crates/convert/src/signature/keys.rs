//! Trusted keys, and their origins.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use super::{
    Algorithm,
    key::{PublicKey, Unusable},
};
use crate::{Error, Result, td::Document};

/// Extensions of the files that are read from a folder.
const ENDINGS: [&str; 2] = ["json", "jwks"];
/// The most keys of one set.
const MAX_KEYS: usize = 64;

/// Trusted public keys, each with its origin. Only signatures with these keys are valid: `kid` and `jku` in a card can
/// at most select one of them.
#[derive(Debug, Clone, Default)]
pub struct TrustedKeys {
    keys: Vec<TrustedKey>,
    passed_over: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct TrustedKey {
    pub key: PublicKey,
    /// Origin of the key: the name of a file, or the URL of a domain's keys.
    pub origin: Arc<str>,
}

impl TrustedKeys {
    /// Creates an empty set of keys, so that every signature is untrusted.
    pub fn none() -> TrustedKeys {
        TrustedKeys::default()
    }

    /// Reads a file with a JSON Web Key or a JSON Web Key Set, or all `*.json` and `*.jwks` files in a folder.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::InvalidSetting`] for a file that contains anything else, a private key or shared secret,
    /// or no key for verifying signatures, and for a folder without such files.
    pub fn read(path: &Path) -> Result<TrustedKeys> {
        let mut trusted = TrustedKeys::none();
        for file in files(path)? {
            let text = fs::read(&file).map_err(|source| reading(&file, source))?;
            let read = read_file(&text, &file);
            let invalid = |message| Error::InvalidSetting { origin: file.display().to_string(), message };
            trusted = trusted.and(read.map_err(invalid)?);
        }
        if trusted.is_empty() {
            let message = "the folder contains no *.json or *.jwks file with public keys".into();
            return Err(Error::InvalidSetting { origin: path.display().to_string(), message });
        }
        Ok(trusted)
    }

    /// Reads the key set that a domain publishes at a URL. Unusable keys are omitted.
    ///
    /// # Errors
    /// The reason why the document is not a key set, as text.
    pub fn from_domain(jwks: &[u8], url: &str) -> std::result::Result<TrustedKeys, String> {
        let origin = Arc::from(url);
        let usable = candidates(jwks)?.into_iter().filter_map(|(_, key)| key.ok());
        let keys = usable.map(|key| TrustedKey { key, origin: Arc::clone(&origin) }).collect();
        Ok(TrustedKeys { keys, passed_over: Vec::new() })
    }

    /// Returns the union of both sets.
    pub fn and(mut self, more: TrustedKeys) -> TrustedKeys {
        self.keys.extend(more.keys);
        self.passed_over.extend(more.passed_over);
        self
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the skipped keys in files, each with its location and the reason: it has another purpose, such as
    /// encryption, or a type without an accepted algorithm.
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// True if the set contains no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Those that a signature in this algorithm may be by: with a `kid` those that are called so, else all that fit.
    pub(super) fn fitting(&self, kid: Option<&str>, algorithm: Algorithm) -> Vec<&PublicKey> {
        let candidates = match kid {
            Some(kid) => self.called(kid),
            None => self.keys.iter().collect(),
        };
        candidates.into_iter().map(|trusted| &trusted.key).filter(|key| key.fits(algorithm)).collect()
    }

    /// Those that a signature with this `kid` may be by: those that are called so, else those without a name.
    pub(super) fn called(&self, kid: &str) -> Vec<&TrustedKey> {
        let with = |name: Option<&str>| self.keys.iter().filter(|trusted| trusted.key.kid.as_deref() == name).collect();
        let named: Vec<&TrustedKey> = with(Some(kid));
        if named.is_empty() { with(None) } else { named }
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut files: Vec<PathBuf> = entries.map_err(|source| reading(path, source))?;
    files.retain(|file| file.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)));
    files.sort();
    Ok(files)
}

fn reading(path: &Path, source: std::io::Error) -> Error {
    Error::Io { doing: format!("reading {}", path.display()), source }
}

fn read_file(text: &[u8], file: &Path) -> std::result::Result<TrustedKeys, String> {
    // Its name alone: readers of descriptions needn't know where the operator keeps things.
    let origin: Arc<str> = Arc::from(file.file_name().unwrap_or_default().to_string_lossy());
    let (mut keys, mut passed_over) = (Vec::new(), Vec::new());
    for (index, key) in candidates(text)? {
        match key {
            Ok(key) => keys.push(TrustedKey { key, origin: Arc::clone(&origin) }),
            Err(Unusable::OtherPurpose(reason)) => passed_over.push(format!("key {} of {origin}: {reason}", index + 1)),
            Err(Unusable::Wrong(reason)) => return Err(format!("key {} {reason}", index + 1)),
        }
    }
    if keys.is_empty() {
        return Err("it contains no public key for verifying signatures (P-256, P-384, RSA, or Ed25519)".into());
    }
    Ok(TrustedKeys { keys, passed_over })
}

type Candidate = std::result::Result<PublicKey, Unusable>;

/// The keys of a set by their place in it, usable or not.
fn candidates(text: &[u8]) -> std::result::Result<Vec<(usize, Candidate)>, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    if let Some(pointer) = document.repeated_members().first() {
        return Err(format!("the member {pointer} is repeated"));
    }
    let set = document.value();
    let keys = match set.get("keys").and_then(Value::as_array) {
        Some(keys) => keys.as_slice(),
        None if set.get("kty").is_some() => std::slice::from_ref(set),
        None => return Err("it is neither a JSON Web Key (with `kty`) nor a JSON Web Key Set (with `keys`)".into()),
    };
    if keys.len() > MAX_KEYS {
        return Err(format!("it contains more than {MAX_KEYS} keys"));
    }
    Ok(keys.iter().map(PublicKey::from_jwk).enumerate().collect())
}
