//! `agentdex records`: all agents with all that is stored of each, as lines of JSON, out of one registry and into another.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    document::is_standard_input,
    output::{complain, counted, print_json, visible},
    progress,
    terminal::stdout,
};
use agentdex::registry::Effect;
use agentdex_client::{BatchResult, RegistryClient};

/// The most lines that are sent together, and the bytes that are enough.
const GROUP_LINES: usize = 256;
const GROUP_BYTES: usize = 1024 * 1024;
/// The longest line: no registry takes one that is longer.
const MAX_LINE_BYTES: u64 = 256 * 1024 * 1024;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write all agents to a file.
    #[command(
        after_help = "Each line contains the description of an agent, its other versions, original documents, creation \
            time, owner, access, expiry, and tracked URL."
    )]
    Export {
        /// File to write, or - for standard output
        file: PathBuf,
        /// Append to an existing file after its last complete line
        #[arg(long)]
        resume: bool,
        /// Print the path of the file and the number of agents as JSON
        #[arg(long)]
        json: bool,
    },
    /// Register all agents from an exported file.
    #[command(after_help = "Unchanged agents are skipped, so an interrupted import can be repeated.")]
    Import {
        /// File to read, or - for standard input
        file: PathBuf,
        /// Check the file without writing anything
        #[arg(long)]
        dry_run: bool,
        /// Print a line of JSON for each line that fails to import, and then the totals as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Export { file, resume, json } => export(file, *resume, *json, client).await,
        Action::Import { file, dry_run, json } => import(file, *dry_run, *json, client).await,
    }
}

async fn export(path: &Path, resume: bool, as_json: bool, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let shown = path.display();
    if is_standard_input(path) {
        let mut out = stdout();
        let agents = receive(client, &SoFar::default(), &mut out).await?;
        if as_json {
            complain(&json!({"file": "-", "agents": agents}).to_string());
        }
        return Ok(ExitCode::SUCCESS);
    }
    if path.exists() && !resume {
        bail!("{shown}: the file already exists; use --resume to append to it");
    }
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    // As the data directory: what was registered is nobody else's business.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).with_context(|| format!("opening {shown}"))?;
    let written = written_so_far(&file).with_context(|| format!("reading {shown}"))?;
    file.set_len(written.bytes)
        .and_then(|()| file.seek(SeekFrom::End(0)))
        .with_context(|| format!("writing {shown}"))?;
    let mut out = BufWriter::new(&file);
    let more = receive(client, &written, &mut out).await;
    let synced = out.flush().and_then(|()| file.sync_all());
    let more = more.with_context(|| format!("{shown} is incomplete (`--resume` continues the export)"))?;
    synced.with_context(|| format!("writing {shown}"))?;
    let agents = written.lines + more;
    match as_json {
        true => print_json(&json!({"file": path.to_string_lossy(), "agents": agents}))?,
        false => complain(&format!("{} in {shown}", counted(agents as u64, "agent", "agents"))),
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes what the registry sends, and says how many lines that is.
async fn receive(client: &RegistryClient, so_far: &SoFar, out: &mut impl Write) -> anyhow::Result<usize> {
    // The number is for the bar alone.
    let bar = progress::of_count(client.count(&[]).await.ok(), "agents");
    bar.set_position(so_far.lines as u64);
    let mut pieces = client.records(so_far.last_id.as_deref()).await?;
    let mut lines = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        let more = piece.iter().filter(|byte| **byte == b'\n').count();
        lines += more;
        bar.inc(more as u64);
        out.write_all(&piece)?;
    }
    out.flush()?;
    bar.finish_and_clear();
    Ok(lines)
}

/// The complete lines that a file already has.
#[derive(Debug, Default, PartialEq, Eq)]
struct SoFar {
    /// Size of these lines in bytes.
    bytes: u64,
    lines: usize,
    last_id: Option<String>,
}

fn written_so_far(file: &File) -> anyhow::Result<SoFar> {
    let mut so_far = SoFar::default();
    let (mut lines, mut last) = (Lines::new(BufReader::new(file)), Vec::new());
    while let Some(line) = lines.next_line()? {
        if !line.ends_with(b"\n") {
            break;
        }
        so_far.bytes += line.len() as u64;
        so_far.lines += 1;
        last = line;
    }
    if so_far.lines > 0 {
        let record: Value = serde_json::from_slice(&last)
            .context("its last line is not JSON; --resume requires a file written by this command")?;
        let id = record
            .pointer("/td/id")
            .and_then(Value::as_str)
            .context("its last line contains no agent with an id; --resume requires a file written by this command")?;
        so_far.last_id = Some(id.to_owned());
    }
    Ok(so_far)
}

async fn import(path: &Path, dry_run: bool, as_json: bool, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let shown = path.display();
    let (input, bar): (Box<dyn BufRead>, _) = if is_standard_input(path) {
        let bar = progress::of_bytes(None);
        (Box::new(BufReader::new(bar.wrap_read(io::stdin()))), bar)
    } else {
        let file = File::open(path).with_context(|| format!("opening {shown}"))?;
        let total = file.metadata().ok().filter(fs::Metadata::is_file).map(|file| file.len());
        let bar = progress::of_bytes(total);
        (Box::new(BufReader::new(bar.wrap_read(file))), bar)
    };
    let (mut lines, mut tally, mut before) = (Lines::new(input), Tally::default(), 0);
    loop {
        let (group, count) = lines.next_group().with_context(|| format!("reading {shown}"))?;
        if count == 0 {
            break;
        }
        let text = String::from_utf8(group).with_context(|| format!("{shown} is not valid UTF-8"))?;
        for result in client.write_records(text, dry_run).await? {
            bar.suspend(|| tally.add(before, &result, as_json))?;
        }
        before += count;
    }
    bar.finish_and_clear();
    let Tally { created, changed, unchanged, failed } = tally;
    let outcome = if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    if as_json {
        let totals = json!({
            "created": created, "updated": changed, "unchanged": unchanged, "failed": failed, "dryRun": dry_run,
        });
        print_json(&totals)?;
        return Ok(outcome);
    }
    let would = if dry_run { "would be " } else { "" };
    let failed_too = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    writeln!(stdout(), "{created} {would}created, {changed} {would}updated, {unchanged} unchanged{failed_too}")?;
    Ok(outcome)
}

/// Numbers of lines by their result.
#[derive(Default)]
struct Tally {
    created: u64,
    changed: u64,
    unchanged: u64,
    failed: u64,
}

impl Tally {
    /// Counts the result of a line and prints why it failed; `before` is the number of lines of earlier requests.
    fn add(&mut self, before: u64, result: &BatchResult, as_json: bool) -> io::Result<()> {
        match (&result.problem, result.effect) {
            (Some(problem), _) => {
                self.failed += 1;
                let detail = problem.detail.as_deref().unwrap_or(&problem.title);
                if as_json {
                    let line = json!({"line": before + result.line, "error": detail, "problem": problem});
                    return writeln!(stdout(), "{line}");
                }
                complain(&format!("line {}: {}", before + result.line, visible(detail)));
                for error in &problem.validation_errors {
                    complain(&format!("  {}: {}", visible(&error.field), visible(&error.description)));
                }
            }
            (None, Some(Effect::Created)) => self.created += 1,
            (None, Some(Effect::Unchanged)) => self.unchanged += 1,
            (None, _) => self.changed += 1,
        }
        Ok(())
    }
}

/// The lines of an input.
struct Lines<I> {
    input: I,
    /// One that was read and is in no group yet.
    held: Option<Vec<u8>>,
}

impl<I: BufRead> Lines<I> {
    fn new(input: I) -> Lines<I> {
        Lines { input, held: None }
    }

    /// The next line with its end, which the last may lack.
    fn next_line(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        if let Some(line) = self.held.take() {
            return Ok(Some(line));
        }
        let mut line = Vec::new();
        io::Read::take(&mut self.input, MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.len() as u64 == MAX_LINE_BYTES {
            bail!("a line exceeds {MAX_LINE_BYTES} bytes");
        }
        Ok((!line.is_empty()).then_some(line))
    }

    /// The next lines together, and how many these are.
    fn next_group(&mut self) -> anyhow::Result<(Vec<u8>, u64)> {
        let (mut group, mut count) = (Vec::new(), 0);
        while count < GROUP_LINES
            && let Some(line) = self.next_line()?
        {
            if count > 0 && group.len() + line.len() > GROUP_BYTES {
                self.held = Some(line);
                break;
            }
            group.extend(line);
            count += 1;
        }
        Ok((group, count as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_on_after_its_last_whole_line() {
        let path = std::env::temp_dir().join(format!("agentdex-records-{}.ndjson", std::process::id()));
        for (text, expected) in [
            ("", SoFar::default()),
            ("{\"td\": {\"id\": \"urn:a\"", SoFar::default()),
            (
                "{\"td\": {\"id\": \"urn:a\"}}\n{\"td\": {\"id\": \"urn:b\"}}\n{\"td\"",
                SoFar { bytes: 48, lines: 2, last_id: Some("urn:b".into()) },
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(written_so_far(&File::open(&path).unwrap()).unwrap(), expected, "{text}");
        }
        for other in ["something else\n", "{\"id\": \"urn:a\"}\n"] {
            std::fs::write(&path, other).unwrap();
            assert!(written_so_far(&File::open(&path).unwrap()).is_err(), "{other}");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn groups_are_bounded_and_have_every_line() {
        let long = "x".repeat(GROUP_BYTES - 1);
        let text = format!("a\n{long}\nb\n{}", "c\n".repeat(GROUP_LINES));
        let mut lines = Lines::new(text.as_bytes());
        let mut groups = Vec::new();
        loop {
            let (group, count) = lines.next_group().unwrap();
            if count == 0 {
                break;
            }
            assert_eq!(group.iter().filter(|byte| **byte == b'\n').count() as u64, count);
            groups.push(count);
        }
        assert_eq!(groups, [1, 1, 256, 1]);
    }
}
