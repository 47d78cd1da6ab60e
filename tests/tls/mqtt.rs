//! MQTT over TLS, and over WebSocket under it.

use std::{env, process::Command};

use agentdex::{
    Registry,
    access::{NewKey, Role, Rules},
};
use agentdex_server::mqtt::{Endpoint, EndpointOptions};

use super::Files;
use crate::{
    mqtt::support::{Subscriber, agent, has_mosquitto},
    support::{eventually, skipped},
};

struct Server {
    endpoint: Endpoint,
    registry: Registry,
    _directory: tempfile::TempDir,
}

impl Server {
    fn start(files: &Files, options: EndpointOptions) -> Server {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::open(directory.path()).unwrap();
        let tls = options.tls.clone().unwrap_or_else(|| files.tls());
        let options = EndpointOptions { tls: Some(tls), ..options };
        let endpoint = Endpoint::bind("127.0.0.1:0", registry.clone(), options).unwrap();
        Server { endpoint, registry, _directory: directory }
    }

    fn port(&self) -> u16 {
        self.endpoint.local_addr().port()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.endpoint.stop();
        self.registry.close();
    }
}

#[test]
fn mosquitto_sub_receives_over_tls() {
    if !has_mosquitto() {
        return;
    }
    let files = Files::new();
    let access = Rules { authentication: true, ..Rules::default() };
    let server = Server::start(&files, EndpointOptions { access, ..EndpointOptions::default() });
    let new = NewKey { role: Role::Read, owner: "team".parse().unwrap(), ttl: None };
    let (key, text) = server.registry.keys().create(new).unwrap();
    for version in ["311", "5"] {
        let ca = files.text("ca.pem");
        let arguments = ["-V", version, "--cafile", &ca, "-u", &key.id, "-P", &text, "-t", "agentdex/events/#"];
        let mut subscriber = Subscriber::start(server.port(), &arguments);
        server.registry.put(agent(&format!("urn:agent:{version}"), "A", &["chat"])).unwrap();
        assert!(subscriber.next().topic.contains("thing_created"));
    }
}

#[test]
fn paho_receives_over_tls_and_over_a_websocket_under_it() {
    let Some(python) = env::var_os("AGENTDEX_PAHO_PYTHON") else {
        return skipped("paho-mqtt", "AGENTDEX_PAHO_PYTHON that names a Python with paho-mqtt (.ci/run installs one)");
    };
    let files = Files::new();
    let server = Server::start(&files, EndpointOptions::default());
    server.registry.put(agent("urn:agent:a", "Weather agent", &["chat"])).unwrap();
    let options = agentdex_server::http::Options {
        tls: Some(files.tls()),
        mqtt: Some(server.endpoint.handle()),
        ..agentdex_server::http::Options::default()
    };
    let http = agentdex_server::http::Server::bind("127.0.0.1:0", &server.registry, options).unwrap();
    let https_port = http.local_addr().port();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(http.run(async { drop(stopped.await) }))
    });
    let program = "
import json, sys, paho.mqtt.client as mqtt
port, transport, ca = int(sys.argv[1]), sys.argv[2], sys.argv[3]
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, transport=transport, protocol=mqtt.MQTTv5)
if transport == 'websockets':
    client.ws_set_options(path='/mqtt')
client.tls_set(ca_certs=ca)
client.on_connect = lambda client, *rest: client.subscribe('agentdex/things/#', qos=1)
def on_message(client, userdata, message):
    print(json.loads(message.payload)['title'])
    client.disconnect()
client.on_message = on_message
client.connect('localhost', port)
client.loop_forever()
";
    for (port, transport) in [(server.port(), "tcp"), (https_port, "websockets")] {
        let output = Command::new("timeout")
            .arg("60")
            .arg(&python)
            .args(["-c", program, &port.to_string(), transport, &files.text("ca.pem")])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            "Weather agent",
            "{transport}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let _ = stop.send(());
    serving.join().unwrap().unwrap();
}

#[test]
fn client_certificate_connects_in_the_name_of_its_owner() {
    if !has_mosquitto() {
        return;
    }
    let files = Files::new();
    let tls = agentdex_server::tls::ServerTls::open(agentdex_server::tls::Options {
        client_ca: Some(files.path("ca.pem")),
        ..files.options()
    });
    let access = Rules { authentication: true, ..Rules::default() };
    let options = EndpointOptions { access, tls: Some(tls.unwrap()), ..EndpointOptions::default() };
    let server = Server::start(&files, options);
    let issued = files.authority.client("weather", &["weather.example.org"]);
    let ca = files.text("ca.pem");
    let certificate = files.write_client("client.pem", &issued);
    let arguments = ["--cafile", &ca, "--cert", &certificate, "--key", &certificate, "-t", "agentdex/events/#"];
    let mut subscriber = Subscriber::start(server.port(), &arguments);
    server.registry.put(agent("urn:agent:a", "A", &["chat"])).unwrap();
    assert!(subscriber.next().topic.contains("thing_created"));
    // Without one nobody is let in.
    let mut nobody = Subscriber::spawn(server.port(), &["--cafile", &ca, "-t", "agentdex/events/#"]);
    eventually("who shows no certificate is refused", || nobody.has_ended());
}
