//! `agentdex namespaces`: the agents that several owners share.

use std::{io::Write, process::ExitCode};

use clap::{Args, Subcommand};

use super::output::{indented, visible};
use super::terminal::stdout;
use agentdex::{access::Owner, registry::ClaimedNamespace};
use agentdex_client::RegistryClient;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the namespaces that you are a member of; admins see all.
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Claim a namespace, or replace the list of its members.
    #[command(
        after_help = "A name with dots is that of a domain, whose https://DOMAIN/.well-known/agentdex.json must name you."
    )]
    Claim {
        /// Name of the namespace: lowercase letters, digits, hyphens, and dots
        name: String,
        /// Owner to share the namespace with; can be repeated
        #[arg(long = "member", value_name = "OWNER")]
        members: Vec<Owner>,
    },
    /// Give up a namespace. Its members can no longer see the agents in it.
    Remove {
        /// Name of the namespace
        name: String,
    },
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List { json } => {
            let namespaces = client.namespaces().await?;
            let mut out = stdout();
            if *json {
                writeln!(out, "{}", indented(&serde_json::to_string(&namespaces)?))?;
            } else {
                namespaces.iter().try_for_each(|namespace| writeln!(out, "{}", line(namespace)))?;
            }
        }
        Action::Claim { name, members } => {
            let claimed = client.claim_namespace(name, members).await?;
            writeln!(stdout(), "{}", line(&claimed))?;
        }
        Action::Remove { name } => {
            client.give_up_namespace(name).await?;
            writeln!(stdout(), "removed {}", visible(name))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(namespace: &ClaimedNamespace) -> String {
    let ClaimedNamespace { name, owner, members, proof, .. } = namespace;
    let members: Vec<_> = members.iter().map(|member| visible(member.as_str()).into_owned()).collect();
    let members =
        if members.is_empty() { "no other members".to_owned() } else { format!("with {}", members.join(", ")) };
    let proof = proof.as_ref().map(|url| format!(", named by {}", visible(url))).unwrap_or_default();
    format!("{name}: of {}{proof}, {members}", visible(owner.as_str()))
}
