//! Namespaces in the names of MCP servers: `com.example/weather` is in the namespace of the domain `example.com`.

use super::Registry;
use crate::{
    Error, Result,
    access::Namespace,
    convert::{
        ConvertedThing, Format,
        mcp_server::{MCP_NAMESPACE, is_name},
    },
};

/// Relation of a caller to a namespace.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// The caller is a member, or may act as any member.
    Held,
    /// Others have claimed the namespace.
    Foreign,
    Unclaimed,
}

/// True for the Things of a document that describes an MCP server.
pub(super) fn is_server(things: &[ConvertedThing]) -> bool {
    matches!(things, [thing] if thing.source.format == Format::McpServer)
}

impl Registry {
    /// Returns the caller's relation to the namespace in a server's name, such as `com.example`.
    #[doc(hidden)]
    pub fn holding_of(&self, namespace: &str) -> Holding {
        if self.grants().is_none() {
            return Holding::Held;
        }
        let claimed = domain_of(namespace).parse::<Namespace>().ok().and_then(|domain| self.namespaces().find(&domain));
        let Some(claimed) = claimed else { return Holding::Unclaimed };
        match self.caller().owner() {
            Some(owner) if claimed.owner == *owner || claimed.members.contains(owner) => Holding::Held,
            _ => Holding::Foreign,
        }
    }

    /// Refuses a new Thing that would take the name of a server in a namespace that others hold. Returns true if the id is allowed
    /// only because a Thing already has it, so that a write must not create the Thing.
    pub(super) fn check_server_name(&self, id: &str) -> Result<bool> {
        let name = id.strip_prefix(MCP_NAMESPACE).filter(|name| is_name(name));
        let Some((namespace, _)) = name.and_then(|name| name.split_once('/')) else { return Ok(false) };
        if self.holding_of(namespace) != Holding::Foreign {
            return Ok(false);
        }
        if self.find_record(id)?.is_some() {
            return Ok(true);
        }
        let domain = domain_of(namespace);
        let message = format!(
            "only members of the namespace {domain:?} can use names of MCP servers that begin with \"{namespace}/\"; \
             ask its owner to add you, or choose another id"
        );
        Err(Error::AccessRefused { message })
    }
}

/// Returns the domain of a namespace: `example.com` for `com.example`.
#[doc(hidden)]
pub fn domain_of(namespace: &str) -> String {
    let labels: Vec<&str> = namespace.rsplit('.').collect();
    labels.join(".").to_ascii_lowercase()
}
