//! The list of formats. A format consists of a folder and a line in this list.

use std::{fmt, str::FromStr};

/// Gives the list of formats to a macro: the name of each, and its folder, which has its `FORMAT`.
macro_rules! list_formats {
    ($use:ident) => {
        $use! {
            /// A W3C Thing Description.
            ThingDescription = thing_description,
            /// An Open Agent Spec configuration.
            AgentSpec = agent_spec,
            /// An A2A agent card.
            A2a = a2a,
            /// An LMOS capability file.
            LmosCapabilities = lmos_capabilities,
            /// server.json or a Server Card of an MCP server.
            McpServer = mcp_server,
            /// An agent of the Agent Observability Standard.
            Aos = aos,
        }
    };
}
pub(super) use list_formats;

macro_rules! define_formats {
    ($($(#[$doc:meta])* $variant:ident = $folder:ident,)+) => {
        /// A format of descriptions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $variant,)+
        }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Format] = &[$(Format::$variant,)+];
        }
    };
}

list_formats!(define_formats);

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Format, String> {
        let found = Format::ALL.iter().find(|format| format.name() == name);
        let known = || Format::names(Format::ALL.iter().copied());
        found.copied().ok_or_else(|| format!("unknown format {name:?}; known formats are {}", known()))
    }
}
