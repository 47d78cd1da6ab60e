//! Login at a server whose tokens die.

use std::time::Duration;

use agentdex_etcd::{Client, Error, KeyRange, Options, Range, Update, User, message::WatchResponse};

use super::fake::{Fake, Fault};

fn client(fake: &Fake) -> Client {
    with_user(fake.options())
}

fn with_user(options: Options) -> Client {
    let user = User { name: "registry".into(), password: "secret".into() };
    Client::connect(Options { user: Some(user), ..options }).unwrap()
}

#[tokio::test]
async fn a_token_that_has_died_is_renewed_once() {
    let fake = Fake::start().await;
    let client = client(&fake);
    assert_eq!(fake.logins(), 0);
    client.put("k", "v", 0).await.unwrap();
    client.put("k", "v", 0).await.unwrap();
    assert_eq!((fake.logins(), fake.count("Put")), (1, 2));

    fake.state().token = Some("another".into());
    client.put("k", "v", 0).await.unwrap();
    assert_eq!((fake.logins(), fake.count("Put")), (2, 4));

    // A server that accepts no token isn't asked forever.
    for _ in 0..9 {
        fake.fail("Put", Fault::Status(16, "etcdserver: invalid auth token"));
    }
    let error = client.put("k", "v", 0).await.unwrap_err();
    assert!(matches!(error, Error::Unauthenticated { .. }) && !error.may_have_been_applied());
    assert_eq!((fake.logins(), fake.count("Put")), (3, 6));
}

#[tokio::test]
async fn concurrent_calls_share_one_login() {
    let fake = Fake::start().await;
    let client = client(&fake);
    fake.fail("Authenticate", Fault::Late(Duration::from_millis(100)));
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.put(format!("k{number}"), "v", 0).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(fake.logins(), 1);
}

#[tokio::test]
async fn a_login_without_an_answer_sends_nothing() {
    let fake = Fake::start().await;
    let client = with_user(fake.hasty_options());
    for fault in [Fault::Hang, Fault::CutAfter, Fault::Status(14, "etcdserver: request timed out")] {
        fake.fail("Authenticate", fault.clone());
        let error = client.put("k", "v", 0).await.unwrap_err();
        assert!(matches!(error, Error::NotSent { .. }), "{fault:?}: {error:?}");
    }
    assert_eq!(fake.count("Put"), 0);
    client.put("k", "v", 0).await.unwrap();
}

#[tokio::test]
async fn an_answer_may_be_missing_after_the_login_was_renewed() {
    let fake = Fake::start().await;
    let client = client(&fake);
    client.put("k", "v", 0).await.unwrap();
    fake.state().token = Some("another".into());
    fake.fail("Put", Fault::Status(16, "etcdserver: invalid auth token"));
    fake.fail("Put", Fault::CutAfter);
    let error = client.put("k", "w", 0).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    assert_eq!(fake.state().keys["k".as_bytes()].value, "w");
}

#[tokio::test]
async fn wrong_credentials_are_not_a_refusal_of_the_call() {
    let fake = Fake::start().await;
    let client = client(&fake);
    let message = "etcdserver: authentication failed, invalid user ID or password";
    fake.fail("Authenticate", Fault::Status(3, message));
    let error = client.range(&Range::new(KeyRange::key("k"))).await.unwrap_err();
    assert!(matches!(error, Error::Unauthenticated { .. }), "{error:?}");
    assert!(error.to_string().contains(message) && !format!("{client:?}{error:?}").contains("secret"));
}

#[tokio::test]
async fn without_authentication_a_user_does_no_harm() {
    let fake = Fake::start().await;
    let client = client(&fake);
    fake.fail("Authenticate", Fault::Status(9, "etcdserver: authentication is not enabled"));
    client.put("k", "v", 0).await.unwrap();
    client.put("k", "v", 0).await.unwrap();
    assert_eq!(fake.count("Authenticate"), 1);
    // It is enabled meanwhile.
    fake.fail("Put", Fault::Status(3, "etcdserver: user name is empty"));
    client.put("k", "v", 0).await.unwrap();
    assert_eq!(fake.logins(), 1);
}

#[tokio::test]
async fn streams_log_in_again() {
    let fake = Fake::start().await;
    let client = client(&fake);
    client.put("k", "v", 0).await.unwrap();
    let header = Some(fake.state().header);
    fake.state().watch = vec![WatchResponse { header, created: true, ..WatchResponse::default() }];

    fake.state().token = Some("another".into());
    let watch = client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await.unwrap();
    assert_eq!((fake.logins(), watch.header().cluster_id), (2, 7));

    // etcd 3.4 cancels a watch with a dead token as if the user had no right.
    let canceled = WatchResponse {
        header,
        watch_id: -1,
        created: true,
        canceled: true,
        cancel_reason: "rpc error: code = PermissionDenied desc = etcdserver: permission denied".into(),
        ..WatchResponse::default()
    };
    fake.state().watch = vec![canceled];
    let error = client.watch(&client.endpoint(), KeyRange::prefix("k"), 1).await.unwrap_err();
    assert!(matches!(error, Error::WatchCanceled { .. }), "{error:?}");
    assert_eq!((fake.logins(), fake.count("Watch")), (3, 4));

    // The stream that was opened before still lives.
    let mut watch = watch;
    watch.request_progress().await.unwrap();
    assert!(matches!(watch.next().await.unwrap(), Update::Progress { .. }));
}

/// After a loss of all data, etcd lets requests with a former token wait.
#[tokio::test]
async fn a_call_without_an_answer_is_followed_by_a_login() {
    let fake = Fake::start().await;
    let client = with_user(fake.hasty_options());
    client.put("k", "v", 0).await.unwrap();
    fake.fail("Put", Fault::Hang);
    let error = client.put("k", "v", 0).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    assert_eq!(fake.logins(), 1);
    client.put("k", "v", 0).await.unwrap();
    client.put("k", "v", 0).await.unwrap();
    assert_eq!(fake.logins(), 2);
}
