//! Users of etcd.

use std::time::Duration;

use agentdex_etcd::{
    Client, Error, KeyRange, Method, Options, Range, Refusal, ResponseHeader, User, message::PutResponse,
};
use prost::Message;

use super::process::Etcd;

/// Implements [`Method`] for requests whose response has nothing but a header.
macro_rules! methods {
    ($($request:ident $path:literal { $($tag:literal $field:ident: $kind:ty,)* })*) => { $(
        #[derive(Clone, PartialEq, Message)]
        struct $request { $(#[prost(string, tag = $tag)] $field: $kind,)* }

        impl Method for $request {
            const PATH: &'static str = $path;
            type Response = PutResponse;
            fn header(response: &PutResponse) -> Option<ResponseHeader> {
                response.header
            }
        }
    )* };
}

methods! {
    UserAdd "/etcdserverpb.Auth/UserAdd" { "1" name: String, "2" password: String, }
    RoleAdd "/etcdserverpb.Auth/RoleAdd" { "1" name: String, }
    UserGrantRole "/etcdserverpb.Auth/UserGrantRole" { "1" user: String, "2" role: String, }
    AuthEnable "/etcdserverpb.Auth/AuthEnable" {}
}

/// `AuthRoleGrantPermissionRequest`.
#[derive(Clone, PartialEq, Message)]
struct RoleGrantPermission {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    permission: Option<Permission>,
}

/// `authpb.Permission`; type 2 is reading and writing.
#[derive(Clone, PartialEq, Message)]
struct Permission {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    key: String,
    #[prost(string, tag = "3")]
    range_end: String,
}

impl Method for RoleGrantPermission {
    const PATH: &'static str = "/etcdserverpb.Auth/RoleGrantPermission";
    type Response = PutResponse;
    fn header(response: &PutResponse) -> Option<ResponseHeader> {
        response.header
    }
}

fn options(etcd: &Etcd, password: &str) -> Options {
    let user = User { name: "registry".into(), password: password.into() };
    Options { user: Some(user), ..etcd.options() }
}

/// Makes `registry` the user of the keys under `r/`.
async fn enable(client: &Client) {
    let endpoint = client.endpoint();
    for (name, password) in [("root", "admin"), ("registry", "secret")] {
        client.attempt(&endpoint, &UserAdd { name: name.into(), password: password.into() }).await.unwrap();
        client.attempt(&endpoint, &RoleAdd { name: name.into() }).await.unwrap();
        client.attempt(&endpoint, &UserGrantRole { user: name.into(), role: name.into() }).await.unwrap();
    }
    let permission = Permission { kind: 2, key: "r/".into(), range_end: "r0".into() };
    let grant = RoleGrantPermission { name: "registry".into(), permission: Some(permission) };
    client.attempt(&endpoint, &grant).await.unwrap();
    client.attempt(&endpoint, &AuthEnable {}).await.unwrap();
}

#[tokio::test]
async fn a_user_has_the_keys_of_its_role() {
    let Some(mut etcd) = Etcd::start(&["--bcrypt-cost", "4"]).await else { return };
    let anonymous = etcd.client();
    // The login happens before there is a user, and etcd has no authentication yet.
    let client = Client::connect(options(&etcd, "secret")).unwrap();
    client.put("other", "v", 0).await.unwrap();
    enable(&anonymous).await;

    client.put("r/1", "v", 0).await.unwrap();
    let lease = client.grant_lease(Duration::from_secs(60)).await.unwrap();
    client.put("r/2", "v", lease.id()).await.unwrap();
    let mut watch = client.watch(&client.endpoint(), KeyRange::prefix("r/"), 1).await.unwrap();
    watch.next().await.unwrap();

    let error = client.put("other", "v", 0).await.unwrap_err();
    assert!(matches!(error, Error::Refused { refusal: Refusal::PermissionDenied, .. }), "{error:?}");
    let error = client.watch(&client.endpoint(), KeyRange::prefix("o"), 1).await.unwrap_err();
    assert!(matches!(error, Error::WatchCanceled { .. }), "{error:?}");
    let error = anonymous.put("r/1", "v", 0).await.unwrap_err();
    assert!(matches!(error, Error::Unauthenticated { .. }), "{error:?}");
    let wrong = Client::connect(options(&etcd, "wrong")).unwrap();
    let error = wrong.put("r/1", "v", 0).await.unwrap_err();
    assert!(matches!(error, Error::Unauthenticated { .. }) && !error.may_have_been_applied(), "{error:?}");

    // A restart drops all tokens.
    etcd.kill();
    etcd.start_again();
    etcd.until_ready(options(&etcd, "secret")).await;
    client.range(&Range::new(KeyRange::key("r/1"))).await.unwrap();
    client.put("r/1", "w", 0).await.unwrap();

    // The first call with a dead token may also be a watch.
    etcd.kill();
    etcd.start_again();
    etcd.until_ready(options(&etcd, "secret")).await;
    let mut watch = loop {
        match client.watch(&client.endpoint(), KeyRange::prefix("r/"), 1).await {
            Err(error) if error.is_transient() => continue,
            watch => break watch.unwrap(),
        }
    };
    watch.next().await.unwrap();
    lease.revoke().await.unwrap();
    assert_eq!(client.range(&Range::new(KeyRange::prefix("r/"))).await.unwrap().body.count, 1);
}
