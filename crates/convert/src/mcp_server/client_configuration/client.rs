//! The clients whose configurations are known.

use std::{fmt, str::FromStr};

/// A program with an MCP client, and the file in which its user configures servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum McpClient {
    /// Claude Code.
    ClaudeCode,
    /// The desktop app of Claude.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// Visual Studio Code with Copilot.
    VsCode,
    /// Codex, the command line and its extensions.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl McpClient {
    /// All clients.
    pub const ALL: [McpClient; 6] = [
        McpClient::ClaudeCode,
        McpClient::ClaudeDesktop,
        McpClient::Cursor,
        McpClient::VsCode,
        McpClient::Codex,
        McpClient::Gemini,
    ];

    /// The name in parameters and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            McpClient::ClaudeCode => "claude-code",
            McpClient::ClaudeDesktop => "claude-desktop",
            McpClient::Cursor => "cursor",
            McpClient::VsCode => "vscode",
            McpClient::Codex => "codex",
            McpClient::Gemini => "gemini",
        }
    }

    /// The name of the product.
    pub const fn title(self) -> &'static str {
        match self {
            McpClient::ClaudeCode => "Claude Code",
            McpClient::ClaudeDesktop => "Claude Desktop",
            McpClient::Cursor => "Cursor",
            McpClient::VsCode => "VS Code",
            McpClient::Codex => "Codex",
            McpClient::Gemini => "Gemini CLI",
        }
    }

    /// The user's configuration file, in the home directory on Linux.
    pub const fn file(self) -> &'static str {
        match self {
            McpClient::ClaudeCode => "~/.claude.json",
            McpClient::ClaudeDesktop => "~/.config/Claude/claude_desktop_config.json",
            McpClient::Cursor => "~/.cursor/mcp.json",
            McpClient::VsCode => "~/.config/Code/User/mcp.json",
            McpClient::Codex => "~/.codex/config.toml",
            McpClient::Gemini => "~/.gemini/settings.json",
        }
    }

    /// The member of the file that contains servers by name.
    pub const fn servers_member(self) -> &'static str {
        match self {
            McpClient::VsCode => "servers",
            McpClient::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }

    /// True if the file is TOML rather than JSON.
    pub const fn reads_toml(self) -> bool {
        matches!(self, McpClient::Codex)
    }

    /// True if the file has no place for servers with a URL.
    pub const fn starts_programs_only(self) -> bool {
        matches!(self, McpClient::ClaudeDesktop)
    }
}

impl fmt::Display for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for McpClient {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<McpClient, String> {
        let known = || McpClient::ALL.map(McpClient::name).join(", ");
        let found = McpClient::ALL.into_iter().find(|client| client.name() == name);
        found.ok_or_else(|| format!("unknown client {name:?}; known clients are {}", known()))
    }
}
