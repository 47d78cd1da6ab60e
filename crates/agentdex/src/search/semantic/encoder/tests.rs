//! Tests of the encoder with a model of a few weights and, if `AGENTDEX_EMBEDDING_MODEL` names the directory of
//! all-MiniLM-L6-v2, with that model.

use std::{env, fs, path::PathBuf};

use super::*;

#[test]
fn a_directory_without_a_model_says_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let missing = |directory: &Path| Encoder::open(directory).err().unwrap().to_string();
    assert_eq!(missing(directory.path()), "config.json: the file is missing");
    let config = r#"{"model_type": "roberta", "hidden_act": "gelu", "hidden_size": 4, "intermediate_size": 8,
        "num_attention_heads": 2, "num_hidden_layers": 1, "layer_norm_eps": 1e-12}"#;
    fs::write(directory.path().join("config.json"), config).unwrap();
    assert_eq!(missing(directory.path()), "config.json: `model_type` is \"roberta\"; only \"bert\" is supported");
    fs::write(directory.path().join("config.json"), config.replace("roberta", "bert")).unwrap();
    assert_eq!(missing(directory.path()), "model.safetensors: the file is missing");
}

#[test]
fn words_become_the_longest_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "weather", "cafe", "##s", "'", "un", "##known", "北"];
    fs::write(directory.path().join("vocab.txt"), vocabulary.join("\n")).unwrap();
    let pieces = wordpiece::WordPieces::read(directory.path()).unwrap();
    let read = |text: &str, most| {
        let mut tokens = Vec::new();
        pieces.read_into(text, most, &mut tokens);
        tokens.into_iter().map(|token| vocabulary[token]).collect::<Vec<_>>()
    };
    assert_eq!(read("Weather's CAFÉS", 16), ["[CLS]", "weather", "'", "[UNK]", "cafe", "##s", "[SEP]"]);
    assert_eq!(read("unknown 北北 unknowable", 16), ["[CLS]", "un", "##known", "北", "北", "[UNK]", "[SEP]"]);
    assert_eq!(read("cafes cafes", 4), ["[CLS]", "cafe", "##s", "[SEP]"]);
    assert_eq!(read("", 4), ["[CLS]", "[SEP]"]);
}

/// Vectors that a separate implementation gives: in 64-bit floats with NumPy, on the tokens of Hugging Face's tokenizers.
#[test]
fn vectors_are_those_of_the_reference() {
    let Some(directory) = env::var_os("AGENTDEX_EMBEDDING_MODEL").map(PathBuf::from) else { return };
    let encoder = Encoder::open(&directory).unwrap();
    assert_eq!(encoder.dimensions(), 384);
    let reference: Vec<(String, Vec<f32>)> =
        serde_json::from_str(include_str!("reference.json")).expect("texts and their vectors");
    let texts: Vec<&str> = reference.iter().map(|(text, _)| text.as_str()).collect();
    for (vector, (text, expected)) in encoder.embed_all(&texts).iter().zip(&reference) {
        let length = expected.iter().map(|value| value * value).sum::<f32>().sqrt();
        let cosine = vector.iter().zip(expected).map(|(one, other)| one * other).sum::<f32>() / length;
        assert!(cosine > 0.9999, "{text}: {cosine}");
        let alone = encoder.embed(text);
        assert!(vector.iter().zip(&alone).all(|(one, other)| (one - other).abs() < 1e-4), "{text}");
    }
}
