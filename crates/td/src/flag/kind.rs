//! Kinds of flags, and the kinds of texts to which they apply.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// The kind of a text, which decides the characters that it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// One line.
    Name,
    Description,
}

/// Reason for a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum FlagKind {
    /// Characters that change the direction of other characters (UAX 9, section 2).
    BidiControl,
    /// Control characters, except tabs and line ends in descriptions.
    ControlCharacter,
    /// Invisible characters, such as zero-width spaces and Unicode tags, unless a script or emoji requires them.
    InvisibleCharacter,
    /// Text resembling an instruction to a model.
    Instructions,
    /// Name easily mistaken for that of another agent.
    ConfusableName,
    /// A key, a token, or a password.
    Credential,
    /// A kind introduced by a newer registry.
    #[serde(other, skip_serializing)]
    Other,
}

impl FlagKind {
    /// Kinds detected by this version.
    pub const ALL: [FlagKind; 6] = [
        FlagKind::BidiControl,
        FlagKind::ControlCharacter,
        FlagKind::InvisibleCharacter,
        FlagKind::Instructions,
        FlagKind::ConfusableName,
        FlagKind::Credential,
    ];

    /// Returns the name in JSON.
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
