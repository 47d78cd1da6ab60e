//! Layout of an index on disk: directories `index-<n>`, and a file `CURRENT` with the name of the valid directory.
//!
//! A rebuild writes a new directory and activates it by renaming `CURRENT` into place, so a crash leaves either the
//! old or the new index. All other directories are leftovers and are removed.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::schema::VERSION;

const CURRENT: &str = "CURRENT";
const PREFIX: &str = "index-";

/// Returns the directory of the valid index, if it was written by this version.
pub(super) fn current(home: &Path) -> io::Result<Option<PathBuf>> {
    let text = match fs::read_to_string(home.join(CURRENT)) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((version, name)) = text.trim_end().split_once(' ') else { return Ok(None) };
    let is_ours = version == VERSION.to_string() && number(name).is_some();
    Ok(is_ours.then(|| home.join(name)).filter(|directory| directory.is_dir()))
}

/// A new, empty directory beside the others.
pub(super) fn create(home: &Path) -> io::Result<PathBuf> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(home)?;
    let last = entries(home)?.filter_map(|name| number(&name)).max().unwrap_or(0);
    let directory = home.join(format!("{PREFIX}{}", last + 1));
    fs::create_dir(&directory)?;
    Ok(directory)
}

/// Activates a directory and removes all others.
pub(super) fn make_current(home: &Path, directory: &Path) -> io::Result<()> {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let draft = home.join("CURRENT.new");
    let mut file = File::create(&draft)?;
    writeln!(file, "{VERSION} {name}")?;
    file.sync_all()?;
    fs::rename(&draft, home.join(CURRENT))?;
    sync_directory(home)?;
    remove_leftovers(home, Some(directory));
    Ok(())
}

/// Removes all index directories but one. Directories that can't be removed are tried again the next time.
pub(super) fn remove_leftovers(home: &Path, keep: Option<&Path>) {
    let Ok(names) = entries(home) else { return };
    for name in names.filter(|name| number(name).is_some()) {
        let directory = home.join(name);
        if Some(directory.as_path()) != keep
            && let Err(error) = fs::remove_dir_all(&directory)
        {
            tracing::warn!(directory = %directory.display(), %error, "an old search index can't be removed");
        }
    }
}

fn entries(home: &Path) -> io::Result<impl Iterator<Item = String>> {
    Ok(fs::read_dir(home)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
