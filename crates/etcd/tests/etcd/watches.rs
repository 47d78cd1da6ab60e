//! Watches of etcd.

use std::time::Duration;

use agentdex_etcd::{
    Client, Error, KeyRange, Method, Op, Options, Range, ResponseHeader, Txn, Update, Watch, message::PutResponse,
};
use prost::Message;
use tokio::time::timeout;

use super::process::Etcd;

/// Compacts the history (`CompactionRequest`).
#[derive(Clone, PartialEq, Message)]
struct CompactionRequest {
    #[prost(int64, tag = "1")]
    revision: i64,
}

impl Method for CompactionRequest {
    const PATH: &'static str = "/etcdserverpb.KV/Compact";
    type Response = PutResponse;
    fn header(response: &PutResponse) -> Option<ResponseHeader> {
        response.header
    }
}

async fn next(watch: &mut Watch) -> agentdex_etcd::Result<Update> {
    timeout(Duration::from_secs(60), watch.next()).await.expect("an update")
}

/// The keys and revisions of the next events, until there are this many.
async fn next_events(watch: &mut Watch, count: usize) -> Vec<(String, i64, bool)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        if let Update::Events { events, .. } = next(watch).await.unwrap() {
            seen.extend(events.iter().map(|event| {
                let kv = event.kv.as_ref().unwrap();
                (String::from_utf8_lossy(&kv.key).into_owned(), kv.mod_revision, event.is_delete())
            }));
        }
    }
    seen
}

#[tokio::test]
async fn a_watch_continues_after_a_restart() {
    let Some(mut etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let first = client.put("c/1", "v", 0).await.unwrap().header.revision;
    let mut watch = client.watch(&client.endpoint(), KeyRange::prefix("c/"), first).await.unwrap();
    client.put("other", "v", 0).await.unwrap();
    client.delete_range(KeyRange::key("c/1")).await.unwrap();
    let seen = next_events(&mut watch, 2).await;
    assert_eq!(seen, [("c/1".into(), first, false), ("c/1".into(), first + 2, true)]);

    client.put("c/2", "v", 0).await.unwrap();
    etcd.kill();
    // An event may have arrived before the end.
    let mut last = first + 2;
    let error = loop {
        match next(&mut watch).await {
            Ok(Update::Events { .. }) => last = first + 3,
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    etcd.start_again();
    client.range(&Range::new(KeyRange::key("c/2"))).await.unwrap();
    client.put("c/3", "v", 0).await.unwrap();
    let mut watch = client.watch(&client.endpoint(), KeyRange::prefix("c/"), last + 1).await.unwrap();
    let seen = next_events(&mut watch, (first + 4 - last) as usize).await;
    assert_eq!(seen.last(), Some(&("c/3".into(), first + 4, false)));
}

#[tokio::test]
async fn events_that_were_compacted_are_reported() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    for number in 0..5 {
        client.put(format!("c/{number}"), "v", 0).await.unwrap();
    }
    client.attempt(&client.endpoint(), &CompactionRequest { revision: 4 }).await.unwrap();
    let watched = client.watch(&client.endpoint(), KeyRange::prefix("c/"), 2).await;
    let error = match watched {
        Ok(mut watch) => next(&mut watch).await.unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, Error::Compacted { revision: 4, .. }), "{error:?}");
    let mut watch = client.watch(&client.endpoint(), KeyRange::prefix("c/"), 5).await.unwrap();
    assert_eq!(next_events(&mut watch, 2).await.len(), 2);
}

#[tokio::test]
async fn large_updates_come_in_parts() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    // Less than all events together.
    let options = Options { max_response_bytes: 4 << 20, ..etcd.options() };
    let client = Client::connect(options).unwrap();
    for number in 0..6 {
        let value = vec![number; 700_000];
        let pair = [Op::put(format!("c/{number}a"), value.clone()), Op::put(format!("c/{number}b"), value)];
        client.txn(&Txn::new().then(pair)).await.unwrap();
    }
    let mut watch = client.watch(&client.endpoint(), KeyRange::prefix("c/"), 2).await.unwrap();
    let (mut keys, mut partial) = (Vec::new(), 0);
    while keys.len() < 12 {
        let Update::Events { events, partial: is_partial, .. } = next(&mut watch).await.unwrap() else { continue };
        partial += usize::from(is_partial);
        keys.extend(events.into_iter().map(|event| event.kv.unwrap().key));
    }
    assert!(partial >= 2 && keys.is_sorted(), "{partial}: {keys:?}");
}

#[tokio::test]
async fn progress_can_be_requested() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let mut watch = client.watch(&client.endpoint(), KeyRange::key("nothing"), 0).await.unwrap();
    let revision = client.put("other", "v", 0).await.unwrap().header.revision;
    // etcd 3.4 answers only once the watch has caught up.
    let header = loop {
        watch.request_progress().await.unwrap();
        match timeout(Duration::from_millis(300), watch.next()).await {
            Ok(update) => match update.unwrap() {
                Update::Progress { header } => break header,
                update => panic!("{update:?}"),
            },
            Err(_) => continue,
        }
    };
    assert_eq!((header.revision, header.cluster_id), (revision, watch.header().cluster_id));
}
