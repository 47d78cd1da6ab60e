//! The contexts file. It may contain API keys, so only its owner may read it.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use super::misuse::misuse;

/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A registry with the credentials for it.
// No Debug: it has a key.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Context {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// PEM file with further certificate authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// PEM file with a client certificate and its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<PathBuf>,
}

/// All contexts, and which of them is in use.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contexts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    #[serde(default)]
    contexts: BTreeMap<String, Context>,
}

impl Contexts {
    /// Reads the file; without one, there are no contexts.
    ///
    /// # Errors
    /// A file that can't be read, or that other users can read.
    pub(super) fn load() -> anyhow::Result<Contexts> {
        let Some(path) = path() else { return Ok(Contexts::default()) };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Contexts::default());
            }
            Err(error) => return Err(error).with_context(|| format!("opening {}", path.display())),
        };
        check_private(&file, &path)?;
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).with_context(|| format!("reading {}", path.display()))?;
        // The position is enough: the text may be a key.
        serde_json::from_str(&text).map_err(|error| {
            anyhow::anyhow!(
                "{}: line {}, column {}: not a valid contexts file",
                path.display(),
                error.line(),
                error.column()
            )
        })
    }

    /// Replaces the file by one that only its owner can read.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let Some(path) = path() else { bail!("no folder for contexts: set HOME or XDG_CONFIG_HOME") };
        let writing = || format!("writing {}", path.display());
        let folder = path.parent().unwrap_or(&path);
        make_private(folder).with_context(|| format!("creating {}", folder.display()))?;
        let new = path.with_extension("json.new");
        // A file that was left behind could have other permissions.
        let _ = fs::remove_file(&new);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new).with_context(writing)?;
        let text = format!("{}\n", serde_json::to_string_pretty(self)?);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.and_then(|()| fs::rename(&new, &path)).with_context(writing)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.contexts.keys().map(String::as_str)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Context> {
        self.contexts.get(name)
    }

    /// The context of this name.
    ///
    /// # Errors
    /// A name that no context has, with the names that there are.
    pub(super) fn get(&self, name: &str) -> anyhow::Result<&Context> {
        self.find(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let known = match names.as_slice() {
                [] => "`agentdex context add NAME --url URL` saves one".to_owned(),
                names => format!("saved contexts: {}", names.join(", ")),
            };
            misuse(format!("there is no context {name:?}; {known}"))
        })
    }

    /// Name of the context in use.
    pub(super) fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    pub(super) fn set(&mut self, name: &str, context: Context) {
        self.contexts.insert(name.to_owned(), context);
    }

    pub(super) fn select(&mut self, name: &str) {
        self.current = Some(name.to_owned());
    }

    /// Removes a context; if it is in use, none is afterwards.
    pub(super) fn remove(&mut self, name: &str) {
        self.contexts.remove(name);
        self.current.take_if(|current| current == name);
    }
}

/// The context of this name.
///
/// # Errors
/// As [`Contexts::load`] and [`Contexts::get`].
pub(super) fn find(name: &str) -> anyhow::Result<Context> {
    Contexts::load()?.get(name).cloned()
}

/// The context that was selected, if there is one.
///
/// # Errors
/// A file that can't be read, or that others can read.
pub(super) fn current() -> anyhow::Result<Option<Context>> {
    let contexts = Contexts::load()?;
    Ok(contexts.current().and_then(|name| contexts.find(name)).cloned())
}

/// The file, in the user's folder for configuration.
fn path() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named("XDG_CONFIG_HOME").or_else(|| named("HOME").map(|home| home.join(".config")))?;
    Some(base.join("agentdex").join("contexts.json"))
}

#[cfg(unix)]
fn check_private(file: &File, path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().with_context(|| format!("reading {}", path.display()))?.permissions().mode();
    if mode & 0o077 != 0 {
        let path = path.display();
        bail!(
            "{path}: other users can read or change this file, which may contain API keys; run `chmod 600 {path}`, and replace \
             keys that others may have read"
        );
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &File, _: &Path) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
