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

            /// Returns its mode if no policy sets one.
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
    /// The source from which the agent was imported still confirms it.
    AgentCurrent = "agent-current", Warn;
    /// The version of the agent is the registered version.
    AgentVersion = "agent-version", Warn;
    /// The agent declares the called tool, including calls by `tools/call` of MCP.
    ToolDeclared = "tool-declared", Enforce;
    /// The arguments of the call match the declaration of the tool: names, types, and required arguments.
    ToolArguments = "tool-arguments", Enforce;
    /// A result belongs to a call of the same turn.
    ToolResult = "tool-result", Enforce;
    /// Retrieved knowledge and cited files are from resources that the agent declares.
    SourceDeclared = "source-declared", Warn;
    /// The agent declares the resources that it has, or reads by MCP.
    ResourceDeclared = "resource-declared", Warn;
    /// The agent declares the MCP servers that it uses.
    McpServerDeclared = "mcp-server-declared", Warn;
    /// A2A messages are well formed for their method.
    A2aMessage = "a2a-message", Enforce;
    /// MCP messages are well formed.
    McpMessage = "mcp-message", Enforce;
    /// Exchanged content contains no secrets; they are masked.
    MaskSecrets = "mask-secrets", Warn;
    /// Exchanged content contains no personal data; it is masked.
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
