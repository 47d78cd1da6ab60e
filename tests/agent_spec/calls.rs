//! RemoteTools whose request is what a form without a template says: node-wot (in the folder that `AGENTDEX_NODE_WOT`
//! names) sends the requests that the SDK's runtime would send.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use agentdex::convert::{
    Syntax,
    agent_spec::{Configuration, Options},
};
use serde_json::{Value, json};

use crate::support::skipped;

/// What of a request counts: its method and target, some headers, its body.
#[derive(Debug, PartialEq)]
struct Request {
    line: String,
    headers: Vec<String>,
    body: String,
}

/// Answers requests one after another, and returns each as it arrives.
fn serve(listener: TcpListener) -> mpsc::Receiver<Request> {
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap() == 0 || line.trim_end().is_empty() {
                    break;
                }
                lines.push(line.trim_end().to_owned());
            }
            let Some(first) = lines.first().cloned() else { continue };
            let value = |name: &str| {
                let headers = lines.iter().filter_map(|line| line.split_once(": "));
                headers.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
            };
            let mut body = Vec::new();
            if let Some(length) = value("content-length") {
                (&mut stream).take(length.parse().unwrap()).read_to_end(&mut body).unwrap();
            } else if value("transfer-encoding").is_some() {
                let mut text = String::new();
                while !text.ends_with("0\r\n\r\n") {
                    assert!(stream.read_line(&mut text).unwrap() > 0);
                }
                // Each chunk is on a line of its own here, behind its length.
                body = text.lines().skip(1).step_by(2).collect::<Vec<_>>().concat().into_bytes();
            }
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\nconnection: close\r\n\r\n{\"result\":\"ok\"}";
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            let headers = ["content-type", "authorization", "x-version"].iter();
            let headers = headers.filter_map(|name| Some(format!("{name}: {}", value(name)?))).collect();
            let line = first.trim_end_matches(" HTTP/1.1").to_owned();
            if sender.send(Request { line, headers, body: String::from_utf8(body).unwrap() }).is_err() {
                break;
            }
        }
    });
    requests
}

/// The description of a tool with these fields.
fn described(name: &str, fields: Value) -> Value {
    let mut tool = json!({
        "component_type": "RemoteTool", "agentspec_version": "25.4.2", "id": name, "name": name, "data": {},
        "query_params": {}, "headers": {}, "outputs": [{"title": "result", "type": "string"}],
    });
    tool.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let configuration = Configuration::parse(tool.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
    let conversion = configuration.to_things(&Options::default()).unwrap();
    serde_json::from_str(conversion.things[0].description.text()).unwrap()
}

#[test]
fn node_wot_sends_what_the_sdk_would_send() {
    let Some(folder) = env::var_os("AGENTDEX_NODE_WOT") else {
        skipped("node-wot", "node, and AGENTDEX_NODE_WOT that names a folder with @node-wot/core and binding-http");
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = serve(listener);
    let calls = [
        (
            described(
                "read",
                json!({
                    "url": format!("{url}/w/{{{{city}}}}"), "http_method": "GET", "headers": {"X-Version": "2"},
                    "query_params": {"days": "{{days}}", "lang": "en"},
                    "inputs": [{"title": "city", "type": "string"}, {"title": "days", "type": "integer"}],
                }),
            ),
            Value::Null,
            json!({"city": "New York", "days": 3}),
            ("GET /w/New%20York?days=3&lang=en", &["x-version: 2"][..], ""),
        ),
        (
            described(
                "write",
                json!({
                    "url": format!("{url}/n"), "http_method": "post", "headers": {"Authorization": "Bearer {{token}}"},
                    "data": {"note": "{{note}}", "days": "{{days}}"},
                }),
            ),
            json!({"note": "hi", "days": "3"}),
            json!({}),
            (
                "POST /n",
                &["content-type: application/json", "authorization: Bearer t0k"],
                r#"{"days":"3","note":"hi"}"#,
            ),
        ),
    ];
    let lines = calls.iter().map(|(thing, input, variables, _)| {
        let action = thing["title"].as_str().unwrap();
        json!({"thing": thing, "action": action, "input": input, "variables": variables}).to_string()
    });
    let input = lines.collect::<Vec<_>>().join("\n");
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", include_str!("calls.mjs")]).current_dir(folder);
    let mut child = node.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (_, _, _, (line, headers, body)) in calls {
        let headers = headers.iter().map(|header| (*header).to_owned()).collect();
        assert_eq!(
            requests.recv_timeout(Duration::from_secs(60)).unwrap(),
            Request { line: line.to_owned(), headers, body: body.to_owned() }
        );
    }
}
