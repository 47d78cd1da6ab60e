//! Settings of `agentdex serve`: flags, variables, agentdex.toml, and what is said of those that are wrong.

use std::{fs, process::Output};

use super::{run, stderr, stdout};
use crate::{
    process::{ServerProcess, agentdex},
    support::Call,
};

/// `agentdex serve` with a file and variables that it refuses.
fn refused(toml: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("agentdex.toml"), toml).unwrap();
    let mut command = agentdex();
    command.current_dir(directory.path()).arg("serve").args(arguments).envs(variables.iter().copied());
    let output: Output = command.output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{toml} {variables:?}");
    assert!(!directory.path().join("agentdex-data").exists(), "{toml} {variables:?} left something behind");
    stderr(&output)
}

#[test]
fn misspelt_variables_are_warned_of_and_the_nearest_is_named() {
    let data = tempfile::tempdir().unwrap();
    let variables = [
        ("AGENTDEX_LISTN", "127.0.0.1:9999"),
        ("AGENTDEX_MAXTTL", "60"),
        ("AGENTDEX_COLOUR_OF_THE_SKY", "blue"),
        ("AGENTDEX_URL", "http://127.0.0.1:1"),
        ("AGENTDEX_API_KEY", "s3cret"),
        ("AGENTDEX_CREDENTIAL_BEARER", "s3cret"),
        ("AGENTDEX_DEFAULT_TTL", "60"),
        ("AGENTDEX_CONFIG", ""),
    ];
    let server = ServerProcess::start_with_variables(data.path(), &[], &variables);
    let log = server.log();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("is not a setting")).collect();
    let [sky, listn, maxttl] = warnings.as_slice() else { panic!("{log}") };
    assert!(sky.ends_with("AGENTDEX_COLOUR_OF_THE_SKY is not a setting"), "{sky}");
    assert!(listn.ends_with("AGENTDEX_LISTN is not a setting; did you mean AGENTDEX_LISTEN?"), "{listn}");
    assert!(maxttl.ends_with("AGENTDEX_MAXTTL is not a setting; did you mean AGENTDEX_MAX_TTL?"), "{maxttl}");
    assert!(!log.contains("s3cret"), "{log}");
}

#[test]
fn unknown_keys_of_the_file_are_refused_and_the_nearest_is_named() {
    for (toml, expected) in [
        ("data = \"x\"\nlistn = \"127.0.0.1:9999\"", "line 2: `listn` is not a setting; did you mean `listen`?"),
        ("mqtt-listen = \"127.0.0.1:0\"", "line 1: `mqtt-listen` is not a setting; did you mean `mqtt_listen`?"),
        (
            "colour_of_the_sky = 1",
            "line 1: `colour_of_the_sky` is not a setting; `agentdex serve --help` lists the settings",
        ),
    ] {
        let told = refused(toml, &[], &[]);
        assert_eq!(told, format!("error: agentdex.toml: {expected}\n"));
    }
    // A file doesn't name another.
    assert!(refused("config = \"other.toml\"", &[], &[]).contains("`config` is not a setting"));
}

#[test]
fn values_of_the_wrong_type_are_told_with_their_origin() {
    for (toml, expected) in [
        ("refresh_interval = \"often\"", "refresh_interval: \"often\" is not a whole number; for example 60"),
        ("refresh_interval = 1.5", "refresh_interval: 1.5 is not a whole number; for example 60"),
        ("max_ttl = -1", "max_ttl: -1 is not a whole number; for example 60"),
        ("auth = \"perhaps\"", "auth: \"perhaps\" is neither `true` nor `false`"),
        ("listen = 8080", "listen: it is not a string in quotes; write listen = \"…\""),
        ("mqtt_url = [\"mqtt://me:secret@broker\"]", "mqtt_url: it is not a string in quotes; write mqtt_url = \"…\""),
        ("cors_origin = \"*\"", "cors_origin: it is not a list of strings; write cors_origin = [\"…\"]"),
        ("validation = \"lax\"", "validation: \"lax\" is not one of `lenient`, `strict`"),
        ("redact = \"hide\"", "redact: \"hide\" is not one of `flag`, `replace`, `refuse`"),
        ("data = \"\"", "data: it is empty"),
        ("fetch_timeout = 0", "fetch_timeout: 0 is not between 1 and 600"),
        ("auth = true\nauth = true", "duplicate key"),
    ] {
        let told = refused(toml, &[], &[]);
        assert!(told.starts_with("error: agentdex.toml: line ") && told.contains(expected), "{toml}: {told}");
        assert!(!told.contains("secret"), "{told}");
    }
    for (name, value, expected) in [
        ("REFRESH_INTERVAL", "often", "\"often\" is not a whole number; for example 60"),
        ("FETCH_TIMEOUT", "0", "0 is not between 1 and 600"),
        ("AUTH", "perhaps", "\"perhaps\" is neither `true` nor `false`"),
        ("LOG_LEVEL", "loud", "\"loud\" is not one of `error`, `warn`, `info`, `debug`, `trace`"),
        ("TLS_CLIENT_ROLE", "read, ops=root", "\"root\" is not one of `read`, `register`, `admin`"),
    ] {
        let told = refused("", &[], &[(&format!("AGENTDEX_{name}"), value)]);
        assert!(told.contains(&format!("error: AGENTDEX_{name}: ")) && told.contains(expected), "{told}");
    }
    let told = refused("", &["--fetch-timeout", "0"], &[]);
    assert_eq!(told, "error: --fetch-timeout: 0 is not between 1 and 600\n");
    assert_eq!(run(&["serve", "--fetch-timeout", "soon"]).status.code(), Some(2));
    assert_eq!(run(&["serve", "--no-mqtt", "--mqtt-listen", "127.0.0.1:0"]).status.code(), Some(2));
}

#[test]
fn settings_that_contradict_each_other_are_refused_wherever_they_come_from() {
    let told = refused("min_ttl = 10", &[], &[("AGENTDEX_MAX_TTL", "5")]);
    assert_eq!(told, "error: settings: min_ttl (10 s) is greater than max_ttl (5 s)\n");
    assert!(refused("", &["--public-read"], &[]).contains("also set auth (--auth)"));
}

#[test]
fn flags_come_before_variables_before_the_file_before_defaults() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("settings.toml");
    fs::write(&file, "max_ttl = 10\nmin_ttl = 10\ndefault_ttl = 10\nauth = true\nmqtt_listen = \"127.0.0.1:1\"")
        .unwrap();
    let arguments = ["--config", file.to_str().unwrap(), "--default-ttl", "30", "--no-mqtt"];
    // False is a value, and an empty variable is none.
    let variables = [
        ("AGENTDEX_MAX_TTL", "40"),
        ("AGENTDEX_DEFAULT_TTL", "20"),
        ("AGENTDEX_AUTH", "off"),
        ("AGENTDEX_MIN_TTL", ""),
    ];
    let server = ServerProcess::start_with_variables(&directory.path().join("data"), &arguments, &variables);
    let granted = |ttl: Option<u64>| {
        let mut document: serde_json::Value = serde_json::from_str(&super::agent("urn:test:a", "A")).unwrap();
        if let Some(ttl) = ttl {
            document["registration"] = serde_json::json!({"ttl": ttl});
        }
        let url = format!("{}/things/urn:test:a", server.url().trim_end_matches('/'));
        Call::new("PUT", &url).body("application/json", document.to_string()).send();
        Call::new("GET", &url).send().json()["registration"]["ttl"].clone()
    };
    assert_eq!([None, Some(1), Some(99)].map(granted), [30, 10, 40]);
    assert_eq!(server.mqtt(), None);
}

#[test]
fn help_names_flags_once_and_hides_values_of_variables() {
    let output = agentdex().args(["serve", "--help"]).env("AGENTDEX_API_KEY", "s3cret").output().unwrap();
    let help = stdout(&output);
    assert!(help.contains("--mqtt-listen <ADDRESS:PORT>") && help.contains("AGENTDEX_MQTT_LISTEN"), "{help}");
    // What names a registry is for commands that talk to one.
    assert!(!help.contains("--api-key"), "{help}");
    let output = agentdex().args(["list", "--help"]).env("AGENTDEX_API_KEY", "s3cret").output().unwrap();
    let help = stdout(&output);
    assert!(help.contains("[env: AGENTDEX_API_KEY]") && !help.contains("s3cret"), "{help}");
}

#[test]
fn variables_that_name_a_registry_count_where_one_is_asked_and_nowhere_else() {
    let broken = |arguments: &[&str]| {
        let mut command = agentdex();
        command.args(arguments).env("AGENTDEX_CA", "/nowhere").env("AGENTDEX_URL", "::").output().unwrap()
    };
    assert!(broken(&["sacp", "prompt"]).status.success());
    assert!(stderr(&broken(&["list"])).contains("\"::\""));
    // As without the variable.
    assert!(stderr(&broken(&[])).contains("Administer:"), "{}", stderr(&broken(&[])));
    let usage = stderr(&broken(&["history"]));
    assert!(usage.contains("Usage: agentdex history") && !usage.contains("--url <URL> <ID>"), "{usage}");
}

#[cfg(unix)]
#[test]
fn variable_that_is_not_utf8_is_named_where_it_counts() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let run = |arguments: &[&str]| {
        agentdex().args(arguments).env("AGENTDEX_API_KEY", OsStr::from_bytes(b"\xff")).output().unwrap()
    };
    assert_eq!(stderr(&run(&["list"])), "error: AGENTDEX_API_KEY is not UTF-8\n");
    assert!(run(&["openapi"]).status.success());
}

#[cfg(unix)]
#[test]
fn settings_file_that_is_a_link_to_nowhere_is_not_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("nowhere", directory.path().join("agentdex.toml")).unwrap();
    let output = agentdex().args(["serve", "--listen", "127.0.0.1:0"]).current_dir(directory.path()).output().unwrap();
    assert!(!output.status.success() && stderr(&output).contains("reading agentdex.toml"), "{}", stderr(&output));
}
