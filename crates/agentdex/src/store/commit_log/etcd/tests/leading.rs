//! Extensions of expiries by the leader, and nodes with a wrong clock, which must neither lead nor write.

use super::*;
use crate::{
    change::Timestamp,
    store::write::{Declares, Expiry, Operation, Write},
};

const TTL: u64 = 3600;

/// Writes a record that has expired.
fn write_expired(store: &Store) {
    let expiry = Expiry { ttl: Some(TTL), expires: Some(Timestamp(Timestamp::now().0 - 1000)) };
    write_with(store, Precondition::Any, expiry).unwrap();
}

fn write_with(store: &Store, precondition: Precondition, expiry: Expiry) -> Result<(), Error> {
    let text = r#"{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"urn:b","title":"T","securityDefinitions":{"n":{"scheme":"nosec"}},"security":"n"}"#;
    let operation = Operation::Put {
        text: text.into(),
        capabilities: Vec::new(),
        expiry,
        patch: None,
        original: None,
        created: None,
        declares: Declares::itself(),
    };
    let write = Write { id: "urn:b".into(), precondition, operation, actor: None };
    store.submit(vec![write]).wait().map(drop)
}

fn has_expired(store: &Store) -> bool {
    store.expired(Timestamp::now(), 10).unwrap() == ["urn:b"]
}

/// Waits until the record no longer counts as expired, and its new expiry is written.
fn until_extended(store: &Store) {
    eventually("the expiry is extended", || !has_expired(store) && store.find("urn:b").unwrap().is_some());
    eventually("it is written", || store.view.expiries.grace.pending().is_none());
    let expires = store.find("urn:b").unwrap().unwrap().expiry.expires.unwrap();
    let left = expires.0 - Timestamp::now().0;
    assert!((1000 * (TTL as i64 - 60)..=1000 * TTL as i64).contains(&left), "{left} ms");
}

#[test]
fn expiries_are_extended_for_all_nodes_once_the_cluster_can_write_again() {
    let Some(mut etcd) = Etcd::start(1, &[]) else { return };
    let root = tempfile::tempdir().unwrap();
    let open = |etcd: &Etcd, number: usize, grace_after| {
        let limits = Limits { grace_after, ..LIMITS };
        let options = NodeOptions { limits, ..etcd.node(number, number == 1) };
        Store::open(&root.path().join(number.to_string()), of_cluster(options)).unwrap()
    };
    let both = |etcd: &Etcd, grace_after| [1, 2].map(|number| open(etcd, number, grace_after));
    let usual = LIMITS.grace_after;
    let [first, second] = both(&etcd, usual);
    eventually("somebody leads", || first.is_leader() || second.is_leader());
    let alive = || etcd.read(Range::new(KeyRange::key(Keys::new(CLUSTER).alive())));
    eventually("it is recorded", || !alive().is_empty());
    write_expired(&first);
    eventually("both know it", || has_expired(&first) && has_expired(&second));
    // Others could write while a node was away.
    second.close();
    let second = open(&etcd, 2, usual);
    eventually("the second one is a node", || second.log_status().unwrap().nodes.len() == 2);
    assert!(has_expired(&first) && has_expired(&second));
    [first, second].iter().for_each(Store::close);

    // Nobody could, but not for long.
    let stores = both(&etcd, usual);
    eventually("somebody leads", || stores.iter().any(Store::is_leader));
    assert!(stores.iter().all(has_expired));
    stores.iter().for_each(Store::close);

    // All nodes were away.
    change(&etcd, async |client| client.put(Keys::new(CLUSTER).alive(), "1000", 0).await.unwrap());
    let stores = both(&etcd, usual);
    // A renewal that comes first isn't refused either.
    let expires = Some(Timestamp::now().plus_seconds(TTL));
    write_with(&stores[1], Precondition::Present, Expiry { ttl: Some(TTL), expires }).unwrap();
    stores.iter().for_each(until_extended);
    eventually("somebody leads", || stores.iter().any(Store::is_leader));
    stores.iter().for_each(Store::close);

    // etcd is away.
    let short = Duration::from_secs(1);
    let stores = both(&etcd, short);
    write_expired(&stores[0]);
    etcd.kill(0);
    thread::sleep(short);
    assert!(!stores.iter().any(Store::is_leader), "nobody may purge it");
    etcd.run(0);
    stores.iter().for_each(until_extended);
    stores.iter().for_each(Store::close);
}

#[test]
fn a_leader_that_records_nothing_is_replaced_though_its_lease_is_valid() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let log = etcd.open(1, true);
    let leads = || log.log.state().nodes.is_leader;
    eventually("it leads", leads);
    let keys = Keys::new(CLUSTER);
    change(&etcd, async |client| {
        let lease = client.grant_lease(Duration::from_secs(600)).await.unwrap();
        client.put(keys.leader(), "node-2", lease.id()).await.unwrap();
    });
    eventually("another node leads", || !leads());
    let started = Instant::now();
    while started.elapsed() < 3 * LIMITS.lease {
        change(&etcd, async |client| client.put(keys.alive(), Timestamp::now().0.to_string(), 0).await.unwrap());
        assert!(!leads(), "the other node is alive");
        thread::sleep(LIMITS.update);
    }
    eventually("it leads again", leads);
    assert_done(&log, &commit(5, 1, 1));
}

#[test]
fn a_node_with_a_wrong_clock_neither_leads_nor_writes() {
    let Some(etcd) = Etcd::start(1, &[]) else { return };
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(&root.path().join("1"), of_cluster(etcd.node(1, true))).unwrap();
    eventually("it leads", || store.is_leader());
    write(&store, Precondition::Any).unwrap();
    let at = last(&store);
    // Two other nodes, whose clocks are an hour ahead.
    let keys = Keys::new(CLUSTER);
    let report = |ahead: i64| {
        change(&etcd, async |client| {
            for name in ["node-2", "node-3"] {
                let clock = serde_json::to_value(Timestamp(Timestamp::now().0 + ahead)).unwrap();
                let entry = serde_json::json!({"run": name, "version": "0", "number": 1, "synced": 1, "clock": clock});
                client.put(keys.node(name), entry.to_string(), 0).await.unwrap();
            }
        });
    };
    report(3_600_000);
    eventually("it doesn't lead", || !store.is_leader());
    let error = store.log_status().unwrap().clock_error.unwrap();
    assert!((-3_600_500..=-3_590_000).contains(&error), "{error}");
    let refused = write(&store, Precondition::Any);
    assert!(matches!(refused, Err(Error::ClockSkew { ahead }) if ahead < -3_590_000), "{refused:?}");
    assert_eq!(last(&store), at);
    // The differences of the last reports count, since a report may be late.
    for _ in 0..3 {
        report(0);
    }
    eventually("it leads again", || store.is_leader());
    write(&store, Precondition::Any).unwrap();
    store.close();
}
