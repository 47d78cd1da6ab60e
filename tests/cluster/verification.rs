//! Comparison of nodes: their content, and the settings that should be the same on all of them.

use std::path::Path;

use super::{Cluster, cluster, cluster_status, get, metric, put};
use crate::{process::agentdex, support::eventually};

/// Position in an entry of the log of the last byte of its time of arrival (see the layout of the store).
const ARRIVAL: usize = 2 + 8 + 8 + 7;

/// Changes the time of arrival in an entry of the log, which no checksum includes.
fn change_log(directory: &Path) {
    let db = sled::Config::new().path(directory.join("store")).segment_size(2 * 1024 * 1024).open().unwrap();
    let (key, value) = db.scan_prefix(b"l/").next().unwrap().unwrap();
    let mut value = value.to_vec();
    value[ARRIVAL] ^= 1;
    db.insert(key, value).unwrap();
    db.flush().unwrap();
}

#[test]
fn a_node_with_other_content_or_settings_is_found() {
    let Some(cluster_of) = Cluster::start() else { return };
    let (first, second) = (cluster_of.node(1, &[]), cluster_of.node(2, &[]));
    let third = cluster_of.node(3, &["--max-ttl", "100000"]);
    put(&first, "urn:example:a", "One").expect(201);
    eventually("all nodes are listed", || cluster(&first)["nodes"].as_array().unwrap().len() == 3);
    let verify = || {
        let output = cluster_status(&first, &["--verify"]);
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (status, printed) = verify();
    assert!(status == 0 && printed.contains("all nodes have the same content"), "{status}: {printed}");
    let row = |name: &str| printed.lines().find(|line| line.contains(name) && line.contains("0.")).unwrap().to_owned();
    assert!(row("node-3").ends_with("settings differ: max_ttl"), "{printed}");
    assert!(!row("node-1").contains("differ") && !row("node-2").contains("differ"), "{printed}");

    assert!(second.stop().success());
    let directory = cluster_of.directory(2);
    change_log(&directory);
    let second = cluster_of.node(2, &[]);
    eventually("it is listed again", || cluster(&first)["nodes"].as_array().unwrap().len() == 3);
    let (status, printed) = verify();
    let message = "node-2 differs from most other nodes: changes; replace node-2 with";
    assert!(status == 1 && printed.contains(message), "{status}: {printed}");
    // Each node learns the results of the others a moment later.
    eventually("the node itself knows", || metric(&second, "agentdex_cluster_differs") == 1.0);
    let reason = get(&second, "/health/ready").problem(503, "not-ready")["detail"].to_string();
    assert!(reason.contains("this node differs from most other nodes: changes"), "{reason}");
    assert_eq!([&first, &second, &third].map(|node| metric(node, "agentdex_cluster_differs")), [0.0, 1.0, 0.0]);
    get(&first, "/health/ready").expect(200);

    assert!(second.stop().success());
    std::fs::remove_dir_all(&directory).unwrap();
    let mut join = agentdex();
    join.args(["cluster", "join", "--from", first.url(), "--data"]).arg(&directory);
    assert!(join.output().unwrap().status.success());
    let second = cluster_of.node(2, &[]);
    eventually("it is listed again", || cluster(&first)["nodes"].as_array().unwrap().len() == 3);
    let (status, printed) = verify();
    assert!(status == 0 && printed.contains("all nodes have the same content"), "{status}: {printed}");
    get(&second, "/health/ready").expect(200);
}
