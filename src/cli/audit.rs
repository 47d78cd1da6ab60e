//! `agentdex audit`: who changed what in a registry, and what was denied.

use std::{io::Write, process::ExitCode};

use clap::Args;

use super::output::{complain, visible};
use super::terminal::stdout;
use crate::settings::number;
use agentdex::{
    access::Owner,
    registry::{AuditEntry, AuditedState},
};
use agentdex_client::RegistryClient;

/// Number of entries in each request.
const AT_ONCE: usize = 1000;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print only entries after the entry with this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = number::<u64>(0..=u64::MAX))]
    since: u64,
    /// Print each entry as a line of JSON, for export
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let (mut since, mut out) = (arguments.since, stdout());
    let mut is_empty = true;
    loop {
        let audited = client.audit(since, AT_ONCE).await?;
        is_empty &= audited.entries.is_empty();
        for entry in &audited.entries {
            match arguments.json {
                true => writeln!(out, "{}", serde_json::to_string(entry)?)?,
                false => writeln!(out, "{}", line(entry))?,
            }
        }
        match audited.entries.last() {
            Some(last) if last.number < audited.last => since = last.number,
            _ => break,
        }
    }
    if is_empty && !arguments.json {
        let message = if arguments.since > 0 { "No entries after the number in --since." } else { "No entries." };
        complain(&with_advice(client, message).await);
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a message about nothing, with the reason if the registry doesn't authenticate its clients.
pub(super) async fn with_advice(client: &RegistryClient, message: &str) -> String {
    match client.about().await {
        Ok(about) if !about.access.authentication => {
            format!("{message} This registry runs without --auth, so it can't identify its clients.")
        }
        _ => message.to_owned(),
    }
}

fn line(entry: &AuditEntry) -> String {
    let at = entry.at.map(|at| at.to_string()).unwrap_or_default();
    // Whoever is denied has an address; who has the data directory proves nothing and may do everything.
    let otherwise = if entry.action == "denied" { "nobody" } else { "trusted" };
    let owner = entry.owner.as_ref().map_or(otherwise, Owner::as_str);
    let role = entry.role.map(|role| format!(" ({role})")).unwrap_or_default();
    let from = entry.address.as_ref().map(|address| format!(" from {address}")).unwrap_or_default();
    let action = match entry.action.strip_prefix("thing_") {
        Some("deleted") => "removed",
        Some(effect) => effect,
        None => &entry.action,
    };
    let mut line = format!("{at} {}{role}{from}: {} {}", visible(owner), visible(action), visible(&entry.target));
    let changes = differences(entry);
    if !changes.is_empty() {
        line.push_str(&format!(" [{}]", changes.join(", ")));
    }
    if let Some(count) = entry.unlisted {
        line.push_str(&format!(" ({count} more)"));
    }
    line
}

/// The members of the states before and after that differ, and who joined and left.
fn differences(entry: &AuditEntry) -> Vec<String> {
    type Member = fn(&AuditedState) -> Option<String>;
    let members: [(&str, Member); 5] = [
        ("owner", |state| state.owner.as_ref().map(ToString::to_string)),
        ("role", |state| state.role.map(|role| role.to_string())),
        ("expires", |state| state.expires.map(|moment| moment.to_string())),
        ("visibility", |state| state.visibility.map(|visibility| visibility.to_string())),
        ("namespace", |state| state.namespace.as_ref().map(ToString::to_string)),
    ];
    let difference = |(name, member): (&str, Member)| {
        let (from, to) = (entry.from.as_ref().and_then(member), entry.to.as_ref().and_then(member));
        match (from, to) {
            (from, to) if from == to => None,
            (None, Some(to)) => Some(format!("{name} {}", visible(&to))),
            (from, to) => Some(format!(
                "{name} {} → {}",
                visible(&from.unwrap_or_default()),
                to.as_deref().map_or("none".into(), visible)
            )),
        }
    };
    let moved = [("joined", &entry.joined), ("left", &entry.left)];
    let moved = moved.into_iter().filter(|(_, owners)| !owners.is_empty()).map(|(word, owners)| {
        let owners: Vec<_> = owners.iter().map(|owner| visible(owner.as_str())).collect();
        format!("{word}: {}", owners.join(" "))
    });
    members.into_iter().filter_map(difference).chain(moved).collect()
}

#[cfg(test)]
mod tests {
    use agentdex::access::{Role, Visibility};

    use super::*;

    #[test]
    fn a_line_says_who_what_from_and_to() {
        let state = |visibility| {
            Some(AuditedState { owner: "us".parse().ok(), visibility: Some(visibility), ..AuditedState::default() })
        };
        let entry = AuditEntry {
            owner: "us".parse().ok(),
            role: Some(Role::Register),
            address: Some("127.0.0.1".into()),
            action: "thing_updated".into(),
            target: "urn:a".into(),
            from: state(Visibility::Public),
            to: state(Visibility::Private),
            ..AuditEntry::default()
        };
        assert_eq!(line(&entry), " us (register) from 127.0.0.1: updated urn:a [visibility public → private]");
        let entry = AuditEntry {
            action: "DELETE".into(),
            target: "/namespaces/pond".into(),
            from: Some(AuditedState { owner: "us".parse().ok(), ..AuditedState::default() }),
            left: vec!["frogs".parse().unwrap(), "us".parse().unwrap()],
            ..AuditEntry::default()
        };
        assert_eq!(line(&entry), " trusted: DELETE /namespaces/pond [owner us → none, left: frogs us]");
    }
}
