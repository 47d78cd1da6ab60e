//! The web page: as it is served, and in a real Chromium (`/usr/bin/chromium`, or what `AGENTDEX_CHROMIUM` names), which
//! puppeteer-core drives from the folder that `AGENTDEX_BROWSER` names. `AGENTDEX_PAGE_SHOTS` names a folder for
//! pictures of every view.

mod served;

use std::{env, path::Path, sync::mpsc};

use actix_web::{App, HttpServer, web};
use agentdex::{
    Registry,
    access::{NewKey, Role, Rules},
    convert::Format,
};
use agentdex_server::http;
use serde_json::{Map, Value, json};

use crate::consumer::agents::TestAgent;
use crate::support::{Reply, Site, TestRegistry, agent, await_index, run_browser};

pub const SHARED: &str = include_str!("browser.mjs");

/// A registry with the agents of the examples.
fn examples() -> TestRegistry {
    let registry = TestRegistry::tracking();
    register_examples(&registry);
    registry
}

fn register_examples(registry: &TestRegistry) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/agents");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let description: serde_json::Value = serde_json::from_str(&text).unwrap();
        registry.put(&format!("/things/{}", description["id"].as_str().unwrap()), text).expect(201);
    }
}

/// Documents that are served somewhere: an agent card and an MCP server.
fn site() -> Site {
    let card = json!({
        "name": "Rhymer", "description": "Rhymes.", "version": "1.0.0", "url": "https://rhymes.example/a2a",
        "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "skills": [{"id": "rhyme", "name": "Rhyme", "description": "Rhymes two lines", "tags": ["verse"]}],
    });
    Site::start(move |head| match head.split(' ').nth(1) {
        Some("/card.json") => Reply::json(&card.to_string()),
        Some("/server.json") => Reply::json(include_str!("../../examples/mcp/server.json")),
        _ => Reply::new("404 Not Found", &[], ""),
    })
}

fn in_browser(script: &str, registry: &TestRegistry, mounted: &str) {
    let site = site();
    let input = json!({"url": registry.url(""), "mounted": mounted, "site": site.url(""), "shots": env::var("AGENTDEX_PAGE_SHOTS").ok()});
    if let Some(printed) = run_browser(&format!("{SHARED}\n{script}"), &input.to_string()) {
        println!("{printed}");
    }
}

/// A registry with one agent, mounted under a path of an application.
fn with_mounted(use_it: impl FnOnce(&str)) {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::builder(directory.path()).open().unwrap();
    await_index(&registry);
    registry.put(agent("urn:example:m", "Mounted")).unwrap();
    let options = http::Options::default();
    let stop = options.stop.clone();
    let api = http::configure(&registry, options);
    let (sender, started) = mpsc::channel();
    let serving = std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            let app = move || App::new().service(web::scope("/registry").configure(api.clone()));
            let server = HttpServer::new(app).workers(1).disable_signals().shutdown_timeout(1);
            let server = server.bind("127.0.0.1:0").unwrap();
            let address = server.addrs()[0];
            let server = server.run();
            sender.send((address, server.handle())).unwrap();
            server.await.unwrap();
        });
    });
    let (address, handle) = started.recv().unwrap();
    use_it(&format!("http://{address}/registry"));
    stop.stop();
    pollster::block_on(handle.stop(false));
    serving.join().unwrap();
    registry.close();
}

#[test]
fn people_find_open_watch_and_add_agents() {
    let registry = examples();
    with_mounted(|mounted| in_browser(include_str!("use.mjs"), &registry, mounted));
}

#[test]
fn people_find_agents() {
    let registry = TestRegistry::with_conversations(true, http::Options::default());
    register_examples(&registry);
    let action = json!({"forms": [{"href": "http://127.0.0.1:9/", "contentType": "application/json"}]});
    let mut open: Value = serde_json::from_str(&agent("urn:example:open", "Open agent")).unwrap();
    open["actions"] = json!({"ask": action});
    registry.put("/things/urn:example:open", open.to_string()).expect(201);
    with_mounted(|mounted| in_browser(include_str!("find.mjs"), &registry, mounted));
}

/// A document of each format, in JSON and in YAML.
fn documents() -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let read = |(format, path): (&str, &str)| {
        let json = std::fs::read_to_string(folder.join(path)).unwrap();
        let members: Map<String, Value> = serde_json::from_str(&json).unwrap();
        // What is JSON within a member is YAML too.
        let yaml: String = members.iter().map(|(name, value)| format!("{name:?}: {value}\n")).collect();
        (format.to_owned(), json!([json, yaml]))
    };
    let documents = [
        ("td", "agents/weather.json"),
        ("a2a", "a2a/exchange.json"),
        ("agent-spec", "agent-spec/support.json"),
        ("lmos-capabilities", "lmos/capabilities.json"),
        ("mcp-server", "mcp/server.json"),
        ("aos", "aos/travel.json"),
    ];
    assert!(
        documents.map(|(format, _)| format).iter().all(|name| Format::ALL.iter().any(|known| known.name() == *name))
    );
    assert_eq!(documents.len(), Format::ALL.len());
    Value::Object(documents.map(read).into_iter().collect())
}

#[test]
fn nothing_is_lost_or_replaced_without_a_word() {
    let (registry, site) = (examples(), site());
    let input = json!({"url": registry.url(""), "site": site.url(""), "formats": documents()});
    run_browser(&format!("{SHARED}\n{}", include_str!("keep.mjs")), &input.to_string());
}

#[test]
fn controls_are_there_for_who_may_use_them() {
    let rules = Rules { authentication: true, ..Rules::default() };
    let registry = TestRegistry::start_with(Default::default(), http::Options { access: rules, ..Default::default() });
    let key = |role, owner: &str| {
        registry.registry().keys().create(NewKey { role, owner: owner.parse().unwrap(), ttl: None }).unwrap().1
    };
    let input = json!({
        "url": registry.url(""), "read": key(Role::Read, "readers"), "register": key(Role::Register, "weather-team"),
        "other": key(Role::Register, "others"), "admin": key(Role::Admin, "ops"),
    });
    run_browser(&format!("{SHARED}\n{}", include_str!("keys.mjs")), &input.to_string());
}

#[test]
fn texts_of_agents_stay_texts() {
    in_browser(include_str!("hostile.mjs"), &examples(), "");
}

#[test]
fn every_view_is_accessible_in_both_themes_and_narrow() {
    let (registry, locked) = (examples(), authenticating(false));
    let input = json!({
        "url": registry.url(""), "shots": env::var("AGENTDEX_PAGE_SHOTS").ok(), "locked": locked.url(""),
        "admin": key(&locked, Role::Admin, "ops"),
    });
    run_browser(&format!("{SHARED}\n{}", include_str!("views.mjs")), &input.to_string());
}

#[test]
fn the_documentation_is_accessible() {
    in_browser(include_str!("guide.mjs"), &examples(), "");
}

#[test]
fn people_talk_with_an_agent() {
    let Some(weather) = TestAgent::python_1_0() else { return };
    let registry = TestRegistry::with_conversations(true, http::Options::default());
    let description = weather.described("JSONRPC");
    let id = description["id"].as_str().unwrap();
    registry.put(&format!("/things/{id}"), description.to_string()).expect(201);
    let input = json!({"url": registry.url(""), "talker": id});
    run_browser(&format!("{SHARED}\n{}", include_str!("talk.mjs")), &input.to_string());
}

#[test]
fn people_call_actions_by_their_forms() {
    let registry = TestRegistry::with_conversations(true, http::Options::default());
    let plain = TestRegistry::start();
    let input = json!({"url": registry.url(""), "plain": plain.url("")});
    run_browser(&format!("{SHARED}\n{}", include_str!("call.mjs")), &input.to_string());
}

#[test]
fn the_page_of_an_agent_has_its_parts_at_the_top() {
    let registry = TestRegistry::with_conversations(true, http::Options::default());
    let locked = authenticating(false);
    let input = json!({"url": registry.url(""), "locked": locked.url(""), "register": key(&locked, Role::Register, "weather-team")});
    run_browser(&format!("{SHARED}\n{}", include_str!("agent.mjs")), &input.to_string());
}

#[test]
fn people_add_agents_by_a_form_and_by_examples() {
    let registry = TestRegistry::start();
    let input = json!({"url": registry.url("")});
    run_browser(&format!("{SHARED}\n{}", include_str!("add.mjs")), &input.to_string());
}

#[test]
fn changes_are_filtered_held_and_told_and_the_state_is_in_plain_words() {
    let registry = examples();
    let input = json!({"url": registry.url("")});
    run_browser(&format!("{SHARED}\n{}", include_str!("watch.mjs")), &input.to_string());
}

#[test]
fn admins_manage_the_registry_and_people_stay_signed_in_by_choice() {
    let (registry, allowing) = (authenticating(false), authenticating(true));
    let input = json!({
        "url": registry.url(""), "register": key(&registry, Role::Register, "weather-team"), "admin": key(&registry, Role::Admin, "ops"),
        "allowing": allowing.url(""), "allowed": key(&allowing, Role::Admin, "ops"),
    });
    run_browser(&format!("{SHARED}\n{}", include_str!("admin.mjs")), &input.to_string());
}

/// A registry that authenticates; its page may keep admins signed in.
fn authenticating(admin_stays_signed_in: bool) -> TestRegistry {
    let access = Rules { authentication: true, ..Rules::default() };
    let options = http::Options { access, admin_stays_signed_in, ..Default::default() };
    TestRegistry::start_with(Default::default(), options)
}

/// A new key of an owner.
fn key(registry: &TestRegistry, role: Role, owner: &str) -> String {
    registry.registry().keys().create(NewKey { role, owner: owner.parse().unwrap(), ttl: None }).unwrap().1
}

#[test]
fn people_sign_in_with_a_key_and_see_what_it_may_do() {
    let rules = Rules { authentication: true, ..Rules::default() };
    let registry = TestRegistry::start_with(Default::default(), http::Options { access: rules, ..Default::default() });
    let key = |role, owner: &str| {
        registry.registry().keys().create(NewKey { role, owner: owner.parse().unwrap(), ttl: None })
    };
    let keys = [(Role::Read, "readers"), (Role::Register, "weather-team")];
    let [read, register] = keys.map(|(role, owner)| key(role, owner).unwrap().1);
    let input = json!({"url": registry.url(""), "read": read, "register": register});
    run_browser(&format!("{SHARED}\n{}", include_str!("sign_in.mjs")), &input.to_string());
}
