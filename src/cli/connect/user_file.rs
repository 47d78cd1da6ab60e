//! Paths of the configuration files of clients.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use agentdex::convert::mcp_server::McpClient;

/// A configuration file, and the directory that exists if its client is installed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserFile {
    pub(super) path: PathBuf,
    directory: PathBuf,
}

impl UserFile {
    /// A file that the user named.
    pub(super) fn at(path: &Path) -> anyhow::Result<UserFile> {
        let path = std::path::absolute(path).with_context(|| format!("--file {}", path.display()))?;
        let directory = path.parent().unwrap_or(&path).to_owned();
        Ok(UserFile { path, directory })
    }

    /// The file of a client.
    ///
    /// # Errors
    /// No home directory.
    pub(super) fn of(client: McpClient) -> anyhow::Result<UserFile> {
        let in_directory = |directory: PathBuf, name: &str| UserFile { path: directory.join(name), directory };
        Ok(match client {
            McpClient::ClaudeCode => match directory_variable("CLAUDE_CONFIG_DIR") {
                Some(directory) => in_directory(directory, ".claude.json"),
                None => UserFile { path: home()?.join(".claude.json"), directory: home()?.join(".claude") },
            },
            McpClient::ClaudeDesktop => in_directory(application_data()?.join("Claude"), "claude_desktop_config.json"),
            McpClient::Cursor => in_directory(home()?.join(".cursor"), "mcp.json"),
            McpClient::VsCode => in_directory(application_data()?.join("Code").join("User"), "mcp.json"),
            McpClient::Codex => match directory_variable("CODEX_HOME") {
                Some(directory) => in_directory(directory, "config.toml"),
                None => in_directory(home()?.join(".codex"), "config.toml"),
            },
            McpClient::Gemini => in_directory(home()?.join(".gemini"), "settings.json"),
            other => bail!("the configuration file of {other} isn't known; name it with --file"),
        })
    }

    /// Fails if the client isn't installed: no file is created for it.
    pub(super) fn check_directory(&self, client: McpClient) -> anyhow::Result<()> {
        // Claude Code has its file beside the directory.
        if self.directory.is_dir() || self.path.is_file() {
            return Ok(());
        }
        bail!(
            "{} isn't set up here: the directory {} doesn't exist; create it, or name another file with --file",
            client.title(),
            self.directory.display()
        )
    }
}

fn directory_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn home() -> anyhow::Result<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    directory_variable(name).with_context(|| format!("no home directory: set {name}, or name the file with --file"))
}

/// The directory with the data of desktop applications.
fn application_data() -> anyhow::Result<PathBuf> {
    let named = if cfg!(windows) {
        directory_variable("APPDATA")
    } else if cfg!(target_os = "macos") {
        Some(home()?.join("Library").join("Application Support"))
    } else {
        directory_variable("XDG_CONFIG_HOME")
    };
    named.map_or_else(|| Ok(home()?.join(".config")), Ok)
}
