//! The roles of principals.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The role of a principal. Each role includes the permissions of the roles before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Role {
    /// Read, search, and subscribe.
    Read,
    /// Also register, change, and remove.
    Register,
    /// Also manage API keys, take backups, and read the guardian's trail.
    Admin,
}

impl Role {
    /// All roles, in ascending order of permissions.
    pub const ALL: [Role; 3] = [Role::Read, Role::Register, Role::Admin];

    /// Returns the name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Register => "register",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        let known = Role::ALL.into_iter().find(|role| role.as_str() == text);
        known.ok_or_else(|| format!("{text:?} is not one of `read`, `register`, `admin`"))
    }
}
