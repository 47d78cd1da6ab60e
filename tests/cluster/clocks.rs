//! Nodes whose clocks differ.

use std::fs;

use super::{Cluster, cluster, get, put, title};
use crate::{cli::clock::library, process::ServerProcess, support::eventually};

#[test]
fn a_node_whose_clock_is_an_hour_ahead_does_not_write() {
    let Some(library) = library() else { return };
    let Some(cluster_of) = Cluster::start() else { return };
    let clock = cluster_of.root.path().join("clock");
    fs::write(&clock, "+0").unwrap();
    let (first, second) = (cluster_of.node(1, &[]), cluster_of.node(2, &[]));
    let url = cluster_of.etcd.url();
    let arguments = ["--cluster", &url, "--cluster-node", "node-3"];
    let third = ServerProcess::start_with_clock(&cluster_of.directory(3), &arguments, &library, &clock);
    eventually("all are there", || {
        [&first, &second, &third].iter().all(|node| cluster(node)["nodes"].as_array().unwrap().len() == 3)
    });
    put(&third, "urn:example:a", "One").expect(201);
    fs::write(&clock, "+1h").unwrap();
    // At once, before anything is compared.
    let refused = put(&third, "urn:example:b", "Two");
    assert_eq!(refused.header("retry-after"), "5");
    let detail = refused.problem(503, "clock-skew")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(" s ahead of the clocks of most other nodes"), "{detail}");
    assert!(title(&third, "urn:example:b").is_none());
    let reason = get(&third, "/health/ready").problem(503, "not-ready")["detail"].to_string();
    assert!(reason.contains("the clock of this node is 36"), "{reason}");
    eventually("another node leads", || cluster(&first)["leader"] != "node-3");
    let before = agentdex::td::Timestamp::now();
    put(&first, "urn:example:b", "Two").expect(201);
    let changes = get(&first, "/changes").expect(200).json();
    let last = changes["changes"].as_array().unwrap().last().unwrap();
    let at: agentdex::td::Timestamp = serde_json::from_value(last["at"].clone()).unwrap();
    assert!(at.0 < before.0 + 600_000, "the time of the log isn't ahead: {last}");
    fs::write(&clock, "+0").unwrap();
    eventually("it writes again", || put(&third, "urn:example:c", "Three").status == 201);
    // A node that starts with a wrong clock.
    fs::write(&clock, "+1h").unwrap();
    let arguments = ["--cluster", &url, "--cluster-node", "node-4"];
    let fourth = ServerProcess::start_with_clock(&cluster_of.directory(4), &arguments, &library, &clock);
    put(&fourth, "urn:example:d", "Four").problem(503, "clock-skew");
}
