//! Bytes of an MQTT client: the endpoint answers with whole packets, CONNACK first, and ends when the client does. The
//! same bytes as an id and as a topic: names take one level, and are read again as they were.

#![no_main]

use std::{sync::LazyLock, time::Duration};

use agentdex::{ChangeKind, Registry};
use agentdex_server::mqtt::{Endpoint, EndpointOptions, topics::Topics};
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Runtime,
};

/// Longer than any answer takes, and less than what a target may take.
const PATIENCE: Duration = Duration::from_secs(15);

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| {
    let directory = std::env::temp_dir().join(format!("agentdex-fuzz-{}", std::process::id()));
    let registry = Registry::builder(directory).open().expect("a registry");
    for number in 0..3 {
        let thing = json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent", "id": format!("urn:t:{number}"), "title": "Weather",
        });
        registry.put(thing.to_string()).expect("a description");
    }
    // Sessions end with their connections: each input finds the same endpoint.
    let options = EndpointOptions {
        default_session_expiry: Duration::ZERO,
        max_session_expiry: Duration::ZERO,
        ..EndpointOptions::default()
    };
    Endpoint::bind("127.0.0.1:0", registry, options).expect("an endpoint")
});

fuzz_target!(|bytes: &[u8]| {
    let answer = RUNTIME.block_on(async {
        let (client, server) = tokio::io::duplex(64 * 1024);
        ENDPOINT.handle().attach(server, "the fuzzer");
        let (mut reader, mut writer) = tokio::io::split(client);
        let mut answer = Vec::new();
        let talk = async {
            let send = async {
                // The endpoint may have had enough before the end.
                let _ = writer.write_all(bytes).await;
                let _ = writer.shutdown().await;
            };
            let (_, read) = tokio::join!(send, reader.read_to_end(&mut answer));
            read
        };
        let _ = tokio::time::timeout(PATIENCE, talk).await.expect("it ends when the client does");
        answer
    });
    check_packets(&answer);
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_topics(text);
    }
});

fn check_packets(mut rest: &[u8]) {
    let mut is_first = true;
    while let Some((first, mut after)) = rest.split_first() {
        let (mut length, mut shift) = (0, 0);
        loop {
            let (byte, left) = after.split_first().expect("a length");
            length |= usize::from(byte & 0x7f) << shift;
            (after, shift) = (left, shift + 7);
            if byte & 0x80 == 0 {
                break;
            }
            assert!(shift < 28, "the length has more than four bytes");
        }
        let kind = first >> 4;
        assert_eq!(is_first, kind == 2, "CONNACK comes first, and once: {kind}");
        assert!(matches!(kind, 2..=7 | 9 | 11 | 13..=15), "a server sends no {kind}");
        rest = after.get(length..).expect("a whole packet");
        is_first = false;
    }
}

fn check_topics(text: &str) {
    let topics = Topics::new("agentdex").expect("a prefix");
    let is_plain = |topic: &str| !topic.contains(['+', '#', '\0']) && topic.is_ascii();
    let thing = topics.thing(text);
    assert!(is_plain(&thing) && thing.split('/').count() == 3, "{thing}");
    assert_eq!(topics.thing_at(&thing).as_deref(), Some(text));
    let event = topics.event(ChangeKind::Created, text);
    assert!(is_plain(&event) && event.split('/').count() == 4, "{event}");
    if let Some(topic) = topics.capability(text, ChangeKind::Updated, text) {
        assert!(is_plain(&topic) && topic.split('/').count() == 5, "{topic}");
    }
    // Whatever topic somebody asks for is one of a Thing or none.
    if let Some(id) = topics.thing_at(text) {
        assert_eq!(topics.thing_at(&topics.thing(&id)), Some(id));
    }
    if let Ok(topics) = Topics::new(text) {
        assert!(topics.thing("urn:a").starts_with(text));
    }
}
