//! The rules that steps are judged by, and how strictly.

use agentdex_api::guardian::Mode;
use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($($(#[$documentation:meta])* $rule:ident = $name:literal, $mode:ident;)*) => {
        /// A rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Rule {
            $($(#[$documentation])* #[serde(rename = $name)] $rule,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)*];

            /// Its name in policies and reasons.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Rule::$rule => $name,)*
                }
            }

            /// Returns its mode where no policy sets one.
            pub const fn default_mode(self) -> Mode {
                match self {
                    $(Rule::$rule => Mode::$mode,)*
                }
            }
        }
    };
}

rules! {
    /// The agent is registered.
    AgentRegistered = "agent-registered", Enforce;
    /// The agent has not expired.
    AgentLive = "agent-live", Enforce;
    /// The source that the agent was imported from still confirms it.
    AgentCurrent = "agent-current", Warn;
    /// The agent has the version that is registered.
    AgentVersion = "agent-version", Warn;
    /// The tool that is called is one that the agent declares; also by `tools/call` of MCP.
    ToolDeclared = "tool-declared", Enforce;
    /// The arguments of the call are those that the tool declares: their names, types, and that none is missing.
    ToolArguments = "tool-arguments", Enforce;
    /// A result is that of a call of the same turn.
    ToolResult = "tool-result", Enforce;
    /// Retrieved knowledge and cited files are from resources that the agent declares.
    SourceDeclared = "source-declared", Warn;
    /// The resources that the agent has, or reads by MCP, are those that it declares.
    ResourceDeclared = "resource-declared", Warn;
    /// The MCP servers that the agent uses are those that it declares.
    McpServerDeclared = "mcp-server-declared", Warn;
    /// Messages of A2A are well formed for their method.
    A2aMessage = "a2a-message", Enforce;
    /// Messages of MCP are well formed.
    McpMessage = "mcp-message", Enforce;
    /// There are no secrets in what is exchanged; they are masked.
    MaskSecrets = "mask-secrets", Warn;
    /// There are no personal data in what is exchanged; they are masked.
    MaskPersonalData = "mask-personal-data", Off;
}

/// The mode of each rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes([Mode; Rule::ALL.len()]);

impl Default for Modes {
    fn default() -> Modes {
        let mut modes = Modes([Mode::Off; Rule::ALL.len()]);
        for rule in Rule::ALL {
            modes.set(*rule, rule.default_mode());
        }
        modes
    }
}

impl Modes {
    /// Returns the mode of a rule.
    pub fn of(&self, rule: Rule) -> Mode {
        self.0.get(rule as usize).copied().unwrap_or(Mode::Off)
    }

    /// Sets how strict a rule is.
    pub fn set(&mut self, rule: Rule, mode: Mode) {
        if let Some(own) = self.0.get_mut(rule as usize) {
            *own = mode;
        }
    }
}
