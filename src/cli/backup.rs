//! `agentdex backup` and `agentdex restore`: all that a registry has, as one file, and back.

use std::{
    fs::{self, File},
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use futures_util::StreamExt;
use indicatif::{HumanBytes, ProgressBar};
use serde_json::{Value, json};

use super::{
    data_directory::check_has_registry,
    keys,
    output::{complain, counted, print_json, yellow_on_stderr},
    progress,
    terminal::stdout,
};
use crate::settings::DEFAULT_DATA;
use agentdex::{
    Error, Registry,
    registry::{self, RestoreOptions, Restored},
    store::CopiedDirectory,
};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Take {
    #[command(flatten)]
    pub(super) target: TargetFile,
    /// Back up the data directory of a stopped registry instead of a running server
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct TargetFile {
    /// File to write, or - for standard output
    file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Print the path and the size of the file as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    /// Backup file, or - for standard input
    file: PathBuf,
    /// Data directory to create; it must be empty or not exist
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// Don't restore API keys. Otherwise, keys revoked after the backup become valid again
    #[arg(long)]
    revoke_keys: bool,
    /// Print a summary of the restored data as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn take(file: &TargetFile, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let mut target = Target::create(&file.file, file.force)?;
    let mut pieces = client.backup().await?;
    while let Some(piece) = pieces.next().await {
        target.write_all(&piece?)?;
    }
    target.finish(file.json)
}

/// The same of the data directory of a registry that isn't running.
pub(super) fn take_of(directory: &Path, file: &TargetFile) -> anyhow::Result<ExitCode> {
    let mut target = Target::create(&file.file, file.force)?;
    check_has_registry(directory)?;
    let mut copy = None;
    let registry = match Registry::open(directory) {
        // Only its cluster may write to it.
        Err(Error::ClusterDirectory { .. }) => {
            let copy = copy.insert(CopiedDirectory::of(directory)?);
            copy.leave_cluster()?;
            Registry::open(copy.path())?
        }
        opened => opened?,
    };
    let copied = registry
        .backup()
        .map_err(anyhow::Error::from)
        .and_then(|mut backup| io::copy(&mut backup, &mut target).context("taking a backup"));
    registry.close();
    copied?;
    target.finish(file.json)
}

pub(super) fn restore(arguments: &Restore) -> anyhow::Result<ExitCode> {
    let data = &arguments.data;
    let total = fs::metadata(&arguments.file).ok().filter(|file| file.is_file()).map(|file| file.len());
    let bar = progress::of_bytes(total);
    let options = RestoreOptions { revoke_keys: arguments.revoke_keys };
    let restored = if arguments.file == Path::new("-") {
        let file = bar.wrap_read(io::stdin().lock());
        restore_into(data, |beside| registry::restore_with(file, beside, options))
    } else {
        let shown = arguments.file.display().to_string();
        let file = match File::open(&arguments.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("{shown}: no such file; pass a file written by `agentdex backup`")
            }
            file => file.with_context(|| format!("opening {shown}"))?,
        };
        let file = bar.wrap_read(file);
        restore_into(data, |beside| registry::restore_with(file, beside, options)).with_context(|| shown)
    };
    bar.finish_and_clear();
    let restored = restored?;
    restored.warnings.iter().for_each(|warning| complain(&format!("{} {warning}", yellow_on_stderr("warning:"))));
    match arguments.json {
        true => print_json(&restored_json(&restored, data))?,
        false => print_restored(&restored, data, &mut stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What was restored, as `--json` prints it.
fn restored_json(restored: &Restored, data: &Path) -> Value {
    let Restored { head, keys, revoked_keys, private, in_namespaces, warnings, .. } = restored;
    let public = head.records.saturating_sub(private + in_namespaces);
    json!({
        "data": data.to_string_lossy(), "agents": head.records, "at": head.at, "public": public, "private": private,
        "inNamespaces": in_namespaces, "keys": keys, "revokedKeys": revoked_keys, "warnings": warnings,
    })
}

/// Prints what is there again, also what somebody may have revoked or narrowed since.
fn print_restored(restored: &Restored, data: &Path, out: &mut impl Write) -> io::Result<()> {
    let Restored { head, keys, revoked_keys, private, in_namespaces, .. } = restored;
    let restored = counted(head.records, "description", "descriptions");
    writeln!(out, "{restored} restored into {}, as of {}", data.display(), head.at)?;
    let public = head.records.saturating_sub(private + in_namespaces);
    writeln!(out, "visibility at that time: {public} public, {in_namespaces} in namespaces, {private} private")?;
    match keys.as_slice() {
        [] if *revoked_keys > 0 => {
            let first = "create the first key with `agentdex keys create --role admin --owner NAME --data DIR`";
            writeln!(out, "API keys not restored from the backup: {revoked_keys}; {first}")?;
        }
        [] => {}
        keys => {
            writeln!(
                out,
                "API keys that are valid again, even if revoked after the backup (--revoke-keys omits all keys):"
            )?;
            keys::print_each(out, keys)?;
        }
    }
    let is_restricted = !keys.is_empty() || *revoked_keys > 0 || private + in_namespaces > 0;
    writeln!(out, "start the registry with: {}", start_command(data, is_restricted))
}

/// Returns the command that starts a registry. Without `--auth` everybody would see what only some may see.
pub(super) fn start_command(data: &Path, is_restricted: bool) -> String {
    let auth = if is_restricted { " --auth" } else { "" };
    format!("agentdex serve --data {}{auth}", data.display())
}

/// Restores into a directory beside it first: there is a whole registry in the end, or nothing.
pub(super) fn restore_into(
    data: &Path,
    restore: impl FnOnce(&Path) -> agentdex::Result<Restored>,
) -> anyhow::Result<Restored> {
    if fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{}: the directory is not empty; choose another directory with --data", data.display());
    }
    // Without a slash at the end.
    let mut beside = data.components().collect::<PathBuf>().into_os_string();
    beside.push(".restoring");
    let beside = PathBuf::from(beside);
    if beside.exists() {
        fs::remove_dir_all(&beside).with_context(|| format!("removing {}", beside.display()))?;
    }
    let made = restore(&beside).map_err(anyhow::Error::from);
    let restored = made.and_then(|restored| {
        if data.exists() {
            fs::remove_dir(data)?;
        }
        fs::rename(&beside, data).with_context(|| format!("moving {} to {}", beside.display(), data.display()))?;
        Ok(restored)
    });
    if restored.is_err() {
        // Of no use to anybody; the error says what happened.
        let _ = fs::remove_dir_all(&beside);
    }
    restored
}

/// A file that is complete, or isn't there: it gets its name at the end.
struct Target {
    out: BufWriter<Box<dyn Write>>,
    bar: ProgressBar,
    written: u64,
    /// The file to sync, its temporary name and its final one; none for standard output.
    file: Option<(File, PathBuf, PathBuf)>,
}

impl Target {
    fn create(path: &Path, force: bool) -> anyhow::Result<Target> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                bail!("refusing to write a backup to a terminal; name a file, or pipe the output to a program");
            }
            let out: Box<dyn Write> = Box::new(io::stdout());
            return Ok(Target { out: BufWriter::new(out), bar: ProgressBar::hidden(), written: 0, file: None });
        }
        if path.exists() && !force {
            bail!("{}: the file already exists; use --force to replace it", path.display());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        if let Some(folder) = folder {
            bail!("{}: there is no folder {}; create it first", path.display(), folder.display());
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        // As the data directory: what was registered is nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&partial).with_context(|| format!("creating {}", partial.display()))?;
        let out: Box<dyn Write> = Box::new(file.try_clone()?);
        Ok(Target {
            out: BufWriter::new(out),
            bar: progress::of_bytes(None),
            written: 0,
            file: Some((file, partial, path.into())),
        })
    }

    fn finish(mut self, as_json: bool) -> anyhow::Result<ExitCode> {
        self.out.flush().context("writing the backup")?;
        self.bar.finish_and_clear();
        let mut shown = "standard output".to_owned();
        let is_standard_output = self.file.is_none();
        if let Some((file, partial, path)) = self.file.take() {
            shown = path.display().to_string();
            let renamed = file.sync_all().and_then(|()| fs::rename(&partial, &path));
            renamed.with_context(|| format!("writing {shown}"))?;
        }
        let json = json!({"file": shown, "bytes": self.written});
        match (as_json, is_standard_output) {
            (true, false) => print_json(&json)?,
            (true, true) => complain(&json.to_string()),
            (false, _) => complain(&format!("backup written to {shown}: {}", HumanBytes(self.written))),
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written += count as u64;
        self.bar.set_position(self.written);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((_, partial, _)) = &self.file {
            let _ = fs::remove_file(partial);
        }
    }
}
