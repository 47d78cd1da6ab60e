//! No secret gets out: configurations with a marked secret in every sensitive place go through a real
//! server, and everything that it stores, answers, announces and logs is searched for the marks.
//!
//! A mark that isn't secret rides along, so that a channel which shows nothing is noticed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant},
};

use rumqttc::{Client, Event, MqttOptions, Packet, QoS};
use serde_json::{Value, json};

use crate::{
    process::ServerProcess,
    support::{self, Call, EventStream},
};

/// In every secret; no part of it is a word of its own.
const SECRET: &str = "qzxvkwjsecretmark";
/// In every title.
const OPEN: &str = "qzxvkwjopenmark";
/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The fields whose whole value is hidden.
const HIDDEN: [&str; 14] = [
    "api_key",
    "key_file",
    "cert_file",
    "ca_file",
    "ssl_ca_cert",
    "client_id",
    "client_secret",
    "user",
    "password",
    "dsn",
    "wallet_location",
    "wallet_password",
    "sslkey",
    "auth_file_location",
];
/// Prompts, which are hidden unless they are published; what they say stays, for its placeholders.
const PROMPTS: [&str; 3] = ["system_prompt", "additional_instructions", "summarization_instructions"];
/// The fields whose values are hidden one by one.
const HIDDEN_VALUES: [&str; 3] = ["headers", "sensitive_headers", "env"];

/// A secret that is one word, as keys and passwords are.
fn secret(place: &str) -> String {
    format!("{SECRET}7{}", place.replace(|character: char| !character.is_ascii_alphanumeric(), "_"))
}

/// Puts a mark into every sensitive place that a document has.
fn mark(value: &mut Value, place: &str) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|element| mark(element, place)),
        Value::Object(members) if members.contains_key("component_type") => {
            for (name, value) in members {
                let place = format!("{place}.{name}");
                let secret = secret(&place);
                match name.as_str() {
                    "name" => *value = format!("{OPEN} {}", value.as_str().unwrap_or_default()).into(),
                    name if HIDDEN.contains(&name) => *value = secret.into(),
                    // A header may stand in one of the two lists only.
                    "headers" => *value = json!({"X-Auth-Token": secret}),
                    name if HIDDEN_VALUES.contains(&name) => *value = json!({"X-API-Key": secret}),
                    name if PROMPTS.contains(&name) => {
                        *value = format!("{} {secret}", value.as_str().unwrap_or_default()).into();
                    }
                    "url" | "agent_url" => mark_url(value, &place),
                    "query_params" => *value = json!({"key": secret, "token": [secret]}),
                    "metadata" => *value = json!({"api_key": secret, "nested": [{"password": secret}]}),
                    _ => mark(value, &place),
                }
            }
        }
        Value::Object(members) => members.values_mut().for_each(|value| mark(value, place)),
        _ => {}
    }
}

/// Credentials before the host, and a key in the query.
fn mark_url(value: &mut Value, place: &str) {
    let Some((scheme, rest)) = value.as_str().and_then(|url| url.split_once("://")) else { return };
    let separator = if rest.contains('?') { '&' } else { '?' };
    let secret = secret(place);
    *value = format!("{scheme}://user:{secret}@{rest}{separator}api_key={secret}").into();
}

/// Configurations of our own: every kind of component that has something to hide.
fn own() -> Vec<Value> {
    let component = |kind: &str, id: &str, fields: Value| {
        let mut component = json!({"component_type": kind, "id": id, "name": id, "metadata": {}});
        if let (Value::Object(component), Value::Object(fields)) = (&mut component, fields) {
            component.extend(fields);
        }
        component
    };
    let llm = |id: &str| {
        let files = json!({"url": "https://llm.example/v1", "model_id": "m", "api_key": "", "key_file": "", "cert_file": "", "ca_file": ""});
        component("OpenAiCompatibleConfig", id, files)
    };
    let oauth = |id: &str| {
        let client = component(
            "OAuthClientConfig",
            &format!("{id}-client"),
            json!({"type": "pre_registered", "client_id": "", "client_secret": ""}),
        );
        component(
            "OAuthConfig",
            id,
            json!({"client": client, "redirect_uri": "http://localhost/cb", "issuer": "https://idp.example"}),
        )
    };
    let transport = |kind: &str, id: &str| {
        let fields = json!({
            "url": "https://mcp.example/sse", "headers": {}, "sensitive_headers": {}, "auth": oauth(&format!("{id}-auth")),
            "key_file": "", "cert_file": "", "ca_file": "",
        });
        component(kind, id, fields)
    };
    let remote_tool = |id: &str| {
        let fields = json!({
            "url": "https://tool.example/do", "http_method": "GET", "api_spec_uri": null,
            "data": {}, "query_params": {}, "headers": {}, "sensitive_headers": {}, "inputs": [], "outputs": [],
        });
        component("RemoteTool", id, fields)
    };
    let mcp_tool = |id: &str, transport: Value| {
        component("MCPTool", id, json!({"client_transport": transport, "inputs": [], "outputs": []}))
    };
    let postgres = component(
        "PostgresDatabaseDatastore",
        "pg",
        json!({
            "datastore_schema": {"t": {"title": "t", "type": "object", "properties": {"a": {"type": "string"}}}},
            "connection_config": component("TlsPostgresDatabaseConnectionConfig", "pg-c", json!({
                "user": "", "password": "", "url": "postgres://db.example", "sslmode": "require", "sslkey": "",
            })),
        }),
    );
    let agent = |id: &str, fields: Value| {
        let mut agent =
            component("Agent", id, json!({"llm_config": llm(&format!("{id}-llm")), "system_prompt": "", "tools": []}));
        if let (Value::Object(agent), Value::Object(fields)) = (&mut agent, fields) {
            agent.extend(fields);
        }
        agent
    };
    let transform = component(
        "MessageSummarizationTransform",
        "sum",
        json!({
            "llm": llm("sum-llm"), "summarization_instructions": "", "datastore": postgres,
        }),
    );
    let stdio = component("StdioTransport", "io", json!({"command": "run", "args": [], "env": {}, "cwd": null}));
    let connection = component(
        "A2AConnectionConfig",
        "a2a-c",
        json!({"headers": {}, "key_file": "", "cert_file": "", "ssl_ca_cert": ""}),
    );
    let oci = component(
        "OciClientConfigWithApiKey",
        "oci-c",
        json!({
            "service_endpoint": "https://oci.example", "auth_profile": "DEFAULT", "auth_file_location": "",
        }),
    );
    let mut all = vec![
        agent(
            "tools",
            json!({"tools": [remote_tool("rt"), mcp_tool("mt", transport("StreamableHTTPmTLSTransport", "t1")), mcp_tool("it", stdio)]}),
        ),
        agent("transforms", json!({"transforms": [transform]})),
        remote_tool("root-tool"),
        mcp_tool("root-mcp", transport("SSEmTLSTransport", "t2")),
        component("MCPToolBox", "root-box", json!({"client_transport": transport("SSETransport", "t3")})),
        component(
            "A2AAgent",
            "a2a",
            json!({"agent_url": "https://agent.example/a2a", "connection_config": connection, "inputs": [], "outputs": []}),
        ),
        component(
            "OciAgent",
            "oci",
            json!({"agent_endpoint_id": "ocid", "client_config": oci, "inputs": [], "outputs": []}),
        ),
    ];
    all.iter_mut().for_each(|root| root["agentspec_version"] = "26.1.2".into());
    all
}

/// Configurations with secrets that look like something else, marked already.
fn disguised() -> Vec<Value> {
    let agent = |id: &str, key: Value, tools: Value| {
        json!({
            "component_type": "Agent", "agentspec_version": "26.1.2", "id": id, "name": id, "system_prompt": "", "tools": tools,
            "llm_config": {
                "component_type": "OpenAiConfig", "id": format!("{id}-llm"), "name": "llm", "model_id": "m", "api_key": key,
            },
        })
    };
    let whole = json!({
        "component_type": "ManagerWorkers", "agentspec_version": "26.1.2", "id": "whole", "name": "whole",
        "group_manager": agent("manager", json!({"$component_ref": "manager-llm.api_key"}), json!([])),
        "workers": [agent("worker", Value::Null, json!([]))],
        "$referenced_components": {"manager-llm.api_key": secret("definition")},
    });
    let tool = |id: &str, headers: Value| {
        json!({
            "component_type": "RemoteTool", "agentspec_version": "26.1.2", "id": id, "name": id,
            "url": "https://tool.example/do", "http_method": "GET", "query_params": {"key": secret("parameter")},
            "sensitive_headers": headers, "inputs": [{"title": "pin", "type": "string"}], "outputs": [],
            "data": format!("{{{{pin}}}}, Authorization: Bearer {}", secret("text")),
        })
    };
    let plugin = json!({
        "component_type": "Odd", "component_plugin_name": "p", "component_plugin_version": "1", "id": "odd", "name": "odd",
        "mapping": {"password": secret("mapping")}, "reducers": {"token": secret("reducers")},
        "data": {"component_type": "x", "name": {"api_key": secret("name")}, "results": [{"api_key": secret("results")}]},
    });
    vec![
        whole,
        tool("beside", json!({"$component_ref": "beside.sensitive_headers", "X-Foo": secret("beside")})),
        tool("typed", json!({"component_type": "x", "X-Foo": secret("typed")})),
        agent("plugged", Value::Null, json!([plugin])),
    ]
}

fn marked(mut documents: Vec<Value>) -> Vec<Value> {
    documents.iter_mut().enumerate().for_each(|(number, document)| mark(document, &number.to_string()));
    documents
}

/// The configurations of the corpus, the broken ones too; empty where it isn't there.
fn corpus() -> Vec<Value> {
    let shared = std::env::var_os("AGENTDEX_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")), PathBuf::from);
    let Ok(folder) = fs::read_dir(shared.join("corpus/agent-spec")) else {
        support::skipped("corpus/agent-spec", &shared.display().to_string());
        return Vec::new();
    };
    let files = folder.map(|entry| entry.unwrap().path());
    files.filter_map(|path| serde_json::from_slice(&fs::read(path).unwrap()).ok()).filter(Value::is_object).collect()
}

/// JSON is YAML; this is YAML that isn't JSON.
fn to_yaml(document: &Value) -> String {
    let members = document.as_object().unwrap().iter();
    members.map(|(name, value)| format!("{}: {value}\n", json!(name))).collect()
}

/// One connection for all requests: there are many.
struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
}

impl Http {
    fn new(url: &str) -> Http {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Http { runtime, client: support::client(), url: url.to_owned() }
    }

    fn get(&self, path: &str) -> Vec<u8> {
        self.send(self.client.get(format!("{}{path}", self.url))).1
    }

    fn import(&self, query: &str, media_type: &str, document: String) -> (u16, Vec<u8>) {
        let request = self.client.post(format!("{}/import/agent-spec{query}", self.url));
        self.send(request.header("content-type", media_type).body(document))
    }

    fn send(&self, request: reqwest::RequestBuilder) -> (u16, Vec<u8>) {
        self.runtime.block_on(async {
            let response = request.timeout(PATIENCE).send().await.unwrap();
            (response.status().as_u16(), response.bytes().await.unwrap().to_vec())
        })
    }
}

/// Everything that came from the server, each with where it came from.
#[derive(Default)]
struct Seen(Vec<(String, Vec<u8>)>);

impl Seen {
    fn add(&mut self, place: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((place.into(), bytes.into()));
    }

    fn get(&mut self, http: &Http, path: &str) -> Vec<u8> {
        let body = http.get(path);
        self.add(path, body.clone());
        body
    }

    fn add_files(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.add_files(&path);
            } else {
                self.add(path.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }

    /// Fails with what stands around the first secrets.
    fn has_no_secret(&self) {
        let around = |text: &str, at: usize| {
            let before: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            format!("…{before}{}…", text[at..].chars().take(100).collect::<String>())
        };
        let found = self.0.iter().filter_map(|(place, bytes)| {
            let text = String::from_utf8_lossy(bytes);
            text.find(SECRET).map(|at| format!("{place}: {}", around(&text, at)))
        });
        let found: Vec<String> = found.take(10).collect();
        assert!(found.is_empty(), "secrets got out:\n{}", found.join("\n"));
    }

    /// Whether the mark that isn't secret is in something from such a place.
    fn shows(&self, place: &str) -> bool {
        self.0.iter().any(|(from, bytes)| from.starts_with(place) && String::from_utf8_lossy(bytes).contains(OPEN))
    }
}

/// Imports everything, looks everywhere, and returns how many documents became Things.
fn sweep(documents: &[Value], profile: &str) -> usize {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start_with_log(data.path(), &["--mqtt-listen", "127.0.0.1:0"], "debug,agentdex=trace");
    let (events, stream) = listen_to_events(&server);
    let messages = listen_to_mqtt(&server);
    let http = Http::new(server.url());
    let mut seen = Seen::default();
    let mut imported = 0;
    for (number, document) in documents.iter().enumerate() {
        let (kind, text) = match number % 2 {
            0 => ("application/json", document.to_string()),
            _ => ("application/yaml", to_yaml(document)),
        };
        let query = format!("?nested=true&tools=true&publisher=p{number}&profile={profile}");
        let (status, body) = http.import(&query, kind, text);
        imported += usize::from(status == 201);
        seen.add(format!("answer {number}, {status}"), body);
    }
    look_everywhere(&http, &mut seen);
    let closing = json!({"component_type": "Agent", "agentspec_version": "26.1.2", "id": "closing", "name": "closing",
        "llm_config": {"component_type": "OllamaConfig", "id": "closing-llm", "name": "llm", "url": "h", "model_id": "m"},
        "system_prompt": ""});
    assert_eq!(http.import("", "application/json", closing.to_string()).0, 201);
    gather(&mut seen, "event", &events);
    gather(&mut seen, "message", &messages);
    let log = server.log();
    assert!(log.contains("/import/agent-spec"), "the log tells nothing");
    seen.add("log", log);
    assert!(server.stop().success());
    drop(stream);
    seen.add_files(data.path());
    seen.has_no_secret();
    for place in ["/things/", "/things?", "/search", "/changes", "event", "message"] {
        assert!(seen.shows(place), "{place} shows no title either");
    }
    assert!(seen.shows(&data.path().display().to_string()), "the store shows no title either");
    imported
}

fn look_everywhere(http: &Http, seen: &mut Seen) {
    let things: Value = serde_json::from_slice(&seen.get(http, "/things?format=array")).unwrap();
    for thing in things.as_array().unwrap() {
        let path = format!("/things/{}", thing["id"].as_str().unwrap().replace('%', "%25").replace('/', "%2F"));
        seen.get(http, &format!("{path}/agent-spec"));
    }
    for path in ["/metrics", "/things?view=summary", "/search?consistent=true&limit=1000&q=a&facets=vendor", "/"] {
        seen.get(http, path);
    }
    seen.get(http, &format!("/search?consistent=true&limit=1000&q={OPEN}"));
    let found: Value = serde_json::from_slice(&seen.get(http, &format!("/search?consistent=true&q={SECRET}"))).unwrap();
    assert_eq!(found["total"], 0, "{found}");
    let mut since = 0;
    loop {
        let page: Value =
            serde_json::from_slice(&seen.get(http, &format!("/changes?since={since}&limit=1000"))).unwrap();
        let Some(last) = page["changes"].as_array().unwrap().last() else { break };
        since = last["seq"].as_u64().unwrap();
    }
}

type Lines = mpsc::Receiver<String>;

fn listen_to_events(server: &ServerProcess) -> (Lines, std::thread::JoinHandle<()>) {
    let mut stream = EventStream::open(Call::new("GET", &format!("{}/events?diff=true", server.url())));
    let (sender, lines) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        while let Some(event) = stream.next() {
            let is_last = event.data.contains("closing");
            if sender.send(event.data).is_err() || is_last {
                break;
            }
        }
    });
    (lines, thread)
}

fn listen_to_mqtt(server: &ServerProcess) -> Lines {
    let address = server.mqtt().unwrap();
    let mut options = MqttOptions::new("sweep", address.ip().to_string(), address.port());
    options.set_max_packet_size(4 << 20, 4 << 20);
    let (client, mut connection) = Client::new(options, 100);
    client.subscribe("agentdex/#", QoS::AtLeastOnce).unwrap();
    let (sender, lines) = mpsc::channel();
    let (subscribed, is_subscribed) = mpsc::channel();
    std::thread::spawn(move || {
        let _client = client;
        for event in connection.iter().map_while(Result::ok) {
            match event {
                Event::Incoming(Packet::SubAck(_)) => subscribed.send(()).unwrap(),
                Event::Incoming(Packet::Publish(message)) => {
                    let text = format!("{} {}", message.topic, String::from_utf8_lossy(&message.payload));
                    if sender.send(text).is_err() {
                        break;
                    }
                }
                _ => {}
            }
        }
    });
    is_subscribed.recv_timeout(PATIENCE).unwrap();
    lines
}

/// Takes what comes up to the document that is imported last.
fn gather(seen: &mut Seen, place: &str, lines: &Lines) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let line = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).expect("it didn't come");
        let is_last = line.contains("closing");
        seen.add(place, line);
        if is_last {
            return;
        }
    }
}

#[test]
fn secrets_of_own_configurations_stay_out() {
    let mut documents = marked(own());
    documents.extend(disguised());
    assert_eq!(sweep(&documents, "spec"), documents.len());
    // The SDK takes no plain values under references.
    let imported = sweep(&documents, "sdk");
    assert!(imported >= 8, "only {imported} of the documents became Things");
}

#[test]
fn secrets_of_the_corpus_stay_out() {
    let documents = marked(corpus());
    if documents.is_empty() {
        return;
    }
    for profile in ["spec", "sdk"] {
        let imported = sweep(&documents, profile);
        // Those in which two components have one id are refused.
        assert!(imported >= 145, "{profile}: only {imported} of the documents became Things");
    }
}
