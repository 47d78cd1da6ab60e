//! The keys that make a signature trustworthy, and where they come from.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use super::key::{PublicKey, Unusable};
use crate::{Error, Result, td::Document};

/// The most keys of one set.
const MAX_KEYS: usize = 64;

/// Public keys that are trusted, each with who vouches for it. Only these make a signature valid: what
/// a card says of keys (`kid`, `jku`) picks one of them at most.
#[derive(Debug, Clone, Default)]
pub struct TrustedKeys(Vec<TrustedKey>);

#[derive(Debug, Clone)]
pub(super) struct TrustedKey {
    pub key: PublicKey,
    /// Where it comes from.
    pub origin: Arc<str>,
}

impl TrustedKeys {
    /// No keys: every signature is untrusted.
    pub fn none() -> TrustedKeys {
        TrustedKeys::default()
    }

    /// Reads a file with a JSON Web Key or a set of them, or all `*.json` files of a folder.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::InvalidSetting`] for a file that is none, has a private key or shared
    /// secret in it, or no key that signatures can be checked with, and for a folder without such files.
    pub fn read(path: &Path) -> Result<TrustedKeys> {
        let mut keys = Vec::new();
        for file in files(path)? {
            let text = fs::read(&file).map_err(|source| reading(&file, source))?;
            keys.extend(
                read_file(&text, &file)
                    .map_err(|message| Error::InvalidSetting { origin: file.display().to_string(), message })?,
            );
        }
        if keys.is_empty() {
            let message = "the folder has no *.json file with public keys in it".into();
            return Err(Error::InvalidSetting { origin: path.display().to_string(), message });
        }
        Ok(TrustedKeys(keys))
    }

    /// Reads the set of keys that a domain publishes at a URL. Those that can't be used are left out.
    ///
    /// # Errors
    /// What makes it no set of keys, in words.
    pub fn from_domain(jwks: &[u8], url: &str) -> std::result::Result<TrustedKeys, String> {
        let origin = Arc::from(url);
        let usable = candidates(jwks)?.into_iter().filter_map(|(_, key)| key.ok());
        Ok(TrustedKeys(usable.map(|key| TrustedKey { key, origin: Arc::clone(&origin) }).collect()))
    }

    /// These keys and more.
    pub fn and(mut self, more: TrustedKeys) -> TrustedKeys {
        self.0.extend(more.0);
        self
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that a signature with this `kid` may be by: those that are called so, else those without a name.
    pub(super) fn called(&self, kid: &str) -> Vec<&TrustedKey> {
        let with = |name: Option<&str>| self.0.iter().filter(|trusted| trusted.key.kid.as_deref() == name).collect();
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
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    Ok(files)
}

fn reading(path: &Path, source: std::io::Error) -> Error {
    Error::Io { doing: format!("reading {}", path.display()), source }
}

fn read_file(text: &[u8], file: &Path) -> std::result::Result<Vec<TrustedKey>, String> {
    // Its name alone: readers of descriptions needn't know where the operator keeps things.
    let origin: Arc<str> = Arc::from(file.file_name().unwrap_or_default().to_string_lossy());
    let mut keys = Vec::new();
    for (index, key) in candidates(text)? {
        match key {
            Ok(key) => keys.push(TrustedKey { key, origin: Arc::clone(&origin) }),
            Err(Unusable::OtherPurpose) => {}
            Err(Unusable::Wrong(reason)) => return Err(format!("key {} {reason}", index + 1)),
        }
    }
    if keys.is_empty() {
        return Err("it has no public key of a kind that signatures are checked with (EC, RSA, Ed25519)".into());
    }
    Ok(keys)
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
        None => return Err("it is neither a JSON Web Key (with `kty`) nor a set of them (with `keys`)".into()),
    };
    if keys.len() > MAX_KEYS {
        return Err(format!("it has more than {MAX_KEYS} keys"));
    }
    Ok(keys.iter().map(PublicKey::from_jwk).enumerate().collect())
}
