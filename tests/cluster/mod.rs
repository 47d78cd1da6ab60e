//! Servers that are nodes of a cluster, with an etcd of their own.

mod clocks;
mod etcd;
mod faults;
mod history;
mod joining;
mod machines;
mod moving;
mod proxy;
mod revoking;
mod verification;

use std::{
    path::{Path, PathBuf},
    process::Output,
};

use agentdex::{Position, Seq, td::Description};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::etcd::Etcd;
use crate::{
    process::{ServerProcess, agentdex},
    support::{Answer, Call, eventually},
};

/// Directories of nodes, and their etcd.
struct Cluster {
    etcd: Etcd,
    root: TempDir,
}

impl Cluster {
    fn start() -> Option<Cluster> {
        Some(Cluster { etcd: Etcd::start()?, root: tempfile::tempdir().unwrap() })
    }

    fn directory(&self, node: usize) -> PathBuf {
        self.root.path().join(format!("node-{node}"))
    }

    /// Starts a node. The first node founds the cluster.
    fn node(&self, node: usize, arguments: &[&str]) -> ServerProcess {
        start_node(&self.directory(node), &self.etcd.url(), node, arguments)
    }

    /// Runs `serve` with these arguments, which fails.
    fn refused(&self, data: &Path, arguments: &[&str]) -> (i32, String) {
        let mut command = agentdex();
        command.arg("serve").arg("--data").arg(data).args(["--listen", "127.0.0.1:0", "--no-mqtt"]).args(arguments);
        failure(&command.output().unwrap())
    }
}

/// Starts a node over etcd at these URLs. The first node founds the cluster.
fn start_node(directory: &Path, etcd: &str, node: usize, arguments: &[&str]) -> ServerProcess {
    let name = format!("node-{node}");
    let mut all = vec!["--cluster", etcd, "--cluster-node", &name];
    if node == 1 {
        all.push("--cluster-init");
    }
    all.extend(arguments);
    ServerProcess::start(directory, &all)
}

fn failure(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), text.lines().filter(|line| line.starts_with("error:")).collect())
}

fn get(server: &ServerProcess, path: &str) -> Answer {
    Call::new("GET", &format!("{}{path}", server.url())).send()
}

fn put(server: &ServerProcess, id: &str, title: &str) -> Answer {
    let agent = Description::new(title).id(id).capability("forecast");
    let url = format!("{}/things/{id}", server.url());
    Call::new("PUT", &url).body("application/td+json", serde_json::to_string(&agent).unwrap()).send()
}

fn title(server: &ServerProcess, id: &str) -> Option<String> {
    let answer = get(server, &format!("/things/{id}"));
    (answer.status == 200).then(|| answer.json()["title"].as_str().unwrap().to_owned())
}

fn cluster(server: &ServerProcess) -> Value {
    get(server, "/cluster").expect(200).json()
}

/// Runs `cluster status` for a node.
fn cluster_status(server: &ServerProcess, arguments: &[&str]) -> Output {
    agentdex().args(["cluster", "status", "--url", server.url()]).args(arguments).output().unwrap()
}

fn metrics(server: &ServerProcess) -> String {
    get(server, "/metrics").expect(200).text().to_owned()
}

fn metric(server: &ServerProcess, name: &str) -> f64 {
    let text = metrics(server);
    let values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    values.map(|value| value.parse().unwrap()).next().unwrap_or_else(|| panic!("no {name} in {text}"))
}

fn cursor(server: &ServerProcess) -> Value {
    get(server, "/health/ready").expect(200).json()["cursor"].clone()
}

#[test]
fn nodes_have_the_same_content_whichever_is_written_to() {
    let Some(cluster_of) = Cluster::start() else { return };
    let first = cluster_of.node(1, &[]);
    put(&first, "urn:example:a", "One").expect(201);
    let nodes = [first, cluster_of.node(2, &[]), cluster_of.node(3, &[])];
    assert_eq!(title(&nodes[2], "urn:example:a").as_deref(), Some("One"), "a node that starts gets everything first");
    put(&nodes[1], "urn:example:a", "Two").expect(204);
    put(&nodes[2], "urn:example:b", "Three").expect(201);
    for node in &nodes {
        eventually("all have both", || {
            title(node, "urn:example:a").as_deref() == Some("Two") && title(node, "urn:example:b").is_some()
        });
        eventually("it is found", || get(node, "/search?q=forecast").json()["total"] == 2);
    }
    let cursors = nodes.each_ref().map(cursor);
    assert!(cursors[0] == cursors[1] && cursors[1] == cursors[2], "{cursors:?}");
    eventually("all know each other", || {
        nodes.iter().all(|node| {
            let state = cluster(node);
            let names: Vec<_> = state["nodes"].as_array().unwrap().iter().map(|node| node["name"].clone()).collect();
            names == ["node-1", "node-2", "node-3"]
                && state["leader"].is_string()
                && state["commit"] == state["log_end"]
        })
    });
    // A node that is killed catches up.
    let [first, second, third] = nodes;
    second.kill();
    put(&first, "urn:example:a", "Four").expect(204);
    let second = cluster_of.node(2, &[]);
    assert_eq!(title(&second, "urn:example:a").as_deref(), Some("Four"));
    // Its former lease has to expire first.
    eventually("it writes again", || put(&second, "urn:example:c", "Five").status == 201);
    eventually("all have it", || title(&third, "urn:example:c").is_some() && title(&first, "urn:example:c").is_some());
    for node in [first, second, third] {
        assert!(node.stop().success());
    }
}

#[test]
fn a_reader_that_moves_to_a_node_behind_gets_each_change_once() {
    let Some(cluster) = Cluster::start() else { return };
    let (first, second) = (cluster.node(1, &[]), cluster.node(2, &[]));
    put(&first, "urn:example:a", "One").expect(201);
    let position = |server: &ServerProcess| -> Position { cursor(server).as_str().unwrap().parse().unwrap() };
    eventually("both have it", || position(&first) == position(&second));
    let Position { epoch, seq } = position(&first);
    // A position that the other node hasn't reached.
    put(&first, "urn:example:a", "Two").expect(204);
    let moved = position(&first);
    let read = get(&second, &format!("/changes?since={moved}")).expect(200).json();
    assert!(read["changes"] == json!([]) && read["truncated"] != true, "{read}");
    put(&first, "urn:example:a", "Three").expect(204);
    put(&first, "urn:example:b", "Four").expect(201);
    eventually("the changes after it come once", || {
        let read = get(&second, &format!("/changes?since={moved}")).expect(200).json();
        let all = get(&first, &format!("/changes?since={moved}")).expect(200).json();
        assert_ne!(read["truncated"], true);
        assert_eq!(all["changes"].as_array().unwrap().len(), 2);
        read["changes"] == all["changes"]
    });
    let far = Position { epoch, seq: Seq(seq.0 + 1_000_000) };
    let refused = get(&second, &format!("/changes?since={far}"));
    assert_eq!(refused.header("retry-after"), "1");
    refused.problem(503, "position-ahead");
    let searched = get(&second, "/search?q=three&consistent=true").expect(200).json();
    assert_eq!(searched["hits"][0]["title"], "Three", "what was acknowledged by another node is found");
}

#[test]
fn wrong_settings_for_etcd_are_not_taken_for_damage() {
    let Some(cluster) = Cluster::start() else { return };
    let node = cluster.node(1, &[]);
    put(&node, "urn:example:a", "One").expect(201);
    assert!(node.stop().success());
    let directory = cluster.directory(1);
    let certificate = cluster.root.path().join("ca.pem");
    std::fs::write(&certificate, "no certificate").unwrap();
    let url = cluster.etcd.url();
    let bare = url.strip_prefix("http://").unwrap();
    let certificate = certificate.to_str().unwrap();
    let secure = format!("https://{bare}");
    for (arguments, expected) in [
        (&["--cluster", bare][..], "the scheme must be http or https"),
        (&["--cluster", &url, "--cluster-ca", certificate], "TLS settings require https"),
        (&["--cluster", &secure, "--cluster-ca", certificate], "no certificate in PEM format"),
    ] {
        let (status, error) = cluster.refused(&directory, &[arguments, &["--cluster-node", "node-1"]].concat());
        assert!(status == 1 && error.contains(expected), "{arguments:?}: {status}: {error}");
    }
    let node = cluster.node(1, &[]);
    assert_eq!(title(&node, "urn:example:a").as_deref(), Some("One"));
}

#[test]
fn a_node_without_etcd_says_so_and_answers_searches() {
    let Some(mut cluster) = Cluster::start() else { return };
    let node = cluster.node(1, &[]);
    put(&node, "urn:example:a", "Harbor pilot").expect(201);
    eventually("it is found", || get(&node, "/search?q=harbor").json()["total"] == 1);
    cluster.etcd.kill();
    let output = agentdex().args(["search", "harbor", "--url", node.url()]).output().unwrap();
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && out.contains("Harbor pilot"), "{out}{error}");
    assert!(error.contains("note: the log of the cluster does not respond"), "{error}");
    eventually("it has tried to read the log", || {
        String::from_utf8_lossy(&cluster_status(&node, &[]).stdout)
            .contains("node-1 can't read the log of the cluster: ")
    });
    eventually("its log says so", || node.log().contains("the node doesn't keep up with its cluster"));
    cluster.etcd.run();
    eventually("its log says so", || node.log().contains("the node keeps up with its cluster again"));
    eventually("there is no error any more", || log_error(&node).is_null());
}

fn log_error(node: &ServerProcess) -> Value {
    cluster(node)["log_error"].clone()
}

#[test]
fn a_directory_of_a_node_is_refused_elsewhere_and_can_be_backed_up() {
    let Some(mut cluster) = Cluster::start() else { return };
    let node = cluster.node(1, &[]);
    put(&node, "urn:example:a", "One").expect(201);
    assert!(node.stop().success());
    let directory = cluster.directory(1);
    let data = directory.to_str().unwrap();
    let (status, error) = cluster.refused(&directory, &[]);
    assert!(status == 3 && error.contains("belongs to a node of a cluster"), "{status}: {error}");
    for command in [
        &["keys", "create", "--role", "admin", "--owner", "team", "--data", data][..],
        &["clock", "accept", "--data", data],
        &["salvage", "--data", data, "--accept-rollback"],
    ] {
        let output = agentdex().args(command).output().unwrap();
        let (status, error) = failure(&output);
        assert!(status != 0 && error.contains("belongs to a node of a cluster"), "{command:?}: {status}: {error}");
    }
    let other = cluster.root.path().join("other");
    let arguments = |url: &str, name: &str| ["--cluster", url, "--cluster-name", name].map(str::to_owned);
    let refused = |cluster: &Cluster, directory: &Path, arguments: &[String]| {
        cluster.refused(directory, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // A registry of its own.
    ServerProcess::start(&other, &[]).kill();
    let (status, error) = refused(&cluster, &other, &arguments(&cluster.etcd.url(), "agentdex"));
    assert!(status == 3 && error.contains("a different registry"), "{status}: {error}");
    // Its etcd is wiped, and the way out is a backup.
    cluster.etcd.kill();
    cluster.etcd.wipe();
    cluster.etcd.run();
    let (status, error) = refused(&cluster, &directory, &arguments(&cluster.etcd.url(), "agentdex"));
    assert!(status == 3 && error.contains("etcd has lost the cluster"), "{status}: {error}");
    let backup = cluster.root.path().join("backup");
    let (backup, restored) = (backup.to_str().unwrap(), cluster.directory(2));
    for command in [&["backup", backup, "--data", data][..], &["restore", backup, "--data", restored.to_str().unwrap()]]
    {
        let output = agentdex().args(command).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let again = cluster.node(2, &["--cluster-name", "again", "--cluster-init"]);
    assert_eq!(title(&again, "urn:example:a").as_deref(), Some("One"));
    let output = agentdex().args(["check", "--data", data]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_node_without_etcd_stops_serving_and_goes_on_later() {
    let Some(mut cluster_of) = Cluster::start() else { return };
    let node = cluster_of.node(1, &["--cluster-stale-limit", "6"]);
    put(&node, "urn:example:a", "One").expect(201);
    cluster_of.etcd.kill();
    eventually("it is cut off", || get(&node, "/things/urn:example:a").status == 503);
    let refused = get(&node, "/search?q=forecast");
    assert_eq!(refused.header("retry-after"), "2");
    let detail = refused.problem(503, "cut-off")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("ask another node"), "{detail}");
    get(&node, "/health/live").expect(200);
    get(&node, "/metrics").expect(200);
    assert!(cluster(&node)["behind_for"].as_f64().unwrap() >= 6.0);
    eventually("it isn't ready", || get(&node, "/health/ready").status == 503);
    eventually("it isn't connected", || metric(&node, "agentdex_cluster_connected") == 0.0);
    assert_eq!(metric(&node, "agentdex_cluster_leader"), 0.0, "another node may lead by now");
    assert!(metric(&node, "agentdex_cluster_behind_seconds") >= 10.0);
    cluster_of.etcd.run();
    eventually("it goes on", || title(&node, "urn:example:a").is_some());
    eventually("it is connected", || metric(&node, "agentdex_cluster_connected") == 1.0);
    eventually("it writes", || put(&node, "urn:example:b", "Two").status == 201);
    get(&node, "/health/ready").expect(200);
}

#[test]
fn a_node_without_its_log_refuses_no_write_for_the_state_it_had() {
    let Some(mut cluster_of) = Cluster::start() else { return };
    let node = cluster_of.node(1, &[]);
    put(&node, "urn:example:one", "One").expect(201);
    cluster_of.etcd.kill();
    cluster_of.etcd.wipe();
    cluster_of.etcd.run();
    eventually("the node stops following the log", || cluster(&node)["problem"].is_string());
    let url = format!("{}/things/urn:example:one", node.url());
    let refused = Call::new("DELETE", &url).header("If-Match", "\"1000000\"").send().expect(503);
    assert_eq!(refused.json()["code"], "writes-closed", "{}", refused.text());
}

#[test]
fn the_command_line_shows_the_nodes() {
    let Some(cluster_of) = Cluster::start() else { return };
    let nodes = [cluster_of.node(1, &[]), cluster_of.node(2, &[])];
    eventually("both know each other and the leader", || {
        nodes.iter().all(|node| {
            let state = cluster(node);
            state["nodes"].as_array().unwrap().len() == 2 && state["leader"].is_string()
        })
    });
    let printed = |arguments: &[&str]| {
        let output = cluster_status(&nodes[1], arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = printed(&[]);
    assert!(text.starts_with("cluster agentdex: node-2 is at commit "), "{text}");
    let row = |name: &str| text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    assert!(row("node-2").ends_with("this node") && !row("node-1").contains("this node"), "{text}");
    assert_eq!(text.matches("leader").count(), 1, "{text}");
    let state: Value = serde_json::from_str(&printed(&["--json"])).unwrap();
    assert_eq!((&state["name"], &state["node"]), (&json!("agentdex"), &json!("node-2")));
    assert_eq!(state["nodes"].as_array().unwrap().len(), 2, "{state}");
}

#[test]
fn nodes_have_metrics_that_are_documented() {
    let Some(cluster_of) = Cluster::start() else { return };
    let nodes = [cluster_of.node(1, &[]), cluster_of.node(2, &[])];
    put(&nodes[0], "urn:example:a", "One").expect(201);
    let all = |name: &str| nodes.each_ref().map(|node| metric(node, name));
    eventually("both are connected", || all("agentdex_cluster_connected") == [1.0; 2]);
    eventually("both know each other", || all("agentdex_cluster_nodes") == [2.0; 2]);
    eventually("a single node leads", || all("agentdex_cluster_leader").iter().sum::<f64>() == 1.0);
    eventually("both have the write", || {
        let commits = all("agentdex_cluster_commit");
        commits == all("agentdex_cluster_end") && commits[0] == commits[1]
    });
    assert!(metric(&nodes[0], "agentdex_cluster_appended_total") >= 1.0);
    assert!(metric(&nodes[0], "agentdex_cluster_append_seconds_sum") > 0.0);
    assert!(all("agentdex_cluster_behind_seconds").iter().all(|seconds| *seconds < 60.0));
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations/monitor.md")).unwrap();
    let text = metrics(&nodes[0]);
    let lines: Vec<&str> = text.lines().collect();
    let mut documented = 0;
    for pair in lines.windows(2) {
        let Some((name, help)) = pair[0].strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) else {
            continue;
        };
        if name.starts_with("agentdex_cluster_") {
            let kind = pair[1].strip_prefix(&format!("# TYPE {name} ")).unwrap();
            assert!(page.contains(&format!("| `{name}` | {kind} | {help} |\n")), "{name}, {kind}: {help}");
            documented += 1;
        }
    }
    assert_eq!(documented, page.matches("| `agentdex_cluster_").count());
}

#[test]
fn metrics_of_a_cluster_are_for_admins() {
    let Some(cluster_of) = Cluster::start() else { return };
    let directory = cluster_of.directory(1);
    let data = directory.to_str().unwrap();
    let output =
        agentdex().args(["keys", "create", "--role", "admin", "--owner", "ops", "--data", data]).output().unwrap();
    let key = String::from_utf8(output.stdout).unwrap();
    let node = cluster_of.node(1, &["--auth", "--public-read"]);
    assert!(!metrics(&node).contains("agentdex_cluster_"));
    let call = Call::new("GET", &format!("{}/metrics", node.url()));
    let answer = call.header("authorization", &format!("Bearer {}", key.trim())).send().expect(200);
    assert!(answer.text().contains("agentdex_cluster_nodes"), "{}", answer.text());
}

#[test]
fn a_registry_of_its_own_has_no_cluster() {
    let root = tempfile::tempdir().unwrap();
    let alone = ServerProcess::start(root.path(), &[]);
    get(&alone, "/cluster").problem(404, "not-clustered");
    assert!(!metrics(&alone).contains("agentdex_cluster_"));
    let (status, error) = failure(&cluster_status(&alone, &[]));
    assert!(status == 1 && error.contains("not a node of a cluster"), "{status}: {error}");
    let refused = cluster_status(&alone, &["--json"]);
    let error: Value = serde_json::from_slice(&refused.stderr).unwrap();
    assert_eq!(error["problem"]["code"], "not-clustered", "{error}");
    assert!(error["hint"].is_string(), "{error}");
}
