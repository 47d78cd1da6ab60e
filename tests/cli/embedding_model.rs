//! `agentdex serve --embedding-model DIR`, with an encoder of a few words.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use super::{agent, json_lines, run, run_with_input, stderr, stdout};
use crate::process::ServerProcess;

/// Words with their vectors: those of lodging and of money. Others mean nothing.
const WORDS: [(&str, [f32; 4]); 8] = [
    ("[PAD]", [0.0; 4]),
    ("[UNK]", [0.0; 4]),
    ("[CLS]", [0.0; 4]),
    ("[SEP]", [0.0; 4]),
    ("hotel", [9.0, 0.0, 0.0, 0.0]),
    ("lodging", [9.0, 0.0, 1.0, 0.0]),
    ("invoice", [0.0, 9.0, 0.0, 0.0]),
    ("payment", [0.0, 9.0, 0.0, 1.0]),
];

/// Writes an encoder without layers: a text is the mean of its words.
fn write_encoder(directory: &Path) {
    let config = json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": 4, "intermediate_size": 4,
        "num_attention_heads": 1, "num_hidden_layers": 0, "layer_norm_eps": 1e-12,
    });
    fs::write(directory.join("config.json"), config.to_string()).unwrap();
    fs::write(directory.join("vocab.txt"), WORDS.map(|(word, _)| word).join("\n")).unwrap();
    let words: Vec<f32> = WORDS.iter().flat_map(|(_, vector)| *vector).collect();
    let tensors = [
        ("embeddings.word_embeddings.weight", vec![WORDS.len(), 4], words),
        ("embeddings.position_embeddings.weight", vec![64, 4], vec![0.0; 64 * 4]),
        ("embeddings.token_type_embeddings.weight", vec![2, 4], vec![0.0; 2 * 4]),
        ("embeddings.LayerNorm.weight", vec![4], vec![1.0; 4]),
        ("embeddings.LayerNorm.bias", vec![4], vec![0.0; 4]),
    ];
    let (mut header, mut bytes) = (Map::new(), Vec::new());
    for (name, shape, values) in tensors {
        let start = bytes.len();
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let tensor = json!({"dtype": "F32", "shape": shape, "data_offsets": [start, bytes.len()]});
        header.insert(name.to_owned(), tensor);
    }
    let header = Value::Object(header).to_string();
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let file = [&length[..], header.as_bytes(), &bytes].concat();
    fs::write(directory.join("model.safetensors"), file).unwrap();
}

/// The best hit by meaning, with its cosine.
fn nearest(server: &ServerProcess, query: &str) -> (String, f64) {
    let found = run(&["search", query, "--semantic", "--json", "--url", server.url()]);
    assert!(found.status.success(), "{}", stderr(&found));
    let hit = &json_lines(&found)[0]["hits"][0];
    (hit["id"].as_str().unwrap_or_default().to_owned(), hit["cosine"].as_f64().unwrap_or_default())
}

#[test]
fn vectors_are_those_of_the_model_in_the_directory() {
    let (data, model) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_encoder(model.path());
    let model = model.path().to_str().unwrap();
    let server = ServerProcess::start(data.path(), &["--embedding-model", model]);
    for (id, title) in [("urn:test:hotel", "Hotel"), ("urn:test:invoice", "Invoice")] {
        let agent = agent(id, title).replace("Greet people", title);
        assert!(run_with_input(&["register", "-", "--url", server.url()], &agent).status.success());
    }
    let (id, cosine) = nearest(&server, "lodging");
    assert!(id == "urn:test:hotel" && cosine > 0.95, "{id}: {cosine}");
    assert_eq!(server.stop().code(), Some(0));

    // The vectors are stored; those of another model are made again.
    let server = ServerProcess::start(data.path(), &["--embedding-model", model]);
    let (id, again) = nearest(&server, "payment");
    assert!(id == "urn:test:invoice" && (again - cosine).abs() < 0.05, "{id}: {again}");
    assert_eq!(server.stop().code(), Some(0));
    let server = ServerProcess::start(data.path(), &["--embedding-model", "built-in"]);
    let (id, other) = nearest(&server, "lodging");
    assert!(id == "urn:test:hotel" && other < 0.95, "{id}: {other}");
    assert_eq!(server.stop().code(), Some(0));
    let server = ServerProcess::start(data.path(), &["--embedding-model", "none"]);
    let refused = run(&["search", "lodging", "--semantic", "--url", server.url()]);
    assert!(stderr(&refused).contains("no vectors"), "{}", stderr(&refused));
    // Who finds nothing by words learns that meaning wasn't searched.
    let found = run(&["search", "lodging", "--url", server.url()]);
    let said = format!("{}{}", stdout(&found), stderr(&found));
    assert!(said.contains("searched by words only, not by meaning"), "{said}");
}

#[test]
fn a_directory_without_a_model_ends_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (data, empty) = (directory.path().join("data"), directory.path().to_str().unwrap());
    let output = run(&[
        "serve",
        "--data",
        data.to_str().unwrap(),
        "--no-mqtt",
        "--listen",
        "127.0.0.1:0",
        "--embedding-model",
        empty,
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains(empty) && stderr(&output).contains("config.json"), "{}", stderr(&output));
    assert!(!data.exists(), "a start that failed left something behind");
}
