//! Further nodes of a cluster that was founded with data.

use std::path::Path;

use super::{Cluster, cluster, failure, put, title};
use crate::{
    process::{ServerProcess, agentdex},
    support::{Call, eventually},
};

/// Runs `cluster join` with these arguments.
fn join(data: &Path, key: Option<&str>, arguments: &[&str]) -> std::process::Output {
    let mut command = agentdex();
    command.args(["cluster", "join", "--data"]).arg(data).args(arguments);
    key.map(|key| command.env("AGENTDEX_API_KEY", key));
    command.output().unwrap()
}

#[test]
fn nodes_join_with_a_backup_of_a_running_node() {
    let Some(cluster_of) = Cluster::start() else { return };
    let directories: Vec<_> = (0..6).map(|node| cluster_of.directory(node)).collect();
    let data = directories[1].to_str().unwrap();
    let output =
        agentdex().args(["keys", "create", "--role", "admin", "--owner", "ops", "--data", data]).output().unwrap();
    let key = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let first = cluster_of.node(1, &["--auth"]);
    let call = |server: &ServerProcess, method: &str, path: &str| {
        Call::new(method, &format!("{}{path}", server.url())).header("authorization", &format!("Bearer {key}"))
    };
    let register = |server: &ServerProcess, id: &str| {
        let agent = agentdex::td::Description::new("Agent").id(id);
        let body = serde_json::to_string(&agent).unwrap();
        call(server, "PUT", &format!("/things/{id}")).body("application/td+json", body).send().status
    };
    assert_eq!(register(&first, "urn:example:a"), 201);
    // The first key is in no commit of the log.
    let url = cluster_of.etcd.url();
    let (status, error) = cluster_of.refused(&directories[2], &["--cluster", &url, "--cluster-node", "node-2"]);
    assert!(status == 3 && error.contains("`agentdex cluster join`"), "{status}: {error}");
    std::fs::remove_dir_all(&directories[2]).unwrap();
    let (status, error) = failure(&join(&directories[2], None, &["--from", first.url()]));
    assert!(status != 0 && error.contains("key"), "{status}: {error}");
    assert!(!directories[2].exists(), "nothing is left of an attempt");
    let joined = join(&directories[2], Some(&key), &["--from", first.url()]);
    assert!(joined.status.success(), "{}", String::from_utf8_lossy(&joined.stderr));
    let (status, error) = cluster_of.refused(&directories[2], &["--auth"]);
    assert!(status == 3 && error.contains("belongs to a node of a cluster"), "{status}: {error}");
    // Changes after the backup are in the log.
    assert_eq!(register(&first, "urn:example:b"), 201);
    let second = cluster_of.node(2, &["--auth"]);
    assert_eq!(call(&second, "GET", "/things/urn:example:b").send().status, 200);
    eventually("it writes", || register(&second, "urn:example:c") == 201);
    eventually("the first one has it", || call(&first, "GET", "/things/urn:example:c").send().status == 200);

    // The same from a file.
    let backup = cluster_of.root.path().join("backup");
    let mut command = agentdex();
    command.env("AGENTDEX_API_KEY", &key).args(["backup", "--url", second.url()]).arg(&backup);
    assert!(command.output().unwrap().status.success());
    assert_eq!(register(&first, "urn:example:d"), 201);
    let joined = join(&directories[3], None, &["--backup", backup.to_str().unwrap(), "--json"]);
    assert!(joined.status.success(), "{}", String::from_utf8_lossy(&joined.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&joined.stdout).unwrap();
    assert_eq!(summary["agents"], 3, "{summary}");
    let third = cluster_of.node(3, &["--auth"]);
    assert_eq!(call(&third, "GET", "/things/urn:example:d").send().status, 200);
    let (status, error) = failure(&join(&directories[3], None, &["--backup", backup.to_str().unwrap()]));
    assert!(status == 1 && error.contains("not empty"), "{status}: {error}");
    let sums: Vec<_> = [&first, &second, &third].map(|node| call(node, "GET", "/health/ready").send().json()).into();
    assert!(sums.iter().all(|sum| sum["cursor"] == sums[0]["cursor"]), "{sums:?}");
}

#[test]
fn only_a_backup_of_a_node_is_joined_with() {
    let root = tempfile::tempdir().unwrap();
    let alone = ServerProcess::start(&root.path().join("alone"), &[]);
    put(&alone, "urn:example:a", "One").expect(201);
    let data = root.path().join("node");
    let (status, error) = failure(&join(&data, None, &["--from", alone.url()]));
    assert!(status == 1 && error.contains("not the backup of a node"), "{status}: {error}");
    assert!(!data.exists());
    let usage = join(&data, None, &[]);
    assert!(String::from_utf8_lossy(&usage.stderr).contains("--from <URL>"));
}

#[test]
fn a_cluster_is_founded_with_the_data_of_a_registry() {
    let Some(cluster_of) = Cluster::start() else { return };
    let alone = ServerProcess::start(&cluster_of.directory(1), &[]);
    put(&alone, "urn:example:a", "One").expect(201);
    assert!(alone.stop().success());
    let first = cluster_of.node(1, &[]);
    assert_eq!(title(&first, "urn:example:a").as_deref(), Some("One"));
    let joined = join(&cluster_of.directory(2), None, &["--from", first.url()]);
    assert!(joined.status.success(), "{}", String::from_utf8_lossy(&joined.stderr));
    let second = cluster_of.node(2, &[]);
    assert_eq!(title(&second, "urn:example:a").as_deref(), Some("One"));
    eventually("both are there", || cluster(&first)["nodes"].as_array().unwrap().len() == 2);
    eventually("it writes", || put(&second, "urn:example:b", "Two").status == 201);
    eventually("the first one has it", || title(&first, "urn:example:b").is_some());
}

#[test]
fn flags_for_a_registry_are_for_the_node_to_join_from() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let url = crate::support::unreachable_url("");
    let (status, error) = failure(&join(&data, None, &["--from", &url, "--ca", "/missing.pem"]));
    assert!(status == 1 && error.contains("/missing.pem"), "{status}: {error}");
    let (status, error) = failure(&join(&data, None, &["--backup", "missing", "--api-key", "adx_x"]));
    assert!(status == 2 && error.contains("--api-key is for commands that connect to a registry"), "{status}: {error}");
}
