//! Watches and leases at a server that fails.

use std::time::Duration;

use agentdex_etcd::{
    Client, Error, Event, KeyRange, KeyValue, LeaseState, Options, Range, Update, message::WatchResponse,
};
use tokio::time::timeout;

use super::fake::{Fake, Fault};

const PATIENCE: Duration = Duration::from_secs(60);

fn created() -> WatchResponse {
    WatchResponse { created: true, ..WatchResponse::default() }
}

fn events(revisions: std::ops::Range<i64>, fragment: bool) -> WatchResponse {
    let event = |revision| Event {
        event_type: 0,
        kv: Some(KeyValue { key: "k".into(), mod_revision: revision, ..KeyValue::default() }),
    };
    WatchResponse { events: revisions.map(event).collect(), fragment, ..WatchResponse::default() }
}

fn revisions(update: &Update) -> Vec<i64> {
    let Update::Events { events, .. } = update else { return Vec::new() };
    events.iter().map(|event| event.kv.as_ref().unwrap().mod_revision).collect()
}

async fn watch(fake: &Fake) -> agentdex_etcd::Result<agentdex_etcd::Watch> {
    let client = Client::connect(fake.hasty_options()).unwrap();
    client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await
}

#[tokio::test]
async fn updates_come_in_order_with_fragments_marked() {
    let fake = Fake::start().await;
    let other = WatchResponse { watch_id: 99, ..events(70..80, false) };
    let progress = WatchResponse { header: Some(fake.state().header), ..WatchResponse::default() };
    fake.state().watch = vec![
        created(),
        events(1..4, true),
        events(4..6, true),
        other,
        events(6..7, false),
        progress,
        events(7..9, false),
    ];
    let mut watch = watch(&fake).await.unwrap();
    let mut seen = Vec::new();
    for partial in [true, true, false] {
        let update = watch.next().await.unwrap();
        assert!(matches!(&update, Update::Events { partial: is, .. } if *is == partial), "{update:?}");
        seen.extend(revisions(&update));
    }
    assert_eq!(seen, (1..7).collect::<Vec<_>>());
    assert_eq!(watch.next().await.unwrap(), Update::Progress { header: fake.state().header });
    assert_eq!(revisions(&watch.next().await.unwrap()), [7, 8]);
    // Then there is silence.
    assert!(timeout(Duration::from_millis(300), watch.next()).await.is_err());
}

#[tokio::test]
async fn a_watch_can_be_canceled_when_it_is_created() {
    let fake = Fake::start().await;
    let canceled = WatchResponse { canceled: true, cancel_reason: "no".into(), watch_id: -1, ..created() };
    fake.state().watch = vec![canceled];
    assert!(matches!(watch(&fake).await.unwrap_err(), Error::WatchCanceled { reason, .. } if reason == "no"));

    fake.state().watch = vec![WatchResponse { canceled: true, compact_revision: 12, ..created() }];
    let error = watch(&fake).await.unwrap_err();
    assert!(matches!(error, Error::Compacted { revision: 12, .. }) && !error.is_transient());

    fake.state().watch = vec![events(1..2, false)];
    assert!(matches!(watch(&fake).await.unwrap_err(), Error::NoAnswer { .. }));
}

#[tokio::test]
async fn a_watch_ends_with_the_reason() {
    let fake = Fake::start().await;
    let compacted = WatchResponse { canceled: true, compact_revision: 5, ..WatchResponse::default() };
    let canceled = WatchResponse { canceled: true, cancel_reason: "member left".into(), ..WatchResponse::default() };
    let canceled_with_events = WatchResponse { events: events(2..3, false).events, ..canceled.clone() };
    for (last, expected) in [(compacted, "5"), (canceled, "member left"), (canceled_with_events, "member left")] {
        let more = usize::from(!last.events.is_empty());
        fake.state().watch = vec![created(), events(1..2, false), last];
        let mut watch = watch(&fake).await.unwrap();
        for _ in 0..=more {
            assert_eq!(revisions(&watch.next().await.unwrap()).len(), 1);
        }
        let error = watch.next().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(watch.next().await.unwrap_err().to_string(), error, "the watch stays ended");
    }
}

#[tokio::test]
async fn a_watch_ends_with_its_connection() {
    let fake = Fake::start().await;
    fake.state().watch = vec![created(), events(1..3, false)];
    fake.state().watch_cuts = true;
    let mut watch = watch(&fake).await.unwrap();
    assert_eq!(revisions(&watch.next().await.unwrap()), [1, 2]);
    let error = watch.next().await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
}

#[tokio::test]
async fn a_watch_notices_a_server_that_has_stopped() {
    let fake = Fake::start().await;
    fake.state().watch = vec![created()];
    let mut options = fake.hasty_options();
    (options.keepalive_interval, options.keepalive_deadline) = (Duration::from_millis(500), Duration::from_secs(5));
    let client = Client::connect(options).unwrap();
    let mut watch = client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await.unwrap();
    fake.fail("Put", Fault::Freeze);
    let put = client.put("k", "v", 0);
    let (put, next) = tokio::join!(put, timeout(PATIENCE, watch.next()));
    assert!(matches!(put.unwrap_err(), Error::NoAnswer { .. }));
    assert!(matches!(next.unwrap().unwrap_err(), Error::NoAnswer { .. }));
}

#[tokio::test]
async fn a_watch_that_hangs_when_it_is_created_has_no_answer() {
    let fake = Fake::start().await;
    fake.fail("Watch", Fault::Hang);
    assert!(matches!(watch(&fake).await.unwrap_err(), Error::NoAnswer { .. }));
    fake.fail("Watch", Fault::Status(14, "etcdserver: no leader"));
    assert!(matches!(watch(&fake).await.unwrap_err(), Error::NoAnswer { .. }));
}

#[tokio::test]
async fn unread_watches_do_not_hold_up_calls() {
    let fake = Fake::start().await;
    let event = Event {
        event_type: 0,
        kv: Some(KeyValue { key: "k".into(), value: vec![1; 200_000].into(), ..KeyValue::default() }),
    };
    let update = WatchResponse { events: vec![event], ..WatchResponse::default() };
    let mut watch = vec![update; 20];
    watch.insert(0, created());
    fake.state().watch = watch;
    let client = Client::connect(Options { max_streams: 12, ..fake.hasty_options() }).unwrap();
    let mut watches = Vec::new();
    for _ in 0..12 {
        watches.push(client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await.unwrap());
    }
    client.put("big", vec![2; 3 << 20], 0).await.unwrap();
    let range = client.range(&Range::new(KeyRange::key("big"))).await.unwrap();
    assert_eq!(range.body.kvs[0].value.len(), 3 << 20);
    // One more has no place, until another one is gone.
    let more = client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await;
    assert!(matches!(more, Err(Error::NotSent { .. })));
    watches.pop();
    watches.push(client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await.unwrap());
    for watch in &mut watches {
        for _ in 0..20 {
            watch.next().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_lease_that_has_expired_is_lost() {
    let fake = Fake::start().await;
    fake.state().ttls.extend([1, 1, 0]);
    let client = Client::connect(fake.options()).unwrap();
    let lease = client.grant_lease(Duration::from_millis(300)).await.unwrap();
    assert_eq!((lease.id(), lease.ttl(), *lease.state().borrow()), (5, Duration::from_secs(1), LeaseState::Held));
    timeout(PATIENCE, lease.lost()).await.unwrap();
    assert_eq!(*lease.state().borrow(), LeaseState::Lost);
    assert_eq!(fake.count("LeaseKeepAlive"), 1, "one stream serves all keepalives");
    fake.fail("LeaseRevoke", Fault::Status(5, "etcdserver: requested lease not found"));
    lease.revoke().await.unwrap();
}

#[tokio::test]
async fn a_lease_without_answers_is_unconfirmed_until_there_is_one() {
    let fake = Fake::start().await;
    for fault in [Fault::CutBefore, Fault::Hang, Fault::Freeze, Fault::Status(14, "etcdserver: no leader")] {
        fake.fail("LeaseKeepAlive", fault);
    }
    fake.state().ttls.extend([1; 50]);
    let client = Client::connect(Options { request_deadline: Duration::from_secs(1), ..fake.options() }).unwrap();
    let lease = client.grant_lease(Duration::from_secs(1)).await.unwrap();
    let mut state = lease.state();
    let within = PATIENCE;
    timeout(within, state.wait_for(|state| *state == LeaseState::Unconfirmed)).await.unwrap().unwrap();
    timeout(within, state.wait_for(|state| *state == LeaseState::Held)).await.unwrap().unwrap();
    drop(lease);
    // The task is gone, and its sender with it.
    timeout(within, async { while state.changed().await.is_ok() {} }).await.unwrap();
}

#[tokio::test]
async fn closing_ends_watches_and_leases() {
    let fake = Fake::start().await;
    fake.state().watch = vec![created()];
    fake.state().ttls.extend([1; 50]);
    let client = Client::connect(fake.options()).unwrap();
    let mut watch = client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await.unwrap();
    let lease = client.grant_lease(Duration::from_secs(1)).await.unwrap();
    let next = tokio::spawn(async move { watch.next().await });
    tokio::task::yield_now().await;
    client.close();
    assert!(matches!(next.await.unwrap(), Err(Error::NoAnswer { .. })));
    timeout(PATIENCE, lease.lost()).await.unwrap();
    assert_ne!(*lease.state().borrow(), LeaseState::Lost);
    fake.until_connections(0).await;
}
