//! Kinds of texts, and kinds of flags.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The kind of a text, which decides the characters that it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// One line.
    Name,
    Description,
}

/// Why a text is flagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum FlagKind {
    /// It has characters that change the direction in which others are shown (UAX 9, section 2).
    BidiControl,
    /// It has control characters other than tabs and line ends.
    ControlCharacter,
    /// It has characters that aren't shown: zero-width ones and tags.
    InvisibleCharacter,
    /// It reads like an instruction to a model.
    Instructions,
    /// It is easily taken for the name of another agent.
    ConfusableName,
    /// It has a key, a token, or a password in it.
    Credential,
    /// A reason that only a newer registry knows.
    #[serde(other, skip_serializing)]
    Other,
}

impl FlagKind {
    /// All kinds that this version finds.
    pub const ALL: [FlagKind; 6] = [
        FlagKind::BidiControl,
        FlagKind::ControlCharacter,
        FlagKind::InvisibleCharacter,
        FlagKind::Instructions,
        FlagKind::ConfusableName,
        FlagKind::Credential,
    ];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            FlagKind::BidiControl => "bidi-control",
            FlagKind::ControlCharacter => "control-character",
            FlagKind::InvisibleCharacter => "invisible-character",
            FlagKind::Instructions => "instructions",
            FlagKind::ConfusableName => "confusable-name",
            FlagKind::Credential => "credential",
            FlagKind::Other => "other",
        }
    }
}

impl fmt::Display for FlagKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for FlagKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
