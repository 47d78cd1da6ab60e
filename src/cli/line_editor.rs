//! Lines that a person types: edited, with a history and completion, on a terminal; as they come from elsewhere.

use std::{
    env, fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use reedline::{
    ColumnarMenu, Completer, CompletionResult, DefaultPrompt, DefaultPromptSegment, Emacs, FileBackedHistory, KeyCode,
    KeyModifiers, MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion,
    default_emacs_keybindings,
};

/// The most lines of the history.
const MAX_HISTORY: usize = 1000;
/// The most files that a completion shows.
const MAX_FILES: usize = 100;
const MENU: &str = "completions";

/// The source of lines: an editor on a terminal, or standard input as it is.
pub(super) enum LineEditor {
    Terminal(Box<Reedline>),
    Other,
}

impl LineEditor {
    /// Reads from a terminal, if standard input and output are one, with these commands. `history` is the name of the
    /// file that the lines are stored in.
    pub(super) fn new(commands: &'static [&'static str], history: &str) -> LineEditor {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return LineEditor::Other;
        }
        let mut keys = default_emacs_keybindings();
        let complete = vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext];
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
        let menu = Box::new(ColumnarMenu::default().with_name(MENU));
        let editor = Reedline::create()
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_completer(Box::new(Commands(commands)))
            .with_menu(ReedlineMenu::EngineCompleter(menu))
            .with_quick_completions(true)
            .with_partial_completions(true);
        let stored = state_directory()
            .and_then(|directory| private(&directory).ok().map(|()| directory.join(history)))
            .and_then(|file| FileBackedHistory::with_file(MAX_HISTORY, file).ok());
        LineEditor::Terminal(Box::new(match stored {
            Some(history) => editor.with_history(Box::new(history)),
            // The arrows go through the lines of this conversation alone.
            None => editor,
        }))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, LineEditor::Terminal(_))
    }

    /// The next line; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<String>> {
        let LineEditor::Terminal(editor) = self else { return io::stdin().lines().next().transpose() };
        let empty = DefaultPromptSegment::Empty;
        let prompt = DefaultPrompt::new(empty.clone(), empty);
        loop {
            match editor.read_line(&prompt)? {
                Signal::Success(line) => return Ok(Some(line)),
                Signal::CtrlD => return Ok(None),
                // What was typed is given up.
                _ => {}
            }
        }
    }
}

/// Returns the directory of this program's user-specific state (XDG Base Directory Specification).
fn state_directory() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named("XDG_STATE_HOME").or_else(|| named("HOME").map(|home| home.join(".local/state")))?;
    Some(base.join("agentdex"))
}

/// Makes a directory that its owner alone may look into.
fn private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Completes commands, and the paths of files behind them.
struct Commands(&'static [&'static str]);

impl Completer for Commands {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let typed = line.get(..position).unwrap_or(line);
        let suggestion = |value: String, start: usize| Suggestion {
            append_whitespace: !value.ends_with('/'),
            value,
            span: Span { start, end: position },
            ..Suggestion::default()
        };
        let suggestions: Vec<Suggestion> = match typed.split_once(' ') {
            None if typed.starts_with('/') => {
                let known = self.0.iter().filter(|command| command.starts_with(typed));
                known.map(|command| suggestion((*command).to_owned(), 0)).collect()
            }
            Some(("/attach", path)) => {
                let start = position - path.len();
                files(path).into_iter().map(|path| suggestion(path, start)).collect()
            }
            _ => Vec::new(),
        };
        CompletionResult::fresh(suggestions)
    }
}

/// The files whose paths begin like this.
fn files(typed: &str) -> Vec<String> {
    let (directory, name) = typed.rsplit_once('/').map_or(("", typed), |(before, name)| (before, name));
    let directory = match (directory, typed.starts_with('/')) {
        ("", true) => "/".to_owned(),
        ("", false) => String::new(),
        (directory, _) => format!("{directory}/"),
    };
    let listed = fs::read_dir(if directory.is_empty() { "." } else { &directory }).into_iter().flatten().flatten();
    let path = |entry: fs::DirEntry| {
        let found = entry.file_name().into_string().ok().filter(|found| found.starts_with(name))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        Some(format!("{directory}{found}{}", if is_directory { "/" } else { "" }))
    };
    let mut paths: Vec<String> = listed.filter_map(path).take(MAX_FILES).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_files_are_completed() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("photo.png"), "").unwrap();
        fs::create_dir(directory.path().join("photos")).unwrap();
        let mut commands = Commands(&["/attach", "/quit"]);
        let mut values = |line: &str| {
            let result = commands.complete(line, line.len());
            result.suggestions().iter().map(|found| (found.value.clone(), found.span.start)).collect::<Vec<_>>()
        };
        assert_eq!(values("/a"), [("/attach".to_owned(), 0)]);
        assert_eq!(values("Will it rain?"), []);
        let path = directory.path().to_str().unwrap();
        let found = values(&format!("/attach {path}/pho"));
        assert_eq!(found, [(format!("{path}/photo.png"), 8), (format!("{path}/photos/"), 8)]);
    }
}
