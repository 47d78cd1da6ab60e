//! Transactions and ranges in etcd.

use agentdex_etcd::{
    Compare, Error, KeyRange, Op, Range, Refusal, Txn,
    message::{AlarmKind, DeleteRangeRequest},
};

use super::process::Etcd;

/// Appends entry 2 after entry 1, if the log is the one of this revision.
fn append(meta: i64) -> Txn {
    Txn::new()
        .when([
            Compare::create_revision("log/2").equals(0),
            Compare::create_revision("log/1").greater(0),
            Compare::mod_revision("meta").equals(meta),
        ])
        .then([Op::put("log/2", "mine"), Op::put("seen", "yes")])
        .otherwise([Op::range(Range::new(KeyRange::key("log/2"))), Op::range(Range::new(KeyRange::key("meta")))])
}

#[tokio::test]
async fn a_transaction_needs_all_its_conditions() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let meta = client.put("meta", "1", 0).await.unwrap().header.revision;

    let answer = client.txn(&append(meta)).await.unwrap();
    assert!(!answer.body.succeeded, "the predecessor is missing");
    assert!(answer.body.range(0).unwrap().kvs.is_empty());
    assert_eq!(answer.body.range(1).unwrap().kvs[0].value, "1");
    assert_eq!(answer.header.revision, meta, "it wrote nothing");

    client.put("log/1", "first", 0).await.unwrap();
    assert!(!client.txn(&append(meta - 1)).await.unwrap().body.succeeded, "another log");

    let answer = client.txn(&append(meta)).await.unwrap();
    assert!(answer.body.succeeded && answer.header.cluster_id != 0 && answer.header.member_id != 0);
    assert_eq!((answer.header.revision, answer.body.responses.len()), (meta + 2, 2));

    let answer = client.txn(&append(meta)).await.unwrap();
    assert!(!answer.body.succeeded, "the place is taken");
    let kv = &answer.body.range(0).unwrap().kvs[0];
    assert_eq!((&kv.value[..], kv.create_revision, kv.mod_revision), (&b"mine"[..], meta + 2, meta + 2));

    // A version counts, and a deletion resets everything.
    let twice =
        Txn::new().when([Compare::version("meta").equals(2)]).then([Op::delete_range(KeyRange::prefix("log/"))]);
    assert!(!client.txn(&twice).await.unwrap().body.succeeded);
    client.put("meta", "2", 0).await.unwrap();
    let answer = client.txn(&twice).await.unwrap();
    assert_eq!(answer.body.responses[0].delete_range.as_ref().unwrap().deleted, 2);
    assert!(client.txn(&Txn::new().when([Compare::create_revision("log/2").equals(0)])).await.unwrap().body.succeeded);
}

#[tokio::test]
async fn ranges_have_limits_and_ends() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let puts = (0..20).map(|number| Op::put(format!("c/{number:02}"), format!("v{number}")));
    client.txn(&Txn::new().then(puts)).await.unwrap();
    client.put(vec![0xff, 0xff], "last", 0).await.unwrap();

    let keys = |range: Range| {
        let client = client.clone();
        async move {
            let answer = client.range(&range).await.unwrap().body;
            let keys = answer.kvs.iter().map(|kv| String::from_utf8_lossy(&kv.key).into_owned()).collect::<Vec<_>>();
            (keys, answer.more, answer.count)
        }
    };
    let (found, more, count) = keys(Range::new(KeyRange::prefix("c/")).limit(3)).await;
    assert_eq!((found, more, count), (vec!["c/00".into(), "c/01".into(), "c/02".into()], true, 20));
    let (found, more, count) = keys(Range::new(KeyRange::between("c/18", "c/20")).limit(3)).await;
    assert_eq!((found, more, count), (vec!["c/18".into(), "c/19".into()], false, 2));
    assert_eq!(keys(Range::new(KeyRange::prefix(vec![0xff]))).await.2, 1);
    assert_eq!(keys(Range::new(KeyRange::prefix(""))).await.2, 21);
    assert_eq!(keys(Range::new(KeyRange::key("c/99")).serializable()).await.2, 0);
    let answer = client.range(&Range::new(KeyRange::key("c/07")).keys_only()).await.unwrap();
    assert!(answer.body.kvs[0].value.is_empty() && answer.body.kvs[0].version == 1);
    assert_eq!(client.delete_range(KeyRange::prefix("c/")).await.unwrap().body.deleted, 20);
}

#[tokio::test]
async fn what_etcd_does_not_accept_is_refused() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let refusal = |error: Error| match error {
        Error::Refused { refusal, .. } => refusal,
        error => panic!("{error:?}"),
    };
    client.put("k", vec![0; 1_500_000], 0).await.unwrap();
    // The store's limit is 1.5 MiB, that of gRPC half a megabyte more.
    for size in [1_600_000, 3_000_000] {
        assert_eq!(refusal(client.put("big", vec![0; size], 0).await.unwrap_err()), Refusal::TooLarge, "{size}");
    }
    let error = client.put("big", vec![0; 9 << 20], 0).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
    assert_eq!(refusal(client.put("", "v", 0).await.unwrap_err()), Refusal::InvalidArgument);
    let twice = Txn::new().then([Op::put("k", "1"), Op::put("k", "2")]);
    assert_eq!(refusal(client.txn(&twice).await.unwrap_err()), Refusal::InvalidArgument);
    let many = Txn::new().then((0..129).map(|number| Op::put(format!("{number}"), "")));
    assert_eq!(refusal(client.txn(&many).await.unwrap_err()), Refusal::InvalidArgument);
    for lease in [77, i64::MAX] {
        assert_eq!(refusal(client.put("k", "v", lease).await.unwrap_err()), Refusal::LeaseNotFound);
        let txn = Txn::new().then([Op::put_with_lease("l", "v", lease)]);
        assert_eq!(refusal(client.txn(&txn).await.unwrap_err()), Refusal::LeaseNotFound);
    }
    let answer = client.range(&Range::new(KeyRange::prefix(""))).await.unwrap().body;
    assert_eq!((answer.count, answer.kvs[0].version), (1, 1));
}

#[tokio::test]
async fn without_space_a_write_may_have_been_applied() {
    let Some(etcd) = Etcd::start(&["--quota-backend-bytes", "16777216"]).await else { return };
    let client = etcd.client();
    let mut acknowledged = Vec::new();
    let mut open = Vec::new();
    while open.is_empty() {
        let round = acknowledged.len();
        let puts = (round..round + 8).map(|number| {
            let client = client.clone();
            tokio::spawn(async move { (number, client.put(format!("{number:04}"), vec![7; 1_000_000], 0).await) })
        });
        for put in puts.collect::<Vec<_>>() {
            match put.await.unwrap() {
                (number, Ok(_)) => acknowledged.push(number),
                (number, Err(Error::NoSpace { .. })) => open.push(number),
                (_, Err(error)) => panic!("{error:?}"),
            }
        }
        assert!(acknowledged.len() < 100, "16 MB take 100 MB");
    }
    let has = async |number: &usize| {
        let key = KeyRange::key(format!("{number:04}"));
        client.range(&Range::new(key).keys_only()).await.unwrap().body.count == 1
    };
    for number in &acknowledged {
        assert!(has(number).await, "{number} was acknowledged");
    }
    let mut applied = 0;
    for number in &open {
        applied += usize::from(has(number).await);
    }
    println!("{} acknowledged, {} without space, of which {applied} were applied", acknowledged.len(), open.len());

    assert!(matches!(client.put("small", "v", 0).await, Err(Error::NoSpace { .. })));
    let alarms = client.alarms().await.unwrap();
    assert_eq!(alarms[0].alarm, AlarmKind::NoSpace as i32);
    let status = client.status(&client.endpoint()).await.unwrap();
    assert_eq!((alarms[0].member_id, status.body.leader), (status.header.member_id, status.header.member_id));
    assert!(status.body.version.starts_with("3.") && status.body.db_size > 10 << 20 && !status.body.errors.is_empty());
    // Deleting is possible.
    let everything = DeleteRangeRequest { key: "\0".into(), range_end: "\0".into() };
    assert!(client.attempt(&client.endpoint(), &everything).await.unwrap().body.deleted > 0);
}

#[tokio::test]
async fn calls_continue_after_a_restart() {
    let Some(mut etcd) = Etcd::start(&[]).await else { return };
    let client = etcd.client();
    let before = client.put("k", "v", 0).await.unwrap().header;
    etcd.kill();
    let error = client.put("k", "w", 0).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let error = client.put("k", "w", 0).await.unwrap_err();
    assert!(matches!(error, Error::NotSent { .. }), "{error:?}");
    etcd.start_again();
    let after = client.range(&Range::new(KeyRange::key("k"))).await.unwrap();
    assert_eq!((after.header.cluster_id, after.header.revision), (before.cluster_id, before.revision));
}
