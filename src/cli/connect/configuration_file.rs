//! Configuration files of other programs: read as a whole, and replaced only if nobody else has changed them meanwhile.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
};

use anyhow::{Context, bail};

/// Maximum size of a file in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// A byte order mark in UTF-8, which stays where it is.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file and the content that it had when it was read, if it existed.
#[derive(Debug)]
pub(super) struct ConfigurationFile {
    path: PathBuf,
    content: Option<Content>,
}

#[derive(Debug)]
struct Content {
    bytes: Vec<u8>,
    metadata: Metadata,
}

impl ConfigurationFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Anything but a regular, writable file of a reasonable size under a single name.
    pub(super) fn read(path: &Path) -> anyhow::Result<ConfigurationFile> {
        let content = content_of(path)?;
        let directory = path.parent().unwrap_or(path);
        let is_protected = fs::metadata(directory).is_ok_and(|metadata| metadata.permissions().readonly());
        if is_protected {
            bail!("{}: the directory is read-only", directory.display());
        }
        Ok(ConfigurationFile { path: path.to_owned(), content })
    }

    /// The text without a byte order mark; `None` if there was no file.
    ///
    /// # Errors
    /// Not UTF-8, or binary.
    pub(super) fn text(&self) -> anyhow::Result<Option<&str>> {
        let Some(Content { bytes, .. }) = &self.content else { return Ok(None) };
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Some(text)),
            _ => bail!("{}: the file is not UTF-8 text", self.path.display()),
        }
    }

    /// Replaces the file, or creates it. Returns the copy of the former file.
    ///
    /// # Errors
    /// A file changed since it was read, or a failed write. The file is unchanged then.
    pub(super) fn replace(&self, text: &str) -> anyhow::Result<Option<PathBuf>> {
        let _lock = lock_directory(&self.path);
        self.check_unchanged()?;
        let Some(before) = &self.content else {
            let new = Replacement::write(&self.path, text.as_bytes(), None)?;
            self.check_unchanged()?;
            new.rename_to(&self.path)?;
            return Ok(None);
        };
        let mark: &[u8] = if before.bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { b"" };
        let new = Replacement::write(&self.path, &[mark, text.as_bytes()].concat(), Some(&before.metadata))?;
        let backup = with_ending(&self.path, ".agentdex-backup");
        Replacement::write(&backup, &before.bytes, Some(&before.metadata))?.rename_to(&backup)?;
        self.check_unchanged()?;
        new.rename_to(&self.path)?;
        Ok(Some(backup))
    }

    fn check_unchanged(&self) -> anyhow::Result<()> {
        let current = content_of(&self.path)?;
        let is_same = match (&self.content, &current) {
            (None, None) => true,
            (Some(before), Some(now)) => before.bytes == now.bytes && is_same_file(&before.metadata, &now.metadata),
            _ => false,
        };
        if !is_same {
            bail!("{}: another program changed the file in the meantime; try again", self.path.display());
        }
        Ok(())
    }
}

fn content_of(path: &Path) -> anyhow::Result<Option<Content>> {
    let shown = path.display();
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("reading {shown}")),
    };
    if metadata.is_symlink() {
        bail!("{shown}: the file is a symbolic link; name its target with --file");
    }
    if !metadata.is_file() {
        bail!("{shown}: not a regular file");
    }
    if has_other_names(&metadata) {
        bail!("{shown}: the file has other hard links, which would keep the old content; edit the file yourself");
    }
    if metadata.permissions().readonly() {
        bail!("{shown}: the file is read-only");
    }
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(|| format!("opening {shown}"))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).with_context(|| format!("reading {shown}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{shown}: the file has more than {MAX_BYTES} bytes");
    }
    Ok(Some(Content { bytes, metadata }))
}

/// Makes other processes of this program wait until the lock is dropped, if the system can lock the directory of a file. Between the
/// last check and the renaming, only other programs can change the file.
fn lock_directory(path: &Path) -> Option<File> {
    let directory = File::open(path.parent()?).ok()?;
    directory.lock().ok()?;
    Some(directory)
}

/// New content in a temporary file beside its target, removed unless it replaces the target.
struct Replacement {
    path: Option<PathBuf>,
}

impl Replacement {
    /// Writes the file with mode and owner of the former file. Without a former file, only its owner can read it.
    fn write(target: &Path, bytes: &[u8], former: Option<&Metadata>) -> anyhow::Result<Replacement> {
        let path = with_ending(target, &format!(".agentdex-{}", process::id()));
        let writing = || format!("writing {}", path.display());
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).with_context(writing)?;
        let replacement = Replacement { path: Some(path.clone()) };
        file.write_all(bytes).with_context(writing)?;
        if let Some(former) = former {
            take_over(&file, former).with_context(writing)?;
        }
        file.sync_all().with_context(writing)?;
        Ok(replacement)
    }

    fn rename_to(mut self, target: &Path) -> anyhow::Result<()> {
        let Some(path) = self.path.as_deref() else { return Ok(()) };
        fs::rename(path, target).with_context(|| format!("replacing {}", target.display()))?;
        self.path = None;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(unix)]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino(), one.mode()) == (other.dev(), other.ino(), other.mode())
}

#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Gives a file the mode and owner of another file.
#[cfg(unix)]
fn take_over(file: &File, former: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (former.uid(), former.gid()) {
        fchown(file, Some(former.uid()), Some(former.gid()))?;
    }
    file.set_permissions(former.permissions())
}

#[cfg(not(unix))]
fn take_over(file: &File, former: &Metadata) -> io::Result<()> {
    file.set_permissions(former.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_changes_meanwhile_is_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(&path, "{}").unwrap();
        let file = ConfigurationFile::read(&path).unwrap();
        fs::write(&path, "{\"a\": 1}").unwrap();
        assert!(file.replace("{\"b\": 1}").unwrap_err().to_string().contains("in the meantime"));
        assert_eq!(fs::read(&path).unwrap(), b"{\"a\": 1}");
        // The same text in another file: the client has replaced it.
        let file = ConfigurationFile::read(&path).unwrap();
        fs::write(directory.path().join("new"), "{\"a\": 1}").unwrap();
        fs::rename(directory.path().join("new"), &path).unwrap();
        assert!(file.replace("{\"b\": 1}").is_err());
        fs::remove_file(&path).unwrap();
        let absent = ConfigurationFile::read(&path).unwrap();
        fs::write(&path, "{}").unwrap();
        assert!(absent.replace("{\"b\": 1}").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        fs::write(&path, "").unwrap();
        let write = |number: usize| {
            // A writer tries again after a conflict.
            for _ in 0..10_000 {
                let file = ConfigurationFile::read(&path).unwrap();
                let text = format!("{}{number}\n", file.text().unwrap().unwrap());
                match file.replace(&text) {
                    Ok(_) => return,
                    Err(error) => assert!(error.to_string().contains("in the meantime"), "{error:#}"),
                }
            }
            panic!("{number} doesn't get to write");
        };
        std::thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || write(number));
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        let written: std::collections::BTreeSet<&str> = text.lines().collect();
        assert!((written.len(), text.lines().count()) == (8, 8), "{text}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "the file and its copy");
    }
}
