//! The parts of pages that are made from the program: what is between `<!-- made: NAME -->` and `<!-- end -->`.

use std::{fmt::Write, fs, path::Path};

use regex::Regex;
use serde_json::Value;

use super::markdown::Document;
use crate::{
    process::{ServerProcess, agentdex},
    support::{Call, assert_checked_in, openapi},
};

/// Fails unless a part of a page is what was made; with `AGENTDEX_UPDATE_DOCS` set, writes it first.
fn assert_made(page: &str, part: &str, made: &str) {
    let document = Document::read(page);
    let begin = format!("<!-- made: {part} -->\n");
    let (before, rest) = document.text().split_once(&begin).unwrap_or_else(|| panic!("{page} has no part {part}"));
    let (_, after) = rest.split_once("<!-- end -->\n").unwrap_or_else(|| panic!("{page}: {part} doesn't end"));
    assert_checked_in(page, &format!("{before}{begin}\n{}\n\n<!-- end -->\n{after}", made.trim()));
}

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// The help of a command.
fn help(command: &[&str]) -> String {
    let output = agentdex().args(command).arg("--help").env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The part of a help under a heading.
fn section<'h>(help: &'h str, heading: &str) -> Option<&'h str> {
    let (_, rest) = help.split_once(&format!("\n{heading}:\n"))?;
    Some(rest.split("\n\n").next().unwrap_or(rest))
}

/// The help of a command without what all commands have, and its commands.
fn own_help(command: &[&str]) -> (String, Vec<String>) {
    let whole = help(command);
    let registry = section(&whole, "Registry").map(|text| format!("\nRegistry:\n{text}\n")).unwrap_or_default();
    let own = whole.replacen(&registry, "", 1);
    // The help of help, on one line or two.
    let is_of_help = |line: &str| line.starts_with("-h, --help") || line == "Print help";
    let lines = own.lines().filter(|line| !is_of_help(line.trim_start()));
    let own = lines.collect::<Vec<_>>().join("\n").replace("\nOptions:\n\n", "\n");
    let commands = match command {
        [] => whole.split("\nOptions:\n").next(),
        _ => section(&whole, "Commands"),
    };
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = commands.into_iter().flat_map(str::lines).filter(is_name);
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    (own, names.map(str::to_owned).collect())
}

fn describe_command(command: &[&str], text: &mut String) {
    let (own, commands) = own_help(command);
    let (about, rest) = own.split_once("\n\n").unwrap();
    let _ = write!(text, "## {}\n\n{}.\n\n", command.join(" "), about.replace('\n', " ").trim_end_matches('.'));
    let shown = match command {
        ["serve"] => {
            text.push_str("Its options are the [settings](settings.md).\n\n");
            format!("Examples:\n{}", section(rest, "Examples").unwrap())
        }
        _ => rest.replace("=]", "]"),
    };
    let _ = write!(text, "```text\n{}\n```\n\n", shown.trim_end());
    for name in &commands {
        describe_command(&[command, &[name]].concat(), text);
    }
}

#[test]
fn page_of_the_command_line_is_that_of_the_program() {
    let (_, commands) = own_help(&[]);
    assert!(commands.len() > 25, "{commands:?}");
    let mut text = String::new();
    commands.iter().for_each(|name| describe_command(&[name], &mut text));
    let status = help(&["status"]);
    let common = section(&status, "Registry").unwrap();
    let text = format!("```text\n{}\n```\n\n{text}", common.trim_end());
    assert_made("docs/reference/command-line.md", "commands", &text);
}

#[test]
fn page_of_the_settings_is_that_of_the_program() {
    let help = help(&["serve"]);
    let default = Regex::new(r"^(.*?) ?\[default: (.*)\]$").unwrap();
    let heading = Regex::new(r"(?m)^([A-Z][^:\n]*):$").unwrap();
    let mut text = String::new();
    let mut settings = 0;
    for heading in heading.captures_iter(&help).map(|found| found[1].to_owned()) {
        let options = section(&help, &heading).unwrap();
        if heading == "Options" || !options.starts_with("      --") {
            continue;
        }
        let _ = write!(text, "## {heading}\n\n| flag | variable | key | default | meaning |\n|---|---|---|---|---|\n");
        for option in options.split("\n      --").map(|option| option.trim_start().trim_start_matches("--")) {
            settings += 1;
            let (flag, meaning) = option.split_once("  ").or_else(|| option.split_once('\n')).unwrap();
            let (name, value) = flag.trim().split_once(' ').unwrap_or((flag.trim(), ""));
            let meaning = cell(meaning);
            let (meaning, default) = match default.captures(&meaning) {
                Some(found) => (found[1].to_owned(), found[2].to_owned()),
                None => (meaning.to_owned(), if value.is_empty() { "off" } else { "–" }.to_owned()),
            };
            let key = name.replace('-', "_");
            let variable = format!("AGENTDEX_{}", key.to_uppercase());
            let key = if name == "config" { "–".to_owned() } else { format!("`{key}`") };
            let flag = cell(format!("--{name} {value}").trim_end());
            let _ = writeln!(text, "| `{flag}` | `{variable}` | {key} | {default} | {meaning} |");
        }
        text.push('\n');
    }
    assert!(settings > 50, "{settings} settings");
    assert_made("docs/reference/settings.md", "settings", &text);
}

#[test]
fn page_of_the_rest_api_is_that_of_the_server() {
    let document = openapi();
    let mut text = String::new();
    for tag in document["tags"].as_array().unwrap() {
        let name = tag["name"].as_str().unwrap();
        let about = tag["description"].as_str().unwrap_or_default();
        let _ = write!(text, "## {name}\n\n{about}\n\n| request | does |\n|---|---|\n");
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                if operation["tags"].as_array().is_some_and(|tags| tags.contains(&Value::from(name))) {
                    let summary = operation["summary"].as_str().unwrap();
                    let _ = writeln!(text, "| `{} {path}` | {} |", method.to_uppercase(), cell(summary));
                }
            }
        }
        text.push('\n');
    }
    let operations = text.lines().filter(|line| line.starts_with("| `")).count();
    let all = document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len());
    assert_eq!(operations, all.sum::<usize>(), "each operation has one tag");
    assert_made("docs/reference/rest.md", "operations", &text);
}

/// The value of a constant, or of a field of an `Options::default`, in whole units.
fn value(path: &str, name: &str) -> (u64, &'static str) {
    let source = source(path);
    let pattern = Regex::new(&format!(r"\b{name}(?:: [\w:]+ =|:) ([^;,]+)[;,]")).unwrap();
    let values: Vec<String> = pattern.captures_iter(&source).map(|found| found[1].to_owned()).collect();
    let product = |text: &str| text.split('*').map(|factor| factor.trim().replace('_', "").parse::<u64>()).product();
    for text in &values {
        let duration = text.strip_prefix("Duration::from_").and_then(|text| text.trim_end_matches(')').split_once('('));
        let (unit, number) = match duration {
            Some(("secs", number)) => ("s", number),
            Some(("millis", number)) => ("ms", number),
            _ => ("", text.as_str()),
        };
        if let Ok(value) = product(number) {
            return (value, unit);
        }
    }
    panic!("{path}: {name} is {values:?}");
}

fn in_words(value: u64, unit: &str) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    match unit {
        "bytes" if value.is_multiple_of(1 << 20) => format!("{} MiB", value >> 20),
        "bytes" if value.is_multiple_of(1 << 10) => format!("{} KiB", value >> 10),
        "s" if value.is_multiple_of(24 * 3600) => format!("{} days", value / (24 * 3600)),
        "s" if value.is_multiple_of(60) && value > 60 => format!("{} minutes", value / 60),
        "" => groups.join(","),
        unit => format!("{} {unit}", groups.join(",")),
    }
}

/// What is limited, with its unit where the constant has none; the file, and the constant in it.
type Limit = (&'static str, &'static str, &'static str);

/// The limits of each part of the program.
const LIMITS: [(&str, &[Limit]); 7] = [
    (
        "Documents",
        &[
            (
                "a description, an agent card, a capability file; over REST any document: bytes",
                "crates/td/src/lib.rs",
                "MAX_DOCUMENT_BYTES",
            ),
            (
                "Open Agent Spec in the library and on the command line: bytes",
                "crates/convert/src/lib.rs",
                "MAX_SOURCE_BYTES",
            ),
            ("nesting levels", "crates/td/src/lib.rs", "MAX_NESTING"),
            ("affordances of a description", "crates/td/src/lib.rs", "MAX_AFFORDANCES"),
            ("an id: bytes", "crates/td/src/lib.rs", "MAX_ID_BYTES"),
            ("consecutive failed lines of a batch", "crates/server/src/http/batch.rs", "MAX_FAILURES"),
            (
                "size of a decompressed batch, or 32 times its compressed size if that is larger: bytes",
                "crates/server/src/http/body.rs",
                "FREE_EXPANSION",
            ),
            (
                "results of a batch, or 32 times its size if that is larger: bytes",
                "crates/server/src/http/body.rs",
                "FREE_EXPANSION",
            ),
        ],
    ),
    (
        "Searches",
        &[
            ("a query: bytes", "crates/api/src/search.rs", "MAX_QUERY_BYTES"),
            ("hits in a page", "crates/api/src/search.rs", "MAX_LIMIT"),
            ("hits accessible by paging", "crates/api/src/search.rs", "MAX_DEPTH"),
            ("values of a facet in a response", "crates/agentdex/src/search/facets.rs", "MOST_VALUES"),
            ("text to filter facet values: bytes", "crates/api/src/search.rs", "MAX_FACET_QUERY_BYTES"),
            ("a JSONPath query: bytes", "crates/agentdex/src/search/jsonpath/guard.rs", "MAX_BYTES"),
            ("time of a JSONPath query", "crates/agentdex/src/registry/structure.rs", "TIME_BUDGET"),
            ("a SPARQL query: bytes", "crates/agentdex/src/search/sparql/guard.rs", "MAX_BYTES"),
            ("time of a SPARQL query", "crates/agentdex/src/search/sparql/meter.rs", "TIME_BUDGET"),
            ("concurrent SPARQL queries", "crates/agentdex/src/registry/sparql.rs", "MAX_QUERIES"),
            ("results of a SPARQL query", "crates/agentdex/src/search/sparql/results.rs", "MAX_RESULTS"),
            ("steps of a composed chain", "crates/agentdex/src/search/compatible/compose.rs", "MAX_STEPS"),
            (
                "time that a search waits for acknowledged writes (`consistent=true`)",
                "crates/agentdex/src/registry/searches.rs",
                "CONSISTENCY_TIMEOUT",
            ),
        ],
    ),
    (
        "The log",
        &[
            ("retained changes", "crates/agentdex/src/store/options.rs", "retained_changes"),
            ("time for which a change is retained", "crates/agentdex/src/store/options.rs", "retained_for"),
            (
                "changes that are retained whatever their age",
                "crates/agentdex/src/store/options.rs",
                "retained_at_any_age",
            ),
        ],
    ),
    (
        "Other stored data",
        &[
            ("API keys", "crates/agentdex/src/registry/keys.rs", "MAX_KEYS"),
            ("namespaces", "crates/agentdex/src/store/membership.rs", "MAX_NAMESPACES"),
            ("members of a namespace", "crates/agentdex/src/registry/namespaces.rs", "MAX_MEMBERS"),
            ("saved queries", "crates/agentdex/src/registry/queries/mod.rs", "MAX_QUERIES"),
            ("saved queries of an owner", "crates/agentdex/src/registry/queries/mod.rs", "MAX_QUERIES_OF_OWNER"),
            ("events of saved queries held in memory", "crates/agentdex/src/registry/queries/events.rs", "MAX_EVENTS"),
            ("indexed text of an agent: bytes", "crates/agentdex/src/search/entry.rs", "MOST_TEXT"),
            ("indexed word: bytes", "crates/agentdex/src/search/text/mod.rs", "LONGEST_WORD"),
            ("tracked sources", "crates/agentdex/src/registry/tracked_sources/schedule.rs", "MAX_TRACKED"),
            (
                "revisions of a tracked source",
                "crates/agentdex/src/registry/tracked_sources/source.rs",
                "MAX_REVISIONS",
            ),
            (
                "minimum time to live of an agent with a tracked source: s",
                "crates/agentdex/src/registry/tracked_sources/track.rs",
                "MIN_TTL",
            ),
        ],
    ),
    (
        "Fetches",
        &[
            ("a document: bytes", "crates/fetch/src/options.rs", "max_bytes"),
            ("a URL: bytes", "crates/fetch/src/target.rs", "MAX_URL_BYTES"),
            ("redirects", "crates/fetch/src/fetcher.rs", "MAX_REDIRECTS"),
            ("time of a fetch (`--fetch-timeout`)", "crates/fetch/src/options.rs", "timeout"),
            (
                "concurrent fetches; polls have a separate limit of the same size",
                "crates/fetch/src/options.rs",
                "at_once",
            ),
            ("concurrent fetches from one host", "crates/fetch/src/options.rs", "at_once_per_host"),
        ],
    ),
    (
        "Calls of agents",
        &[
            ("an answer, including all its pieces: bytes", "crates/consumer/src/settings.rs", "MAX_BYTES"),
            ("time of a call", "crates/consumer/src/settings.rs", "TIMEOUT"),
            ("time for which an agent may be silent", "crates/consumer/src/settings.rs", "IDLE_TIMEOUT"),
        ],
    ),
    (
        "The guardian",
        &[
            ("expressions of a policy", "crates/guardian/src/file.rs", "MAX_EXPRESSIONS"),
            ("time of all expressions for a step", "crates/guardian/src/decide.rs", "EXPRESSION_BUDGET"),
            ("calls of a session that are waiting for a result", "crates/guardian/src/session.rs", "MAX_OPEN_CALLS"),
            ("requests in a JSON-RPC batch", "crates/convert/src/aos/json_rpc.rs", "MAX_BATCH"),
        ],
    ),
];

#[test]
fn page_of_the_limits_is_that_of_the_constants() {
    let mut text = String::new();
    for (title, limits) in LIMITS {
        let _ = write!(text, "## {title}\n\n| | limit |\n|---|---|\n");
        for (what, path, name) in limits {
            let (value, unit) = value(path, name);
            let (what, unit) = match what.rsplit_once(": ") {
                Some((what, unit @ ("bytes" | "s"))) => (what, unit),
                _ => (*what, unit),
            };
            let _ = writeln!(text, "| {what} | {} |", in_words(value, unit));
        }
        text.push('\n');
    }
    assert_made("docs/reference/limits.md", "limits", &text);
}

#[test]
fn page_of_the_rules_is_that_of_the_guardian() {
    let source = source("crates/guardian/src/rule.rs");
    let rule = Regex::new(r#"/// (.+)\n    \w+ = "([a-z0-9-]+)", (\w+);"#).unwrap();
    let mut text = "| rule | holds if | by default |\n|---|---|---|\n".to_owned();
    let mut names = Vec::new();
    for found in rule.captures_iter(&source) {
        names.push(found[2].to_owned());
        let mode = found[3].to_lowercase();
        let _ = writeln!(text, "| `{}` | {} | `{mode}` |", &found[2], cell(found[1].trim_end_matches('.')));
    }
    assert_eq!(names, agentdex::policy::Rule::ALL.iter().map(|rule| rule.name()).collect::<Vec<_>>());
    assert_made("docs/reference/rules.md", "rules", &text);
}

#[test]
fn page_of_the_topics_is_that_of_the_source() {
    let source = source("crates/server/src/mqtt/topics.rs");
    let rows: Vec<&str> = source.lines().filter_map(|line| line.strip_prefix("//! |")).collect();
    assert!(rows.len() > 6, "{rows:?}");
    let table: String = rows.iter().map(|row| format!("|{row}\n")).collect();
    assert_made("docs/reference/events.md", "topics", &table.replace("{prefix}", "agentdex"));
}

#[test]
fn page_of_the_metrics_is_that_of_the_server() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--mqtt-listen", "127.0.0.1:0"]);
    // Histograms and counters of requests are there once there was one.
    Call::new("GET", &format!("{}/things", server.url())).send().expect(200);
    let metrics = Call::new("GET", &format!("{}/metrics", server.url())).send().expect(200);
    let head = Regex::new(r"# HELP (\S+) (.+)\n# TYPE \S+ (\w+)").unwrap();
    let text = metrics.text();
    let rows =
        head.captures_iter(text).map(|found| format!("| `{}` | {} | {} |\n", &found[1], &found[3], cell(&found[2])));
    let rows: Vec<String> = rows.collect();
    assert!(rows.len() > 20, "{rows:?}");
    let table = format!("| metric | type | meaning |\n|---|---|---|\n{}", rows.concat());
    assert_made("docs/operations/monitor.md", "metrics", &table);
}

#[test]
fn page_of_the_features_has_those_of_the_library() {
    let manifest: toml::Table = source("crates/agentdex/Cargo.toml").parse().unwrap();
    let mut features: Vec<&String> = manifest["features"].as_table().unwrap().keys().collect();
    let page = Document::read("docs/reference/features.md");
    let mut named = page.first_column("| feature of `agentdex` | provides |");
    features.sort();
    named.sort();
    assert_eq!(named.iter().collect::<Vec<_>>(), features);
}

#[test]
fn values_of_constants_are_read() {
    assert_eq!(value("crates/td/src/lib.rs", "MAX_DOCUMENT_BYTES"), (1024 * 1024, ""));
    assert_eq!(value("crates/agentdex/src/store/options.rs", "retained_for"), (30 * 24 * 3600, "s"));
    let words =
        [(1 << 20, "bytes"), (8192, "bytes"), (10_000, ""), (90, "s"), (20, "ms"), (30 * 24 * 3600, "s"), (999, "")];
    assert_eq!(
        words.map(|(value, unit)| in_words(value, unit)),
        ["1 MiB", "8 KiB", "10,000", "90 s", "20 ms", "30 days", "999"]
    );
}
