//! `agentdex namespaces`: the agents that several owners share.

use std::{io::Write, process::ExitCode};

use clap::{Args, Subcommand};
use serde_json::json;

use super::audit::with_advice;
use super::output::{complain, print_json, visible};
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
    #[command(after_help = "A name with dots must be a domain name. Unless you are an admin, \
            https://DOMAIN/.well-known/agentdex.json must list you as an owner.")]
    Claim {
        /// Name of the namespace: lowercase letters, digits, hyphens, and dots
        name: String,
        /// Owner to share the namespace with; can be repeated
        #[arg(long = "member", value_name = "OWNER")]
        members: Vec<Owner>,
        /// Print the namespace as JSON
        #[arg(long)]
        json: bool,
    },
    /// Give up a namespace. Agents shared in it become visible only to their owners and admins.
    Remove {
        /// Name of the namespace
        name: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List { json } => {
            let namespaces = client.namespaces().await?;
            if *json {
                print_json(&namespaces)?;
            } else if namespaces.is_empty() {
                complain(
                    &with_advice(
                        client,
                        "No namespaces. With an API key, `agentdex namespaces claim NAME` claims one.",
                    )
                    .await,
                );
            } else {
                namespaces.iter().try_for_each(|namespace| writeln!(stdout(), "{}", line(namespace)))?;
            }
        }
        Action::Claim { name, members, json } => {
            let claimed = client.claim_namespace(name, members).await?;
            match json {
                true => print_json(&claimed)?,
                false => writeln!(stdout(), "{}", line(&claimed))?,
            }
        }
        Action::Remove { name, json } => {
            client.give_up_namespace(name).await?;
            match json {
                true => print_json(&json!({"name": name, "effect": "removed"}))?,
                false => writeln!(stdout(), "removed {}", visible(name))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(namespace: &ClaimedNamespace) -> String {
    let ClaimedNamespace { name, owner, members, proof, .. } = namespace;
    let members: Vec<_> = members.iter().map(|member| visible(member.as_str()).into_owned()).collect();
    let members =
        if members.is_empty() { "no other members".to_owned() } else { format!("with {}", members.join(", ")) };
    let proof = proof.as_ref().map(|url| format!(", confirmed at {}", visible(url))).unwrap_or_default();
    format!("{name}: owned by {}{proof}, {members}", visible(owner.as_str()))
}
