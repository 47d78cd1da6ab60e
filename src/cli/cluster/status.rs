//! `agentdex cluster status`: the nodes of a cluster, as known to the node that is asked.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Args;
use tokio::time::sleep;

use crate::cli::output::{self, Style, visible};
use crate::cli::terminal::stdout;
use agentdex_client::{
    RegistryClient,
    api::{Cluster, ClusterNode},
};

/// Pause before the state of a verification is requested again.
const PAUSE: Duration = Duration::from_millis(200);

/// Maximum time for which a node may take to read its data directory.
const VERIFICATION_PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Compare the whole content of all nodes first. Each node reads its data once. The exit status is 1 if a node
    /// differs, or can't be compared
    #[arg(long)]
    verify: bool,
    /// Print the state of the cluster as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, client: &RegistryClient) -> anyhow::Result<ExitCode> {
    let (cluster, verified) = match arguments.verify {
        true => {
            let (cluster, commit) = verify(client).await?;
            (cluster, Some(commit))
        }
        false => (client.cluster().await?, None),
    };
    match arguments.json {
        true => output::print_json(&cluster)?,
        false => print(&mut stdout(), &cluster, verified, Style::stdout())?,
    }
    let is_wrong =
        verified.is_some_and(|commit| cluster.verified < Some(commit) || !cluster.nodes.iter().all(is_equal));
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Compares all nodes. Returns the state of the cluster afterwards, and the number of the commit at which they were to be
/// compared.
async fn verify(client: &RegistryClient) -> anyhow::Result<(Cluster, u64)> {
    let (commit, started) = (client.verify_cluster().await?.commit, Instant::now());
    loop {
        let cluster = client.cluster().await?;
        if cluster.verified >= Some(commit) || started.elapsed() > VERIFICATION_PATIENCE {
            return Ok((cluster, commit));
        }
        sleep(PAUSE).await;
    }
}

/// True if a node was found equal to most other nodes.
fn is_equal(node: &ClusterNode) -> bool {
    node.verified && node.differs.is_empty()
}

/// `verified` is the commit at which the nodes were compared, if they were.
fn print(out: &mut impl Write, cluster: &Cluster, verified: Option<u64>, style: Style) -> io::Result<()> {
    let Cluster { behind_for, commit, log_end, .. } = cluster;
    let (name, this) = (visible(&cluster.name), visible(&cluster.node));
    writeln!(out, "cluster {name}: {this} is at commit {commit}, and the log ends at commit {log_end}")?;
    if let Some(error) = &cluster.log_error {
        let message = format!("{this} can't read the log of the cluster: {}", visible(error));
        writeln!(out, "{}", style.red(&message))?;
    }
    if !cluster.has_kept_up() {
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
    writeln!(out, "{}", output::lines(&table))?;
    let Some(commit) = verified else { return Ok(()) };
    if cluster.verified < Some(commit) {
        return writeln!(out, "{}", style.red("not all nodes have answered, so they were not compared"));
    }
    if cluster.nodes.iter().all(is_equal) {
        return writeln!(out, "all nodes have the same content");
    }
    for node in cluster.nodes.iter().filter(|node| !is_equal(node)) {
        let (name, parts) = (visible(&node.name), node.differs.join(", "));
        let parts = visible(&parts);
        let message = match (&node.verification_problem, &node.differs_from) {
            (Some(problem), _) => format!("{name} was not compared: {}", visible(problem)),
            _ if !node.verified => format!("{name} was not compared, because it was started after the comparison"),
            (None, None) => {
                format!("{name} differs from most other nodes: {parts}; replace {name} with `agentdex cluster join`")
            }
            (None, Some(leader)) => format!(
                "{name} differs from {}, the leader: {parts}; run `agentdex check` on both before you replace one with \
                 `agentdex cluster join`",
                visible(leader)
            ),
        };
        writeln!(out, "{}", style.red(&message))?;
    }
    Ok(())
}

fn row(cluster: &Cluster, node: &ClusterNode) -> [String; 7] {
    let is_this = node.name == cluster.node;
    // The published progress of a node is a few seconds old, but the node that answers knows its own.
    let commit = if is_this { node.commit.max(cluster.commit) } else { node.commit };
    let differing = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!("{what}: {}", visible(&names.join(", "))),
    };
    let mut notes = vec![
        if cluster.leader.as_ref() == Some(&node.name) { "leader".to_owned() } else { String::new() },
        if is_this { "this node".to_owned() } else { String::new() },
        differing("content differs", &node.differs),
        differing("settings differ", &node.settings_differ),
    ];
    notes.retain(|note| !note.is_empty());
    [
        visible(&node.name).into_owned(),
        commit.to_string(),
        cluster.log_end.saturating_sub(commit).to_string(),
        node.synced.to_string(),
        visible(&node.version).into_owned(),
        visible(node.url.as_deref().unwrap_or_default()).into_owned(),
        notes.join("; "),
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
    fn printed(cluster: Value, verified: Option<u64>) -> Vec<String> {
        let cluster: Cluster = serde_json::from_value(cluster).unwrap();
        let mut out = Vec::new();
        print(&mut out, &cluster, verified, Style::plain()).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn nodes_are_listed_by_name_with_their_lag() {
        let mut second = node("node-2", 304);
        second.as_object_mut().unwrap().remove("url");
        let lines = printed(
            json!({
                "behind_for": 0.5, "commit": 304, "leader": "node-1", "log_end": 304, "name": "agentdex", "node": "node-1",
                "nodes": [node("node-3", 290), node("node-1", 300), second],
            }),
            None,
        );
        assert_eq!(lines[0], "cluster agentdex: node-1 is at commit 304, and the log ends at commit 304");
        assert_eq!(lines[1], "Node Commit Behind Synced Version URL");
        let rows = [
            "node-1 304 0 300 0.2.0 http://node-1:80 leader; this node",
            "node-2 304 0 304 0.2.0",
            "node-3 290 14 290 0.2.0 http://node-3:80",
        ];
        assert_eq!(lines[3..], rows);
    }

    #[test]
    fn a_node_with_problems_reports_them_and_names_of_others_do_not_act_on_the_terminal() {
        let lines = printed(
            json!({
                "behind_for": 74.2, "clock_ahead": -3600.2, "commit": 9, "log_end": 12, "name": "agentdex", "node": "node-1",
                "nodes": [node("\u{1b}[31m\nx", 12)], "problem": "commit 10 is gone\u{1b}[2J",
            }),
            None,
        );
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

    #[test]
    fn nodes_that_differ_are_named_with_the_remedy() {
        let with = |mut node: Value, name: &str, value: Value| {
            node[name] = value;
            node
        };
        let verified = |name: &str| with(node(name, 9), "verified", json!(true));
        let problem = with(node("node-2", 9), "verification_problem", json!("it is busy"));
        let other = with(verified("node-3"), "differs", json!(["texts", "changes"]));
        let late = with(node("node-4", 9), "settings_differ", json!(["max_ttl"]));
        let tied = with(with(verified("node-5"), "differs", json!(["keys"])), "differs_from", json!("node-1"));
        let state = |nodes: &[&Value]| {
            json!({
                "behind_for": 0.5, "commit": 9, "log_end": 9, "name": "agentdex", "node": "node-1", "nodes": nodes,
                "verified": 9,
            })
        };
        let lines = printed(state(&[&verified("node-1"), &problem, &other, &late, &tied]), Some(9));
        assert!(lines[5].ends_with("content differs: texts, changes"), "{lines:?}");
        assert!(lines[6].ends_with("settings differ: max_ttl"), "{lines:?}");
        let messages = [
            "node-2 was not compared: it is busy",
            "node-3 differs from most other nodes: texts, changes; replace node-3 with `agentdex cluster join`",
            "node-4 was not compared, because it was started after the comparison",
            "node-5 differs from node-1, the leader: keys; run `agentdex check` on both before you replace one with `agentdex cluster join`",
        ];
        assert_eq!(lines[8..], messages);
        let lines = printed(state(&[&verified("node-1")]), Some(9));
        assert_eq!(lines.last().unwrap(), "all nodes have the same content");
        let lines = printed(state(&[&verified("node-1")]), Some(10));
        assert_eq!(lines.last().unwrap(), "not all nodes have answered, so they were not compared");
    }
}
