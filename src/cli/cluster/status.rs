//! `agentdex cluster status`: the nodes of a cluster, as known to the node that is asked.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;

use crate::cli::output::{self, Style, visible};
use crate::cli::terminal::stdout;
use agentdex_client::{
    RegistryClient,
    api::{Cluster, ClusterNode},
};

/// Minimum delay of a node to be reported, in seconds. With this delay, a node isn't ready.
const MOST_BEHIND: f64 = 10.0;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print the state of the cluster as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let cluster = client.cluster().await?;
    match arguments.json {
        true => output::print_json(&cluster)?,
        false => print(&mut stdout(), &cluster, Style::stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, cluster: &Cluster, style: Style) -> io::Result<()> {
    let Cluster { behind_for, commit, log_end, .. } = cluster;
    let (name, this) = (visible(&cluster.name), visible(&cluster.node));
    writeln!(out, "cluster {name}: {this} is at commit {commit}, and the log ends at commit {log_end}")?;
    if *behind_for >= MOST_BEHIND {
        let message = format!("{this} has not kept up with the cluster for {behind_for:.0} s");
        writeln!(out, "{}", style.yellow(&message))?;
    }
    if let Some(ahead) = cluster.clock_ahead {
        let (seconds, direction) = (ahead.abs(), if ahead > 0.0 { "ahead of" } else { "behind" });
        let message = format!(
            "the clock of {this} is {seconds:.0} s {direction} the clocks of most other nodes, so it accepts no writes"
        );
        writeln!(out, "{}", style.yellow(&message))?;
    }
    if cluster.log_full {
        writeln!(out, "{}", style.red("etcd is out of space, so the cluster accepts no writes"))?;
    }
    if let Some(problem) = &cluster.problem {
        let message = format!("{this} no longer follows the cluster: {problem}");
        writeln!(out, "{}", style.red(&message))?;
    }
    let mut nodes: Vec<&ClusterNode> = cluster.nodes.iter().collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let mut table = output::table(&["Node", "Commit", "Behind", "Synced", "Version", "URL", ""]);
    for node in nodes {
        table.add_row(row(cluster, node));
    }
    writeln!(out, "{}", output::lines(&table))
}

fn row(cluster: &Cluster, node: &ClusterNode) -> [String; 7] {
    let is_this = node.name == cluster.node;
    // The published progress of a node is a few seconds old, but the node that answers knows its own.
    let commit = if is_this { node.commit.max(cluster.commit) } else { node.commit };
    let notes = [(cluster.leader.as_ref() == Some(&node.name), "leader"), (is_this, "this node")];
    let notes: Vec<&str> = notes.into_iter().filter_map(|(applies, note)| applies.then_some(note)).collect();
    [
        visible(&node.name).into_owned(),
        commit.to_string(),
        cluster.log_end.saturating_sub(commit).to_string(),
        node.synced.to_string(),
        visible(&node.version).into_owned(),
        visible(node.url.as_deref().unwrap_or_default()).into_owned(),
        notes.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, commit: u64) -> Value {
        let url = format!("http://{name}:80");
        json!({"clock": "2026-11-28T00:00:00Z", "commit": commit, "name": name, "synced": commit, "url": url, "version": "0.2.0"})
    }

    /// Returns the printed lines, with single spaces between words.
    fn printed(cluster: Value) -> Vec<String> {
        let cluster: Cluster = serde_json::from_value(cluster).unwrap();
        let mut out = Vec::new();
        print(&mut out, &cluster, Style::plain()).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn nodes_are_listed_by_name_with_their_lag() {
        let mut second = node("node-2", 304);
        second.as_object_mut().unwrap().remove("url");
        let lines = printed(json!({
            "behind_for": 0.5, "commit": 304, "leader": "node-1", "log_end": 304, "name": "agentdex", "node": "node-1",
            "nodes": [node("node-3", 290), node("node-1", 300), second],
        }));
        assert_eq!(lines[0], "cluster agentdex: node-1 is at commit 304, and the log ends at commit 304");
        assert_eq!(lines[1], "Node Commit Behind Synced Version URL");
        let rows = [
            "node-1 304 0 300 0.2.0 http://node-1:80 leader, this node",
            "node-2 304 0 304 0.2.0",
            "node-3 290 14 290 0.2.0 http://node-3:80",
        ];
        assert_eq!(lines[3..], rows);
    }

    #[test]
    fn a_node_with_problems_reports_them_and_names_of_others_do_not_act_on_the_terminal() {
        let lines = printed(json!({
            "behind_for": 74.2, "clock_ahead": -3600.2, "commit": 9, "log_end": 12, "name": "agentdex", "node": "node-1",
            "nodes": [node("\u{1b}[31m\nx", 12)], "problem": "commit 10 is gone\u{1b}[2J",
        }));
        let messages = [
            "cluster agentdex: node-1 is at commit 9, and the log ends at commit 12",
            "node-1 has not kept up with the cluster for 74 s",
            "the clock of node-1 is 3600 s behind the clocks of most other nodes, so it accepts no writes",
            "node-1 no longer follows the cluster: commit 10 is gone\u{fffd}[2J",
        ];
        assert_eq!(lines[..4], messages);
        assert_eq!(lines.len(), 7, "{lines:?}");
        let name = "\u{fffd}[31m\u{fffd}x";
        assert_eq!(lines[6], format!("{name} 12 0 12 0.2.0 http://{name}:80"));
    }
}
