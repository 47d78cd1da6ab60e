//! People who sign in on the web page, in a real browser, at an authorization server that somebody else wrote.

use agentdex_server::http::Options;
use serde_json::json;

use super::Provider;
use crate::{
    page::SHARED,
    support::{Call, TestRegistry, eventually, run_browser},
};

#[test]
fn people_sign_in_at_the_issuer() {
    let Some(provider) = Provider::start("ES256") else { return };
    let options = |fetcher| provider.options(fetcher).client_id("page".to_owned()).scope("openid read register");
    let registry = TestRegistry::with_issuer(options, Options::default());
    let about = || Call::new("GET", &registry.url("/")).header("accept", "application/json").send().json();
    eventually("the metadata of the issuer is there", || about()["access"]["signIn"].is_object());
    let page = Call::new("GET", &registry.url("/")).header("accept", "text/html").send().expect(200);
    let policy = page.header("content-security-policy");
    assert!(policy.contains(&format!("connect-src 'self' {};", provider.issuer)), "{policy}");
    let input = json!({"url": registry.url(""), "issuer": provider.issuer});
    run_browser(&format!("{SHARED}\n{}", include_str!("page.mjs")), &input.to_string());
}
