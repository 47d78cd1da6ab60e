//! Leases in etcd.

use std::time::Duration;

use agentdex_etcd::{Error, KeyRange, LeaseState, Range, Refusal, Update, message::LeaseRevokeRequest};
use tokio::time::timeout;

use super::process::Etcd;

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_lease_lives_as_long_as_it_is_kept_alive() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    // The first one would expire before the second one.
    let kept = client.grant_lease(Duration::from_millis(5500)).await.unwrap();
    let dropped = client.grant_lease(Duration::from_secs(6)).await.unwrap();
    assert_eq!((kept.ttl(), kept.header().cluster_id != 0), (Duration::from_secs(6), true));
    client.put("kept", "v", kept.id()).await.unwrap();
    let revision = client.put("dropped", "v", dropped.id()).await.unwrap().header.revision;
    let id = dropped.id();
    drop(dropped);
    let mut watch = client.watch(&client.endpoint(), KeyRange::key("dropped"), revision + 1).await.unwrap();
    let Update::Events { events, .. } = timeout(PATIENCE, watch.next()).await.unwrap().unwrap() else { panic!() };
    assert!(events[0].is_delete());
    let error = client.put("dropped", "v", id).await.unwrap_err();
    assert!(matches!(error, Error::Refused { refusal: Refusal::LeaseNotFound, .. }), "{error:?}");

    let found = client.range(&Range::new(KeyRange::key("kept"))).await.unwrap().body;
    assert_eq!(found.kvs[0].lease, kept.id());
    assert_eq!(*kept.state().borrow(), LeaseState::Held);
    kept.revoke().await.unwrap();
    assert_eq!(client.range(&Range::new(KeyRange::key("kept"))).await.unwrap().body.count, 0);
}

#[tokio::test]
async fn a_lease_that_somebody_revokes_is_lost() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let lease = client.grant_lease(Duration::from_secs(2)).await.unwrap();
    client.attempt(&client.endpoint(), &LeaseRevokeRequest { id: lease.id() }).await.unwrap();
    timeout(PATIENCE, lease.lost()).await.unwrap();
    assert_eq!(*lease.state().borrow(), LeaseState::Lost);
    lease.revoke().await.unwrap();
}

#[tokio::test]
async fn a_lease_survives_a_restart_of_etcd() {
    let Some(mut etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let lease = client.grant_lease(Duration::from_secs(2)).await.unwrap();
    client.put("k", "v", lease.id()).await.unwrap();
    etcd.kill();
    let mut state = lease.state();
    let unconfirmed = state.wait_for(|state| *state == LeaseState::Unconfirmed);
    timeout(PATIENCE, unconfirmed).await.unwrap().unwrap();
    etcd.start_again();
    timeout(PATIENCE, state.wait_for(|state| *state == LeaseState::Held)).await.unwrap().unwrap();
    assert_eq!(client.range(&Range::new(KeyRange::key("k"))).await.unwrap().body.count, 1);
}
