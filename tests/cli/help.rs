//! The help of the program and of each command.

use super::{run, stdout};

/// The help of a command.
fn help(command: &[&str]) -> String {
    let output = run(&[command, &["--help"]].concat());
    assert_eq!(output.status.code(), Some(0), "{command:?}");
    stdout(&output)
}

/// The lines under a heading, up to an empty line.
fn section<'h>(help: &'h str, heading: &str) -> Vec<&'h str> {
    let lines = help.lines().skip_while(|line| *line != format!("{heading}:")).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// The names in lines of commands.
fn names(lines: &[&str]) -> Vec<String> {
    let is_name = |line: &&&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = lines.iter().filter(is_name).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// All commands and their subcommands.
fn commands() -> Vec<Vec<String>> {
    let root = help(&[]);
    let mut all = Vec::new();
    for heading in ["Run", "Register", "Find", "Talk", "Follow", "Administer", "Set up"] {
        let group = names(&section(&root, heading));
        assert!(!group.is_empty(), "{heading}: {root}");
        for name in group {
            let below = names(&section(&help(&[&name]), "Commands"));
            all.extend(below.into_iter().map(|below| vec![name.clone(), below]));
            all.push(vec![name]);
        }
    }
    all
}

#[test]
fn commands_are_in_groups_and_each_has_examples() {
    let commands = commands();
    assert!(commands.len() > 45, "{commands:?}");
    for command in commands {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let shown = help(&command);
        let examples = section(&shown, "Examples");
        let is_example = |line: &&&str| line.contains(&format!("agentdex {}", command.join(" ")));
        assert!(examples.iter().any(|line| is_example(&line)), "{command:?}: {shown}");
    }
}

#[test]
fn every_command_has_json() {
    let commands = commands();
    let has_subcommands =
        |command: &[String]| commands.iter().any(|other| other.len() > command.len() && other.starts_with(command));
    for command in commands.iter().filter(|command| !has_subcommands(command)) {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        assert!(help(&command).contains("--json"), "{command:?}");
    }
}

#[test]
fn options_of_the_server_are_under_headings() {
    let shown = help(&["serve"]);
    let headings: Vec<&str> = shown.lines().filter(|line| !line.starts_with(' ') && line.ends_with(':')).collect();
    assert!(headings.len() > 10, "{headings:?}");
    for (heading, option) in [("TLS", "--tls-cert"), ("MQTT", "--mqtt-listen"), ("OpenID Connect", "--oidc-issuer")] {
        assert!(section(&shown, heading).iter().any(|line| line.contains(option)), "{heading}: {shown}");
    }
    let longest = headings.iter().map(|heading| section(&shown, heading.trim_end_matches(':')).len()).max();
    assert!(longest < Some(30), "{longest:?}");
}

/// Clap drops the last `.` of a help text: one that ends in `- and .` loses what it says.
#[test]
fn names_of_namespaces_are_explained_to_the_end() {
    let claim = help(&["namespaces", "claim"]);
    let words = claim.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("hyphens, and dots"), "{words}");
}

#[test]
fn flags_of_imports_are_explained_once() {
    let shown = help(&["register"]);
    let lines = section(&shown, "Documents in other formats");
    let of_id: Vec<&&str> = lines.iter().skip_while(|line| !line.contains("--id ")).collect();
    let length = 1 + of_id.iter().skip(1).take_while(|line| !line.trim_start().starts_with("--")).count();
    assert!(length <= 3, "{shown}");
}
