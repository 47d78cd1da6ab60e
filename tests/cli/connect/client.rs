//! The clients, their files, and how those are read.

use serde_json::Value;

/// A client, and its file below the home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    /// The member of the file with servers.
    pub(super) servers: &'static str,
}

const fn client(name: &'static str, file: &'static str, servers: &'static str) -> Client {
    Client { name, file, servers }
}

pub(super) const CLIENTS: [Client; 6] = [
    client("claude-code", ".claude.json", "mcpServers"),
    client("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
    client("cursor", ".cursor/mcp.json", "mcpServers"),
    client("vscode", ".config/Code/User/mcp.json", "servers"),
    client("codex", ".codex/config.toml", "mcp_servers"),
    client("gemini", ".gemini/settings.json", "mcpServers"),
];

impl Client {
    pub(super) fn reads_toml(self) -> bool {
        self.name == "codex"
    }

    /// Parses a file as JSON with comments, or TOML.
    pub(super) fn parse(self, text: &str) -> Value {
        let text = text.trim_start_matches('\u{feff}');
        match self.reads_toml() {
            true => serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap(),
            false => json5::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
        }
    }
}
