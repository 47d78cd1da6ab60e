use agentdex::convert::{
    Syntax,
    agent_spec::{Configuration, Profile},
};
use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (profile, file) = line.split_once('\t').unwrap();
        let profile = if profile == "sdk" { Profile::Sdk } else { Profile::Spec };
        let bytes = std::fs::read(file).unwrap();
        let out = match Configuration::parse(&bytes, Syntax::Json, &[]) {
            Err(error) => serde_json::json!({"ok": false, "errors": [["", "parse", error.to_string()]]}),
            Ok(configuration) => {
                let report = configuration.validate(profile);
                let list = |v: &[agentdex::td::Violation]| {
                    v.iter().map(|v| serde_json::json!([v.pointer, v.rule, v.message])).collect::<Vec<_>>()
                };
                serde_json::json!({"ok": report.is_valid(), "errors": list(&report.violations), "warnings": list(&report.warnings)})
            }
        };
        println!("{out}");
    }
}
