//! Attempts at a server that fails: what a caller learns of the outcome.

use std::time::Duration;

use agentdex_etcd::{
    Client, Compare, Error, KeyRange, Op, Options, Range, Refusal, Txn,
    message::{PutRequest, StatusRequest},
};
use h2::Reason;
use tokio::{net::TcpListener, time::Instant};

use super::fake::{Fake, Fault};

/// Puts entry 1 if it is free, and returns what is there otherwise.
fn append(value: &'static str) -> Txn {
    Txn::new()
        .when([Compare::create_revision("log/1").equals(0)])
        .then([Op::put("log/1", value)])
        .otherwise([Op::range(Range::new(KeyRange::key("log/1")))])
}

#[tokio::test]
async fn a_write_without_an_answer_may_have_been_applied() {
    let cases = [
        (Fault::Hang, false),
        (Fault::Freeze, false),
        (Fault::CutBefore, false),
        (Fault::CutAfter, true),
        (Fault::Late(Duration::from_secs(60)), true),
        (Fault::GoAway(Reason::ENHANCE_YOUR_CALM), false),
        (Fault::GoAway(Reason::INADEQUATE_SECURITY), false),
    ];
    let cases = cases.map(|(fault, is_applied)| tokio::spawn(fail_a_write(fault, is_applied)));
    for case in cases {
        case.await.unwrap();
    }
}

async fn fail_a_write(fault: Fault, is_applied: bool) {
    let fake = Fake::start().await;
    let client = Client::connect(fake.hasty_options()).unwrap();
    fake.fail("Txn", fault.clone());
    let error = client.txn(&append("a")).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{fault:?}: {error:?}");
    assert!(error.may_have_been_applied() && error.is_transient());
    assert!(error.to_string().contains(&fake.url()));
    assert_eq!(fake.count("Txn"), 1, "{fault:?}: nothing is sent twice by itself");
    assert_eq!(!fake.state().keys.is_empty(), is_applied, "{fault:?}");

    // The same transaction tells the outcome, over a new connection where the old one is dead.
    let answer = client.txn(&append("a")).await.unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
    assert_eq!(answer.body.succeeded, !is_applied, "{fault:?}");
    if is_applied {
        assert_eq!(answer.body.range(0).unwrap().kvs[0].value, "a");
    }
}

#[tokio::test]
async fn an_answer_that_comes_twice_counts_once() {
    let fake = Fake::start().await;
    let client = Client::connect(fake.options()).unwrap();
    fake.fail("Txn", Fault::Twice);
    assert!(client.txn(&append("a")).await.unwrap().body.succeeded);
    let answer = client.txn(&append("b")).await.unwrap();
    assert_eq!(answer.body.range(0).unwrap().kvs[0].value, "a");
    assert_eq!(answer.header.revision, 2);
}

#[tokio::test]
async fn each_code_is_a_refusal_or_leaves_the_outcome_open() {
    let fake = Fake::start().await;
    let client = Client::connect(fake.options()).unwrap();
    let refused = [
        (3, "etcdserver: key is not provided", Refusal::InvalidArgument),
        (3, "etcdserver: request is too large", Refusal::TooLarge),
        (5, "etcdserver: requested lease not found", Refusal::LeaseNotFound),
        (5, "etcdserver: member not found", Refusal::Other),
        (6, "exists", Refusal::Other),
        (7, "etcdserver: permission denied", Refusal::PermissionDenied),
        (8, "etcdserver: too many requests", Refusal::TooManyRequests),
        (8, "grpc: received message larger than max (3 vs. 2)", Refusal::TooLarge),
        (9, "etcdserver: lease already exists", Refusal::Other),
        (11, "etcdserver: mvcc: required revision has been compacted", Refusal::OutOfRange),
        (12, "unknown service", Refusal::Unimplemented),
    ];
    for (code, text, expected) in refused {
        fake.fail("Put", Fault::Status(code, text));
        let error = client.put("k", "v", 0).await.unwrap_err();
        let Error::Refused { refusal, message, .. } = &error else { panic!("code {code}: {error:?}") };
        assert_eq!((*refusal, message.as_str()), (expected, text));
        assert!(!error.may_have_been_applied() && !error.is_transient());
    }
    for code in [1, 2, 4, 8, 10, 11, 13, 14, 15, 77] {
        fake.fail("Put", Fault::Status(code, "something went wrong"));
        let error = client.put("k", "v", 0).await.unwrap_err();
        assert!(matches!(error, Error::NoAnswer { .. }) && error.may_have_been_applied(), "code {code}: {error:?}");
    }
    fake.fail("Put", Fault::Status(8, "etcdserver: mvcc: database space exceeded"));
    let error = client.put("k", "v", 0).await.unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }) && error.may_have_been_applied());
    for (code, text) in [(16, "etcdserver: invalid auth token"), (3, "etcdserver: user name is empty")] {
        fake.fail("Put", Fault::Status(code, text));
        let error = client.put("k", "v", 0).await.unwrap_err();
        assert!(matches!(error, Error::Unauthenticated { .. }) && !error.may_have_been_applied());
    }
    assert!(fake.state().keys.is_empty());
}

#[tokio::test]
async fn without_a_connection_nothing_is_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::connect(Options::new([closed])).unwrap();
    let error = client.put("k", "v", 0).await.unwrap_err();
    assert!(matches!(error, Error::NotSent { .. }) && !error.may_have_been_applied(), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_read_goes_round_the_endpoints() {
    let (hangs, answers) = (Fake::start().await, Fake::start().await);
    answers.state().put(PutRequest { key: "k".into(), value: "v".into(), lease: 0 });
    let mut options = hangs.hasty_options();
    options.endpoints.push(answers.url());
    let client = Client::connect(options).unwrap();
    let range = Range::new(KeyRange::key("k"));
    for fault in [Fault::Hang, Fault::CutBefore, Fault::Status(14, "etcdserver: no leader")] {
        let first = client.endpoints().remove(0);
        while client.endpoint() != first {
            client.move_on(&client.endpoint());
        }
        hangs.fail("Range", fault);
        let answer = client.range(&range).await.unwrap();
        assert_eq!((answer.endpoint.url(), answer.body.kvs.len()), (answers.url().as_str(), 1));
        assert_eq!(client.endpoint(), answer.endpoint);
    }
    // A refusal is an answer.
    answers.fail("Range", Fault::Status(7, "etcdserver: permission denied"));
    assert!(matches!(client.range(&range).await, Err(Error::Refused { .. })));
}

#[tokio::test]
async fn a_read_ends_with_its_deadline() {
    let fake = Fake::start().await;
    let client = Client::connect(Options {
        request_deadline: Duration::from_millis(400),
        read_deadline: Duration::from_secs(2),
        ..fake.options()
    })
    .unwrap();
    for _ in 0..20 {
        fake.fail("Range", Fault::Hang);
    }
    let start = Instant::now();
    let error = client.range(&Range::new(KeyRange::key("k"))).await.unwrap_err();
    assert!(error.is_transient() && start.elapsed() < Duration::from_secs(10), "{error:?}");
    assert!((1..=5).contains(&fake.count("Range")));
}

#[tokio::test]
async fn only_the_first_caller_moves_on() {
    let fake = Fake::start().await;
    let client = Client::connect(Options::new(["http://a:1", "http://b:1", "http://c:1"])).unwrap();
    let first = client.endpoint();
    let second = client.move_on(&first);
    assert_eq!(second.to_string(), "http://b:1");
    assert_eq!(client.move_on(&first), second);
    assert_eq!(client.move_on(&client.move_on(&second)).url(), "http://a:1");

    // Writes stay where they are.
    let mut options = fake.options();
    options.endpoints.push("http://127.0.0.1:1".into());
    let client = Client::connect(options).unwrap();
    fake.fail("Put", Fault::CutAfter);
    assert!(client.put("k", "v", 0).await.is_err());
    assert_eq!((client.endpoint().url(), fake.count("Put")), (fake.url().as_str(), 1));
}

#[tokio::test]
async fn headers_are_handed_on() {
    let fake = Fake::start().await;
    let client = Client::connect(fake.options()).unwrap();
    let range = Range::new(KeyRange::key("k"));
    fake.state().header.revision = 100;
    assert_eq!(client.range(&range).await.unwrap().header.revision, 100);
    // Restored from an older copy, and another cluster.
    fake.state().header.revision = 40;
    assert_eq!(client.range(&range).await.unwrap().header.revision, 40);
    fake.state().header.cluster_id = 8;
    let header = client.put("k", "v", 0).await.unwrap().header;
    assert_eq!((header.cluster_id, header.member_id, header.revision), (8, 1, 41));
}

#[tokio::test]
async fn sizes_are_limited() {
    let fake = Fake::start().await;
    let options = Options { max_request_bytes: 2000, max_response_bytes: 1500, ..fake.options() };
    let client = Client::connect(options).unwrap();
    let error = client.put("k", vec![0; 2000], 0).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 2000, .. }) && !error.may_have_been_applied(), "{error:?}");
    client.put("k", vec![0; 1900], 0).await.unwrap();
    // The answer of a transaction may be too large although the transaction was applied.
    let txn = Txn::new().then([Op::put("l", "v"), Op::range(Range::new(KeyRange::key("k")))]);
    let error = client.txn(&txn).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    assert!(fake.state().keys.contains_key("l".as_bytes()));
}

#[tokio::test]
async fn concurrent_calls_are_limited() {
    let fake = Fake::start().await;
    let client = Client::connect(Options { max_calls: 2, ..fake.hasty_options() }).unwrap();
    for _ in 0..2 {
        fake.fail("Put", Fault::Hang);
    }
    let hanging: Vec<_> = (0..2)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.put(format!("k{number}"), "v", 0).await })
        })
        .collect();
    while fake.count("Put") < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let third = client.put("k", "v", 0);
    assert!(tokio::time::timeout(Duration::from_millis(500), third).await.is_err());
    assert_eq!(fake.count("Put"), 2);
    for call in hanging {
        assert!(matches!(call.await.unwrap(), Err(Error::NoAnswer { .. })));
    }
    client.put("k", "v", 0).await.unwrap();
}

#[tokio::test]
async fn closing_ends_calls_and_connections() {
    let fake = Fake::start().await;
    let client = Client::connect(fake.options()).unwrap();
    fake.fail("Put", Fault::Hang);
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.put("k", "v", 0).await }
    });
    while fake.count("Put") < 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.close();
    let error = call.await.unwrap().unwrap_err();
    assert!(error.may_have_been_applied() && error.to_string().contains("closed"), "{error}");
    fake.until_connections(0).await;
    for error in [
        client.put("k", "v", 0).await.unwrap_err(),
        client.attempt(&client.endpoint(), &StatusRequest {}).await.unwrap_err(),
        client.range(&Range::new(KeyRange::key("k"))).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Closed), "{error:?}");
    }
}

#[tokio::test]
async fn connections_end_with_the_last_clone() {
    let fake = Fake::start().await;
    let client = Client::connect(fake.options()).unwrap();
    let clone = client.clone();
    client.put("k", "v", 0).await.unwrap();
    drop(client);
    clone.put("k", "v", 0).await.unwrap();
    fake.until_connections(1).await;
    drop(clone);
    fake.until_connections(0).await;
}

#[tokio::test]
async fn wrong_options_are_refused() {
    let fake = Fake::start().await;
    let cases: [(Options, &str); 9] = [
        (Options::new(Vec::<String>::new()), "endpoints"),
        (Options::new(["127.0.0.1:2379"]), "endpoints"),
        (Options::new(["ftp://127.0.0.1:2379"]), "endpoints"),
        (Options::new(["http://user@127.0.0.1:2379"]), "endpoints"),
        (Options::new(["http://127.0.0.1:2379/v3"]), "endpoints"),
        (Options { tls: Some(agentdex_etcd::Tls::default()), ..fake.options() }, "endpoints"),
        (
            Options {
                tls: Some(agentdex_etcd::Tls { ca: Some(b"-----".to_vec()), ..Default::default() }),
                ..Options::new(["https://127.0.0.1:1"])
            },
            "tls",
        ),
        (Options { request_deadline: Duration::ZERO, ..fake.options() }, "request_deadline"),
        (Options { max_calls: 0, ..fake.options() }, "max_calls"),
    ];
    for (options, expected) in cases {
        let endpoints = options.endpoints.clone();
        let error = Client::connect(options).unwrap_err();
        assert!(
            matches!(&error, Error::InvalidOption { option, .. } if *option == expected),
            "{endpoints:?}: {error:?}"
        );
    }
}

#[test]
fn a_client_without_a_runtime_is_an_error() {
    let error = Client::connect(Options::new(["http://127.0.0.1:1"])).unwrap_err();
    assert!(matches!(error, Error::InvalidOption { option: "runtime", .. }));
}
