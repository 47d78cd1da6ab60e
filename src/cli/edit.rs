//! `agentdex edit`: changes a description in an editor.
//!
//! The text is in a file of its own. Only a change that was stored removes the file: whatever fails names it.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;
use uuid::Uuid;

use super::{
    agent_name::{id_of, no_agent},
    error_message::causes,
    misuse::misuse,
    moments,
    output::{complain, fit, indented, print_json, red_on_stderr, visible, warn},
    terminal::stdout,
};
use agentdex::{Change, Timestamp, td::merge_patch};
use agentdex_client::{Effect, RegistryClient, Written};

/// The editor without a variable that names one.
const DEFAULT_EDITOR: &str = "vi";
/// Maximum number of changes of others that a conflict shows.
const MOST_SHOWN: usize = 5;
/// Number of changes in each request for a history.
const PAGE: usize = 100;
/// Maximum number of these requests.
const MOST_PAGES: usize = 100;

#[derive(Debug, Args)]
#[command(
    after_help = "The editor is set by the variable VISUAL, or else by EDITOR; the default is vi. If the description \
        is malformed or the registry rejects it, the editor opens again. If the agent was changed in the meantime, \
        nothing is stored, and your text is kept in a file."
)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let id = id_of(client, &arguments.id).await?;
    let Some((text, tag)) = client.find_with_tag(&id).await? else { return Err(no_agent(client, &id).await) };
    // What the registry adds is not for editing.
    let original = merge_patch::apply(&text, r#"{"registration": null}"#)?;
    let file = EditedFile::create(&indented(&original))?;
    let edited = edit(&file, client, &id, &original, &tag).await;
    let written = edited.with_context(|| format!("the edit failed (your text is in {})", file.path.display()))?;
    file.remove();
    let (effect, warnings) = match written {
        Some(Written { effect, warnings, .. }) => (effect, warnings),
        None => (Effect::Unchanged, Vec::new()),
    };
    if arguments.json {
        print_json(&json!({"id": id, "effect": effect, "warnings": warnings}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let verb = if effect == Effect::Unchanged { "unchanged" } else { "updated" };
    writeln!(stdout(), "{verb} {}", visible(&id))?;
    warn(&id, &warnings);
    Ok(ExitCode::SUCCESS)
}

/// Opens the editor until the text can be stored, or is given up. Returns `None` if nothing was changed.
async fn edit(
    file: &EditedFile,
    client: &RegistryClient,
    id: &str,
    original: &str,
    tag: &str,
) -> anyhow::Result<Option<Written>> {
    let mut before = None;
    loop {
        file.open()?;
        let text = file.read()?;
        let fault = match patch(original, &text) {
            Ok(None) => return Ok(None),
            Ok(Some(patch)) => match client.patch_if(id, patch, tag).await {
                Ok(written) => return Ok(Some(written)),
                Err(error) if error.is_conflict() => bail!("{}", conflict(client, id, tag).await),
                Err(error) if error.problem().is_some_and(|problem| problem.status == 400) => error.into(),
                Err(error) => return Err(error.into()),
            },
            Err(error) => error,
        };
        // An editor that leaves the text as it was would be opened for ever.
        if before.as_ref() == Some(&text) {
            return Err(fault);
        }
        complain(&format!("{} {}", red_on_stderr("error:"), causes(&fault)));
        if io::stdin().is_terminal() {
            complain(&format!("Enter opens the editor again; Ctrl-C leaves the text in {}", file.path.display()));
            io::stdin().read_line(&mut String::new())?;
        }
        before = Some(text);
    }
}

/// The merge patch from the original to an edited text; `None` if they are equal.
fn patch(original: &str, edited: &str) -> anyhow::Result<Option<String>> {
    serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(edited).context("the text is not a JSON object")?;
    let Some(patch) = merge_patch::diff(original, edited) else { return Ok(None) };
    if merge_patch::diff(&merge_patch::apply(original, &patch)?, edited).is_some() {
        bail!("a member is null, but null can't be stored; delete the member instead");
    }
    Ok(Some(patch))
}

/// Says who changed an agent since the version with this entity tag.
async fn conflict(client: &RegistryClient, id: &str, tag: &str) -> String {
    let mut lines = vec![format!("{} was changed while you edited it", visible(id))];
    let later = later_changes(client, id, tag).await;
    let shown = later.len().saturating_sub(MOST_SHOWN);
    lines.extend(later.iter().skip(shown).map(|change| {
        let actor = visible(change.actor.as_deref().unwrap_or("somebody"));
        let when = moments::distance(Timestamp::now(), change.at);
        let what = match (&change.patch, change.td.is_some()) {
            (Some(patch), _) => fit(patch.get(), 20),
            (None, true) => "registered again".to_owned(),
            (None, false) => "removed".to_owned(),
        };
        format!("  {actor}, {when}: {what}")
    }));
    lines.push(format!("`agentdex edit {}` opens the new description", visible(id)));
    lines.join("\n")
}

/// The changes after the version with this entity tag, oldest first. What can't be read is not shown.
async fn later_changes(client: &RegistryClient, id: &str, tag: &str) -> Vec<Change> {
    let digits: String = tag.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let Ok(version) = digits.parse::<u64>() else { return Vec::new() };
    let (mut later, mut since) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let Ok(history) = client.history(id, since, PAGE).await else { break };
        since = history.position();
        later.extend(history.changes.into_iter().filter(|change| change.seq.0 > version));
        let length = later.len().saturating_sub(MOST_SHOWN);
        later.drain(..length);
        if since.is_none() {
            break;
        }
    }
    later
}

/// A file with a text that is edited.
struct EditedFile {
    path: PathBuf,
}

impl EditedFile {
    fn create(text: &str) -> anyhow::Result<EditedFile> {
        let path = env::temp_dir().join(format!("agentdex-edit-{}.json", Uuid::new_v4().simple()));
        let mut options = fs::File::options();
        options.write(true).create_new(true);
        // Others may not see the agent.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&path).and_then(|mut file| writeln!(file, "{text}"));
        written.with_context(|| format!("writing {}", path.display()))?;
        Ok(EditedFile { path })
    }

    /// Runs the editor to its end.
    fn open(&self) -> anyhow::Result<()> {
        let status = run_editor(&self.path)?;
        if !status.success() {
            bail!("the editor ended with {status}");
        }
        Ok(())
    }

    fn read(&self) -> anyhow::Result<String> {
        fs::read_to_string(&self.path).with_context(|| format!("reading {}", self.path.display()))
    }

    fn remove(self) {
        // It stays in the folder for temporary files.
        let _ = fs::remove_file(&self.path);
    }
}

/// Runs the editor that the variables name, which may have arguments, as git does.
fn run_editor(path: &Path) -> anyhow::Result<ExitStatus> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let named = variable("VISUAL").or_else(|| variable("EDITOR"));
    if named.is_none() && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(misuse(
            "without a terminal, `edit` can't open the default editor; use `agentdex patch`, or set VISUAL or EDITOR",
        ));
    }
    let editor = named.unwrap_or_else(|| DEFAULT_EDITOR.into());
    let mut line = editor.clone();
    line.push(r#" "$@""#);
    let mut command = Command::new("sh");
    let status = command.arg("-c").arg(line).arg(OsString::from("agentdex")).arg(path).status();
    let status = status.with_context(|| format!("running {}", editor.display()))?;
    match status.code() {
        Some(127) => bail!("editor {} not found; set VISUAL or EDITOR to an installed editor", editor.display()),
        _ => Ok(status),
    }
}
