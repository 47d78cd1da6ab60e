//! The official conformance tests of MCP, as far as they need no tools of a test server.

use std::collections::BTreeSet;

use crate::support::{TestRegistry, run_mcp_javascript};

/// Runs the scenarios of both revisions, and prints each check.
const PROGRAM: &str = r#"
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
if (!existsSync(program)) throw new Error("ERR_MODULE_NOT_FOUND");
// The program imports fs.globSync, which Node.js has from 22 on, and which no check of a server calls.
const fs = `data:text/javascript,export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => [];`;
const resolve = `export async function resolve(name, context, next) {
  const isOwn = name === "fs" && context.parentURL?.includes("/conformance/dist/");
  return isOwn ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(name, context);
}`;
const data = (text) => "data:text/javascript," + encodeURIComponent(text);
const hook = data(`import { register } from "node:module"; register(${JSON.stringify(data(resolve))});`);
const url = readFileSync(0, "utf8");
for (const revision of ["2025-11-25", "2026-07-28"]) {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  const args = ["--import", hook, program, "server", "--url", url, "--requirements", revision, "--output-dir", folder];
  spawnSync(process.execPath, args, { stdio: "ignore", timeout: 120000 });
  for (const name of readdirSync(folder)) {
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    for (const { id, status } of JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8"))) {
      console.log([revision, scenario, id, status].join(" "));
    }
  }
  rmSync(folder, { recursive: true });
}
"#;

/// Scenarios that a server without tools for the tests can pass, by revision.
const SCENARIOS: [(&str, &[&str]); 2] = [
    ("2025-11-25", &["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"]),
    (
        "2026-07-28",
        &[
            "server-stateless",
            "tools-list",
            "resources-list",
            "sep-2164-resource-not-found",
            "dns-rebinding-protection",
            "caching",
            "http-header-validation",
            "server-sse-multiple-streams",
            "input-required-result-unsupported-methods",
            "input-required-result-validate-input",
        ],
    ),
];

/// Checks of these scenarios that need prompts or tools of a test server.
const NOT_TESTABLE: [&str; 5] = [
    "sep-2549-prompts-list-caching-hints",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-missing-capability-http-400",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2575-server-rejects-undeclared-capability",
];

#[test]
fn official_conformance_tests_pass() {
    let registry = TestRegistry::start();
    let Some(printed) = run_mcp_javascript(PROGRAM, &registry.url("/mcp")) else { return };
    let checks: Vec<Vec<&str>> = printed.lines().map(|line| line.split(' ').collect()).collect();
    let mut failures = BTreeSet::new();
    for (revision, scenarios) in SCENARIOS {
        for scenario in scenarios {
            let of_scenario = || checks.iter().filter(|check| check[..2] == [revision, *scenario]);
            assert!(of_scenario().any(|check| check[3] == "SUCCESS"), "{revision} {scenario}: {printed}");
            failures.extend(of_scenario().filter(|check| check[3] == "FAILURE").map(|check| check[2]));
        }
    }
    assert_eq!(failures, BTreeSet::from(NOT_TESTABLE));
}
