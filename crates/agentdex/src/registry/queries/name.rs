//! Names of saved queries: a query is found by its owner and its name.

use agentdex_api::NamedQuery;

use crate::{Error, Result, access::Owner};

/// The longest name of a query in bytes.
const MAX_NAME_BYTES: usize = 128;

/// The name of a saved query, and whose it is: unless said, the caller's own, else the one that has no owner.
///
/// ```
/// use agentdex::registry::QueryName;
///
/// let name = QueryName::new("weather").of("weather-team".parse()?);
/// assert_ne!(name, QueryName::from("weather"));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryName {
    pub(in crate::registry) name: String,
    /// None: the caller's own, else the one without an owner. An inner none: the one without an owner.
    pub(in crate::registry) owner: Option<Option<Owner>>,
}

impl QueryName {
    /// The name of the caller's own query, else of the one that has no owner.
    pub fn new(name: impl Into<String>) -> QueryName {
        QueryName { name: name.into(), owner: None }
    }

    /// The name of an owner's query.
    #[must_use]
    pub fn of(self, owner: Owner) -> QueryName {
        QueryName { owner: Some(Some(owner)), ..self }
    }

    /// The name of the query that has no owner.
    #[must_use]
    pub fn without_owner(self) -> QueryName {
        QueryName { owner: Some(None), ..self }
    }
}

impl From<&str> for QueryName {
    fn from(name: &str) -> QueryName {
        QueryName::new(name)
    }
}

impl From<&NamedQuery> for QueryName {
    fn from(query: &NamedQuery) -> QueryName {
        QueryName { name: query.name.clone(), owner: Some(query.owner.clone()) }
    }
}

/// The key of a saved query; the order is that of lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::registry) struct Key {
    pub name: String,
    pub owner: Option<Owner>,
}

/// Checks the name of a query that is saved.
///
/// # Errors
/// [`Error::InvalidQuery`]
pub(in crate::registry) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    // A path of dots is another path.
    if name.is_empty() || name.starts_with('.') || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
        let message =
            format!("the name of a query has 1 to {MAX_NAME_BYTES} letters, digits and - _ . ~, and no . in front");
        return Err(Error::InvalidQuery { message });
    }
    Ok(())
}
