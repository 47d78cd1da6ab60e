//! `agentdex validate`: verdicts, formats, layers.

use std::{fs, path::PathBuf};

use serde_json::Value;

use super::{agent, json_lines, run, run_with_input, stderr, stdout};

fn verdict_of(text: &str, flags: &[&str]) -> Value {
    let output = run_with_input(&[&["validate", "--json"], flags, &["-"]].concat(), text);
    let verdict = json_lines(&output).remove(0);
    assert_eq!(output.status.success(), verdict["valid"] == true, "{verdict}");
    verdict
}

fn rules(findings: &Value) -> Vec<&str> {
    findings.as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// Files in a folder of their own.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = files.iter().map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    });
    let paths = paths.collect();
    (folder, paths)
}

#[test]
fn examples_are_valid_without_mending() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/agents");
    let output = run(&["validate", "--strict", "--json", folder]);
    let verdicts = json_lines(&output);
    assert!(output.status.success() && verdicts.len() >= 6, "{verdicts:?}");
    for verdict in verdicts {
        assert_eq!(verdict["version"], "1.1", "{verdict}");
        assert_eq!(verdict["warnings"], Value::Array(Vec::new()), "{verdict}");
    }
}

#[test]
fn verdict_names_every_violation() {
    let text = agent("urn:a", "A").replace("\"security\": \"none\"", "\"security\": \"missing\", \"base\": 7");
    let verdict = verdict_of(&text, &[]);
    assert_eq!(verdict["file"], "-");
    assert_eq!(verdict["version"], "1.1");
    let violations = verdict["violations"].as_array().unwrap();
    let pointers: Vec<&str> = violations.iter().map(|violation| violation["pointer"].as_str().unwrap()).collect();
    assert!(pointers.contains(&"/base") && pointers.contains(&"/security"), "{verdict}");
    assert!(violations.iter().all(|violation| !violation["message"].as_str().unwrap().is_empty()));
}

#[test]
fn one_invalid_file_fails_the_run_and_the_others_are_still_checked() {
    let (_folder, paths) = folder(&[("a.json", "{}"), ("b.json", &agent("urn:b", "B"))]);
    let output =
        run(&["validate", "--json", paths[0].to_str().unwrap(), "/there/is/none.json", paths[1].to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let valid: Vec<bool> = json_lines(&output).iter().map(|verdict| verdict["valid"].as_bool().unwrap()).collect();
    assert_eq!(valid, [false, false, true]);
}

#[test]
fn credentials_in_a_description_are_warned_of() {
    let text = agent("urn:a", "A").replace("\"title\"", "\"support\": \"https://joe:hunter2@h.example/\", \"title\"");
    let verdict = verdict_of(&text, &[]);
    assert_eq!((rules(&verdict["warnings"]), &verdict["valid"]), (vec!["credential"], &Value::Bool(true)));
    assert_eq!(verdict["warnings"][0]["pointer"], "/support");
    assert!(!verdict.to_string().contains("hunter2"), "{verdict}");
}

#[test]
fn malformed_json_is_invalid_with_its_place() {
    let verdict = verdict_of("{\n  \"title\": }", &[]);
    assert_eq!(rules(&verdict["violations"]), ["malformed-json"]);
    let message = verdict["violations"][0]["message"].as_str().unwrap();
    assert!(message.contains("line 2, column 12"), "{message}");
    assert_eq!(verdict["version"], Value::Null);
}

#[test]
fn json5_under_another_name_is_taken_with_a_warning_unless_strict() {
    let text = agent("urn:a", "A").replace("\"title\"", "// who it is\n \"title\"").replace("]}", "],}");
    let lenient = verdict_of(&text, &[]);
    assert_eq!(lenient["valid"], true);
    assert_eq!(rules(&lenient["warnings"]), ["not-json"]);
    assert_eq!(rules(&verdict_of(&text, &["--strict"])["violations"]), ["malformed-json"]);
    assert_eq!(rules(&verdict_of(&text, &["--schema-only"])["violations"]), ["malformed-json"]);

    let (_folder, paths) = folder(&[("a.json5", &text)]);
    let output = run(&["validate", "--json", "--strict", paths[0].to_str().unwrap()]);
    assert_eq!(json_lines(&output)[0]["valid"], true, "{}", stdout(&output));
}

#[test]
fn mistake_behind_a_trailing_comma_is_told_too() {
    let verdict = verdict_of("{\"a\": [1,],\n \"b\": 1\n \"c\": 2}", &[]);
    let message = verdict["violations"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("line 1, column 10") && message.contains("as JSON5, the error is at line 3, column 2"),
        "{message}"
    );
}

#[test]
fn yaml_is_read_by_its_name() {
    let text = "'@context': https://www.w3.org/2022/wot/td/v1.1\ntitle: no\nsecurity: none\nsecurityDefinitions:\n  none:\n    scheme: nosec\n";
    let (_folder, paths) = folder(&[("a.yaml", text), ("b.yml", "title: [")]);
    let output = run(&["validate", "--json", paths[0].to_str().unwrap(), paths[1].to_str().unwrap()]);
    let verdicts = json_lines(&output);
    assert_eq!(verdicts[0]["valid"], true, "{}", verdicts[0]);
    assert_eq!(rules(&verdicts[1]["violations"]), ["malformed-yaml"]);
}

#[test]
fn document_without_an_id_is_valid() {
    let text = agent("urn:a", "A").replace("\"id\": \"urn:a\",", "");
    assert_eq!(verdict_of(&text, &[])["valid"], true);
    assert_eq!(verdict_of(&text, &["--strict"])["valid"], true);
}

#[test]
fn mends_are_warnings_unless_strict() {
    let text =
        agent("my agent", "A").replace("\"security\": \"none\",", "").replace("\"securityDefinitions\"", "\"x:y\"");
    let lenient = verdict_of(&text, &[]);
    assert_eq!(lenient["valid"], true, "{lenient}");
    assert!(rules(&lenient["warnings"]).len() >= 2, "{lenient}");
    assert_eq!(verdict_of(&text, &["--strict"])["valid"], false);
    assert_eq!(verdict_of(&text, &["--schema-only"])["valid"], false);
}

#[test]
fn schema_only_leaves_the_semantic_layer_out() {
    let text = agent("urn:a", "A").replace("\"security\": \"none\"", "\"security\": \"undefined\"");
    assert_eq!(verdict_of(&text, &[])["valid"], false);
    assert_eq!(verdict_of(&text, &["--schema-only"])["valid"], true);
}

#[test]
fn people_read_a_sentence_a_file() {
    let (_folder, paths) = folder(&[("a.json", &agent("urn:a", "A")), ("b.json", "[]")]);
    let output = run(&["validate", paths[0].to_str().unwrap(), paths[1].to_str().unwrap()]);
    let text = stdout(&output);
    assert!(text.contains("a.json: valid (TD 1.1)"), "{text}");
    assert!(text.contains("b.json: invalid") && text.contains("error at the document: "), "{text}");
    assert!(text.ends_with("1 valid, 1 invalid\n"), "{text}");
    assert!(!text.contains('\x1b'), "colours without a terminal: {text:?}");
    assert_eq!(stderr(&output), "");
}

#[test]
fn member_that_was_meant_is_suggested() {
    let misspelled = |missing: &str, found: &str| {
        let mut td: Value = serde_json::from_str(&agent("urn:test:a", "A")).unwrap();
        let value = td.as_object_mut().unwrap().remove(missing).unwrap_or_else(|| "A".into());
        td[found] = value;
        verdict_of(&td.to_string(), &[])["violations"].to_string()
    };
    for (missing, found) in
        [("title", "titel"), ("title", "Title"), ("title", "tile"), ("securityDefinitions", "securityDefinition")]
    {
        let violations = misspelled(missing, found);
        let expected = format!("`{missing}` is missing; there is `{found}`: did you mean `{missing}`?");
        assert!(violations.contains(&expected), "{found}: {violations}");
    }
    // Those are other members.
    for found in ["titles", "description", "name"] {
        let violations = misspelled("title", found);
        assert!(
            violations.contains("`title` is missing") && !violations.contains("did you mean"),
            "{found}: {violations}"
        );
    }
}
