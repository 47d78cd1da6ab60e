//! `agentdex access`: whose an agent is, and who sees it.

use std::{io::Write, process::ExitCode};

use clap::Args;

use super::{
    agent_name::id_of,
    output::{print_json, visible},
    terminal::stdout,
};
use agentdex::access::{AccessRequest, Namespace, Owner, Visibility};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Id of the agent, or its title if no other agent has it
    id: String,
    /// Who can see the agent besides its owner and admins
    #[arg(long, value_name = "public|namespace|private")]
    visibility: Option<Visibility>,
    /// Namespace to move the agent to; "" removes it from its namespace
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    namespace: Option<OptionalNamespace>,
    /// New owner (admins only)
    #[arg(long, value_name = "NAME")]
    owner: Option<Owner>,
    /// Apply the change to all versions and to the imported original. Otherwise, versions stored with narrower access
    /// keep that access
    #[arg(long)]
    all_versions: bool,
    /// Print the access as JSON
    #[arg(long)]
    json: bool,
}

/// A namespace, or that there is none.
#[derive(Debug, Clone)]
struct OptionalNamespace(Option<Namespace>);

fn namespace(text: &str) -> Result<OptionalNamespace, String> {
    let name = (!text.is_empty()).then(|| text.parse()).transpose()?;
    Ok(OptionalNamespace(name))
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let Arguments { id, visibility, namespace, owner, all_versions, json } = arguments;
    let id = &id_of(client, id).await?;
    let namespace = namespace.clone().map(|OptionalNamespace(name)| name);
    let (owner, visibility, all_versions) = (owner.clone(), *visibility, *all_versions);
    let asked = AccessRequest { owner, visibility, namespace, number: None, all_versions };
    if asked != AccessRequest::default() {
        for warning in client.set_access(id, &asked).await?.warnings {
            eprintln!("warning: {}", visible(&warning.message));
        }
    }
    let access = client.access(id).await?;
    if *json {
        print_json(&access)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout();
    let owner = access.owner.as_ref().map_or("nobody", Owner::as_str);
    writeln!(out, "owner:      {}", visible(owner))?;
    writeln!(out, "visibility: {}", access.visibility)?;
    writeln!(out, "namespace:  {}", access.namespace.as_ref().map_or("none", Namespace::as_str))?;
    Ok(ExitCode::SUCCESS)
}
