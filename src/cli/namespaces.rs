//! `agentdex namespaces`: the agents that several owners share.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use super::{
    output::{indented, visible},
    remote::{self, Remote},
};
use agentdex::{access::Owner, registry::ClaimedNamespace};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List those that you are a member of; for admins all of them.
    List {
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        remote: Remote,
    },
    /// Claim one, or say who its members are beside you: all of them, each time. One with a dot is that of a domain,
    /// which names you at https://DOMAIN/.well-known/agentdex.json.
    Claim {
        /// Its name: lower-case letters, digits, - and .
        name: String,
        /// An owner who sees what is in it; more than one may be given
        #[arg(long = "member", value_name = "OWNER")]
        members: Vec<Owner>,
        #[command(flatten)]
        remote: Remote,
    },
    /// Give one up: its members no longer see what is in it.
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        remote: Remote,
    },
}

impl Arguments {
    pub(super) fn remote(&mut self) -> &mut Remote {
        match &mut self.action {
            Action::List { remote, .. } | Action::Claim { remote, .. } | Action::Remove { remote, .. } => remote,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::List { json, remote } => {
            let client = remote.client()?;
            let namespaces = remote::block_on(async { client.namespaces().await.map_err(remote::explain) })?;
            let mut out = io::stdout().lock();
            if *json {
                writeln!(out, "{}", indented(&serde_json::to_string(&namespaces)?))?;
            } else {
                namespaces.iter().try_for_each(|namespace| writeln!(out, "{}", line(namespace)))?;
            }
        }
        Action::Claim { name, members, remote } => {
            let client = remote.client()?;
            let claim = async { client.claim_namespace(name, members).await.map_err(remote::explain) };
            writeln!(io::stdout(), "{}", line(&remote::block_on(claim)?))?;
        }
        Action::Remove { name, remote } => {
            let client = remote.client()?;
            remote::block_on(async { client.give_up_namespace(name).await.map_err(remote::explain) })?;
            writeln!(io::stdout(), "removed {}", visible(name))?;
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
