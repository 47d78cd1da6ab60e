//! `agentdex connect`: what it prints for each client, and what it does to the files that clients have.

mod client;
mod existing_files;
mod shapes;

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use agentdex::access::{NewKey, Role, Rules};
use agentdex_server::http;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::{
    client::{CLIENTS, Client},
    shapes::check_shape,
};
use super::{stderr, stdout};
use crate::{
    process::agentdex,
    support::{TestRegistry, agent, skipped},
};

/// A home directory in which all clients are set up, without files.
struct Home {
    directory: TempDir,
    registry: TestRegistry,
}

impl Home {
    fn new() -> Home {
        Home::with(TestRegistry::start())
    }

    fn with(registry: TestRegistry) -> Home {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(".claude")).unwrap();
        for client in CLIENTS {
            fs::create_dir_all(directory.path().join(client.file).parent().unwrap()).unwrap();
        }
        Home { directory, registry }
    }

    fn path(&self, client: Client) -> PathBuf {
        self.directory.path().join(client.file)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = agentdex();
        command.arg("connect").args(arguments).env("AGENTDEX_URL", self.registry.url("")).stdin(Stdio::null());
        command.env("HOME", self.directory.path()).env_remove("XDG_CONFIG_HOME");
        command.env_remove("CODEX_HOME").env_remove("CLAUDE_CONFIG_DIR");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a command that succeeds.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Registers an MCP server, and returns its id.
    fn import(&self, server: &Value) -> String {
        let call = self.registry.call("POST", "/import/mcp-server").body("application/json", server.to_string());
        call.send().expect(201).json()["ids"][0].as_str().unwrap().to_owned()
    }
}

/// The names in a directory, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn remote() -> Value {
    json!({
        "name": "com.example/weather", "description": "Tells the weather", "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": "https://weather.example/mcp", "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "isRequired": true, "variables": {"token": {"isSecret": true, "description": "Key of \u{1b}[31mweather"}}},
            {"name": "X-Region", "value": "eu \"west\" $"},
            {"name": "X-Key", "isSecret": true},
        ]}],
    })
}

fn package(kind: &str, identifier: &str) -> Value {
    json!({
        "name": format!("com.example/{kind}"), "description": "Tells the weather", "version": "1.0.0",
        "packages": [{
            "registryType": kind, "identifier": identifier, "version": "1.2.0", "transport": {"type": "stdio"},
            "packageArguments": [{"type": "named", "name": "--city", "value": "Oslo's \"Ås\""}],
            "environmentVariables": [{"name": "API_KEY", "isRequired": true, "isSecret": true}, {"name": "REGION", "value": "eu"}],
        }],
    })
}

#[test]
fn configurations_have_the_shape_that_clients_read() {
    let home = Home::new();
    let servers = [
        remote(),
        package("npm", "@example/w"),
        package("pypi", "w"),
        package("oci", "example/w"),
        package("nuget", "W"),
    ];
    let ids: Vec<String> = servers.iter().map(|server| home.import(server)).collect();
    for client in CLIENTS {
        let own = home.done(&[client.name]);
        check_shape(client, &client.parse(&own));
        for id in &ids {
            let output = home.run(&[client.name, id]);
            if client.name == "claude-desktop" && id.ends_with("weather") {
                assert_eq!(output.status.code(), Some(1), "{output:?}");
                assert!(stderr(&output).contains("Connectors"), "{}", stderr(&output));
                continue;
            }
            let printed = stdout(&output);
            check_shape(client, &client.parse(&printed));
            // The page shows the same.
            let answer = home.registry.get(&format!("/things/{id}/connect")).expect(200).json();
            let shown = answer["clients"].as_array().unwrap().iter().find(|one| one["client"] == client.name).unwrap();
            assert_eq!(shown["configuration"], printed, "{client:?}");
            let told = stderr(&output);
            assert!(!told.contains('\u{1b}'), "{told}");
            let is_left_out = client.name == "claude-desktop";
            assert!(told.contains("API_KEY") || told.contains("MCP_WEATHER_TOKEN") || is_left_out, "{told}");
            if let Some(command) = shown["command"].as_str() {
                assert!(told.contains(command), "{told}");
            }
            // What is written is what was printed.
            home.done(&[client.name, id, "--write", "--yes"]);
        }
        home.done(&[client.name, "--write"]);
        let written = client.parse(&fs::read_to_string(home.path(client)).unwrap());
        check_shape(client, &written);
        let expected = if client.name == "claude-desktop" { 5 } else { 6 };
        assert_eq!(written[client.servers].as_object().unwrap().len(), expected, "{written}");
    }
}

#[test]
fn new_files_are_private_and_absent_clients_get_none() {
    let home = Home::new();
    for client in CLIENTS {
        let path = home.path(client);
        home.done(&[client.name, "--write"]);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let before = fs::read(&path).unwrap();
        let again = home.done(&[client.name, "--write"]);
        assert!(again.contains("already has this entry"), "{again}");
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::remove_file(&path).unwrap();
        let directory = if client.name == "claude-code" {
            home.directory.path().join(".claude")
        } else {
            path.parent().unwrap().to_owned()
        };
        fs::remove_dir_all(&directory).unwrap();
        let output = home.run(&[client.name, "--write"]);
        assert_eq!(output.status.code(), Some(1), "{client:?}");
        assert!(stderr(&output).contains("isn't set up here"), "{}", stderr(&output));
        check_shape(client, &client.parse(&stdout(&output)));
        assert!(!path.exists() && !directory.exists());
    }
}

#[test]
fn variables_name_the_directories_of_clients() {
    let home = Home::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir_all(elsewhere.path().join("Code/User")).unwrap();
    fs::create_dir(elsewhere.path().join("Claude")).unwrap();
    for (variable, client, file) in [
        ("CODEX_HOME", "codex", "config.toml"),
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
        ("XDG_CONFIG_HOME", "vscode", "Code/User/mcp.json"),
        ("XDG_CONFIG_HOME", "claude-desktop", "Claude/claude_desktop_config.json"),
    ] {
        let output = home.command(&[client, "--write"]).env(variable, elsewhere.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(elsewhere.path().join(file).is_file(), "{file}");
    }
    let file = elsewhere.path().join("project.json");
    home.done(&["cursor", "--write", "--file", file.to_str().unwrap()]);
    assert!(file.is_file() && CLIENTS.iter().all(|client| !home.path(*client).exists()));
}

#[test]
fn keys_are_in_no_output_and_no_file() {
    let options = http::Options { access: Rules { authentication: true, ..Rules::default() }, ..Default::default() };
    let home = Home::with(TestRegistry::start_with(Default::default(), options));
    let new = NewKey { role: Role::Register, owner: "team".parse().unwrap(), ttl: None };
    let key = home.registry.registry().keys().create(new).unwrap().1;
    for client in CLIENTS {
        let output = home.command(&[client.name, "--write"]).env("AGENTDEX_API_KEY", &key).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let file = fs::read_to_string(home.path(client)).unwrap();
        let all = [stdout(&output), stderr(&output), file.clone()].concat();
        assert!(!all.contains(&key), "{all}");
        let named = if client.name == "claude-desktop" { &all } else { &file };
        assert!(
            named.contains("AGENTDEX_API_KEY") || named.contains("agentdex-api-key") || named.contains("context add"),
            "{all}"
        );
        check_shape(client, &client.parse(&file));
    }
    let context = home.directory.path().join(".config/agentdex");
    fs::create_dir_all(&context).unwrap();
    let contexts = json!({"contexts": {"prod": {"url": home.registry.url(""), "apiKey": key}}}).to_string();
    fs::write(context.join("contexts.json"), contexts).unwrap();
    fs::set_permissions(context.join("contexts.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let output = home.command(&["claude-desktop"]).env("AGENTDEX_API_KEY", &key).output().unwrap();
    let entry = &CLIENTS[1].parse(&stdout(&output))["mcpServers"]["agentdex"];
    assert_eq!((&entry["args"], entry.get("env")), (&json!(["mcp", "--context", "prod"]), None));
}

#[test]
fn commands_of_third_parties_are_confirmed() {
    let home = Home::new();
    let id = home.import(&package("npm", "@example/w"));
    for client in CLIENTS {
        let path = home.path(client);
        let text = if client.reads_toml() { "a = 1\n" } else { "{}\n" };
        fs::write(&path, text).unwrap();
        let output = home.run(&[client.name, &id, "--write"]);
        assert_eq!(output.status.code(), Some(1));
        let command = "npx -y @example/w@1.2.0 --city 'Oslo'\\''s \"Ås\"'";
        assert!(stderr(&output).contains(command) && stderr(&output).contains("--yes"), "{}", stderr(&output));
        assert!(stdout(&output).contains("@example/w@1.2.0"));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        home.done(&[client.name, &id, "--write", "--yes"]);
        assert!(fs::read_to_string(&path).unwrap().contains("@example/w@1.2.0"));
    }
    // The registry's own program isn't a third party's.
    home.done(&["claude-desktop", "--write"]);
}

/// A command on a terminal, and what is done when it asks. Returns what it printed; `None` without the program `script`.
fn on_terminal(home: &Home, arguments: &[&str], answer: &str, meanwhile: impl FnOnce()) -> Option<(i32, String)> {
    let program = home.command(arguments);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut command = Command::new("script");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["-qec", &line.join(" "), "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        skipped("script", "the program script (Debian: bsdutils)");
        return None;
    };
    let (mut printed, mut out) = (Vec::new(), child.stdout.take().unwrap());
    let mut byte = [0];
    while !printed.ends_with(b"[y/N] ") && out.read(&mut byte).unwrap() > 0 {
        printed.push(byte[0]);
    }
    meanwhile();
    child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
    out.read_to_end(&mut printed).unwrap();
    Some((child.wait().unwrap().code().unwrap(), String::from_utf8(printed).unwrap()))
}

#[test]
fn command_is_accepted_on_a_terminal_and_a_file_that_changes_meanwhile_stays() {
    let home = Home::new();
    let id = home.import(&package("pypi", "w"));
    let cursor = CLIENTS[2];
    let path = home.path(cursor);
    fs::write(&path, "{}\n").unwrap();
    for answer in ["n\n", "\n"] {
        let Some((status, printed)) = on_terminal(&home, &["cursor", &id, "--write"], answer, || {}) else { return };
        assert_eq!((status, fs::read_to_string(&path).unwrap()), (1, "{}\n".to_owned()), "{printed}");
        assert!(printed.contains("uvx w==1.2.0"), "{printed}");
    }
    let change = || fs::write(&path, "{\"a\": 1}\n").unwrap();
    let (status, printed) = on_terminal(&home, &["cursor", &id, "--write"], "y\n", change).unwrap();
    assert_eq!((status, fs::read_to_string(&path).unwrap()), (1, "{\"a\": 1}\n".to_owned()), "{printed}");
    assert!(printed.contains("in the meantime"), "{printed}");
    assert_eq!(names(path.parent().unwrap()), ["mcp.json"]);
    let (status, printed) = on_terminal(&home, &["cursor", &id, "--write"], "y\n", || {}).unwrap();
    assert_eq!(status, 0, "{printed}");
    assert_eq!(cursor.parse(&fs::read_to_string(&path).unwrap())["mcpServers"]["pypi"]["command"], "uvx");
}

#[test]
fn names_and_values_can_be_given() {
    let home = Home::new();
    let mut server = remote();
    server["remotes"][0]["url"] = "https://{region}.weather.example/mcp".into();
    let id = home.import(&server);
    let json = |arguments: &[&str]| -> Value { serde_json::from_str(&home.done(arguments)).unwrap() };
    let printed = json(&["codex", &id, "--name", "w", "--variable", "region=eu", "--json"]);
    assert_eq!((&printed["name"], &printed["effect"]), (&json!("w"), &json!("printed")));
    assert!(printed["configuration"].as_str().unwrap().contains("https://eu.weather.example/mcp"), "{printed}");
    assert_eq!(printed["variables"][0]["name"], "MCP_W_TOKEN");
    for (arguments, status, reason) in [
        (&["codex", &id][..], 1, "needs a value"),
        (&["codex", &id, "--variable", "region=eu", "--variable", "city=x"], 1, "no variable \"city\""),
        (&["codex", &id, "--variable", "region=eu", "--variable", "token=x"], 1, "is a secret"),
        (&["codex", &id, "--variable", "region=evil.example/#${X}"], 1, "not an http:// or https:// URL"),
        (&["codex", &id, "--name", "a.b"], 2, "a name must start with an ASCII letter"),
        (&["codex", &id, "--replace"], 2, "--write"),
        (&["codex", "--variable", "a=b"], 2, "no variables"),
        (&["codex", "urn:example:none"], 1, "no agent"),
        (&["emacs"], 2, "claude-code"),
    ] {
        let output = home.run(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {output:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
    home.registry.put("/things/urn:example:plain", agent("urn:example:plain", "Plain")).expect(201);
    let output = home.run(&["cursor", "urn:example:plain"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("mcp"), "{}", stderr(&output));
}
