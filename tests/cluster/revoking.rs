//! A revoked key is refused by all nodes soon, or the node answers nothing.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{Cluster, get, start_node};
use crate::{
    process::{ServerProcess, agentdex},
    support::{Call, SmallDisk, eventually},
};

/// Maximum time until a revoked key is refused by nodes that keep up, and the stale limit of others.
const SOON: Duration = Duration::from_secs(5);

/// Creates a key in a data directory, which no server has open.
fn first_key(data: &Path) -> String {
    let mut create = agentdex();
    create.args(["keys", "create", "--role", "admin", "--owner", "ops", "--data"]).arg(data);
    let output = create.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn call(server: &ServerProcess, method: &str, path: &str, key: &str) -> Call {
    Call::new(method, &format!("{}{path}", server.url())).header("authorization", &format!("Bearer {key}"))
}

/// Returns the status with which a node answers a read with a key.
fn read(server: &ServerProcess, key: &str) -> u16 {
    call(server, "GET", "/things", key).send().status
}

#[test]
fn a_revoked_key_is_refused_by_all_nodes_or_they_are_cut_off() {
    let Some(cluster_of) = Cluster::start() else { return };
    // The disk of the third node will be full.
    let Some(disk) = SmallDisk::mount(96) else { return };
    let directory =
        |node: usize| -> PathBuf { if node == 3 { disk.path().join("data") } else { cluster_of.directory(node) } };
    let admin = first_key(&directory(1));
    let url = cluster_of.etcd.url();
    let arguments = ["--auth", "--cluster-stale-limit", "5"];
    let start = |node: usize| start_node(&directory(node), &url, node, &arguments);
    let first = start(1);
    let others = [2, 3].map(|node| {
        let mut join = agentdex();
        join.args(["cluster", "join", "--from", first.url(), "--data"]).arg(directory(node));
        assert!(join.env("AGENTDEX_API_KEY", &admin).output().unwrap().status.success());
        start(node)
    });
    let [second, third] = &others;
    let create = |owner: &str| {
        let body = format!(r#"{{"role": "read", "owner": "{owner}"}}"#);
        let created = call(&first, "POST", "/keys", &admin).body("application/json", body).send().expect(201).json();
        ["id", "key"].map(|name| created[name].as_str().unwrap().to_owned())
    };
    let revoke = |server: &ServerProcess, id: &str| {
        call(server, "DELETE", &format!("/keys/{id}"), &admin).send().expect(204);
    };
    // All nodes keep up.
    let [id, key] = create("one");
    eventually("all nodes know the key", || [second, third].iter().all(|node| read(node, &key) == 200));
    revoke(second, &id);
    let revoked = Instant::now();
    assert_eq!(read(second, &key), 401, "at once, on the node that was asked");
    eventually("all refuse it", || [&first, third].iter().all(|node| read(node, &key) == 401));
    assert!(revoked.elapsed() < SOON);

    // The third node can't install the revocation.
    let [id, key] = create("two");
    eventually("all nodes know the key", || [second, third].iter().all(|node| read(node, &key) == 200));
    disk.fill();
    revoke(&first, &id);
    let revoked = Instant::now();
    eventually("the second refuses it", || read(second, &key) == 401);
    assert!(revoked.elapsed() < SOON);
    let mut last_served = revoked;
    eventually("the third is cut off", || match read(third, &key) {
        200 => {
            last_served = Instant::now();
            false
        }
        status => {
            assert!(matches!(status, 401 | 503), "{status}");
            true
        }
    });
    // A request that began before the limit may end a little later.
    assert!(last_served.duration_since(revoked) < 2 * SOON);
    if read(third, &key) == 503 {
        call(third, "GET", "/things", &key).send().problem(503, "cut-off");
        get(third, "/health/live").expect(200);
    }
    disk.empty();
    eventually("it refuses the key, too", || read(third, &key) == 401);
    eventually("it serves again", || read(third, &admin) == 200);
    let state = call(third, "GET", "/cluster", &admin).send().expect(200).json();
    assert!(state["problem"].is_null(), "{state}");

    // A key is revoked on the node whose disk is full.
    let [id, key] = create("three");
    eventually("all nodes know the key", || [second, third].iter().all(|node| read(node, &key) == 200));
    disk.fill();
    call(third, "DELETE", &format!("/keys/{id}"), &admin).send();
    assert_eq!(read(third, &key), 401, "at once");
    disk.empty();
    eventually("all refuse it", || [&first, second, third].iter().all(|node| read(node, &key) == 401));
}
