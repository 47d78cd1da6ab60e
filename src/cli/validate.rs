//! `agentdex validate`: would the registry take this description, and if not, why?
//!
//! Without flags the question is what a registry with `--validation lenient` would do: what it would
//! mend is a warning. `--strict` mends nothing. `--schema-only` mends nothing either and runs the
//! JSON Schemas alone.

use std::{
    borrow::Cow,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::Args;
use serde::Serialize;

use super::{
    document::{self, FileDocument, ReadError},
    output::{Style, visible},
};
use crate::{
    Error,
    td::{self, Layers, Report, Strictness, Version, Violation},
};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// JSON, YAML (.yaml, .yml) or JSON5 files, folders of them, or - for JSON or JSON5 on standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Refuse what a lenient registry would mend
    #[arg(long)]
    strict: bool,
    /// Print one JSON object a file
    #[arg(long)]
    json: bool,
    /// Run the JSON Schemas alone, without the semantic checks; mends nothing
    #[arg(long)]
    schema_only: bool,
}

#[derive(Debug, Serialize)]
struct Verdict<'a> {
    file: Cow<'a, str>,
    valid: bool,
    version: Option<Version>,
    violations: &'a [Violation],
    warnings: &'a [Violation],
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let style = Style::stdout();
    let mut out = io::stdout().lock();
    let (mut valid, mut invalid) = (0, 0);
    for file in document::files(&arguments.files)? {
        let report = check(arguments, document::read(&file));
        if report.is_valid() {
            valid += 1;
        } else {
            invalid += 1;
        }
        let file = file.to_string_lossy();
        if arguments.json {
            let Report { version, violations, warnings } = &report;
            let verdict = Verdict { file, valid: report.is_valid(), version: *version, violations, warnings };
            writeln!(out, "{}", serde_json::to_string(&verdict)?)?;
        } else {
            print(&mut out, style, &file, &report)?;
        }
    }
    if !arguments.json && valid + invalid > 1 {
        writeln!(out, "{valid} valid, {invalid} invalid")?;
    }
    Ok(if invalid == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(arguments: &Arguments, file: Result<FileDocument, ReadError>) -> Report {
    let FileDocument { document, not_json } = match file {
        Ok(file) => file,
        Err(ReadError::File(error)) => return refused("unreadable", error.to_string()),
        Err(ReadError::Document(error)) => return report_of(error),
    };
    let mut report = if arguments.schema_only {
        td::validate(&document, Layers::Schema)
    } else {
        td::assess(document, if arguments.strict { Strictness::Strict } else { Strictness::Lenient })
    };
    let Some(departure) = not_json else { return report };
    if arguments.strict || arguments.schema_only {
        return refused("malformed-json", departure);
    }
    let message = format!("JSON5, which a registry doesn't take over REST (`agentdex register` does): {departure}");
    report.warnings.insert(0, Violation { pointer: String::new(), rule: "not-json".into(), message });
    report
}

fn report_of(error: Error) -> Report {
    let rule = match &error {
        Error::MalformedJson { .. } => "malformed-json",
        Error::MalformedYaml { .. } => "malformed-yaml",
        Error::DocumentTooLarge { .. } | Error::LimitExceeded { .. } => "limit-exceeded",
        _ => "refused",
    };
    refused(rule, error.to_string())
}

fn refused(rule: &'static str, message: String) -> Report {
    let violation = Violation { pointer: String::new(), rule: rule.into(), message };
    Report { violations: vec![violation], ..Report::default() }
}

fn print(out: &mut impl Write, style: Style, file: &str, report: &Report) -> io::Result<()> {
    let version = match report.version {
        Some(Version::V1_0) => " (TD 1.0)",
        Some(Version::V1_1) => " (TD 1.1)",
        None => "",
    };
    let verdict = if report.is_valid() { style.green("valid") } else { style.red("invalid") };
    writeln!(out, "{}: {verdict}{version}", style.bold(file))?;
    for violation in &report.violations {
        print_finding(out, &style.red("error"), violation)?;
    }
    for warning in &report.warnings {
        print_finding(out, &style.yellow("warning"), warning)?;
    }
    Ok(())
}

fn print_finding(out: &mut impl Write, kind: &str, finding: &Violation) -> io::Result<()> {
    let pointer = if finding.pointer.is_empty() { "the document" } else { &finding.pointer };
    writeln!(out, "  {kind} at {}: {} [{}]", visible(pointer), visible(&finding.message), finding.rule)
}
